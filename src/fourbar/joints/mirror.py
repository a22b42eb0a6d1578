"""Mirror images: of vectors, placements, and of every joint.

With the reflection Q = 1 - 2 n nᵀ the image of a pose T = (R, p) is (Q R Q, Q p), a rotation and a position again. The
image of a joint (its method `mirrored`) is a joint of the same type wherever that is possible; its coordinates and
velocities are then linear functions of those of the original, mostly the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..once import cached_property
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform
from .axis import Axis, Direction, rotation_from_z, unit_axis
from .mirror_image import Mirrored, Rows

if TYPE_CHECKING:
    from .base import Joint


@dataclass(frozen=True)
class Mirror:
    """The reflection in the plane through the origin with a unit normal."""

    normal: Axis

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal))

    @cached_property
    def Q(self) -> Mat:
        """1 - 2 n nᵀ."""
        n = Vec(unit_axis(self.normal))
        return Mat(Vec([(1.0 if i == j else 0.0) - 2.0 * n[i] * n[j] + 0.0 for j in range(3)]) for i in range(3))

    @cached_property
    def is_plain(self) -> bool:
        """Whether the plane is normal to a coordinate axis: then images are exact."""
        return max(map(abs, unit_axis(self.normal))) == 1.0

    def vector(self, a: Sequence[Scalar]) -> Any:
        """Q a: the image of a position, a force, a linear velocity."""
        x, y, z = self.Q @ a
        return (x, y, z)

    def axial(self, a: Sequence[Scalar]) -> Any:
        """-Q a: the image of an angular velocity, a moment."""
        x, y, z = self.Q @ a
        return (0.0 - x, 0.0 - y, 0.0 - z)

    def matrix(self, R: Any) -> Mat:
        """Q R Q: the image of a rotation, or of an inertia."""
        return self.Q @ Mat.of(R) @ self.Q

    def transform(self, T: Transform) -> Transform:
        """The image of a pose."""
        return Transform.of(self.matrix(T.R), Vec(self.vector(T.p)))

    def axis(self, a: Axis, axial: bool) -> Direction:
        """The image of a unit vector, along a translation or (axial) about a rotation."""
        image = (self.axial if axial else self.vector)(unit_axis(a))
        return Direction(image) if self.is_plain else unit_axis(image)

    def plane(self, axis: Axis) -> tuple[Direction, Rows]:
        """The image of an axis, and how coordinates in the plane normal to it turn into those normal to the image."""
        image = self.axis(axis, axial=True)
        A, B = ((rotation_from_z(a) or Mat.identity(3)).T for a in (axis, image))
        reflected = [self.vector(A[j]) for j in range(2)]
        return image, tuple(tuple(float(B[i].dot(a)) for a in reflected) for i in range(2))

    @property
    def polar_rows(self) -> Rows:
        """Q: of linear velocities."""
        return tuple(tuple(row) for row in self.Q)

    @property
    def axial_rows(self) -> Rows:
        """-Q: of angular velocities."""
        return tuple(tuple(0.0 - x for x in row) for row in self.Q)

    def joint(self, joint: Joint) -> Mirrored:
        """The image of a joint."""
        return joint.mirrored(self)
