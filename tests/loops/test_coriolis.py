"""Coriolis matrices and Christoffel symbols of mechanisms with loops."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.joints.flat import FlatJoint

from .looped import EACH, NAMES, apply, mechanism, near, slope, spanning, state, transposed

DIFFERENCED = 3e-11  # rates by central differences, in double precision
FLAT = [
    name
    for name in NAMES
    if all(isinstance(c.joint, FlatJoint) for c in mechanism(name).mechanism.connections) and mechanism(name).nv > 0
]


@EACH
def test_force_and_skew_symmetry(name: str) -> None:
    """C v + g = bias and Ṁ - 2 C skew, with Ṁ by differences along a motion that keeps the loops closed."""
    robot, s = mechanism(name), state(name)
    if robot.nv == 0:
        return
    C, M = robot.coriolis_matrix(s.q, s.v), robot.mass_matrix(s.q)
    speed = np.abs(robot.expand_velocity(s.q, s.v)).max(axis=-1)
    size = np.abs(M).max(axis=(-2, -1)) * np.maximum(speed, 1e-3)
    bias, weight = robot.bias_force(s.q, s.v), robot.gravity_force(s.q)
    near(apply(C, s.v) + weight, bias, 1e-12, size * speed + np.abs(weight).max(axis=-1))
    near(robot.coriolis_force(s.q, s.v), bias - weight, 1e-12, size * speed + np.abs(weight).max(axis=-1))
    rate = slope(lambda t: robot.mass_matrix(robot.integrate(s.q, s.v, t)), 1e-3)
    near(rate - 2.0 * C, -transposed(rate - 2.0 * C), DIFFERENCED, size)
    near(robot.mass_matrix_rate(s.q, s.v), rate, DIFFERENCED, size)


@EACH
def test_projection_of_the_spanning_tree(name: str) -> None:
    """C = Gᵀ (C G + M Ġ), with Ġ by differences."""
    robot, s = mechanism(name), state(name)
    tree, q = spanning(robot), robot.expand(s.q)
    G = robot.loop_map(s.q)
    rate = slope(lambda t: robot.loop_map(robot.integrate(s.q, s.v, t)), 1e-3)
    inner = tree.coriolis_matrix(q, robot.expand_velocity(s.q, s.v)) @ G + tree.mass_matrix(q) @ rate
    expected = transposed(G) @ inner
    size = np.abs(robot.mass_matrix(s.q)).max(axis=(-2, -1), initial=1e-9) + np.abs(expected).max(
        axis=(-2, -1), initial=0.0
    )
    near(robot.coriolis_matrix(s.q, s.v), expected, DIFFERENCED, size)


@EACH
def test_coriolis_matrix_is_linear_in_velocity(name: str) -> None:
    """C = Γ v."""
    robot, s = mechanism(name), state(name)
    C = np.einsum("...ijk,...k->...ij", robot.christoffel(s.q), s.v)
    near(robot.coriolis_matrix(s.q, s.v), C, 1e-12, np.abs(C).max(axis=(-2, -1), initial=0.0) + 1e-9)


@pytest.mark.parametrize("name", FLAT)
def test_christoffel_symbols_of_coordinates(name: str) -> None:
    """Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk) where the independent velocities are rates of coordinates."""
    robot, s = mechanism(name), state(name)
    units = np.eye(robot.nv) / (1.0 + np.abs(robot.loop_map(s.q)).max(axis=-2)[..., None])
    scale = np.einsum("...kk->...k", units)

    def along(t: float) -> np.ndarray:
        return robot.mass_matrix(robot.integrate(s.q[:, None, :], units, t))

    slopes = slope(along, 1e-3) / scale[..., None, None]  # (..., k, i, j)
    expected = 0.5 * (np.einsum("...kij->...ijk", slopes) + np.einsum("...jik->...ijk", slopes) - slopes)
    found = robot.christoffel(s.q)
    size = np.abs(robot.mass_matrix(s.q)).max(axis=(-2, -1)) * (1.0 / scale).max(axis=-1)
    near(found, expected, DIFFERENCED, size)
    near(found, np.swapaxes(found, -1, -2), 1e-12, size)


def test_there_are_flat_mechanisms() -> None:
    assert {"four_bar", "nested"} <= set(FLAT)
