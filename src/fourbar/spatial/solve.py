"""Small symmetric systems, unrolled: they trace over any scalar, without pivoting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .linear import Mat, Scalar, Vec


class Factored(NamedTuple):
    """D = L diag(1/inverse_pivots) Lᵀ with unit lower triangular L, for a symmetric positive definite D."""

    L: tuple[Vec, ...]
    inverse_pivots: Vec

    def solve(self, b: Sequence[Scalar]) -> Vec:
        """D⁻¹ b."""
        x = list(b)
        n = len(x)
        for i in range(n):
            for j in range(i):
                x[i] = x[i] - self.L[i][j] * x[j]
        x = [a * d for a, d in zip(x, self.inverse_pivots, strict=True)]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.L[j][i] * x[j]
        return Vec(x)

    def solve_columns(self, B: Mat) -> Mat:
        """D⁻¹ B."""
        return Mat.from_columns([self.solve(column) for column in B.T])


def factor(D: Mat) -> Factored:
    """LDLᵀ of a symmetric positive definite matrix; only its lower triangle is read."""
    n = len(D)
    A = [list(row) for row in D]
    L: list[Vec] = []
    inverse_pivots: list[Scalar] = []
    for j in range(n):
        inverse_pivots.append(1.0 / A[j][j])
        scaled = [A[i][j] * inverse_pivots[j] for i in range(j + 1, n)]
        for i in range(j + 1, n):
            for k in range(j + 1, i + 1):
                A[i][k] = A[i][k] - scaled[i - j - 1] * A[k][j]
        for i in range(j + 1, n):
            A[i][j] = scaled[i - j - 1]
    for i in range(n):
        L.append(Vec(A[i][:i]))
    return Factored(tuple(L), Vec(inverse_pivots))
