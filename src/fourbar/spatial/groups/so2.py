"""SO(2): rotations about the z-axis."""

from __future__ import annotations

from typing import final

from fourbar.expr import atan2, cos, sin
from fourbar.spatial.linear import Mat, Scalar, Vec, zeros

from .base import AbelianGroup, Scalars


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
