"""Motions of robots with constraints that are kept by forces, and of robots in the forces of their drives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fourbar as fb


def opened(robot: fb.System) -> Any:
    """A robot whose loops are kept by forces instead of being embedded."""
    m = robot.mechanism
    return fb.System(replace(m, loops=(), configurations=())).constrained(*(x.loop for x in m.loops))


def test_a_loop_kept_by_forces_moves_as_the_embedded_one_and_stays_closed() -> None:
    robot = fb.robots.crank_rocker()
    held = opened(robot)
    q = robot.assemble(robot.neutral())
    v = np.full(robot.nv, 4.0)
    start = (robot.expand(q), robot.expand_velocity(q, v))
    exact = robot.expand(fb.simulate(robot, q, v, duration=0.8, dt=2e-4, every=400).q)
    errors = []
    for dt in (8e-3, 4e-3):
        found = fb.simulate(held, *start, duration=0.8, dt=dt, every=round(0.08 / dt))
        errors.append(np.abs(found.q - exact).max())
        assert np.abs(held.residual(found.q)).max() < 1e-11 and np.abs(held.rate(found.q, found.v)).max() < 1e-10
    assert errors[1] < 1e-5 and errors[1] < 0.1 * errors[0]  # of fourth order
    energy = held.system.kinetic_energy(found.q, found.v) + held.system.potential_energy(found.q)
    assert np.ptp(energy) < 1e-6 * np.ptp(held.system.kinetic_energy(found.q, found.v))


def test_samples_of_a_batch_move_alone_and_controls_act() -> None:
    robot = fb.robots.double_pendulum()
    held = robot.constrained(fb.constraints.Contact("tip", "point"))
    pinned = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    q, v = pinned.project(np.array([[0.3, 0.1], [0.6, -0.4], [0.1, 0.2]]), np.ones((3, 2)))
    tau = np.random.default_rng(1).normal(size=(3, 20, 2))
    runs = fb.rollout(pinned, q, v, tau, dt=2e-3, every=4, observe={"imu": fb.observe.imu("tip")})
    assert np.abs(pinned.residual(runs.q)).max() < 1e-12 and runs.q.shape == (3, 5, 2)
    for k in range(3):
        alone = fb.simulate(pinned, q[k], v[k], control=tau[k], duration=0.04, dt=2e-3, every=4)
        assert np.abs(alone.q[1:] - runs.q[k]).max() < 1e-13
    a = pinned.forward_dynamics(runs.q[:, -1], runs.v[:, -1], tau[:, -1])[0]
    linear = robot.acceleration(runs.q[:, -1], runs.v[:, -1], a, "tip")[:, 3:] + np.array([0.0, 0.0, 9.81])
    R = robot.pose(runs.q[:, -1], "tip")[:, :3, :3]
    assert np.abs(runs.observations["imu"][:, -1, 3:] - np.einsum("kji,kj->ki", R, linear)).max() < 1e-8
    still = fb.simulate(held, [0.4, -0.9], duration=0.2, dt=2e-3)  # three rows: it cannot move
    assert np.abs(still.q - [0.4, -0.9]).max() < 1e-12


def test_a_start_that_breaks_a_constraint_is_refused() -> None:
    pinned = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    with pytest.raises(fb.ArgumentError, match="open by"):
        fb.simulate(pinned, [0.3, 0.1], duration=0.1)
    with pytest.raises(fb.ArgumentError, match="moves by"):
        fb.simulate(pinned, pinned.project([0.3, 0.1]), [1.0, 1.0], duration=0.1)
    with pytest.raises(fb.ArgumentError, match="machine code"):
        fb.simulate(pinned, pinned.project([0.3, 0.1]), duration=0.1, numbers={"lower.mass": 1.0})


def test_an_actuated_robot_moves_by_the_forces_of_its_drives() -> None:
    robot = fb.robots.five_bar()
    driven = robot.actuated([j for j in robot.names.joints if j.startswith(("left", "right"))][-2:])
    q = robot.assemble(robot.neutral())
    f = np.random.default_rng(2).normal(size=(4, 50, len(driven.joints)))
    runs = fb.rollout(driven, q, None, f, dt=1e-3, every=10)
    assert runs.q.shape == (4, 5, robot.nq) and np.array_equal(runs.u, f[:, 9::10])

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.einsum("kij,ki->kj", driven.actuator_map(q), f[:, 0])

    start = np.tile(q, (4, 1))
    held = fb.simulate(driven, start, control=f[:, :1], period=0.05, duration=0.05, dt=1e-3)
    assert np.abs(held.q - fb.simulate(robot, start, torque=force, duration=0.05, dt=1e-3).q).max() < 1e-12
    still = fb.simulate(driven, q, torque=lambda t, q, v: driven.inverse_dynamics(q, v, 0.0 * v), duration=0.1, dt=1e-3)
    assert np.abs(still.q - q).max() < 1e-9
    with pytest.raises(fb.ArgumentError, match="as control="):
        fb.simulate(driven, q, u=f, duration=0.05)
    with pytest.raises(fb.ArgumentError, match="traced forces as control"):
        fb.simulate(driven, q, torque=fb.traced(lambda t, q, v: [0.0, 0.0]), duration=0.05)
