"""Mirror images: of vectors, placements, and of every joint.

With the reflection Q = 1 - 2 n nᵀ the image of a pose T = (R, p) is (Q R Q, Q p), a rotation and a position again. The
image of a joint is a joint of the same type wherever that is possible; its coordinates and velocities are then linear
functions of those of the original, mostly the same numbers. A new joint type registers its image with `image_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

from ..errors import ModelError
from ..once import cached_property
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform
from .axis import Axis, Direction, rotation_from_z, unit_axis
from .base import Joint
from .composite import Composite
from .custom import CustomJoint, read_pose
from .euler import SphericalEuler
from .exponential import SphericalExponential
from .fixed import Fixed
from .lie import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
from .one_axis import Cylindrical, Helical, Prismatic, Revolute
from .universal import Universal

Rows = tuple[tuple[float, ...], ...]


class Mirrored(NamedTuple):
    """The image of a joint, and the orthogonal matrices that take coordinates and velocities to those of the image."""

    joint: Joint
    q: Rows
    v: Rows


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

    def joint(self, joint: Joint) -> Mirrored:
        """The image of a joint."""
        return image_of(joint, self)


@singledispatch
def image_of(joint: Joint, mirror: Mirror) -> Mirrored:
    """The mirror image of a joint."""
    raise ModelError(
        f"joints of type {type(joint).__name__} cannot be mirrored; register a function for them with "
        "fourbar.joints.mirror.image_of.register"
    )


def _diagonal(*entries: float) -> Rows:
    return tuple(tuple(x if i == j else 0.0 for j in range(len(entries))) for i, x in enumerate(entries))


def _blocks(*blocks: Rows) -> Rows:
    """A block-diagonal matrix."""
    width, at, rows = sum(map(len, blocks)), 0, []
    for block in blocks:
        rows += [(0.0,) * at + tuple(row) + (0.0,) * (width - at - len(block)) for row in block]
        at += len(block)
    return tuple(rows)


def _polar(mirror: Mirror) -> Rows:
    return tuple(tuple(row) for row in mirror.Q)


def _axial(mirror: Mirror) -> Rows:
    return tuple(tuple(0.0 - x for x in row) for row in mirror.Q)


def _plane(axis: Axis, mirror: Mirror) -> tuple[Direction, Rows]:
    """The image of an axis, and the map of coordinates in the plane normal to it to those normal to the image."""
    image = mirror.axis(axis, axial=True)
    A, B = ((rotation_from_z(a) or Mat.identity(3)).T for a in (axis, image))
    reflected = [mirror.vector(A[j]) for j in range(2)]
    return image, tuple(tuple(float(B[i].dot(a)) for a in reflected) for i in range(2))


_ONE = _diagonal(1.0)


@image_of.register
def _(joint: Fixed, mirror: Mirror) -> Mirrored:
    return Mirrored(joint, (), ())


@image_of.register
def _(joint: Revolute, mirror: Mirror) -> Mirrored:
    return Mirrored(Revolute(mirror.axis(joint.axis, axial=True)), _ONE, _ONE)


@image_of.register
def _(joint: Prismatic, mirror: Mirror) -> Mirrored:
    return Mirrored(Prismatic(mirror.axis(joint.axis, axial=False)), _ONE, _ONE)


@image_of.register
def _(joint: Helical, mirror: Mirror) -> Mirrored:
    return Mirrored(Helical(mirror.axis(joint.axis, axial=True), pitch=-joint.pitch), _ONE, _ONE)


@image_of.register
def _(joint: Cylindrical, mirror: Mirror) -> Mirrored:
    signs = _diagonal(1.0, -1.0)
    return Mirrored(Cylindrical(mirror.axis(joint.axis, axial=True)), signs, signs)


@image_of.register
def _(joint: Spherical, mirror: Mirror) -> Mirrored:
    return Mirrored(joint, _blocks(_ONE, _axial(mirror)), _axial(mirror))


@image_of.register
def _(joint: SphericalExponential, mirror: Mirror) -> Mirrored:
    return Mirrored(joint, _axial(mirror), _axial(mirror))


@image_of.register
def _(joint: SphericalEuler, mirror: Mirror) -> Mirrored:
    axes = [mirror.axis(letter, axial=True) for letter in joint.sequence]
    if not mirror.is_plain:
        same = _diagonal(1.0, 1.0, 1.0)
        return Mirrored(Composite(*map(Revolute, axes)), same, same)
    signs = _diagonal(*(sum(axis) for axis in axes))
    return Mirrored(joint, signs, signs)


@image_of.register
def _(joint: Universal, mirror: Mirror) -> Mirrored:
    axes = (mirror.axis(a, axial=True) for a in (joint.axis1, joint.axis2))
    return Mirrored(Universal(*axes), _diagonal(1.0, 1.0), _diagonal(1.0, 1.0))


@image_of.register
def _(joint: Translation3, mirror: Mirror) -> Mirrored:
    return Mirrored(joint, _polar(mirror), _polar(mirror))


@image_of.register
def _(joint: Translation2, mirror: Mirror) -> Mirrored:
    axis, P = _plane(joint.axis, mirror)
    return Mirrored(Translation2(axis), P, P)


@image_of.register
def _(joint: Planar, mirror: Mirror) -> Mirrored:
    axis, P = _plane(joint.axis, mirror)
    return Mirrored(Planar(axis), _blocks(P, _ONE), _blocks(_ONE, P))


@image_of.register
def _(joint: Schoenflies, mirror: Mirror) -> Mirrored:
    axis, P = _plane(joint.axis, mirror)
    down = _diagonal(-1.0)
    return Mirrored(Schoenflies(axis), _blocks(P, down, _ONE), _blocks(_ONE, P, down))


@image_of.register
def _(joint: Free, mirror: Mirror) -> Mirrored:
    turned, shifted = _axial(mirror), _polar(mirror)
    return Mirrored(joint, _blocks(shifted, _ONE, turned), _blocks(turned, shifted))


@image_of.register
def _(joint: Composite, mirror: Mirror) -> Mirrored:
    images = [mirror.joint(part) if isinstance(part, Joint) else mirror.transform(part) for part in joint.parts]
    moving = [image for image in images if isinstance(image, Mirrored)]
    parts = [image.joint if isinstance(image, Mirrored) else image for image in images]
    return Mirrored(Composite(*parts), _blocks(*(m.q for m in moving)), _blocks(*(m.v for m in moving)))


@dataclass(frozen=True)
class _MirroredFunction:
    """The pose of a custom joint, mirrored."""

    function: Callable[[Any], Any]
    mirror: Mirror

    def __call__(self, q: Any) -> Transform:
        R, p = read_pose(self.function(q))
        return self.mirror.transform(Transform((R,), p))


@image_of.register
def _(joint: CustomJoint, mirror: Mirror) -> Mirrored:
    function = joint.function
    twice = isinstance(function, _MirroredFunction) and function.mirror == mirror
    image = function.function if twice else _MirroredFunction(function, mirror)  # type: ignore[union-attr]
    same = _diagonal(*(1.0,) * joint.nq)
    return Mirrored(CustomJoint(image, joint.nq, joint.name, joint.home), same, same)
