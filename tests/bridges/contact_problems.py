"""Contact problems as numbers, and their solution by our solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fourbar.contact.gauss_seidel import ContactProblem, RowBlock, Solution
from fourbar.contact.impulse_solver import solve
from fourbar.expr import Direct
from fourbar.spatial.linear import Mat, Vec


class Effort(NamedTuple):
    """How well a problem is solved."""

    aim: float = 1e-13
    sweeps: int = 3
    rounds: int = 2000


def contacts(count: int) -> tuple[RowBlock, ...]:
    """Blocks of contacts with sliding friction."""
    return tuple(RowBlock(3 * k, (2,)) for k in range(count))


def problem_of(G: np.ndarray, g: np.ndarray, mu: np.ndarray) -> ContactProblem:
    """G (3n, 3n), g (3n) with normals first, μ (n)."""
    rows = Mat(Vec(row) for row in G.tolist())
    return ContactProblem(rows, Vec(g.tolist()), tuple(Vec([float(x)]) for x in mu))


def solved(G: np.ndarray, g: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, float]:
    """Impulses and residual."""
    found: Solution = solve(Direct(), problem_of(G, g, mu), contacts(len(mu)), Vec([0.0] * len(g)), Effort())
    return np.array(found.impulse, float), float(found.residual)
