"""Products of matrices of scalars, recorded in small steps: tiles of a product stay in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..expr import Recorder
from ..expr.standalone_steps import standalone
from ..spatial.linear import Vec, is_zero

Rows = list[list[Any]]
_TILE = 4
# Columns of a tile that stands apart, by its rows: twelve sums at most, which fit into sixteen registers with what is
# added to them. Few sizes are less code to compile.
_COLUMNS = {1: (12, 6, 3, 2, 1), 2: (6, 3, 2, 1), 3: (4, 2, 1), 4: (3, 2, 1)}
_DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16)  # terms of a sum in such a tile


def transposed(rows: Rows) -> Rows:
    """Rows become columns."""
    return [list(column) for column in zip(*rows, strict=True)]


def _tile(total: tuple[Vec, ...], rows: tuple[Vec, ...], columns: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """total + rows · columns, all sums side by side: one after the other, each would wait for its own last addition."""
    found = [list(row) for row in total]
    for k in range(len(rows[0])):
        for x, row in zip(found, rows, strict=True):
            for c, column in enumerate(columns):
                x[c] = x[c] + row[k] * column[k]
    return tuple(map(Vec, found))


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
    found = [list(row) for row in C] if C else [[0.0] * width for _ in A]
    if large:
        for columns, used in _alike(B, width):
            for r in range(0, len(A), _TILE):
                _add_tiles(recorder, found, (A, range(r, min(r + _TILE, len(A)))), (B, columns), used)
        return found
    for c in range(0, width, _TILE):
        own = [row[c : c + _TILE] for row in B]
        used = [k for k, row in enumerate(own) if not all(map(is_zero, row))]
        columns = tuple(Vec([own[k][j] for k in used]) for j in range(len(own[0]) if own else 0))
        for r in range(0, len(A) if used else 0, _TILE):
            rows = tuple(Vec([row[k] for k in used]) for row in A[r : r + _TILE])
            total = tuple(Vec(row[c : c + _TILE]) for row in found[r : r + _TILE])
            for at, row in enumerate(recorder.call(_tile, total, rows, columns)):
                found[r + at][c : c + _TILE] = row
    return found


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
    (A, own), (B, every) = left, right
    for k in range(0, len(used), _DEPTHS[-1]):
        lot = used[k : k + _DEPTHS[-1]]
        depth = next(depth for depth in _DEPTHS if depth >= len(lot))
        filled = [0.0] * (depth - len(lot))
        rows = tuple([y for i in own for y in [A[i][x] for x in lot] + filled])
        terms = [B[x] for x in lot]
        for columns in _lots(every, len(own)):
            factors = tuple([y for j in columns for y in [row[j] for row in terms] + filled])
            total = tuple([found[i][j] for i in own for j in columns])
            if all(map(is_zero, total)):
                added = iter(recorder.call(_first_tile, depth, rows, factors))
            else:
                added = iter(recorder.call(_tile_apart, depth, total, rows, factors))
            for i in own:
                target = found[i]
                for j in columns:
                    target[j] = next(added)
