"""Rotation about a point by Euler angles, where these are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..spatial.euler import SEQUENCES, from_quaternion
from ..spatial.groups.so3 import from_matrix
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform
from .base import Joint, RotationRows
from .composite import Composite, SeriesJoint
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
