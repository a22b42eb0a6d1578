"""Orthonormal columns (modified Gram-Schmidt) of matrices of scalars whose rank is known, and triangular solves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...expr import maximum, select, sqrt
from ...spatial.linear import Scalar, Vec, dot

_INFINITE = float("inf")


class Orthogonal(NamedTuple):
    """Q R of some columns: those of Q, and the rows of Rᵀ, which is lower triangular.

    `weakness` is the largest squared ratio of the size of a column to what the others leave of it.
    """

    Q: tuple[Vec, ...]
    R: tuple[Vec, ...]
    weakness: Scalar

    def along(self, y: Sequence[Scalar], size: int) -> Vec:
        """Q y, a vector of a size."""
        total = Vec([0.0] * size)
        for q, x in zip(self.Q, y, strict=True):
            total = total + q * x
        return total

    def least(self, b: Sequence[Scalar], size: int) -> Vec:
        """The least x of a size with (Q R)ᵀ x = b."""
        return self.along(lower_solve(self.R, b), size)

    def nearest(self, b: Vec) -> Vec:
        """The x for which Q R x is nearest to b."""
        y, left = [], b
        for q in self.Q:
            y.append(dot(q, left))
            left = left - q * y[-1]
        return upper_solve(self.R, y)


def orthogonal(columns: Sequence[Vec], sizes: Sequence[float] | None = None, across: Sequence[Vec] = ()) -> Orthogonal:
    """Orthonormal columns, across others that are so already.

    `sizes` are the squares of the columns where all is well; without them their own count.
    """
    Q: list[Vec] = []
    R: list[Vec] = []
    weakness: Scalar = 1.0
    for k, column in enumerate(columns):
        size = dot(column, column) if sizes is None else sizes[k]
        for q in (*across, *across):  # twice: unit vectors are far from these
            column = column - q * dot(q, column)
        row: list[Scalar] = []
        for q in Q:
            row.append(dot(q, column))
            column = column - q * row[-1]
        left = dot(column, column)
        ratio = size / left
        weakness = maximum(weakness, select(ratio > 0.0, ratio, _INFINITE))  # NaN is not larger
        length = sqrt(left)
        Q.append(column * (1.0 / length))
        R.append(Vec((*row, length)))
    return Orthogonal(tuple(Q), tuple(R), weakness)


def lower_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻¹ b."""
    x: list[Scalar] = []
    for i, row in enumerate(L):
        x.append((b[i] - dot(row[:i], x)) * (1.0 / row[i]))
    return Vec(x)


def upper_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻ᵀ b."""
    solution = list(b)
    for i in reversed(range(len(solution))):
        for k in range(i + 1, len(solution)):
            solution[i] = solution[i] - L[k][i] * solution[k]
        solution[i] = solution[i] * (1.0 / L[i][i])
    return Vec(solution)
