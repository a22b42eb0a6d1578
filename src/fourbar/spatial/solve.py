"""Small symmetric systems, unrolled: they trace over any scalar, without pivoting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..expr import maximum, select, sqrt
from ..tolerances import DEPENDENT, NO_INERTIA
from .linear import Mat, Scalar, Vec, is_zero, reciprocal


class Factored(NamedTuple):
    """D = L diag(1/inverse_pivots) Lᵀ with unit lower triangular L, for a symmetric positive definite D."""

    L: tuple[Vec, ...]
    inverse_pivots: Vec

    def solve(self, b: Sequence[Scalar]) -> Vec:
        """D⁻¹ b."""
        return self.expand(self.reduce(b))

    def reduce(self, b: Sequence[Scalar]) -> Vec:
        """L⁻¹ b."""
        solution = list(b)
        for i in range(len(solution)):
            for j in range(i):
                solution[i] = solution[i] - self.L[i][j] * solution[j]
        return Vec(solution)

    def expand(self, b: Sequence[Scalar]) -> Vec:
        """L⁻ᵀ diag(inverse_pivots) b."""
        solution = [a * d for a, d in zip(b, self.inverse_pivots, strict=True)]
        n = len(solution)
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                solution[i] = solution[i] - self.L[j][i] * solution[j]
        return Vec(solution)

    def whiten(self, b: Sequence[Scalar]) -> Vec:
        """D^-½ b: the product of two such is that of b and D⁻¹ b, without squaring."""
        pivots = zip(self.reduce(b), self.inverse_pivots, strict=True)
        return Vec([0.0 if is_zero(y) else y * sqrt(d) for y, d in pivots])

    def where(self, conditions: Iterable[Any]) -> Factored:
        """The same, with NaN in place of every solution where one of the conditions on D does not hold."""
        inverse_pivots = self.inverse_pivots
        for valid in conditions:
            inverse_pivots = Vec([select(valid, x, float("nan")) for x in inverse_pivots])
        return Factored(self.L, inverse_pivots)

    def above_rounding(self, sizes: Sequence[Scalar]) -> Factored:
        """The same, with NaN in place of pivots that are rounding beside `sizes`, those of the sums they are left of.

        Without sizes nothing is compared.
        """
        if not sizes:
            return self
        ratios = [NO_INERTIA * size * x for x, size in zip(self.inverse_pivots, sizes, strict=True)]
        pairs = zip(ratios, self.inverse_pivots, strict=True)
        return Factored(self.L, Vec([select(ratio * ratio < 1.0, x, float("nan")) for ratio, x in pairs]))

    def solve_columns(self, B: Mat) -> Mat:
        """D⁻¹ B."""
        return Mat.from_columns([self.solve(column) for column in B.T])


def factor(D: Mat) -> Factored:
    """LDLᵀ of a symmetric positive definite matrix, of which only the lower triangle is read.

    A pivot that is zero by structure makes it NaN.
    """
    n = len(D)
    A = [list(row) for row in D]
    L: list[Vec] = []
    inverse_pivots: list[Scalar] = []
    for j in range(n):
        inverse_pivots.append(reciprocal(A[j][j]))
        scaled = [A[i][j] * inverse_pivots[j] for i in range(j + 1, n)]
        for i in range(j + 1, n):
            for k in range(j + 1, i + 1):
                A[i][k] = A[i][k] - scaled[i - j - 1] * A[k][j]
        for i in range(j + 1, n):
            A[i][j] = scaled[i - j - 1]
    for i in range(n):
        L.append(Vec(A[i][:i]))
    return Factored(tuple(L), Vec(inverse_pivots))


def inverse_or_nan(D: Mat) -> Mat:
    """D⁻¹ of a symmetric positive definite matrix, symmetric to the last bit; all NaN where D is singular.

    Rows come in threes, each with its own unit. Singular means that a pivot is rounding relative to the largest
    diagonal entry of its three.
    """
    n = len(D)
    if any(is_zero(D[j][j]) for j in range(n)):
        return Mat(Vec([float("nan")] * n) for _ in range(n))
    factored = factor(D)
    lost: Scalar = 0.0
    for j, inverse in enumerate(factored.inverse_pivots):
        first = 3 * (j // 3)
        ratio = maximum(maximum(D[first][first], D[first + 1][first + 1]), D[first + 2][first + 2]) * inverse
        lost = lost + ratio * ratio
    columns = [factored.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    valid = lost < DEPENDENT * DEPENDENT  # false for NaN too
    half = [[select(valid, columns[j][i], float("nan")) for j in range(i + 1)] for i in range(n)]
    return Mat(Vec([half[max(i, j)][min(i, j)] for j in range(n)]) for i in range(n))
