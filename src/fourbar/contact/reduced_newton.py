"""Newton's equations of many rows over few bases, as of feet with many points: six rows for each link are enough.

Rows are J = C B over bases B (unit wrenches on links), so that G = C Ω Cᵀ. A block's step is δ = own - K C y, where y
is how much faster the bases move; with S = Σ Cᵀ K C of all blocks and f = Σ Cᵀ own

    (1 + Ω S) y = Ω f

whose size is that of the bases, however many rows there are. Tiles share their code: it does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, is_zero
from .delassus import RowsOnBasis
from .gauss_seidel import RowBlock
from .newton import PROXIMAL, Yielding, eliminate, yielding

_UNROLLED = 12  # rows of a system; larger ones are solved in tiles
_TILE = 6

Mats = tuple[Mat, ...]
Parts = tuple[tuple[RowsOnBasis, ...], ...]  # the rows of each block over its bases
Rows = list[list[Any]]


class ReducedRows(NamedTuple):
    """The rows of each block over its bases, and Ω of the bases (None: they do not feel each other)."""

    parts: Parts
    omega: tuple[tuple[Any, ...], ...]

    def sizes(self) -> list[int]:
        """Number of rows of each basis."""
        return [len(row[k]) for k, row in enumerate(self.omega)]


@standalone
def yields(block: RowBlock, own: Vec, soft: Vec, bounds: Vec, x: Vec, c: Vec) -> Yielding:
    """A block's part of Newton's equations."""
    return yielding(block, own, soft, bounds, x, c, 0.0, PROXIMAL)


@standalone
def yields_smoothly(
    block: RowBlock, own: Vec, soft: Vec, bounds: Vec, x: Vec, c: Vec, tau: Scalar, stiff: Scalar
) -> Yielding:
    """A block's part of Newton's equations, smoothed."""
    return yielding(block, own, soft, bounds, x, c, tau, stiff)


def yielded(call: Any, block: RowBlock, own: Vec, soft: Vec, bounds: Vec, x: Vec, c: Vec, course: Any) -> Yielding:
    """A block's part of Newton's equations, smoothed and stiffened by (τ, stiff) of a course; not if that is None."""
    alone = block._replace(first=0)
    if course is None:
        return call(yields, alone, own, soft, bounds, x, c)
    return call(yields_smoothly, alone, own, soft, bounds, x, c, *course)


@standalone
def gathered(found: Yielding, rows: Mats, S: tuple[Mats, ...], f: tuple[Vec, ...]) -> tuple[tuple[Mats, ...], Any]:
    """S and f of a block's bases with its own part of them."""
    weighted = [found.K @ C for C in rows]
    more = tuple(
        tuple(Mat(old) + C.T @ Mat(w) for old, w in zip(row, weighted, strict=True))
        for C, row in zip(rows, S, strict=True)
    )
    return more, tuple(Vec(old) + C.transpose_times(found.own) for C, old in zip(rows, f, strict=True))


@standalone
def summed(omega: Mats, S: Mats) -> Mat:
    """Σ Ω S."""
    found = Mat(omega[0]) @ Mat(S[0])
    for a, b in zip(omega[1:], S[1:], strict=True):
        found = found + Mat(a) @ Mat(b)
    return found


@standalone
def moved(omega: Mats, f: tuple[Vec, ...]) -> Vec:
    """Σ Ω f."""
    found = Mat(omega[0]) @ f[0]
    for a, b in zip(omega[1:], f[1:], strict=True):
        found = found + Mat(a) @ b
    return found


@standalone
def followed(found: Yielding, rows: Mats, y: tuple[Vec, ...]) -> Vec:
    """The step of a block, where its bases move faster by y."""
    v = rows[0] @ y[0]
    for C, more in zip(rows[1:], y[1:], strict=True):
        v = v + C @ more
    return found.own - found.K @ v


def step(recorder: Any, over: ReducedRows, found: Sequence[Yielding]) -> list[Vec]:
    """δ of all blocks."""
    sizes = over.sizes()
    first = [sum(sizes[:k]) for k in range(len(sizes))]
    A, b = _system(recorder, over, *gather(recorder, over.parts, sizes, found), first)
    y = solved(recorder, A, b)
    by_base = [Vec(y[at : at + n]) for at, n in zip(first, sizes, strict=True)]
    return follow(recorder, over.parts, sizes, found, by_base)


def follow(recorder: Any, parts: Parts, sizes: Sequence[int], found: Sequence[Yielding], y: Sequence[Vec]) -> list[Vec]:
    """δ of all blocks, where the bases move faster by y."""
    steps = []
    for own, over in zip(found, parts, strict=True):
        steps.append(recorder.call(followed, own, _rows(over, sizes), tuple(y[x.base] for x in over)))
    return steps


def _rows(parts: Sequence[RowsOnBasis], sizes: Sequence[int]) -> Mats:
    return tuple(Mat.identity(sizes[x.base]) if x.over is None else x.over for x in parts)


