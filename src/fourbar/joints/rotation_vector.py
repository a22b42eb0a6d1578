"""Rotation about a point by a rotation vector (exponential map), where this is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..spatial import series
from ..spatial.groups import SO3
from ..spatial.groups.so3 import from_matrix
from ..spatial.linear import Mat, Scalar, Vec, dot, hat, zeros
from ..spatial.subspace import Columns, Subspace
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .base import Joint, RotationRows
from .euclidean import FlatJoint
from .lie import Spherical
from .mirror_image import Mirrored
from .one_axis import Revolute

if TYPE_CHECKING:
    from .mirror import Mirror

_SO3 = SO3()


@dataclass(frozen=True)
class SphericalExponential(FlatJoint):
    """Rotation about a point by a rotation vector. q = φ: axis times angle (rad); v = φ̇ (rad/s).

    Notes
    -----
    R = exp([φ]) (Liu-Jain eq. 53). S is the dexp of SO(3) seen from the child, the transpose of Liu-Jain eq. 54. It is
    singular at |φ| = 2π; `Spherical` has no such place.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.SphericalExponential()
    >>> joint.nq, joint.nv
    (3, 3)
    """

    pivot: ClassVar[str] = "point"
    nq = 3
    nv = 3
    v_names = ("x", "y", "z")

    def placement(self, q: Sequence[Scalar]) -> Transform:
        s, h = dot(q, q), hat(q)
        return Transform((Mat.identity(3) + h * series.c1(s) + (h @ h) * series.c2(s),))

    def coordinates_of(self, T: Transform) -> Vec:
        return _SO3.log(from_matrix(T.R))

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return Columns(tuple(Vec((*column, *zeros(3))) for column in _SO3.right_dexp(q).T))

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Twist:
        """The rate of ω = φ̇ - c₂ φ × φ̇ + c₃ φ × (φ × φ̇) at constant φ̇; c₂, c₃ are functions of φ·φ."""
        phi, rate = Vec(q), Vec(v)
        s, once = dot(phi, phi), phi.cross(rate)
        slope = once * -series.c2_slope(s) + phi.cross(once) * series.c3_slope(s)
        return Twist(slope * (2.0 * dot(phi, rate)) + rate.cross(once) * series.c3(s), zeros(3))

    def _spread(self) -> np.ndarray:
        return np.full(3, np.pi / np.sqrt(3.0))  # |φ| <= π reaches every rotation

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [*p]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(self, mirror.axial_rows, mirror.axial_rows)

    def in_loop(self) -> Joint:
        return Spherical()

    def otherwise(self) -> list[Joint | Transform]:
        return [Revolute(axis) for axis in "xyz"]
