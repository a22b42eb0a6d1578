"""A mesh, whose surface is in a file: it is drawn, and touches others as its convex hull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import ShapeType


@dataclass(frozen=True)
class Mesh(ShapeType):
    """The surface in a file, times a scale by axis. What it is made of is known to those who read the file."""

    address: str
    file: str = ""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    kind = "mesh"

    @classmethod
    def of(cls, shape: Any) -> Mesh:
        return cls(shape.mesh, shape.file, shape.scale)
