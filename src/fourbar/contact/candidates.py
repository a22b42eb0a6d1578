"""Candidates of contacts, fixed when the step is made, each with the geometry that finds gap and normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..expr import Direct, select
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND
from ..tree.parameters import Parameter

APART = 1e30  # the gap of a point that is not there: two boxes may touch at eight, or at one
_CLOSER, _CLOSE = 1e-2, 1e-10  # where the solver stops: at so much of the tolerance, or at so many m/s


class Touch(NamedTuple):
    """A contact: the gap (negative inside), the point where it acts, and the normal, from the second to the first."""

    gap: Scalar
    point: Vec
    normal: Vec


def reported_gaps(gaps: np.ndarray) -> np.ndarray:
    """Gaps as they are reported: infinite where there is no point."""
    return np.where(gaps < APART, gaps, np.where(np.isnan(gaps), gaps, np.inf))


class ContactGeometry(Protocol):
    """Finds the contact of two things from the poses of their links."""

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        ...


class Manifold:
    """Finds all contacts of two shapes at once; how many there may be is fixed, and those that are not there have the
    gap APART. `closed`: whether that is a formula, which has derivatives, and no search."""

    closed: ClassVar[bool] = True

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        return self.record(Direct(), (first, second))

    def record(self, recorder: Any, poses: tuple[Transform, Transform]) -> tuple[Touch, ...]:
        """The contacts, in the world, as steps of a recorder: one, if the formula is closed."""
        return recorder.call(touch_all, self, poses)


def touch_all(manifold: Manifold, poses: tuple[Transform, Transform]) -> tuple[Touch, ...]:
    """The contacts of two shapes, in the world."""
    return manifold.touches(*poses)


@dataclass(frozen=True)
class OneOf:
    """One of the contacts of two shapes."""

    manifold: Any
    k: int

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        return self.manifold.touches(first, second)[self.k]


def axes_of(n: Vec) -> tuple[Vec, Vec]:
    """Two unit vectors across a normal, which with it form axes; smooth but where n turns through z = 0."""
    x, y, z = n
    sign = select(z >= 0.0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    return Vec((1.0 + sign * x * x * a, sign * b, -sign * x)), Vec((b, sign + y * y * a, -y))


class Footing(NamedTuple):
    """On which terrain, by number, something stands; and the friction that it brings itself, of which and of that of
    the terrain the larger acts: None where the terrain's does not count.
    """

    terrain: int
    friction: float | None


class ContactKind(NamedTuple):
    """What the equations of a contact depend on besides numbers: candidates of a kind share their code."""

    moving: tuple[bool, bool]  # whether the first link and the second one move
    sliding: bool
    torsion: bool
    rolling: bool
    law: Any
    on_terrain: bool
    steady: bool
    lever: float  # m, of rows that turn

    def directions(self, axes: tuple[Vec, ...]) -> list[tuple[Vec, bool]]:
        """The direction of each row of a contact with given axes, and whether it is that of a moment, as long as its
        lever."""
        normal, *across = axes
        found = [(normal, False)]
        found += [(x, False) for x in across] if self.sliding else []
        found += [(normal * self.lever, True)] if self.torsion else []
        return found + ([(x * self.lever, True) for x in across] if self.rolling else [])


@dataclass(frozen=True)
class Candidate:
    """Two links that may touch (GROUND for what does not move), how that is found, and the numbers of their surfaces.

    `torsion` and `rolling` (m) are None where no such friction is asked for, `footing` where no terrain is touched.
    `reach` (m): how far its shapes reach.
    """

    name: str
    links: tuple[int, int]
    geometry: ContactGeometry
    friction: float
    torsion: float | None
    rolling: float | None
    restitution: float
    law: Any
    footing: Footing | None = None
    reach: float = 0.0

    @property
    def on_terrain(self) -> bool:
        """Whether its point is that of a shape on terrain; of two shapes it is halfway between them."""
        return hasattr(self.geometry, "terrain")

    @property
    def steady(self) -> bool:
        """Whether its gap changes by the velocity along the normal alone, so that what enters has moved there.

        It does not where the point moves along its shape, nor on terrain whose gaps are not distances.
        """
        return not self.on_terrain or self.geometry.steady  # type: ignore[attr-defined]  (of what is on terrain)

    @property
    def kind(self) -> ContactKind:
        """Its kind."""
        first, second = (link != GROUND for link in self.links)
        frictions = (self.friction > 0.0, bool(self.torsion), bool(self.rolling))
        return ContactKind((first, second), *frictions, self.law, self.on_terrain, self.steady, float(self.lever))

    @property
    def discs(self) -> tuple[int, ...]:
        """Number of rows of each kind of friction."""
        found = (2,) if self.friction > 0.0 else ()
        found += (1,) if self.torsion else ()
        return (*found, 2) if self.rolling else found

    @property
    def bounds(self) -> list[float]:
        """Bounds of each kind of friction, per unit of normal force; those of moments are forces at the lever."""
        return [x for x in (self.friction, *((x or 0.0) / self.lever for x in (self.torsion, self.rolling))) if x]

    @property
    def lever(self) -> float:
        """The length (m) by which rows that turn are weighed: their velocities are m/s there, as those of others, so
        that no decision of the solver depends on units."""
        return self.reach or max(self.torsion or 0.0, self.rolling or 0.0) or 1.0


@dataclass(frozen=True)
class JointRow:
    """A velocity of a joint with limits of its coordinate, or dry friction; how soft they are, if they are."""

    name: str
    link: int
    entry: int
    lower: float
    upper: float
    friction: float
    soft: Any = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Its limits, None where there is none."""
        lower, upper = (None if np.isinf(x) else float(x) for x in (self.lower, self.upper))
        return lower, upper


class Spec(NamedTuple):
    """The contacts of a step: candidates, rows of joints, how well it is solved, MuJoCo's integrator if the law is
    MuJoCo's, constraints that forces keep, and which numbers of terrain are given with each sample."""

    candidates: tuple[Candidate, ...]
    joints: tuple[JointRow, ...]
    bounce_above: float = 0.01
    tolerance: float = 1e-8
    sweeps: int = 3
    rounds: int = 200
    soft: str = ""
    kept: tuple[Any, ...] = ()
    numbers: tuple[Parameter, ...] = ()

    @property
    def aim(self) -> float:
        """The residual (m/s) at which the solver stops: a hundredth of the tolerance, within which a step counts as
        solved, but no less than is reached in most steps, unless the tolerance itself is less.
        """
        return min(self.tolerance, max(_CLOSER * self.tolerance, _CLOSE))
