"""A motion to be shown: a robot, its configurations over time in one world or many, its ground and contacts; and
batches of rotations as quaternions.

`draw`: the drawing of a robot, from its shapes or as sticks, with all that can be shown besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import refuse_lazy
from ..contact.shapes import Shape
from ..contact.terrain import Terrain
from ..errors import ArgumentError, unknown, warn
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import WORLD, Mechanism
from ..mechanism.placement import Placement
from ..spatial.groups import so3
from ..spatial.linear import Mat, Vec
from ..spatial.rotation import quaternion_matrix
from . import overlays, triangles
from .drawing import GROUND, LOST, Drawing, Item, Rod, ShapeItems, bounding_box, is_shown, matrix, places
from .look import tile
from .mesh_files import Colour
from .overlays import coloured_clusters, paint_clusters
from .sticks import Sticks
from .terrain_surfaces import FAR, FLAT, TERRAIN, floor_radius, ground_items, motion_box
from .triangles import TriangleSurface

if TYPE_CHECKING:
    from ..system.system import System

OWN, CLUSTERS = "shapes", "clusters"  # whose colours are drawn
COLOURS = (OWN, CLUSTERS)


def draw(
    robot: System,
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
    own_shapes, scene_shapes = [body.geometry for body in mechanism.bodies], _given_shapes(mechanism, touching)
    whole = [(*a, *b) for a, b in zip(own_shapes, scene_shapes, strict=True)]
    visual, collision = is_shown(mechanism, own_shapes, "visual"), is_shown(mechanism, whole, "collision")
    rods: list[Rod] = sticks.rods()
    first_rod = len(mechanism.bodies) + 1
    world = first_rod + len(rods)
    shapes = ShapeItems(sticks.size)
    items: list[Item] = []
    looks = [
        _of(own_shapes[k], "visual") if visual else _of(whole[k], "collision") if collision else list(scene_shapes[k])
        for k in range(len(own_shapes))
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


def _given_shapes(mechanism: Mechanism, touching: Sequence[Shape]) -> list[list[Geometry]]:
    """Shapes of a scene by body; points, which have no size, are left out."""
    homes = {frame.name: (frame.body, matrix(frame.placement)) for frame in mechanism.frames}
    homes |= {body.name: (body.name, np.eye(4)) for body in mechanism.bodies}
    by_body: dict[str, list[Geometry]] = {body.name: [] for body in mechanism.bodies}
    for shape in touching:
        body, at = homes.get(shape.frame, ("", np.eye(4)))
        if body in by_body and shape.kind != "point":
            T = at @ matrix(shape)
            kind: Any = shape.kind
            turn, where = T[:3, :3].tolist(), T[:3, 3].tolist()
            by_body[body].append(Geometry(kind, shape.size, Placement(turn, where), "collision"))
    return list(by_body.values())


_MOST_WORLDS = 64  # that are drawn
_WEIGHT, _LONGEST_FORCE = 0.8, 1.6  # lengths of arrows, in sizes of the robot: of its weight, and at most
_LOOKS = 60  # times at which is looked where a motion goes
GHOST = 0.18  # opacity of copies at other times
_FORCE: Colour = (0.95, 0.35, 0.05, 1.0)


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Configurations q (n, worlds, nq) at times t (n), and contacts at `points` with `forces` (n, worlds, k, 3).

    `terrains` is what it stands on, `ground` more of that as surfaces; `touching` are shapes that its scene gave it.
    `spread` is the distance (m) of worlds that are drawn side by side; zero draws them in one place. `colour` says
    whose colours are drawn: those of the shapes, or of the clusters. `followed` names the body that a camera may
    follow; if empty the base, where that moves freely.
    """

    robot: System
    t: np.ndarray
    q: np.ndarray
    terrains: tuple[Terrain, ...] = ()
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 3)))
    forces: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 3)))
    spread: float = 0.0
    ground: tuple[TriangleSurface, ...] = ()
    touching: tuple[Shape, ...] = ()
    colour: str = OWN
    followed: str = ""

    def __post_init__(self) -> None:
        if self.q.ndim != 3 or self.q.shape[0] != len(self.t) or self.q.shape[2] != self.robot.nq:
            raise ArgumentError(
                f"a recording needs times t (n) and configurations q (n, worlds, {self.robot.nq}); got t "
                f"{np.shape(self.t)} and q {self.q.shape}"
            )

    @staticmethod
    def of(robot: System | None, t: Any, q: Any, **more: Any) -> RecordedMotion:
        """From configurations (n, ..., nq): all samples of a batch are worlds. Only finite states are shown."""
        if robot is None:
            raise ArgumentError("this motion has no robot; add it with replace(run, robot=robot)")
        t, q = np.asarray(t, float), np.asarray(q, float)
        if q.ndim < 2 or q.shape[0] != len(t) or q.shape[-1] != robot.nq:
            raise ArgumentError(f"expected configurations (times, ..., {robot.nq}) at {len(t)} times, got {q.shape}")
        if 0 in q.shape[:-1]:
            raise ArgumentError("there is nothing to show: the recording has no states")
        count = int(np.prod(q.shape[1:-1]))
        worlds = q.reshape(len(t), count, robot.nq)[:, :_MOST_WORLDS]
        for name in ("points", "forces"):
            if name in more:
                x = np.asarray(more[name], float)
                more[name] = x.reshape(len(t), count, *x.shape[-2:])[:, :_MOST_WORLDS]
        return RecordedMotion(robot, t, hold_last_finite(worlds, robot.model.neutral()), **more)

    @property
    def duration(self) -> float:
        """The time (s) from the first state to the last."""
        return float(self.t[-1] - self.t[0])

    def at(self, time: float) -> int:
        """The number of the state nearest to a time (s) after the start."""
        return int(np.abs(self.t - self.t[0] - time).argmin())

    @property
    def worlds(self) -> int:
        """Number of worlds that are drawn."""
        return self.q.shape[1]

    @cached_property
    def _drawing(self) -> Drawing:
        return draw(
            self.robot, self.q[0, 0], self.terrains, self.ground, self.touching, self._motion_boxes, self.colour
        )

    def drawing(self) -> Drawing:
        """The drawing of the robot."""
        return self._drawing

    def surfaces(self) -> tuple[TriangleSurface, ...]:
        """The ground as surfaces, but for shapes of the world, which the robot has."""
        return (*(x.solid for x in self._drawing.items if x.name.startswith(TERRAIN)), *self.ground)

    @cached_property
    def _origins(self) -> np.ndarray:
        """Where the bodies' origins are (n, worlds, bodies, 3), at some times from the first to the last."""
        which = np.unique(np.linspace(0, len(self.t) - 1, _LOOKS).round().astype(int))
        return np.asarray(self.robot.poses(self.q[which]), float)[..., :3, 3]

    @cached_property
    def _motion_boxes(self) -> np.ndarray:
        """The boxes around the bodies' origins in all worlds at the start, and at all times: (2, 2, 3)."""
        where = self._origins + self.offsets()[:, None]
        if not where.size:
            return np.zeros((2, 2, 3))
        return np.array([[x.reshape(-1, 3).min(axis=0), x.reshape(-1, 3).max(axis=0)] for x in (where[0], where)])

    def floor(self, drawing: Drawing) -> tuple[np.ndarray, float]:
        """The middle of the floor, and the radius (m) within which it is seen."""
        box = motion_box(drawing.bounds, self._motion_boxes, drawing.size)
        return box.mean(axis=0), floor_radius(box, drawing.size)

    @cached_property
    def _base(self) -> int | None:
        """The number of the body that is named, or with which the robot moves as a whole, if it is free."""
        number = {b.name: k for k, b in enumerate(self.robot.mechanism.bodies)}
        free = [number[j.child] for j in self.robot.mechanism.joints if j.parent == WORLD and j.joint.nv == 6]
        named = [number[self.followed]] if self.followed else free
        return named[0] if named and len(self.t) > 1 else None

    def follows(self, wanted: bool | None) -> bool:
        """Whether the camera follows the base: as wanted, or (None) if it goes too far to show the whole motion."""
        if wanted is not None and not isinstance(wanted, bool | np.bool_):
            raise ArgumentError(f"follow={wanted!r}: expected the name of a body, True, False or None")
        if self._base is None:
            return False
        path = self._origins[:, :, self._base]
        far = float(np.linalg.norm(path - path[0], axis=-1).max())
        return far > FAR * self.drawing().size if wanted is None else bool(wanted)

    @property
    def base(self) -> int | None:
        """The number of the body that a camera may follow; None where none is named and nothing moves freely."""
        return self._base

    @property
    def base_title(self) -> str:
        """The name of that body on pages."""
        return self.followed or "the base"

    def base_shift(self, k: int) -> np.ndarray:
        """How far (3) the base of the first world has moved at state k since the start."""
        if self._base is None:
            return np.zeros(3)
        where = np.asarray(self.robot.poses(self.q[[0, k], 0]), float)[:, self._base, :3, 3]
        return where[1] - where[0]

    def offsets(self) -> np.ndarray:
        """Where the worlds are drawn (worlds, 3): side by side in a square, or all in one place."""
        side = int(np.ceil(np.sqrt(self.worlds)))
        k = np.arange(self.worlds)
        grid = np.stack([k % side, k // side, 0 * k], axis=1).astype(float)
        return (grid - grid.mean(axis=0)) * self.spread

    def sample(self, rate: float) -> RecordedMotion:
        """At most `rate` states per second, evenly chosen from those recorded."""
        count = max(2, int(np.ceil(self.duration * rate)) + 1)
        if len(self.t) <= count:
            return self
        wanted = np.linspace(self.t[0], self.t[-1], count)
        chosen = np.unique(np.abs(self.t[:, None] - wanted[None]).argmin(axis=0)) if len(self.t) < 20_000 else (
            np.unique(np.clip(np.searchsorted(self.t, wanted), 0, len(self.t) - 1)))  # fmt: skip
        more = {name: x[chosen] for name in ("points", "forces") if len(x := getattr(self, name))}
        return replace(self, t=self.t[chosen], q=self.q[chosen], **more)

    def places(self, drawing: Drawing, which: Any = slice(None)) -> np.ndarray:
        """Poses (n, worlds, places, 4, 4) at chosen times, each world at its own offset; the ground stays."""
        found = drawing.places(self.q[which])
        found[..., :-1, :3, 3] += self.offsets()[:, None]
        return found

    def bounds(self, drawing: Drawing) -> np.ndarray:
        """The box (2, 3) to look at: the robot at the start, and where all worlds go, but for what goes very far."""
        low, high = drawing.bounds + np.array([self.offsets().min(axis=0), self.offsets().max(axis=0)])
        return motion_box(np.array([low, high]), self._motion_boxes, drawing.size)

    def arrows(self, size: float, which: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Contact forces as arrows: poses (n, worlds, k, 4, 4) with z along the force, and lengths (n, worlds, k).

        The weight of the robot is nearly as long as the robot (without weight, the largest force), so that an arrow
        comes out of the body on which it acts; none is longer than twice that.
        """
        points, forces = np.nan_to_num(self.points[which]), np.nan_to_num(self.forces[which])
        poses = triangles.pointing(forces, points + self.offsets()[:, None])
        length = np.linalg.norm(forces, axis=-1) * self.force_length(size)
        return poses, np.minimum(length, _LONGEST_FORCE * size)

    def force_length(self, size: float) -> float:
        """The length (m) of the arrow of a force of 1 N, at a robot of such a size."""
        mechanism = self.robot.mechanism
        weight = sum(b.mass for b in mechanism.bodies) * float(np.linalg.norm(mechanism.gravity))
        unit = weight or float(np.nanmax(np.linalg.norm(self.forces, axis=-1), initial=0.0)) or 1.0
        return _WEIGHT * size / unit

    def colours_used(self) -> list[tuple[str, Colour]]:
        """Titles and colours of clusters, where these are drawn."""
        return [(x.title, x.colour) for x in coloured_clusters(self.robot)] if self.colour == CLUSTERS else []

    @property
    def force_colour(self) -> Colour:
        """The colour of the arrows."""
        return _FORCE


def apart(recording: RecordedMotion, distance: Any) -> RecordedMotion:
    """The recording with its worlds at such a distance (m) from each other."""
    if not isinstance(distance, int | float | np.number) or not 0.0 <= distance < np.inf:
        raise ArgumentError(f"spread={distance!r}: expected a distance (m) of worlds, zero or more")
    return replace(recording, spread=float(distance))


def colour_recording(recording: RecordedMotion, colour: Any) -> RecordedMotion:
    """The recording in the colours of its shapes or of its clusters."""
    if colour not in COLOURS:
        raise ArgumentError(f"colour={colour!r}: expected {' or '.join(map(repr, COLOURS))}")
    return replace(recording, colour=colour)


def following(recording: RecordedMotion, follow: Any) -> tuple[RecordedMotion, Any]:
    """The recording with the body that a camera follows, where `follow` names one; and whether it follows it."""
    if not isinstance(follow, str):
        return recording, follow
    bodies = recording.robot.names.bodies
    if follow not in bodies:
        raise unknown("body to follow", follow, bodies)
    return replace(recording, followed=follow), True


def hold_last_finite(q: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Configurations (n, ..., nq) in which those that are not finite are replaced by the last finite ones before."""
    good = np.isfinite(q).all(axis=-1)
    if good.all():
        return q
    n = np.where(good, np.arange(len(q)).reshape(-1, *[1] * (good.ndim - 1)), -1)
    last = np.maximum.accumulate(n, axis=0)
    found = np.take_along_axis(q, np.maximum(last, 0)[..., None], axis=0)
    return np.where((last >= 0)[..., None], found, start)


def still(
    robot: System, q: Any = None, terrains: Sequence[Terrain] = (), touching: Sequence[Shape] = ()
) -> RecordedMotion:
    """A robot that stands at q (neutral if None), or at several configurations (..., nq), drawn in one place."""
    refuse_lazy("view", q=q)
    q = np.asarray(robot.model.neutral() if q is None else q, float)
    if q.shape[-1:] != (robot.nq,):
        raise ArgumentError(f"q has shape {q.shape}, expected (..., {robot.nq})")
    if not np.isfinite(q).all():
        raise ArgumentError("q is NaN or infinite; finite configurations are shown")
    more = {"terrains": tuple(terrains), "touching": tuple(touching)}
    return RecordedMotion.of(robot, np.zeros(1), q[None] if q.ndim > 1 else q[None, None], **more)


def warn_of_missing(notes: tuple[str, ...]) -> None:
    """One line about meshes that could not be shown."""
    if notes:
        first, *others = notes
        more = f" (and {len(others)} more like it)" if others else ""
        warn(f"view: {first}{more}; boxes are drawn instead", UserWarning)


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), in the order w, x, y, z with w ≥ 0, of rotation matrices (..., 3, 3)."""
    R = np.asarray(R, float)
    return np.stack(so3.from_matrix(Mat(Vec(R[..., i, j] for j in range(3)) for i in range(3))), axis=-1)


def continuous(quaternion: np.ndarray) -> np.ndarray:
    """Quaternions over time (first axis) with continuous signs."""
    turn = np.sign(np.einsum("n...i,n...i->n...", quaternion[1:], quaternion[:-1]))
    sign = np.cumprod(np.concatenate([np.ones((1, *turn.shape[1:])), np.where(turn < 0.0, -1.0, 1.0)]), axis=0)
    return quaternion * sign[..., None]


def matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4), w first, of any length but zero."""
    rows = quaternion_matrix(tuple(np.moveaxis(np.asarray(quaternion, float), -1, 0)))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
