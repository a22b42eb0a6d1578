"""Robots too large to be unrolled: their programs share code between steps, and must give the same numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fourbar import System
from fourbar.joints import REGISTRY, Helical, Revolute, Spherical, Universal

from . import direct
from .mechanisms import condition, near, random_mechanism, state
from .oracle import DIFFERENCED, apply, lagrangian

TIGHT = 1e-13


@cache
def everything() -> System:
    """Every joint of the registry in one tree on a free joint."""
    rng = np.random.default_rng(5)
    order = rng.permutation(len(REGISTRY))
    return random_mechanism(rng, [REGISTRY[i] for i in order], "everything", floating=True)


@cache
def repeated() -> System:
    """Four kinds of joints, ten times each."""
    rng = np.random.default_rng(6)
    joints = [Revolute("x"), Spherical(), Universal("z", "x"), Helical("y", pitch=0.1)] * 10
    return random_mechanism(rng, [joints[i] for i in rng.permutation(len(joints))], "repeated")


@pytest.fixture(params=[everything, repeated], ids=["everything", "repeated"])
def robot(request: pytest.FixtureRequest) -> System:
    return request.param()


def test_code_is_shared(robot: System) -> None:
    program = robot.program("forward_dynamics")
    assert len(program.calls) > len(program.blocks) > 20


@pytest.mark.slow
def test_lagrangian_of_a_large_robot() -> None:
    """The Lagrangian route, every joint at once."""
    s = state(everything(), n=1)
    expected = lagrangian(everything(), s.q, s.v)
    near(everything().mass_matrix(s.q), expected.M, TIGHT)
    near(everything().bias_force(s.q, s.v), expected.Cv + expected.g, DIFFERENCED)
    near(everything().momentum(s.q, s.v, about="world"), expected.momentum, TIGHT)
    near(everything().center_of_mass_jacobian(s.q), expected.com_jacobian, TIGHT)


def test_dynamics_of_a_large_robot(robot: System) -> None:
    """M a + bias = ID(a); FD and its inverse agree with both."""
    s = state(robot, n=5)
    M, bias = robot.mass_matrix(s.q), robot.bias_force(s.q, s.v)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(apply(M, s.a) + bias, tau, TIGHT)
    lost = apply(np.abs(np.linalg.inv(M)), np.abs(tau)).max(axis=-1)
    near(robot.forward_dynamics(s.q, s.v, tau), s.a, TIGHT, lost + np.abs(s.a).max(axis=-1))


@pytest.mark.slow
def test_inverse_mass_matrix_of_a_large_robot() -> None:
    q = state(repeated(), n=3).q
    M, W = repeated().mass_matrix(q), repeated().inverse_mass_matrix(q)
    near(W @ M, np.broadcast_to(np.eye(repeated().nv), M.shape), TIGHT, (np.abs(W) @ np.abs(M)).max(axis=(1, 2)))


def test_against_plain_numbers(robot: System) -> None:
    """The traced, shared and compiled forward dynamics against the same algorithm run on numbers."""
    s = state(robot, n=3)
    exact = [x.astype(np.longdouble) for x in (s.q, s.v, s.tau)]
    expected = direct.forward_dynamics(robot.model.cluster_tree.spanning_tree, robot.gravity, *exact)
    near(robot.forward_dynamics(s.q, s.v, s.tau), expected, max(TIGHT, 1e-15 * condition(robot.mass_matrix(s.q)).max()))


@pytest.mark.quick
def test_jacobian_of_a_large_robot(robot: System) -> None:
    """velocity = J v at the end of long paths, and the rate of potential energy."""
    s = state(robot, n=3)
    J = robot.jacobian(s.q, "hand")
    near(robot.velocity(s.q, s.v, "hand"), apply(J, s.v), TIGHT, apply(np.abs(J), np.abs(s.v)).max(axis=-1))
    rate = direct.rate(robot, lambda q, v: direct.energies(robot, q, v), s.q, s.v, 0.0 * s.v)[..., 1]
    g = robot.gravity_force(s.q)
    near((g * s.v).sum(axis=-1), rate, TIGHT, np.abs(g * s.v).sum(axis=-1))
