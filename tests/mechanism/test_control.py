"""Actuators at their controls: closed forms, ranges, what joints bear, gains for implicit steps, edits and files."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute, Spherical
from fourbar.loops import Gear
from fourbar.mechanism.mechanism import velocity_names
from tests.algorithms import mechanisms
from tests.loops import looped

pytestmark = pytest.mark.drawn_in_line

TREES = [str(i) for i in (0, 3, 5, 7)]
LOOPED = [looped.marked(name) for name in looped.NAMES if name != "tripod"]


def with_servos(robot: fb.System) -> fb.System:
    """The robot with servos of every kind on every joint, one tendon, and joints that bear only so much."""
    rng = np.random.default_rng(6)
    moving = robot.model.cluster_tree.moving
    bears = {c.name: {"max_force": 3.0, "min_force": -2.0} for c in moving[::2]}
    b = fb.Builder(robot.name, robot.gravity).include(robot.with_parameters(joints=bears).mechanism)
    for c in moving:
        gear = rng.normal(size=c.joint.nv)
        b.actuator(f"{c.name}_motor", drives=c.name, gear=gear, control_range=(-0.3, 0.5), parameters={"gain": 2.0})
        b.position_servo(f"{c.name}_servo", drives=c.name, gear=gear, kp=3.0, kd=0.2, force_range=(-4, 5))
        b.velocity_servo(f"{c.name}_speed", drives=c.name, gear=gear, kv=0.7)
    b.damper("brake", drives=moving[0].name, gear=rng.normal(size=moving[0].joint.nv), kv=2.0)
    law = {"gain": (1.0, 0.5, -0.2), "bias": (0.3, -0.4, -0.1)}
    b.actuator("tendon", drives={c.name: rng.normal(size=c.joint.nv) for c in moving}, kind="affine", parameters=law)
    return b.build()


@cache
def driven(name: str) -> fb.System:
    robot: Any = mechanisms.mechanism(int(name)) if name.isdigit() else looped.mechanism(name)
    return with_servos(robot)


def states(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s = mechanisms.state(driven(name)) if name.isdigit() else looped.state(name)
    return s.q, s.v, np.random.default_rng(2).normal(size=(len(s.q), driven(name).nu))


def laws(robot: fb.System, length: np.ndarray, velocity: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The forces of the actuators by hand."""
    found = []
    for a, x in enumerate(robot.actuators):
        given = dict(x.parameters)
        gain, bias = (np.array([*given.get(k, d), 0, 0, 0][:3]) for k, d in (("gain", (1.0,)), ("bias", ())))
        at = np.stack([np.ones(len(u)), length[:, a], velocity[:, a]], axis=-1)
        found.append(np.clip(at @ gain * np.clip(u[:, a], *x.control_range) + at @ bias, *x.force_range))
    return np.stack(found, axis=-1)


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_forces_by_hand(name: str) -> None:
    """The laws, the sums on all joints within what these bear, and G of the loops: against NumPy."""
    robot, (q, v, u) = driven(name), states(name)
    f = robot.control_response(q, v, u)
    looped.near(f, laws(robot, robot.actuator_length(q), looped.apply(robot.actuator_matrix(q), v), u), 1e-12)
    tree = robot.spanning()
    every = robot.expand(q)
    order = {n: i for i, n in enumerate(tree.names.velocities)}
    lower, upper = np.full(tree.nv, -np.inf), np.full(tree.nv, np.inf)
    for c in tree.mechanism.joints:
        for k, own in enumerate(velocity_names(c.name, c.joint)):
            if c.max_force:
                lower[order[own]], upper[order[own]] = (c.min_force or (-c.max_force[k],) * 6)[k], c.max_force[k]
    on_joints = np.clip(tree.actuator_force(every, f), lower, upper)
    assert np.any(np.isin(on_joints, [-2.0, 3.0]))
    tau = robot.control_force(q, v, u)
    looped.near(np.sum(tau * v, axis=-1), np.sum(on_joints * robot.expand_velocity(q, v), axis=-1), 1e-11)


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_lengths_have_the_velocities(name: str) -> None:
    """On joints with q̇ = v the length changes with B v."""
    robot, (q, v, _) = driven(name), states(name)
    flat = {c.name for c in robot.mechanism.joints if type(c.joint) in (Revolute, Prismatic)}
    kept = [a for a, x in enumerate(robot.actuators) if set(x.joints) <= flat]
    rate = looped.slope(lambda t: robot.actuator_length(robot.integrate(q, v, t)), 1e-3)
    speed = looped.apply(robot.actuator_matrix(q), v)
    assert np.abs(rate - speed)[:, kept].max(initial=0.0) < 1e-7 * max(1.0, np.abs(speed).max())


