"""Forces of actuators anywhere in a mechanism, from those on its independent velocities: least ones, if not unique.

Actuated joints move with B v (B: their rows of G), so τ_independent = Bᵀ τ_actuators. With W = L Lᵀ the least τᵀ W τ is
τ = L⁻ᵀ Q R⁻ᵀ τ_independent for the factors Q R of L⁻¹ B; for as many actuators as velocities that is B⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..expr import maximum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot

_INFINITE = float("inf")


class Actuated(NamedTuple):
    """Forces of the actuators, and the largest ratio of the size of a column of B to what is left of it by others."""

    tau: Vec
    weakness: Scalar


def lower_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻¹ b."""
    x: list[Scalar] = []
    for i, row in enumerate(L):
        x.append((b[i] - dot(row[:i], x)) * (1.0 / row[i]))
    return Vec(x)


def upper_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻ᵀ b."""
    x = list(b)
    for i in reversed(range(len(x))):
        for k in range(i + 1, len(x)):
            x[i] = x[i] - L[k][i] * x[k]
        x[i] = x[i] * (1.0 / L[i][i])
    return Vec(x)


def actuator_forces(B: Mat, L: Mat, sizes: Vec, tau: Vec) -> Actuated:
    """The least forces with Bᵀ τ_actuators = τ, by modified Gram-Schmidt.

    `sizes` are the squares of the columns where all is well.
    """
    columns = [lower_solve(L, column) for column in B.T]
    Q: list[Vec] = []
    R: list[Vec] = []  # by rows of Rᵀ, which is lower triangular
    weakness: Scalar = 1.0
    for column, size in zip(columns, sizes, strict=True):
        row: list[Scalar] = []
        for q in Q:
            row.append(dot(q, column))
            column = column - q * row[-1]
        left = dot(column, column)
        ratio = size / left
        weakness = maximum(weakness, select(ratio > 0.0, ratio, _INFINITE))
        length = sqrt(left)
        Q.append(column * (1.0 / length))
        R.append(Vec((*row, length)))
    y = lower_solve(R, tau)
    total = Q[0] * y[0]
    for q, x in zip(Q[1:], y[1:], strict=True):
        total = total + q * x
    return Actuated(upper_solve(L, total), weakness)
