"""Loops between bodies: a joint that closes a chain, or a rod between two points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..joints import (
    Cylindrical,
    Fixed,
    Free,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Translation2,
    Translation3,
    Universal,
)  # fmt: skip
from ..joints.base import Joint
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.transform import Transform
from .base import Loop, View, read_number

if TYPE_CHECKING:
    from ..joints.mirror import Mirror, Mirrored


def _no_rotation(R: Mat) -> list[Scalar]:
    """Zero for R = 1: the skew part, which vanishes for half a turn too, and what tells the two apart."""
    return [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1], 3.0 - (R[0][0] + R[1][1] + R[2][2])]


def _same_z(R: Mat) -> list[Scalar]:
    """Zero where the z axes are parallel and point the same way."""
    return [R[0][2], R[1][2], 1.0 - R[2][2]]


# What a joint holds, for the successor's pose (R, p) in the predecessor, in the joint's aligned frames. A screw is not
# here: how far it has moved tells only with its turns counted, so it needs a coordinate of its own.
_HELD: dict[type[Joint], Callable[[Joint, Mat, Vec], list[Scalar]]] = {
    Fixed: lambda j, R, p: [*p, *_no_rotation(R)],
    Revolute: lambda j, R, p: [*p, *_same_z(R)],
    Prismatic: lambda j, R, p: [p[0], p[1], *_no_rotation(R)],
    Cylindrical: lambda j, R, p: [p[0], p[1], *_same_z(R)],
    Spherical: lambda j, R, p: [*p],
    SphericalEuler: lambda j, R, p: [*p],
    SphericalExponential: lambda j, R, p: [*p],
    Universal: lambda j, R, p: [*p, _crossing(j, R)],
    Planar: lambda j, R, p: [p[2], *_same_z(R)],
    Translation2: lambda j, R, p: [p[2], *_no_rotation(R)],
    Translation3: lambda j, R, p: _no_rotation(R),
    Schoenflies: lambda j, R, p: _same_z(R),
    Free: lambda j, R, p: [],
}


def _crossing(joint: Joint, R: Mat) -> Scalar:
    """A universal joint keeps the angle between its axes, one fixed in each body."""
    a, b = Vec(joint.axis1), Vec(joint.axis2)  # type: ignore[attr-defined]
    return dot(a, R @ b) - dot(a, b)


# The last row of all others only tells half a turn apart.
_ALL_COUNT = (Spherical, SphericalEuler, SphericalExponential, Universal, Free)


def closes_directly(joint: Joint) -> bool:
    """Whether what the joint holds can be written without coordinates of its own."""
    return type(joint) in _HELD


def read_place(what: str, position: Any, rotation: Any) -> Transform:
    """A place on a body, from its position and rotation matrix."""
    try:
        p = np.asarray(position, float)
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected numbers, got position {position!r} and rotation {rotation!r}") from None
    if p.shape != (3,) or not np.all(np.isfinite(p)):
        raise ModelError(f"{what}: a position is three finite numbers, got {position!r}")
    if R.shape != (3, 3) or not np.abs(R @ R.T - np.eye(3)).max() < 1e-9 or np.linalg.det(R) < 0:
        raise ModelError(f"{what}: expected a 3 x 3 rotation matrix, got {rotation!r}")
    return Transform.of(R.tolist(), p.tolist())


@dataclass(frozen=True, init=False)
class Closure(Loop):
    """A joint between a place on one body and a place on another: what it holds must hold.

    The places are positions (and rotation matrices) in the frames of the two bodies. Rows that other joints imply
    already (a planar four-bar closed by a hinge) are found and left out.
    """

    joint: Joint
    predecessor: str
    successor: str
    at_predecessor: Transform
    at_successor: Transform

    def __init__(
        self,
        joint: Joint,
        predecessor: str,
        successor: str,
        *,
        at_predecessor: Any = (0.0, 0.0, 0.0),
        at_successor: Any = (0.0, 0.0, 0.0),
        predecessor_rotation: Any = None,
        successor_rotation: Any = None,
    ) -> None:
        if not isinstance(joint, Joint):
            raise ModelError(f"a loop joint must be a joint such as Revolute('z'), got {joint!r}")
        if predecessor == successor:
            raise ModelError(f"a loop joint is between two bodies, got {predecessor!r} twice")
        first = read_place(f"loop joint on {predecessor!r}", at_predecessor, predecessor_rotation)
        second = read_place(f"loop joint on {successor!r}", at_successor, successor_rotation)
        fields = {"joint": joint, "predecessor": predecessor, "successor": successor}
        for name, value in {**fields, "at_predecessor": first, "at_successor": second}.items():
            object.__setattr__(self, name, value)

    @property
    def joints(self) -> tuple[str, ...]:
        return ()

    @property
    def bodies(self) -> tuple[str, ...]:
        return (self.predecessor, self.successor)

    @property
    def extra_joint(self) -> Joint | None:
        return None if closes_directly(self.joint) else self.joint

    def residual(self, view: View) -> Sequence[Scalar]:
        A, _ = (None, self.joint) if isinstance(self.joint, Universal) else self.joint.aligned()
        turned = Transform(() if A is None else (A,))
        first = view.pose(self.predecessor).then(self.at_predecessor).then(turned)
        second = view.pose(self.successor).then(self.at_successor).then(turned)
        between = first.inverse().then(second)
        return _HELD[type(self.joint)](self.joint, between.R, between.p)

    def minimal_residual(self, view: View) -> Sequence[Scalar]:
        rows = self.residual(view)
        return rows if isinstance(self.joint, _ALL_COUNT) else rows[:-1]

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Closure:
        first, second = (bodies.get(x, x) for x in self.bodies)
        return _closure(self.joint, first, second, self.at_predecessor, self.at_successor)

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Closure:
        places = mirror.transform(self.at_predecessor), mirror.transform(self.at_successor)
        return _closure(mirror.joint(self.joint).joint, self.predecessor, self.successor, *places)


def _closure(joint: Joint, predecessor: str, successor: str, first: Transform, second: Transform) -> Closure:
    return Closure(
        joint, predecessor, successor, at_predecessor=first.p, at_successor=second.p, predecessor_rotation=first.R,
        successor_rotation=second.R,
    )  # fmt: skip


@dataclass(frozen=True)
class Distance(Loop):
    """A massless rod with a ball at each end: two points stay at a distance."""

    predecessor: str
    successor: str
    predecessor_point: tuple[float, float, float]
    successor_point: tuple[float, float, float]
    length: float

    def __post_init__(self) -> None:
        if self.predecessor == self.successor:
            raise ModelError(f"a rod is between two bodies, got {self.predecessor!r} twice")
        object.__setattr__(self, "length", read_number("the length of a rod", self.length))
        if not self.length > 0.0:
            raise ModelError(
                f"the length of a rod must be positive, got {self.length!r}; for zero use a spherical joint"
            )
        for field, body in (("predecessor_point", self.predecessor), ("successor_point", self.successor)):
            point = read_place(f"rod on {body!r}", getattr(self, field), None).p
            object.__setattr__(self, field, tuple(point))

    @property
    def joints(self) -> tuple[str, ...]:
        return ()

    @property
    def bodies(self) -> tuple[str, ...]:
        return (self.predecessor, self.successor)

    def residual(self, view: View) -> Sequence[Scalar]:
        a = view.pose(self.predecessor).point(Vec(self.predecessor_point))
        b = view.pose(self.successor).point(Vec(self.successor_point))
        gap = b - a
        return (0.5 * (dot(gap, gap) / self.length - self.length),)

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Distance:
        first, second = (bodies.get(x, x) for x in self.bodies)
        return replace(self, predecessor=first, successor=second)

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Distance:
        first, second = mirror.vector(self.predecessor_point), mirror.vector(self.successor_point)
        return replace(self, predecessor_point=first, successor_point=second)
