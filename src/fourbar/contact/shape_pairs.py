"""Shapes on two links against each other: ball, capsule and box, and balls and capsules against cylinders.

A ball touches a solid where its centre is nearest to it. `capsules` has the balls of a capsule and `boxes` two boxes,
each as several points of which some may be absent. Which pairs are candidates is decided by `selection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..spatial.linear import Vec
from ..spatial.transform import Transform
from . import boxes, capsules
from .boxes import BoxAndBox
from .candidates import OneOf, Touch
from .capsules import CapsuleAndSolid
from .shapes import PlacedShape, balls
from .solid_terrain import DISTANCE

Three = tuple[float, float, float]


@dataclass(frozen=True)
class BallAndSolid:
    """A ball (of radius zero: a point) on the first link and a solid on the second, by its pose."""

    at: Three
    radius: float
    kind: str
    size: tuple[float, ...]
    pose: Transform

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world: halfway between the two surfaces."""
        centre = first.point(Vec(self.at))
        solid = second.then(self.pose)
        far, normal = DISTANCE[self.kind](solid.unrotate(centre - solid.p), self.size)
        n = solid.rotate(normal)
        return Touch(far - self.radius, centre - n * (0.5 * (far + self.radius)), n)


ROUND = ("point", "sphere")
KNOWN = (*ROUND, "capsule", "box")  # what can touch each other
_ORDER = (*KNOWN, "cylinder")


def can_touch(a: str, b: str) -> bool:
    """Whether shapes of two kinds touch each other, both moving or not; a cylinder touches balls and capsules."""
    first, second = sorted((a, b), key=lambda x: _ORDER.index(x) if x in _ORDER else len(_ORDER))
    return first in KNOWN and (second in KNOWN or (second == "cylinder" and first != "box"))


def _half(shape: PlacedShape) -> Three:
    x, y, z = shape.size
    return (0.5 * x, 0.5 * y, 0.5 * z)


def geometries(a: PlacedShape, b: PlacedShape) -> Iterator[tuple[Any, bool]]:
    """The geometries of the contacts of two shapes, and whether b is their first shape."""
    if _ORDER.index(a.kind) > _ORDER.index(b.kind):
        yield from ((geometry, not swapped) for geometry, swapped in geometries(b, a))
    elif a.kind in ROUND:
        ((at, radius),) = balls(a)
        kind, size = ("sphere", b.size or (0.0,)) if b.kind in ROUND else (b.kind, b.size)
        yield BallAndSolid(at, radius, kind, size, b.pose), False
    else:
        made, points = _manifold(a, b)
        yield from ((OneOf(made, k), False) for k in range(points))


def _manifold(a: PlacedShape, b: PlacedShape) -> tuple[Any, int]:
    if a.kind == "capsule":
        (start, radius), (end, _) = balls(a)
        return CapsuleAndSolid((start, end), radius, b.kind, b.size, b.pose), capsules.POINTS
    return BoxAndBox(a.pose, _half(a), b.pose, _half(b)), boxes.POINTS
