"""Symmetric 3 x 3 matrices as six numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .linear import Mat, Scalar, Vec, dot


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
