"""Products of matrices of scalars, recorded in small steps: tiles of a product stay in registers."""

from __future__ import annotations

from typing import Any

from ..expr import Recorder
from ..spatial.linear import Vec, is_zero

Rows = list[list[Any]]
_TILE = 4


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


def plus_product(recorder: Recorder, C: Rows | None, A: Rows, B: Rows) -> Rows:
    """C + A B, or A B if C is None; B may hold many zeros, which cost nothing."""
    width = len(B[0]) if B else len(C[0]) if C else 0
    found = [list(row) for row in C] if C else [[0.0] * width for _ in A]
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
