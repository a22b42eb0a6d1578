"""What no contact may change: momentum of two bodies, and motions of a world that is moved, or larger, as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.2), "box": (0.2, 0.15, 0.1), "cylinder": (0.08, 0.2)}
PAIRS = [
    ("sphere", "sphere"), ("sphere", "capsule"), ("sphere", "box"), ("sphere", "cylinder"), ("capsule", "capsule"),
    ("capsule", "box"), ("capsule", "cylinder"), ("box", "box"),
]  # fmt: skip
SECONDS, DT = 0.4, 1e-3


def two(scale: float = 1.0) -> fb.System:
    """Two free bodies whose centres of mass are not at their origins."""
    b = fb.Builder("two", gravity=(0.0, 0.0, 0.0))
    com = tuple(scale * np.array((0.01, -0.02, 0.005)))
    for name, mass, inertia in (("a", 1.0, (0.01, 0.012, 0.015)), ("b", 2.0, (0.03, 0.02, 0.025))):
        moments = tuple(scale**2 * np.array(inertia))
        b.body(name, joint=fb.joints.Free(), mass=mass, inertia=moments, com=com)
    return b.build()


def matrix(q: np.ndarray) -> np.ndarray:
    """The rotation of a unit quaternion."""
    w, x, y, z = q
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p after q, of quaternions."""
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def meeting(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """States in which the first body flies into the second, both turning."""
    rng = np.random.default_rng(1)
    q, v = np.zeros((n, 14)), np.zeros((n, 12))
    for k in range(n):
        for at in (3, 10):
            q[k, at : at + 4] = rng.normal(size=4)
            q[k, at : at + 4] /= np.linalg.norm(q[k, at : at + 4])
        out = rng.normal(size=3)
        out /= np.linalg.norm(out)
        q[k, :3] = 0.45 * out
        v[k, 3:6] = matrix(q[k, 3:7]).T @ (-1.5 * out)
        v[k, :3], v[k, 6:9] = rng.normal(size=(2, 3))
    return q, v


def scene(kinds: tuple[str, str], mu: float, scale: float = 1.0) -> tuple[fb.System, fb.Scene]:
    robot = two(scale)
    shapes: list[Any] = [
        Shape(body, kind, tuple(scale * np.array(SIZES[kind])), friction=mu)
        for body, kind in zip("ab", kinds, strict=True)
    ]
    return robot, fb.Scene(robot, contacts=shapes)


@pytest.mark.parametrize("kinds", PAIRS, ids=":".join)
def test_what_one_body_gets_the_other_loses(kinds: tuple[str, str]) -> None:
    """Linear and angular momentum about the world's origin, through impacts with friction, to rounding."""
    robot, world = scene(kinds, 0.7)
    run = world.simulate(*meeting(), duration=SECONDS, dt=DT)
    assert run.contacts.found.any(axis=(0, 2)).all()
    momentum = robot.momentum(run.q, run.v, about="world")
    assert np.abs(momentum - momentum[0]).max() < 1e-12


@pytest.mark.parametrize("kinds", PAIRS, ids=":".join)
def test_a_world_that_is_moved_as_a_whole_moves_alike(kinds: tuple[str, str]) -> None:
    """Turned by any angle and shifted: the same velocities in the bodies' own axes."""
    _, world = scene(kinds, 0.7)
    q, v = meeting()
    turn = np.array([0.3, -0.5, 0.7, 0.2]) / np.linalg.norm([0.3, -0.5, 0.7, 0.2])
    other = q.copy()
    for at in (0, 7):
        other[:, at : at + 3] = q[:, at : at + 3] @ matrix(turn).T + [1.3, -0.7, 2.1]
        other[:, at + 3 : at + 7] = [product(turn, x) for x in q[:, at + 3 : at + 7]]
    runs = [world.simulate(x, v, duration=SECONDS, dt=DT) for x in (q, other)]
    assert np.abs(runs[0].v - runs[1].v).max() < 1e-8


@pytest.mark.parametrize("scale", [1e-3, 2.0])  # a thousand times larger, 0.5 m/s out of a penetration is little
@pytest.mark.parametrize("kinds", PAIRS, ids=":".join)
def test_a_world_of_another_size_moves_alike(kinds: tuple[str, str], scale: float) -> None:
    """All lengths times a factor: velocities times that factor too, to what is solved for."""
    (_, world), (_, other) = scene(kinds, 0.7), scene(kinds, 0.7, scale)
    q, v = meeting()
    larger, faster = q.copy(), v.copy()
    larger[:, [0, 1, 2, 7, 8, 9]] *= scale
    faster[:, [3, 4, 5, 9, 10, 11]] *= scale
    run, again = world.simulate(q, v, duration=0.2, dt=DT), other.simulate(larger, faster, duration=0.2, dt=DT)
    same = again.v.copy()
    same[..., [3, 4, 5, 9, 10, 11]] /= scale
    assert np.abs(same - run.v).max() < 1e-5


def test_a_body_in_flight_keeps_its_momentum_wherever_its_centre_of_mass_is() -> None:
    """And its energy to third order in dt per step: nothing but its own rotation acts."""
    b = fb.Builder("one", gravity=(0.0, 0.0, 0.0))
    b.body("a", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.012, 0.015), com=(0.1, -0.2, 0.05))
    robot = b.build()
    world = fb.Scene(robot, fb.Plane(point=(0.0, 0.0, -100.0)), contacts=[Shape("a", "sphere", 0.1)])
    run = world.simulate(robot.neutral(), np.array([3.0, 2.0, 1.0, 0.3, 0.2, 0.1]), duration=1.0, dt=DT)
    momentum, energy = robot.momentum(run.q, run.v, about="world"), robot.kinetic_energy(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-12 and np.abs(energy - energy[0]).max() < 1e-8
    centre = robot.center_of_mass(run.q)
    assert np.allclose(centre, centre[0] + run.t[:, None] * momentum[0, 3:], atol=1e-12)
