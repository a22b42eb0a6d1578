"""A box."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Vec
from .base import BallFeature, Chord, FileWords, MassMoments, ShapeType, SurfacePoint, Triangles, even_moments
from .chords import below, common
from .solids import outside_or_in, sign


@dataclass(frozen=True)
class Box(ShapeType):
    """A box with its edges along the axes."""

    x: float
    y: float
    z: float

    kind = "box"
    sizes = ("x", "y", "z")
    words = (FileWords("box", (("size", 3),)),)
    mjcf = (2.0, 2.0, 2.0)

    @property
    def half(self) -> tuple[float, float, float]:
        """Half of its edges."""
        return (0.5 * self.x, 0.5 * self.y, 0.5 * self.z)

    def support(self, n: Vec) -> Vec:
        return Vec([sign(x) * h for x, h in zip(n, self.half, strict=True)])

    def flat_directions(self, points: list[Vec]) -> list[Vec]:
        return [x - points[0] for x in points[1:]]

    def distance(self, x: Vec) -> SurfacePoint:
        out = Vec([a - maximum(minimum(a, h), -h) for a, h in zip(x, self.half, strict=True)])
        deep = [maximum(a, -a) - h for a, h in zip(x, self.half, strict=True)]
        largest = maximum(maximum(deep[0], deep[1]), deep[2])
        first = select(deep[0] >= largest, 1.0, 0.0)
        second = select(deep[1] >= largest, 1.0, 0.0) * (1.0 - first)
        faces = (first, second, 1.0 - first - second)
        sides = Vec([c * sign(a) for c, a in zip(faces, x, strict=True)])
        return outside_or_in(out, largest, sides)

    def chord(self, x: Vec, d: Vec) -> Chord:
        sides = [(a, b, h) for a, b, h in zip(x, d, self.half, strict=True)]
        return common([below(s * a - h, s * b) for a, b, h in sides for s in (1.0, -1.0)])

    def on_terrain(self) -> tuple[BallFeature, ...]:
        a, b, c = self.half
        return tuple(BallFeature((x * a, y * b, z * c)) for x, y, z in product((1.0, -1.0), repeat=3))

    def moments(self) -> MassMoments:
        x, y, z = self.x, self.y, self.z
        return even_moments(x * y * z, x * x / 12, y * y / 12, z * z / 12)

    def triangles(self, sides: int = 24) -> Triangles:
        corner = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
        return Triangles(corner * (self.x, self.y, self.z), faces)

    @property
    def reach(self) -> float:
        return 0.5 * sqrt(self.x * self.x + self.y * self.y + self.z * self.z)
