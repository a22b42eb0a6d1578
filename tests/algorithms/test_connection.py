"""The Coriolis matrix and the Christoffel symbols: what defines them, by routes that share nothing with their sweeps.

C v + g = bias; Ṁ, by complex steps of the mass matrix, is C + Cᵀ; and Γ obeys Koszul's formula, in which only
derivatives of M along the velocities and the brackets of these velocities occur, and which has a single solution.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from fourbar import Builder, System, robots
from fourbar.algorithms import coriolis
from fourbar.algorithms.sweep import Sweeps
from fourbar.expr import Direct
from fourbar.joints import Composite, Revolute, Spherical
from fourbar.spatial.transform import Transform
from fourbar.tree.spanning_tree import SpanningTree

from .direct import batched, columns, mass_matrix
from .mechanisms import EACH, EXAMPLES, FEW, RECIPES, Recipe, mechanism, near, state
from .oracle import STEP, Kinematics, apply, brackets


def mass_matrix_along(robot: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """d/dt of M along q ⊕ t v, by a complex step; v may have further axes before its last."""
    moved = Kinematics(robot).plus(q.astype(complex), 1j * STEP * v)
    return mass_matrix(robot.model.cluster_tree.spanning_tree, moved).imag / STEP


def size_of_force(robot: System, s: object, M: np.ndarray) -> np.ndarray:
    """What the terms of C v are made of: |M| |v|², and the weight."""
    v = np.abs(s.v)  # type: ignore[attr-defined]
    heavy = np.abs(robot.gravity_force(s.q)).max(axis=-1)  # type: ignore[attr-defined]
    return np.abs(M).max(axis=(-2, -1)) * v.max(axis=-1) ** 2 * v.shape[-1] + heavy


@EACH
@EXAMPLES
@given(RECIPES)
def test_force_and_skew_symmetry(number: int, recipe: Recipe) -> None:
    """C v + g = bias; Ṁ - 2 C is skew; Ṁ is that of `mass_matrix_rate`."""
    robot = mechanism(number)
    s = state(robot, recipe)
    C, M = robot.coriolis_matrix(s.q, s.v), robot.mass_matrix(s.q)
    near(apply(C, s.v) + robot.gravity_force(s.q), robot.bias_force(s.q, s.v), 1e-13, size_of_force(robot, s, M))
    near(robot.coriolis_force(s.q, s.v), apply(C, s.v), 1e-13, size_of_force(robot, s, M))
    rate = mass_matrix_along(robot, s.q, s.v)
    size = np.abs(M).max(axis=(-2, -1)) * np.abs(s.v).max(axis=-1) + 1e-300
    skew = rate - 2.0 * C
    near(skew, -np.swapaxes(skew, -1, -2), 1e-13, size)
    near(robot.mass_matrix_rate(s.q, s.v), rate, 1e-13, size)


def koszul(robot: System, q: np.ndarray) -> np.ndarray:
    """Γ_ijk = ½ (X_k M_ij + X_j M_ik - X_i M_jk + [k,j]·i - [k,i]·j - [j,i]·k), with the metric M."""
    n, tree = robot.nv, robot.model.cluster_tree.spanning_tree
    slopes = mass_matrix_along(robot, q[..., None, :], np.eye(n))  # (..., k, i, j)
    c = np.zeros((n, n, n))
    for first, cluster in zip(tree.first_v, tree.links, strict=True):
        own = slice(first, first + cluster.joint.nv)
        c[own, own, own] = brackets(cluster.joint)
    M = mass_matrix(tree, q)
    cluster_tree = np.einsum("jil,...lk->...jik", c, M)  # [j, i] · k
    return 0.5 * (
        np.einsum("...kij->...ijk", slopes)
        + np.einsum("...jik->...ijk", slopes)
        - slopes
        + np.einsum("...kji->...ijk", cluster_tree)
        - np.einsum("...kij->...ijk", cluster_tree)
        - np.einsum("...jik->...ijk", cluster_tree)
    )


def directly(tree: SpanningTree, q: np.ndarray) -> np.ndarray:
    """Γ without compiling."""
    s = Sweeps(tree, Direct(), columns(q))
    cube = coriolis.christoffel(s, tree.split_q(columns(q)))
    return np.stack([batched(plane, q.shape[:-1]) for plane in cube], axis=-3)


@EACH
def test_koszul(number: int) -> None:
    """Γ of every mechanism, at two states."""
    robot = mechanism(number)
    s = state(robot, n=2)
    expected = koszul(robot, s.q)
    near(directly(robot.model.cluster_tree.spanning_tree, s.q), expected, 1e-13)
    near(directly(robot.model.cluster_tree.unturned, s.q), expected, 1e-13)
    assert np.abs(expected).max() > 0.01


@FEW
def test_christoffel_symbols(number: int) -> None:
    """The compiled symbols, and C = Γ v."""
    robot = mechanism(number)
    s = state(robot)
    symbols = robot.christoffel(s.q)
    near(symbols, koszul(robot, s.q), 1e-13)
    C = np.einsum("...ijk,...k->...ij", symbols, s.v)
    near(robot.coriolis_matrix(s.q, s.v), C, 1e-13)


@pytest.mark.quick
def test_symmetric_where_velocities_are_rates_of_coordinates() -> None:
    robot = robots.double_pendulum()
    q = robot.random(0, 4)
    symbols = robot.christoffel(q)
    near(symbols, np.swapaxes(symbols, -1, -2), 1e-15)
    assert np.abs(symbols).max() > 0.01


@pytest.mark.quick
def test_structure_of_a_spinning_body() -> None:
    """Of a free body Γ is not symmetric: its skew part is the bracket, M [e_j, e_k]."""
    robot = Builder("top").body("top", joint=Spherical(), mass=1.0, inertia=(1.0, 2.0, 2.5)).build()
    symbols = robot.christoffel(robot.random(0))
    skew = symbols - np.swapaxes(symbols, -1, -2)
    M = np.diag([1.0, 2.0, 2.5])
    for j, k in ((0, 1), (1, 2), (2, 0)):
        bracket = M @ np.cross(np.eye(3)[k], np.eye(3)[j])
        assert np.allclose(skew[:, j, k], bracket, atol=1e-15)


def test_joints_in_series_are_the_joints_one_by_one() -> None:
    """A composite has the C and Γ of a chain with a massless body between its parts."""
    given = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.3, 0.4, 0.2)}
    offset = (0.3, 0.2, 0.1)
    joint = Composite(Revolute("x"), Transform.of(np.eye(3), offset), Spherical())
    one = Builder("one").body("body", joint=joint, **given).build()
    two = Builder("two").body("massless", joint=Revolute("x"))
    chain = two.body("body", parent="massless", joint=Spherical(), position=offset, **given).build()
    q, v = one.random(2, 6), np.random.default_rng(1).normal(size=(6, 4))
    near(one.coriolis_matrix(q, v), chain.coriolis_matrix(q, v), 1e-13)
    near(one.christoffel(q), chain.christoffel(q), 1e-13)
