"""Shapes on the links of a robot: those of its model, and those that are added by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..functions.options import read_frame
from ..mechanism.contact import Surface
from ..mechanism.contact_pairs import BodyShape
from ..mechanism.geometry import Geometry, Hull
from ..mechanism.mechanism import WORLD, Mechanism
from ..mechanism.validate import read_placement
from ..shapes.base import BallFeature, RimFeature, ShapeType
from ..shapes.hull import ConvexHull
from ..shapes.registry import TYPES, read_shape
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND, ClusterTree, Location, multiply_out
from .rims import on_rim
from .round_shapes import BallOnTerrain, RoundOnTerrain
from .terrain import Material, OfMaterial, Terrain

Three = tuple[float, float, float]


@dataclass(frozen=True)
class Shape(OfMaterial):
    """A shape that may touch, on a frame or body by name.

    Parameters
    ----------
    frame : str
        The frame or body.
    kind : str, default "point"
        One of "point", "sphere", "capsule", "box", "cylinder", "ellipsoid", or another registered shape.
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
        numbers = read_shape(f"Shape of {self.frame!r}", self.kind, self.size).numbers
        place = read_placement(f"Shape of {self.frame!r}", self.position, self.rotation, self.rpy)
        object.__setattr__(self, "size", numbers)
        object.__setattr__(self, "position", place.position)
        object.__setattr__(self, "rotation", place.rotation)
        object.__setattr__(self, "rpy", None)
        self.material  # noqa: B018  which checks the numbers


class PlacedShape(NamedTuple):
    """A shape on a link: its pose in the link's frame, and whose it is.

    `form` of a mesh is the convex hull of those of its corners that touch. `source` is the shape of the model that it
    stands for, None where it was added.
    """

    name: str
    body: str
    link: int
    pose: Transform
    form: ShapeType
    material: Material
    source: BodyShape | None = None

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.form.kind


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
    return PlacedShape(name, shape.frame, link, pose, TYPES[shape.kind](*shape.size), shape.material)


def of_body(cluster_tree: ClusterTree, mechanism: Mechanism, body: str, hulls: Hulls) -> OfModel:
    """The shapes of a body that collide; planes and height fields, which are terrain or nothing, are left out."""
    own = mechanism.world if body == WORLD else next(b for b in mechanism.bodies if b.name == body).geometry
    colliding = [(k, x) for k, x in enumerate(own) if x.role == "collision"]
    found = OfModel([], [], {})
    for k, (number, x) in enumerate(colliding):
        name = x.name or (body if len(colliding) == 1 else f"{body}/{k}")
        if x.form.is_terrain:
            if body != WORLD and cluster_tree.bodies[body].link != GROUND:
                found.left.append(f"{x.kind} of {body!r}, which moves")
            continue
        form = x.form
        if x.mesh:
            hull = _hull(body, x, hulls, found.left)
            if hull is None:
                continue
            form = ConvexHull.around(hull.points)
            found.beyond[name] = hull.beyond
        home = _at(cluster_tree, body, x)
        found.shapes.append(PlacedShape(name, body, *home, form, material_of(x.surface), BodyShape(body, number, x)))
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


def _ball(shape: PlacedShape, ball: BallFeature) -> tuple[Three, float]:
    return _tuple(shape.pose.point(Vec(ball.at))), ball.radius


def balls(shape: PlacedShape) -> list[tuple[Three, float]]:
    """Centres (in the link's frame) and radii of the balls and points that stand for a shape at its surface."""
    return [_ball(shape, x) for x in shape.form.on_terrain() if isinstance(x, BallFeature)]


def on_terrain(shape: PlacedShape, terrain: Terrain) -> Iterator[Any]:
    """The geometries with which a shape touches what does not move."""
    pose = shape.pose
    for feature in shape.form.on_terrain():
        if isinstance(feature, BallFeature):
            yield BallOnTerrain(*_ball(shape, feature), terrain)
        elif isinstance(feature, RimFeature):
            centre, axis = _tuple(pose.point(Vec(feature.centre))), _tuple(pose.rotate(Vec(feature.axis)))
            yield from on_rim(centre, axis, feature.radius, terrain)
        else:
            yield RoundOnTerrain(_tuple(pose.p), tuple(_tuple(row) for row in pose.R), feature.of, terrain)


def reach(shape: PlacedShape) -> float:
    """The largest distance (m) of a point of a shape from the origin of its link."""
    return shape.form.reach + float(np.linalg.norm([float(x) for x in shape.pose.p]))


def moves(shape: PlacedShape) -> bool:
    """Whether a shape is on something that moves."""
    return shape.link != GROUND
