"""A capsule whose middle line has entered a box: the shortest way out.

Balls on the line then have no nearest place, and the nearest face of one of them need not be a way out for all. The way
is along the axis, of the faces and of edges against the line, along which the two overlap least.
"""

from __future__ import annotations

from typing import NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Scalar, Vec, dot

_PARALLEL = 1e-12
_EVEN = 1e-9  # of the sizes: by so much an edge has to be the shorter way, so that what lies on a face stays on it


class WayOut(NamedTuple):
    """How deep a segment is in a box, in which direction it leaves, at which part of it, from 0 to 1, and 1.0 where it
    leaves over an edge, 0.0 where through a face; `face` has 1.0 for the axis of that."""

    depth: Scalar
    normal: Vec
    at: Scalar
    over_edge: Scalar
    face: Vec


def _unit(k: int, size: Scalar = 1.0) -> Vec:
    return Vec([size if i == k else 0.0 for i in range(3)])


def _size(x: Scalar) -> Scalar:
    return maximum(x, -x)


def _sign(x: Scalar) -> Scalar:
    return select(x < 0.0, -1.0, 1.0)


def _through_face(p: Vec, d: Vec, half: list[float], k: int) -> WayOut:
    """The shorter way through the two faces across an axis."""
    end = p[k] + d[k]
    up, down = half[k] - minimum(p[k], end), half[k] + maximum(p[k], end)
    side = select(down < up, -1.0, 1.0)
    at = select(side * d[k] < 0.0, 1.0, 0.0)
    return WayOut(minimum(up, down), _unit(k, side), at, 0.0, _unit(k))


def _over_edge(p: Vec, d: Vec, half: list[float], k: int) -> WayOut:
    """The way over the nearest edge along an axis, across the segment too."""
    across = d - _unit(k, d[k])
    squared = dot(across, across)
    parallel = squared < _PARALLEL * dot(d, d)
    once = 1.0 / select(parallel, 1.0, squared)
    n = across.cross(_unit(k)) * sqrt(once)
    away = dot(n, p)
    normal = n * _sign(away)
    depth = sum((_size(x) * h for x, h in zip(n, half, strict=True)), start=-_size(away))
    corner = Vec([_sign(x) * h for x, h in zip(normal, half, strict=True)])
    at = minimum(maximum(dot(across, corner - p) * once, 0.0), 1.0)
    return WayOut(select(parallel, 1e30, depth), normal, at, 1.0, Vec((0.0, 0.0, 0.0)))


def _either(first: Scalar, a: WayOut, b: WayOut) -> WayOut:
    def chosen(x: Vec, y: Vec) -> Vec:
        return Vec([select(first, i, j) for i, j in zip(x, y, strict=True)])

    depth, at, over = (select(first, getattr(a, x), getattr(b, x)) for x in ("depth", "at", "over_edge"))
    return WayOut(depth, chosen(a.normal, b.normal), at, over, chosen(a.face, b.face))


def way_out(p: Vec, d: Vec, size: tuple[float, ...]) -> WayOut:
    """Of a segment p + t d that has entered a box."""
    half = [0.5 * x for x in size]
    best = _through_face(p, d, half, 0)
    for k in (1, 2):
        face = _through_face(p, d, half, k)
        best = _either(face.depth < best.depth, face, best)
    for k in range(3):
        edge = _over_edge(p, d, half, k)
        best = _either(edge.depth + _EVEN * sum(size) < best.depth, edge, best)
    return best
