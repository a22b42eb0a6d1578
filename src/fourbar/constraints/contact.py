"""A place on a body held where it is: against the world, or against another body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..spatial.linear import Scalar
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .base import Condition, MovingView

# Which components [angular; linear] of the relative velocity each kind holds.
HELD = {
    "weld": (0, 1, 2, 3, 4, 5),
    "line": (1, 2, 3, 4, 5),
    "point": (3, 4, 5),
    "plane": (0, 1, 5),
    "touch": (5,),
}
_AXES = ("to", "frame")


def relative(pose: Transform, own: Twist, base: Transform, other: Twist) -> Twist:
    """The velocity of a place relative to a base, in its own axes; all poses are in one frame."""
    w, v = base.rotate(other.angular), base.rotate(other.linear)
    return Twist(own.angular - pose.unrotate(w), own.linear - pose.unrotate(v + w.cross(pose.p - base.p)))


@dataclass(frozen=True)
class Contact(Condition):
    """A frame (or body) held relative to another, wherever it is now.

    kind: "weld" (all six), "line" (an edge along x: it only turns about x), "point" (the origin stays, turning is
    free), "plane" (a face: it slides in the plane across z and turns about z), "touch" (the origin stays in the plane).
    axes: whose axes these are and the forces are given in, those of `to` (the world) or of the "frame" itself. The
    forces act on the frame at its origin, moments first.
    """

    frame: str
    kind: str = "weld"
    to: str = "world"
    axes: str = "to"

    def __post_init__(self) -> None:
        if self.kind not in HELD:
            raise ModelError(f"contact of {self.frame!r}: kind must be one of {', '.join(HELD)}, got {self.kind!r}")
        if self.axes not in _AXES:
            raise ModelError(f"contact of {self.frame!r}: axes must be 'to' or 'frame', got {self.axes!r}")
        if self.frame == self.to:
            raise ModelError(f"a contact holds one thing on another, got {self.frame!r} twice")

    @property
    def places(self) -> tuple[str, ...]:
        return (self.frame, self.to)

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        held, base = view.pose(self.frame), view.pose(self.to)
        V = relative(held, view.twist(self.frame), base, view.twist(self.to))
        if self.axes == "to":
            V = Twist(*(base.unrotate(held.rotate(x)) for x in V))
        return [V.six()[i] for i in HELD[self.kind]]