@pytest.mark.parametrize("name", ["0", "3", "four_bar", "geared"])
def test_derivatives(name: str) -> None:
    robot, (q, v, u) = driven(name), states(name)
    a, du = 0.3 * v[::-1], 0.5 * u[::-1]
    found = robot.control_force.jvp((q, v, u), (v, a, du))

    def moved(t: float) -> np.ndarray:
        return np.asarray(robot.control_force(robot.integrate(q, v, t), v + t * a, u + t * du))

    expected = looped.slope(moved, 1e-5)
    smooth = np.abs(looped.slope(moved, 1e-6) - expected).max(axis=-1) < 1e-4  # no end of a range between
    assert smooth.sum() >= 2
    assert np.abs(found - expected)[smooth].max() < 1e-6 * max(1.0, np.abs(expected).max())
    J = robot.control_force.jacobian(q, v, u)
    whole = looped.apply(J.q, v) + looped.apply(J.v, a) + looped.apply(J.u, du)
    looped.near(whole, found, 1e-11)
    w = np.random.default_rng(1).normal(size=found.shape)
    back = robot.control_force.vjp((q, v, u), w)
    looped.near(back.v, looped.apply(looped.transposed(J.v), w), 1e-11)
    looped.near(back.u, looped.apply(looped.transposed(J.u), w), 1e-11)


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_gains(name: str) -> None:
    """D is -∂τ/∂v by differentiation where no joint is at what it bears, and both are positive with servos only."""
    robot, (q, v, u) = driven(name), states(name)
    free = robot.with_parameters(
        joints={c.name: {"max_force": np.inf, "min_force": None} for c in robot.mechanism.joints if c.joint.nv}
    )
    K, D = free.control_gains(q, v, u)
    looped.near(D, -free.control_force.jacobian(q, v, u).v, 1e-11)
    looped.near(K, looped.transposed(K), 1e-12)
    B = free.actuator_matrix(q)
    length, speed = free.actuator_length(q), looped.apply(B, v)
    wanted = np.zeros_like(K)
    for a, x in enumerate(free.actuators):
        held, given = np.clip(u[:, a], *x.control_range), dict(x.parameters)
        gain, bias = (np.array([*given.get(k, d), 0, 0, 0][:3]) for k, d in (("gain", (1.0,)), ("bias", ())))
        at = np.stack([np.ones(len(u)), length[:, a], speed[:, a]], axis=-1)
        raw = at @ gain * held + at @ bias
        k = np.where((raw < x.force_range[0]) | (raw > x.force_range[1]), 0.0, -(gain[1] * held + bias[1]))
        wanted += k[:, None, None] * B[:, a, :, None] * B[:, a, None, :]
    looped.near(K, wanted, 1e-11)


def slider(**servo: Any) -> fb.System:
    b = fb.Builder("slider", gravity=(0, 0, 0)).body("cart", joint=Prismatic("x"), mass=2.0, inertia=(1, 1, 1))
    return b.position_servo("servo", drives="cart", **servo).build()


def test_an_implicit_step_is_stable_and_tends_to_the_target() -> None:
    """A servo far too stiff for the step: the implicit one settles, the explicit one would explode."""
    robot, dt, u = slider(kp=1e6, kd=1e3), 5e-3, np.array([0.7])
    q, v = np.zeros(1), np.zeros(1)
    for _ in range(400):
        K, D = robot.control_gains(q, v, u)
        rest = robot.control_force(q, v, u) - robot.bias_force(q, v) - dt * K @ v
        v = v + dt * np.linalg.solve(robot.mass_matrix(q) + dt * D + dt * dt * K, rest)
        q = q + dt * v
    assert abs(q[0] - 0.7) < 1e-9 and abs(v[0]) < 1e-9


