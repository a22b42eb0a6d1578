"""Rotations that know their structure: a turn in a plane costs six operations, a general matrix fifteen.

A rotation R = F₁ F₂ ... is kept as its factors, each a `RotationZ` or a 3 x 3 `Mat`, and applied factor by factor.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from .linear import Mat, Scalar, Sym, Vec, dot


class RotationZ(NamedTuple):
    """Rotation about z by the angle whose cosine and sine are c and s."""

    c: Scalar
    s: Scalar

    def matrix(self) -> Mat:
        """The 3 x 3 rotation matrix."""
        return Mat((Vec((self.c, -self.s, 0.0)), Vec((self.s, self.c, 0.0)), Vec((0.0, 0.0, 1.0))))

    def apply(self, a: Vec) -> Vec:
        """R a."""
        x, y, z = a
        return Vec((self.c * x - self.s * y, self.s * x + self.c * y, z))

    def unapply(self, a: Vec) -> Vec:
        """Rᵀ a."""
        x, y, z = a
        return Vec((self.c * x + self.s * y, self.c * y - self.s * x, z))

    def congruence(self, a: Mat) -> Mat:
        """R A Rᵀ: rows, then columns. Shorter forms through xx - yy lose the small one of two unequal entries."""
        c, s = self
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = a
        top_x, top_y = c * xx - s * yx, c * xy - s * yy
        low_x, low_y = s * xx + c * yx, s * xy + c * yy
        return Mat(
            (
                Vec((c * top_x - s * top_y, s * top_x + c * top_y, c * xz - s * yz)),
                Vec((c * low_x - s * low_y, s * low_x + c * low_y, s * xz + c * yz)),
                Vec((c * zx - s * zy, s * zx + c * zy, zz)),
            )
        )

    def congruence_symmetric(self, a: Sym) -> Sym:
        """R A Rᵀ for a symmetric A."""
        c, s = self
        top_x, top_y = c * a.xx - s * a.xy, c * a.xy - s * a.yy
        low_x, low_y = s * a.xx + c * a.xy, s * a.xy + c * a.yy
        return Sym(
            c * top_x - s * top_y,
            s * top_x + c * top_y,
            c * a.xz - s * a.yz,
            s * low_x + c * low_y,
            s * a.xz + c * a.yz,
            a.zz,
        )


Factor = RotationZ | Mat


def apply(factors: Sequence[Factor], a: Vec) -> Vec:
    """R a."""
    for f in reversed(factors):
        a = f.apply(a) if isinstance(f, RotationZ) else f @ a
    return a


def unapply(factors: Sequence[Factor], a: Vec) -> Vec:
    """Rᵀ a."""
    for f in factors:
        a = f.unapply(a) if isinstance(f, RotationZ) else f.transpose_times(a)
    return a


def congruence(factors: Sequence[Factor], a: Mat) -> Mat:
    """R A Rᵀ."""
    for f in reversed(factors):
        a = f.congruence(a) if isinstance(f, RotationZ) else f @ a @ f.T
    return a


def congruence_symmetric(factors: Sequence[Factor], a: Sym) -> Sym:
    """R A Rᵀ for a symmetric A."""
    for f in reversed(factors):
        a = f.congruence_symmetric(a) if isinstance(f, RotationZ) else _dense_congruence(f, a)
    return a


def _dense_congruence(r: Mat, a: Sym) -> Sym:
    b = r @ a.matrix()
    return Sym(*[dot(b[i], r[j]) for i in range(3) for j in range(i, 3)])


def matrix(factors: Sequence[Factor]) -> Mat:
    """All factors multiplied out."""
    matrices = [f.matrix() if isinstance(f, RotationZ) else f for f in factors]
    return reduce(operator.matmul, matrices) if matrices else Mat.identity(3)


def quaternion_matrix(q: Sequence[Scalar]) -> Mat:
    """The rotation of a quaternion (w, x, y, z) of any length but zero."""
    w, x, y, z = q
    k = 2.0 / (w * w + x * x + y * y + z * z)
    kx, ky, kz = k * x, k * y, k * z
    xx, yy, zz = x * kx, y * ky, z * kz
    xy, xz, yz = x * ky, x * kz, y * kz
    wx, wy, wz = w * kx, w * ky, w * kz
    return Mat(
        (
            Vec((1.0 - (yy + zz), xy - wz, xz + wy)),
            Vec((xy + wz, 1.0 - (xx + zz), yz - wx)),
            Vec((xz - wy, yz + wx, 1.0 - (xx + yy))),
        )
    )
