"""Terrain as shapes: a plane without end, and a height field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import ShapeType


@dataclass(frozen=True)
class HalfSpace(ShapeType):
    """All below the plane z = 0."""

    kind = "plane"
    mjcf = ()
    is_terrain = True


@dataclass(frozen=True)
class HeightMap(ShapeType):
    """All below heights on a grid with edges x and y, down to a depth below z = 0."""

    x: float
    y: float
    depth: float
    heights: tuple[tuple[float, ...], ...] = ()

    kind = "hfield"
    sizes = ("x", "y", "depth")
    is_terrain = True

    @property
    def title(self) -> str:
        return "height field"

    @classmethod
    def of(cls, shape: Any) -> HeightMap:
        x, y, depth = shape.size
        return cls(x, y, depth, shape.heights)
