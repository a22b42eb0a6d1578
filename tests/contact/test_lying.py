"""A limp robot that falls and lies on all its links, whose joints rub and have limits: impulses are far from unique."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

TOLERANCE, DT = 1e-8, 2e-3


def quadruped() -> tuple[fb.System, list[Shape]]:
    """A trunk on four legs of three joints with dry friction and limits; 36 points."""
    b = fb.Builder("limp")
    b.body("trunk", joint=fb.joints.Free(), mass=5.0, inertia=(0.017, 0.057, 0.065))
    shapes = [Shape("trunk", "box", (0.38, 0.1, 0.11))]
    rubs: dict[str, Any] = {"friction": 0.2, "damping": 0.01}
    for k in range(4):
        x, y = 0.19 if k < 2 else -0.19, 0.05 if k % 2 else -0.05
        b.body(f"hip{k}", parent="trunk", joint=fb.joints.Revolute("x"), position=(x, y, 0.0), mass=0.6,
               inertia=(5e-4, 8e-4, 6e-4), limits=(-0.86, 0.86), **rubs)  # fmt: skip
        b.body(f"thigh{k}", parent=f"hip{k}", joint=fb.joints.Revolute("y"), position=(0, 1.6 * y, 0), mass=0.9,
               com=(0, 0, -0.03), inertia=(5e-3, 5e-3, 1e-3), limits=(-0.69, 4.5), **rubs)  # fmt: skip
        b.body(f"shin{k}", parent=f"thigh{k}", joint=fb.joints.Revolute("y"), position=(0, 0, -0.21), mass=0.2,
               com=(0, 0, -0.1), inertia=(2e-3, 2e-3, 5e-5), limits=(-2.8, -0.9), **rubs)  # fmt: skip
        shapes += [
            Shape(f"hip{k}", "capsule", (0.045, 0.02), rpy=(np.pi / 2, 0, 0)),
            Shape(f"thigh{k}", "capsule", (0.017, 0.1), position=(0, 0, -0.1)),
            Shape(f"shin{k}", "capsule", (0.01, 0.1), position=(0, 0, -0.1)),
            Shape(f"shin{k}", "sphere", 0.02, position=(0, 0, -0.21)),
        ]
    return b.build(), shapes


def fallen(scene: fb.Scene, robot: fb.System, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight states just above the floor, turned at random."""
    rng = np.random.default_rng(seed)
    q = np.repeat(robot.neutral()[None], 8, 0)
    q[:, 7:] = np.tile([0.0, 0.8, -1.6], 4) + 0.3 * rng.normal(size=(8, 12))
    turned = rng.normal(size=(8, 4))
    q[:, 3:7] = turned / np.linalg.norm(turned, axis=1)[:, None]
    q = np.array([scene.start(x) for x in q])
    q[:, 2] += 0.05
    return q, 0.5 * rng.normal(size=(8, robot.nv))


@pytest.fixture(scope="module")
def limp() -> tuple[fb.System, fb.Scene]:
    """The robot on a floor."""
    robot, shapes = quadruped()
    scene = fb.Scene(robot, fb.Plane(friction=0.7), contacts=shapes, pairs="none", tolerance=TOLERANCE)
    assert len(scene.contacts) == 36 and scene.n_impulses == 120
    return robot, scene


def test_a_limp_robot_is_solved_while_it_falls_and_lies(limp: tuple[fb.System, fb.Scene]) -> None:
    """998 of 1000 steps and more; what has come to rest is carried by the floor, and does not sink into it."""
    robot, scene = limp
    missed, at_rest = [], 0
    for seed in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fb.SimulationWarning)  # what is not solved is counted
            run = scene.rollout(*fallen(scene, robot, seed), dt=DT, steps=500, every=1)
        missed.append(run.residual[1:] > TOLERANCE)
        still = np.abs(run.v[-1]).max(axis=-1) < 1e-4
        at_rest += still.sum()
        weight = 9.81 * sum(body.mass for body in robot.mechanism.bodies)
        force = run.contacts.force[-1, still].sum(axis=-2)
        assert np.abs(force - [0.0, 0.0, weight]).max() < 1e-2 and run.contacts.gap[-1, still].min() > -1e-6
    assert at_rest >= 4 and np.mean(missed) < 0.002


def test_torsional_and_rolling_friction_of_what_lies_are_solved() -> None:
    """180 rows over 18 velocities, three discs at each contact."""
    robot, shapes = quadruped()
    floor = fb.Plane(friction=0.7, torsion=0.01, rolling=0.002)
    scene = fb.Scene(robot, floor, contacts=shapes[1:], pairs="none", tolerance=TOLERANCE)
    assert scene.n_impulses == 12 + 6 * 28
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)
        run = scene.rollout(*fallen(scene, robot, 1), dt=DT, steps=400, every=1)
    assert (run.residual[1:] > TOLERANCE).mean() < 0.002


def test_a_limp_robot_has_the_same_bits_in_any_batch(limp: tuple[fb.System, fb.Scene]) -> None:
    """Each sample alone, and among others that need more passes."""
    robot, scene = limp
    q, v = fallen(scene, robot, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)
        together = scene.rollout(q, v, dt=DT, steps=250)
        for k in (0, 3, 6):
            alone = scene.rollout(q[k], v[k], dt=DT, steps=250)
            assert np.array_equal(alone.q[-1], together.q[-1, k]) and np.array_equal(alone.v[-1], together.v[-1, k])


def test_open_contacts_carry_nothing_at_all(limp: tuple[fb.System, fb.Scene]) -> None:
    """Also where the impulses were found through the interior, or smoothed, where every contact carries something; but
    for a few that could not be without it."""
    robot, scene = limp
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)
        run = scene.rollout(*fallen(scene, robot, 0), dt=DT, steps=400, every=1)
    far = run.contacts.gap[1:] > 0.05  # more than any of them moves in a step
    force = np.abs(run.contacts.force[1:][far]).max(axis=-1)
    assert len(force) > 50_000 and (force > 0.0).mean() < 2e-3 and force.max() < 1e-5
