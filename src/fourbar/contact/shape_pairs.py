"""Shapes on two links against each other: ball, capsule and box, and balls and capsules against cylinders.

A ball touches a solid where its centre is nearest to it. `capsules` has the balls of a capsule and `boxes` two boxes,
each as several points of which some may be absent. Which pairs are candidates is decided by `selection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..shapes.base import ShapeType
from ..shapes.box import Box
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from . import boxes, capsules
from .boxes import BoxAndBox
from .candidates import OneOf, Touch
from .capsules import CapsuleAndSolid
from .shapes import PlacedShape, balls

Three = tuple[float, float, float]


@dataclass(frozen=True)
class BallAndSolid:
    """A ball (of radius zero: a point) on the first link and a solid on the second, by its pose."""

    at: Three
    radius: float
    solid: ShapeType
    pose: Transform

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world: halfway between the two surfaces."""
        centre = first.point(Vec(self.at))
        solid = second.then(self.pose)
        far, normal = self.solid.distance(solid.unrotate(centre - solid.p))
        n = solid.rotate(normal)
        return Touch(far - self.radius, centre - n * (0.5 * (far + self.radius)), n)


@dataclass(frozen=True)
class InOtherOrder:
    """The contacts of two shapes with these in the other order."""

    geometry: Any

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        return _opposite(self.geometry.touch(second, first))

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        return tuple(_opposite(x) for x in self.geometry.touches(second, first))


def _opposite(x: Touch) -> Touch:
    return x._replace(normal=x.normal * -1.0)


ROUND = ("point", "sphere")
KNOWN = (*ROUND, "capsule", "box")  # what can touch each other
_ORDER = (*KNOWN, "cylinder")


def can_touch(a: str, b: str) -> bool:
    """Whether shapes of two kinds touch each other, both moving or not; a cylinder touches balls and capsules."""
    first, second = sorted((a, b), key=lambda x: _ORDER.index(x) if x in _ORDER else len(_ORDER))
    return first in KNOWN and (second in KNOWN or (second == "cylinder" and first != "box"))


def geometries(a: PlacedShape, b: PlacedShape) -> Iterator[Any]:
    """The geometries of the contacts of two shapes, of which a is the first."""
    turned = _ORDER.index(a.kind) > _ORDER.index(b.kind)
    first, second = (b, a) if turned else (a, b)
    if first.kind in ROUND:
        ((at, radius),) = balls(first)
        made: Any = BallAndSolid(at, radius, second.form, second.pose)
        yield InOtherOrder(made) if turned else made
        return
    made, points = _manifold(first, second)
    yield from (OneOf(InOtherOrder(made) if turned else made, k) for k in range(points))


def _manifold(a: PlacedShape, b: PlacedShape) -> tuple[Any, int]:
    if a.kind == "capsule":
        (start, radius), (end, _) = balls(a)
        return CapsuleAndSolid((start, end), radius, b.form, b.pose), capsules.POINTS
    assert isinstance(a.form, Box) and isinstance(b.form, Box)
    return BoxAndBox(a.pose, a.form.half, b.pose, b.form.half), boxes.POINTS
