"""SO(3): rotations of space, stored as unit quaternions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from fourbar.expr import select, sqrt
from fourbar.spatial import series
from fourbar.spatial.linear import Mat, Scalar, Vec, dot, hat, zeros

from .base import Group, Scalars


def multiply(a: Scalars, b: Scalars) -> Vec:
    """The quaternion product a b; both (w, x, y, z)."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return Vec(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        )
    )


def spin(a: Scalars, v: Scalars) -> Vec:
    """The rate ½ a (0, v) (4) of a quaternion whose frame turns with v (3), in that frame."""
    return multiply(a, Vec((0.0, *v))) * 0.5


def conjugate(a: Scalars) -> Vec:
    """The inverse of a unit quaternion."""
    w, x, y, z = a
    return Vec((w, -x, -y, -z))


def rotate(a: Scalars, p: Scalars) -> Vec:
    """R(a) p (3), without forming R."""
    w, *u = a
    axis = Vec(u)
    turned = axis.cross(p) * 2.0
    return Vec(p) + turned * w + axis.cross(turned)


def to_matrix(a: Scalars) -> Mat:
    """R = 1 + 2 w [u] + 2 [u]² (3 x 3) of the unit quaternion (w, u)."""
    w, x, y, z = a
    x2, y2, z2 = x * 2.0, y * 2.0, z * 2.0
    wx, wy, wz = w * x2, w * y2, w * z2
    xx, xy, xz = x * x2, x * y2, x * z2
    yy, yz, zz = y * y2, y * z2, z * z2
    return Mat(
        (
            Vec((1.0 - (yy + zz), xy - wz, xz + wy)),
            Vec((xy + wz, 1.0 - (xx + zz), yz - wx)),
            Vec((xz - wy, yz + wx, 1.0 - (xx + yy))),
        )
    )


def from_matrix(R: Sequence[Scalars]) -> Vec:
    """The unit quaternion, of scalar part >= 0, of a rotation matrix.

    4 a aᵀ is linear in R; of its four rows, each a multiple of a, the one with the largest diagonal entry is exact to
    rounding.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    x, y, z = zy - yz, xz - zx, yx - xy
    rows = [
        Vec((1.0 + xx + yy + zz, x, y, z)),
        Vec((x, 1.0 + xx - yy - zz, xy + yx, xz + zx)),
        Vec((y, xy + yx, 1.0 - xx + yy - zz, yz + zy)),
        Vec((z, xz + zx, yz + zy, 1.0 - xx - yy + zz)),
    ]
    best, largest = rows[0], rows[0][0]
    for i in (1, 2, 3):
        larger = rows[i][i] > largest
        best = Vec([select(larger, a, b) for a, b in zip(rows[i], best, strict=True)])
        largest = select(larger, rows[i][i], largest)
    return best * (_sign(best) / sqrt(dot(best, best)))


def from_vector(v: Scalars) -> Vec:
    """The unit quaternion of the rotation vector v (3): (cos t/2, sin(t/2) v/t) with t = |v|."""
    s = dot(v, v)
    return Vec((series.cos_half(s), *(Vec(v) * series.sin_half(s))))


def to_vector(a: Scalars) -> Vec:
    """The rotation vector (3), no longer than π, of a unit quaternion; a and -a have the same.

    The angle is 2 atan2(|u|, |w|): exact to rounding near 0 and near π, where an arc cosine would not be.
    """
    w, *u = a
    sign = _sign(a)
    return Vec(u) * (series.half_angle(dot(u, u), w * sign) * sign * 2.0)


def _sign(a: Scalars) -> Scalar:
    """1 or -1: the sign of the first entry that is not zero.

    The scalar part decides; the others matter only for a half turn, whose axis has no preferred direction, so that
    a and -a give one rotation vector there too.
    """
    sign: Scalar = 1.0
    for x in reversed(a):
        sign = select(x < 0.0, -1.0, select(x > 0.0, 1.0, sign))
    return sign


def quadratic(v: Scalars, linear: Scalar, square: Scalar) -> Mat:
    """1 + linear [v] + square [v]² (3 x 3)."""
    h = hat(v)
    return Mat.identity(3) + h * linear + (h @ h) * square


@final
class SO3(Group):
    """Rotations. q = (w, x, y, z), a unit quaternion; v = (ωx, ωy, ωz) in the body frame.

    Products and exponentials keep |q| = 1; nothing here normalises.
    """

    __slots__ = ()
    name = "SO3"
    nq = 4
    nv = 3
    rows = (0, 1, 2)

    def identity(self) -> Vec:
        return Vec((1.0, 0.0, 0.0, 0.0))

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return multiply(a, b)

    def inverse(self, a: Scalars) -> Vec:
        return conjugate(a)

    def exp(self, v: Scalars) -> Vec:
        """The quaternion of the rotation of Liu-Jain eq. 53."""
        return from_vector(v)

    def log(self, a: Scalars) -> Vec:
        return to_vector(a)

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        """½ a (0, v), as quaternions; a may have any length."""
        return spin(a, v)

    def rotation(self, a: Scalars) -> Mat:
        return to_matrix(a)

    def translation(self, a: Scalars) -> Vec:
        return zeros(3)

    def Ad(self, a: Scalars) -> Mat:
        return to_matrix(a)

    def ad(self, v: Scalars) -> Mat:
        return hat(v)

    def dexp(self, v: Scalars) -> Mat:
        """1 + (1 - cos t)/t² [v] + (t - sin t)/t³ [v]², t = |v| (Liu-Jain eq. 54; its transpose is the body one)."""
        s = dot(v, v)
        return quadratic(v, series.c2(s), series.c3(s))

    def dexp_inv(self, v: Scalars) -> Mat:
        """1 - ½ [v] + b [v]² with b = (1 - (t/2) cot(t/2))/t², t = |v|; pole at t = 2π."""
        return quadratic(v, -0.5, series.b(dot(v, v)))
