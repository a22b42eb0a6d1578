"""A screw between two bodies, held by forces: what its nut may not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..joints import Helical
from ..loops import Closure
from ..spatial.linear import Scalar
from ..spatial.transform import Transform
from .base import Condition, MovingView
from .contact import relative


@dataclass(frozen=True)
class HeldScrew(Condition):
    """The rows of a loop joint of type `Helical`. How far it has moved tells only with its turns counted, so these are
    rows on velocities: it is held on the thread that it is on."""

    closure: Closure

    @property
    def places(self) -> tuple[str, ...]:
        return self.closure.bodies

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        c, joint = self.closure, self.closure.joint
        assert isinstance(joint, Helical)
        A, _ = joint.aligned()
        turned = Transform(() if A is None else (A,))
        ends = []
        for body, place in ((c.predecessor, c.at_predecessor), (c.successor, c.at_successor)):
            inner = place.then(turned)
            ends.append((view.pose(body).then(inner), inner.motion_to_child(view.twist(body))))
        (base, other), (nut, own) = ends
        (wx, wy, wz), (x, y, z) = relative(nut, own, base, other)
        return [wx, wy, x, y, z - joint.pitch * wz]
