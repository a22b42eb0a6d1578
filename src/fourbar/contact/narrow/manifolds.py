"""The points at which two convex shapes touch: where their supporting faces lie over each other.

The face of a shape towards the other is what supports it along normals that lean from the common one a little in eight
directions: a polygon, of which corners may coincide, an edge or a corner. Seen along the normal both polygons turn the
same way round. Each edge of one is cut to the other polygon, and begins at a corner of the area in which they
overlap. Of these corners the farthest in four directions that are fixed to the first shape are taken: points that are
fixed to a body, where these are corners of faces, and found again from step to step. A fifth is where the shapes are
nearest, if that is nearer than the others, or if there are none.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import cos, pi, sin
from typing import Any, NamedTuple

from ...expr import maximum, minimum, select, sqrt
from ...expr.standalone_steps import standalone
from ...shapes.base import ShapeType
from ...spatial.linear import Scalar, Vec, dot
from ...spatial.transform import Transform
from ..candidates import APART, Touch
from .gjk import either
from .pair import ConvexPair
from .separation import relative_pose, separate, smaller_reach

POINTS = 5
_SIDES = 8
_LEAN = 0.05  # tangent of the angle by which normals lean: faces within 3 degrees lie along each other
_TURN = 0.3  # of the four directions from an axis of the shape, along which corners of squares and octagons are no ties
_BESIDE = 1e-6  # of the size: how far an edge may be outside of another, along which it lies
_SAME = 1e-3  # of the size: corners that are so near to each other are one
_EVEN = 1e-9  # of the size: as near as another
_THIN = 1e-6  # of the squared size: the area of an edge
_LEVEL = 1e-24  # squared sine of lines that are parallel
_TINY = 1e-200


class NormalAxes(NamedTuple):
    """A normal, and axes across it."""

    n: Vec
    t: Vec
    u: Vec


def has_faces(shape: ShapeType) -> bool:
    """Whether a shape may touch at several points."""
    core, _ = shape.rounding
    return core.has("flat_directions")


@cache
def _supports(first: type[ShapeType], second: type[ShapeType]) -> Any:
    """The corner of each of the two polygons in a direction across the normal."""

    @standalone
    def corners(sizes: Any, relative: Any, n: Vec, lean: Vec) -> tuple[Vec, Vec]:
        pair = ConvexPair(first.of_parameters(sizes[0]), second.of_parameters(sizes[1]), *relative)
        return pair.align(n, pair.lean(n, lean))

    return corners


@standalone
def _frame(n: Vec) -> NormalAxes:
    """Axes across a normal: the first is an axis of the shape, as far as it is across."""
    squares = [x * x for x in n]
    first = select(squares[0] <= squares[1], select(squares[0] <= squares[2], 1.0, 0.0), 0.0)
    second = select(squares[1] <= squares[2], 1.0 - first, 0.0)
    axis = Vec((first, second, 1.0 - first - second))
    t = axis - n * dot(axis, n)
    t = t * (1.0 / sqrt(dot(t, t)))
    return NormalAxes(n, t, n.cross(t))


class ShownPolygon(NamedTuple):
    """A polygon along the normal: corners (along t, along u, height), the plane z = c + p x + q y on which they lie,
    and the lines (x, y, c), x and y of unit length outwards, on whose inner side the polygon is."""

    corners: list[Vec]
    plane: tuple[Scalar, Scalar, Scalar]
    lines: list[tuple[Scalar, Scalar, Scalar]]


class _Cut(NamedTuple):
    """A corner of the area of overlap: (along t, along u, heights of both shapes), and whether it is there (1.0)."""

    at: Vec
    there: Scalar


@standalone
def _manifold(
    a: tuple[Vec, ...],
    b: tuple[Vec, ...],
    frame: NormalAxes,
    rounding: tuple[Scalar, Scalar],
    nearest: tuple[Scalar, Vec],
    size: Scalar,
) -> tuple[tuple[Scalar, Vec], ...]:
    """Gaps and points, in the axes of the first shape, of polygons a and b, and of where the shapes are nearest."""
    n, t, u = frame
    origin = a[0]
    first, second = (_look(polygon, frame, origin, size) for polygon in (a, b))
    found = _cuts(first, second, _BESIDE * size, False) + _cuts(second, first, _BESIDE * size, True)
    points: list[tuple[Scalar, Vec]] = []
    chosen: list[Vec] = []
    least: Scalar = APART
    for k in range(4):
        angle = _TURN + 0.5 * pi * k
        best, there = _farthest(found, cos(angle), sin(angle))
        for x in chosen:
            apart = (best[0] - x[0]) * (best[0] - x[0]) + (best[1] - x[1]) * (best[1] - x[1])
            there = select(apart > (_SAME * size) * (_SAME * size), there, 0.0)
        chosen.append(Vec([select(there > 0.5, x, APART) for x in best]))
        high, low = best[2] - rounding[0], best[3] + rounding[1]
        gap = select(there > 0.5, high - low, APART)
        point = origin + t * best[0] + u * best[1] + n * (0.5 * (high + low))
        points.append((gap, either(there > 0.5, point, nearest[1])))
        least = minimum(least, gap)
    own = select(nearest[0] < least - _EVEN * size, nearest[0], APART)
    return (*points, (own, nearest[1]))


def _look(polygon: tuple[Vec, ...], frame: NormalAxes, origin: Vec, size: Scalar) -> ShownPolygon:
    corners = [Vec([dot(x - origin, axis) for axis in (frame.t, frame.u, frame.n)]) for x in polygon]
    lines = []
    for x, y in zip(corners, (*corners[1:], corners[0]), strict=True):
        e, f = y[0] - x[0], y[1] - x[1]
        squared = e * e + f * f
        long = squared > (_BESIDE * size) * (_BESIDE * size)
        once = select(long, 1.0 / sqrt(maximum(squared, _TINY)), 0.0)
        lines.append((f * once, -e * once, (f * x[0] - e * x[1]) * once))
    for axis in range(2):  # the ends of a polygon that is an edge
        low = high = corners[0][axis]
        for x in corners[1:]:
            low, high = minimum(low, x[axis]), maximum(high, x[axis])
        across = 1.0 - axis
        lines += [(across, float(axis), high), (-across, -float(axis), -low)]
    return ShownPolygon(corners, _plane(corners, size), lines)


def _plane(corners: list[Vec], size: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The plane of a polygon; through an edge and level across it where it has no area."""
    start = corners[0]
    m, far, most = Vec((0.0, 0.0, 0.0)), start - start, 0.0
    for x, y in pairwise(corners[1:]):
        m = m + (x - start).cross(y - start)
    for x in corners[1:]:
        e = x - start
        squared = e[0] * e[0] + e[1] * e[1]
        far, most = either(squared > most, (e, squared), (far, most))
    thin = m[2] <= _THIN * size * size
    once = 1.0 / select(thin, 1.0, m[2])
    slope = far[2] / select(most > (_BESIDE * size) * (_BESIDE * size), most, 1e300)
    p, q = select(thin, slope * far[0], -m[0] * once), select(thin, slope * far[1], -m[1] * once)
    return start[2] - p * start[0] - q * start[1], p, q


