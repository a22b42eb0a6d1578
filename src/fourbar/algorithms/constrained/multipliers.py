"""Forces λ along rows from Ω λ = -b, with redundant rows: least λ (Kim eq. 67, Ω = A M⁻¹ Aᵀ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...expr import maximum, select
from ...spatial.linear import Mat, Scalar, Vec, dot
from ...spatial.solve import factor

_INFINITE = float("inf")


class Multipliers(NamedTuple):
    """λ, and how far it may be trusted: see `Health`."""

    force: Vec  # (rows,)
    health: Vec  # (3,)


class Health(NamedTuple):
    """Measures that distinguish a valid solution from one that has to be solved again.

    `weakness`: the largest ratio of a diagonal entry of Ω (or of what it usually is) to its pivot, among the chosen
    rows. `loose`: how much the other rows are not implied by the chosen ones, relative to their own entries of Ω.
    `gap`: how far they contradict them, relative to what they and the chosen ones that they follow from say, and to an
    acceleration that is small (`IndependentRows.quiet`).
    """

    weakness: Scalar
    loose: Scalar
    gap: Scalar


def _absolute(x: Scalar) -> Scalar:
    return maximum(x, -x)


def _largest(values: Sequence[Scalar]) -> Scalar:
    found: Scalar = 0.0
    for x in values:
        found = maximum(found, x)
    return found


class IndependentRows(NamedTuple):
    """A largest independent subset of the rows, and reference diagonals of Ω of all rows, which scale pivots.

    `quiet`: accelerations of all rows, each in its own unit, that are small for this robot.
    """

    rows: tuple[int, ...]
    usual: tuple[float, ...]
    quiet: tuple[float, ...] = ()

    @property
    def sizes(self) -> tuple[float, ...]:
        """The reference diagonals of the independent rows."""
        return tuple(self.usual[i] for i in self.rows)


def _weakness(diagonal: Sequence[Scalar], usual: Sequence[Scalar], inverse_pivots: Sequence[Scalar]) -> Scalar:
    largest: Scalar = 1.0
    for x, size, inverse in zip(diagonal, usual, inverse_pivots, strict=True):
        ratio = maximum(x, size) * inverse
        largest = maximum(largest, select(ratio > 0.0, ratio, _INFINITE))  # rounding can make a pivot negative, or NaN
    return largest


def multipliers(Omega: Mat, b: Vec, standing: IndependentRows) -> Multipliers:
    """λ (rows,) of least norm with Ω λ = -b, Ω (rows, rows), b (rows,) in m/s² or rad/s².

    The rows that are not chosen follow from those that are. With T = Ω_dc Ω_cc⁻¹ the other rows are T times the chosen
    ones, and least forces that do the same as λ_c alone are λ = [1; T] (1 + TᵀT)⁻¹ λ_c.
    """
    chosen = standing.rows
    core = Mat(Vec([Omega[i][j] for j in chosen]) for i in chosen)  # (chosen, chosen)
    solved = factor(core)
    force = -solved.solve([b[i] for i in chosen])
    weakness = _weakness([core[i][i] for i in range(len(chosen))], standing.sizes, solved.inverse_pivots)
    others = [i for i in range(len(b)) if i not in chosen]
    if not others:
        return Multipliers(force, Vec(Health(weakness, 0.0, 0.0)))
    across = [Vec([Omega[i][j] for j in chosen]) for i in others]  # (others, chosen)
    T = [solved.solve(row) for row in across]  # (others, chosen)
    loose = _largest([_absolute(Omega[i][i] - dot(t, row)) / maximum(Omega[i][i], standing.usual[i])
                      for i, t, row in zip(others, T, across, strict=True)])  # fmt: skip
    gap = _largest([_contradiction(b[i], [x * b[j] for x, j in zip(t, chosen, strict=True)], standing.quiet[i])
                    for i, t in zip(others, T, strict=True)])  # fmt: skip
    return Multipliers(spread(force, T, chosen, others), Vec(Health(weakness, loose, gap)))


def _contradiction(own: Scalar, terms: Sequence[Scalar], quiet: float) -> Scalar:
    """The relative difference between the value of a row and the sum of the others that should give it."""
    said: Scalar = 0.0
    size = quiet + _absolute(own)
    for x in terms:
        said, size = said + x, size + _absolute(x)
    return _absolute(own - said) / size


def spread(force: Vec, T: list[Vec], chosen: tuple[int, ...], others: list[int]) -> Vec:
    """The least forces along all rows with the effect of forces on the chosen rows."""
    r = len(chosen)
    N = Mat(
        Vec([(1.0 if i == j else 0.0) + dot([t[i] for t in T], [t[j] for t in T]) for j in range(r)]) for i in range(r)
    )
    least = factor(N).solve(force)
    found = dict(zip(chosen, least, strict=True)) | {i: dot(t, least) for i, t in zip(others, T, strict=True)}
    return Vec([found[i] for i in sorted(found)])