def gather(
    recorder: Any, parts_of: Parts, sizes: Sequence[int], found: Sequence[Yielding]
) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """S and f by base."""
    S: dict[tuple[int, int], Any] = {}
    f = [Vec([0.0] * n) for n in sizes]
    for own, parts in zip(found, parts_of, strict=True):
        bases = [x.base for x in parts]
        if len(parts) == 1 and parts[0].over is None:
            S[bases[0], bases[0]], f[bases[0]] = own.K, own.own
            continue
        before = tuple(tuple(S.get((a, b), Mat.zeros(sizes[a], sizes[b])) for b in bases) for a in bases)
        after, forces = recorder.call(gathered, own, _rows(parts, sizes), before, tuple(f[a] for a in bases))
        for a, row, force in zip(bases, after, forces, strict=True):
            f[a] = force
            S |= {(a, b): x for b, x in zip(bases, row, strict=True)}
    return S, f


def _plus_one(A: Mat) -> Mat:
    return A + Mat.identity(len(A))


def _system(recorder: Any, over: ReducedRows, S: Any, f: list[Any], first: list[int]) -> tuple[Rows, list[Any]]:
    """1 + Ω S and Ω f."""
    call, omega, sizes = recorder.call, over.omega, over.sizes()
    n = sum(sizes)
    A: Rows = [[0.0] * n for _ in range(n)]
    b: list[Any] = []
    for k, row in enumerate(omega):
        near = [m for m, x in enumerate(row) if x is not None]
        b += call(moved, tuple(row[m] for m in near), tuple(f[m] for m in near))
        for j in range(len(omega)):
            both = [m for m in near if (m, j) in S]
            if not both:
                continue
            block = call(summed, tuple(row[m] for m in both), tuple(S[m, j] for m in both))
            block = call(_plus_one, block) if j == k else block
            for i, values in enumerate(block, first[k]):
                A[i][first[j] : first[j] + sizes[j]] = values
    return A, b


def solved(recorder: Any, A: Rows, b: Sequence[Any]) -> Vec:
    """x with A x = b, without pivoting."""
    n = len(b)
    if n <= _UNROLLED:
        return recorder.call(_at_once, Mat(map(Vec, A)), Vec(b))
    cuts = [range(k, min(k + _TILE, n)) for k in range(0, n, _TILE)]
    tiles: list[list[Any]] = [[_tile(A, rows, columns) for columns in cuts] for rows in cuts]
    found = in_tiles(recorder.call, tiles, [Vec([b[i] for i in rows]) for rows in cuts])
    return Vec([x for part in found for x in part])


def _at_once(A: Mat, b: Vec) -> Vec:
    return eliminate(lambda i, j: A[i][j], b)


def _tile(A: Rows, rows: range, columns: range) -> Any:
    found = Mat(Vec([A[i][j] for j in columns]) for i in rows)
    return None if all(is_zero(x) for row in found for x in row) else found


def in_tiles(call: Any, A: list[list[Any]], b: list[Any]) -> list[Any]:
    """x with A x = b, tile by tile, without pivoting; None stands for zeros. Both are used up.

    Tiles on the diagonal are not inverted: they may be nearly singular, and an inverse would lose what a substitution
    keeps.
    """
    count = len(b)
    for k in range(count):
        factors = call(_factored, A[k][k])
        b[k] = call(_substituted, factors, b[k])
        for j in range(k + 1, count):
            if A[k][j] is not None:
                A[k][j] = call(_substituted_in_columns, factors, A[k][j])
        for i in range(k + 1, count):
            if A[i][k] is None:
                continue
            b[i] = call(_less, b[i], A[i][k], b[k])
            for j in range(k + 1, count):
                if A[k][j] is not None:
                    old = Mat.zeros(len(b[i]), len(b[j])) if A[i][j] is None else A[i][j]
                    A[i][j] = call(_without, old, A[i][k], A[k][j])
    for k in reversed(range(count)):
        for j in range(k + 1, count):
            if A[k][j] is not None:
                b[k] = call(_less, b[k], A[k][j], b[j])
    return b


@standalone
def _factored(A: Mat) -> Mat:
    """L and U of A = L U, one below and one above the diagonal, on which is one over that of U."""
    n = len(A)
    left = [list(row) for row in A]
    for k in range(n):
        left[k][k] = 1.0 / left[k][k]
        for i in range(k + 1, n):
            left[i][k] = left[i][k] * left[k][k]
            for j in range(k + 1, n):
                left[i][j] = left[i][j] - left[i][k] * left[k][j]
    return Mat(Vec(row) for row in left)


def _substitute(LU: Mat, b: Sequence[Scalar]) -> list[Scalar]:
    """x with L U x = b."""
    x, n = list(b), len(b)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - LU[i][j] * x[j]
    for i in reversed(range(n)):
        for j in reversed(range(i + 1, n)):
            x[i] = x[i] - LU[i][j] * x[j]
        x[i] = x[i] * LU[i][i]
    return x


@standalone
def _substituted(LU: Mat, b: Vec) -> Vec:
    return Vec(_substitute(LU, b))


@standalone
def _substituted_in_columns(LU: Mat, B: Mat) -> Mat:
    return Mat(Vec(_substitute(LU, column)) for column in Mat(B).T).T


@standalone
def _without(A: Mat, B: Mat, C: Mat) -> Mat:
    """A - B C."""
    return Mat(A) - Mat(B) @ Mat(C)


@standalone
def _less(a: Vec, B: Mat, c: Vec) -> Vec:
    """a - B c."""
    return a - Mat(B) @ c
