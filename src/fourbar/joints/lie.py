"""Joints that move on a Lie group: spherical, planar, translational, Schoenflies and free (From, Table 2).

Their velocity v is that of the child in its own axes, so S is a constant selection and S° = 0; q̇ is not v where the
group does not commute or q is a quaternion. No coordinate singularity anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..expr import sqrt
from ..spatial.groups import SE2, SE3, SO3, Group, Rn, SchoenfliesGroup
from ..spatial.groups.so3 import from_matrix
from ..spatial.linear import Mat, Scalar, Vec, dot, zeros
from ..spatial.rotation import Factor, quaternion_matrix
from ..spatial.subspace import Selection, Subspace
from ..spatial.transform import Transform
from .axis import Axis, rotation_from_z
from .base import Joint, RotationRows
from .euclidean import uniform
from .mirror_image import ONE, Mirrored, blocks, diagonal
from .one_axis import AxisJoint, Prismatic, Revolute, angle_about_z, turn

if TYPE_CHECKING:
    from .mirror import Mirror


class GroupJoint(Joint):
    """A joint on a Lie group: q is an element of `group`, v a velocity in the child's axes, and q ⊕ v = q · exp(v).

    A subclass sets `group`, `nq`, `nv`, `q_names` and `v_names`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from fourbar.joints import GroupJoint
    >>> from fourbar.spatial import SE2
    >>> @dataclass(frozen=True)
    ... class Sledge(GroupJoint):
    ...     group = SE2()
    ...     nq, nv = 3, 3
    ...     q_names, v_names = ("x", "y", "angle"), ("w", "vx", "vy")
    >>> Sledge().integrate([0.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    (1.0, 0.0, 0.0)
    """

    group: ClassVar[Group]

    def placement(self, q: Sequence[Scalar]) -> Transform:
        return Transform(self._factors(q), self.group.translation(q))

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return self.group.subspace

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return self.group.plus(self._element(q), v)

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return self.group.rate(q, v)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        return self.group.minus(self._element(q1), self._element(q0))

    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return self.group.right_dexp_inv(Vec(theta)) @ v

    def coadjoint(self, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
        return self.group.ad(v).transpose_times(p)

    def neutral(self) -> tuple[float, ...]:
        return tuple(self.group.identity())

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        return uniform(rng, lower, upper, self._spread(), size)

    def _factors(self, q: Sequence[Scalar]) -> tuple[Factor, ...]:
        """The rotation of q as factors; none for pure translations."""
        return self.group.placement(q).factors

    def _element(self, q: Sequence[Scalar]) -> Vec:
        """q as the group wants it: with a quaternion of unit length."""
        return Vec(q)

    def _spread(self) -> np.ndarray:
        """Half-width of the random range of each coordinate that has no limits."""
        return np.ones(self.nq)


class AxisGroupJoint(AxisJoint, GroupJoint):
    """A joint on a group with a distinguished z, with z rotated to any axis."""

    def _placement_about_z(self, q: Sequence[Scalar]) -> Transform:
        return GroupJoint.placement(self, q)

    def _subspace_about_z(self) -> Subspace:
        return Selection(self.group.rows)


def unit_quaternion(q: Sequence[Scalar]) -> Vec:
    """q / |q|. Rounding moves products of unit quaternions away from unit length; this keeps the errors from
    accumulating.
    """
    return Vec(q) * (1.0 / sqrt(dot(q, q)))


def _random_quaternions(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Uniform on SO(3) (*size, 4)."""
    q = rng.normal(size=(*size, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _hinges() -> list[Joint | Transform]:
    """Turns about x, y and z, one after the other."""
    return [Revolute(axis) for axis in "xyz"]


def _slides() -> list[Joint | Transform]:
    """Translations along x, y and z."""
    return [Prismatic(axis) for axis in "xyz"]


def _slides_across(axis: Axis) -> list[Joint | Transform]:
    """Translations along x and y of the plane normal to an axis."""
    columns = (rotation_from_z(axis) or Mat.identity(3)).T
    return [Prismatic(tuple(columns[i])) for i in range(2)]


@dataclass(frozen=True)
class Spherical(GroupJoint):
    """Rotation about a point.

    q: quaternion (w, x, y, z) of any length but zero; v: angular velocity (rad/s) in child axes.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Spherical()
    >>> joint.nq, joint.nv
    (4, 3)
    """

    pivot: ClassVar[str] = "point"
    group = SO3()
    nq = 4
    nv = 3
    quaternions = (0,)
    q_names = ("qw", "qx", "qy", "qz")
    v_names = ("wx", "wy", "wz")
    tags: ClassVar[tuple[str, ...]] = ("urdf+:spherical", "drake:ball", "mjcf:ball", "sdf:ball")

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        return _random_quaternions(rng, size)

    def coordinates_of(self, T: Transform) -> Vec:
        return from_matrix(T.R)

    def _factors(self, q: Sequence[Scalar]) -> tuple[Factor, ...]:
        return (quaternion_matrix(q),)

    def _element(self, q: Sequence[Scalar]) -> Vec:
        return unit_quaternion(q)

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [*p]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(self, blocks(ONE, mirror.axial_rows), mirror.axial_rows)

    def otherwise(self) -> list[Joint | Transform]:
        return _hinges()


_BALL = Spherical()


@dataclass(frozen=True)
class Planar(AxisGroupJoint):
    """Motion in the plane normal to an axis.

    q: x, y (m), angle (rad); v: angular velocity (rad/s), then linear velocity (m/s) in child axes. x and y are along
    the first two columns of the rotation that takes z to the axis, about which the axes of the child turn.

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Planar("z")
    >>> joint.nq, joint.nv
    (3, 3)
    """

    group = SE2()
    nq = 3
    nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("w", "vx", "vy")
    turning: ClassVar[str] = "axis"
    tags: ClassVar[tuple[str, ...]] = ("urdf:planar", "urdf+:planar", "drake:planar")

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec((p[0], p[1], angle_about_z(R)))

    def _factors(self, q: Sequence[Scalar]) -> tuple[Factor, ...]:
        return (turn(q[2]),)

    def _spread(self) -> np.ndarray:
        return np.array([1.0, 1.0, np.pi])

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[2], *rows.about_z(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        axis, P = mirror.plane(self.axis)
        return Mirrored(Planar(axis), blocks(P, ONE), blocks(ONE, P))

    def otherwise(self) -> list[Joint | Transform]:
        return [*_slides_across(self.axis), Revolute(self.axis)]


@dataclass(frozen=True)
class Translation2(AxisGroupJoint):
    """Translation in the plane normal to an axis.

    q: x, y (m) along the first two columns of the rotation that takes z to the axis; v = q̇ (m/s).

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Translation2("z")
    >>> joint.nq, joint.nv
    (2, 2)
    """

    group = Rn(2)
    nq = 2
    nv = 2
    q_names = ("x", "y")
    turning: ClassVar[str] = "none"
    v_names = ("x", "y")

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec(p[:2])

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[2], *rows.none(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        axis, P = mirror.plane(self.axis)
        return Mirrored(Translation2(axis), P, P)

    def in_series(self) -> list[Joint | Transform]:
        return _slides_across(self.axis)


@dataclass(frozen=True)
class Translation3(GroupJoint):
    """Translation in space. q: x, y, z (m); v = q̇ (m/s).

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Translation3()
    >>> joint.nq, joint.nv
    (3, 3)
    """

    group = Rn(3)
    nq = 3
    nv = 3
    q_names = ("x", "y", "z")
    turning: ClassVar[str] = "none"
    v_names = ("x", "y", "z")

    def coordinates_of(self, T: Transform) -> Vec:
        return T.p

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return rows.none(R)

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(self, mirror.polar_rows, mirror.polar_rows)

    def in_series(self) -> list[Joint | Transform]:
        return _slides()


@dataclass(frozen=True)
class Schoenflies(AxisGroupJoint):
    """Translation in space and rotation about an axis, as of a pick-and-place tool.

    q: x, y, z (m), angle (rad); v: angular velocity (rad/s), then linear velocity (m/s) in child axes. z is along the
    axis, x and y along the first two columns of the rotation that takes z to the axis.

    Parameters
    ----------
    axis : str or array_like, shape (3,), default 'z'
        Axis in the frame of the joint: 'x', 'y', 'z', '-x', ..., or a unit vector.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Schoenflies("z")
    >>> joint.nq, joint.nv
    (4, 4)
    """

    group = SchoenfliesGroup()
    nq = 4
    nv = 4
    q_names = ("x", "y", "z", "angle")
    turning: ClassVar[str] = "axis"
    v_names = ("w", "vx", "vy", "vz")

    def _coordinates_about_z(self, R: Mat, p: Vec) -> Vec:
        return Vec((*p, angle_about_z(R)))

    def _factors(self, q: Sequence[Scalar]) -> tuple[Factor, ...]:
        return (turn(q[3]),)

    def _spread(self) -> np.ndarray:
        return np.array([1.0, 1.0, 1.0, np.pi])

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return rows.about_z(R)

    def mirrored(self, mirror: Mirror) -> Mirrored:
        axis, P = mirror.plane(self.axis)
        down = diagonal(-1.0)
        return Mirrored(Schoenflies(axis), blocks(P, down, ONE), blocks(ONE, P, down))

    def otherwise(self) -> list[Joint | Transform]:
        return [*_slides(), Revolute(self.axis)]


@dataclass(frozen=True)
class Free(GroupJoint):
    """No restraint: a floating base.

    q: position (m) in parent axes, quaternion (w, x, y, z) of any length but zero; v: angular (rad/s), then linear
    velocity (m/s) of the origin of the child, both in child axes.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Free()
    >>> joint.nq, joint.nv
    (7, 6)
    """

    group = SE3()
    nq = 7
    quaternions = (3,)
    nv = 6
    q_names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    tags: ClassVar[tuple[str, ...]] = ("urdf:floating", "mjcf:free")

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        position = uniform(rng, lower[:3], upper[:3], np.ones(3), size)
        return np.concatenate([position, _random_quaternions(rng, size)], axis=-1)

    def stretch(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> Vec:
        """The rotation from `rest` to q in child axes, and, separately, the displacement in parent axes: as in
        MuJoCo.
        """
        return Vec((*_BALL.difference(rest[3:], q[3:]), *(Vec(q[:3]) - Vec(rest[:3]))))

    def stretch_rates(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> tuple[Vec, ...]:
        angular = (Vec((*rate, *zeros(3))) for rate in _BALL.stretch_rates(rest[3:], q[3:]))
        linear = (Vec((*zeros(3), *column)) for column in quaternion_matrix(self._element(q)[3:]).T)
        return (*angular, *linear)

    def coordinates_of(self, T: Transform) -> Vec:
        return Vec((*T.p, *from_matrix(T.R)))

    def _factors(self, q: Sequence[Scalar]) -> tuple[Factor, ...]:
        return (quaternion_matrix(q[3:]),)

    def _element(self, q: Sequence[Scalar]) -> Vec:
        return Vec((*q[:3], *unit_quaternion(q[3:])))

    def mirrored(self, mirror: Mirror) -> Mirrored:
        turned, shifted = mirror.axial_rows, mirror.polar_rows
        return Mirrored(self, blocks(shifted, ONE, turned), blocks(turned, shifted))

    def otherwise(self) -> list[Joint | Transform]:
        return _slides() + _hinges()
