"""`draw`: the drawing of a robot, from its shapes or as sticks, with all that can be shown besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact.terrain import Terrain
from ..errors import ArgumentError
from . import marks
from .drawing import GROUND, Drawing, Item, Rod, Shapes, bounding_box, is_shown, places
from .ground import ground_items
from .solids import Solid
from .sticks import Sticks


def draw(robot: Any, q: Any = None, terrains: Sequence[Terrain] = (), ground: Sequence[Solid] = ()) -> Drawing:
    """What is drawn of a robot and of what it stands on; sizes fit the robot as it stands at q (neutral if None)."""
    mechanism = robot.mechanism
    q = np.asarray(robot.neutral() if q is None else q, float)
    if q.shape != (robot.nq,):
        raise ArgumentError(f"draw: q has shape {q.shape}, expected ({robot.nq},)")
    poses = np.asarray(robot.poses(q), float)
    sticks = Sticks(mechanism, poses)
    visual, collision = is_shown(mechanism, "visual"), is_shown(mechanism, "collision")
    rods: list[Rod] = sticks.rods() if not visual else []
    first_rod = len(mechanism.bodies) + 1
    world = first_rod + len(rods)
    shapes = Shapes(sticks.size)
    items: list[Item] = []
    for k, body in enumerate(mechanism.bodies):
        touching = [x for x in body.geometry if x.role == "collision"]
        items += shapes.items(body.name, k, touching, "collision")
        own = [x for x in body.geometry if x.role == "visual"] if visual else touching if collision else []
        items += shapes.items(body.name, k, own, "shapes")
    if not visual and not collision:
        items += sticks.items(first_rod)
    at = places(robot, rods, q)
    bounds = bounding_box([x for x in items if x.layer == "shapes"], at)
    size = float(np.linalg.norm(bounds[1] - bounds[0])) or 1.0
    items += marks.frames(mechanism, size, world) + marks.axes(mechanism, size)
    items += marks.masses(mechanism, size) + marks.inertias(mechanism, size)
    items += _world(shapes, mechanism.world, world) + ground_items(terrains, bounds, world)
    items += [Item(f"ground/{k}", "ground", world, solid, GROUND) for k, solid in enumerate(ground)]
    return Drawing(robot, tuple(items), tuple(rods), bounds, tuple(shapes.notes.values()))


def _world(shapes: Shapes, fixed: Sequence[Any], world: int) -> list[Item]:
    """Shapes of the world: those to be seen, or all where there are none such."""
    seen = [x for x in fixed if x.role == "visual"] or list(fixed)
    return shapes.items("world", world, seen, "ground")
