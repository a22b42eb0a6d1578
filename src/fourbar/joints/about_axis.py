"""Joints with an axis in any direction: the mathematics is written once, about z."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ..expr import atan2, cos, sin
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.rotation import RotationZ
from ..spatial.subspace import Subspace
from ..spatial.transform import Transform
from .axis import Axis, rotation_from_z, unit_axis
from .base import Joint


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
