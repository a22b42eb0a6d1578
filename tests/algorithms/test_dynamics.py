"""Inverse, forward and hybrid dynamics and the mass matrix agree with each other, whatever the joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from .mechanisms import BATCH, EACH, EXAMPLES, RECIPES, Recipe, condition, mechanism, near, state
from .oracle import apply

TIGHT = 1e-13


@EACH
@EXAMPLES
@given(RECIPES)
def test_mass_matrix_is_symmetric_positive_definite(number: int, recipe: Recipe) -> None:
    robot = mechanism(number)
    M = robot.mass_matrix(state(robot, recipe).q)
    assert np.array_equal(M, np.swapaxes(M, -1, -2))
    assert np.all(np.linalg.eigvalsh(M) > 0.0)


@EACH
@EXAMPLES
@given(RECIPES)
def test_inverse_dynamics_is_linear_in_acceleration(number: int, recipe: Recipe) -> None:
    """M a + bias = ID(a)."""
    robot = mechanism(number)
    s = state(robot, recipe)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(apply(robot.mass_matrix(s.q), s.a) + robot.bias_force(s.q, s.v), tau, TIGHT)


@EACH
def test_mass_matrix_column_by_column(number: int) -> None:
    """Column j of M is ID(q, 0, e_j) without gravity."""
    robot = mechanism(number)
    q = state(robot).q
    units = np.eye(robot.nv)[:, None, :]
    columns = robot.inverse_dynamics(q, np.zeros(robot.nv), units) - robot.gravity_force(q)
    M = robot.mass_matrix(q)
    weight = np.abs(robot.gravity_force(q)).max(axis=-1)
    near(np.moveaxis(columns, 0, -1), M, TIGHT, np.abs(M).max(axis=(1, 2)) + weight)


@pytest.mark.every_mechanism  # so that every type of joint is in the default run
@EACH
@EXAMPLES
@given(RECIPES)
def test_forward_dynamics_undoes_inverse_dynamics(number: int, recipe: Recipe) -> None:
    """FD(ID(a)) = a, up to what the condition of M and the size of all forces cost."""
    robot = mechanism(number)
    s = state(robot, recipe)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    M = robot.mass_matrix(s.q)
    lost = np.abs(apply(np.abs(np.linalg.inv(M)), np.abs(tau))).max(axis=-1)
    near(robot.forward_dynamics(s.q, s.v, tau), s.a, 1e-13, np.abs(s.a).max(axis=-1) + lost)


@EACH
@EXAMPLES
@given(RECIPES)
def test_inverse_dynamics_undoes_forward_dynamics(number: int, recipe: Recipe) -> None:
    """ID(FD(τ)) = τ: the residual of the solution, in units of the forces that balance in it."""
    robot = mechanism(number)
    s = state(robot, recipe)
    a = robot.forward_dynamics(s.q, s.v, s.tau)
    M = robot.mass_matrix(s.q)
    forces = apply(np.abs(M), np.abs(a)) + np.abs(robot.bias_force(s.q, s.v))
    near(robot.inverse_dynamics(s.q, s.v, a), s.tau, 1e-12, forces.max(axis=-1))


@EACH
@EXAMPLES
@given(RECIPES)
def test_inverse_mass_matrix(number: int, recipe: Recipe) -> None:
    """M⁻¹ M = 1, and M⁻¹ is exactly symmetric."""
    robot = mechanism(number)
    q = state(robot, recipe).q
    M, W = robot.mass_matrix(q), robot.inverse_mass_matrix(q)
    assert np.array_equal(W, np.swapaxes(W, -1, -2))
    near(W @ M, np.broadcast_to(np.eye(robot.nv), M.shape), TIGHT, (np.abs(W) @ np.abs(M)).max(axis=(1, 2)))


@EACH
@EXAMPLES
@given(RECIPES)
def test_solving_with_the_mass_matrix(number: int, recipe: Recipe) -> None:
    """solve(q, b) = M⁻¹ b."""
    robot = mechanism(number)
    s = state(robot, recipe)
    M = robot.mass_matrix(s.q)
    expected = apply(robot.inverse_mass_matrix(s.q), s.tau)
    near(robot.solve_mass_matrix(s.q, s.tau), expected, 1e-14 * condition(M).max())


@EACH
@EXAMPLES
@given(RECIPES)
def test_gravity_and_bias_are_inverse_dynamics(number: int, recipe: Recipe) -> None:
    """gravity(q) = ID(q, 0, 0), bias(q, v) = ID(q, v, 0)."""
    robot = mechanism(number)
    s = state(robot, recipe)
    zero = np.zeros_like(s.v)
    near(robot.gravity_force(s.q), robot.inverse_dynamics(s.q, zero, zero), 1e-14)
    near(robot.bias_force(s.q, s.v), robot.inverse_dynamics(s.q, s.v, zero), TIGHT)
    near(robot.bias_force(s.q, s.v, f_ext=s.f_ext), robot.inverse_dynamics(s.q, s.v, zero, f_ext=s.f_ext), TIGHT)


@EACH
@EXAMPLES
@given(RECIPES)
def test_hybrid_dynamics(number: int, recipe: Recipe) -> None:
    """Whichever joints are prescribed, hybrid dynamics completes (a, τ) to a pair that inverse dynamics agrees with.

    It does not read the entries that it is to find: these are NaN.
    """
    robot = mechanism(number)
    s = state(robot, recipe)
    tau = robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    M = robot.mass_matrix(s.q)
    lost = apply(np.abs(np.linalg.inv(M)), np.abs(tau)).max(axis=-1)
    for names in prescribed_sets(number):
        chosen = np.array([v.split(".")[0] in names for v in robot.names.velocities])
        given_a, given_tau = np.where(chosen, s.a, np.nan), np.where(chosen, np.nan, tau)
        found = robot.hybrid_dynamics(s.q, s.v, given_a, given_tau, prescribed=names, f_ext=s.f_ext)
        near(found[0], s.a, TIGHT, np.abs(s.a).max(axis=-1) + lost)
        near(found[1], tau, 1e-12, np.abs(tau).max(axis=-1) + np.abs(M).sum(axis=-1).max(axis=-1) * lost)
        assert np.array_equal(found[0][:, chosen], s.a[:, chosen])
        assert np.array_equal(found[1][:, ~chosen], tau[:, ~chosen])


def prescribed_sets(number: int) -> list[list[str]]:
    """Some joints, all, none."""
    rng = np.random.default_rng(number)
    joints = [c.name for c in mechanism(number).model.cluster_tree.moving]
    return [[j for j in joints if rng.random() < 0.5], joints, []]


@EACH
def test_a_sample_alone_and_in_a_batch(number: int) -> None:
    """One state gives bitwise the same numbers whether it comes alone or among others."""
    robot = mechanism(number)
    s = state(robot)
    tau, a = robot.inverse_dynamics(s.q, s.v, s.a), robot.forward_dynamics(s.q, s.v, s.tau)
    for i in range(BATCH):
        assert np.array_equal(robot.inverse_dynamics(s.q[i], s.v[i], s.a[i]), tau[i])
        assert np.array_equal(robot.forward_dynamics(s.q[i], s.v[i], s.tau[i]), a[i])