def _cuts(own: ShownPolygon, other: ShownPolygon, beside: Scalar, swapped: bool) -> list[_Cut]:
    """Where the edges of a polygon begin within another, which is the first of the two if they are swapped."""
    found = []
    c, p, q = other.plane
    for x, y in zip(own.corners, (*own.corners[1:], own.corners[0]), strict=True):
        way = y - x
        squared = way[0] * way[0] + way[1] * way[1]
        enters, leaves = 0.0, 1.0
        for a, b, most in other.lines:
            above = a * x[0] + b * x[1] - most - beside
            rate = a * way[0] + b * way[1]
            level = rate * rate <= _LEVEL * squared
            at = -above / select(level, 1.0, rate)
            enters = maximum(enters, select(level, select(above > 0.0, 2.0, 0.0), select(rate < 0.0, at, 0.0)))
            leaves = minimum(leaves, select(level, 1.0, select(rate > 0.0, at, 1.0)))
        there = select(leaves > enters, select(squared > beside * beside, 1.0, 0.0), 0.0)
        place = x + way * minimum(enters, 1.0)
        beyond = c + p * place[0] + q * place[1]
        heights = (beyond, place[2]) if swapped else (place[2], beyond)
        found.append(_Cut(Vec((place[0], place[1], *heights)), there))
    return found


def _farthest(found: list[_Cut], x: float, y: float) -> tuple[Vec, Scalar]:
    """The corner that is farthest in a direction, and whether there is one (1.0)."""
    best, most = found[0].at, -1e300
    for cut in found:
        along = select(cut.there > 0.5, x * cut.at[0] + y * cut.at[1], -1e300)
        best, most = either(along > most, (cut.at, along), (best, most))
    return best, select(most > -1e299, 1.0, 0.0)


def _lean(frame: NormalAxes, x: float, y: float) -> Vec:
    return (frame.t * x + frame.u * y) * _LEAN


def _into(pose: Transform, n: Vec, a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """The normal, and the middle of the nearest points, in the axes of a shape."""
    return pose.unrotate(n), pose.unrotate((a + b) * 0.5 - pose.p)


def _world(pose: Transform, n: Vec, found: Any) -> tuple[Touch, ...]:
    return tuple(Touch(gap, pose.point(x), n) for gap, x in found)


def touch_convex(
    recorder: Any, shapes: tuple[ShapeType, ShapeType], poses: tuple[Transform, Transform]
) -> tuple[Touch, ...]:
    """The contacts of two shapes, in the world: one, or `POINTS` if both have faces or edges."""
    found = separate(recorder, shapes, poses)
    n, middle = recorder.call(_into, poses[0], found.normal, found.first, found.second)
    nearest = (found.gap, middle)
    if not all(map(has_faces, shapes)):
        return recorder.call(_world, poses[0], found.normal, (nearest,))
    (first, r), (second, s) = (x.rounding for x in shapes)
    relative = recorder.call(relative_pose, poses)
    frame = recorder.call(_frame, n)
    support, sizes = _supports(type(first), type(second)), (first.parameters, second.parameters)
    corners = []
    for k in range(_SIDES):
        lean = recorder.call(_lean, frame, cos(2.0 * pi * k / _SIDES), sin(2.0 * pi * k / _SIDES))
        corners.append(recorder.call(support, sizes, relative, n, lean))
    a, b = (tuple(x[k] for x in corners) for k in range(2))
    size = smaller_reach(first, second)
    points = recorder.call(_manifold, a, b, frame, (r, s), nearest, size)
    return recorder.call(_world, poses[0], found.normal, points)
