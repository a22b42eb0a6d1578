"""Simulation through places where the joints that say the velocities of a loop turn back."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.sim.charts import Charts


def drive(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A force on the crank and damping of the elbow, as forces on the velocities of this robot."""
    E = robot.expand_velocity(q[..., None, :], np.eye(robot.nv))
    motion = robot.expand_velocity(q, v)
    forces = np.zeros_like(motion)
    forces[..., 0], forces[..., 1] = 0.7, -0.05 * motion[..., 1]
    return np.einsum("...ij,...j->...i", E, forces)


@pytest.mark.parametrize("driven", [False, True])
def test_the_rocker_says_the_velocity(driven: bool) -> None:
    """The crank of a crank-rocker turns on, its rocker turns back twice a turn: the same motion in both velocities."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q, speed = crank.assemble((2.0, -1.6, 1.9)), np.array([6.0])
    slow = crank.expand_velocity(q, speed)[2:3]
    options = {"duration": 0.8, "dt": 1e-4, "every": 250}
    of = lambda robot: (lambda t, q, v: drive(robot, q, v)) if driven else None  # noqa: E731
    wanted = fb.simulate(crank, q, speed, torque=of(crank), **options)
    found = fb.simulate(rocker, q, slow, torque=of(rocker), **options)
    assert np.ptp(wanted.q[:, 0]) > 2.0 * np.pi, "the crank made a turn"
    assert np.abs(found.q - wanted.q).max() < 2e-8
    velocity = crank.expand_velocity(wanted.q, wanted.v)[:, 2:3]
    assert np.abs(found.v - velocity).max() < 2e-7 * np.abs(velocity).max()
    assert rocker.loop_gap(found.q).max() < 1e-12


def test_a_batch_changes_together() -> None:
    """Two motions at once, one of which needs other velocities."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q = np.array([crank.assemble((2.0, -1.6, 1.9))] * 2)
    speed = np.array([[5.0], [0.1]])
    slow = crank.expand_velocity(q, speed)[:, 2:3]
    wanted = fb.simulate(crank, q, speed, duration=0.6, dt=2e-4, every=500)
    found = fb.simulate(rocker, q, slow, duration=0.6, dt=2e-4, every=500)
    assert np.abs(found.q - wanted.q).max() < 2e-8


def test_only_loops_that_lose_their_hold_change() -> None:
    """Nothing is asked of others where all is well, and nothing without loops."""
    crank = fb.robots.crank_rocker()
    charts = Charts(crank)
    q = crank.assemble((2.0, -1.6, 1.9))
    assert charts.looked_at(q, np.ones(1), 1e-3) is not None and charts.now is crank
    assert charts.better(q, np.ones(1), 1e-3) is None
    arm = fb.robots.double_pendulum()
    assert not Charts(arm).moving
