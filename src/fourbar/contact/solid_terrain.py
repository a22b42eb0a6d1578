"""Solid shapes that do not move, as terrain: their signed distance and its direction, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ModelError
from ..expr import maximum, minimum, select, sqrt
from ..mechanism.geometry import SIZES
from ..mechanism.validate import read_placement
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .terrain import OfMaterial, SurfacePoint, Terrain

SOLIDS = ("sphere", "capsule", "box", "cylinder")
_TINY = 1e-60


def _from_centre(out: Vec, radius: Scalar) -> SurfacePoint:
    """A ball around the place from which `out` leads to the point; upwards where that is the place itself."""
    squared = dot(out, out)
    same = squared < _TINY
    length = sqrt(select(same, 1.0, squared))
    normal = Vec([select(same, z, x / length) for x, z in zip(out, (0.0, 0.0, 1.0), strict=True)])
    return SurfacePoint(select(same, 0.0, length) - radius, normal)


def of_ball(x: Vec, size: tuple[float, ...]) -> SurfacePoint:
    """A ball around the origin."""
    return _from_centre(x, size[0])


def of_capsule(x: Vec, size: tuple[float, ...]) -> SurfacePoint:
    """A capsule along z."""
    radius, length = size
    nearest = maximum(minimum(x[2], 0.5 * length), -0.5 * length)
    return _from_centre(Vec((x[0], x[1], x[2] - nearest)), radius)


def of_box(x: Vec, size: tuple[float, ...]) -> SurfacePoint:
    """A box with its edges along the axes."""
    half = [0.5 * a for a in size]
    out = Vec([a - maximum(minimum(a, h), -h) for a, h in zip(x, half, strict=True)])
    deep = [maximum(a, -a) - h for a, h in zip(x, half, strict=True)]
    largest = maximum(maximum(deep[0], deep[1]), deep[2])
    first = select(deep[0] >= largest, 1.0, 0.0)
    second = select(deep[1] >= largest, 1.0, 0.0) * (1.0 - first)
    faces = (first, second, 1.0 - first - second)
    sides = Vec([c * select(a < 0.0, -1.0, 1.0) for c, a in zip(faces, x, strict=True)])
    return _outside_or_in(out, largest, sides)


def of_cylinder(x: Vec, size: tuple[float, ...]) -> SurfacePoint:
    """A cylinder along z."""
    radius, length = size
    across = dot(x[:2], x[:2])
    centred = across < _TINY
    r = sqrt(select(centred, 1.0, across))
    ray = (select(centred, 1.0, x[0] / r), select(centred, 0.0, x[1] / r))
    r = select(centred, 0.0, r)
    up = select(x[2] < 0.0, -1.0, 1.0)
    over, above = r - radius, up * x[2] - 0.5 * length
    side, end = maximum(over, 0.0), maximum(above, 0.0)
    out = Vec((ray[0] * side, ray[1] * side, up * end))
    by_side = select(over >= above, 1.0, 0.0)
    inner = Vec((ray[0] * by_side, ray[1] * by_side, up * (1.0 - by_side)))
    return _outside_or_in(out, maximum(over, above), inner)


def _outside_or_in(out: Vec, depth: Scalar, face: Vec) -> SurfacePoint:
    """From what leads to a point from the nearest of a solid; within it, where that is zero, by the nearest face."""
    squared = dot(out, out)
    within = squared < _TINY
    length = sqrt(select(within, 1.0, squared))
    normal = Vec([select(within, a, b / length) for a, b in zip(face, out, strict=True)])
    return SurfacePoint(select(within, depth, length), normal)


DISTANCE: dict[str, Callable[[Vec, tuple[float, ...]], SurfacePoint]] = {
    "sphere": of_ball, "capsule": of_capsule, "box": of_box, "cylinder": of_cylinder,
}  # fmt: skip


def read_size(what: str, kind: str, size: Any) -> tuple[float, ...]:
    """The numbers that say how large a shape of some kind is; none for a point."""
    wanted = () if kind == "point" else SIZES[kind]
    try:
        found = np.atleast_1d(np.asarray(size, float))
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, np.nan)
    if found.shape != (len(wanted),) or not ((found > 0.0) & (found < np.inf)).all():
        raise ModelError(f"{what}: a {kind} takes {', '.join(wanted) or 'no size'}, above zero; got {size!r}")
    return tuple(found.tolist())


@dataclass(frozen=True)
class Solid(OfMaterial, Terrain):
    """A ball, capsule, box or cylinder that does not move: a table, a step, a post.

    Points, balls, capsules and boxes of a robot touch it wherever the two meet; cylinders, ellipsoids and meshes with
    the points that stand for them on terrain, so that a corner of the solid in the middle of a face is missed.

    Parameters
    ----------
    kind : str
        One of "sphere", "capsule", "box", "cylinder".
    size : float or sequence of float
        Metres: the radius of a sphere, radius and length of a capsule (without its caps) or a cylinder along z, the
        three edges of a box.
    position : array_like, shape (3,)
        Where its centre is (m).
    rotation : array_like, optional
        How it is turned: 3 x 3, or a quaternion.
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
        What a file says of it, for MuJoCo's law.

    Raises
    ------
    ModelError
        If the kind or a number is not what it should be.

    Examples
    --------
    >>> from fourbar.contact import Solid
    >>> step = Solid("box", (0.3, 1.0, 0.1), position=(0.5, 0.0, 0.05))
    """

    steady: ClassVar[bool] = True

    kind: str
    size: Any
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = None
    friction: float | None = 0.8
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    soft: Any = None

    def __post_init__(self) -> None:
        if self.kind not in SOLIDS:
            raise ModelError(f"Solid: kind must be one of {', '.join(SOLIDS)}, got {self.kind!r}")
        numbers = read_size("Solid", self.kind, self.size)
        place = read_placement("Solid", self.position, self.rotation, None)
        for name, x in (("size", numbers), ("position", place.position), ("rotation", place.rotation)):
            object.__setattr__(self, name, x)
        self.material  # noqa: B018  which checks the numbers

    def surface(self, point: Vec) -> SurfacePoint:
        pose = Transform.of(self.rotation, Vec(self.position))
        gap, normal = DISTANCE[self.kind](pose.unrotate(point - pose.p), self.size)
        return SurfacePoint(gap, pose.rotate(normal))
