"""All kinds of shapes: sizes, support, distance, points on terrain, moments of mass, triangles, words of files.

Adding one: write its class in a file of this folder, and register it in `registry.py`. A kind that lacks a part is
refused, with the name of the part, where that part is needed, and works everywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .ball import SinglePoint as SinglePoint
    from .ball import Sphere as Sphere
    from .base import ShapeType as ShapeType
    from .box import Box as Box
    from .capsule import Capsule as Capsule
    from .cylinder import Cylinder as Cylinder
    from .ellipsoid import Ellipsoid as Ellipsoid
    from .endless import HalfSpace as HalfSpace
    from .endless import HeightMap as HeightMap
    from .hull import ConvexHull as ConvexHull
    from .mesh import Mesh as Mesh
    from .registry import register as register

lazy()
