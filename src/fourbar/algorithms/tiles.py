"""Products and factors of large matrices of scalars in tiles, recorded in small steps that share their code.

Tiles of a product stay in registers. Matrices that are factored are symmetric and positive definite, without zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..expr import Recorder
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Vec, is_zero
from ..spatial.solve import Factored, factor

Rows = list[list[Any]]
_TILE = 4
# Columns of a tile that stands apart, by its rows: twelve sums at most, which fit into sixteen registers with what is
# added to them. Few sizes are less code to compile.
_COLUMNS = {1: (12, 6, 3, 2, 1), 2: (6, 3, 2, 1), 3: (4, 2, 1), 4: (3, 2, 1)}
_DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16)  # terms of a sum in such a tile


def transpose(rows: Rows) -> Rows:
    """Rows become columns."""
    return [list(column) for column in zip(*rows, strict=True)]


def _tile(total: tuple[Vec, ...], rows: tuple[Vec, ...], columns: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """total + rows · columns, all sums side by side: one after the other, each would wait for its own last addition."""
    sums = [list(row) for row in total]
    for k in range(len(rows[0])):
        for x, row in zip(sums, rows, strict=True):
            for c, column in enumerate(columns):
                x[c] = x[c] + row[k] * column[k]
    return tuple(map(Vec, sums))


def _cut(entries: tuple[Any, ...], size: int) -> tuple[Vec, ...]:
    return tuple([Vec(entries[k : k + size]) for k in range(0, len(entries), size)])


# Tiles that stand apart take and return their entries row by row, in one long tuple: there are 10 000s of them, and a
# recorder takes long to look at nested ones.


@standalone
def _tile_apart(depth: int, total: tuple[Any, ...], rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """A tile of the product, written once for all tiles of a size. `depth`: the terms of a sum."""
    sums = _cut(total, len(columns) // depth)
    return tuple([x for row in _tile(sums, _cut(rows, depth), _cut(columns, depth)) for x in row])


@standalone
def _first_tile(depth: int, rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """rows · columns."""
    zeros = (0.0,) * (len(rows) // depth * (len(columns) // depth))
    return _tile_apart(depth, zeros, rows, columns)


def plus_product(recorder: Recorder, C: Rows | None, A: Rows, B: Rows, large: bool = False) -> Rows:
    """C + A B, or A B if C is None; B may hold many zeros, which cost nothing.

    `large`: one of many products, whose tiles are to share their code.
    """
    width = len(B[0]) if B else len(C[0]) if C else 0
    product = [list(row) for row in C] if C else [[0.0] * width for _ in A]
    if large:
        for columns, used in _alike(B, width):
            for r in range(0, len(A), _TILE):
                _add_tiles(recorder, product, (A, range(r, min(r + _TILE, len(A)))), (B, columns), used)
        return product
    for c in range(0, width, _TILE):
        own = [row[c : c + _TILE] for row in B]
        used = [k for k, row in enumerate(own) if not all(map(is_zero, row))]
        columns = tuple(Vec([own[k][j] for k in used]) for j in range(len(own[0]) if own else 0))
        for r in range(0, len(A) if used else 0, _TILE):
            rows = tuple(Vec([row[k] for k in used]) for row in A[r : r + _TILE])
            total = tuple(Vec(row[c : c + _TILE]) for row in product[r : r + _TILE])
            for at, row in enumerate(recorder.call(_tile, total, rows, columns)):
                product[r + at][c : c + _TILE] = row
    return product


def _alike(B: Rows, width: int) -> list[tuple[list[int], list[int]]]:
    """Columns of B that have their zeros in the same rows; and the other rows."""
    kinds: dict[tuple[int, ...], list[int]] = {}
    for j in range(width):
        used = tuple([k for k, row in enumerate(B) if not is_zero(row[j])])
        if used:
            kinds.setdefault(used, []).append(j)
    return [(columns, list(used)) for used, columns in kinds.items()]


def _lots(columns: list[int], rows: int) -> Iterator[list[int]]:
    """Columns of one tile after the other."""
    first = 0
    while first < len(columns):
        size = next(size for size in _COLUMNS[rows] if size <= len(columns) - first)
        yield columns[first : first + size]
        first += size


def _add_tiles(
    recorder: Recorder, found: Rows, left: tuple[Rows, Sequence[int]], right: tuple[Rows, list[int]], used: list[int]
) -> None:
    """Add A B to some rows and columns, given as (A, rows) and (B, columns).

    Terms are taken in lots of a few sizes, filled up with zeros: less code to compile.
    """
    (A, every_row), (B, every) = left, right
    for k in range(0, len(used), _DEPTHS[-1]):
        lot = used[k : k + _DEPTHS[-1]]
        depth = next(depth for depth in _DEPTHS if depth >= len(lot))
        filled = [0.0] * (depth - len(lot))
        rows = tuple([y for i in every_row for y in [A[i][x] for x in lot] + filled])
        terms = [B[x] for x in lot]
        for columns in _lots(every, len(every_row)):
            factors = tuple([y for j in columns for y in [row[j] for row in terms] + filled])
            total = tuple([found[i][j] for i in every_row for j in columns])
            if all(map(is_zero, total)):
                added = iter(recorder.call(_first_tile, depth, rows, factors))
            else:
                added = iter(recorder.call(_tile_apart, depth, total, rows, factors))
            for i in every_row:
                target = found[i]
                for j in columns:
                    target[j] = next(added)


BLOCK = 8  # rows that are eliminated together


@standalone
def _divide(rows: tuple[Vec, ...], block: Factored) -> tuple[tuple[Vec, ...], tuple[Vec, ...]]:
    """For rows A below a block L d Lᵀ: A L⁻ᵀ, and -A L⁻ᵀ d⁻¹, the negative of their part of the factor."""
    quotients, parts = [], []
    for row in rows:
        quotient = list(row)
        for j, own in enumerate(block.L):
            for k, y in enumerate(own):
                quotient[j] = quotient[j] - y * quotient[k]
        quotients.append(Vec(quotient))
        parts.append(Vec([-(y * d) for y, d in zip(quotient, block.inverse_pivots, strict=True)]))
    return tuple(quotients), tuple(parts)


@standalone
def _back(block: Factored, rows: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """L⁻ᵀ X."""
    solution = [list(row) for row in rows]
    for i in reversed(range(len(solution))):
        for j in range(i + 1, len(solution)):
            factor = block.L[j][i]
            solution[i] = [x - factor * y for x, y in zip(solution[i], solution[j], strict=True)]
    return tuple(map(Vec, solution))


def negative_solution(recorder: Recorder, D: Rows, B: Rows) -> tuple[Rows, Rows]:
    """-D⁻¹ B and -Bᵀ D⁻¹ B, by L d Lᵀ.

    Of the rows of D only the lower triangle is read, and all that is left of the next multiple of `BLOCK`.
    """
    n, width = len(D), len(B[0])
    left = [list(row) for row in D] + [[*row, *[0.0] * width] for row in transpose(B)]
    blocks = [_eliminate(recorder, left, n, first) for first in range(0, n, BLOCK)]
    solution: Rows = [[] for _ in range(n)]
    for number in reversed(range(len(blocks))):
        first, last = number * BLOCK, min(number * BLOCK + BLOCK, n)
        right = transpose([row[first:last] for row in left[n:]])
        if last < n:
            follow = transpose([row[first:last] for row in left[last:n]])
            right = plus_product(recorder, right, follow, solution[last:], large=True)
        for i, row in enumerate(recorder.call(_back, blocks[number], tuple(map(Vec, right))), first):
            solution[i] = list(row)
    ends = range(n, n + width)
    return solution, [[left[max(i, j)][min(i, j)] for j in ends] for i in ends]


def _row_blocks(first: int, n: int, end: int) -> Iterator[tuple[int, int]]:
    """Rows of D from `first` on, a block at a time; then those below D."""
    for row in range(first, n, BLOCK):
        yield row, min(row + BLOCK, n)
    yield n, end


def _eliminate(recorder: Recorder, left: Rows, n: int, first: int) -> Factored:
    """Eliminate a block from the rest; its columns then hold the negative of the factor's part below."""
    last = min(first + BLOCK, n)
    block = recorder.call(factor, Mat(Vec(row[first:last]) for row in left[first:last]))
    parts: Rows = []
    for start, end in _row_blocks(last, n, len(left)):
        rows, factor_rows = recorder.call(_divide, tuple(Vec(row[first:last]) for row in left[start:end]), block)
        parts += map(list, factor_rows)
        total = [row[last:end] for row in left[start:end]]
        for i, row in enumerate(plus_product(recorder, total, list(map(list, rows)), transpose(parts), large=True)):
            left[start + i][last:end] = row
            left[start + i][first:last] = factor_rows[i]
    return block
