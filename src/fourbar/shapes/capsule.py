"""A capsule: a cylinder with half balls at its ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expr import maximum, minimum, sqrt
from ..spatial.linear import Vec, dot
from .base import BallFeature, Chord, FileWords, MassMoments, ShapeType, SurfacePoint, Triangles
from .chords import join, within_ball
from .cylinder import Cylinder
from .hull import ConvexHull
from .solids import from_centre, of_capsule, sign


@dataclass(frozen=True)
class Capsule(ShapeType):
    """A capsule along z: its radius, and its length without the caps."""

    radius: float
    length: float

    kind = "capsule"
    sizes = ("radius", "length")
    words = tuple(FileWords(tag, (("radius", 1), ("length", 1))) for tag in ("capsule", "drake:capsule"))
    mjcf = (1.0, 2.0)

    def support(self, n: Vec) -> Vec:
        ball = n * (self.radius / sqrt(dot(n, n)))
        return Vec((ball[0], ball[1], ball[2] + sign(n[2]) * (0.5 * self.length)))

    def distance(self, x: Vec) -> SurfacePoint:
        nearest = maximum(minimum(x[2], 0.5 * self.length), -0.5 * self.length)
        return from_centre(Vec((x[0], x[1], x[2] - nearest)), self.radius)

    def chord(self, x: Vec, d: Vec) -> Chord:
        ends = [Vec((x[0], x[1], x[2] - s * (0.5 * self.length))) for s in (1.0, -1.0)]
        balls = [within_ball(end, d, self.radius) for end in ends]
        return join([Cylinder(self.radius, self.length).chord(x, d), *balls])

    def on_terrain(self) -> tuple[BallFeature, ...]:
        return tuple(BallFeature((0.0, 0.0, end * self.length), self.radius) for end in (0.5, -0.5))

    def moments(self) -> MassMoments:
        """A cylinder and two hemispheres, whose centres of mass are 3/8 r beyond its ends."""
        r, length = self.radius, self.length
        ball, middle = 4 / 3 * np.pi * r**3, Cylinder(r, length).moments()
        along = ball * (r * r / 5 + length * length / 4 + 3 / 8 * r * length)
        across = ball * r * r / 5
        return MassMoments(middle.m + ball, np.zeros(3), middle.Sigma + np.diag([across, across, along]))

    def triangles(self, sides: int = 24) -> Triangles:
        return of_capsule(self.radius, self.length, sides)

    @property
    def rounding(self) -> tuple[ShapeType, float]:
        half = 0.5 * self.length
        return ConvexHull(((0.0, 0.0, half), (0.0, 0.0, -half))), self.radius

    @property
    def reach(self) -> float:
        return self.radius + 0.5 * self.length
