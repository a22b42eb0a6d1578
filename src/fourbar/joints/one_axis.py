"""Revolute, prismatic, helical and cylindrical joints: motion along and about one axis, in any direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..expr import cos, sin
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.rotation import Turn
from ..spatial.subspace import Columns, Selection, Subspace
from ..spatial.transform import Transform
from .axis import Axis, rotation_from_z, unit_axis
from .base import Joint
from .flat import FlatJoint

_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class AxisJoint(FlatJoint):
    """A joint with an axis: the mathematics is written once, about z."""

    axis: Axis = field(default=_Z)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def aligned(self) -> tuple[Mat | None, Joint]:
        return rotation_from_z(self.axis), self._about_z()  # type: ignore[arg-type]

    def _about_z(self) -> AxisJoint:
        return type(self)()

    def placement(self, q: Sequence[Scalar]) -> Transform:
        A = rotation_from_z(self.axis)  # type: ignore[arg-type]
        inner = self._placement_about_z(q)
        if A is None:
            return inner
        return Transform((A, *inner.factors, A.T), A @ inner.p)

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        A = rotation_from_z(self.axis)  # type: ignore[arg-type]
        S = self._subspace_about_z()
        return S if A is None else S.carried(Transform((A.T,)))

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        raise NotImplementedError

    def _subspace_about_z(self) -> Subspace:
        raise NotImplementedError

    @property
    def v_names(self) -> tuple[str, ...]:
        return ("",)


def turn(angle: Scalar) -> Turn:
    """Rotation about z by an angle."""
    return Turn(cos(angle), sin(angle))


@dataclass(frozen=True)
class Revolute(AxisJoint):
    """Rotation about an axis. q: angle."""

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    tags: ClassVar[tuple[str, ...]] = ("urdf:revolute", "urdf:continuous", "mjcf:hinge", "sdf:revolute")

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),))

    def _subspace_about_z(self) -> Subspace:
        return Selection((2,))


@dataclass(frozen=True)
class Prismatic(AxisJoint):
    """Translation along an axis. q: distance."""

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    tags: ClassVar[tuple[str, ...]] = ("urdf:prismatic", "mjcf:slide", "sdf:prismatic")

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((), Vec((0.0, 0.0, q[0])))

    def _subspace_about_z(self) -> Subspace:
        return Selection((5,))

    def _spread(self) -> np.ndarray:
        return np.ones(1)


@dataclass(frozen=True)
class Helical(AxisJoint):
    """Screw: rotation by q about an axis and translation by pitch · q along it. pitch: metres a radian."""

    pitch: float = 0.0
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    tags: ClassVar[tuple[str, ...]] = ("sdf:screw",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pitch", float(self.pitch))
        if not np.isfinite(self.pitch):
            raise ValueError(f"the pitch of a helical joint is a finite number of metres a radian, not {self.pitch}")

    def _about_z(self) -> AxisJoint:
        return Helical(pitch=self.pitch)

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),), Vec((0.0, 0.0, self.pitch * q[0])))

    def _subspace_about_z(self) -> Subspace:
        return Columns((Vec((0.0, 0.0, 1.0, 0.0, 0.0, self.pitch)),))


@dataclass(frozen=True)
class Cylindrical(AxisJoint):
    """Rotation about an axis and, independently, translation along it. q: angle, distance."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return Transform((turn(q[0]),), Vec((0.0, 0.0, q[1])))

    def _subspace_about_z(self) -> Subspace:
        return Selection((2, 5))

    def _spread(self) -> np.ndarray:
        return np.array([np.pi, 1.0])

    @property
    def v_names(self) -> tuple[str, ...]:
        return ("angle", "distance")
