"""Rounding: the compiled methods against the same algorithms in extended precision, and the regrouped inertias.

`cluster_tree.equivalent` books mass on other bodies than `cluster_tree.spanning_tree`. In exact arithmetic no motion
and no joint force can tell; here that is seen to nineteen digits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fourbar import System
from fourbar.joints import Free, Prismatic, Revolute, Spherical, SphericalEuler, Universal
from fourbar.spatial.inertia import Inertia
from fourbar.spatial.linear import Mat, Sym, Vec
from fourbar.spatial.transform import Transform
from fourbar.tree.equivalent_trees import regroup
from fourbar.tree.spanning_tree import SpanningTree

from . import direct
from .mechanisms import EACH, State, condition, mechanism, near, random_mechanism, state
from .oracle import LONG

pytestmark = pytest.mark.skipif(not LONG, reason="longdouble is double on this platform")
long = np.longdouble


def long_state(robot: System) -> State:
    s = state(robot)
    return State(*(getattr(s, name).astype(long) for name in ("q", "v", "a", "tau", "f_ext")))


@EACH
def test_compiled_methods_round_well(number: int) -> None:
    """Errors of ID and M are of the order of one rounding, those of FD also of the condition of M."""
    robot = mechanism(number)
    s, exact = state(robot), long_state(robot)
    tree, gravity = robot.model.cluster_tree.spanning_tree, robot.gravity
    tau = direct.inverse_dynamics(tree, gravity, exact.q, exact.v, exact.a)
    near(robot.inverse_dynamics(s.q, s.v, s.a), tau, 1e-14)
    M = direct.mass_matrix(tree, exact.q)
    near(robot.mass_matrix(s.q), M, 1e-14)
    a = direct.forward_dynamics(tree, gravity, exact.q, exact.v, exact.tau)
    near(robot.forward_dynamics(s.q, s.v, s.tau), a, 1e-15 * max(10.0, condition(M.astype(float)).max()))


@EACH
def test_both_trees_of_a_robot_agree(number: int) -> None:
    """Both hold doubles, so they agree to the rounding of their constants."""
    robot = mechanism(number)
    s = long_state(robot)
    tree, other, gravity = robot.model.cluster_tree.spanning_tree, robot.model.cluster_tree.equivalent, robot.gravity
    tau, tau_other = (direct.inverse_dynamics(t, gravity, s.q, s.v, s.a) for t in (tree, other))
    near(tau_other, tau, 5e-15)
    M, M_other = (direct.mass_matrix(t, s.q) for t in (tree, other))
    near(M_other, M, 5e-15)
    a, a_other = (direct.forward_dynamics(t, gravity, s.q, s.v, s.tau) for t in (tree, other))
    near(a_other, a, 1e-15 * max(10.0, condition(M.astype(float)).max()))


def orthonormal(R: np.ndarray) -> np.ndarray:
    """The rotation nearest to R, to extended precision."""
    for _ in range(3):
        R = R @ (1.5 * np.eye(3, dtype=long) - 0.5 * R.T @ R)
    return R


def in_long_doubles(tree: SpanningTree) -> SpanningTree:
    """A tree whose constants are exact rotations and inertias in extended precision."""
    links = []
    for c in tree.links:
        R = orthonormal(np.array(c.placement.R, long))
        placed = Transform((Mat(Vec(row) for row in R),), Vec([long(x) for x in c.placement.p]))
        mass = round(64 * c.I.m) / 64  # sums of such floats are exact
        inertia = Inertia.of(mass, Vec([long(x) for x in c.I.h]), Sym(*(long(x) for x in c.I.J)))
        links.append(c._replace(placement=placed, I=inertia))
    return replace(tree, links=tuple(links))


@cache
def hinged() -> System:
    """Joints with a pivot line or point, and some without, whose own rotations are exact."""
    joints = (
        Revolute("x"), Spherical(), Revolute("y"), Universal("x", "y"), Prismatic("z"), Revolute("z"),
        SphericalEuler("xyz"), Free(), Revolute("z"), Spherical(),
    )  # fmt: skip
    return random_mechanism(np.random.default_rng(4), joints, "hinged")


@pytest.mark.quick
def test_regrouping_is_exact() -> None:
    """Regrouped in extended precision, the two trees give the same τ, M and a to extended precision."""
    s = long_state(hinged())
    tree = in_long_doubles(hinged().model.cluster_tree.spanning_tree)
    other = regroup(tree)
    assert sum(a.I != b.I for a, b in zip(tree.links, other.links, strict=True)) >= 8
    gravity = hinged().gravity
    near(*(direct.inverse_dynamics(t, gravity, s.q, s.v, s.a) for t in (other, tree)), tol=1e-17)
    near(*(direct.mass_matrix(t, s.q) for t in (other, tree)), tol=1e-17)
    near(*(direct.forward_dynamics(t, gravity, s.q, s.v, s.tau, tree) for t in (other, tree)), tol=1e-16)


@pytest.mark.quick
def test_regrouped_bodies_are_not_physical() -> None:
    """What energy and momentum must not use: the regrouped tree has bodies without mass, and another kinetic energy."""
    cluster_tree = hinged().model.cluster_tree
    assert sum(c.I.m for c in cluster_tree.equivalent.links) != pytest.approx(
        sum(c.I.m for c in cluster_tree.spanning_tree.links)
    )
    s = state(hinged())
    expected = 0.5 * np.einsum("bi,bij,bj->b", s.v, hinged().mass_matrix(s.q), s.v)
    near(hinged().kinetic_energy(s.q, s.v), expected, 1e-13)
