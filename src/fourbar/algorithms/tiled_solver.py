"""Solving with a large symmetric positive definite matrix without zeros, in tiles that share their code."""

from __future__ import annotations

from collections.abc import Iterator

from ..expr import Recorder
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Vec
from ..spatial.solve import Factored, factor
from .tiled_product import Rows, plus_product, transposed

BLOCK = 8  # rows that are eliminated together


@standalone
def _divided(rows: tuple[Vec, ...], block: Factored) -> tuple[tuple[Vec, ...], tuple[Vec, ...]]:
    """For rows A below a block L d Lᵀ: A L⁻ᵀ, and -A L⁻ᵀ d⁻¹, the negative of their part of the factor."""
    found, parts = [], []
    for row in rows:
        x = list(row)
        for j, own in enumerate(block.L):
            for k, y in enumerate(own):
                x[j] = x[j] - y * x[k]
        found.append(Vec(x))
        parts.append(Vec([-(y * d) for y, d in zip(x, block.inverse_pivots, strict=True)]))
    return tuple(found), tuple(parts)


@standalone
def _back(block: Factored, rows: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """L⁻ᵀ X."""
    found = [list(row) for row in rows]
    for i in reversed(range(len(found))):
        for j in range(i + 1, len(found)):
            factor = block.L[j][i]
            found[i] = [x - factor * y for x, y in zip(found[i], found[j], strict=True)]
    return tuple(map(Vec, found))


def negative_solution(recorder: Recorder, D: Rows, B: Rows) -> tuple[Rows, Rows]:
    """-D⁻¹ B and -Bᵀ D⁻¹ B, by L d Lᵀ.

    Of the rows of D only the lower triangle is read, and all that is left of the next multiple of `BLOCK`.
    """
    n, width = len(D), len(B[0])
    left = [list(row) for row in D] + [[*row, *[0.0] * width] for row in transposed(B)]
    blocks = [_eliminate(recorder, left, n, first) for first in range(0, n, BLOCK)]
    x: Rows = [[] for _ in range(n)]
    for number in reversed(range(len(blocks))):
        first, last = number * BLOCK, min(number * BLOCK + BLOCK, n)
        right = transposed([row[first:last] for row in left[n:]])
        if last < n:
            follow = transposed([row[first:last] for row in left[last:n]])
            right = plus_product(recorder, right, follow, x[last:], large=True)
        for i, row in enumerate(recorder.call(_back, blocks[number], tuple(map(Vec, right))), first):
            x[i] = list(row)
    ends = range(n, n + width)
    return x, [[left[max(i, j)][min(i, j)] for j in ends] for i in ends]


def _lots(first: int, n: int, end: int) -> Iterator[tuple[int, int]]:
    """Rows of D from `first` on, a block at a time; then those below D."""
    for row in range(first, n, BLOCK):
        yield row, min(row + BLOCK, n)
    yield n, end


def _eliminate(recorder: Recorder, left: Rows, n: int, first: int) -> Factored:
    """Take a block out of what is left; in its columns stays the negative of the factor's part below."""
    last = min(first + BLOCK, n)
    block = recorder.call(factor, Mat(Vec(row[first:last]) for row in left[first:last]))
    parts: Rows = []
    for start, end in _lots(last, n, len(left)):
        rows, own = recorder.call(_divided, tuple(Vec(row[first:last]) for row in left[start:end]), block)
        parts += map(list, own)
        total = [row[last:end] for row in left[start:end]]
        for i, row in enumerate(plus_product(recorder, total, list(map(list, rows)), transposed(parts), large=True)):
            left[start + i][last:end] = row
            left[start + i][first:last] = own[i]
    return block
