"""Solving branch by branch, on matrices with the zeros of random trees of velocities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fourbar.algorithms.branch_solver import Solver, among, branches
from fourbar.expr import Direct


def tree(rng: Any, n: int, forks: float) -> list[int]:
    """Parents of n velocities; branches may grow in turns, and there may be several roots."""
    found: list[int] = []
    for i in range(n):
        grown = i - 1 if rng.random() > forks else int(rng.integers(-1, i)) if i else -1
        found.append(grown)
    return found


def ancestors(parents: list[int], i: int) -> list[int]:
    found = [i]
    while parents[found[-1]] >= 0:
        found.append(parents[found[-1]])
    return found


def matrix(rng: Any, parents: list[int]) -> np.ndarray:
    """Positive definite, and zero for velocities on different branches: a sum over bodies at every velocity."""
    n = len(parents)
    M = np.zeros((n, n))
    for i in range(n):
        path = ancestors(parents, i)
        J = rng.normal(size=(6, len(path)))
        M[np.ix_(path, path)] += J.T @ J
    return M + 0.1 * np.eye(n)


CASES = [(n, forks, seed) for n in (1, 2, 9, 20, 38) for forks in (0.0, 0.3, 0.9) for seed in range(2)]


@pytest.mark.parametrize(("n", "forks", "seed"), CASES)
def test_inverse_and_solutions(n: int, forks: float, seed: int) -> None:
    rng = np.random.default_rng([n, seed, int(10 * forks)])
    parents = tree(rng, n, forks)
    M = matrix(rng, parents)
    X = rng.normal(size=(n, 7)) * (rng.random((n, 7)) < 0.6)
    solver = Solver(Direct(), M.tolist(), parents)
    inverse = np.array(solver.inverse(), float)
    scale = np.linalg.cond(M)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert np.abs(inverse @ M - np.eye(n)).max() <= 1e-15 * n * scale
    exact = -np.linalg.solve(M, X)
    assert np.abs(np.array(solver.negative_solution(X.tolist()), float) - exact).max() <= 1e-15 * n * scale


@pytest.mark.parametrize("seed", range(6))
def test_branches_hold_every_velocity_once_behind_its_carriers(seed: int) -> None:
    parents = tree(np.random.default_rng(seed), 40, 0.3)
    seen: list[int] = []
    for own, carriers in branches(parents):
        assert set(carriers) <= set(seen)
        for i in own:
            above = ancestors(parents, i)[1:]
            assert sorted(above) == sorted(carriers + own[: own.index(i)])
        seen += own
    assert sorted(seen) == list(range(40))


def test_a_tree_among_some_of_its_velocities() -> None:
    assert among([-1, 0, 1, 1, 3], [0, 3, 4]) == [-1, 0, 1]
    assert among([-1, 0, -1, 2], [1, 3]) == [-1, -1]
