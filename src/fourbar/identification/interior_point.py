"""Physically consistent least squares by an interior-point method of our own: convex, and in need of nothing but NumPy.

Minimises ½ |B x - y|² - t Σ log det (1 + X) - t Σ log (parameters of joints that must not be negative), for smaller and
smaller t. With 1 + X = L Lᵀ the Newton step dx is itself a least-squares problem: the barrier adds the rows
√t (L⁻¹ dX L⁻ᵀ) = √t 1 for every body, so that no product of matrices spoils the digits.

In log-Cholesky coordinates (the logarithms of the diagonal of L, and its other entries) the barrier is linear and the
Gauss-Newton step is this very dx; but a step along them is bent by dL dLᵀ, which stiff rows of B do not forgive. Hence
steps are straight in X, where the problem is convex.
"""

from __future__ import annotations

import numpy as np

from ..errors import FourbarError
from .least_squares import LeastSquares
from .parameter_coordinates import EstimatedCoordinates
from .pseudo_inertia import coordinates, symmetric


class InteriorPointSettings:
    """Settings of the interior-point method."""

    STEPS = 400
    GAP = 1e-10  # between the cost that is found and the least, beside the cost
    FINEST = 1e-26  # the same beside the cost of fitting nothing: where data fit to the last digit
    FIRST, SHRINK = 0.01, 0.05  # t at the start, beside the cost, and its next value, beside the last
    TO_BOUNDARY = 0.9


def start(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """A consistent x: on the way from the prior (or the reference) to the free solution, as far as that goes."""
    inside = problem.prior.copy() if c.is_consistent(problem.prior, 1e-3) else np.zeros_like(problem.prior)
    inside[c.positive] += np.maximum(1e-2 - c.joint_values(inside), 0.0)
    target, part = problem.solution(), 0.9
    while part > 1e-3 and not c.is_consistent(inside + part * (target - inside), 1e-3):
        part *= 0.7
    return inside + (part if part > 1e-3 else 0.0) * (target - inside)


class _Barrier:
    """The barrier at a point: rows W with W dx = (L⁻¹ dX L⁻ᵀ of bodies; dy / y of joints), and what they should be."""

    def __init__(self, c: EstimatedCoordinates, x: np.ndarray) -> None:
        m = len(x)
        self._c = c
        self.W = np.zeros((10 * len(c.bodies) + len(c.positive), m))
        self.target = np.ones(len(self.W))
        basis, unit = symmetric(np.eye(10)), coordinates(np.eye(4))
        for n, (place, shape) in enumerate(zip(c.bodies, c.shapes(x), strict=True)):
            inverse = np.linalg.inv(np.linalg.cholesky(shape))
            self.W[10 * n : 10 * n + 10, place.at] = coordinates(inverse @ basis @ inverse.T).T
            self.target[10 * n : 10 * n + 10] = unit
        rest = np.arange(10 * len(c.bodies), len(self.W))
        self.W[rest, c.positive] = 1.0 / c.joint_values(x)

    def longest(self, dx: np.ndarray) -> float:
        """The largest multiple of dx that can be added before something ceases to be consistent."""
        moved = self.W @ dx
        n = 10 * len(self._c.bodies)
        least = min(
            np.linalg.eigvalsh(symmetric(moved[:n].reshape(-1, 10))).min(initial=0.0), moved[n:].min(initial=0.0)
        )
        return np.inf if least >= 0.0 else -1.0 / least


def _least_squares(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x of least |rows x - target|."""
    n = rows.shape[1]
    R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
    return np.linalg.solve(R[:n, :n], R[:n, n])


def solve_interior(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """The consistent x of least cost; the problem has a prior (see `LeastSquares.anchored`)."""
    largest = problem.svd[1].max(initial=1e-300)
    weight = np.sqrt(problem.weight) / largest
    B = np.vstack([problem.A / largest, weight * np.eye(len(problem.prior))])
    y = np.concatenate([problem.z / largest, weight * problem.prior])
    R = np.asarray(np.linalg.qr(np.column_stack([B, y]), mode="r"))
    B, y = R[:, :-1], R[:, -1]
    x = start(problem, c)
    count = 4 * len(c.bodies) + len(c.positive)
    least = InteriorPointSettings.FINEST * (y @ y)
    t = InteriorPointSettings.FIRST * max(np.sum((B @ x - y) ** 2), least) / count
    for _ in range(InteriorPointSettings.STEPS):
        barrier, r, root = _Barrier(c, x), B @ x - y, np.sqrt(t)
        dx = _least_squares(np.vstack([B, root * barrier.W]), np.concatenate([-r, root * barrier.target]))
        decrement = np.sqrt(np.sum((B @ dx) ** 2) / t + np.sum((barrier.W @ dx) ** 2))
        x = x + min(1.0, InteriorPointSettings.TO_BOUNDARY * barrier.longest(dx)) * dx
        if decrement < 1.0:
            if t * count <= max(InteriorPointSettings.GAP * np.sum((B @ x - y) ** 2), least):
                return x
            t *= InteriorPointSettings.SHRINK
    raise FourbarError(
        f"the search for consistent parameters did not settle in {InteriorPointSettings.STEPS} steps; "
        "try consistent='sdp', or give a prior="
    )
