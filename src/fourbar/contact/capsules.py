"""A capsule along another shape: the balls on its middle line that are nearest, and furthest from there over a face.

One ball is where the capsule is nearest to the other shape. Where it lies along a face, or along another capsule, a
second one is at the far end of what lies there: so it rests on two points, also where it is longer than the face.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..shapes.base import ShapeType
from ..shapes.box import Box
from ..shapes.cylinder import Cylinder
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .candidates import APART, Manifold, Touch
from .deep_capsules import WayOut, way_out

Three = tuple[float, float, float]
POINTS = 2
_EVEN = 1e-9  # of the capsule's size: as near at one place as at another
_HALVINGS = 44
_SETTLED = 1e-9  # of the slope of a distance: as level as halving makes it
_TINY = 1e-60


class Along(NamedTuple):
    """Parts of a segment, from 0 to 1: the place that is nearest to a shape, and from where to where it is over one of
    its faces (nothing if that ends before it begins)."""

    nearest: Scalar
    begin: Scalar
    end: Scalar


def _clamped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return maximum(minimum(x, high), low)


def _over(p: Scalar, d: Scalar, most: float) -> tuple[Scalar, Scalar]:
    """From where to where |p + t d| is at most `most`, within 0 and 1."""
    level = maximum(d, -d) < 1e-12 * most
    once = 1.0 / select(level, 1.0, d)
    low, high = (-most - p) * once, (most - p) * once
    outside = maximum(p, -p) > most
    begin = select(level, select(outside, 2.0, 0.0), maximum(minimum(low, high), 0.0))
    return begin, select(level, 1.0, minimum(maximum(low, high), 1.0))


def along_box(p: Vec, d: Vec, size: tuple[float, ...]) -> Along:
    """A segment p + t d and a box.

    The squared distance has a derivative that is linear between the places where the segment passes a plane of a face,
    and never falls: the zero is between two of these.
    """
    half = [0.5 * x for x in size]

    def slope(t: Scalar) -> Scalar:
        total: Scalar = 0.0
        for x, y, h in zip(p, d, half, strict=True):
            at = x + t * y
            total = total + y * (at - _clamped(at, -h, h))
        return total

    places: list[Scalar] = [0.0, 1.0]
    for x, y, h in zip(p, d, half, strict=True):
        once = 1.0 / select(y * y < _TINY, 1.0, y)
        places += [_clamped((side - x) * once, 0.0, 1.0) for side in (-h, h)]
    low, below = 0.0, slope(0.0)
    high, above = 1.0, slope(1.0)
    for t in places[2:]:
        rise = slope(t)
        lower, upper = select(rise <= 0.0, t, 0.0) > low, select(rise >= 0.0, t, 1.0) < high
        low, below = select(lower, t, low), select(lower, rise, below)
        high, above = select(upper, t, high), select(upper, rise, above)
    step = above - below
    flat = step <= 0.0
    nearest = select(flat, 0.5 * (low + high), low + (high - low) * (-below / select(flat, 1.0, step)))
    nearest = select(slope(0.0) >= 0.0, 0.0, select(slope(1.0) <= 0.0, 1.0, nearest))
    out = [maximum(x, -x) - h for x, h in zip((a + nearest * b for a, b in zip(p, d, strict=True)), half, strict=True)]
    begin: Scalar = 0.0
    end: Scalar = 1.0
    for k in range(3):
        others = maximum(out[(k + 1) % 3], out[(k + 2) % 3])
        first, last = _over(p[k], d[k], half[k])
        face = out[k] > others  # whose plane may be passed
        begin, end = maximum(begin, select(face, 0.0, first)), minimum(end, select(face, 1.0, last))
    return Along(nearest, begin, end)


def along_capsule(p: Vec, d: Vec, size: tuple[float, ...]) -> Along:
    """A segment p + t d and the middle line of a capsule along z."""
    half = 0.5 * size[1]
    a, area = dot(d, d), d[0] * d[0] + d[1] * d[1]
    parallel = area < 1e-12 * a
    t = -(p[0] * d[0] + p[1] * d[1]) / select(parallel, 1.0, area)
    t = select(parallel, 0.0, _clamped(t, 0.0, 1.0))
    z = _clamped(p[2] + t * d[2], -half, half)
    nearest = _clamped(((z - p[2]) * d[2] - p[0] * d[0] - p[1] * d[1]) / a, 0.0, 1.0)
    return Along(nearest, *_over(p[2], d[2], half))


def along_cylinder(p: Vec, d: Vec, size: tuple[float, ...]) -> Along:
    """A segment p + t d and a cylinder along z; the nearest place by halving, since the distance is convex."""
    cylinder = Cylinder(*size)
    low: Scalar = 0.0
    high: Scalar = 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rises = dot(cylinder.distance(p + d * middle).normal, d) > 0.0
        low, high = select(rises, low, middle), select(rises, middle, high)
    nearest = _settled(p, d, cylinder, 0.5 * (low + high))
    side = _over(p[2], d[2], 0.5 * size[1])
    a, b = d[0] * d[0] + d[1] * d[1], p[0] * d[0] + p[1] * d[1]
    inside = size[0] * size[0] - p[0] * p[0] - p[1] * p[1]
    level = a < _TINY
    root = b * b + a * inside
    wide = sqrt(maximum(root, _TINY))
    once = 1.0 / select(level, 1.0, a)
    begin = select(level, 0.0, maximum((-b - wide) * once, 0.0))
    end = select(level, 1.0, minimum((wide - b) * once, 1.0))
    missed = select(level, inside, root) < 0.0
    at = p + d * nearest
    out = at[0] * at[0] + at[1] * at[1]
    reach = sqrt(select(out < _TINY, 1.0, out))
    over_end = maximum(at[2], -at[2]) - 0.5 * size[1] > select(out < _TINY, 0.0, reach) - size[0]
    begin = select(over_end, select(missed, 2.0, begin), side[0])
    return Along(nearest, begin, select(over_end, end, side[1]))


def _settled(p: Vec, d: Vec, cylinder: Cylinder, t: Scalar) -> Scalar:
    """The place t where the distance of p + t d from a cylinder is least, by another step of Newton's method.

    Halving knows the place to rounding, but not how it moves with p and d, which the derivatives of a contact need.
    """
    radius, length = cylinder.radius, cylinder.length
    at = p + d * t
    r2 = dot(at[:2], at[:2])
    centred = r2 < _TINY
    r = sqrt(select(centred, 1.0, r2))
    ray = Vec((at[0] / r, at[1] / r, 0.0))
    outwards, over, above = dot(ray, d), r - radius, maximum(at[2], -at[2]) - 0.5 * length
    normal = cylinder.distance(at).normal
    rise, along = dot(normal, d), dot(d, d)
    turning = (d - ray * outwards - _unit_z(d[2])) * (1.0 / r)  # of the ray
    beside, beyond = select(over > 0.0, 1.0, 0.0), select(above > 0.0, 1.0, 0.0)
    out = (ray * outwards + turning * over) * beside + _unit_z(d[2]) * beyond
    outside = maximum(beside, beyond) > 0.5
    far = sqrt(select(outside, maximum(over, 0.0) * over + maximum(above, 0.0) * above, 1.0))
    within = select(over >= above, dot(turning, d), 0.0)
    bend = select(outside, (dot(out, d) - dot(normal, out) * rise) / far, within)
    small = maximum(rise, -rise) * maximum(rise, -rise) < _SETTLED * _SETTLED * along
    bends = select(centred, 0.0, select(small, bend * (radius + length), 0.0)) > _SETTLED * along
    return _clamped(t - select(bends, rise / select(bends, bend, 1.0), 0.0), 0.0, 1.0)


def _unit_z(size: Scalar) -> Vec:
    return Vec((0.0, 0.0, size))


ALONG: dict[str, Callable[[Vec, Vec, tuple[float, ...]], Along]] = {
    "box": along_box, "capsule": along_capsule, "cylinder": along_cylinder,
}  # fmt: skip


def _either(first: Scalar, a: Touch, b: Touch) -> Touch:
    point, normal = (Vec([select(first, x, y) for x, y in zip(*both, strict=True)])
                     for both in ((a.point, b.point), (a.normal, b.normal)))  # fmt: skip
    return Touch(select(first, a.gap, b.gap), point, normal)


@dataclass(frozen=True)
class CapsuleAndSolid(Manifold):
    """A capsule on the first link, by the ends of its middle line, and a solid on the second, by its pose."""

    ends: tuple[Three, Three]
    radius: float
    solid: ShapeType
    pose: Transform

    @property
    def size(self) -> tuple[float, ...]:
        """The sizes of the solid."""
        return self.solid.numbers

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        solid = second.then(self.pose)
        p, end = (solid.unrotate(first.point(Vec(x)) - solid.p) for x in self.ends)
        d = end - p
        along = ALONG[self.solid.kind](p, d, self.size)
        if isinstance(self.solid, Box):
            return self._out_of_box(solid, p, d, self._near(solid, p, d, along))
        return self._near(solid, p, d, along)

    def _near(self, solid: Transform, p: Vec, d: Vec, along: Along) -> tuple[Touch, Touch]:
        """The balls that are nearest, and furthest from there over a face."""
        distance = self.solid.distance
        size = self.radius + sum(self.size)

        def near(t: Scalar) -> Scalar:
            return distance(p + d * t).gap

        lies = along.begin <= along.end
        most = near(along.nearest) + _EVEN * size
        begins, ends = near(along.begin) <= most, near(along.end) <= most
        nearest = select(lies, select(begins, along.begin, select(ends, along.end, along.nearest)), along.nearest)
        far = select(along.end - nearest > nearest - along.begin, along.end, along.begin)
        beyond = maximum(far - nearest, nearest - far) > _EVEN
        other = self._at(solid, p + d * far)
        there = select(lies, select(beyond, other.gap, APART), APART)
        return self._at(solid, p + d * nearest), other._replace(gap=there)

    def _out_of_box(self, solid: Transform, p: Vec, d: Vec, shallow: tuple[Touch, Touch]) -> tuple[Touch, Touch]:
        """Contacts where the middle line is outside of a box, and along its shortest way out where it has entered."""
        way = way_out(p, d, self.size)
        begin, enters = 0.0, 0.0
        end, leaves = 1.0, 1.0
        for k in range(3):
            first, last = _over(p[k], d[k], 0.5 * self.size[k])
            own = way.face[k] > 0.5
            enters, leaves = maximum(enters, first), minimum(leaves, last)
            begin, end = maximum(begin, select(own, 0.0, first)), minimum(end, select(own, 1.0, last))
        entered = leaves - enters > _EVEN
        over_edge = way.over_edge > 0.5
        at = select(over_edge, way.at, _clamped(way.at, begin, end))
        far = select(end - at > at - begin, end, begin)
        there = select(over_edge, APART, select(maximum(far - at, at - far) > _EVEN, 0.0, APART))
        wide = dot(way.normal, d)
        found = [self._along_way(solid, p + d * t, way, (way.at - t) * wide) for t in (at, far)]
        found[1] = found[1]._replace(gap=found[1].gap + there)
        return _either(entered, found[0], shallow[0]), _either(entered, found[1], shallow[1])

    def _along_way(self, solid: Transform, centre: Vec, way: WayOut, less: Scalar) -> Touch:
        """A ball of the capsule that leaves a box in a direction, `less` deep than the deepest."""
        far = -way.depth - less
        point = solid.point(centre - way.normal * (0.5 * (far + self.radius)))
        return Touch(far - self.radius, point, solid.rotate(way.normal))

    def _at(self, solid: Transform, centre: Vec) -> Touch:
        """A ball of the capsule, in the axes of the solid, against it."""
        far, normal = self.solid.distance(centre)
        point = solid.point(centre - normal * (0.5 * (far + self.radius)))
        return Touch(far - self.radius, point, solid.rotate(normal))
