"""Robots made from robots: pure functions from mechanisms to mechanisms, one idea per file, imported when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from . import change, coordinates, join, lock, mass_from_shapes, mirror, rename, sub

__all__ = ["change", "coordinates", "join", "lock", "mass_from_shapes", "mirror", "rename", "sub"]

lazy(__name__, dict.fromkeys(__all__, ""))
