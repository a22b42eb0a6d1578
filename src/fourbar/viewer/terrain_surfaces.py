"""The ground as surfaces: planes, height fields, and where a signed distance is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact.solid_terrain import Solid as FixedSolid
from ..contact.terrain import HeightField, Plane, SignedDistance, Terrain
from ..expr import evaluate
from ..mechanism.geometry import Geometry
from . import triangles
from .drawing import GROUND, Item, matrix, primitive
from .triangles import TriangleSurface

_AROUND = 2.0  # how far terrain is drawn, in sizes of the robot
_PLAIN = 3.0  # how much further a plane is, which costs nothing
_FINE = 64  # places along each side of a surface that is searched for
_LEVELS = 80  # heights at which it is looked for
_BISECTIONS = 40


def ground_items(terrains: Sequence[Terrain], drawn: Sequence[Geometry], bounds: np.ndarray, world: int) -> list[Item]:
    """Terrain around a box (2, 3) in which a robot moves, but for what is drawn already as a shape of the world."""
    found = []
    known = {(x.kind, x.size, x.placement.position) for x in drawn}
    for k, terrain in enumerate(terrains):
        if isinstance(terrain, FixedSolid) and (terrain.kind, terrain.size, terrain.position) in known:
            continue
        solid = surface_of(terrain, bounds)
        if solid is not None:
            found.append(Item(f"terrain/{k}", "ground", world, solid, GROUND))
    return found


def surface_of(terrain: Terrain, bounds: np.ndarray) -> TriangleSurface | None:
    """Terrain as triangles near a box (2, 3); None where it does not come near."""
    centre, reach = bounds.mean(axis=0), _AROUND * float(np.linalg.norm(bounds[1] - bounds[0]))
    if isinstance(terrain, Plane):
        normal, point = np.array(terrain.normal), np.array(terrain.point, float)
        foot = centre - normal * float(normal @ (centre - point))
        edge = np.linspace(-_PLAIN * reach, _PLAIN * reach, 2)
        return triangles.moved(triangles.sheet(edge, edge, np.zeros((2, 2))), triangles.pointing(normal, foot))
    if isinstance(terrain, FixedSolid):
        kind: Any = terrain.kind
        made = primitive(Geometry(kind, terrain.size), reach)
        return None if made is None else triangles.moved(made, matrix(terrain))
    if isinstance(terrain, HeightField):
        return _field(terrain, centre, reach)
    return _searched(terrain, centre, reach) if isinstance(terrain, SignedDistance) else None


def _field(terrain: HeightField, centre: np.ndarray, reach: float) -> TriangleSurface:
    """Its heights, continued as at the edges as far as the robot may see."""
    heights = np.array(terrain.heights, float)
    sides = []
    for axis in (0, 1):
        own = terrain.origin[axis] + terrain.spacing[axis] * np.arange(heights.shape[axis])
        low, high = min(own[0], centre[axis] - reach), max(own[-1], centre[axis] + reach)
        sides.append(np.concatenate([[low], own, [high]]) if low < own[0] and high > own[-1] else
                     np.concatenate([[min(low, own[0] - 1e-6)], own, [max(high, own[-1] + 1e-6)]]))  # fmt: skip
    return triangles.sheet(sides[0], sides[1], np.pad(heights, 1, mode="edge"))


def _searched(terrain: SignedDistance, centre: np.ndarray, reach: float) -> TriangleSurface | None:
    """The highest place above each point of a grid where the distance changes its sign, by bisection."""
    inputs, value, _ = terrain.traced
    x, y = (np.linspace(c - reach, c + reach, _FINE) for c in centre[:2])
    X, Y = np.meshgrid(x, y, indexing="ij")

    def solid(z: np.ndarray) -> np.ndarray:
        return np.broadcast_to(evaluate([value], dict(zip(inputs, (X, Y, z), strict=True)))[0], X.shape) <= 0.0

    high, low = np.full(X.shape, centre[2] + reach), np.full(X.shape, np.nan)
    for level in np.linspace(centre[2] + reach, centre[2] - reach, _LEVELS)[1:]:
        found, unknown = solid(np.full(X.shape, level)), np.isnan(low)
        low = np.where(unknown & found, level, low)
        high = np.where(unknown & ~found, level, high)
    if np.isnan(low).all():
        return None
    low = np.where(np.isnan(low), np.nanmin(low), low)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (high + low)
        inside = solid(middle)
        high, low = np.where(inside, high, middle), np.where(inside, middle, low)
    return triangles.sheet(x, y, low)
