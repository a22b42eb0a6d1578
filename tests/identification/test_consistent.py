"""Consistent least squares reach the optimum: proved by multipliers, and beside a solver of semidefinite programs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import fourbar as fb
from fourbar import System
from fourbar.identification.base_parameters import random_triangle
from fourbar.identification.estimate import solve_interior, solve_sdp
from fourbar.identification.least_squares import LeastSquares
from fourbar.identification.parameter_coordinates import EstimatedCoordinates, make_coordinates, symmetric

from .arms import arm, changed, geared

ROBOTS = {
    "arm": arm,
    "geared": geared,
    "four_bar": fb.robots.four_bar,
    "delta": fb.robots.delta,
    "tello": fb.robots.tello,
}
EACH = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n == "tello" else []) for n in ROBOTS]
)


@cache
def _problem(name: str) -> tuple[LeastSquares, EstimatedCoordinates]:
    """Least squares with so much noise that the best fit is no matter: noise by noise until it is none."""
    robot: System = ROBOTS[name]()
    kinds = ("inertia", "damping")
    known = changed(robot)
    c = make_coordinates(known, kinds, np.ones(len(robot.parameter_names(kinds))))
    R = random_triangle(robot, kinds)[:, c.estimated] @ c.T
    rng = np.random.default_rng(4)
    largest = np.linalg.svd(R, compute_uv=False)[0]
    for _ in range(20):
        z = R @ c.prior + 0.02 * largest * rng.normal(size=len(R))
        problem = LeastSquares(R, z, c.prior, 0.0).with_weak_prior()
        if not c.is_consistent(problem.solution()):
            return problem, c
    raise AssertionError(f"all fits of {name} are matter")


@EACH
def test_the_optimum_is_proved(name: str) -> None:
    """S, the gradient by the pseudo-inertias, is a multiplier: positive, and orthogonal to them (KKT).

    For every other consistent x, by convexity, cost(x) >= cost + 2 Σ ⟨S, X' - X⟩ >= cost - 2 Σ ⟨S, 1 + X⟩ - ..., so
    that what is left to gain is at most the complementarity.
    """
    problem, c = _problem(name)
    x = solve_interior(problem, c)
    cost = problem.cost(x)
    g = problem.A.T @ (problem.A @ x - problem.z) + problem.weight * (x - problem.prior)
    S = symmetric(np.array([g[place.at] for place in c.bodies]))
    size = np.abs(S).max()
    assert np.linalg.eigvalsh(S).min() > -1e-7 * size
    gap = np.einsum("nij,nij->", S, c.shapes(x)) + g[c.positive] @ c.joint_values(x)
    assert np.all(g[c.positive] > -1e-7 * size) and c.is_consistent(x)
    assert abs(2.0 * gap) < 1e-8 * cost


@EACH
def test_no_worse_than_a_semidefinite_program(name: str) -> None:
    """At most 1e-8 of the cost above Clarabel; it stays above ours, as far as its own tolerances go."""
    pytest.importorskip("clarabel")
    problem, c = _problem(name)
    ours, theirs = (problem.cost(solve(problem, c)) for solve in (solve_interior, solve_sdp))
    assert ours < theirs * (1.0 + 1e-8)
    assert theirs < ours * (1.0 + 1e-3)
