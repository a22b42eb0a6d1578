"""Loops between bodies: a joint that closes a chain, or a rod between two points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..expr import maximum, select, sqrt
from ..joints import Free
from ..joints.base import Joint, RotationRows
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.transform import Transform
from ..tolerances import HALF_A_TURN
from .loop import Loop, MechanismView, read_number

if TYPE_CHECKING:
    from ..joints.mirror import Mirror
    from ..joints.mirror_image import Mirrored


def _skew(R: Mat) -> list[Scalar]:
    """2 sin θ times the axis: zero for half a turn too."""
    return [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]]


# Cheap rows, of which the last one excludes half a turn and has no rate where the joint is closed.
_PLAIN = RotationRows(
    none=lambda R: [*_skew(R), 3.0 - (R[0][0] + R[1][1] + R[2][2])],
    about_z=lambda R: [R[0][2], R[1][2], 1.0 - R[2][2]],
    angle=lambda s, c: [s, 1.0 - c],
)


def _half_angle_rows(rows: Sequence[Scalar], cosine: Scalar, at_half_a_turn: Sequence[Scalar]) -> list[Scalar]:
    """Rows of size sin θ as rows of size 2 sin(θ/2), the same to second order, but zero for θ = 0 only. Half a turn may
    be undone in two ways or more: the rows there are an argument."""
    whole = 1.0 + cosine
    factor = sqrt(2.0 / maximum(whole, HALF_A_TURN))
    pairs = zip(rows, at_half_a_turn, strict=True)
    return [select(whole > HALF_A_TURN, factor * x, there) for x, there in pairs]


def _turn(R: Mat) -> list[Scalar]:
    """4 sin(θ/2) times the axis. At half a turn, 4 times the squares of the axis, which has no sign."""
    trace = R[0][0] + R[1][1] + R[2][2]
    return _half_angle_rows(_skew(R), 0.5 * (trace - 1.0), [2.0 + 2.0 * R[i][i] for i in range(3)])


# As few rows as the joint holds velocities. Upside down all directions are alike: it is said along x.
_MINIMAL = RotationRows(
    none=_turn,
    about_z=lambda R: _half_angle_rows([R[0][2], R[1][2]], R[2][2], [2.0, 0.0]),
    angle=lambda s, c: _half_angle_rows([s], c, [2.0]),
)


def closes_directly(joint: Joint) -> bool:
    """Whether what the joint holds can be written without coordinates of its own."""
    return joint.closing_rows(Mat.identity(3), Vec((0.0, 0.0, 0.0)), _PLAIN) is not None


def read_place(what: str, position: Any, rotation: Any) -> Transform:
    """A place on a body, from its position and rotation matrix."""
    try:
        p = np.asarray(position, float)
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected numbers, got position {position!r} and rotation {rotation!r}") from None
    if p.shape != (3,) or not np.all(np.isfinite(p)):
        raise ModelError(f"{what}: a position is three finite numbers, got {position!r}")
    if R.shape != (3, 3) or not np.abs(R @ R.T - np.eye(3)).max() < 1e-9 or np.linalg.det(R) < 0:
        raise ModelError(f"{what}: expected a 3 x 3 rotation matrix, got {rotation!r}")
    return Transform.of(R.tolist(), p.tolist())


@dataclass(frozen=True, init=False)
class Closure(Loop):
    """A joint that closes a loop between places on two bodies.

    Parameters
    ----------
    joint : Joint
        The joint; what it holds must hold.
    predecessor : str
        Body on which it sits, or 'world'.
    successor : str
        Body that it carries, or 'world'.
    at_predecessor : array_like, shape (3,), default (0, 0, 0)
        Its place (m) in the frame of the predecessor.
    at_successor : array_like, shape (3,), default (0, 0, 0)
        Its place (m) in the frame of the successor.
    predecessor_rotation : array_like, shape (3, 3), optional
        Its axes in the frame of the predecessor, as a rotation matrix.
    successor_rotation : array_like, shape (3, 3), optional
        Its axes in the frame of the successor, as a rotation matrix.

    Notes
    -----
    Rows that other joints imply already (a planar four-bar closed by a hinge) are found and left out.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Closure(fb.joints.Revolute("z"), "coupler", "rocker", at_predecessor=(0.5, 0, 0)).bodies
    ('coupler', 'rocker')
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
        if isinstance(joint, Free):
            raise ModelError(
                f"a loop joint between {predecessor!r} and {successor!r} cannot be Free(): it constrains nothing; "
                "leave it out, or give a joint with fewer freedoms, such as Revolute('z') or Spherical()"
            )
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
    def attachments(self) -> tuple[tuple[str, Sequence[float]], ...]:
        return ((self.predecessor, self.at_predecessor.p), (self.successor, self.at_successor.p))

    @property
    def extra_joint(self) -> Joint | None:
        return None if closes_directly(self.joint) else self.joint

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self._rows(view, _PLAIN)

    def minimal_residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self._rows(view, _MINIMAL)

    def _rows(self, view: MechanismView, rotations: RotationRows) -> list[Scalar]:
        A = self.joint.closing_frame()
        turned = Transform(() if A is None else (A,))
        first = view.pose(self.predecessor).then(self.at_predecessor).then(turned)
        second = view.pose(self.successor).then(self.at_successor).then(turned)
        between = first.inverse().then(second)
        found = self.joint.closing_rows(between.R, between.p, rotations)
        assert found is not None  # or the joint is an extra one
        return list(found)

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
    """A massless rod with a ball at each end: two points stay at a distance.

    Parameters
    ----------
    predecessor : str
        First body, or 'world'.
    successor : str
        Second body, or 'world'.
    predecessor_point : array_like, shape (3,)
        Point (m) in the frame of the first body.
    successor_point : array_like, shape (3,)
        Point (m) in the frame of the second body.
    length : float
        The distance (m).

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Distance("arm", "plate", (0.1, 0, 0), (0, 0, 0), length=0.4).bodies
    ('arm', 'plate')
    """

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

    @property
    def attachments(self) -> tuple[tuple[str, Sequence[float]], ...]:
        return ((self.predecessor, self.predecessor_point), (self.successor, self.successor_point))

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
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
