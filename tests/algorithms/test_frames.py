"""Poses, velocities, accelerations and Jacobians of frames, for every point and every axes they can be reported in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from .mechanisms import EACH, EXAMPLES, FEW, RECIPES, Recipe, State, mechanism, near, state
from .oracle import DIFFERENCED, Kinematics, apply, grounded

TIGHT = 1e-13
POINT = (0.3, -0.2, 0.5)
CHOICES = [(at, axes) for at in ("origin", POINT, "world") for axes in ("world", "frame", "middle", "mark")]
EACH_CHOICE = pytest.mark.parametrize("at, axes", CHOICES, ids=lambda x: "point" if x == POINT else x)


def reported(number: int, frame: str, at: Any, axes: str) -> Callable[[np.ndarray], np.ndarray]:
    """J(q) (..., 6, nv) by definition: from differentiated poses, the velocity of a point in somebody's axes."""
    k = Kinematics(mechanism(number))

    def J(q: np.ndarray) -> np.ndarray:
        T, found = k.poses(q), k.jacobians(q)[frame]
        R, p = T[frame][..., :3, :3], T[frame][..., :3, 3]
        # vector from the frame's origin to the reported point, in world axes
        r = -p if at == "world" else np.zeros_like(p) if at == "origin" else apply(R, np.array(at))
        angular = found[..., :3, :]
        linear = found[..., 3:, :] + np.cross(angular, r[..., :, None], axis=-2)
        turn = {"world": np.eye(3), "frame": np.swapaxes(R, -1, -2)}.get(axes)
        if turn is None:
            turn = np.swapaxes(T[axes][..., :3, :3], -1, -2)
        return np.concatenate([turn @ angular, turn @ linear], axis=-2)

    return J


def rate_of(J: Callable[[np.ndarray], np.ndarray], number: int, s: State) -> np.ndarray:
    """J̇ v: the component-wise rate of J(q ⊕ t v) v."""
    return Kinematics(mechanism(number)).along(lambda q: apply(J(q), s.v), s.q, s.v)


@EACH
@EXAMPLES
@given(RECIPES)
def test_poses(number: int, recipe: Recipe) -> None:
    robot = mechanism(number)
    q = state(robot, recipe).q
    expected = Kinematics(robot).poses(q)
    all_bodies = robot.poses(q)
    for i, name in enumerate(robot.names.bodies):
        near(all_bodies[:, i], expected[name], TIGHT)
    for name in (*robot.names.frames, "base", "welded"):
        near(robot.pose(q, name), expected[name], TIGHT)


@pytest.mark.every_mechanism
@EACH_CHOICE
@FEW
def test_jacobian(number: int, at: Any, axes: str) -> None:
    """J is the derivative of the pose."""
    robot = mechanism(number)
    q = state(robot).q
    J = reported(number, "hand", at, axes)(q)
    near(robot.jacobian(q, "hand", at=at, expressed_in=axes), J, TIGHT)


@pytest.mark.default_cases(
    "5-origin-world",
    "5-point-frame",
    "5-world-middle",
    "5-world-mark",
    "1-point-mark",
    "1-origin-frame",
    "8-world-world",
    "8-point-middle",
)
@EACH_CHOICE
@FEW
def test_velocity_and_acceleration(number: int, at: Any, axes: str) -> None:
    """velocity = J v, jacobian_rate = J̇ v, acceleration = J a + J̇ v."""
    robot = mechanism(number)
    s = state(robot)
    options = {"at": at, "expressed_in": axes}
    J = reported(number, "hand", at, axes)
    here = J(s.q)
    speed = apply(np.abs(here), np.abs(s.v)).max(axis=-1)
    near(robot.velocity(s.q, s.v, "hand", **options), apply(here, s.v), TIGHT, speed)
    rate = rate_of(J, number, s)
    size = np.abs(rate).max(axis=-1) + speed
    near(robot.jacobian_rate(s.q, s.v, "hand", **options), rate, DIFFERENCED, size)
    size = size + apply(np.abs(here), np.abs(s.a)).max(axis=-1)
    near(robot.acceleration(s.q, s.v, s.a, "hand", **options), apply(here, s.a) + rate, DIFFERENCED, size)


@EACH
@EXAMPLES
@given(RECIPES)
def test_default_choice(number: int, recipe: Recipe) -> None:
    """Without options it is the origin, in world axes; every mechanism, every kind of state."""
    robot = mechanism(number)
    s = state(robot, recipe)
    J = reported(number, "welded_tip", "origin", "world")
    here, rate = J(s.q), rate_of(J, number, s)
    speed = apply(np.abs(here), np.abs(s.v)).max(axis=-1)
    near(robot.jacobian(s.q, "welded_tip"), here, TIGHT)
    near(robot.velocity(s.q, s.v, "welded_tip"), apply(here, s.v), TIGHT, speed)
    size = np.abs(rate).max(axis=-1) + speed * np.abs(s.v).max(axis=-1)
    near(robot.jacobian_rate(s.q, s.v, "welded_tip"), rate, DIFFERENCED, size)


@FEW
def test_acceleration_of_a_point_is_that_of_a_frame_there(number: int) -> None:
    """A point fixed in a frame moves like the origin of a body welded there: pose, velocity and acceleration."""
    robot = mechanism(number)
    s = state(robot)
    inner = np.linalg.solve(robot.pose(s.q, "welded")[0], robot.pose(s.q, "welded_tip")[0])
    point = tuple(inner[:3, 3].tolist())
    for method, arguments in (("velocity", (s.q, s.v)), ("acceleration", (s.q, s.v, s.a)), ("jacobian", (s.q,))):
        there = getattr(robot, method)(*arguments, "welded", at=point)
        near(there, getattr(robot, method)(*arguments, "welded_tip"), TIGHT)


@EACH
def test_frames_on_the_ground_do_not_move(number: int) -> None:
    robot = mechanism(number)
    s = state(robot)
    fixed = ["mark", *sorted(grounded(robot) - {"world"})]
    for name in fixed:
        assert not np.any(robot.jacobian(s.q, name))
        assert not np.any(robot.velocity(s.q, s.v, name))
        assert np.ptp(robot.pose(s.q, name), axis=0).max() == 0.0
    J = robot.jacobian(s.q, "mark", expressed_in="hand")
    assert J.shape == (*s.q.shape[:-1], 6, robot.nv)
    assert not np.any(J)


@EACH
def test_integrate_and_difference(number: int) -> None:
    """q ⊕ (q' ⊖ q) = q' as poses; integrate starts with velocity v."""
    robot = mechanism(number)
    s = state(robot)
    other = robot.random(9, len(s.q))
    reached = robot.integrate(s.q, robot.difference(s.q, other), 1.0)
    near(robot.poses(reached), robot.poses(other), TIGHT)
    step = 1e-6
    moved = robot.integrate(s.q, s.v, step)
    near(robot.difference(s.q, moved), step * s.v, 1e-9)
    difference = (robot.poses(moved) - robot.poses(robot.integrate(s.q, s.v, -step))) / (2 * step)
    J = np.stack([Kinematics(robot).jacobians(s.q)[b] for b in robot.names.bodies], axis=1)
    near(difference[..., :3, 3], np.einsum("bnij,bj->bni", J[..., 3:, :], s.v), 1e-8)
