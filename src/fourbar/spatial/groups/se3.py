"""SE(3): rigid motions of space, stored as position and unit quaternion.

ad of a twist (ω; v) is [[[ω], 0], [[v], [ω]]]: what the matrix [ω + ε v] would be with ε² = 0. So every power series in
ad has the series in [ω] in its diagonal blocks, and the derivative of that series in the direction v below them.
"""

from __future__ import annotations

from typing import final

from fourbar.spatial import series
from fourbar.spatial.linear import Mat, Scalar, Vec, dot, hat
from fourbar.spatial.rotation import quaternion_matrix

from .base import Group, Scalars
from .so3 import conjugate, from_vector, multiply, quadratic, rotate, spin, to_matrix, to_vector


def _lower_triangular(diagonal: Mat, below: Mat) -> Mat:
    """[[diagonal, 0], [below, diagonal]] (6 x 6) from 3 x 3 blocks."""
    upper = [Vec((*row, 0.0, 0.0, 0.0)) for row in diagonal]
    lower = [Vec((*left, *right)) for left, right in zip(below, diagonal, strict=True)]
    return Mat((*upper, *lower))


def _quadratic_slope(
    w: Scalars, v: Scalars, linear: Scalar, linear_slope: Scalar, square: Scalar, square_slope: Scalar
) -> Mat:
    """Derivative of 1 + f(s) [w] + g(s) [w]², s = w·w, when w moves with v (3 x 3).

    linear and square are f and g, the slopes are df/ds and dg/ds; ds = 2 w·v.
    """
    hw, hv = hat(w), hat(v)
    product = hw @ hv
    ds = dot(w, v) * 2.0
    moved = hv * linear + (product + product.T) * square  # [v][w] is the transpose of [w][v]
    return moved + hw * (linear_slope * ds) + (hw @ hw) * (square_slope * ds)


@final
class SE3(Group):
    """Rigid motions. q = (x, y, z, qw, qx, qy, qz) with a unit quaternion; v = (ω; v) (6) in the body frame."""

    __slots__ = ()
    name = "SE3"
    nq = 7
    nv = 6
    rows = (0, 1, 2, 3, 4, 5)

    def identity(self) -> Vec:
        return Vec((0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        p = Vec(a[:3]) + rotate(a[3:], b[:3])
        return Vec((*p, *multiply(a[3:], b[3:])))

    def inverse(self, a: Scalars) -> Vec:
        back = conjugate(a[3:])
        return Vec((*-rotate(back, a[:3]), *back))

    def exp(self, v: Scalars) -> Vec:
        """Quaternion exp(ω), position dexp(ω) v with the dexp of SO(3)."""
        w, linear = Vec(v[:3]), Vec(v[3:])
        s = dot(w, w)
        once = w.cross(linear)
        p = linear + once * series.c2(s) + w.cross(once) * series.c3(s)
        return Vec((*p, *from_vector(w)))

    def log(self, a: Scalars) -> Vec:
        """(ω; dexp(ω)⁻¹ p) with ω the rotation vector."""
        p, w = Vec(a[:3]), to_vector(a[3:])
        once = w.cross(p)
        return Vec((*w, *(p - once * 0.5 + w.cross(once) * series.b(dot(w, w)))))

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        """(R v; ½ a (0, ω)); the quaternion may have any length."""
        return Vec((*(quaternion_matrix(a[3:]) @ Vec(v[3:])), *spin(a[3:], v[:3])))

    def rotation(self, a: Scalars) -> Mat:
        return to_matrix(a[3:])

    def translation(self, a: Scalars) -> Vec:
        return Vec(a[:3])

    def Ad(self, a: Scalars) -> Mat:
        """[[R, 0], [[p] R, R]]."""
        r = to_matrix(a[3:])
        return _lower_triangular(r, hat(a[:3]) @ r)

    def ad(self, v: Scalars) -> Mat:
        """[[[ω], 0], [[v], [ω]]] (From eq. 8 and Table 1, permuted)."""
        return _lower_triangular(hat(v[:3]), hat(v[3:]))

    def dexp(self, v: Scalars) -> Mat:
        """The dexp of SO(3) at ω on the diagonal, its derivative in the direction v below."""
        w, linear = v[:3], v[3:]
        s = dot(w, w)
        c2, c3 = series.c2(s), series.c3(s)
        below = _quadratic_slope(w, linear, c2, series.c2_slope(s), c3, series.c3_slope(s))
        return _lower_triangular(quadratic(w, c2, c3), below)

    def dexp_inv(self, v: Scalars) -> Mat:
        """The dexp_inv of SO(3) at ω on the diagonal, its derivative in the direction v below; pole at |ω| = 2π."""
        w, linear = v[:3], v[3:]
        s = dot(w, w)
        b = series.b(s)
        below = _quadratic_slope(w, linear, -0.5, 0.0, b, series.b_slope(s))
        return _lower_triangular(quadratic(w, -0.5, b), below)
