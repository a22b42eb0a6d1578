"""Two boxes: where their faces overlap, where edges cross, and where corners pass each other.

The axis along which they are furthest apart, or least within each other, is one of fifteen (Gottschalk, Lin, Manocha,
1996): a normal of a face, or of an edge of either. Along a face's normal what touches is the part of the other box's
nearest face that lies over it, a polygon of at most eight corners: each is where an edge of one of the two faces, cut
to the other face, begins. So eight points do, each with an edge of its own. A ninth is where edges cross, or the
nearest corner of boxes that are apart otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..shapes.box import Box
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .candidates import APART, Manifold, Touch

Three = tuple[float, float, float]
POINTS = 9
_PARALLEL = 1e-8  # sin² of edges that have no normal
_EVEN = 1e-9  # of the boxes' size: as far apart along one axis as along another
_FLAT = 1.0 - 0.5 * 0.05**2  # cos of the angle up to which crossing edges are a part of two faces
_CORNERS = tuple((x, y, z) for x in (1.0, -1.0) for y in (1.0, -1.0) for z in (1.0, -1.0))


class BoxInWorld(NamedTuple):
    """A box in the world: its axes (columns of its rotation), centre and half edges."""

    axes: tuple[Vec, Vec, Vec]
    centre: Vec
    half: Vec


class SeparatingAxis(NamedTuple):
    """The axis that separates best: how far, and which of the kinds (1.0 or 0.0) it is.

    first, second: the faces' normals of each box. along: the unit vector from the first box to the second.
    """

    apart: Scalar
    first: Vec
    second: Vec
    along: Vec
    edges: Scalar


class Flat(NamedTuple):
    """A face (`half` and axes u, v, n, right-handed, n outwards) and the other box's nearest face in its axes: centre
    and half edges a, b, which turn the same way round."""

    u: Vec
    v: Vec
    n: Vec
    origin: Vec
    half: Vec
    centre: Vec
    a: Vec
    b: Vec


def _either(c: Any, x: Any, y: Any) -> Any:
    """x where c holds, else y, of numbers or what is made of them."""
    if isinstance(x, Vec):
        return Vec([select(c, p, q) for p, q in zip(x, y, strict=True)])
    if isinstance(x, tuple):
        parts = [_either(c, p, q) for p, q in zip(x, y, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return select(c, x, y)


def _size(x: Scalar) -> Scalar:
    return maximum(x, -x)


def _sign(x: Scalar) -> Scalar:
    return select(x < 0.0, -1.0, 1.0)


def _weighted(weights: Sequence[Scalar], parts: Iterable[Vec]) -> Vec:
    """Σ w x, each in its own axes."""
    total = Vec((0.0, 0.0, 0.0))
    for w, x in zip(weights, parts, strict=True):
        total = total + x * w
    return total


def separating(first: BoxInWorld, second: BoxInWorld) -> SeparatingAxis:
    """The best of the fifteen axes; a face rather than edges that are as good, and of the first box rather."""
    t = second.centre - first.centre
    R = [[dot(a, b) for b in second.axes] for a in first.axes]
    size = sum(first.half) + sum(second.half)
    found: list[tuple[Scalar, Vec, Vec, Vec, float]] = []
    no = Vec((0.0, 0.0, 0.0))
    for i, own in enumerate(first.axes):
        away = dot(t, own)
        reach = first.half[i] + sum(_size(R[i][j]) * second.half[j] for j in range(3))
        found.append((_size(away) - reach, _unit(i), no, own * _sign(away), 0.0))
    for j, own in enumerate(second.axes):
        away = dot(t, own)
        reach = second.half[j] + sum(_size(R[i][j]) * first.half[i] for i in range(3))
        found.append((_size(away) - reach, no, _unit(j), own * _sign(away), 0.0))
    for i in range(3):
        for j in range(3):
            normal = first.axes[i].cross(second.axes[j])
            squared = 1.0 - R[i][j] * R[i][j]
            parallel = squared < _PARALLEL
            long = sqrt(select(parallel, 1.0, squared))
            i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            reach = first.half[i1] * _size(R[i2][j]) + first.half[i2] * _size(R[i1][j])
            reach = reach + second.half[j1] * _size(R[i][j2]) + second.half[j2] * _size(R[i][j1])
            away = dot(t, normal)
            apart = select(parallel, -APART, (_size(away) - reach) / long)
            found.append((apart, _unit(i), _unit(j), normal * (_sign(away) / long), 1.0))
    best = SeparatingAxis(*found[0])
    for k, x in enumerate(found[1:], 1):
        more = _EVEN * size if k in (3, 6) or k > 6 else 0.0  # of the second box, of edges
        best = _either(x[0] > best.apart + more, SeparatingAxis(*x), best)
    return best


def _unit(i: int) -> Vec:
    return Vec([float(i == k) for k in range(3)])


def _turned(box: BoxInWorld, normal: Vec) -> BoxInWorld:
    """A box with its axes in such an order that the one that `normal` (of 1.0 and 0.0) names is the last."""
    (x, y, z), (a, b, c) = box.axes, box.half
    once, twice = BoxInWorld((y, z, x), box.centre, Vec((b, c, a))), BoxInWorld((z, x, y), box.centre, Vec((c, a, b)))
    return _either(normal[0] > 0.5, once, _either(normal[1] > 0.5, twice, box))


def _largest(x: Sequence[Scalar]) -> Vec:
    """1.0 for the largest of three numbers, the first of equal ones."""
    first = select(x[0] >= maximum(x[1], x[2]), 1.0, 0.0)
    second = select(x[1] >= x[2], 1.0, 0.0) * (1.0 - first)
    return Vec((first, second, 1.0 - first - second))


def flat_on(own: BoxInWorld, normal: Vec, other: BoxInWorld) -> Flat:
    """A face of a box, by the axis that `normal` names and the side where the other is, and the other's nearest."""
    own = _turned(own, normal)
    side = _sign(dot(own.axes[2], other.centre - own.centre))
    u, v, n = own.axes[0] * side, own.axes[1], own.axes[2] * side
    lean = [dot(n, x) for x in other.axes]
    other = _turned(other, _largest([_size(x) for x in lean]))
    up = _sign(dot(n, other.axes[2]))
    face = other.centre - other.axes[2] * (up * other.half[2]) - own.centre
    a, b = other.axes[0] * other.half[0], other.axes[1] * (up * other.half[1])
    centre, a, b = (Vec((dot(u, x), dot(v, x), dot(n, x))) for x in (face, a, b))
    return Flat(u, v, n, own.centre, own.half, centre, a, b)