def test_an_implicit_step_is_backward_euler() -> None:
    """On a linear system the step is backward Euler exactly."""
    robot, dt, m, k, d = slider(kp=30.0, kd=4.0, gear=2.0), 1e-2, 2.0, 4 * 30.0, 4 * 4.0
    q, v, u = np.array([0.4]), np.array([-0.3]), np.array([0.5])
    K, D = robot.control_gains(q, v, u)
    assert np.allclose([K[0, 0], D[0, 0]], [k, d], rtol=1e-15)
    new = v + dt * np.linalg.solve(
        robot.mass_matrix(q) + dt * D + dt * dt * K, robot.control_force(q, v, u) - dt * K @ v
    )
    exact = (m * v[0] + dt * (2 * 30.0 * u[0] - k * q[0])) / (m + dt * d + dt * dt * k)
    assert abs(new[0] - exact) < 1e-14


def test_gains_end_where_ranges_do() -> None:
    robot = slider(kp=10.0, kd=1.0, force_range=(-5, 4))
    for u, k in ((0.3, 10.0), (0.6, 0.0), (-0.7, 0.0)):
        K, D = robot.control_gains([0.0], [0.0], [u])
        assert (K[0, 0], D[0, 0]) == (k, k / 10)
    bears = robot.with_parameters(joints={"cart": {"max_force": 2.0, "min_force": -1.0}})
    forces = [float(bears.control_force([0.0], [0.0], [u])[0]) for u in (0.15, 0.3, -0.05, -0.2)]
    assert np.allclose(forces, [1.5, 2.0, -0.5, -1.0], rtol=1e-15)
    assert [float(bears.control_gains([0.0], [0.0], [u])[0][0, 0]) for u in (0.15, 0.3, -0.2)] == [10.0, 0.0, 0.0]


def test_a_control_that_is_not_a_number_stays_one() -> None:
    robot = slider(kp=10.0, control_range=(-1, 1), force_range=(-5, 4))
    with np.errstate(all="ignore"):
        assert np.isnan(robot.control_response([0.0], [0.0], [np.nan])).all()


