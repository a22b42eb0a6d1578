"""Terrain: fixed surfaces that can be touched: a plane, a height field, any signed distance.

Each gives, for a point, its distance and the direction out of the surface: over any scalar, so that it is traced into
the step with the rest.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expr import Expr, Graph, evaluate, floor, jvp, lookup, maximum, minimum, sqrt
from ..expr.pytree import flatten, leaves, unflatten
from ..once import cached_property
from ..shapes.base import SurfacePoint as SurfacePoint
from ..spatial.linear import Scalar, Vec, dot

_TINY = 1e-60
_MOST_GIVEN = 4096  # heights that may differ from sample to sample: each costs an operation at every contact


@dataclass(frozen=True)
class Material:
    """The material of a surface: sliding friction μ, torsional and rolling friction (metres), restitution e.

    Torsional friction γ bounds the moment about the normal by γ times the normal force, rolling friction the moment
    across it. None leaves the number to the other of two surfaces that touch; where both have one, the larger acts, and
    of restitution the smaller. `soft` is all that a file says, for MuJoCo's law.
    """

    friction: float | None = None
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    soft: Any = None

    def __post_init__(self) -> None:
        for name in ("friction", "torsion", "rolling", "restitution"):
            x = getattr(self, name)
            highest = 1.0 if name == "restitution" else np.inf
            if x is not None and not (isinstance(x, Real) and 0.0 <= float(x) <= highest and np.isfinite(float(x))):
                most = "from 0 to 1" if name == "restitution" else "not negative, finite"
                raise ModelError(f"{name}={x!r}: expected a number, {most}, or None")
            object.__setattr__(self, name, None if x is None else float(x))


class OfMaterial:
    """Something that has the numbers of a material among its fields."""

    friction: float | None
    torsion: float | None
    rolling: float | None
    restitution: float | None
    soft: Any = None

    @property
    def material(self) -> Material:
        """Friction and restitution."""
        return Material(self.friction, self.torsion, self.rolling, self.restitution, self.soft)


@dataclass(frozen=True)
class Terrain(ABC):
    """Something that does not move. `material` is its surface's.

    `flat`: it is a plane. `steady`: gaps are distances, so that the gap of a point changes by its velocity along the
    normal and by nothing else. `looks`: how often it is looked at for a ball, each time nearer to where it touches.
    """

    flat: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    looks: ClassVar[int] = 1

    @property
    @abstractmethod
    def material(self) -> Material:
        """Friction and restitution."""

    @abstractmethod
    def surface(self, point: Vec) -> SurfacePoint:
        """The distance of a point of the world from it, and the direction out."""

    @property
    def variable(self) -> dict[str, Any]:
        """The numbers that may differ from sample to sample, besides friction: nested tuples by name."""
        return {}

    def surface_with(self, point: Vec, numbers: Mapping[str, Any]) -> SurfacePoint:
        """The terrain with other numbers, nested tuples of scalars by name; those that are not given are its own."""
        assert not numbers, f"{type(self).__name__} has no numbers that may differ: {[*numbers]}"
        return self.surface(point)


def _three(what: str, x: Any) -> tuple[float, float, float]:
    try:
        found = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        found = np.full(3, np.nan)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise ModelError(f"{what}={x!r}: expected three finite numbers")
    a, b, c = found.tolist()
    return (a, b, c)


@dataclass(frozen=True)
class Plane(OfMaterial, Terrain):
    """A plane, below which everything is solid; the floor z = 0 by default.

    Parameters
    ----------
    friction : float or None, default 0.8
        Coefficient of sliding friction. None leaves it, and likewise the numbers below, to the other surface; where
        both have one, the larger acts, of restitution the smaller.
    point : array_like, shape (3,)
        A point of the plane (m).
    normal : array_like, shape (3,)
        The direction out of it, of any length.
    torsion : float, optional
        Torsional friction (m): the moment about the normal is at most so many times the normal force.
    rolling : float, optional
        Rolling friction (m), likewise of the moment across the normal.
    restitution : float, optional
        Part of the normal velocity, from 0 to 1, with which what touches leaves.
    soft : Surface, optional
        All that a model file says of its surface, for MuJoCo's law.

    Raises
    ------
    ModelError
        If a number is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> slope = fb.Plane(friction=0.5, normal=(0.3, 0.0, 1.0))
    """

    flat: ClassVar[bool] = True
    steady: ClassVar[bool] = True

    friction: float | None = 0.8
    point: Any = (0.0, 0.0, 0.0)
    normal: Any = (0.0, 0.0, 1.0)
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    soft: Any = None

    def __post_init__(self) -> None:
        normal = np.array(_three("normal", self.normal))
        length = float(np.linalg.norm(normal))
        if not length > 0.0:
            raise ModelError(f"normal={self.normal!r}: expected a direction, not zero")
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        object.__setattr__(self, "point", _three("point", self.point))
        self.material  # noqa: B018  which checks the numbers

    def surface(self, point: Vec) -> SurfacePoint:
        normal = Vec(self.normal)
        return SurfacePoint(dot(normal, point) - dot(normal, self.point), normal)

    @property
    def variable(self) -> dict[str, Any]:
        return {"point": self.point, "normal": self.normal}

    def surface_with(self, point: Vec, numbers: Mapping[str, Any]) -> SurfacePoint:
        normal = Vec(self.normal)
        if "normal" in numbers:
            given = Vec(numbers["normal"])
            normal = given * (1.0 / sqrt(dot(given, given)))
        return SurfacePoint(dot(normal, point - Vec(numbers.get("point", self.point))), normal)


class TracedDistance(NamedTuple):
    """A function of x, y, z, and of more numbers, traced once: what it is called on, its value, its gradient."""

    inputs: tuple[Expr, ...]
    value: Scalar
    gradient: tuple[Scalar, ...]


def _traced(function: Callable[..., Any], numbers: Mapping[str, Any]) -> TracedDistance:
    """A function of x, y, z and of numbers by name, of which nominal ones are given."""
    given, shape = flatten(tuple(numbers.values()))
    inputs = Graph().inputs("p", 3 + len(given))
    named = dict(zip(numbers, unflatten(shape, iter(inputs[3:])), strict=True))
    more = "".join(f", {name}" for name in numbers)
    try:
        inspect.signature(function).bind(*inputs[:3], **named)
    except TypeError as error:
        raise ModelError(f"a signed distance is a function (x, y, z{more}) -> scalar; {function!r}: {error}") from None
    except ValueError:  # functions of other libraries may have no signature
        pass
    value = function(*inputs[:3], **named)
    if not isinstance(value, Expr | Real):
        raise ModelError(f"a signed distance is a function (x, y, z{more}) -> scalar; {function!r} returned {value!r}")
    gradient = tuple(jvp([value], {x: 1.0})[0] for x in inputs[:3])
    if all(x.__class__ is float and x == 0.0 for x in gradient):
        raise ModelError(f"the signed distance {function!r} is the same everywhere: it has no surface")
    return TracedDistance(tuple(inputs), value, gradient)


def _nested(name: str, x: Any) -> Any:
    """A number, or a vector or a table of numbers, as nested tuples of floats."""
    try:
        found = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, np.nan)
    if found.ndim > 2 or not found.size or not np.isfinite(found).all():
        raise ModelError(f"numbers: {name!r}: expected a finite number, or an array of one or two axes, got {x!r}")
    if not isinstance(name, str) or not name.isidentifier() or name in ("x", "y", "z", "friction"):
        raise ModelError(f"numbers: {name!r} cannot be the name of an argument of the function besides x, y, z")
    rows: Any = found.tolist()
    return rows if not found.ndim else tuple(tuple(row) if isinstance(row, list) else row for row in rows)


@dataclass(frozen=True)
class SignedDistance(OfMaterial, Terrain):
    """Terrain that is solid where a function of x, y, z is negative.

    Parameters
    ----------
    distance : callable
        ``distance(x, y, z)``, written over generic scalars: + - * /, `sin`, `sqrt`, ..., and `select` instead of if.
        Its derivative, found by tracing, is the normal. It need not be a true distance: it is divided by the length of
        its gradient, which is right near the surface.
    friction : float or None, default 0.8
        Coefficient of sliding friction. None leaves it, and likewise the numbers below, to the other surface; where
        both have one, the larger acts, of restitution the smaller.
    torsion : float, optional
        Torsional friction (m): the moment about the normal is at most so many times the normal force.
    rolling : float, optional
        Rolling friction (m), likewise of the moment across the normal.
    restitution : float, optional
        Part of the normal velocity, from 0 to 1, with which what touches leaves.
    numbers : mapping, optional
        Numbers, or arrays of them, by name, which the function takes as keywords besides x, y, z. In a simulation they
        may differ from sample to sample: ``numbers={"terrain.height": heights}``.

    Raises
    ------
    ModelError
        If it is no function, or the same everywhere.

    Examples
    --------
    >>> import fourbar as fb
    >>> waves = fb.SignedDistance(lambda x, y, z: z - 0.1 * fb.sin(x), friction=0.6)
    >>> dunes = fb.SignedDistance(lambda x, y, z, height: z - height * fb.sin(x), numbers={"height": 0.1})
    """

    looks: ClassVar[int] = 3

    distance: Callable[[Any, Any, Any], Any]
    friction: float | None = 0.8
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    numbers: Any = ()

    def __post_init__(self) -> None:
        if not callable(self.distance):
            raise ModelError(f"distance={self.distance!r}: expected a function (x, y, z) -> scalar")
        try:
            given = dict(self.numbers)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"numbers={self.numbers!r}: expected numbers by name, such as {{'height': 0.1}}") from None
        object.__setattr__(self, "numbers", tuple((name, _nested(name, x)) for name, x in given.items()))
        self.material  # noqa: B018
        self.traced  # noqa: B018

    @cached_property
    def traced(self) -> TracedDistance:
        """The function and its gradient."""
        return _traced(self.distance, self.variable)

    def surface(self, point: Vec) -> SurfacePoint:
        return self.surface_with(point, {})

    @property
    def variable(self) -> dict[str, Any]:
        return dict(self.numbers)

    def surface_with(self, point: Vec, numbers: Mapping[str, Any]) -> SurfacePoint:
        return _at(self.traced, (*point, *leaves(tuple((self.variable | dict(numbers)).values()))), _TINY)


def _at(traced: TracedDistance, entries: tuple[Scalar, ...], tiny: float = 0.0) -> SurfacePoint:
    """A traced distance at a point and numbers, divided by the length of its gradient."""
    inputs, value, gradient = traced
    gap, *slope = evaluate([value, *gradient], dict(zip(inputs, entries, strict=True)))
    squared = dot(slope, slope)
    scale = 1.0 / sqrt(squared + tiny if tiny else squared)
    return SurfacePoint(gap * scale, Vec(slope) * scale)


@dataclass(frozen=True)
class HeightField(OfMaterial, Terrain):
    """Terrain below heights on a grid, interpolated bilinearly; beyond its edges as at them.

    Parameters
    ----------
    heights : array_like, shape (n, m)
        Heights (m) at x = origin[0] + i spacing[0], y = origin[1] + j spacing[1], any number of them: a contact looks
        up the four around it. Up to 4096 may differ from sample to sample (`numbers={"terrain.heights": ...}`).
    spacing : array_like, shape (2,), or float
        Distances (m) along x and y, or one for both.
    origin : array_like, shape (2,)
        Where the first height is (m).
    friction : float or None, default 0.8
        Coefficient of sliding friction. None leaves it, and likewise the numbers below, to the other surface; where
        both have one, the larger acts, of restitution the smaller.
    torsion : float, optional
        Torsional friction (m): the moment about the normal is at most so many times the normal force.
    rolling : float, optional
        Rolling friction (m), likewise of the moment across the normal.
    restitution : float, optional
        Part of the normal velocity, from 0 to 1, with which what touches leaves.
    soft : Surface, optional
        All that a model file says of its surface, for MuJoCo's law.

    Raises
    ------
    ModelError
        If the table or a number is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> step = fb.HeightField([[0.0, 0.0], [0.1, 0.1]], spacing=(0.5, 1.0))
    >>> round(step.height(0.25, 0.3), 3)
    0.05
    """

    heights: Any
    spacing: Any = (1.0, 1.0)
    origin: Any = (0.0, 0.0)
    friction: float | None = 0.8
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    soft: Any = None

    def __post_init__(self) -> None:
        try:
            table = np.asarray(self.heights, float)
        except (TypeError, ValueError, OverflowError):
            table = np.zeros(0)
        if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
            raise ModelError(
                "heights: expected a table of finite numbers, at least 2 x 2, got "
                f"{'NaN or infinite numbers' if table.ndim == 2 and not np.isfinite(table).all() else table.shape}"
            )
        for name in ("spacing", "origin"):
            try:
                x = np.asarray(getattr(self, name), float)
            except (TypeError, ValueError, OverflowError):
                x = np.zeros(0)
            if name == "spacing" and x.ndim == 0:
                x = np.full(2, x)
            if x.shape != (2,) or not np.isfinite(x).all() or (name == "spacing" and not (x > 0.0).all()):
                numbers = "numbers above zero" if name == "spacing" else "numbers"
                raise ModelError(f"{name}={getattr(self, name)!r}: expected two finite {numbers}, along x and y")
            object.__setattr__(self, name, tuple(x.tolist()))
        rows: Any = table.tolist()
        object.__setattr__(self, "heights", tuple([tuple(row) for row in rows]))
        self.material  # noqa: B018

    def __hash__(self) -> int:
        return hash((self._entries, self.spacing, self.origin, self.material))

    def __repr__(self) -> str:
        table = np.frombuffer(self._entries, float)
        return (
            f"<fourbar HeightField: {len(self.heights)} x {len(self.heights[0])} heights from {table.min():.6g} to "
            f"{table.max():.6g} m, spacing {self.spacing}, origin {self.origin}, friction {self.friction}>"
        )

    @cached_property
    def _entries(self) -> bytes:
        """The heights as doubles, row by row."""
        return np.array(self.heights, float).tobytes()

    @cached_property
    def traced(self) -> TracedDistance:
        """z - height(x, y), and its gradient."""
        return _traced(lambda x, y, z: z - self.height(x, y), {})

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """The height at a place."""
        n, m = len(self.heights), len(self.heights[0])
        i, u = _cell((x - self.origin[0]) / self.spacing[0], n)
        j, w = _cell((y - self.origin[1]) / self.spacing[1], m)
        return self.height_in_cell(i, j, u, w)

    def height_in_cell(self, i: Scalar, j: Scalar, u: Scalar, w: Scalar) -> Scalar:
        """The height in the cell of heights (i, j) to (i + 1, j + 1), at parts u and w of its edges."""
        m = len(self.heights[0])
        first = i * float(m) + j
        at = [lookup(self._entries, first + k) for k in (0.0, 1.0, float(m), m + 1.0)]
        return (1.0 - u) * ((1.0 - w) * at[0] + w * at[1]) + u * ((1.0 - w) * at[2] + w * at[3])

    def surface(self, point: Vec) -> SurfacePoint:
        return _at(self.traced, tuple(point))

    @property
    def variable(self) -> dict[str, Any]:
        return {"heights": self.heights}

    def surface_with(self, point: Vec, numbers: Mapping[str, Any]) -> SurfacePoint:
        heights = numbers.get("heights", self.heights)
        traced = _any_heights(len(heights), len(heights[0]), self.spacing, self.origin)
        return _at(traced, (*point, *leaves(heights)))


def _cell(x: Scalar, n: int) -> tuple[Scalar, Scalar]:
    """The interval of n even knots in which x is, by the number of its first knot, and how far x is in it, 0 to 1.

    At a knot slopes are those after it; beyond the last, and there, zero.
    """
    inside = maximum(minimum(n - 1.0, x), 0.0)
    first = minimum(floor(inside), n - 2.0)
    return first, inside - first


def _height_among(heights: Any, spacing: Any, origin: Any, x: Scalar, y: Scalar) -> Scalar:
    """The height at a place from all heights, which are given."""
    along_x = _tents((x - origin[0]) / spacing[0], len(heights))
    along_y = _tents((y - origin[1]) / spacing[1], len(heights[0]))
    return dot(along_x, [dot(row, along_y) for row in heights])


@lru_cache(maxsize=8)
def _any_heights(n: int, m: int, spacing: tuple[float, ...], origin: tuple[float, ...]) -> TracedDistance:
    """z - height(x, y) with heights (n, m) that are given, and its gradient."""
    if n * m > _MOST_GIVEN:
        raise ModelError(
            f"heights of {n} x {m} cannot differ from sample to sample, at most {_MOST_GIVEN} can; give one "
            "HeightField with all samples' terrain side by side, and start each sample on its own"
        )

    def above(x: Scalar, y: Scalar, z: Scalar, heights: Any) -> Scalar:
        return z - _height_among(heights, spacing, origin, x, y)

    return _traced(above, {"heights": ((0.0,) * m,) * n})


def _tents(x: Scalar, n: int) -> list[Scalar]:
    """The weights of n even knots at x; their slopes sum to zero, at a knot too, where they are those after it."""
    passed = [maximum(minimum(1.0, x - float(i)), 0.0) for i in range(n - 1)]  # the slope of the first where both equal
    return [before - after for before, after in zip((1.0, *passed), (*passed, 0.0), strict=True)]