def _cut(start: Sequence[Scalar], way: Sequence[Scalar], bound: Sequence[Scalar]) -> tuple[Scalar, Any]:
    """Where a segment start + s way, s from 0 to 1, enters a rectangle |x| < bound; and whether it does (1.0)."""
    enters: Scalar = 0.0
    leaves: Scalar = 1.0
    for x, d, most in zip(start, way, bound, strict=True):
        along = _size(d) < 1e-12 * most
        once = 1.0 / select(along, 1.0, d)
        low, high = (-most - x) * once, (most - x) * once
        outside = _size(x) > most
        enters = maximum(enters, select(along, select(outside, 2.0, 0.0), minimum(low, high)))
        leaves = minimum(leaves, select(along, 1.0, maximum(low, high)))
    return enters, select(leaves > enters, 1.0, 0.0)


def corners_of(x: Flat) -> list[tuple[Vec, Any]]:
    """The corners of where two faces overlap: (along u, along v, gap along n), and whether they are there (1.0)."""
    found = []
    sides = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
    nexts = (*sides[1:], sides[0])
    top = x.half[2]
    wide = (x.half[0] * (1.0 + _EVEN), x.half[1] * (1.0 + _EVEN))
    for (p, q), (p1, q1) in zip(sides, nexts, strict=True):
        start = x.centre + x.a * p + x.b * q
        way = x.a * (p1 - p) + x.b * (q1 - q)
        s, there = _cut(start[:2], way[:2], wide)
        s = minimum(s, 1.0)
        found.append((Vec((start[0] + s * way[0], start[1] + s * way[1], start[2] + s * way[2] - top)), there))
    area = x.a[0] * x.b[1] - x.a[1] * x.b[0]
    within = []
    for p, q in sides:
        r0, r1 = p * x.half[0] - x.centre[0], q * x.half[1] - x.centre[1]
        within.append(Vec(((r0 * x.b[1] - r1 * x.b[0]) / area, (x.a[0] * r1 - x.a[1] * r0) / area)))
    for k, (p, q) in enumerate(sides):
        start, way = within[k], within[(k + 1) % 4] - within[k]
        s, there = _cut(start, way, (1.0 - _EVEN, 1.0 - _EVEN))
        s = minimum(s, 1.0)
        at = start + way * s
        p1, q1 = nexts[k]
        height = x.centre[2] + at[0] * x.a[2] + at[1] * x.b[2] - top
        found.append((Vec(((p + s * (p1 - p)) * x.half[0], (q + s * (q1 - q)) * x.half[1], height)), there))
    return found


