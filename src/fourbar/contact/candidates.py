"""Candidates of contacts, fixed when the step is made, each with the geometry that finds gap and normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..expr import select, sqrt
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from ..tree.parameters import Parameter
from .terrain import Terrain

APART = 1e30  # the gap of a point that is not there: two boxes may touch at eight, or at one


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


class Manifold(Protocol):
    """Finds all contacts of two shapes at once; how many there may be is fixed, and those that are not there have the
    gap APART."""

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        ...


@dataclass(frozen=True)
class OneOf:
    """One of the contacts of two shapes."""

    manifold: Any
    k: int

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        return self.manifold.touches(first, second)[self.k]


@dataclass(frozen=True)
class BallOnTerrain:
    """A ball at a place on the first link (of radius zero: a point) against what does not move."""

    at: tuple[float, float, float]
    radius: float
    terrain: Terrain

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        centre = first.point(Vec(self.at))
        gap, normal = self.terrain.surface(centre)
        return Touch(gap - self.radius, centre - normal * self.radius, normal)


@dataclass(frozen=True)
class RimOnTerrain:
    """A point of a circle on the first link: the one nearest to what does not move, or `turn` (cos, sin) from there."""

    centre: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    turn: tuple[float, float]
    terrain: Terrain

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        centre, axis = first.point(Vec(self.centre)), first.rotate(Vec(self.axis))
        normal = self.terrain.surface(centre).normal
        down = axis * dot(axis, normal) - normal
        spare = first.rotate(Vec(_across(self.axis)))
        upright = dot(down, down) < 1e-18  # any direction is as good: three points carry it
        length = sqrt(select(upright, 1.0, dot(down, down)))
        out = Vec([select(upright, a, b / length) for a, b in zip(spare, down, strict=True)])
        cos, sin = self.turn
        point = centre + (out * cos + axis.cross(out) * sin) * self.radius
        gap, own = self.terrain.surface(point)
        return Touch(gap, point, own)


@dataclass(frozen=True)
class EllipsoidOnTerrain:
    """An ellipsoid on the first link: its point that lies deepest along the normal at its centre."""

    centre: tuple[float, float, float]
    rotation: tuple[tuple[float, ...], ...]
    half_axes: tuple[float, float, float]
    terrain: Terrain

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        pose = first.then(Transform.of(self.rotation, Vec(self.centre)))
        n = pose.unrotate(self.terrain.surface(pose.p).normal)
        squared = Vec([a * a * x for a, x in zip(self.half_axes, n, strict=True)])
        point = pose.point(squared * (-1.0 / sqrt(dot(squared, n))))
        gap, normal = self.terrain.surface(point)
        return Touch(gap, point, normal)


def _across(axis: Sequence[float]) -> tuple[float, float, float]:
    """A unit vector across another."""
    x, y, z = axes_of(Vec(axis))[0]
    return (float(x), float(y), float(z))


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


@dataclass(frozen=True)
class Candidate:
    """Two links that may touch (GROUND for what does not move), how that is found, and the numbers of their surfaces.

    `torsion` and `rolling` are None where no such friction is asked for, `footing` where no terrain is touched.
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

    @property
    def on_terrain(self) -> bool:
        """Whether its point is that of a shape on terrain; of two shapes it is halfway between them."""
        return hasattr(self.geometry, "terrain")

    @property
    def discs(self) -> tuple[int, ...]:
        """Number of rows of each kind of friction."""
        found = (2,) if self.friction > 0.0 else ()
        found += (1,) if self.torsion else ()
        return (*found, 2) if self.rolling else found

    @property
    def bounds(self) -> list[float]:
        """Bounds of each kind of friction, per unit of normal force."""
        return [x for x in (self.friction, self.torsion, self.rolling) if x]


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


class Spec(NamedTuple):
    """The contacts of a step: candidates, rows of joints, how well it is solved, whether the law
    is MuJoCo's, constraints that forces keep, and which numbers of terrain are given with each sample."""

    candidates: tuple[Candidate, ...]
    joints: tuple[JointRow, ...]
    bounce_above: float = 0.01
    tolerance: float = 1e-10
    sweeps: int = 3
    rounds: int = 200
    soft: bool = False
    kept: tuple[Any, ...] = ()
    numbers: tuple[Parameter, ...] = ()
