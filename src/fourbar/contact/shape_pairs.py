"""Shapes on two links against each other: ball, capsule and box, and balls and capsules against cylinders.

A ball touches a solid where its centre is nearest to it. `capsules` has the balls of a capsule and `boxes` two boxes,
each as several points of which some may be absent. Which pairs are candidates is decided by `selection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..shapes.base import ShapeType
from ..shapes.box import Box
from ..shapes.hull import ConvexHull
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import multiply_out
from . import boxes, capsules
from .boxes import BoxAndBox
from .candidates import Manifold, OneOf, Touch
from .capsules import CapsuleAndSolid
from .narrow.manifolds import POINTS, has_faces, touch_convex
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
class InOtherOrder(Manifold):
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
KNOWN = (*ROUND, "capsule", "box")  # whose pairs have closed forms
_ORDER = (*KNOWN, "cylinder")


def can_touch(a: ShapeType, b: ShapeType) -> bool:
    """Whether two shapes touch each other, both moving or not."""
    return _is_closed(a, b) or (a.has("support") and b.has("support"))


def _is_closed(a: ShapeType, b: ShapeType) -> bool:
    """Whether there is a closed form: for balls, capsules and boxes, and for balls and capsules against cylinders."""
    first, second = sorted((a.kind, b.kind), key=lambda x: _ORDER.index(x) if x in _ORDER else len(_ORDER))
    return first in KNOWN and (second in KNOWN or (second == "cylinder" and first != "box"))


def geometries(a: PlacedShape, b: PlacedShape) -> Iterator[Any]:
    """The geometries of the contacts of two shapes, of which a is the first."""
    if not _is_closed(a.form, b.form):
        convex = ConvexManifold(*_about_centre(a), *_about_centre(b))
        yield from (OneOf(convex, k) for k in range(convex.points))
        return
    turned = _ORDER.index(a.kind) > _ORDER.index(b.kind)
    first, second = (b, a) if turned else (a, b)
    if first.kind in ROUND:
        ((at, radius),) = balls(first)
        made: Any = BallAndSolid(at, radius, second.form, second.pose)
        yield InOtherOrder(made) if turned else made
        return
    made, points = _manifold(first, second)
    yield from (OneOf(InOtherOrder(made) if turned else made, k) for k in range(points))


def _about_centre(shape: PlacedShape) -> tuple[ShapeType, Transform]:
    """A shape, and its pose; a hull about the mean of its corners, which is inside, as those of others are."""
    if not isinstance(shape.form, ConvexHull):
        return shape.form, shape.pose
    points = np.array(shape.form.points)
    centre = points.mean(axis=0)
    pose = shape.pose.then(Transform.of(np.eye(3).tolist(), Vec(centre.tolist())))
    return ConvexHull.around(points - centre), multiply_out(pose)


@dataclass(frozen=True)
class ConvexManifold(Manifold):
    """Any two convex shapes: one on the first link and one on the second, each by its pose there."""

    closed = False

    a: ShapeType
    at_a: Transform
    b: ShapeType
    at_b: Transform

    @property
    def points(self) -> int:
        """How many contacts there may be."""
        return POINTS if has_faces(self.a) and has_faces(self.b) else 1

    def record(self, recorder: Any, poses: tuple[Transform, Transform]) -> tuple[Touch, ...]:
        """The contacts, in the world, by steps of which one is repeated."""
        first = recorder.call(Transform.then, poses[0], self.at_a)
        return touch_convex(recorder, (self.a, self.b), (first, recorder.call(Transform.then, poses[1], self.at_b)))


def _manifold(a: PlacedShape, b: PlacedShape) -> tuple[Any, int]:
    if a.kind == "capsule":
        (start, radius), (end, _) = balls(a)
        return CapsuleAndSolid((start, end), radius, b.form, b.pose), capsules.POINTS
    assert isinstance(a.form, Box) and isinstance(b.form, Box)
    return BoxAndBox(a.pose, a.form.half, b.pose, b.form.half), boxes.POINTS
