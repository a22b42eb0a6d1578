"""A motion to be shown: a robot, its configurations over time in one world or many, its ground and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import refuse_lazy
from ..contact.shapes import Shape
from ..contact.terrain import Terrain
from ..errors import ArgumentError, warn
from . import triangles
from .draw_robot import draw
from .drawing import Drawing
from .mesh_files import Colour
from .terrain_surfaces import surface_of
from .triangles import TriangleSurface

_MOST_WORLDS = 64  # that are drawn
_WEIGHT, _LONGEST_FORCE = 0.8, 1.6  # lengths of arrows, in sizes of the robot: of its weight, and at most
_FORCE: Colour = (0.95, 0.35, 0.05, 1.0)


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Configurations q (n, worlds, nq) at times t (n), and contacts at `points` with `forces` (n, worlds, k, 3).

    `terrains` is what it stands on, `ground` more of that as surfaces; `touching` are shapes that its scene gave it.
    `spread` is the distance (m) of worlds that
    are drawn side by side; zero draws them in one place.
    """

    robot: Any
    t: np.ndarray
    q: np.ndarray
    terrains: tuple[Terrain, ...] = ()
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 3)))
    forces: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0, 3)))
    spread: float = 0.0
    ground: tuple[TriangleSurface, ...] = ()
    touching: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        if self.q.ndim != 3 or self.q.shape[0] != len(self.t) or self.q.shape[2] != self.robot.nq:
            raise ArgumentError(
                f"a recording needs times t (n) and configurations q (n, worlds, {self.robot.nq}); got t "
                f"{np.shape(self.t)} and q {self.q.shape}"
            )

    @staticmethod
    def of(robot: Any, t: Any, q: Any, **more: Any) -> RecordedMotion:
        """From configurations (n, ..., nq): all samples of a batch are worlds. Only finite states are shown."""
        if robot is None:
            raise ArgumentError("this motion has no robot; add it with replace(trajectory, robot=robot)")
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
        return RecordedMotion(robot, t, held(worlds, robot.neutral()), **more)

    @property
    def duration(self) -> float:
        """The time (s) from the first state to the last."""
        return float(self.t[-1] - self.t[0])

    @property
    def worlds(self) -> int:
        """Number of worlds that are drawn."""
        return self.q.shape[1]

    def drawing(self) -> Drawing:
        """The drawing of the robot."""
        return draw(self.robot, self.q[0, 0], self.terrains, self.ground, self.touching)

    def surfaces(self) -> tuple[TriangleSurface, ...]:
        """The ground as surfaces."""
        around = self.drawing().bounds
        made = (surface_of(terrain, around) for terrain in self.terrains)
        return (*(x for x in made if x is not None), *self.ground)

    def offsets(self) -> np.ndarray:
        """Where the worlds are drawn (worlds, 3): side by side in a square, or all in one place."""
        side = int(np.ceil(np.sqrt(self.worlds)))
        k = np.arange(self.worlds)
        grid = np.stack([k % side, k // side, 0 * k], axis=1).astype(float)
        return (grid - grid.mean(axis=0)) * self.spread

    def sampled(self, rate: float) -> RecordedMotion:
        """At most so many states per second: of those recorded, evenly chosen ones."""
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
        """The box (2, 3) to look at: the robot at the start, and where it goes if that is not far away."""
        which = np.unique(np.linspace(0, len(self.t) - 1, 60).round().astype(int))
        where = self.places(drawing, which)[..., :-1, :3, 3].reshape(-1, 3)
        low, high = drawing.bounds + np.array([self.offsets().min(axis=0), self.offsets().max(axis=0)])
        reach = drawing.size
        where = np.clip(where, low - reach, high + reach)
        return np.array([np.minimum(low, where.min(axis=0)), np.maximum(high, where.max(axis=0))])

    def arrows(self, size: float, which: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Contact forces as arrows: poses (n, worlds, k, 4, 4) with z along the force, and lengths (n, worlds, k).

        The weight of the robot is nearly as long as the robot (without weight, the largest force), so that an arrow
        comes out of the body on which it acts; none is longer than twice that.
        """
        points, forces = np.nan_to_num(self.points[which]), np.nan_to_num(self.forces[which])
        mechanism = self.robot.mechanism
        weight = sum(b.mass for b in mechanism.bodies) * float(np.linalg.norm(mechanism.gravity))
        unit = weight or float(np.nanmax(np.linalg.norm(self.forces, axis=-1), initial=0.0)) or 1.0
        poses = triangles.pointing(forces, points + self.offsets()[:, None])
        return poses, np.minimum(np.linalg.norm(forces, axis=-1) * (_WEIGHT * size / unit), _LONGEST_FORCE * size)

    @property
    def force_colour(self) -> Colour:
        """The colour of the arrows."""
        return _FORCE


def apart(recording: RecordedMotion, distance: Any) -> RecordedMotion:
    """The recording with its worlds at such a distance (m) from each other."""
    if not isinstance(distance, int | float | np.number) or not 0.0 <= distance < np.inf:
        raise ArgumentError(f"spread={distance!r}: expected a distance (m) of worlds, zero or more")
    return replace(recording, spread=float(distance))


def held(q: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Configurations (n, ..., nq) in which those that are not finite are replaced by the last finite ones before."""
    good = np.isfinite(q).all(axis=-1)
    if good.all():
        return q
    n = np.where(good, np.arange(len(q)).reshape(-1, *[1] * (good.ndim - 1)), -1)
    last = np.maximum.accumulate(n, axis=0)
    found = np.take_along_axis(q, np.maximum(last, 0)[..., None], axis=0)
    return np.where((last >= 0)[..., None], found, start)


def still(
    robot: Any, q: Any = None, terrains: Sequence[Terrain] = (), touching: Sequence[Shape] = ()
) -> RecordedMotion:
    """A robot that stands at q (neutral if None), or at several configurations (..., nq), drawn in one place."""
    refuse_lazy("view", q=q)
    q = np.asarray(robot.neutral() if q is None else q, float)
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