def test_a_locked_joint_keeps_its_part_of_a_length() -> None:
    b = fb.Builder("two").body("a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1))
    b.body("b", parent="a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1), position=(0, 0, 1))
    b.position_servo("t", drives={"a": 2.0, "b": -3.0}, kp=5.0, kd=0.5, force_range=(-90, 90))
    b.actuator("g", drives={"a": 1.0, "b": 1.0}, kind="affine", parameters={"gain": (1.0, 2.0), "bias": (0.5, 0.25)})
    b.actuator("m", drives={"a": 1.0, "b": 1.0})
    robot = b.build()
    q, v, u = np.array([0.4, -0.7]), np.array([0.0, 0.9]), np.array([0.3, 0.2, 0.1])
    less = robot.lock(["a"], q)
    assert less.actuators[2].kind == "motor"
    looped.near(less.control_response(q[1:], v[1:], u), robot.control_response(q, v, u), 1e-14)
    looped.near(less.control_force(q[1:], v[1:], u), robot.control_force(q, v, u)[1:], 1e-14)


@pytest.mark.parametrize("name", ["0", "5", "four_bar"])
def test_the_mirror_image_is_driven_alike(name: str) -> None:
    robot, (q, v, u) = driven(name), states(name)
    if name != "0":
        robot = robot.with_parameters(
            joints={c.name: {"max_force": np.inf, "min_force": None} for c in robot.mechanism.joints if c.joint.nv}
        )
    image = robot.mirrored("y")
    q_image, v_image = robot.mirrored_state(q, v, "y")
    looped.near(image.control_response(q_image, v_image, u), robot.control_response(q, v, u), 1e-11)
    power = np.sum(robot.control_force(q, v, u) * v, axis=-1)
    looped.near(np.sum(image.control_force(q_image, v_image, u) * v_image, axis=-1), power, 1e-11)


def test_the_mirror_image_of_what_a_joint_bears() -> None:
    b = fb.Builder("slide").body("a", joint=Prismatic("y"), mass=1, inertia=(1, 1, 1), max_force=3.0, min_force=-2.0)
    b.body(
        "b", parent="a", joint=Spherical(), mass=1, inertia=(1, 1, 1), max_force=(3.0, 4.0, 5.0), min_force=(-1, -2, 0)
    )
    one, ball = b.build().mirrored("y").mechanism.joints
    assert (one.min_force, one.max_force) == ((-2.0,), (3.0,))
    assert (ball.min_force, ball.max_force) == ((-3.0, -2.0, -5.0), (1.0, 4.0, 0.0))


@pytest.mark.parametrize("name", ["0", "geared"])
def test_they_travel_and_are_saved(name: str, tmp_path: Path) -> None:
    robot, (q, v, u) = driven(name), states(name)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert np.array_equal(again.control_force(q, v, u), robot.control_force(q, v, u))
    if name == "geared":
        for file in ("robot.json", "robot.toml"):
            robot.save(tmp_path / file)
            assert fb.load(tmp_path / file) == robot


def test_a_servo_on_a_joint_that_a_gear_moves() -> None:
    """u is the target of the joint it is on; the force on the independent one is n times as large."""
    b = fb.Builder("geared").body("link", joint=Revolute("y"), mass=1, inertia=(1, 1, 1))
    b.body("rotor", joint=Revolute("y"), mass=1, inertia=(0.1, 0.1, 0.1))
    b.loop(Gear("link", "rotor", 6.0), independent=["link"]).position_servo("s", drives="rotor", kp=2.0, kd=0.1)
    robot = b.build()
    tau = robot.control_force([0.2], [0.3], [1.5])
    assert np.allclose(tau, 6.0 * (2.0 * (1.5 - 6 * 0.2) - 0.1 * 6 * 0.3), rtol=1e-14)
    K, D = robot.control_gains([0.2], [0.3], [1.5])
    assert np.allclose([K[0, 0], D[0, 0]], [72.0, 3.6], rtol=1e-14)


def test_a_free_joint_has_no_length() -> None:
    b = fb.Builder("box").body("box", joint=Free(), mass=1, inertia=(1, 1, 1))
    robot = b.position_servo("s", drives="box", gear=(0, 0, 0, 0, 0, 1), kp=2.0).build()
    assert robot.actuator_length([1.0, 2, 3, 1, 0, 0, 0])[0] == 0.0


WRONG = {
    "negative kp": (lambda b: b.position_servo("x", drives="a", kp=-1.0), "kp=-1.0"),
    "negative kd": (lambda b: b.position_servo("x", drives="a", kp=1.0, kd=-1.0), "kd=-1.0"),
    "negative kv": (lambda b: b.velocity_servo("x", drives="a", kv=-1.0), "kv=-1.0"),
    "words": (lambda b: b.position_servo("x", drives="a", kp="stiff"), "kp"),
    "infinite": (lambda b: b.damper("x", drives="a", kv=np.inf), "kv"),
    "min_force above zero": (lambda b: b.body("c", joint=Revolute("x"), min_force=1.0), "min_force"),
    "min_force in words": (lambda b: b.body("c", joint=Revolute("x"), min_force="low"), "min_force"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    make, words = WRONG[name]
    with pytest.raises(fb.ModelError, match=words):
        make(fb.Builder("x").body("a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1)))


@pytest.mark.parametrize(
    "given",
    [
        {"parameters": {"kt": 2.0}},
        {"parameters": {"gain": (1.0, 2.0)}},
        {"kind": "affine", "parameters": {"bias": (1, 2, 3, 4)}},
    ],
)
def test_numbers_that_a_law_has_not_are_refused(given: dict[str, Any]) -> None:
    b = fb.Builder("x").body("a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1)).actuator("m", drives="a", **given)
    with pytest.raises(fb.ModelError, match=r"actuator 'm'.*is no part of the law"):
        b.build().control_force([0.0], [0.0], [0.0])
