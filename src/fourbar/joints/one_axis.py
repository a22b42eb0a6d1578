"""Revolute, prismatic, helical and cylindrical joints: motion along and about one axis, in any direction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import ModelError
from ..expr import atan2, cos, sin
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.rotation import RotationZ
from ..spatial.subspace import Columns, Selection, Subspace
from ..spatial.transform import Transform
from .axis import Axis, rotation_from_z, unit_axis
from .base import Joint, RotationRows
from .euclidean import FlatJoint
from .mirror_image import ONE, Mirrored, diagonal

if TYPE_CHECKING:
    from .mirror import Mirror


@dataclass(frozen=True)
class AxisJoint(Joint):
    """A joint with an axis and a constant S. With A e_z = axis it is T(q) = A T'(q) Aᵀ, T' the joint about z."""

    axis: Axis = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def aligned(self) -> tuple[Mat | None, Joint]:
        return rotation_from_z(self.axis), self._about_z()

    def placement(self, q: Sequence[Scalar]) -> Transform:
        A, inner = rotation_from_z(self.axis), self._placement_about_z(q)
        return inner if A is None else Transform((A, *inner.factors, A.T), A @ inner.p)

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        A, S = rotation_from_z(self.axis), self._subspace_about_z()
        return S if A is None else S.to_child(Transform((A.T,)))

    def coordinates_of(self, T: Transform) -> Vec:
        A = rotation_from_z(self.axis)
        inner = T if A is None else Transform((A.T, *T.factors, A), A.transpose_times(T.p))
        return self._coordinates_about_z(inner.R, inner.p)

    def closing_frame(self) -> Mat | None:
        return rotation_from_z(self.axis)

    def _about_z(self) -> Joint:
        return type(self)()

    @abstractmethod
    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        """T'(q)."""

    @abstractmethod
    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        """The q with T'(q) = (R, p)."""

    @abstractmethod
    def _subspace_about_z(self) -> Subspace:
        """S of T'."""


def turn(angle: Scalar) -> RotationZ:
    """Rotation about z by an angle."""
    return RotationZ(cos(angle), sin(angle))


def angle_about_z(R: Mat) -> Scalar:
    """The angle of the rotation about z that is nearest to R, in (-π, π]."""
    return atan2(R[1][0] - R[0][1], R[0][0] + R[1][1])


@dataclass(frozen=True)
class Revolute(AxisJoint, FlatJoint):
    """Rotation about an axis: a hinge. q: angle (rad); v = q̇ (rad/s).

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Revolute("y")
    >>> joint.nq, joint.nv
    (1, 1)
    """

    pivot: ClassVar[str] = "line"
    nq = 1
    nv = 1
    v_names = ("",)
    turning: ClassVar[str] = "axis"
    tags: ClassVar[tuple[str, ...]] = (
        "urdf:revolute", "urdf:continuous", "urdf+:revolute", "urdf+:continuous", "mjcf:hinge", "sdf:revolute",
        "sdf:continuous",
    )  # fmt: skip

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),))

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec((angle_about_z(R),))

    def _subspace_about_z(self) -> Subspace:
        return Selection((2,))

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [*p, *rows.about_z(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(Revolute(mirror.axis(self.axis, axial=True)), ONE, ONE)

    def in_series(self) -> list[Joint | Transform]:
        return [self]


@dataclass(frozen=True)
class Prismatic(AxisJoint, FlatJoint):
    """Translation along an axis: a slide. q: distance (m); v = q̇ (m/s).

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Prismatic((0.6, 0, 0.8))
    >>> joint.nq, joint.nv
    (1, 1)
    """

    nq = 1
    nv = 1
    v_names = ("",)
    turning: ClassVar[str] = "none"
    tags: ClassVar[tuple[str, ...]] = ("urdf:prismatic", "urdf+:prismatic", "mjcf:slide", "sdf:prismatic")

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((), Vec((0.0, 0.0, q[0])))

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec((p[2],))

    def _subspace_about_z(self) -> Subspace:
        return Selection((5,))

    def _spread(self) -> np.ndarray:
        return np.ones(1)

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[0], p[1], *rows.none(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(Prismatic(mirror.axis(self.axis, axial=False)), ONE, ONE)

    def in_series(self) -> list[Joint | Transform]:
        return [self]


@dataclass(frozen=True)
class Helical(AxisJoint, FlatJoint):
    """Screw: rotation by q about an axis and translation by pitch · q along it. q: angle (rad); v = q̇ (rad/s).

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.
    pitch : float, default 0.0
        Translation per radian (m/rad).

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Helical("z", pitch=0.01)
    >>> joint.nq, joint.nv
    (1, 1)
    """

    pitch: float = 0.0
    nq = 1
    nv = 1
    v_names = ("",)
    turning: ClassVar[str] = "axis"
    tags: ClassVar[tuple[str, ...]] = ("drake:screw", "sdf:screw")

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            pitch = float(self.pitch)
        except (TypeError, ValueError, OverflowError):
            pitch = np.nan
        if not np.isfinite(pitch):
            raise ModelError(
                f"the pitch of a helical joint must be a finite number of metres per radian, got {self.pitch!r}"
            )
        object.__setattr__(self, "pitch", pitch)

    def _about_z(self) -> Joint:
        return Helical(pitch=self.pitch)

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),), Vec((0.0, 0.0, self.pitch * q[0])))

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        """The angle is read from R, its whole turns from the distance."""
        angle = angle_about_z(R)
        if self.pitch == 0.0:
            return Vec((angle,))
        rough = p[2] * (1.0 / self.pitch)
        return Vec((rough - atan2(sin(rough - angle), cos(rough - angle)),))

    def _subspace_about_z(self) -> Subspace:
        return Columns((Vec((0.0, 0.0, 1.0, 0.0, 0.0, self.pitch)),))

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[0], p[1], *rows.about_z(R), *self._thread(R, p[2], rows)]

    def _thread(self, R: Mat, z: Scalar, rows: RotationRows) -> list[Scalar]:
        """A screw turns by z / pitch, whole turns included: the pose determines both."""
        if self.pitch == 0.0:
            return [z]
        turned = z * (1.0 / self.pitch)
        s, c = sin(turned), cos(turned)
        return [self.pitch * x for x in rows.angle(s * R[0][0] - c * R[1][0], c * R[0][0] + s * R[1][0])]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(Helical(mirror.axis(self.axis, axial=True), pitch=-self.pitch), ONE, ONE)

    def in_series(self) -> list[Joint | Transform]:
        """A screw is a hinge and a slide that follows it."""
        return [self]


@dataclass(frozen=True)
class Cylindrical(AxisJoint, FlatJoint):
    """Rotation about an axis and, independently, translation along it. q: angle (rad), distance (m); v = q̇.

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Cylindrical("z")
    >>> joint.nq, joint.nv
    (2, 2)
    """

    nq = 2
    nv = 2
    v_names = ("angle", "distance")
    turning: ClassVar[str] = "axis"
    tags: ClassVar[tuple[str, ...]] = ("urdf+:cylindrical",)

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),), Vec((0.0, 0.0, q[1])))

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec((angle_about_z(R), p[2]))

    def _subspace_about_z(self) -> Subspace:
        return Selection((2, 5))

    def _spread(self) -> np.ndarray:
        return np.array([np.pi, 1.0])

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[0], p[1], *rows.about_z(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        signs = diagonal(1.0, -1.0)
        return Mirrored(Cylindrical(mirror.axis(self.axis, axial=True)), signs, signs)

    def in_series(self) -> list[Joint | Transform]:
        return [Revolute(self.axis), Prismatic(self.axis)]
