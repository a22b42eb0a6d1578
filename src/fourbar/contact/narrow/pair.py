"""Two convex shapes in the axes of the first: what is asked of both."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...shapes.base import ShapeType
from ...spatial.linear import Scalar, Vec, dot
from .gjk import Corner

Corners = tuple[Corner, Corner, Corner]


class ConvexPair(NamedTuple):
    """Two shapes, and the rotation (rows) and place of the second in the axes of the first."""

    first: ShapeType
    second: ShapeType
    R: tuple[tuple[Scalar, ...], ...]
    p: Vec

    def support(self, n: Vec) -> Corner:
        """The farthest points of both shapes towards each other, n being a normal from the second to the first."""
        return Corner(self.first.support(-n), self._out(self.second.support(self._into(n))) + self.p)

    def lean(self, n: Vec, by: Vec) -> Corner:
        """The farthest points of both shapes along normals that lean from n in the same direction."""
        b = self._out(self.second.support(self._into(n + by))) + self.p
        return Corner(self.first.support(by - n), b)

    def align(self, n: Vec, corner: Corner) -> Corner:
        """A corner of a simplex, moved on the same edges and faces to where these are farthest along a normal."""
        b = self.second.align(self._into(n), self._into(corner.b - self.p))
        return Corner(self.first.align(-n, corner.a), self._out(b) + self.p)

    def flat_directions(self, corners: Corners) -> list[Vec]:
        """Directions in which either shape is flat between the corners of a simplex."""
        own = self.first.flat_directions([c.a for c in corners])
        others = self.second.flat_directions([self._into(c.b - self.p) for c in corners])
        return own + [self._out(x) for x in others]

    def support_rate(self, n: Vec, t: Vec) -> Vec:
        """Minus the derivative of the difference of the support points, as n moves along t."""
        return self.first.support_rate(-n, t) + self._out(self.second.support_rate(self._into(n), self._into(t)))

    def _out(self, x: Vec) -> Vec:
        return Vec([dot(row, x) for row in self.R])

    def _into(self, x: Vec) -> Vec:
        columns: Any = zip(*self.R, strict=True)
        return Vec([dot(column, x) for column in columns])
