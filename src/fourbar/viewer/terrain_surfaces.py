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
from .look import tile
from .triangles import TriangleSurface

FAR = 10.0  # sizes of the robot: what goes farther is followed, or leaves the picture
TERRAIN = "terrain/"  # how names of items begin that are no shapes of the world
FLAT = ("plane", "hfield")  # shapes of which a floor is made
_AROUND = 2.0  # how far terrain is drawn beyond a motion, in sizes of the robot
_PLAIN = 12.0  # how far a plane is, which costs nothing
_FINE = 64  # places along each side of a surface that is searched for
_LEVELS = 80  # heights at which it is looked for
_BISECTIONS = 40
_SAME = 1e-6  # of the robot's size: planes that are nearer to each other are one


def motion_box(bounds: np.ndarray, travel: np.ndarray | None, size: float) -> np.ndarray:
    """The box (2, 3) around a robot of such a size and where it goes, but for what goes very far away.

    travel: boxes (2, 2, 3) around the origins of all bodies of all worlds, at the start and at all times.
    """
    if travel is None:
        return bounds
    low, high = np.minimum(bounds[0], travel[0, 0]), np.maximum(bounds[1], travel[0, 1])
    return np.array([
        np.minimum(low, np.maximum(travel[1, 0], low - FAR * size)),
        np.maximum(high, np.minimum(travel[1, 1], high + FAR * size)),
    ])  # fmt: skip


def floor_radius(box: np.ndarray, size: float) -> float:
    """The radius (m) within which a floor is seen under a robot of such a size that moves in a box (2, 3)."""
    return _PLAIN * size + 1.5 * float(np.linalg.norm(box[1, :2] - box[0, :2]))


def is_flat(item: Item) -> bool:
    """Whether an item is a floor that is a plane."""
    return item.tile > 0.0 and len(item.solid.faces) == 2


def ground_items(
    terrains: Sequence[Terrain], fixed: Sequence[tuple[Geometry, np.ndarray]], box: np.ndarray, size: float, world: int
) -> list[Item]:
    """The floors and the terrain under a robot of such a size that moves in a box (2, 3).

    fixed: shapes that do not move, with their poses: planes among them are drawn here, others are drawn already. A
    terrain that is one of them is drawn once.
    """
    planes = [Plane(point=tuple(T[:3, 3].tolist()), normal=tuple(T[:3, 2].tolist())) for x, T in fixed
              if x.kind == "plane"]  # fmt: skip
    rest = [x for x in terrains if isinstance(x, Plane) or not any(_is_same(x, *y, _SAME * size) for y in fixed)]
    drawn: list[Terrain] = []
    items = []
    for k, terrain in enumerate((*planes, *rest)):
        again = isinstance(terrain, Plane) and any(_coincide(terrain, x, _SAME * size) for x in drawn)
        solid = None if again else surface_of(terrain, box, size)
        drawn.append(terrain)
        if solid is not None:
            edge = 0.0 if isinstance(terrain, FixedSolid) else tile(size)
            name = f"world/plane/{k}" if k < len(planes) else f"{TERRAIN}{k}"
            items.append(Item(name, "ground", world, solid, GROUND, tile=edge))
    return items


def _coincide(a: Plane, b: Terrain, near: float) -> bool:
    """Whether two planes are one."""
    if not isinstance(b, Plane):
        return False
    normal, away = np.array(a.normal), np.array(a.point) - np.array(b.point)
    return float(normal @ np.array(b.normal)) > 1.0 - 1e-9 and abs(float(normal @ away)) < near


def _is_same(terrain: Terrain, shape: Geometry, T: np.ndarray, near: float) -> bool:
    """Whether a terrain is a shape at a pose."""
    if isinstance(terrain, FixedSolid):
        return (terrain.kind, terrain.size) == (shape.kind, shape.size) and bool(
            np.abs(matrix(terrain) - T).max() < max(near, 1e-9)
        )
    if isinstance(terrain, HeightField) and shape.kind == "hfield":
        heights, origin = np.array(terrain.heights), np.array(terrain.origin)
        own = np.array(shape.heights) + T[2, 3]
        return heights.shape == own.shape and bool(
            np.abs(heights - own).max() < near and np.abs(origin - T[:2, 3] + np.array(shape.size[:2]) / 2).max() < near
        )
    return False


def surface_of(terrain: Terrain, box: np.ndarray, size: float) -> TriangleSurface | None:
    """Terrain as triangles near a box (2, 3) in which a robot of such a size moves; None where it is not near."""
    centre, reach = box.mean(axis=0), _AROUND * size + 0.5 * float(np.linalg.norm(box[1] - box[0]))
    if isinstance(terrain, Plane):
        normal, point = np.array(terrain.normal), np.array(terrain.point, float)
        foot = centre - normal * float(normal @ (centre - point))
        return triangles.move_surface(triangles.square(floor_radius(box, size)), triangles.pointing(normal, foot))
    if isinstance(terrain, FixedSolid):
        kind: Any = terrain.kind
        made = primitive(Geometry(kind, terrain.size), reach)
        return None if made is None else triangles.move_surface(made, matrix(terrain))
    if isinstance(terrain, HeightField):
        return _field(terrain, centre, reach)
    return _search(terrain, centre, reach) if isinstance(terrain, SignedDistance) else None


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


def _search(terrain: SignedDistance, centre: np.ndarray, reach: float) -> TriangleSurface | None:
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
