"""The drawing of a robot: coloured surfaces, each fixed to a body, in layers that can be shown or not.

Nothing here knows where it is drawn: the page in a browser, files and pictures all use the same list. `Drawing.places`
gives the poses of what the surfaces are fixed to, for whole batches of configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import WORLD, Mechanism
from ..shapes.endless import HalfSpace
from . import triangles
from .look import FLOOR
from .mesh_files import Colour, MeshPart, read_mesh
from .triangles import TriangleSurface

if TYPE_CHECKING:
    from ..system.system import System

LAYERS = ("shapes", "collision", "frames", "axes", "mass", "inertia", "ground")
GREY: Colour = (0.72, 0.74, 0.78, 1.0)
LOST: Colour = (0.90, 0.25, 0.55, 0.6)  # in place of a mesh that is missing
COLLISION: Colour = (0.95, 0.55, 0.15, 0.45)
GROUND: Colour = (*FLOOR, 1.0)
_LOST_SIZE = 0.05  # of the robot's size, of the box in place of a missing mesh
_SHOWN_WITHOUT = 0.5  # of the bodies with mass: if so many have collision shapes, these stand for what they look like


class Rod(NamedTuple):
    """A line between points of two bodies (-1: the world), from the first to the second."""

    bodies: tuple[int, int]
    points: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Item:
    """A surface of one colour: the number of the place that it is fixed to, and its pose there.

    `tile` is the edge (m) of the tiles of a floor, zero for other surfaces.
    """

    name: str
    layer: str
    place: int
    solid: TriangleSurface
    colour: Colour
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))
    tile: float = 0.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """The drawing of a robot.

    Places are numbered: the bodies in order, then the centre of mass of the whole robot, then rods, last the world.
    `notes` are lines about what could not be drawn. `unread` makes items, and notes, of collision shapes, whose meshes
    are read when they are asked for; None if there are none or they are among the items.
    """

    robot: System
    items: tuple[Item, ...]
    rods: tuple[Rod, ...]
    bounds: np.ndarray
    notes: tuple[str, ...]
    unread: Callable[[], tuple[tuple[Item, ...], tuple[str, ...]]] | None = None

    def complete(self) -> Drawing:
        """The drawing with its collision shapes."""
        if self.unread is None:
            return self
        items, notes = self.unread()
        return replace(
            self, items=(*items, *self.items), notes=tuple(dict.fromkeys((*self.notes, *notes))), unread=None
        )

    @property
    def size(self) -> float:
        """The diagonal (m) of the box around the robot, as it stands at the start."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0])) or 1.0

    @property
    def centre(self) -> np.ndarray:
        """The middle of that box."""
        return self.bounds.mean(axis=0)

    @property
    def world(self) -> int:
        """The number of the place that does not move."""
        return len(self.robot.mechanism.bodies) + 1 + len(self.rods)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in which there is something."""
        used = {item.layer for item in self.items} | ({"collision"} if self.unread is not None else set())
        return tuple(layer for layer in LAYERS if layer in used)

    def reduce(self, most: int) -> Drawing:
        """The drawing with about `most` triangles at most; surfaces with few keep them."""
        solids = {id(x.solid): x.solid for x in self.items}
        total = sum(len(x.faces) for x in solids.values())
        if total <= most:
            return self
        smaller = {}
        for key, solid in solids.items():
            share = max(60, int(most * len(solid.faces) / total))
            fewer = len(solid.faces) > share
            smaller[key] = triangles.shade(*triangles.simplify(solid.vertices, solid.faces, share)) if fewer else solid
        items = tuple(replace(x, solid=smaller[id(x.solid)]) for x in self.items if len(smaller[id(x.solid)].faces))
        return replace(self, items=items)

    def places(self, q: np.ndarray) -> np.ndarray:
        """Poses (..., places, 4, 4) of all places at configurations (..., nq)."""
        return places(self.robot, self.rods, q)


def places(robot: System, rods: Sequence[Rod], q: np.ndarray) -> np.ndarray:
    """Poses (..., n, 4, 4): of bodies, of the centre of mass, of rods, of the world."""
    bodies = robot.mechanism.bodies
    poses = np.asarray(robot.poses(q), float)
    batch = poses.shape[:-3]
    centre = np.broadcast_to(np.eye(4), (*batch, 1, 4, 4)).copy()
    mass = np.array([b.mass for b in bodies])
    if mass.sum() > 0.0:
        com = np.einsum("...ij,...j->...i", poses[..., :3, :3], np.array([b.com for b in bodies], float).reshape(-1, 3))
        centre[..., 0, :3, 3] = ((com + poses[..., :3, 3]) * mass[:, None]).sum(axis=-2) / mass.sum()
    world = np.broadcast_to(np.eye(4), (*batch, 1, 4, 4))
    known = np.concatenate([poses, world], axis=-3)  # so that -1 is the world
    poses_of_all = [poses, centre]
    for rod in rods:
        a, b = (
            known[..., body, :3, :3] @ np.asarray(point, float) + known[..., body, :3, 3]
            for body, point in zip(rod.bodies, rod.points, strict=True)
        )
        poses_of_all.append(triangles.pointing(b - a, a)[..., None, :, :])
    return np.concatenate([*poses_of_all, world], axis=-3)


def matrix(placement: Any) -> np.ndarray:
    """A placement as a matrix (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = placement.rotation, placement.position
    return T


class ShapeItems:
    """Turns the shapes of a model into items; notes what is missing, each file once."""

    def __init__(self, size: float) -> None:
        self.size = size
        self.notes: dict[str, str] = {}

    def items(self, owner: str, place: int, shapes: Sequence[Geometry], layer: str, at: Any = None) -> list[Item]:
        """Shapes of a body."""
        at = np.eye(4) if at is None else at
        items_of_body = []
        for k, shape in enumerate(shapes):
            name = f"{owner}/{layer}/{k}"
            for n, (surface, scale) in enumerate(self._surfaces(shape)):
                colour = self._colour(shape, surface, layer)
                solid = surface.solid if scale is None else _scale(surface.solid, scale)
                items_of_body.append(
                    Item(f"{name}/{n}" if n else name, layer, place, solid, colour, at @ matrix(shape.placement))
                )
        return items_of_body

    def _colour(self, shape: Geometry, surface: MeshPart, layer: str) -> Colour:
        if surface.colour == LOST:
            return LOST
        if layer == "collision":
            return COLLISION
        if shape.heights:
            return shape.colour or GROUND
        return surface.colour or shape.colour or GREY

    def _surfaces(self, shape: Geometry) -> list[tuple[MeshPart, np.ndarray | None]]:
        if not shape.mesh:
            try:
                surface = primitive(shape, self.size)
            except ModelError as error:
                self.notes.setdefault(shape.kind, f"{shape.name or 'a shape'} cannot be shown: {error}")
                return []
            return [] if surface is None else [(MeshPart(surface, None), None)]
        try:
            if not shape.file:
                raise FileNotFoundError
            return [(surface, np.array(shape.scale)) for surface in read_mesh(shape.file)]
        except FileNotFoundError:
            self.notes.setdefault(shape.mesh, f"mesh {shape.mesh!r} was not found; give its folder in folders=[...]")
        except ValueError as error:  # fourbar's ArgumentError is one
            self.notes.setdefault(shape.mesh, f"mesh {shape.mesh!r} cannot be shown: {error}")
        edge = _LOST_SIZE * self.size
        return [(MeshPart(triangles.box(edge, edge, edge), LOST), None)]


def _scale(solid: TriangleSurface, scale: np.ndarray) -> TriangleSurface:
    if (scale == 1.0).all():
        return solid
    scale = np.where(scale == 0.0, 1e-9, scale)
    normals = solid.normals / scale
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    faces = solid.faces if np.prod(scale) > 0.0 else solid.faces[:, ::-1]
    return TriangleSurface((solid.vertices * scale).astype(np.float32), normals.astype(np.float32), faces)


def primitive(shape: Geometry, size: float) -> TriangleSurface | None:
    """A simple shape as triangles; a plane as large as a robot of such a size needs."""
    if isinstance(shape.form, HalfSpace):
        return triangles.square(2.0 * size)
    if shape.heights:
        heights = np.array(shape.heights)
        x, y = (np.linspace(-s / 2.0, s / 2.0, n) for s, n in zip(shape.size[:2], heights.shape, strict=True))
        return triangles.sheet(x, y, heights)
    if not any(shape.size):
        return None
    return triangles.surface_of(shape.form)


def is_shown(mechanism: Mechanism, shapes: Sequence[Sequence[Geometry]], role: str) -> bool:
    """Whether those shapes (by body) that have a role show what the robot looks like."""
    having = [any(g.role == role and not g.form.is_terrain for g in own) for own in shapes]
    if role == "visual":
        return any(having)
    massive = [has for has, b in zip(having, mechanism.bodies, strict=True) if b.mass > 0.0]
    return bool(massive) and sum(massive) >= _SHOWN_WITHOUT * len(massive)


def numbers(mechanism: Mechanism) -> dict[str, int]:
    """The numbers of the bodies by name; the world is -1."""
    return {WORLD: -1} | {b.name: k for k, b in enumerate(mechanism.bodies)}


def bounding_box(items: Sequence[Item], places: np.ndarray) -> np.ndarray:
    """The box (2, 3) around items at such places."""
    low, high = [], []
    for item in items:
        T = places[item.place] @ item.placement
        corners = np.array([[x, y, z] for x, y, z in np.ndindex(2, 2, 2)])
        box = np.take_along_axis(item.solid.bounds, corners, axis=0)
        points = box @ T[:3, :3].T + T[:3, 3]
        low.append(points.min(axis=0))
        high.append(points.max(axis=0))
    return np.array([np.min(low, axis=0), np.max(high, axis=0)]) if items else np.array([[-0.5] * 3, [0.5] * 3])
