"""The universal (Cardan, Hooke) joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import ModelError
from ..expr import atan2
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.transform import Transform
from .axis import Axis, unit_axis
from .base import RotationRows
from .composite import SeriesJoint
from .mirror_image import Mirrored, diagonal
from .one_axis import Revolute

if TYPE_CHECKING:
    from .mirror import Mirror


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
