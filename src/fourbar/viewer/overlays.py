"""Overlays besides shapes: frames, axes of joints, centres of mass, ellipsoids of inertia.

In colours of clusters links that loops tie together have one colour, all others are grey.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..mechanism.mechanism import WORLD, Body, Mechanism
from ..tree.assembly import connectivity
from . import triangles
from .drawing import GREY, LOST, Item, Rod, matrix, numbers
from .mesh_files import Colour
from .sticks import directions

if TYPE_CHECKING:
    from ..system.system import System


_NAMED = 4  # bodies of a cluster that a legend names


class ColouredCluster(NamedTuple):
    """A cluster of several links: its title, its colour, and the numbers of its bodies."""

    title: str
    colour: Colour
    bodies: frozenset[int]


def coloured_clusters(robot: System) -> list[ColouredCluster]:
    """The clusters of a robot that have several links."""
    graph = connectivity(robot.mechanism, robot.model.cluster_tree)
    names = [b.name for b in robot.mechanism.bodies]
    clusters: list[ColouredCluster] = []
    for k, colour in enumerate(graph.colours):
        if colour is not None:
            bodies = [i for i, name in enumerate(names) if graph.clusters[name] == k]
            title = [names[i] for i in bodies[:_NAMED]] + (["…"] if len(bodies) > _NAMED else [])
            clusters.append(ColouredCluster(", ".join(title), (*colour, 1.0), frozenset(bodies)))
    return clusters


def paint_clusters(robot: System, items: list[Item], rods: list[Rod]) -> list[Item]:
    """The same items, the shapes of bodies and rods in the colours of their clusters; markers of joints stay."""
    of = {k: x.colour for x in coloured_clusters(robot) for k in x.bodies}
    count = len(robot.mechanism.bodies)
    for k, rod in enumerate(rods):
        of[count + 1 + k] = next((of[b] for b in rod.bodies if b in of), GREY)

    def colour(item: Item) -> Colour:
        stays = item.layer != "shapes" or item.colour == LOST or item.name.endswith("/marker")
        moves = item.place < count or item.place in of
        return item.colour if stays or not moves else (*of.get(item.place, GREY)[:3], item.colour[3])

    return [replace(item, colour=colour(item)) for item in items]


_RED: Colour = (0.86, 0.20, 0.18, 1.0)
_GREEN: Colour = (0.20, 0.64, 0.26, 1.0)
_BLUE: Colour = (0.16, 0.38, 0.86, 1.0)
_AXIS: Colour = (0.55, 0.10, 0.65, 1.0)
_MASS: Colour = (0.93, 0.70, 0.10, 1.0)
_WHOLE: Colour = (0.85, 0.12, 0.12, 1.0)
_INERTIA: Colour = (0.25, 0.60, 0.75, 0.35)
_LARGE: Colour = (0.86, 0.20, 0.18, 0.06)
MEANINGS: tuple[tuple[str, Colour, str], ...] = (
    ("frames", _RED, "x axis"), ("frames", _GREEN, "y axis"), ("frames", _BLUE, "z axis"),
    ("axes", _AXIS, "axis of a joint"), ("mass", _MASS, "centre of mass of a body"),
    ("mass", _WHOLE, "centre of mass of the robot"), ("inertia", _INERTIA, "ellipsoid of the same inertia"),
)  # fmt: skip
_HALF = 0.5  # of the robot's size: ellipsoids with a longer half axis are doubtful
_FRAME = 0.05  # length of the axes of a frame, of the robot's size


def frames(mechanism: Mechanism, size: float, world: int) -> list[Item]:
    """The axes x (red), y (green), z (blue) of bodies, of named frames and, larger, of the world."""
    number = numbers(mechanism)
    places = [(b.name, k, np.eye(4), 1.0) for k, b in enumerate(mechanism.bodies)]
    places += [
        (f.name, world if f.body == WORLD else number[f.body], matrix(f.placement), 1.0) for f in mechanism.frames
    ]
    places += [("world", world, np.eye(4), 2.0)]
    arrows = {scale: triangles.arrow(_FRAME * size * scale, 0.0025 * size) for scale in (1.0, 2.0)}
    items = []
    for name, place, at, scale in places:
        for axis, (letter, colour) in enumerate((("x", _RED), ("y", _GREEN), ("z", _BLUE))):
            T = at @ triangles.pointing(np.eye(3)[axis], np.zeros(3))
            items.append(Item(f"{name}/frame/{letter}", "frames", place, arrows[scale], colour, T))
    return items


def axes(mechanism: Mechanism, size: float) -> list[Item]:
    """The axes of joints of up to three velocities: long arrows about which, or along which, they move."""
    number, long = numbers(mechanism), triangles.arrow(0.16 * size, 0.003 * size, head=0.15)
    items = []
    for joint in mechanism.joints:
        for k, (axis, _) in enumerate(directions(joint.joint)[:3] if joint.joint.nv < 6 else []):
            T = triangles.pointing(axis, -0.06 * size * axis)
            items.append(Item(f"{joint.name}/axis/{k}", "axes", number[joint.child], long, _AXIS, T))
    return items


def masses(mechanism: Mechanism, size: float) -> list[Item]:
    """Balls at the centres of mass: of bodies, larger with more mass, and (red) of the whole robot."""
    total = sum(b.mass for b in mechanism.bodies)
    if not total > 0.0:
        return []
    items = [Item("robot/mass", "mass", len(mechanism.bodies), triangles.sphere(0.022 * size, 16), _WHOLE)]
    for k, body in enumerate(mechanism.bodies):
        if body.mass > 0.0:
            radius = 0.022 * size * max(0.2, (body.mass / total) ** (1.0 / 3.0))
            T = np.eye(4)
            T[:3, 3] = body.com
            items.append(Item(f"{body.name}/mass", "mass", k, triangles.sphere(radius, 16), _MASS, T))
    return items


def half_axes(body: Body) -> tuple[np.ndarray, np.ndarray] | None:
    """Half axes (m) of the uniform ellipsoid with the mass and inertia of a body, and their directions in columns.

    None for a body without mass, or whose inertia no body can have.
    """
    if not body.mass > 0.0:
        return None
    moments, R = np.linalg.eigh(np.array(body.inertia, float))
    squares = 2.5 / body.mass * (moments.sum() - 2.0 * moments)
    if not moments.max(initial=0.0) > 0.0 or squares.min() < -1e-6 * squares.max():
        return None
    return np.sqrt(np.maximum(squares, 0.0)), R * np.sign(np.linalg.det(R))


def inertias(mechanism: Mechanism, size: float) -> list[Item]:
    """Ellipsoids of the same mass and inertia as the bodies; larger ones than the robot faint and red, since they would
    hide it, and since they usually come from mistakes in a file."""
    items = []
    for k, body in enumerate(mechanism.bodies):
        axes_of_body = half_axes(body)
        if axes_of_body is not None:
            half = np.maximum(axes_of_body[0], 1e-3 * size)
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = axes_of_body[1], body.com
            colour, solid = _LARGE if half.max() > _HALF * size else _INERTIA, triangles.ellipsoid(*half.tolist())
            items.append(Item(f"{body.name}/inertia", "inertia", k, solid, colour, T))
    return items
