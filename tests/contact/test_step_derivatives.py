"""Derivatives of steps beside central differences, along single directions, and backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Compliant, MuJoCo, Shape

from .step_differences import differences, largest_error, strict
from .test_joint_steps import arm, scene_of, shapes

DT, N = 2e-3, 24
KINDS = [
    "plain",
    "tendon",
    "loops",
    "several links",
    "constrained",
    "pairs",
    "rolling",
    "compliant",
    "single feet",
    "mujoco",
]


def scene_with(name: str) -> fb.Scene:
    """A scene whose steps are solved to rounding: differences divide by small numbers."""
    if name == "single feet":  # whose Jacobian is formed joint by joint
        feet = [Shape("shin", "sphere", 0.03, position=(0, 0, -0.2)), Shape("rod", "sphere", 0.05),
                Shape("trunk", "sphere", 0.04)]  # fmt: skip
        plane = fb.Plane(friction=0.6, normal=(0.1, 0.05, 1.0))
        scene = fb.Scene(arm(tendon=True), plane, contacts=feet, pairs="none")
    elif name == "mujoco":
        robot = arm(tendon=True)
        scene = fb.Scene(robot, fb.Plane(0.6), contacts=shapes(robot), pairs="none", law=MuJoCo())
    else:
        scene = scene_of(name)
    scene.spec = scene.spec._replace(tolerance=1e-13)
    return scene


def states(scene: fb.Scene, seed: int = 3) -> dict[str, Any]:
    """States near the ground with joint forces and controls, with gaps on both sides of zero."""
    robot, rng = scene.robot, np.random.default_rng(seed)
    q = np.repeat(robot.neutral()[None], N, 0) if scene.kept.conditions else robot.random(rng, N)
    q, v = np.array([scene.start(x) for x in q]), rng.normal(size=(N, robot.nv))
    cold = np.zeros(scene.n_impulses)
    for _ in range(3):
        after = scene.step(q, v, dt=DT, impulse=cold)
        q, v = after.q, after.v
    q = robot.integrate(q, 1e-4 * rng.normal(size=v.shape), 1.0)
    given = {"q": q, "v": v, "tau": rng.normal(size=v.shape)}
    return given | ({"u": rng.normal(size=(N, robot.nu))} if robot.nu else {})


@pytest.mark.slow_cases("plain", "tendon", "several links", "compliant")
@pytest.mark.parametrize("name", KINDS)
def test_derivatives_are_those_of_central_differences(name: str) -> None:
    scene = scene_with(name)
    x = states(scene)
    cold = np.zeros(scene.n_impulses)
    J = scene.step.jacobian(**x, dt=DT, impulse=cold)
    A, B = differences(scene, x["q"], x["v"], DT, x["tau"], x.get("u"))
    away = strict(J, DT)
    assert away.sum() >= 8
    assert (J.step.force[away] != 0.0).any()
    assert largest_error(J.A, A)[away].max() < 1e-6
    assert largest_error(J.B, B)[away].max() < 1e-6


@pytest.mark.default_cases("constrained", "single feet", "mujoco")
@pytest.mark.parametrize("name", KINDS)
def test_directions_and_gradients_are_those_of_the_jacobian(name: str) -> None:
    scene = scene_of(name)
    x, rng = states(scene), np.random.default_rng(0)
    cold = np.zeros(scene.n_impulses)
    J = scene.step.jacobian(**x, dt=DT, impulse=cold)
    whole, size = np.concatenate([J.A, J.B], axis=-1), np.abs(J.A).max(axis=(1, 2))
    moving = ["q", "v", "u" if "u" in x else "tau"]
    tangents = {key: rng.normal(size=x[key if key != "q" else "v"].shape) for key in moving}
    along = scene.step.jvp(x, tangents, dt=DT, impulse=cold)
    wanted = np.einsum("nij,nj->ni", whole, np.concatenate([tangents[key] for key in moving], axis=-1))
    unique = J.condition < 30.0
    apart = np.abs(np.concatenate([along.q, along.v], axis=-1) - wanted).max(axis=-1) / size
    assert apart[unique].max() < 1e-12
    weights = rng.normal(size=(2, *x["v"].shape))
    back = scene.step.vjp(x, tuple(weights), dt=DT, impulse=cold).gradient
    wanted = np.einsum("nij,ni->nj", whole, np.concatenate(weights, axis=-1))
    apart = np.abs(np.concatenate([getattr(back, key) for key in moving], axis=-1) - wanted).max(axis=-1) / size
    assert apart[unique].max() < 1e-12


def ball(**material: float) -> fb.Scene:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=2.0, inertia=(0.008, 0.009, 0.01), com=(0.01, 0.0, -0.02))
    return fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=[Shape("ball", "sphere", 0.1, **material)])


@pytest.mark.parametrize("speed", [0.0, 0.8], ids=["sticks", "slides"])
def test_numbers_of_the_robot_and_the_terrain(speed: float) -> None:
    """By masses, friction and planes that differ from those of the scene, in each sample."""
    scene, rng = ball(), np.random.default_rng(1)
    q, v = np.tile([0.0, 0.0, 0.1 - 2e-4, 1.0, 0.0, 0.0, 0.0], (5, 1)), 0.02 * rng.normal(size=(5, 6))
    v[:, 3] += speed
    numbers = {
        "ball.mass": rng.uniform(1.0, 3.0, 5),
        "ball.inertia": np.diag([0.01, 0.012, 0.015]) + 1e-3 * np.ones((3, 3)),
        "terrain.friction": rng.uniform(0.3, 0.9, 5),
        "terrain.normal": np.array([0.05, -0.1, 1.0]),
        "gravity": np.array([0.1, 0.0, -9.0]),
    }
    names = (*numbers, "ball.com")
    J = scene.step.jacobian(q, v, dt=DT, numbers=numbers, parameters=names)
    assert not J.at_edge.any()
    centre = np.array([0.01, 0.0, -0.02])
    numbers["ball.com"] = centre
    for name in names:
        value = np.asarray(numbers[name], float)
        core = np.shape(J.parameters[name])[2:]
        for place in np.ndindex(core):
            unit = np.zeros(core)
            unit[place] += 0.5
            unit[place[::-1] if len(place) == 2 else place] += 0.5
            ends = []
            for h in (1e-6, -1e-6):
                after = scene.step(q, v, dt=DT, numbers={**numbers, name: value + h * unit})
                ends.append(np.concatenate([scene.robot.difference(J.step.q, after.q), after.v], axis=-1))
            wanted = (ends[0] - ends[1]) / 2e-6
            found = J.parameters[name][(..., *place)]
            assert np.abs(found - wanted).max() < 1e-6 * max(1.0, np.abs(wanted).max()), name
    w = rng.normal(size=(2, 5, 6))
    back = scene.step.vjp((q, v), tuple(w), dt=DT, numbers=numbers, parameters=names)
    rates = {name: np.asarray(rng.normal(size=J.parameters[name].shape[2:])) for name in names}
    rates["ball.inertia"] = rates["ball.inertia"] + rates["ball.inertia"].T
    along = scene.step.jvp((q, v), (), dt=DT, numbers=numbers, parameters=rates)
    total = np.zeros((5, 12))
    for name in names:
        flat = J.parameters[name].reshape(5, 12, -1)
        gradient = np.einsum("ni,nik->nk", np.concatenate(w, axis=-1), flat)
        assert np.abs(back.parameters[name].reshape(5, -1) - gradient).max() < 1e-12 * max(1.0, np.abs(flat).max())
        total += flat @ rates[name].ravel()
    assert np.abs(np.concatenate([along.q, along.v], axis=-1) - total).max() < 1e-11 * np.abs(total).max()


@pytest.mark.parametrize("law", [None, Compliant(2e4, 300.0)], ids=["rigid", "compliant"])
def test_samples_have_the_same_bits_in_any_batch(law: Any) -> None:
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.005, 0.006))
    corners = [Shape("box", position=(x, y, -0.05)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    scene = fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=corners, law=law)
    rng = np.random.default_rng(0)
    q = np.tile([0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0], (13, 1))
    q[:, 2] -= 1e-4 * rng.random(13)
    v = 0.3 * rng.normal(size=(13, 6))
    J = scene.step.jacobian(q, v, dt=DT)
    back = scene.step.vjp((q, v), (v, v), dt=DT)
    for k in range(13):
        one = scene.step.jacobian(q[k], v[k], dt=DT)
        assert np.array_equal(one.A, J.A[k]) and np.array_equal(one.B, J.B[k]) and one.condition == J.condition[k]
        alone = scene.step.vjp((q[k], v[k]), (v[k], v[k]), dt=DT).gradient
        assert np.array_equal(alone.q, back.gradient.q[k]) and np.array_equal(alone.v, back.gradient.v[k])
    some = scene.step.jacobian(q[3:8], v[3:8], dt=DT)
    assert np.array_equal(some.A, J.A[3:8])
