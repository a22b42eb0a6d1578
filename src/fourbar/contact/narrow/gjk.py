"""A pass of GJK (Gilbert, Johnson, Keerthi, 1988): the point of a simplex that is nearest to the origin.

A simplex of differences of points a of one shape and b of another has up to four corners. All corners, edges and faces
are tried; of those whose nearest point is within them the nearest is taken. The normal of a face, not a sum of its
corners, gives the direction.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

from ...expr import minimum, select
from ...spatial.linear import Scalar, Vec, dot

_THIN = 1e-24  # sin² of the corner of a face that has no normal; likewise the squared size of edges over that of all
_TINY = 1e-200


class Corner(NamedTuple):
    """A corner of a simplex: a point of each of the two shapes."""

    a: Vec
    b: Vec


class Nearest(NamedTuple):
    """The nearest point v of a simplex to the origin, the points of the two shapes that it is the difference of, the
    corners that carry it (repeated where there are fewer than three), and 1.0 where the origin is inside."""

    v: Vec
    at: Corner
    corners: tuple[Corner, Corner, Corner]
    inside: Scalar


def either(c: Any, x: Any, y: Any) -> Any:
    """x where c holds, else y, of numbers or what is made of them."""
    if isinstance(x, Vec):
        return Vec([select(c, p, q) for p, q in zip(x, y, strict=True)])
    if isinstance(x, tuple):
        parts = [either(c, p, q) for p, q in zip(x, y, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return select(c, x, y)


class _Part(NamedTuple):
    v: Vec
    squared: Scalar
    weights: Vec  # of the four corners
    corners: tuple[Corner, Corner, Corner]


def _better(found: _Part, part: _Part, valid: Any) -> _Part:
    """The nearer of two parts, the second only where it is valid."""
    nearer = select(valid, part.squared, 1e300) < found.squared
    return either(nearer, part, found)


def reduce_simplex(new: Corner, old: tuple[Corner, Corner, Corner], shift: Vec, before: Vec) -> Nearest:
    """The nearest point of a simplex, to all of whose differences a `shift` is added.

    before: the nearest point of the older corners; the origin is inside only if the new one is beyond it.
    """
    corners = (new, *old)
    d = [x.a - x.b + shift for x in corners]
    squares = [dot(x, x) for x in d]
    scale = squares[0] + squares[1] + squares[2] + squares[3]
    found = _Part(d[0], squares[0], _weights({0: 1.0}), (new, new, new))
    for i in (1, 2, 3):
        part = _Part(d[i], squares[i], _weights({i: 1.0}), (corners[i], corners[i], corners[i]))
        found = _better(found, part, True)
    edges = {(i, j): d[j] - d[i] for i, j in combinations(range(4), 2)}
    lengths = {ij: dot(e, e) for ij, e in edges.items()}
    for (i, j), e in edges.items():
        flat = lengths[i, j] <= _THIN * scale + _TINY
        t = -dot(d[i], e) / select(flat, 1.0, lengths[i, j])
        v = d[i] + e * t
        valid = select(flat, -1.0, t * (1.0 - t)) > 0.0
        part = _Part(v, dot(v, v), _weights({i: 1.0 - t, j: t}), (corners[i], corners[j], corners[j]))
        found = _better(found, part, valid)
    inside = select(dot(before, d[0]) < 0.0, 1.0, 0.0)
    for i, j, k in combinations(range(4), 3):
        first, second = edges[i, j], edges[i, k]
        n = first.cross(second)
        nn = dot(n, n)
        flat = nn <= _THIN * lengths[i, j] * lengths[i, k] + _TINY
        once = 1.0 / select(flat, 1.0, nn)
        height = dot(n, d[i])
        v = n * (height * once)
        p, q = -dot(d[i].cross(second), n) * once, -dot(first.cross(d[i]), n) * once
        rest = 1.0 - p - q
        valid = select(flat, -1.0, minimum(minimum(p, q), rest)) > 0.0
        part = _Part(v, dot(v, v), _weights({i: rest, j: p, k: q}), (corners[i], corners[j], corners[k]))
        found = _better(found, part, valid)
        (other,) = {0, 1, 2, 3} - {i, j, k}
        inside = select(select(flat, -1.0, -height * dot(n, d[other] - d[i])) > 0.0, inside, 0.0)
    at = Corner(Vec((0.0, 0.0, 0.0)), Vec((0.0, 0.0, 0.0)))
    for x, weight in zip(corners, found.weights, strict=True):
        at = Corner(at.a + x.a * weight, at.b + x.b * weight)
    return Nearest(found.v, at, found.corners, inside)


def _weights(given: dict[int, Scalar]) -> Vec:
    return Vec([given.get(k, 0.0) for k in range(4)])
