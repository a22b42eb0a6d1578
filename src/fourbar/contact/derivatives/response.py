"""The response of impulses to changes of what a step starts from: one Newton step of the natural map, for many changes.

K = 1 - P′ + P′ D⁻¹ G is singular where impulses are redundant, while what is asked of them is consistent. K x = b is
solved with T = (K + ε)⁻¹ and refined, x₁ = T b, x₂ = x₁ + T (b - K x₁): the part that moves the robot is exact to ε²
and rounding, and along the null space of K, which moves nothing, x stays as small as b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.tiles import Rows, plus_product, transpose
from ...expr import maximum, sqrt
from ...spatial.linear import Mat, Scalar, Vec, is_zero
from .. import gauss_seidel
from ..gauss_seidel import TINY, ContactProblem, RowBlock, size_of
from ..newton import by_row
from .modes import BlockSlopes

PROXIMAL = 1e-8  # ε
_TILE = 8  # rows that are inverted together


class Response:
    """δλ from K δλ = P_b δb - P′ D⁻¹ δc, with K factored.

    margins: by block (m/s, rad/s); condition: by how much velocities of rows may change, per unit velocity that is
    asked of a row; residual: by how much (m/s) the impulses miss the equations.
    """

    def __init__(
        self, recorder: Any, blocks: Sequence[RowBlock], G: Rows, bounds: Sequence[Vec], impulse: Vec, c: Vec,
        law: tuple[Any, float],
    ) -> None:  # fmt: skip
        """G: (rows, rows), impulses (rows, N s) and velocities c (rows, m/s) at a solution; `law`: the slopes of a
        block, and how far corners are rounded (m/s).
        """
        self.recorder, self._blocks, call = recorder, tuple(blocks), recorder.call
        problem = ContactProblem(Mat(map(Vec, G)), c, tuple(bounds))
        scale = call(gauss_seidel.scaled, problem, self._blocks)
        self.own = scale.own
        self._slopes: list[BlockSlopes] = []
        for block, size, bound in zip(blocks, scale.own, bounds, strict=True):
            x, v = (Vec(y[block.first : block.first + block.size]) for y in (impulse, c))
            self._slopes.append(call(law[0], block._replace(first=0), size, bound, x, v, law[1]))
        self.margins = [x.margin for x in self._slopes]
        self.residual = call(_largest_of, tuple(x.residual for x in self._slopes))
        self.has_bounds = any(map(len, bounds))
        self._K = self._by_velocity(G)
        softened: Rows = []
        for block, part in zip(blocks, self._slopes, strict=True):
            own = slice(block.first, block.first + block.size)
            rows = self._K[own]
            exact, softer = call(_diagonals, Mat(Vec(row[own]) for row in rows), part.impulse)
            softened += [list(row) for row in rows]
            for k, row in enumerate(rows):
                row[own], softened[block.first + k][own] = exact[k], softer[k]
        self._T = invert(recorder, softened)
        self.condition = self._amplification(G, call(_roots, self._blocks, scale.own))

    def _by_velocity(self, right: Rows) -> Rows:
        """P′ D⁻¹ X."""
        product: Rows = []
        for block, part in zip(self._blocks, self._slopes, strict=True):
            own = right[block.first : block.first + block.size]
            product += plus_product(self.recorder, None, [list(row) for row in part.velocity], own)
        return product

    def _amplification(self, G: Rows, roots: Vec) -> Any:
        moved = plus_product(self.recorder, None, G, plus_product(self.recorder, None, self._T, self._velocities()))
        condition: Any = 1.0
        for row, root in zip(moved, roots, strict=True):
            condition = self.recorder.call(_largest, condition, Vec(row), roots, root)
        return condition

    def _velocities(self) -> Rows:
        """P′ D⁻¹ (rows, rows)."""
        n = len(self._T)
        rows: Rows = [[0.0] * n for _ in range(n)]
        for block, part in zip(self._blocks, self._slopes, strict=True):
            for i, row in enumerate(part.velocity, block.first):
                rows[i][block.first : block.first + block.size] = row
        return rows

    def by_velocity(self) -> Rows:
        """S of δλ = -S δc (rows, rows), where no row is redundant: two proximal steps, T + ε T²."""
        recorder = self.recorder
        small = [list(row) for row in recorder.call(_scaled, Mat(map(Vec, self._T)))]
        return self._times_velocity(plus_product(recorder, self._T, small, self._T))

    def _times_velocity(self, left: Rows) -> Rows:
        """X P′ D⁻¹."""
        columns: Rows = [[] for _ in left]
        for block, part in zip(self._blocks, self._slopes, strict=True):
            own = [row[block.first : block.first + block.size] for row in left]
            some = plus_product(self.recorder, None, own, [list(row) for row in part.velocity])
            for row, new in zip(columns, some, strict=True):
                row += new
        return columns

    def pushes(self, answers: Rows) -> Rows:
        """A S for A (n, rows) that is zero along redundant impulses, such as what impulses do to accelerations."""
        recorder = self.recorder
        x = plus_product(recorder, None, answers, self._T, large=True)
        left = plus_product(recorder, answers, negative(recorder, x), self._K, large=True)
        return self._times_velocity(plus_product(recorder, x, left, self._T, large=True))

    def impulses(self, dc: Rows, dbounds: Rows | None) -> Rows:
        """δλ (rows, directions) for δc (rows, directions) and changes of the bounds."""
        recorder = self.recorder
        asked = negative(recorder, self._by_velocity(dc))
        if dbounds is not None:
            at = 0
            for block, part in zip(self._blocks, self._slopes, strict=True):
                own, count = range(block.first, block.first + block.size), len(part.bounds[0])
                if count:
                    right = [list(row) for row in part.bounds]
                    some = plus_product(recorder, [asked[i] for i in own], right, dbounds[at : at + count])
                    for i, row in zip(own, some, strict=True):
                        asked[i] = row
                at += count
        return self._refine(self._K, self._T, asked)

    def weights(self, shares: Rows) -> tuple[list[Any], list[Any]]:
        """The weights of -c (rows) and of the bounds, from those of the impulses (rows, 1)."""
        y = self._refine(transpose(self._K), transpose(self._T), shares)
        of_velocities: list[Any] = []
        of_bounds: list[Any] = []
        for block, part in zip(self._blocks, self._slopes, strict=True):
            own = y[block.first : block.first + block.size]
            for target, slopes in ((of_velocities, part.velocity), (of_bounds, part.bounds)):
                columns = transpose([list(row) for row in slopes])
                target += [x for (x,) in plus_product(self.recorder, None, columns, own)] if columns else []
        return of_velocities, of_bounds

    def _refine(self, K: Rows, T: Rows, b: Rows) -> Rows:
        """x with K x = b."""
        recorder = self.recorder
        x = plus_product(recorder, None, T, b)
        left = plus_product(recorder, b, negative(recorder, K), x)
        return plus_product(recorder, x, T, left)


def _diagonals(weighted: Mat, impulse: Mat) -> tuple[tuple[Vec, ...], tuple[Vec, ...]]:
    """A diagonal block of K, and of K + ε."""
    exact = weighted + impulse
    n = len(exact)
    softer = [Vec([x + (PROXIMAL if i == j else 0.0) for j, x in enumerate(row)]) for i, row in enumerate(exact)]
    return tuple(Vec(exact[i]) for i in range(n)), tuple(softer)


def _roots(blocks: tuple[RowBlock, ...], own: tuple[Vec, ...]) -> Vec:
    """√D by row."""
    sizes = [size for block, x in zip(blocks, own, strict=True) for size in by_row(block, x)]
    return Vec([sqrt(x) for x in sizes])


def _largest(known: Scalar, row: Vec, scale: Vec, own: Scalar) -> Scalar:
    for x, by in zip(row, scale, strict=True):
        known = maximum(known, size_of([x * by]) / (own + TINY))
    return known


def _largest_of(x: tuple[Any, ...]) -> Any:
    return gauss_seidel.largest(*x)


def _scaled(T: Mat) -> Mat:
    return Mat(row * PROXIMAL for row in T)


def invert(recorder: Any, A: Rows) -> Rows:
    """A⁻¹ by elimination of diagonal blocks one after the other (Gauss and Jordan), without pivoting."""
    n, call = len(A), recorder.call
    left = [list(row) for row in A]
    for first in range(0, n, _TILE):
        own, others = range(first, min(first + _TILE, n)), [i for i in range(n) if not first <= i < first + _TILE]
        pivot = [list(row) for row in call(_inverse, Mat(Vec([left[i][j] for j in own]) for i in own))]
        below = [[left[i][j] for j in own] for i in others]
        across = plus_product(recorder, None, pivot, [[left[i][j] for j in others] for i in own])
        minus = negative(recorder, below)
        rest = plus_product(recorder, [[left[i][j] for j in others] for i in others], minus, across)
        sent = plus_product(recorder, None, minus, pivot)
        for i, row, back in zip(others, rest, sent, strict=True):
            for j, x in zip(others, row, strict=True):
                left[i][j] = x
            left[i][own.start : own.stop] = back
        for i, row, back in zip(own, across, pivot, strict=True):
            for j, x in zip(others, row, strict=True):
                left[i][j] = x
            left[i][own.start : own.stop] = back
    return left


def negative(recorder: Any, X: Rows) -> Rows:
    """-X."""
    return [list(row) for row in recorder.call(_minus, Mat(map(Vec, X)))] if X and X[0] else X


def _minus(X: Mat) -> Mat:
    return Mat(-row for row in X)


def _inverse(A: Mat) -> Mat:
    n = len(A)
    left = [list(row) for row in A]
    for k in range(n):
        pivot = 1.0 / left[k][k]
        for j in range(n):
            left[k][j] = pivot if j == k else left[k][j] * pivot
        for i in range(n):
            factor = left[i][k]
            if i == k or is_zero(factor):
                continue
            for j in range(n):
                left[i][j] = -(factor * pivot) if j == k else left[i][j] - factor * left[k][j]
    return Mat(map(Vec, left))
