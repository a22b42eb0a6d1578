"""Mechanisms with loops against the derivatives of their energies, with the loops brought in by virtual work."""

from __future__ import annotations

import numpy as np

from fourbar.lagrange import Lagrangian

from .looped import EACH, mechanism, near, state


@EACH
def test_equations_of_motion(name: str) -> None:
    robot, s = mechanism(name), state(name)
    L = Lagrangian(robot)
    near(L.mass_matrix(s.q), robot.mass_matrix(s.q), 1e-13)
    weight = robot.gravity_force(s.q)
    size = np.abs(weight).max(axis=-1, initial=0.0) + 1e-9
    near(L.gravity_force(s.q), weight, 1e-12, size)
    near(L.bias_force(s.q, s.v), robot.bias_force(s.q, s.v), 1e-12, size)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(L.inverse_dynamics(s.q, s.v, s.a), tau, 1e-12, size + np.abs(tau).max(axis=-1, initial=0.0))


def test_leading_axes() -> None:
    """Arguments broadcast as those of the compiled methods do."""
    robot, s = mechanism("four_bar"), state("four_bar")
    L = Lagrangian(robot)
    tau = L.inverse_dynamics(s.q[:, None], s.v[None], np.ones(robot.nv))
    near(tau, robot.inverse_dynamics(s.q[:, None], s.v[None], np.ones(robot.nv)), 1e-12)
