"""X(z), the Schoenflies group: translations of space and rotations about the z-axis (pick and place)."""

from __future__ import annotations

from typing import final

from fourbar.spatial.linear import Mat, Scalar, Vec, zeros

from .base import Group, Scalars
from .se2 import SE2
from .so2 import turn

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
