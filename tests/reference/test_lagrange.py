"""The whole dynamics against two Lagrangian routes, which share nothing with recursive algorithms.

That of `oracle.py` is made of Jacobians; `fourbar.lagrange` differentiates the energies.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given

from fourbar.lagrange import Lagrangian
from tests.algorithms.mechanisms import EACH, EXAMPLES, RECIPES, Recipe, condition, mechanism, near, state
from tests.algorithms.oracle import DIFFERENCED, Kinematics, apply, lagrangian

TIGHT = 1e-13


@EACH
@EXAMPLES
@given(RECIPES)
def test_lagrangian(number: int, recipe: Recipe) -> None:
    """M, C v + g, ID and FD."""
    robot = mechanism(number)
    s = state(robot, recipe)
    expected = lagrangian(robot, s.q, s.v)
    bias = expected.Cv + expected.g
    near(robot.mass_matrix(s.q), expected.M, TIGHT)
    near(robot.gravity_force(s.q), expected.g, TIGHT)
    near(robot.bias_force(s.q, s.v), bias, DIFFERENCED)
    near(robot.inverse_dynamics(s.q, s.v, s.a), apply(expected.M, s.a) + bias, DIFFERENCED)
    M = expected.M.astype(float)
    a = np.linalg.solve(M, (s.tau - bias).astype(float)[..., None])[..., 0]
    near(robot.forward_dynamics(s.q, s.v, s.tau), a, DIFFERENCED * max(1.0, 0.01 * condition(M).max()))


@EACH
@EXAMPLES
@given(RECIPES)
def test_sums_over_bodies(number: int, recipe: Recipe) -> None:
    """Energies, centre of mass and momentum as sums over the bodies, in world axes."""
    robot = mechanism(number)
    s = state(robot, recipe)
    expected = lagrangian(robot, s.q, s.v)
    mass = sum(c.I.m for c in robot.model.cluster_tree.spanning_tree.links)
    reach = np.abs(Kinematics(robot).poses(s.q)["hand"][:, :3, 3]).max(axis=-1) + 1.0
    near(robot.kinetic_energy(s.q, s.v), expected.kinetic, TIGHT)
    near(robot.potential_energy(s.q), expected.potential, TIGHT, 9.81 * mass * reach)
    near(robot.center_of_mass(s.q), expected.com, TIGHT, reach)
    near(robot.center_of_mass_jacobian(s.q), expected.com_jacobian, TIGHT)
    size = apply(np.abs(robot.momentum_matrix(s.q, about="world")), np.abs(s.v)).max(axis=-1)
    near(robot.momentum(s.q, s.v, about="world"), expected.momentum, TIGHT, size)


@cache
def differentiated(number: int) -> Lagrangian:
    return Lagrangian(mechanism(number))


@EACH
@EXAMPLES
@given(RECIPES)
def test_derivatives_of_the_energies(number: int, recipe: Recipe) -> None:
    """The equations of Boltzmann and Hamel: M, g, C v + g, ID, momenta, and both routes alike."""
    robot, L = mechanism(number), differentiated(number)
    s = state(robot, recipe)
    M, weight = robot.mass_matrix(s.q), robot.gravity_force(s.q)
    size = np.abs(M).max(axis=(-2, -1)) * np.abs(s.v).max(axis=-1) ** 2 * robot.nv + np.abs(weight).max(axis=-1)
    near(L.mass_matrix(s.q), M, TIGHT)
    near(L.gravity_force(s.q), weight, TIGHT)
    near(L.bias_force(s.q, s.v), robot.bias_force(s.q, s.v), TIGHT, size)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(L.inverse_dynamics(s.q, s.v, s.a), tau, TIGHT, size + np.abs(tau).max(axis=-1))
    near(L.momenta(s.q, s.v), apply(M, s.v), TIGHT, np.abs(M).max(axis=(-2, -1)) * robot.nv)
    expected = lagrangian(robot, s.q, s.v)
    near(L.bias_force(s.q, s.v), expected.Cv + expected.g, DIFFERENCED)
