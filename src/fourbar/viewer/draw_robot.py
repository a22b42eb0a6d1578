"""`draw`: the drawing of a robot, from its shapes or as sticks, with all that can be shown besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact.shapes import Shape
from ..contact.terrain import Terrain
from ..errors import ArgumentError
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import Mechanism
from ..mechanism.placement import Placement
from . import overlays
from .drawing import GROUND, LOST, Drawing, Item, Rod, ShapeItems, bounding_box, is_shown, matrix, places
from .sticks import Sticks
from .terrain_surfaces import ground_items
from .triangles import TriangleSurface


def draw(
    robot: Any,
    q: Any = None,
    terrains: Sequence[Terrain] = (),
    ground: Sequence[TriangleSurface] = (),
    touching: Sequence[Shape] = (),
) -> Drawing:
    """The drawing of a robot, of shapes that a scene added to it, and of its ground.

    Sizes fit the robot as it stands at q (neutral if None).
    """
    mechanism = robot.mechanism
    q = np.asarray(robot.neutral() if q is None else q, float)
    if q.shape != (robot.nq,):
        raise ArgumentError(f"draw: q has shape {q.shape}, expected ({robot.nq},)")
    sticks = Sticks(mechanism, np.asarray(robot.poses(q), float))
    own, given = [body.geometry for body in mechanism.bodies], _given(mechanism, touching)
    whole = [(*a, *b) for a, b in zip(own, given, strict=True)]
    visual, collision = is_shown(mechanism, own, "visual"), is_shown(mechanism, whole, "collision")
    rods: list[Rod] = sticks.rods()
    first_rod = len(mechanism.bodies) + 1
    world = first_rod + len(rods)
    shapes = ShapeItems(sticks.size)
    items: list[Item] = []
    for k, body in enumerate(mechanism.bodies):
        items += shapes.items(body.name, k, _of(whole[k], "collision"), "collision")
        shown = _of(own[k], "visual") if visual else _of(whole[k], "collision") if collision else list(given[k])
        items += shapes.items(body.name, k, shown, "shapes")
    lost = sum(x.colour == LOST for x in items if x.layer == "shapes")
    if (not visual and not collision) or 2 * lost > sum(x.layer == "shapes" for x in items):
        items += sticks.items(first_rod)
    at = places(robot, rods, q)
    bounds = bounding_box([x for x in items if x.layer == "shapes"], at)
    size = float(np.linalg.norm(bounds[1] - bounds[0])) or 1.0
    items += overlays.frames(mechanism, size, world) + overlays.axes(mechanism, size)
    items += overlays.masses(mechanism, size) + overlays.inertias(mechanism, size)
    items += _world(shapes, mechanism.world, world) + ground_items(terrains, mechanism.world, bounds, world)
    items += [Item(f"ground/{k}", "ground", world, solid, GROUND) for k, solid in enumerate(ground)]
    return Drawing(robot, tuple(items), tuple(rods), bounds, tuple(shapes.notes.values()))


def _of(shapes: Sequence[Geometry], role: str) -> list[Geometry]:
    return [x for x in shapes if x.role == role]


def _given(mechanism: Mechanism, touching: Sequence[Shape]) -> list[list[Geometry]]:
    """Shapes of a scene by body; points, which have no size, are left out."""
    homes = {frame.name: (frame.body, matrix(frame.placement)) for frame in mechanism.frames}
    homes |= {body.name: (body.name, np.eye(4)) for body in mechanism.bodies}
    found: dict[str, list[Geometry]] = {body.name: [] for body in mechanism.bodies}
    for shape in touching:
        body, at = homes.get(shape.frame, ("", np.eye(4)))
        if body in found and shape.kind != "point":
            T = at @ matrix(shape)
            kind: Any = shape.kind
            turn, where = T[:3, :3].tolist(), T[:3, 3].tolist()
            found[body].append(Geometry(kind, shape.size, Placement(turn, where), "collision"))
    return list(found.values())


def _world(shapes: ShapeItems, fixed: Sequence[Any], world: int) -> list[Item]:
    """Shapes of the world: the visual ones, or all if there are none."""
    shown = [x for x in fixed if x.role == "visual"] or list(fixed)
    return shapes.items("world", world, shown, "ground")
