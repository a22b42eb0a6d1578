"""The parts of a kind of shape. Each has its origin and axes; what it lacks is refused by name."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from ..errors import ModelError
from ..spatial.linear import Scalar, Vec, dot

Three = tuple[float, float, float]


class SurfacePoint(NamedTuple):
    """The distance of a point from a surface (negative inside), and the direction out of it."""

    gap: Scalar
    normal: Vec


class Chord(NamedTuple):
    """The first and the last t of a line inside a shape; empty where the first is above the last."""

    first: Scalar
    last: Scalar


class Triangles(NamedTuple):
    """A closed surface: vertices (n, 3) in metres, faces (m, 3) by number of vertex, anticlockwise from outside; unit
    normals (n, 3) where the surface is smooth everywhere, else None."""

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray | None = None


class MassMoments(NamedTuple):
    """Mass, first moment m c and second moments Σ = ∫ r rᵀ dm about the origin of some frame."""

    m: float
    h: np.ndarray
    Sigma: np.ndarray

    def move_to(self, R: np.ndarray, p: np.ndarray) -> MassMoments:
        """The moments in a frame in which this one is at (R, p)."""
        h = R @ self.h
        across = np.outer(h, p)
        return MassMoments(self.m, h + self.m * p, R @ self.Sigma @ R.T + across + across.T + self.m * np.outer(p, p))

    def about_com(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass, and the rotational inertia about it (3 x 3)."""
        c = self.h / self.m
        central = self.Sigma - self.m * np.outer(c, c)
        central = 0.5 * (central + central.T)
        return self.m, c, np.trace(central) * np.eye(3) - central


def even_moments(volume: float, *squares: float) -> MassMoments:
    """The moments of a shape of unit density, centred and symmetric, with these mean values of x², y², z²."""
    return MassMoments(volume, np.zeros(3), volume * np.diag(squares))


def moments_of_faces(vertices: np.ndarray, faces: np.ndarray) -> MassMoments:
    """The moments of the inside of a closed surface (vertices (n, 3), faces (m, 3)): tetrahedra that its faces span."""
    corners = vertices[faces]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    det = np.einsum("ni,ni->n", a, np.cross(b, c))
    s = a + b + c
    six = np.einsum("n,ni,nj->ij", det, s, s) + np.einsum("n,nki,nkj->ij", det, corners, corners)
    volume = det.sum() / 6.0
    sign = np.sign(volume)  # all faces may be oriented inwards
    return MassMoments(sign * volume, sign * (det @ s) / 24.0, sign * six / 120.0)


@dataclass(frozen=True)
class BallFeature:
    """A ball, or a point (of radius zero), that touches terrain for a shape."""

    at: Three
    radius: float = 0.0


@dataclass(frozen=True)
class RimFeature:
    """A circle that touches terrain for a shape: its centre, the unit vector along its axis, and its radius."""

    centre: Three
    axis: Three
    radius: float


@dataclass(frozen=True)
class RoundFeature:
    """A smooth shape that touches terrain where its support is."""

    of: ShapeType


class FileWords(NamedTuple):
    """The words of URDF and SDF for a shape: its tag, and how many of its sizes each attribute (URDF) or child (SDF)
    holds, in order."""

    tag: str
    parts: tuple[tuple[str, int], ...]


_PARTS = {  # what is missing, by the name of the method
    "support": "farthest point in a direction, so that it touches no other shapes",
    "distance": "signed distance, so that it is no terrain",
    "chord": "part of a line inside it, so that no ray finds it",
    "on_terrain": "points that touch terrain",
    "moments": "volume, hence no mass",
    "triangles": "surface that can be drawn",
}


