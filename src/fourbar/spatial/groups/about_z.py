"""Groups of motions about z: SO(2), SE(2) of the xy-plane, and X(z), the Schoenflies group.

A vector of the plane is treated like a complex number: J = [[0, -1], [1, 0]] is the imaginary unit, and the matrices
that commute with rotations are α + β J.
"""

from __future__ import annotations

from typing import final

from fourbar.expr import atan2, cos, sin
from fourbar.spatial import series
from fourbar.spatial.linear import Mat, Scalar, Vec, zeros

from .base import AbelianGroup, Group, Scalars


def principal(angle: Scalar) -> Scalar:
    """The angle brought to (-π, π]."""
    return atan2(sin(angle), cos(angle))


def turn(angle: Scalar) -> Mat:
    """The rotation about z (3 x 3)."""
    c, s = cos(angle), sin(angle)
    return Mat((Vec((c, -s, 0.0)), Vec((s, c, 0.0)), Vec((0.0, 0.0, 1.0))))


@final
class SO2(AbelianGroup):
    """Rotations about z. q = (θ), v = (ω). θ counts whole turns; θ and θ + 2π are the same element."""

    __slots__ = ()
    name = "SO2"
    nq = 1
    nv = 1
    rows = (2,)

    def identity(self) -> Vec:
        return zeros(1)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return Vec(a) + b

    def inverse(self, a: Scalars) -> Vec:
        return -Vec(a)

    def exp(self, v: Scalars) -> Vec:
        return Vec(v)

    def log(self, a: Scalars) -> Vec:
        return Vec((principal(a[0]),))

    def rotation(self, a: Scalars) -> Mat:
        return turn(a[0])

    def translation(self, a: Scalars) -> Vec:
        return zeros(3)


def _scaled_turn(real: Scalar, imaginary: Scalar, p: Scalars) -> Vec:
    """(real + imaginary J) p (2)."""
    x, y = p
    return Vec((real * x - imaginary * y, imaginary * x + real * y))


def _lower_triangular(column: Scalars, real: Scalar, imaginary: Scalar) -> Mat:
    """[[1, 0], [column, real + imaginary J]] (3 x 3): the form of Ad, dexp and its inverse."""
    return Mat(
        (
            Vec((1.0, 0.0, 0.0)),
            Vec((column[0], real, -imaginary)),
            Vec((column[1], imaginary, real)),
        )
    )


@final
class SE2(Group):
    """Planar motions. q = (x, y, θ); v = (ω, vx, vy) in the body frame."""

    __slots__ = ()
    name = "SE2"
    nq = 3
    nv = 3
    rows = (2, 3, 4)

    def identity(self) -> Vec:
        return zeros(3)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        ax, ay, angle = a
        bx, by, further = b
        x, y = _scaled_turn(cos(angle), sin(angle), (bx, by))
        return Vec((ax + x, ay + y, angle + further))

    def inverse(self, a: Scalars) -> Vec:
        x, y, angle = a
        p = _scaled_turn(cos(angle), -sin(angle), (x, y))
        return Vec((-p[0], -p[1], -angle))

    def exp(self, v: Scalars) -> Vec:
        """Position (sin ω/ω + (1 - cos ω)/ω J) (vx, vy), angle ω."""
        w, *linear = v
        s = w * w
        x, y = _scaled_turn(series.c1(s), w * series.c2(s), linear)
        return Vec((x, y, w))

    def log(self, a: Scalars) -> Vec:
        x, y, angle = a
        w = principal(angle)
        return Vec((w, *_scaled_turn(series.half_cot(w * w), w * -0.5, (x, y))))

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        return Vec((*_scaled_turn(cos(a[2]), sin(a[2]), v[1:]), v[0]))

    def rotation(self, a: Scalars) -> Mat:
        return turn(a[2])

    def translation(self, a: Scalars) -> Vec:
        return Vec((a[0], a[1], 0.0))

    def Ad(self, a: Scalars) -> Mat:
        x, y, angle = a
        return _lower_triangular((y, -x), cos(angle), sin(angle))

    def ad(self, v: Scalars) -> Mat:
        """From eq. 78, permuted to (ω, vx, vy)."""
        w, x, y = v
        return Mat((zeros(3), Vec((y, 0.0, -w)), Vec((-x, w, 0.0))))

    def dexp(self, v: Scalars) -> Mat:
        """Σ ad(v)^k / (k+1)!: the block of the plane is sin ω/ω + (1 - cos ω)/ω J.

        Powers of ad(v) repeat with J² = -1; the column for ω sums to (c2 + ω c3 J)(-J p) with p = (vx, vy).
        """
        w, x, y = v
        s = w * w
        c2, c3 = series.c2(s), series.c3(s)
        return _lower_triangular(_scaled_turn(c2, w * c3, (y, -x)), series.c1(s), w * c2)

    def dexp_inv(self, v: Scalars) -> Mat:
        """The block of the plane is (ω/2) cot(ω/2) - ω/2 J, the column for ω is (-½ + ω b J)(-J p); pole at 2π."""
        w, x, y = v
        s = w * w
        return _lower_triangular(_scaled_turn(-0.5, w * series.b(s), (y, -x)), series.half_cot(s), w * -0.5)


# Motion along z commutes with motion in the xy-plane: X(z) is SE(2) x R, and only the order of the entries is new.
_PLANE = SE2()


def _planar(a: Scalars) -> Vec:
    """(x, y, θ) of (x, y, z, θ)."""
    return Vec((a[0], a[1], a[3]))


def _with_height(a: Scalars, z: Scalar) -> Vec:
    """(x, y, z, θ) of (x, y, θ) and z."""
    return Vec((a[0], a[1], z, a[2]))


def _border(m: Mat, corner: float) -> Mat:
    """[[m, 0], [0, corner]] (4 x 4)."""
    return Mat((*(Vec((*row, 0.0)) for row in m), Vec((0.0, 0.0, 0.0, corner))))


@final
class SchoenfliesGroup(Group):
    """Schoenflies motions. q = (x, y, z, θ); v = (ω, vx, vy, vz) in the body frame."""

    __slots__ = ()
    name = "Schoenflies"
    nq = 4
    nv = 4
    rows = (2, 3, 4, 5)

    def identity(self) -> Vec:
        return zeros(4)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return _with_height(_PLANE.compose(_planar(a), _planar(b)), a[2] + b[2])

    def inverse(self, a: Scalars) -> Vec:
        return _with_height(_PLANE.inverse(_planar(a)), -a[2])

    def exp(self, v: Scalars) -> Vec:
        return _with_height(_PLANE.exp(v[:3]), v[3])

    def log(self, a: Scalars) -> Vec:
        return Vec((*_PLANE.log(_planar(a)), a[2]))

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        return _with_height(_PLANE.rate(_planar(a), v[:3]), v[3])

    def rotation(self, a: Scalars) -> Mat:
        return turn(a[3])

    def translation(self, a: Scalars) -> Vec:
        return Vec(a[:3])

    def Ad(self, a: Scalars) -> Mat:
        return _border(_PLANE.Ad(_planar(a)), 1.0)

    def ad(self, v: Scalars) -> Mat:
        """From eq. 89, permuted to (ω, vx, vy, vz)."""
        return _border(_PLANE.ad(v[:3]), 0.0)

    def dexp(self, v: Scalars) -> Mat:
        return _border(_PLANE.dexp(v[:3]), 1.0)

    def dexp_inv(self, v: Scalars) -> Mat:
        return _border(_PLANE.dexp_inv(v[:3]), 1.0)
