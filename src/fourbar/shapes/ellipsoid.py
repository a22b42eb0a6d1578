"""An ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expr import maximum, sqrt
from ..spatial.linear import Vec, dot
from .base import Chord, FileWords, MassMoments, RoundFeature, ShapeType, Triangles, even_moments
from .chords import within_ball
from .solids import of_capsule

_FLATTEST = 1e-9  # m, of an axis of zero length


@dataclass(frozen=True)
class Ellipsoid(ShapeType):
    """An ellipsoid with its half axes along x, y and z."""

    x_radius: float
    y_radius: float
    z_radius: float

    kind = "ellipsoid"
    sizes = ("x radius", "y radius", "z radius")
    words = (FileWords("ellipsoid", (("radii", 3),)), FileWords("drake:ellipsoid", (("a", 1), ("b", 1), ("c", 1))))
    mjcf = (1.0, 1.0, 1.0)

    @property
    def half_axes(self) -> tuple[float, float, float]:
        """Half of its axes."""
        return (self.x_radius, self.y_radius, self.z_radius)

    def support(self, n: Vec) -> Vec:
        squared = Vec([a * a * x for a, x in zip(self.half_axes, n, strict=True)])
        return squared * (1.0 / sqrt(dot(squared, n)))

    def support_rate(self, n: Vec, t: Vec) -> Vec:
        squares = [a * a for a in self.half_axes]
        Sn = Vec([a * x for a, x in zip(squares, n, strict=True)])
        St = Vec([a * x for a, x in zip(squares, t, strict=True)])
        q = dot(Sn, n)
        return (St - Sn * (dot(Sn, t) / q)) * (1.0 / sqrt(q))

    def align(self, n: Vec, point: Vec) -> Vec:
        return self.support(n)

    def chord(self, x: Vec, d: Vec) -> Chord:
        place, along = (Vec([b / max(a, _FLATTEST) for a, b in zip(self.half_axes, y, strict=True)]) for y in (x, d))
        return within_ball(place, along, 1.0)

    def on_terrain(self) -> tuple[RoundFeature, ...]:
        return (RoundFeature(self),)

    def moments(self) -> MassMoments:
        a, b, c = self.half_axes
        return even_moments(4 / 3 * np.pi * a * b * c, a * a / 5, b * b / 5, c * c / 5)

    def triangles(self, sides: int = 24) -> Triangles:
        ball, half = of_capsule(1.0, 0.0, sides), np.maximum(self.half_axes, _FLATTEST)
        normals = ball.vertices / half
        return Triangles(ball.vertices * half, ball.faces, normals / np.linalg.norm(normals, axis=1, keepdims=True))

    @property
    def reach(self) -> float:
        return maximum(self.x_radius, maximum(self.y_radius, self.z_radius))
