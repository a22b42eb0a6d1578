"""Small vectors and matrices over any scalar, and symmetric 3 x 3 matrices as six numbers.

A `Vec` is a tuple with arithmetic; a `Mat` is a tuple of rows. Structural zeros (the float 0.0) are skipped, so the
general formula written with them costs what a hand-specialised one costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Scalar = Any


def is_zero(x: Scalar) -> bool:
    """Whether x is zero by structure: a constant, not a number that happens to vanish."""
    return x.__class__ is float and x == 0.0


def reciprocal(x: Scalar) -> Scalar:
    """1/x; NaN for a structural zero, so that undefined results are NaN whether found while tracing or at run time."""
    return float("nan") if is_zero(x) else 1.0 / x


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Σ a_i b_i."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


class Vec(tuple[Scalar, ...]):
    """A column of scalars, with the arithmetic of vectors.

    Parameters
    ----------
    iterable : iterable of scalars
        Its entries.

    Examples
    --------
    >>> from fourbar.spatial import Vec
    >>> Vec((1.0, 0.0, 0.0)).cross(Vec((0.0, 1.0, 0.0))) * 2.0
    (0.0, 0.0, 2.0)
    """

    __slots__ = ()

    @staticmethod
    def from_array(array: Any) -> Vec:
        """Entries along the last axis of an array (..., n), each a float or, for a batch, an array (...)."""
        values = np.asarray(array, float)
        if values.ndim < 1:
            raise ValueError(f"a vector needs an axis for its entries: expected shape (..., n), got {values.shape}")
        return Vec(values.tolist() if values.ndim == 1 else np.moveaxis(values, -1, 0))

    def __add__(self, other: Iterable[Scalar]) -> Vec:  # type: ignore[override]
        return Vec([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Iterable[Scalar]) -> Vec:
        return Vec([a - b for a, b in zip(self, other, strict=True)])

    def __neg__(self) -> Vec:
        return Vec([-a for a in self])

    def __mul__(self, k: Scalar) -> Vec:  # type: ignore[override]
        return Vec([a * k for a in self])

    def __rmul__(self, k: Scalar) -> Vec:  # type: ignore[override]
        return Vec([a * k for a in self])

    def dot(self, other: Sequence[Scalar]) -> Scalar:
        """Product self · other."""
        return dot(self, other)

    def cross(self, other: Sequence[Scalar]) -> Vec:
        """Product self × other, of three-vectors."""
        ax, ay, az = self
        bx, by, bz = other
        return Vec((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


class Mat(tuple[Vec, ...]):
    """A matrix of scalars, by rows.

    Parameters
    ----------
    iterable : iterable of Vec
        Its rows.

    Examples
    --------
    >>> from fourbar.spatial import Mat, Vec
    >>> Mat.of([[1, 2], [3, 4]]) @ Vec((1.0, 1.0))
    (3.0, 7.0)
    """

    __slots__ = ()

    @staticmethod
    def from_array(array: Any) -> Mat:
        """Entries along the last two axes of an array (..., m, n), each a float or, for a batch, an array (...)."""
        values = np.asarray(array, float)
        if values.ndim < 2:
            raise ValueError(f"a matrix needs two axes for its entries: expected shape (..., m, n), got {values.shape}")
        return Mat(map(Vec, values.tolist() if values.ndim == 2 else np.moveaxis(values, (-2, -1), (0, 1))))

    @staticmethod
    def of(rows: Iterable[Iterable[Scalar]]) -> Mat:
        """A matrix from nested rows of plain numbers or scalars; ints and NumPy numbers become floats."""
        return Mat(Vec([float(x) if isinstance(x, (int, float)) else x for x in row]) for row in rows)

    @staticmethod
    def identity(n: int) -> Mat:
        """The n x n identity."""
        return Mat(Vec([1.0 if i == j else 0.0 for j in range(n)]) for i in range(n))

    @staticmethod
    def zeros(rows: int, columns: int) -> Mat:
        """A matrix of structural zeros."""
        return Mat(Vec([0.0] * columns) for _ in range(rows))

    @staticmethod
    def from_columns(columns: Sequence[Sequence[Scalar]]) -> Mat:
        """A matrix from its columns."""
        return Mat(Vec(row) for row in zip(*columns, strict=True))

    @property
    def T(self) -> Mat:
        """The transpose."""
        return Mat(Vec(column) for column in zip(*self, strict=True))

    def __add__(self, other: Iterable[Vec]) -> Mat:  # type: ignore[override]
        return Mat(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Iterable[Vec]) -> Mat:
        return Mat(a - b for a, b in zip(self, other, strict=True))

    def __neg__(self) -> Mat:
        return Mat(-a for a in self)

    def __mul__(self, k: Scalar) -> Mat:  # type: ignore[override]
        return Mat(a * k for a in self)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Mat):
            columns = other.T
            return Mat(Vec([dot(row, column) for column in columns]) for row in self)
        return Vec([dot(row, other) for row in self])

    def transpose_times(self, x: Sequence[Scalar]) -> Vec:
        """Product selfᵀ x."""
        return Vec([dot(column, x) for column in zip(*self, strict=True)])


def vec(items: Iterable[Any]) -> Vec:
    """A Vec of plain numbers or scalars; ints and NumPy numbers become floats."""
    return Vec([float(x) if isinstance(x, (int, float)) else x for x in items])


def zeros(n: int) -> Vec:
    """n structural zeros."""
    return Vec([0.0] * n)


def hat(a: Sequence[Scalar]) -> Mat:
    """[a]: the matrix of a ×."""
    x, y, z = a
    return Mat((Vec((0.0, -z, y)), Vec((z, 0.0, -x)), Vec((-y, x, 0.0))))


class Sym(NamedTuple):
    """[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar

    @staticmethod
    def of(m: Sequence[Sequence[Scalar]]) -> Sym:
        """From the upper triangle of a 3 x 3 matrix."""
        return Sym(m[0][0], m[0][1], m[0][2], m[1][1], m[1][2], m[2][2])

    @staticmethod
    def diagonal(x: Scalar) -> Sym:
        """x times the identity."""
        return Sym(x, 0.0, 0.0, x, 0.0, x)

    def matrix(self) -> Mat:
        """All nine entries."""
        xx, xy, xz, yy, yz, zz = self
        return Mat((Vec((xx, xy, xz)), Vec((xy, yy, yz)), Vec((xz, yz, zz))))

    def __add__(self, other: Sequence[Scalar]) -> Sym:  # type: ignore[override]
        return Sym(*[a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Sequence[Scalar]) -> Sym:
        return Sym(*[a - b for a, b in zip(self, other, strict=True)])

    def __matmul__(self, x: Sequence[Scalar]) -> Vec:
        xx, xy, xz, yy, yz, zz = self
        return Vec((dot((xx, xy, xz), x), dot((xy, yy, yz), x), dot((xz, yz, zz), x)))


def outer(h: Sequence[Scalar], c: Sequence[Scalar]) -> Sym:
    """h cᵀ for h parallel to c, so that the product is symmetric."""
    return Sym(h[0] * c[0], h[0] * c[1], h[0] * c[2], h[1] * c[1], h[1] * c[2], h[2] * c[2])


def square_of_hat(w: Sequence[Scalar]) -> Sym:
    """[w][w] = w wᵀ - |w|² 1."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    return Sym(-(yy + zz), x * y, x * z, -(xx + zz), y * z, -(xx + yy))
