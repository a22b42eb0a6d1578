"""A cylinder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Vec, dot
from .base import Chord, FileWords, MassMoments, RimFeature, ShapeType, SurfacePoint, Triangles, even_moments
from .chords import below, common, within_ball
from .solids import TINY, outside_or_in, sign, turn_profile

_UPRIGHT = 1e-20  # sin² of a direction along the axis
_APART = 0.05  # of the squared radius: three points of a rim that are so far apart lie on its end


@dataclass(frozen=True)
class Cylinder(ShapeType):
    """A cylinder along z."""

    radius: float
    length: float

    kind = "cylinder"
    sizes = ("radius", "length")
    words = (FileWords("cylinder", (("radius", 1), ("length", 1))),)
    mjcf = (1.0, 2.0)

    def support(self, n: Vec) -> Vec:
        across = dot(n[:2], n[:2])
        upright = across < TINY
        out = self.radius / sqrt(select(upright, 1.0, across))
        return Vec((n[0] * out, n[1] * out, sign(n[2]) * (0.5 * self.length)))

    def support_rate(self, n: Vec, t: Vec) -> Vec:
        across = dot(n[:2], n[:2])
        upright = across < TINY
        once = 1.0 / select(upright, 1.0, across)
        turn = (n[0] * t[1] - n[1] * t[0]) * (self.radius * once * sqrt(once))
        turn = select(upright, 0.0, turn)
        return Vec((-n[1] * turn, n[0] * turn, 0.0))

    def align(self, n: Vec, point: Vec) -> Vec:
        at = self.support(n)
        upright = dot(n[:2], n[:2]) < _UPRIGHT * dot(n, n)
        return Vec((select(upright, point[0], at[0]), select(upright, point[1], at[1]), point[2]))

    def flat_directions(self, points: list[Vec]) -> list[Vec]:
        a, b, c = points
        low, high = (f(a[2], f(b[2], c[2])) for f in (minimum, maximum))
        edges = [b - a, c - a, c - b]
        least = minimum(dot(edges[0], edges[0]), minimum(dot(edges[1], edges[1]), dot(edges[2], edges[2])))
        apart = select(high > low, 0.0, least) > _APART * self.radius * self.radius
        on_end = [Vec([select(apart, x, 0.0) for x in e]) for e in edges[:2]]
        return [Vec((0.0, 0.0, high - low)), *on_end]

    def distance(self, x: Vec) -> SurfacePoint:
        across = dot(x[:2], x[:2])
        centred = across < TINY
        r = sqrt(select(centred, 1.0, across))
        ray = (select(centred, 1.0, x[0] / r), select(centred, 0.0, x[1] / r))
        r = select(centred, 0.0, r)
        up = sign(x[2])
        over, above = r - self.radius, up * x[2] - 0.5 * self.length
        side, end = maximum(over, 0.0), maximum(above, 0.0)
        out = Vec((ray[0] * side, ray[1] * side, up * end))
        by_side = select(over >= above, 1.0, 0.0)
        inner = Vec((ray[0] * by_side, ray[1] * by_side, up * (1.0 - by_side)))
        return outside_or_in(out, maximum(over, above), inner)

    def chord(self, x: Vec, d: Vec) -> Chord:
        ends = [below(s * x[2] - 0.5 * self.length, s * d[2]) for s in (1.0, -1.0)]
        return common([within_ball(x[:2], d[:2], self.radius), *ends])

    def on_terrain(self) -> tuple[RimFeature, ...]:
        axis = (0.0, 0.0, 1.0)
        return tuple(RimFeature((0.0, 0.0, end * self.length), axis, self.radius) for end in (0.5, -0.5))

    def moments(self) -> MassMoments:
        r, length = self.radius, self.length
        return even_moments(np.pi * r * r * length, r * r / 4, r * r / 4, length * length / 12)

    def triangles(self, sides: int = 24) -> Triangles:
        return turn_profile((self.radius, self.radius), (-self.length / 2.0, self.length / 2.0), sides)

    @property
    def reach(self) -> float:
        return sqrt(self.radius * self.radius + 0.25 * self.length * self.length)
