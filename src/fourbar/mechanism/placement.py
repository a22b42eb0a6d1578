"""A constant pose."""

from __future__ import annotations

from dataclasses import dataclass

Three = tuple[float, float, float]
Matrix = tuple[Three, Three, Three]


@dataclass(frozen=True)
class Placement:
    """A constant pose: rotation matrix and position."""

    rotation: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: Three = (0.0, 0.0, 0.0)
