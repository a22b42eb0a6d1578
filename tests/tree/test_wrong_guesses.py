"""Guesses and starts that describe no placement are refused by name, instead of closed, or followed to a divergence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute, Spherical
from fourbar.loops import Closure

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (1.0, 1.0, 1.0)}
HELD = Closure(Spherical(), "world", "arm")


def floating(closed: bool) -> fb.System:
    b = fb.Builder("floating").body("base", joint=Free(), **BODY)
    b.body("arm", parent="base", joint=Revolute("y"), position=(0.3, 0, 0), **BODY)
    return (b.loop(HELD) if closed else b).build()


CLOSERS = {
    "assemble": floating(True).assemble,
    "project": floating(False).constrained(HELD).project,
}


@pytest.mark.parametrize("name", CLOSERS)
def test_a_guess_of_zeros_is_refused(name: str) -> None:
    """The first that everybody tries."""
    close, good = CLOSERS[name], floating(False).neutral()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(fb.ArgumentError, match=rf"{name}: q: the quaternion of joint 'base'.*robot.neutral"):
            close(np.zeros(8))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = close(np.stack([good, np.zeros(8), good]))
    assert np.isnan(found[1]).all() and np.array_equal(found[0], found[2]) and np.isfinite(found[0]).all()
    (warning,) = said
    assert "in some samples of q: the quaternion of joint 'base'" in str(warning.message)


def test_a_base_beside_the_loops_is_looked_at_too() -> None:
    robot = fb.robots.tello()
    with pytest.raises(fb.ArgumentError, match="quaternion"):
        robot.assemble(np.zeros(robot.nq))


@pytest.mark.parametrize(
    "call",
    [
        lambda q: fb.simulate(fb.robots.double_pendulum(), q, duration=0.01),
        lambda q: fb.Scene(fb.robots.double_pendulum()).simulate(q, duration=0.01),
        lambda q: fb.robots.double_pendulum().assemble(q),
    ],
    ids=["simulate", "scene", "assemble"],
)
def test_angles_without_end_are_no_start(call: object) -> None:
    with pytest.raises(fb.ArgumentError, match=r"'elbow' is 1e\+09 .*modulo 2π"):
        call([0.1, 1e9])  # type: ignore[operator]


def test_in_a_batch_such_starts_are_nan() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.warns(RuntimeWarning, match=r"in some samples of q: the coordinate 'elbow'"):
        motion = fb.simulate(robot, [[0.1, 0.2], [0.1, 1e9]], duration=0.01, dt=1e-3)
    alone = fb.simulate(robot, [0.1, 0.2], duration=0.01, dt=1e-3)
    assert np.isnan(motion.q[-1, 1]).all() and np.array_equal(motion.q[:, 0], alone.q)
