"""Newton's method for the normal of the largest s(n) = n · (a - b), with a and b the support points of two shapes.

On surfaces and at corners s is smooth: its second derivative is -(H_A + H_B + s), where H are the derivatives of the
support points. Along an edge n is across the edge, or across both directions of a face or of two edges.
"""

from __future__ import annotations

from typing import NamedTuple

from ...expr import maximum, select, sqrt
from ...spatial.linear import Scalar, Vec, dot
from .gjk import Corner, either
from .pair import ConvexPair, Corners

NO_STEP = 1e100  # in place of a step that does not exist
_LEVEL = 0.01  # squared sine up to which an edge may be across the normal in the end
_APART = 1e-12  # sin² of edges that have two directions
_TINY = 1e-200


class ExpectedNormal(NamedTuple):
    """A normal, and how far it is from the one before, squared; `NO_STEP` if there is none."""

    normal: Vec
    turn: Scalar


class LongestEdges(NamedTuple):
    """The longest of some edges, the one that is farthest from along it, and the squared lengths of the first and of
    the part of the second across it."""

    first: Vec
    second: Vec
    long: Scalar
    across: Scalar


def _longest(edges: list[Vec]) -> LongestEdges:
    first = Vec((0.0, 0.0, 0.0))
    for e in edges:
        first = either(dot(e, e) > dot(first, first), e, first)
    long = dot(first, first)
    once = 1.0 / maximum(long, _TINY)
    second, most = first, 0.0
    for e in edges:
        across = e - first * (dot(e, first) * once)
        apart = dot(across, across)
        second, most = either(apart > most, (e, apart), (second, most))
    return LongestEdges(first, second, long, most)


def expect_normal(
    pair: ConvexPair, found: Corner, n: Vec, gap: Scalar, corners: Corners, flat: Scalar
) -> ExpectedNormal:
    """The normal at which s is expected to be largest near n, with the support points and s = gap there.

    flat: 1.0 where edges and faces between the corners of the simplex hold, 0.0 where these are taken for surfaces.
    """
    edges = pair.flat_directions(corners)
    level = [dot(n, e) * dot(n, e) < _LEVEL * dot(e, e) for e in edges]
    x = _longest([Vec([select(c, y * flat, 0.0) for y in e]) for c, e in zip(level, edges, strict=True)])
    square = x.first.cross(x.second)
    square = _unit(square * select(dot(square, n) < 0.0, -1.0, 1.0))
    turned = square - n
    along = x.long > 0.0
    n = _unit(n - x.first * (dot(n, x.first) / maximum(x.long, _TINY)))
    t = _unit(either(along, x.first, _any_across(n)).cross(n))
    u = t.cross(n)
    d = found.a - found.b
    rates = [pair.support_rate(n, y) for y in (t, u)]
    a, b, c = dot(t, rates[0]) + gap, dot(t, rates[1]), dot(u, rates[1]) + gap
    f, g = dot(t, d), dot(u, d)
    det = a * c - b * b
    p = select(along, f / _not_zero(a), (c * f - b * g) / _not_zero(det))
    q = select(along, 0.0, (a * g - b * f) / _not_zero(det))
    valid = select(along, a, select(det > 0.0, a, -1.0)) > 0.0
    none = ExpectedNormal(Vec((0.0, 0.0, 0.0)), NO_STEP)
    smooth = either(valid, ExpectedNormal(_unit(n + t * p + u * q), p * p + q * q), none)
    return either(x.across > _APART * x.long, ExpectedNormal(square, dot(turned, turned)), smooth)


def _not_zero(x: Scalar) -> Scalar:
    return select(x * x > _TINY, x, 1.0)


def _unit(x: Vec) -> Vec:
    return x * (1.0 / sqrt(maximum(dot(x, x), _TINY)))


def _any_across(n: Vec) -> Vec:
    """A vector that is not along n."""
    first = n[0] * n[0] < 0.5
    return Vec((select(first, 1.0, 0.0), select(first, 0.0, 1.0), 0.0))
