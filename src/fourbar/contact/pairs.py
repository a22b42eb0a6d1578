"""Shapes on two links against each other: ball, capsule and box. Which of them are candidates is decided by `scene`.

A capsule is the balls along its middle line, a box what is nearer than its faces. Boxes touch each other with their
corners: two edges that cross, far from the corners, are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.transform import Transform
from .candidates import Touch
from .shapes import Placed, balls

Three = tuple[float, float, float]
_TINY = 1e-60
_PARALLEL = 1e-12


def _clamped(x: Scalar, low: Any, high: Any) -> Scalar:
    return maximum(minimum(x, high), low)


def _between(a: Vec, ra: float, b: Vec, rb: float) -> Touch:
    """Two balls: normal from b to a; along z where their centres coincide."""
    apart = a - b
    squared = dot(apart, apart)
    same = squared < 1e-24
    length = sqrt(select(same, 1.0, squared))
    normal = Vec([select(same, z, x / length) for x, z in zip(apart, (0.0, 0.0, 1.0), strict=True)])
    gap = select(same, 0.0, length) - (ra + rb)
    return Touch(gap, b + normal * (gap * 0.5 + rb), normal)


@dataclass(frozen=True)
class BallAndBall:
    """Two balls."""

    a: Three
    ra: float
    b: Three
    rb: float

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        return _between(first.point(Vec(self.a)), self.ra, second.point(Vec(self.b)), self.rb)


@dataclass(frozen=True)
class BallAndCapsule:
    """A ball on the first link and a capsule, by the ends of its middle line, on the second."""

    a: Three
    ra: float
    ends: tuple[Three, Three]
    rb: float

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        centre = first.point(Vec(self.a))
        start, end = (second.point(Vec(x)) for x in self.ends)
        along = end - start
        t = _clamped(dot(centre - start, along) / dot(along, along), 0.0, 1.0)
        return _between(centre, self.ra, start + along * t, self.rb)


@dataclass(frozen=True)
class CapsuleAndCapsule:
    """The nearest points of two capsules' middle lines."""

    a: tuple[Three, Three]
    ra: float
    b: tuple[Three, Three]
    rb: float

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        p, p1 = (first.point(Vec(x)) for x in self.a)
        q, q1 = (second.point(Vec(x)) for x in self.b)
        u, w, r = p1 - p, q1 - q, p - q
        a, b, c, d, e = dot(u, u), dot(u, w), dot(w, w), dot(u, r), dot(w, r)
        area = a * c - b * b
        flat = area < _PARALLEL * a * c
        s = select(flat, 0.5, _clamped((b * e - c * d) / select(flat, 1.0, area), 0.0, 1.0))
        t = _clamped((b * s + e) / c, 0.0, 1.0)
        s = _clamped((b * t - d) / a, 0.0, 1.0)
        return _between(p + u * s, self.ra, q + w * t, self.rb)


@dataclass(frozen=True)
class BallAndBox:
    """A ball (or a corner) on the first link and a box on the second."""

    a: Three
    ra: float
    centre: Three
    rotation: tuple[Three, Three, Three]
    half: Three

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        ball = first.point(Vec(self.a))
        box = second.then(Transform.of(self.rotation, Vec(self.centre)))
        x = box.unrotate(ball - box.p)
        nearest = Vec([_clamped(a, -h, h) for a, h in zip(x, self.half, strict=True)])
        out = x - nearest
        squared = dot(out, out)
        inside = squared < _TINY
        length = sqrt(select(inside, 1.0, squared))
        depth, normal = _face(x, self.half)
        gap = select(inside, depth, length)
        n = Vec([select(inside, face, a / length) for face, a in zip(normal, out, strict=True)])
        turned = box.rotate(n)
        return Touch(gap - self.ra, ball - turned * (0.5 * (gap + self.ra)), turned)


def _face(x: Vec, half: Three) -> tuple[Scalar, Vec]:
    """The distance (negative) to the nearest face from within a box, and that face's normal."""
    deep = [maximum(a, -a) - h for a, h in zip(x, half, strict=True)]
    largest = maximum(maximum(deep[0], deep[1]), deep[2])
    first = select(deep[0] >= largest, 1.0, 0.0)
    second = select(deep[1] >= largest, 1.0, 0.0) * (1.0 - first)
    chosen = (first, second, 1.0 - first - second)
    return largest, Vec([c * select(a < 0.0, -1.0, 1.0) for c, a in zip(chosen, x, strict=True)])


def _ends(shape: Placed) -> tuple[Three, Three]:
    (a, _), (b, _) = balls(shape)
    return a, b


def _box(shape: Placed) -> tuple[Three, tuple[Three, Three, Three], Three]:
    def three(x: Any) -> Three:
        a, b, c = (float(y) for y in x)
        return (a, b, c)

    r0, r1, r2 = (three(row) for row in Mat(shape.pose.R))
    return three(shape.pose.p), (r0, r1, r2), three(0.5 * x for x in shape.size)


ROUND = ("point", "sphere")
KNOWN = (*ROUND, "capsule", "box")  # what can touch what moves


def geometries(a: Placed, b: Placed) -> Iterator[tuple[Any, bool]]:
    """How two shapes touch: geometries, and whether b is the first of theirs."""
    if a.kind in ROUND and b.kind in ROUND:
        (at, ra), (to, rb) = balls(a)[0], balls(b)[0]
        yield BallAndBall(at, ra, to, rb), False
    elif a.kind in ROUND and b.kind == "capsule":
        ((at, ra),) = balls(a)
        yield BallAndCapsule(at, ra, _ends(b), b.size[0]), False
    elif a.kind == "capsule" and b.kind == "capsule":
        yield CapsuleAndCapsule(_ends(a), a.size[0], _ends(b), b.size[0]), False
    elif b.kind == "box":
        yield from ((BallAndBox(at, ra, *_box(b)), False) for at, ra in balls(a))
        if a.kind == "box":
            yield from ((BallAndBox(at, rb, *_box(a)), True) for at, rb in balls(b))
    else:
        yield from ((geometry, not swapped) for geometry, swapped in geometries(b, a))
