"""Observations of what is around: rays, and heights of terrain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..contact.terrain import HeightField, Terrain
from ..contact.terrain_rays import ray_to
from ..errors import ArgumentError
from ..expr import minimum, select, sqrt
from ..functions.context import Context
from ..functions.registry import METHODS
from ..functions.step_end import Observation, StepEnd
from ..hints import with_keyword_hints
from ..io.meshes import hull_of
from ..mechanism.geometry import Geometry
from ..shapes.base import ShapeType
from ..shapes.chords import nearest_hit
from ..shapes.hull import ConvexHull
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform

_UPRIGHT = 1e-12  # squared length of the horizontal part of an axis that has no heading
_MOST_CORNERS = 64  # of the hulls of meshes


def _pose_of(c: Context, frame: str) -> tuple[Mat, Vec]:
    """Rotation and place of a frame or body."""
    T = METHODS["pose"].record(c, **METHODS["pose"].read_options(c.model.cluster_tree, frame=frame))[0][2]
    return Mat(Vec(T[4 * i : 4 * i + 3]) for i in range(3)), Vec([T[3], T[7], T[11]])


@dataclass(frozen=True)
class VisibleShape:
    """A shape on a body that rays may hit."""

    body: str
    form: ShapeType
    rotation: tuple[tuple[float, ...], ...]
    position: tuple[float, float, float]

    def hit(self, R: Mat, p: Vec, x: Vec, d: Vec) -> Scalar:
        """The distance along a ray in the world, where the body is at (R, p)."""
        own = Transform.of(self.rotation, Vec(self.position))
        on_body = R.transpose_times(x - p), R.transpose_times(d)
        return nearest_hit(self.form.chord(own.unrotate(on_body[0] - own.p), own.unrotate(on_body[1])))


def _ray_in_world(R: Mat, p: Vec, at: Vec, along: Vec) -> tuple[Vec, Vec]:
    """A ray of a frame in the world."""
    return p + R @ at, R @ along


def _nearer(a: Scalar, b: Scalar, reach: float) -> Scalar:
    t = minimum(a, b)
    return t if reach == inf else select(t <= reach, t, inf)


@dataclass(frozen=True)
class Rays:
    """Distances along rays that are fixed to a frame."""

    frame: str
    rays: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]  # where they begin, and unit directions
    single: bool
    shapes: tuple[VisibleShape, ...]
    terrains: tuple[Terrain, ...]
    reach: float

    def shape(self, subject: Any) -> tuple[int, ...]:
        """A number for each; none for one."""
        return () if self.single else (len(self.rays),)

    def write(self, end: StepEnd) -> list[Any]:
        """The distances."""
        c, call = end.now, end.now.recorder.call
        poses = {name: _pose_of(c, name) for name in dict.fromkeys((self.frame, *(s.body for s in self.shapes)))}
        distances = []
        for at, along in self.rays:
            line = call(_ray_in_world, *poses[self.frame], Vec(at), Vec(along))
            t: Any = inf
            for terrain in self.terrains:
                t = call(_nearer, t, ray_to(c.recorder, terrain, *line), self.reach)
            for shape in self.shapes:
                t = call(_nearer, t, call(shape.hit, *poses[shape.body], *line), self.reach)
            distances.append(t)
        return distances


@dataclass(frozen=True)
class HeightScan:
    """How far terrain is below a frame, at points of a grid that turns with it about the vertical."""

    frame: str
    points: tuple[tuple[float, float], ...]
    field: HeightField

    def shape(self, subject: Any) -> tuple[int, ...]:
        """A number for each point."""
        return (len(self.points),)

    def write(self, end: StepEnd) -> list[Any]:
        """The distances."""
        c, call = end.now, end.now.recorder.call
        R, p = _pose_of(c, self.frame)
        ahead = call(_heading, R)
        below = _Below(self.field)
        return [call(below, p, ahead, x, y) for x, y in self.points]


def _heading(R: Mat) -> Vec:
    """Where the x axis leads in the horizontal plane; along x where it is upright."""
    size = R[0][0] * R[0][0] + R[1][0] * R[1][0]
    upright = size < _UPRIGHT
    once = 1.0 / sqrt(select(upright, 1.0, size))
    return Vec([select(upright, 1.0, R[0][0] * once), select(upright, 0.0, R[1][0] * once)])


@dataclass(frozen=True)
class _Below:
    """The height of a place above a field, at a point ahead and to the left."""

    field: HeightField

    def __call__(self, p: Vec, ahead: Vec, x: Scalar, y: Scalar) -> Scalar:
        at = (p[0] + ahead[0] * x - ahead[1] * y, p[1] + ahead[1] * x + ahead[0] * y)
        return p[2] - self.field.height(*at)


@with_keyword_hints
def height_scan(frame: str, points: Any, terrain: HeightField) -> Observation:
    """Observe the heights of terrain around a frame, in a grid that turns with it about the vertical.

    Parameters
    ----------
    frame : str
        Frame or body, such as the base of a legged robot.
    points : array_like, shape (m, 2)
        Places (m) along the horizontal heading of the frame's x axis, and to the left of it.
    terrain : HeightField
        The terrain.

    Returns
    -------
    Observation
        How far (m) the terrain at each place is below the origin of the frame, (m).

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> slope = fb.HeightField([[0.0, 0.0], [1.0, 1.0]])
    >>> scene = fb.Scene(b.build(), slope, contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> scan = fb.observe.height_scan("ball", [(0.0, 0.0), (0.25, 0.0)], slope)
    >>> scene.rollout([0.5, 0.5, 2.0, 1, 0, 0, 0], steps=1, observe={"scan": scan}).observations["scan"][0]
    array([1.5 , 1.25])
    """
    if not isinstance(terrain, HeightField):
        raise ArgumentError(f"observe.height_scan: terrain={terrain!r}: expected a HeightField")
    places = _read("height_scan", "points", points, 2)
    rows: Any = places.tolist()
    return HeightScan(_read_frame(frame), tuple((x, y) for x, y in rows), terrain)


@with_keyword_hints
def ray(
    frame: str, direction: Any = (0.0, 0.0, 1.0), *, at: Any = (0.0, 0.0, 0.0), scene: Any, reach: float = inf
) -> Observation:
    """Observe the distance of what a ray from a frame meets first: a rangefinder.

    Parameters
    ----------
    frame : str
        Frame or body.
    direction : array_like, shape (3,) or (n, 3)
        Directions in the axes of the frame, of any length; z by default, as of a rangefinder at a site of a file.
    at : array_like, shape (3,) or (n, 3)
        Where the rays begin (m), in the axes of the frame.
    scene : Scene, or Plane, HeightField, SignedDistance, Solid, or a sequence of these
        The surroundings. Of a scene its terrain, and the shapes that collide of all bodies but that of the frame;
        meshes as the convex hulls of at most 64 of their corners.
    reach : float, optional
        Distance (m) beyond which nothing is found.

    Returns
    -------
    Observation
        Distances (m), infinite where nothing is met: a number, or (n) for several directions. From inside a shape,
        where the ray leaves it. Planes are seen from above only.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    Notes
    -----
    Distances are exact, those of a `SignedDistance` to 1e-10 m where the function is no larger than the true distance;
    it is looked at 200 times at most.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> down = fb.observe.ray("ball", [(0.0, 0.0, -1.0), (0.0, 3.0, -4.0), (0.0, 0.0, 1.0)], scene=scene)
    >>> scene.rollout([0, 0, 2.0, 1, 0, 0, 0], steps=1, observe={"ranges": down}).observations["ranges"][0]
    array([2. , 2.5, inf])
    """
    directions, starts = _read("ray", "direction", direction, 3), _read("ray", "at", at, 3)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    if not (lengths > 0.0).all():
        raise ArgumentError(f"observe.ray: direction={direction!r}: expected directions, not zero")
    if len({len(directions), len(starts)} - {1}) > 1:
        raise ArgumentError(f"observe.ray: {len(directions)} directions and {len(starts)} places do not fit")
    if not reach > 0.0:
        raise ArgumentError(f"observe.ray: reach={reach!r}: expected a distance above zero")
    count = max(len(directions), len(starts))
    both: Any = [np.broadcast_to(x, (count, 3)).tolist() for x in (starts, directions / lengths)]
    rays = tuple((tuple(a), tuple(b)) for a, b in zip(*both, strict=True))
    shapes, terrains = _read_scene(frame, scene)
    single = np.ndim(direction) == 1 and np.ndim(at) == 1
    return Rays(_read_frame(frame), rays, single, shapes, terrains, float(reach))


def _read_frame(frame: Any) -> str:
    if not isinstance(frame, str):
        raise ArgumentError(f"observe: frame={frame!r}: expected the name of a frame or a body")
    return frame


def _read(caller: str, name: str, x: Any, size: int) -> np.ndarray:
    """An array (n, size) of finite numbers."""
    array: np.ndarray
    try:
        array = np.atleast_2d(np.asarray(x, float))
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != size or not np.isfinite(array).all():
        raise ArgumentError(f"observe.{caller}: {name}={x!r}: expected an array ({size},) or (n, {size})")
    return array


def _read_scene(frame: str, scene: Any) -> tuple[tuple[VisibleShape, ...], tuple[Terrain, ...]]:
    """The shapes and the terrain of what is there."""
    if hasattr(scene, "terrains") and hasattr(scene, "robot"):
        mechanism = scene.robot.mechanism
        own = next((x.body for x in mechanism.frames if x.name == frame), frame)
        on_bodies = [(body.name, x) for body in mechanism.bodies if body.name != own for x in body.geometry]
        shapes = [_visible_shape(name, x) for name, x in on_bodies if x.role == "collision" and not x.form.is_terrain]
        return tuple(shapes), tuple(scene.terrains)
    terrains = (scene,) if isinstance(scene, Terrain) else tuple(scene) if isinstance(scene, Sequence) else ()
    if not terrains or not all(isinstance(x, Terrain) for x in terrains):
        raise ArgumentError(f"observe.ray: scene={scene!r}: expected a Scene, or terrain such as a Plane")
    return (), terrains


def _visible_shape(body: str, x: Geometry) -> VisibleShape:
    """A shape of a model."""
    form = ConvexHull.around(hull_of(x, _MOST_CORNERS).points) if x.mesh else x.form
    place = x.placement
    return VisibleShape(body, form, tuple(map(tuple, place.rotation)), tuple(place.position))  # type: ignore[arg-type]
