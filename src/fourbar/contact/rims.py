"""The rim of a cylinder's end on terrain.

On a plane: its lowest point, and two more, each a third of the rim further, which are never lower. A wheel rolls on the
first, and a cylinder stands on all of them.

On other terrain: a point of each of six sectors of the rim, which are fixed to the body. The point of a sector is where
the gap is least within it: between its ends, where the gap does not change along the rim, or at the lower end. So its
gap is a continuous function of the pose, and changes by the velocity of the body at the point and by nothing else.
Points that follow the direction in which a cylinder tilts find other gaps as they run along the rim, which no velocity
has brought about: pushed out of what they found, a cylinder on a dune rocked for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any, NamedTuple

from ..expr import maximum, select, sqrt
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .candidates import Touch, axes_of
from .terrain import Terrain

Three = tuple[float, float, float]
_TURNS = ((1.0, 0.0), (-0.5, 0.75**0.5), (-0.5, -(0.75**0.5)))  # three points of a rim, a third of it apart
_SECTORS = 6
_TINY = 1e-60
_LOOKS = 3  # by which the place of the least gap of a sector is found


def on_rim(centre: Three, axis: Three, radius: float, terrain: Terrain) -> Iterator[Any]:
    """The geometries of a circle on terrain: by sectors, if it is not a plane."""
    if terrain.flat:
        yield from (RimPoint(centre, axis, radius, turn, terrain) for turn in _TURNS)
        return
    begins = _directions(axis)
    for begin, end in zip(begins, (*begins[1:], begins[0]), strict=True):
        yield RimSector(centre, axis, radius, begin, end, terrain)


def _directions(axis: Sequence[float]) -> list[Three]:
    """Where the sectors around an axis begin, one after the other: unit vectors."""
    first, second = axes_of(Vec(axis))
    angles = [2.0 * pi * k / _SECTORS for k in range(_SECTORS)]
    return [_three(first * cos(x) + second * sin(x)) for x in angles]


def _three(x: Sequence[Any]) -> Three:
    a, b, c = (float(y) for y in x)
    return (a, b, c)


def _either(c: Scalar, x: Vec, y: Vec) -> Vec:
    return Vec([select(c, p, q) for p, q in zip(x, y, strict=True)])


@dataclass(frozen=True)
class RimPoint:
    """A point of a circle on the first link: the one below its centre, along the normal of what does not move there, or
    `turn` (cos, sin) from that."""

    centre: Three
    axis: Three
    radius: float
    turn: tuple[float, float]
    terrain: Terrain

    steady = False

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        centre, axis = first.point(Vec(self.centre)), first.rotate(Vec(self.axis))
        normal = self.terrain.surface(centre).normal
        down = axis * dot(axis, normal) - normal
        spare = first.rotate(Vec(_three(axes_of(Vec(self.axis))[0])))
        upright = dot(down, down) < 1e-18  # any direction is as good: three points carry it
        length = sqrt(select(upright, 1.0, dot(down, down)))
        out = _either(upright, spare, down * (1.0 / length))
        cosine, sine = self.turn
        point = centre + (out * cosine + axis.cross(out) * sine) * self.radius
        gap, own = self.terrain.surface(point)
        return Touch(gap, point, own)


class _Place(NamedTuple):
    """A place of a rim: the unit vector there from its centre, the contact, and by how much the gap grows per length of
    the rim."""

    out: Vec
    touch: Touch
    rate: Scalar


def _of_two(c: Scalar, a: _Place, b: _Place) -> _Place:
    return _Place(_either(c, a.out, b.out), _touch_of_two(c, a.touch, b.touch), select(c, a.rate, b.rate))


def _touch_of_two(c: Scalar, a: Touch, b: Touch) -> Touch:
    return Touch(select(c, a.gap, b.gap), _either(c, a.point, b.point), _either(c, a.normal, b.normal))


def _least(a: _Place, b: _Place, axis: Vec) -> Scalar:
    """The part of the chord from a to b, from 0 to 1, where the gap is least, if it falls at a and grows at b.

    With a normal that is linear along the chord the rate is quadratic in that part, and has one zero within.
    """
    bend = dot(b.touch.normal - a.touch.normal, axis.cross(b.out - a.out))
    slope = b.rate - a.rate - bend
    twice = slope + sqrt(maximum(slope * slope - 4.0 * bend * a.rate, _TINY))
    return -2.0 * a.rate / select(twice > 0.0, twice, 1.0)


@dataclass(frozen=True)
class RimSector:
    """A part of a circle on the first link, from a direction to another, against what does not move."""

    centre: Three
    axis: Three
    radius: float
    begin: Three
    end: Three
    terrain: Terrain

    steady = False

    def touch(self, first: Transform, second: Transform) -> Touch:
        """The contact, in the world."""
        centre, axis = first.point(Vec(self.centre)), first.rotate(Vec(self.axis))
        a, b = (self._at(centre, axis, first.rotate(Vec(x))) for x in (self.begin, self.end))
        between = select(a.rate <= 0.0, b.rate, 0.0) > 0.0
        end = least = _touch_of_two(b.touch.gap < a.touch.gap, b.touch, a.touch)
        for _ in range(_LOOKS):
            chord = a.out + (b.out - a.out) * _least(a, b, axis)
            place = self._at(centre, axis, chord * (1.0 / sqrt(dot(chord, chord))))
            least, falls = place.touch, place.rate < 0.0
            a, b = _of_two(falls, place, a), _of_two(falls, b, place)
        return _touch_of_two(between, least, end)

    def _at(self, centre: Vec, axis: Vec, out: Vec) -> _Place:
        point = centre + out * self.radius
        gap, normal = self.terrain.surface(point)
        return _Place(out, Touch(gap, point, normal), dot(normal, axis.cross(out)))
