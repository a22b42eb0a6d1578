"""Shapes on the links of a robot: those of its model, and those that are added by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..functions.options import read_frame
from ..mechanism.contact import Surface
from ..mechanism.contact_pairs import BodyShape
from ..mechanism.geometry import Geometry, Hull
from ..mechanism.mechanism import WORLD, Mechanism
from ..mechanism.validate import read_placement
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND, ClusterTree, Location, multiply_out
from .rims import on_rim
from .round_shapes import BallOnTerrain, EllipsoidOnTerrain
from .solid_terrain import read_size
from .terrain import Material, OfMaterial, Terrain

Three = tuple[float, float, float]
KINDS = ("point", "sphere", "capsule", "box", "cylinder", "ellipsoid")


@dataclass(frozen=True)
class Shape(OfMaterial):
    """A shape that may touch, on a frame or body by name.

    Parameters
    ----------
    frame : str
        The frame or body.
    kind : str, default "point"
        One of "point", "sphere", "capsule", "box", "cylinder", "ellipsoid".
    size : float or sequence of float
        Metres: nothing for a point, the radius of a sphere, radius and length of a capsule (without its caps) or a
        cylinder along z, the three edges of a box, the three half axes of an ellipsoid.
    position : array_like, shape (3,)
        Where it sits in the frame (m).
    rotation : array_like, optional
        How it is turned in the frame: 3 x 3, or a quaternion.
    rpy : array_like, shape (3,), optional
        The same as roll, pitch and yaw (rad).
    friction : float, optional
        Coefficient of sliding friction; what None means, `Plane` says.
    torsion : float, optional
        Torsional friction (m).
    rolling : float, optional
        Rolling friction (m).
    restitution : float, optional
        Part of the normal velocity, from 0 to 1, with which what touches leaves.

    Raises
    ------
    ModelError
        If the kind or a number is not what it should be.

    Examples
    --------
    >>> from fourbar.contact import Shape
    >>> foot = Shape("LF_FOOT", "sphere", 0.02)
    """

    frame: str
    kind: str = "point"
    size: Any = ()
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = None
    rpy: Any = None
    friction: float | None = None
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise ModelError(f"Shape: expected the name of a frame or body, got {self.frame!r}")
        if self.kind not in KINDS:
            raise ModelError(f"Shape of {self.frame!r}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        numbers = read_size(f"Shape of {self.frame!r}", self.kind, self.size)
        place = read_placement(f"Shape of {self.frame!r}", self.position, self.rotation, self.rpy)
        object.__setattr__(self, "size", numbers)
        object.__setattr__(self, "position", place.position)
        object.__setattr__(self, "rotation", place.rotation)
        object.__setattr__(self, "rpy", None)
        self.material  # noqa: B018  which checks the numbers


class PlacedShape(NamedTuple):
    """A shape on a link: its pose in the link's frame, and whose it is.

    A "hull" is a mesh, as those corners (`points`, in the axes of the shape) of its convex hull that touch. `source` is
    the shape of the model that it stands for, None where it was added.
    """

    name: str
    body: str
    link: int
    pose: Transform
    kind: str
    size: tuple[float, ...]
    material: Material
    points: tuple[Three, ...] = ()
    source: BodyShape | None = None


Hulls = Callable[[Geometry], Hull]


class OfModel(NamedTuple):
    """Shapes of a model; which are not simulated, in words; and how far meshes reach beyond their hulls, by name."""

    shapes: list[PlacedShape]
    left: list[str]
    beyond: dict[str, float]


def _home(cluster_tree: ClusterTree, name: str, rotation: Any, position: Any) -> Location:
    link, pose = read_frame(cluster_tree, name)
    return Location(link, multiply_out(pose.then(Transform.of(rotation, Vec(position)))))


def placed(cluster_tree: ClusterTree, shape: Shape, name: str) -> PlacedShape:
    """A shape by name as one by number."""
    link, pose = _home(cluster_tree, shape.frame, shape.rotation, shape.position)
    return PlacedShape(name, shape.frame, link, pose, shape.kind, shape.size, shape.material)


def of_body(cluster_tree: ClusterTree, mechanism: Mechanism, body: str, hulls: Hulls) -> OfModel:
    """The shapes of a body that collide; planes and height fields, which are terrain or nothing, are left out."""
    own = mechanism.world if body == WORLD else next(b for b in mechanism.bodies if b.name == body).geometry
    colliding = [(k, x) for k, x in enumerate(own) if x.role == "collision"]
    found = OfModel([], [], {})
    for k, (number, x) in enumerate(colliding):
        name = x.name or (body if len(colliding) == 1 else f"{body}/{k}")
        if x.kind in ("plane", "hfield"):
            if body != WORLD and cluster_tree.bodies[body].link != GROUND:
                found.left.append(f"{x.kind} of {body!r}, which moves")
            continue
        points, kind = (), x.kind
        if x.kind == "mesh":
            hull = _hull(body, x, hulls, found.left)
            if hull is None:
                continue
            kind, points = "hull", tuple(_tuple(row) for row in hull.points)
            found.beyond[name] = hull.beyond
        home = _at(cluster_tree, body, x)
        found.shapes.append(
            PlacedShape(name, body, *home, kind, x.size, material_of(x.surface), points, BodyShape(body, number, x))
        )
    return found


def _hull(body: str, x: Geometry, hulls: Hulls, left: list[str]) -> Hull | None:
    if not x.file:
        why = "load with folders=[...]; corners that the model file itself lists are not read"
        left.append(f"mesh of {body!r}, whose file was not found ({why})")
        return None
    try:
        return hulls(x)
    except ModelError as error:
        left.append(f"mesh of {body!r} ({error})")
        return None


def _at(cluster_tree: ClusterTree, body: str, x: Geometry) -> Location:
    rotation, position = x.placement.rotation, x.placement.position
    if body == WORLD:
        return Location(GROUND, multiply_out(Transform.of(rotation, Vec(position))))
    return _home(cluster_tree, body, rotation, position)


def material_of(s: Surface) -> Material:
    """The material of a surface in a model file: friction as far as its contacts have dimensions for it."""
    friction = s.friction if s.dimensions > 1 else 0.0
    torsion, rolling = (s.torsion if s.dimensions > 3 else None), (s.rolling if s.dimensions > 4 else None)
    return Material(friction, torsion, rolling, s.restitution, s)


def _tuple(x: Sequence[Any]) -> Three:
    a, b, c = (float(y) for y in x)
    return (a, b, c)


def balls(shape: PlacedShape) -> list[tuple[Three, float]]:
    """Centres (in the link's frame) and radii of the balls and points that stand for a shape at its surface."""
    pose, size = shape.pose, shape.size
    if shape.kind == "point":
        return [(_tuple(pose.p), 0.0)]
    if shape.kind == "sphere":
        return [(_tuple(pose.p), size[0])]
    if shape.kind == "capsule":
        return [(_tuple(pose.point(Vec((0.0, 0.0, end * size[1])))), size[0]) for end in (0.5, -0.5)]
    if shape.kind == "hull":
        return [(_tuple(pose.point(Vec(x))), 0.0) for x in shape.points]
    corners = product((0.5, -0.5), repeat=3)
    return [(_tuple(pose.point(Vec([a * b for a, b in zip(x, size, strict=True)]))), 0.0) for x in corners]


def on_terrain(shape: PlacedShape, terrain: Terrain, sectors: bool = True) -> Iterator[Any]:
    """The geometries with which a shape touches what does not move; `sectors`: rims with a point in each sector."""
    if shape.kind == "cylinder":
        radius, length = shape.size
        axis = _tuple(shape.pose.rotate(Vec((0.0, 0.0, 1.0))))
        for end in (0.5, -0.5):
            centre = _tuple(shape.pose.point(Vec((0.0, 0.0, end * length))))
            yield from on_rim(centre, axis, radius, terrain, sectors)
    elif shape.kind == "ellipsoid":
        rotation = tuple(_tuple(row) for row in shape.pose.R)
        x, y, z = shape.size
        yield EllipsoidOnTerrain(_tuple(shape.pose.p), rotation, (x, y, z), terrain)
    else:
        yield from (BallOnTerrain(at, radius, terrain) for at, radius in balls(shape))


def reach(shape: PlacedShape) -> float:
    """The largest distance (m) of a point of a shape from the origin of its link."""
    size = shape.size
    own = {
        "point": 0.0, "sphere": sum(size), "capsule": sum(size[:1]) + 0.5 * sum(size[1:]),
        "hull": max((float(np.linalg.norm(x)) for x in shape.points), default=0.0), "ellipsoid": max(size, default=0.0),
        "cylinder": float(np.hypot(sum(size[:1]), 0.5 * sum(size[1:]))),
    }  # fmt: skip
    half = 0.5 * float(np.linalg.norm(size)) if shape.kind == "box" else own[shape.kind]
    return half + float(np.linalg.norm([float(x) for x in shape.pose.p]))


def moves(shape: PlacedShape) -> bool:
    """Whether a shape is on something that moves."""
    return shape.link != GROUND
