"""Parts of a line that lie in convex shapes, in closed form: for rays.

A line is x + t d, with d of any length but zero. A chord is the interval of t in which it is inside: empty where its
first is above its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Scalar, Vec, dot
from .base import Chord
from .solids import TINY

WHOLE, EMPTY = Chord(-inf, inf), Chord(inf, -inf)


def choose(condition: Scalar, a: Chord, b: Chord) -> Chord:
    """One of two chords."""
    return Chord(select(condition, a.first, b.first), select(condition, a.last, b.last))


def common(chords: Iterable[Chord]) -> Chord:
    """The chord of what several shapes have in common."""
    first, *others = chords
    for x in others:
        first = Chord(maximum(first.first, x.first), minimum(first.last, x.last))
    return first


def join(chords: Iterable[Chord]) -> Chord:
    """The chord of a convex shape that is made of several."""
    total = EMPTY
    for x in chords:
        x = choose(x.first <= x.last, x, EMPTY)
        total = Chord(minimum(total.first, x.first), maximum(total.last, x.last))
    return total


def below(distance: Scalar, rate: Scalar) -> Chord:
    """Where distance + t rate is not above zero."""
    still = rate * rate < TINY
    at = -(distance / select(still, 1.0, rate))
    moving = choose(rate > 0.0, Chord(-inf, at), Chord(at, inf))
    return choose(still, choose(distance <= 0.0, WHOLE, EMPTY), moving)


def within_ball(x: Sequence[Scalar], d: Sequence[Scalar], radius: Scalar) -> Chord:
    """Where a line is within a distance of the origin, in any number of dimensions."""
    a, c = dot(d, d), dot(x, x) - radius * radius
    still = a < TINY
    a = select(still, 1.0, a)
    middle = -(dot(x, d) / a)
    nearest = Vec([p + middle * q for p, q in zip(x, d, strict=True)])
    left = radius * radius - dot(nearest, nearest)  # without cancellation where the ray begins far away
    half = sqrt(maximum(left, 0.0) / a)
    moving = choose(left >= 0.0, Chord(middle - half, middle + half), EMPTY)
    return choose(still, choose(c <= 0.0, WHOLE, EMPTY), moving)


def nearest_hit(chord: Chord) -> Scalar:
    """Where a ray from t = 0 on meets the surface first: infinite if never; from inside, where it leaves."""
    ahead = select(chord.first >= 0.0, chord.first, select(chord.last >= 0.0, chord.last, inf))
    return select(chord.first <= chord.last, ahead, inf)
