"""Products and inverses of matrices of scalars, recorded in small steps: tiles of a product stay in registers."""

from __future__ import annotations

from typing import Any

from ..expr import Recorder
from ..spatial.linear import Mat, Vec, dot, is_zero
from ..spatial.solve import Factored, factor

_TILE = 4


def _tile(rows: tuple[Vec, ...], columns: tuple[Vec, ...]) -> tuple[Vec, ...]:
    return tuple(Vec([-dot(row, column) for column in columns]) for row in rows)


def negative_product(recorder: Recorder, A: list[list[Any]], B: list[list[Any]]) -> list[list[Any]]:
    """-A B; B may hold many zeros, which cost nothing."""
    columns = [list(column) for column in zip(*B, strict=True)]
    found: list[list[Any]] = [[0.0] * len(columns) for _ in A]
    for c in range(0, len(columns), _TILE):
        own = columns[c : c + _TILE]
        used = [k for k in range(len(B)) if not all(is_zero(column[k]) for column in own)]
        right = tuple(Vec([column[k] for k in used]) for column in own)
        for r in range(0, len(A), _TILE):
            left = tuple(Vec([row[k] for k in used]) for row in A[r : r + _TILE])
            for at, row in enumerate(recorder.call(_tile, left, right)):
                found[r + at][c : c + _TILE] = row
    return found


def _solved(factored: Factored, j: int) -> Vec:
    n = len(factored.L)
    return factored.solve([1.0 if i == j else 0.0 for i in range(n)])


def inverse(recorder: Recorder, M: list[list[Any]]) -> list[list[Any]]:
    """M⁻¹ of a mass matrix. It is factored from the leaves to the root, where the zeros of a tree stay zeros."""
    n = len(M)
    backwards = Mat(Vec([M[i][j] for j in reversed(range(n))]) for i in reversed(range(n)))
    factored = recorder.call(factor, backwards)
    columns = [recorder.call(_solved, factored, j) for j in range(n)]
    return [[columns[n - 1 - j][n - 1 - i] for j in range(n)] for i in range(n)]
