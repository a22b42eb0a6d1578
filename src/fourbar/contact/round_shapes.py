"""Balls, points and smooth shapes on terrain: one point each, where the shape is nearest.

A function of x, y, z that is zero on a surface is a distance near that surface only. Seen from the centre of a ball of
8 cm in a bowl of half a metre it may be wrong by 2 mm, and the normal by several degrees; as the ball moves, the gap
changes by more than its velocity says, which lets it sink in and pushes it out again. So a second and a third look are
from just within that point of the shape which the look before found to be the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..shapes.base import ShapeType
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .candidates import Touch
from .terrain import Terrain

_WITHIN = 0.01  # of the way to the centre: outside of an edge that the shape touches, where its normal is known
_LOOKS = 2  # for ellipsoids at least, which need not be nearest below their centres


class Support(NamedTuple):
    """How far a shape reaches from its centre against a normal, and the way back from its furthest point."""

    reach: Scalar
    back: Vec


def nearest(terrain: Any, centre: Vec, support: Callable[[Vec], Support], looks: int) -> Touch:
    """The contact of a shape with the plane that touches the terrain where the shape is nearest to it."""
    gap, normal = terrain.surface(centre)
    own = support(normal)
    gap = gap - own.reach
    for _ in range(looks - 1):
        way = own.back * (1.0 - _WITHIN)
        gap, normal = terrain.surface(centre - way)
        own = support(normal)
        gap = gap + dot(normal, way) - own.reach
    return Touch(gap, centre - own.back, normal)


@dataclass(frozen=True)
class BallOnTerrain:
    """A ball at a place on the first link (of radius zero: a point) against what does not move."""

    at: tuple[float, float, float]
    radius: float
    terrain: Terrain

    @property
    def steady(self) -> bool:
        """Whether what enters the terrain has moved there along the normal."""
        return self.terrain.steady

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        looks = self.terrain.looks if self.radius > 0.0 else 1
        return nearest(self.terrain, first.point(Vec(self.at)), self._support, looks)

    def _support(self, normal: Vec) -> Support:
        return Support(self.radius, normal * self.radius)


@dataclass(frozen=True)
class RoundOnTerrain:
    """A smooth shape on the first link, by its centre and axes there, against what does not move."""

    centre: tuple[float, float, float]
    rotation: tuple[tuple[float, ...], ...]
    shape: ShapeType
    terrain: Terrain

    steady = False

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        pose = first.then(Transform.of(self.rotation, Vec(self.centre)))

        def support(normal: Vec) -> Support:
            n = pose.unrotate(normal)
            farthest = self.shape.support(n)
            return Support(dot(farthest, n), pose.rotate(farthest))

        return nearest(self.terrain, pose.p, support, 1 if self.terrain.flat else max(self.terrain.looks, _LOOKS))