def crossing(first: BoxInWorld, second: BoxInWorld, axis: SeparatingAxis) -> tuple[Touch, Any]:
    """Where the edges of an axis cross; and whether they do within their lengths (1.0)."""
    a, b = _weighted(axis.first, first.axes), _weighted(axis.second, second.axes)
    start, end = first.centre, second.centre
    for own, chosen, h in zip(first.axes, axis.first, first.half, strict=True):
        start = start + own * ((1.0 - chosen) * h * _sign(dot(axis.along, own)))
    for own, chosen, h in zip(second.axes, axis.second, second.half, strict=True):
        end = end - own * ((1.0 - chosen) * h * _sign(dot(axis.along, own)))
    w, c = start - end, dot(a, b)
    squared = 1.0 - c * c
    u, v = dot(a, w), dot(b, w)
    s = (c * v - u) / select(squared < _PARALLEL, 1.0, squared)
    r = v + s * c
    reach, other = dot(axis.first, first.half), dot(axis.second, second.half)
    there = axis.edges * select(_size(s) > reach * (1.0 + _EVEN), 0.0, 1.0)
    there = there * select(_size(r) > other * (1.0 + _EVEN), 0.0, 1.0)
    point = (start + a * s + end + b * r) * 0.5
    return Touch(axis.apart, point, -axis.along), there


def nearest_corner(own: BoxInWorld, other: BoxInWorld, sign: float) -> Touch:
    """The corner of a box that is nearest to another box; the normal leads to the corner (times the sign)."""
    best: Any = None
    for p, q, r in _CORNERS:
        corner = own.centre + _weighted((p * own.half[0], q * own.half[1], r * own.half[2]), own.axes)
        away = corner - other.centre
        gap, normal = Box(*(2.0 * h for h in other.half)).distance(Vec([dot(x, away) for x in other.axes]))
        turned = _weighted(normal, other.axes)
        found = Touch(gap, corner - turned * (0.5 * gap), turned * sign)
        best = found if best is None else _either(found.gap < best.gap, found, best)
    return best


def _box(pose: Transform, half: Three) -> BoxInWorld:
    R = pose.R
    x, y, z = (Vec([row[k] for row in R]) for k in range(3))
    return BoxInWorld((x, y, z), pose.p, Vec(half))


@dataclass(frozen=True)
class BoxAndBox(Manifold):
    """A box on the first link and one on the second: poses in the links' frames, and half edges."""

    a: Transform
    half_a: Three
    b: Transform
    half_b: Three

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        a, b = _box(first.then(self.a), self.half_a), _box(second.then(self.b), self.half_b)
        size = sum(self.half_a) + sum(self.half_b)
        axis = separating(a, b)
        edge, crossed = crossing(a, b, axis)
        faces, flat = self._chosen(a, b, axis)
        of_first = select(faces[0] > 0.5, 1.0, select(faces[1] > 0.5, 1.0, select(faces[2] > 0.5, 1.0, 0.0)))
        own, other = _either(of_first > 0.5, (a, b), (b, a))
        normal = _either(of_first > 0.5, Vec(faces[:3]), Vec(faces[3:]))
        found = flat_on(own, normal, other)
        outward = found.n * select(of_first > 0.5, -1.0, 1.0)
        least: Scalar = APART
        touches = []
        for at, there in corners_of(found):
            gap = select(there * flat > 0.5, at[2], APART)
            height = found.half[2] + 0.5 * at[2]
            point = found.origin + found.u * at[0] + found.v * at[1] + found.n * height
            touches.append(Touch(gap, _either(gap < APART, point, found.origin), outward))
            least = minimum(least, gap)
        crossed = crossed * select(least < APART, 1.0 - flat, 1.0)
        last = _either(crossed > 0.5, edge, Touch(APART, found.origin, outward))
        mine, yours = nearest_corner(a, b, 1.0), nearest_corner(b, a, -1.0)
        corner = _either(mine.gap < yours.gap, mine, yours)
        passing = select(corner.gap > 0.0, corner.gap, APART) < minimum(least, last.gap) - _EVEN * size
        return (*touches, _either(passing, corner, last))

    def _chosen(self, a: BoxInWorld, b: BoxInWorld, axis: SeparatingAxis) -> tuple[list[Scalar], Scalar]:
        """The normal of the faces that overlap, among six (1.0, others 0.0), and whether these touch (1.0): those of
        the axis, or the nearest to that of crossing edges."""
        near = [_size(dot(axis.along, x)) for x in (*a.axes, *b.axes)]
        best = near[0]
        for x in near[1:]:
            best = maximum(best, x)
        given = (*axis.first, *axis.second)
        taken: Scalar = 0.0
        faces = []
        for x, own in zip(near, given, strict=True):
            nearest = select(x >= best, 1.0, 0.0) * (1.0 - taken)
            taken = maximum(taken, nearest)
            faces.append(select(axis.edges > 0.5, nearest, own))
        return faces, select(axis.edges > 0.5, select(best > _FLAT, 1.0, 0.0), 1.0)
