"""Physically consistent least squares as a semidefinite program, solved by Clarabel (an optional package)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import FourbarError, extra
from .least_squares import LeastSquares
from .parameter_coordinates import EstimatedCoordinates

_MARGIN = 1e-6  # relative to the reference: every pseudo-inertia stays positive definite by this margin


def _packages() -> tuple[Any, Any]:
    try:
        import clarabel
        from scipy import sparse
    except ImportError as error:
        raise FourbarError(
            f"consistent='sdp' needs the packages clarabel and scipy: {extra('identify')}; "
            "consistent='interior-point' needs none"
        ) from error
    return clarabel, sparse


def solve_sdp(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """The consistent x of least cost: minimise ½ xᵀ H x - fᵀ x with 1 + X ⪰ margin for every body."""
    clarabel, sparse = _packages()
    m, size = len(problem.prior), problem.svd[1].max(initial=1e-300) ** 2
    weight = problem.weight / size
    H = problem.A.T @ problem.A / size + weight * np.eye(m)
    f = problem.A.T @ problem.z / size + weight * problem.prior
    cones, rows, offsets = [], [], []
    identity = np.eye(4)[np.tril_indices(4)]
    for place in c.bodies:
        cones.append(clarabel.PSDTriangleConeT(4))
        rows.extend(range(place.at.start, place.at.stop))
        offsets.extend((1.0 - _MARGIN) * identity)
    if len(c.positive):
        cones.append(clarabel.NonnegativeConeT(len(c.positive)))
        rows.extend(c.positive)
        offsets.extend(c.joint_values(np.zeros(m)))
    chosen = sparse.csc_matrix((-np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    upper = sparse.csc_matrix(np.triu(H))
    solved = clarabel.DefaultSolver(upper, -f, chosen, np.array(offsets), cones, settings).solve()
    x = np.array(solved.x)
    x[c.positive] = np.maximum(c.joint_values(x), 0.0) - c.joint_values(np.zeros(m))
    if str(solved.status) != "Solved" or not c.is_consistent(x):
        raise FourbarError(f"Clarabel found no consistent parameters: {solved.status}; try consistent='interior-point'")
    return x
