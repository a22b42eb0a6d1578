"""Linear equations in tiles that share their code: A x = b without pivoting, where whole tiles of A may be zero.

Tiles on the diagonal are not inverted: they may be nearly singular, and an inverse would lose what a substitution
keeps. None stands for a tile of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec

Tiles = list[list[Any]]  # of Mat or None


class TiledFactors:
    """Factors of A = L U, eliminated tile by tile from the first on; A is overwritten."""

    def __init__(self, call: Any, A: Tiles) -> None:
        self._call, self._A, self._factors = call, A, list[Any]()

    def eliminate(self, count: int) -> TiledFactors:
        """The same with as many tiles eliminated."""
        call, A, size = self._call, self._A, len(self._A)
        for k in range(len(self._factors), count):
            factors = call(_factor, A[k][k])
            self._factors.append(factors)
            for j in range(k + 1, size):
                if A[k][j] is not None:
                    A[k][j] = call(_substitute_columns, factors, A[k][j])
            for i in range(k + 1, size):
                if A[i][k] is not None:
                    self._subtract(i, k)
        return self

    def _subtract(self, i: int, k: int) -> None:
        """Row i less what tile k takes from it."""
        A = self._A
        for j in range(k + 1, len(A)):
            if A[k][j] is None:
                continue
            if A[i][j] is None:
                A[i][j] = self._call(_negative_product, A[i][k], A[k][j])
            else:
                A[i][j] = self._call(_less_product, A[i][j], A[i][k], A[k][j])

    def remainder(self) -> Tiles:
        """A copy of the tiles that are not eliminated yet."""
        first = len(self._factors)
        return [list(row[first:]) for row in self._A[first:]]

    def forward(self, b: Sequence[Any], first: int = 0) -> list[Any]:
        """L⁻¹ b, where the tiles before `first` are zero."""
        call, A, x = self._call, self._A, list(b)
        for k in range(first, len(x)):
            if x[k] is None:
                continue
            x[k] = call(_substitute, self._factors[k], x[k])
            for i in range(k + 1, len(x)):
                if A[i][k] is not None:
                    x[i] = call(_negative_times, A[i][k], x[k]) if x[i] is None else call(_less, x[i], A[i][k], x[k])
        return x

    def backward(self, y: Sequence[Any], first: int = 0) -> list[Any]:
        """U⁻¹ y for the tiles from `first` on; None stands for zeros."""
        call, A, x = self._call, self._A, list(y)
        for k in reversed(range(first, len(x))):
            for j in range(k + 1, len(x)):
                if A[k][j] is not None and x[j] is not None:
                    x[k] = call(_negative_times, A[k][j], x[j]) if x[k] is None else call(_less, x[k], A[k][j], x[j])
        return x

    def responses(self, b: dict[int, Mat]) -> dict[int, tuple[Mat, Mat]]:
        """For some columns b by tile, (n, m) each: L⁻¹ b before and after the tile on the diagonal is divided out, as
        rows (m, n); bᵀ A⁻¹ c of a symmetric A is the sum of products of the first of b and the second of c."""
        call, A, left = self._call, self._A, dict(b)
        found = {}
        for k in range(len(A)):
            if k not in left:
                continue
            w = call(_substitute_columns, self._factors[k], left[k])
            found[k] = (left[k].T, Mat(w).T)
            for i in range(k + 1, len(A)):
                if A[i][k] is not None:
                    known = left.get(i)
                    left[i] = call(_negative_product, A[i][k], w) if known is None else call(
                        _less_product, known, A[i][k], w
                    )  # fmt: skip
        return found


def solve_tiles(call: Any, A: Tiles, b: Sequence[Any]) -> list[Any]:
    """x with A x = b; A is used up."""
    factors = TiledFactors(call, A).eliminate(len(A))
    return factors.backward(factors.forward(b))


@standalone
def _factor(A: Mat) -> Mat:
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


def _solution(LU: Mat, b: Sequence[Scalar]) -> list[Scalar]:
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
def _substitute(LU: Mat, b: Vec) -> Vec:
    return Vec(_solution(LU, b))


@standalone
def _substitute_columns(LU: Mat, B: Mat) -> Mat:
    return Mat(Vec(_solution(LU, column)) for column in Mat(B).T).T


@standalone
def _less_product(A: Mat, B: Mat, C: Mat) -> Mat:
    """A - B C."""
    return Mat(A) - Mat(B) @ Mat(C)


@standalone
def _negative_product(B: Mat, C: Mat) -> Mat:
    """-B C."""
    return -(Mat(B) @ Mat(C))


@standalone
def _less(a: Vec, B: Mat, c: Vec) -> Vec:
    """a - B c."""
    return a - Mat(B) @ c


@standalone
def _negative_times(B: Mat, c: Vec) -> Vec:
    """-B c."""
    return -(Mat(B) @ c)
