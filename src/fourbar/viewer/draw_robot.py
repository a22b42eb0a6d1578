"""`draw`: the drawing of a robot, from its shapes or as sticks, with all that can be shown besides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..contact.shapes import Shape
from ..contact.terrain import Terrain
from ..errors import ArgumentError
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import Mechanism
from ..mechanism.placement import Placement
from . import overlays
from .cluster_colours import paint_clusters
from .drawing import GROUND, LOST, Drawing, Item, Rod, ShapeItems, bounding_box, is_shown, matrix, places
from .look import tile
from .sticks import Sticks
from .terrain_surfaces import FLAT, ground_items, motion_box
from .triangles import TriangleSurface

OWN, CLUSTERS = "shapes", "clusters"  # whose colours are drawn
COLOURS = (OWN, CLUSTERS)


def draw(
    robot: Any,
    q: Any = None,
    terrains: Sequence[Terrain] = (),
    ground: Sequence[TriangleSurface] = (),
    touching: Sequence[Shape] = (),
    travel: np.ndarray | None = None,
    colour: str = OWN,
) -> Drawing:
    """The drawing of a robot, of shapes that a scene added to it, and of its ground.

    Sizes fit the robot as it stands at q (neutral if None). The ground reaches below all that it does, `travel`
    being boxes (2, 2, 3) around the origins of its bodies, at the start and at all times. Colours
    are those of the shapes, or with `colour` "clusters" of the clusters that loops tie together.
    """
    mechanism = robot.mechanism
    q = np.asarray(robot.model.neutral() if q is None else q, float)
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
    looks = [
        _of(own[k], "visual") if visual else _of(whole[k], "collision") if collision else list(given[k])
        for k in range(len(own))
    ]
    for k, body in enumerate(mechanism.bodies):
        items += shapes.items(body.name, k, [x for x in looks[k] if x.kind != "plane"], "shapes")
    lost = sum(x.colour == LOST for x in items)
    if (not visual and not collision) or 2 * lost > len(items):
        items += sticks.items(first_rod)
    if colour == CLUSTERS:
        items = paint_clusters(robot, items, rods)
    at = places(robot, rods, q)
    bounds = bounding_box([x for x in items if x.layer == "shapes"], at)
    size = float(np.linalg.norm(bounds[1] - bounds[0])) or 1.0
    items += overlays.frames(mechanism, size, world) + overlays.axes(mechanism, size)
    items += overlays.masses(mechanism, size) + overlays.inertias(mechanism, size)
    shown = [x for x in mechanism.world if x.role == "visual"] or list(mechanism.world)
    items += shapes.items("world", world, [x for x in shown if x.kind != "plane"], "ground")
    fixed = [(x, matrix(x.placement)) for x in shown]
    fixed += [(x, at[k] @ matrix(x.placement)) for k, own in enumerate(looks) for x in own if x.kind in FLAT]
    items += ground_items(terrains, fixed, motion_box(bounds, travel, size), size, world)
    items += [Item(f"ground/{k}", "ground", world, solid, GROUND, tile=tile(size)) for k, solid in enumerate(ground)]
    touched = [_of(shapes, "collision") for shapes in whole]
    unread = partial(_collision, mechanism, touched, sticks.size) if any(touched) else None
    return Drawing(robot, tuple(items), tuple(rods), bounds, tuple(shapes.notes.values()), unread)


def _collision(
    mechanism: Mechanism, touched: Sequence[Sequence[Geometry]], size: float
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Items of collision shapes by body, and notes about those that could not be drawn."""
    shapes = ShapeItems(size)
    both = zip(mechanism.bodies, touched, strict=True)
    items = [x for k, (body, own) in enumerate(both) for x in shapes.items(body.name, k, own, "collision")]
    return tuple(items), tuple(shapes.notes.values())


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
