"""A place on a body held where it is: against the world, or against another body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..spatial.linear import Scalar
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .closures import read_place
from .condition import Condition, MovingView

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


@dataclass(frozen=True, init=False)
class Contact(Condition):
    """A frame or body held relative to another, wherever it is now.

    Parameters
    ----------
    frame : str
        Frame or body that is held.
    kind : {'weld', 'line', 'point', 'plane', 'touch'}, default 'weld'
        What is held: all six components; all but turning about x (an edge along x); the origin; sliding and turning in
        the plane across z left free (a face); the origin in that plane.
    to : str, default 'world'
        Frame or body that it is held to.
    axes : {'to', 'frame'}, default 'to'
        Axes of what is held and of the forces, which act on the frame at its origin, moments first.
    at_frame : array_like, shape (3,), default (0, 0, 0)
        What touches, if elsewhere on the body of the frame: its position (m) in the frame.
    frame_rotation : array_like, shape (3, 3), optional
        Axes of what touches, as a rotation matrix in the frame.
    to_rotation : array_like, shape (3, 3), optional
        Turns the axes of `to`, such as those of a slope.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.constraints.Contact("foot", "point").places
    ('foot', 'world')
    """

    frame: str
    kind: str
    to: str
    axes: str
    at_frame: Transform
    at_to: Transform

    def __init__(
        self,
        frame: str,
        kind: str = "weld",
        to: str = "world",
        axes: str = "to",
        *,
        at_frame: Any = (0.0, 0.0, 0.0),
        frame_rotation: Any = None,
        to_rotation: Any = None,
    ) -> None:
        for place in (frame, to):
            if not isinstance(place, str):
                raise ModelError(f"a contact is between frames or bodies by name, got {place!r}")
        if not isinstance(kind, str) or kind not in HELD:
            raise ModelError(f"contact of {frame!r}: kind must be one of {', '.join(HELD)}, got {kind!r}")
        if not isinstance(axes, str) or axes not in _AXES:
            raise ModelError(f"contact of {frame!r}: axes must be 'to' or 'frame', got {axes!r}")
        if frame == to:
            raise ModelError(f"a contact holds one thing on another, got {frame!r} twice")
        first = read_place(f"contact of {frame!r}", at_frame, frame_rotation)
        second = read_place(f"contact on {to!r}", (0.0, 0.0, 0.0), to_rotation)
        fields = {"frame": frame, "kind": kind, "to": to, "axes": axes, "at_frame": first, "at_to": second}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def places(self) -> tuple[str, ...]:
        return (self.frame, self.to)

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        held, base = view.pose(self.frame).then(self.at_frame), view.pose(self.to).then(self.at_to)
        own, other = view.twist(self.frame), view.twist(self.to)
        V = relative(held, self.at_frame.motion_to_child(own), base, self.at_to.motion_to_child(other))
        if self.axes == "to":
            V = Twist(*(base.unrotate(held.rotate(x)) for x in V))
        return [V.six()[i] for i in HELD[self.kind]]
