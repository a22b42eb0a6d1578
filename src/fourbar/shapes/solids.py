"""Formulas that solid shapes share: distances from a place, from inside and outside; profiles that are turned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..expr import select, sqrt
from ..spatial.linear import Scalar, Vec, dot
from .base import SurfacePoint, Triangles

TINY = 1e-60


def sign(x: Scalar) -> Scalar:
    """1.0 or -1.0; 1.0 of zero."""
    return select(x < 0.0, -1.0, 1.0)


def from_centre(out: Vec, radius: Scalar) -> SurfacePoint:
    """A ball around the place from which `out` leads to the point; upwards where that is the place itself."""
    squared = dot(out, out)
    same = squared < TINY
    length = sqrt(select(same, 1.0, squared))
    normal = Vec([select(same, z, x / length) for x, z in zip(out, (0.0, 0.0, 1.0), strict=True)])
    return SurfacePoint(select(same, 0.0, length) - radius, normal)


def outside_or_in(out: Vec, depth: Scalar, face: Vec) -> SurfacePoint:
    """From what leads to a point from the nearest of a solid; within it, where that is zero, by the nearest face."""
    squared = dot(out, out)
    within = squared < TINY
    length = sqrt(select(within, 1.0, squared))
    normal = Vec([select(within, a, b / length) for a, b in zip(face, out, strict=True)])
    return SurfacePoint(select(within, depth, length), normal)


def turn_profile(radius: Sequence[float], height: Sequence[float], sides: int) -> Triangles:
    """A profile (radius at each height, from bottom to top) turned about z, closed at both ends."""
    angle = np.arange(sides) * (2.0 * np.pi / sides)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rows = [np.column_stack([r * ring, np.full(sides, h)]) for r, h in zip(radius, height, strict=True)]
    vertices = np.concatenate([*rows, [[0.0, 0.0, height[0]], [0.0, 0.0, height[-1]]]])
    i, j = np.arange(sides), (np.arange(sides) + 1) % sides
    faces, last = [], len(rows) - 1
    for k in range(last):
        a, b = k * sides, (k + 1) * sides
        faces += [np.stack([a + i, a + j, b + j], axis=1), np.stack([a + i, b + j, b + i], axis=1)]
    low, high = len(vertices) - 2, len(vertices) - 1
    faces += [np.stack([np.full(sides, low), j, i], axis=1)]
    faces += [np.stack([np.full(sides, high), last * sides + i, last * sides + j], axis=1)]
    return Triangles(vertices, np.concatenate(faces))


def of_capsule(radius: float, length: float, sides: int) -> Triangles:
    """A cylinder about z with half balls at its ends."""
    angle = np.linspace(0.0, np.pi / 2.0, sides // 4 + 1)
    low = [(radius * np.sin(x), -length / 2.0 - radius * np.cos(x)) for x in angle]
    high = [(r, -h) for r, h in reversed(low)]
    profile = [*low, *high] if length > 0.0 else [*low, *high[1:]]
    return turn_profile([r for r, _ in profile], [h for _, h in profile], sides)