@dataclass(frozen=True)
class ShapeType(ABC):
    """A shape with its sizes; subclasses are dataclasses whose fields are the sizes in metres.

    Class variables: `kind`, its name in models; `sizes`, the meaning of its numbers; `in_models`, whether models may
    hold it; `words`, those of URDF and SDF, of which the first is written; `mjcf`, how many times a number of MuJoCo
    each of its sizes is, None if MuJoCo does not know the shape; `is_terrain`, whether it is without end and can only
    be what others stand on.
    """

    kind: ClassVar[str]
    sizes: ClassVar[tuple[str, ...]] = ()
    in_models: ClassVar[bool] = True
    words: ClassVar[tuple[FileWords, ...]] = ()
    mjcf: ClassVar[tuple[float, ...] | None] = None
    is_terrain: ClassVar[bool] = False

    @classmethod
    def of(cls, shape: Any) -> ShapeType:
        """The shape of a geometry of a model."""
        return cls(*shape.size)

    @property
    def parameters(self) -> Any:
        """All numbers that say what the shape is, nested."""
        return self.numbers

    @classmethod
    def of_parameters(cls, parameters: Any) -> ShapeType:
        """A shape of the kind, with parameters of any scalar."""
        return cls(*parameters)

    @property
    def title(self) -> str:
        """Its kind in messages."""
        return self.kind.replace("_", " ")

    @property
    def numbers(self) -> tuple[float, ...]:
        """Its sizes (m)."""
        return tuple(getattr(self, x.name) for x in fields(self)[: len(self.sizes)])

    def lacks(self, part: str) -> NoReturn:
        """Refuse a use of the shape for which it has no such part."""
        raise ModelError(
            f"{article(self.kind)} {self.title} has no {_PARTS[part]}: its class {type(self).__name__} lacks `{part}`"
        )

    def support(self, n: Vec) -> Vec:
        """The point of the shape that is farthest along a direction, of any length but zero."""
        self.lacks("support")

    def support_rate(self, n: Vec, t: Vec) -> Vec:
        """The derivative of `support` at a unit n along t: zero where the shape has corners."""
        return Vec((0.0, 0.0, 0.0))

    def flat_directions(self, points: list[Vec]) -> list[Vec]:
        """Directions in which the shape is flat at a place that is between three support points."""
        return []

    def align(self, n: Vec, point: Vec) -> Vec:
        """The point that is farthest along n of the surface around a support point: the point itself at a corner."""
        return point

    def distance(self, x: Vec) -> SurfacePoint:
        """The signed distance of a point, and the direction out."""
        self.lacks("distance")

    def chord(self, x: Vec, d: Vec) -> Chord:
        """The part of the line x + t d that is inside."""
        self.lacks("chord")

    def on_terrain(self) -> tuple[BallFeature | RimFeature | RoundFeature, ...]:
        """The features that touch terrain for the shape."""
        self.lacks("on_terrain")

    def moments(self) -> MassMoments:
        """Volume and its moments: those of the mass at unit density."""
        self.lacks("moments")

    def triangles(self, sides: int = 24) -> Triangles:
        """Its surface, with that many sides around what is round."""
        self.lacks("triangles")

    @property
    def rounding(self) -> tuple[ShapeType, float]:
        """The shape as all points within a distance of a smaller one: that shape, and the distance."""
        return self, 0.0

    @classmethod
    def has(cls, part: str) -> bool:
        """Whether shapes of the kind have a part, by the name of its method."""
        return getattr(cls, part) is not getattr(ShapeType, part)

    @classmethod
    def is_of_numbers(cls) -> bool:
        """Whether its sizes say all of it, and it ends somewhere."""
        return len(fields(cls)) == len(cls.sizes) and not cls.is_terrain

    @property
    def reach(self) -> float:
        """The largest distance (m) of a point of the shape from its origin, or more: by default that of the corners of
        its extents."""
        return float(np.linalg.norm(np.abs(self.extents).max(axis=0)))

    @property
    def extents(self) -> tuple[Three, Three]:
        """The least and the largest x, y, z of its points."""
        low, high = [], []
        for k in range(3):
            e = Vec([float(i == k) for i in range(3)])
            high.append(float(self.support(e)[k]))
            low.append(float(self.support(-e)[k]))
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def article(kind: str) -> str:
    """a or an."""
    return "an" if kind[:1] in "aeiou" else "a"


def reach_along(shape: ShapeType, n: Vec) -> Scalar:
    """How far a shape reaches along a direction n: the largest n · x."""
    return dot(shape.support(n), n)
