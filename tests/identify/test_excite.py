"""Exciting motions keep their limits, move as they say, and tell more than the first that comes to mind."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, exciting_trajectory, identify

from .arms import arm, changed


def test_within_limits_and_better() -> None:
    robot = arm()
    limits = {"period": 5.0, "velocity": [1.0, 2.0, 2.0], "acceleration": 8.0}
    found = exciting_trajectory(robot, **limits, evaluations=80)
    lower = [c.lower[0] for c in robot.mechanism.connections if c.joint.nv]
    upper = [c.upper[0] for c in robot.mechanism.connections if c.joint.nv]
    assert np.all((found.q > lower) & (found.q < upper))
    assert np.all(np.abs(found.v) <= limits["velocity"]) and np.all(np.abs(found.a) <= 8.0)
    assert found.condition < 0.7 * found.first
    again = exciting_trajectory(robot, **limits, evaluations=80)
    assert np.array_equal(again.q, found.q)
    result = identify(
        changed(robot),
        {"q": found.q, "v": found.v, "a": found.a, "tau": robot.inverse_dynamics(found.q, found.v, found.a)},
    )
    assert result.residuals.max() < 1e-8 and result.condition < 1e5


def test_derivatives() -> None:
    found = exciting_trajectory(arm(), period=4.0, velocity=1.0, acceleration=5.0, evaluations=2, harmonics=3)
    t, h = np.linspace(0.0, 4.0, 7), 1e-5
    _, v, a = found.fourier.at(t)
    (y1, v1, _), (y0, v0, _) = found.fourier.at(t + h), found.fourier.at(t - h)
    assert np.allclose((y1 - y0) / (2 * h), v, atol=1e-8) and np.allclose((v1 - v0) / (2 * h), a, atol=1e-7)
    assert np.allclose(found.fourier.at(t)[0], found.fourier.at(t + 4.0)[0])


def test_loops_stay_closed() -> None:
    robot = fb.robots.four_bar()
    found = exciting_trajectory(robot, period=3.0, velocity=4.0, acceleration=20.0, evaluations=5, harmonics=2)
    assert robot.loop_gap(found.q).max() < 1e-10
    numerical = robot.difference(found.q[:-2], found.q[2:]) / (found.t[2] - found.t[0])
    assert np.allclose(numerical, found.v[1:-1], atol=2e-2 * np.abs(found.v).max())


def test_errors() -> None:
    robot = arm()
    with pytest.raises(ArgumentError, match=r"velocity=-1: expected a positive number, or 3 of them"):
        exciting_trajectory(robot, period=1.0, velocity=-1, acceleration=1.0)
    with pytest.raises(ArgumentError, match=r"period=0: expected a positive number"):
        exciting_trajectory(robot, period=0, velocity=1.0, acceleration=1.0)
    with pytest.raises(ArgumentError, match=r"harmonics=0: expected a whole number, at least 1"):
        exciting_trajectory(robot, period=1.0, velocity=1.0, acceleration=1.0, harmonics=0)
    b = fb.Builder("rock")
    b.body("rock", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ArgumentError, match=r"joint 'rock' is a Free, whose coordinates do not add up"):
        exciting_trajectory(b.build(), period=1.0, velocity=1.0, acceleration=1.0)
    b = fb.Builder("stuck")
    b.body("arm", joint=fb.joints.Revolute("x"), mass=1.0, inertia=(1, 1, 1), limits=(0.3, 0.3))
    with pytest.raises(ArgumentError, match=r"joints 'arm' have no room to move"):
        exciting_trajectory(b.build(), period=1.0, velocity=1.0, acceleration=1.0)
