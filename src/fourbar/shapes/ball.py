"""A sphere, and a point, which is one of radius zero."""

from __future__ import annotations

from dataclasses import dataclass

from ..expr import sqrt
from ..spatial.linear import Vec, dot
from .base import BallFeature, Chord, FileWords, MassMoments, ShapeType, SurfacePoint, Triangles
from .chords import within_ball
from .ellipsoid import Ellipsoid
from .solids import from_centre, of_capsule


@dataclass(frozen=True)
class SinglePoint(ShapeType):
    """A point, at its origin."""

    kind = "point"
    in_models = False

    def support(self, n: Vec) -> Vec:
        return Vec((0.0, 0.0, 0.0))

    def distance(self, x: Vec) -> SurfacePoint:
        return from_centre(x, 0.0)

    def on_terrain(self) -> tuple[BallFeature, ...]:
        return (BallFeature((0.0, 0.0, 0.0)),)

    @property
    def reach(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Sphere(ShapeType):
    """A ball around its origin."""

    radius: float

    kind = "sphere"
    sizes = ("radius",)
    words = (FileWords("sphere", (("radius", 1),)),)
    mjcf = (1.0,)

    def support(self, n: Vec) -> Vec:
        return n * (self.radius / sqrt(dot(n, n)))

    def distance(self, x: Vec) -> SurfacePoint:
        return from_centre(x, self.radius)

    def chord(self, x: Vec, d: Vec) -> Chord:
        return within_ball(x, d, self.radius)

    def on_terrain(self) -> tuple[BallFeature, ...]:
        return (BallFeature((0.0, 0.0, 0.0), self.radius),)

    def moments(self) -> MassMoments:
        return Ellipsoid(self.radius, self.radius, self.radius).moments()

    def triangles(self, sides: int = 24) -> Triangles:
        return of_capsule(self.radius, 0.0, sides)

    @property
    def rounding(self) -> tuple[ShapeType, float]:
        return SinglePoint(), self.radius

    @property
    def reach(self) -> float:
        return self.radius
