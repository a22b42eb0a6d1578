"""Rotations about a point in coordinates of their own: Euler angles, the rotation vector, the universal joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import ModelError
from ..expr import atan2
from ..spatial import series
from ..spatial.euler import SEQUENCES, from_quaternion
from ..spatial.groups import SO3
from ..spatial.groups.so3 import from_matrix
from ..spatial.linear import Mat, Scalar, Vec, dot, hat, zeros
from ..spatial.subspace import Columns, Subspace
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .axis import Axis, unit_axis
from .base import Joint, RotationRows
from .composite import Composite, SeriesJoint
from .euclidean import FlatJoint
from .lie import Spherical
from .mirror_image import Mirrored, diagonal
from .one_axis import Revolute

if TYPE_CHECKING:
    from .mirror import Mirror

__all__ = ["SEQUENCES", "SphericalEuler"]


@dataclass(frozen=True)
class SphericalEuler(SeriesJoint):
    """Rotation about a point by three Euler angles. q: the angles (rad); v = q̇ (rad/s).

    R = R_a(q₁) R_b(q₂) R_c(q₃) for a sequence 'abc', each about an axis of the frame turned so far.

    Parameters
    ----------
    sequence : str, default 'xyz'
        One of the twelve Euler sequences, in lower case.

    Notes
    -----
    S in child axes is Rᵀ times the matrix of Liu-Jain eq. 52. It is singular where the first and third axis are
    parallel (gimbal lock); `Spherical` has no such place.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.SphericalEuler("zyx")
    >>> joint.nq, joint.nv
    (3, 3)
    """

    sequence: str = "xyz"
    nq = 3
    nv = 3
    q_names = ("angle1", "angle2", "angle3")
    v_names = ("angle1", "angle2", "angle3")

    def __post_init__(self) -> None:
        if self.sequence not in SEQUENCES:
            raise ModelError(
                f"unknown Euler sequence {self.sequence!r}; expected one of {', '.join(SEQUENCES)}: lower case, "
                "rotations about the axes of the rotated frame, the leftmost first"
            )

    def coordinates_of(self, T: Transform) -> Vec:
        return from_quaternion(from_matrix(T.R), self.sequence)

    @property
    def parts(self) -> tuple[Revolute, ...]:
        return tuple(Revolute(axis) for axis in self.sequence)

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [*p]

    def in_loop(self) -> Joint:
        return Spherical()

    def mirrored(self, mirror: Mirror) -> Mirrored:
        axes = [mirror.axis(letter, axial=True) for letter in self.sequence]
        if not mirror.is_plain:
            same = diagonal(1.0, 1.0, 1.0)
            return Mirrored(Composite(*map(Revolute, axes)), same, same)
        signs = diagonal(*(sum(axis) for axis in axes))
        return Mirrored(self, signs, signs)


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


def _angle(axis: Vec, a: Vec, b: Vec) -> Scalar:
    """The angle by which turning about an axis takes a to b, which are at the same angle to it."""
    across = axis.cross(a)
    return atan2(across.dot(b), across.dot(axis.cross(b)))


@dataclass(frozen=True)
class Universal(SeriesJoint):
    """Rotation about axis1, fixed in the parent, then about axis2, fixed in the child.

    q: the two angles (rad); v = q̇ (rad/s).

    Parameters
    ----------
    axis1 : str or array_like, shape (3,), default 'x'
        First axis, in the frames that coincide at q = 0.
    axis2 : str or array_like, shape (3,), default 'y'
        Second axis; it need not be perpendicular to the first, only not parallel.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Universal("x", "y")
    >>> joint.nq, joint.nv
    (2, 2)
    """

    axis1: Axis = "x"
    axis2: Axis = "y"
    nq = 2
    nv = 2
    q_names = ("angle1", "angle2")
    v_names = ("angle1", "angle2")
    tags: ClassVar[tuple[str, ...]] = ("drake:universal", "sdf:universal", "sdf:revolute2")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis1", unit_axis(self.axis1))
        object.__setattr__(self, "axis2", unit_axis(self.axis2))
        if np.linalg.norm(np.cross(self.axis1, self.axis2)) < 1e-6:  # type: ignore[arg-type]
            raise ModelError(
                f"the axes {self.axis1!r} and {self.axis2!r} of a universal joint are parallel; Revolute has one axis"
            )

    def coordinates_of(self, T: Transform) -> Vec:
        """R axis2 is axis2 turned about axis1, and Rᵀ axis1 is axis1 turned back about axis2."""
        first, second = Vec(unit_axis(self.axis1)), Vec(unit_axis(self.axis2))
        return Vec((_angle(first, second, T.rotate(second)), _angle(second, T.unrotate(first), first)))

    @property
    def parts(self) -> tuple[Revolute, Revolute]:
        return Revolute(self.axis1), Revolute(self.axis2)

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        """It keeps the angle between its axes, one fixed in each body."""
        a, b = Vec(unit_axis(self.axis1)), Vec(unit_axis(self.axis2))
        return [*p, dot(a, R @ b) - dot(a, b)]

    def closing_frame(self) -> None:
        return None

    def mirrored(self, mirror: Mirror) -> Mirrored:
        axes = (mirror.axis(a, axial=True) for a in (self.axis1, self.axis2))
        return Mirrored(Universal(*axes), diagonal(1.0, 1.0), diagonal(1.0, 1.0))
