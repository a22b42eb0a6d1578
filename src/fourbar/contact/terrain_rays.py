"""Rays against terrain: how far from a place, along a direction of length one, the surface is.

Solids and planes have closed forms; the bilinear cells of a height field are visited one after the other along the ray,
each with a quadratic equation. A signed distance is approached by steps as long as the distance itself: a hit is within
`NEAR` of the surface where it is nowhere larger than the true distance; a surface may be missed that is steeper than
that, and one that takes more than `MOST_STEPS` steps.
"""

from __future__ import annotations

from math import inf
from typing import Any

from ..errors import ModelError
from ..expr import floor, maximum, minimum, select, sqrt
from ..shapes.chords import nearest_hit
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .solid_terrain import Solid
from .terrain import HeightField, Plane, SignedDistance, Terrain

NEAR = 1e-10  # m
MOST_STEPS = 200
_TINY = 1e-60
_EDGE = 1e-12  # of the way through a cell: a crossing on its edge belongs to both
_FARTHEST = 1e6  # m, that a ray goes over a height field or towards a signed distance


def ray_to(recorder: Any, terrain: Terrain, x: Vec, d: Vec) -> Scalar:
    """The distance of terrain along a ray from x; infinite if there is none. Planes are seen from above only."""
    if isinstance(terrain, Plane):
        return recorder.call(_to_plane, Vec(terrain.point), Vec(terrain.normal), x, d)
    if isinstance(terrain, Solid):
        return recorder.call(_ToSolid(terrain), x, d)
    if isinstance(terrain, HeightField):
        return _through_cells(recorder, terrain, x, d)
    if isinstance(terrain, SignedDistance):
        return _towards(recorder, terrain, x, d)
    raise ModelError(f"no ray finds terrain of type {type(terrain).__name__}")


def _to_plane(point: Vec, normal: Vec, x: Vec, d: Vec) -> Scalar:
    above, rate = dot(normal, x - point), dot(normal, d)
    ahead = (above >= 0.0, rate < 0.0)
    t = -(above / select(ahead[1], rate, 1.0))
    return select(ahead[0], select(ahead[1], t, inf), inf)


class _ToSolid:
    """A ray against a solid."""

    def __init__(self, solid: Solid) -> None:
        self.solid = solid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ToSolid) and other.solid == self.solid

    def __hash__(self) -> int:
        return hash(self.solid)

    def __call__(self, x: Vec, d: Vec) -> Scalar:
        pose = Transform.of(self.solid.rotation, Vec(self.solid.position))
        return nearest_hit(self.solid.form.chord(pose.unrotate(x - pose.p), pose.unrotate(d)))


def _through_cells(recorder: Any, field: HeightField, x: Vec, d: Vec) -> Scalar:
    """The first crossing of the surface, cell by cell."""
    step = _CellStep(field)
    start = recorder.call(step.first_cell, x)

    def body(state: Any) -> Any:
        return recorder.call(step, state, x, d)

    end = recorder.repeat(body, (*start, 0.0, inf), len(field.heights) + len(field.heights[0]) + 4)
    return end[3]


class _CellStep:
    """A step of a ray through a cell, to the next one."""

    def __init__(self, field: HeightField) -> None:
        self.field = field

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CellStep) and other.field == self.field

    def __hash__(self) -> int:
        return hash(self.field)

    def _on_grid(self, x: Vec) -> list[Scalar]:
        """A place in numbers of knots."""
        return [(x[k] - self.field.origin[k]) / self.field.spacing[k] for k in (0, 1)]

    def first_cell(self, x: Vec) -> tuple[Scalar, Scalar]:
        """The cell of a place, by the number of its first knot: -1 before the first, n - 1 behind the last."""
        sizes = (len(self.field.heights), len(self.field.heights[0]))
        first = [maximum(minimum(floor(a), n - 1.0), -1.0) for a, n in zip(self._on_grid(x), sizes, strict=True)]
        return first[0], first[1]

    def __call__(self, state: Any, x: Vec, d: Vec) -> Any:
        """The state is the cell, how far the ray has come, and where it met the surface; the next one, and whether the
        ray goes on."""
        cell, t = state[:2], state[2]
        at, rate = self._on_grid(x), [d[k] / self.field.spacing[k] for k in (0, 1)]
        leaves = [self._leave(k, cell[k], at[k], rate[k]) for k in (0, 1)]
        upto = minimum(minimum(leaves[0], leaves[1]), _FARTHEST)
        hit = self._crossing(cell, (x, d), t, upto)
        by_first = leaves[0] <= leaves[1]
        step = [select(rate[k] < 0.0, -1.0, 1.0) for k in (0, 1)]
        after = (cell[0] + select(by_first, step[0], 0.0), cell[1] + select(by_first, 0.0, step[1]))
        more = select(hit < inf, -1.0, select(upto < _FARTHEST, 1.0, -1.0))
        return (*after, maximum(t, upto), hit), more

    def _leave(self, axis: int, cell: Scalar, at: Scalar, rate: Scalar) -> Scalar:
        """Where the ray leaves a strip of cells along an axis."""
        last = (len(self.field.heights), len(self.field.heights[0]))[axis] - 1.0
        border = select(rate < 0.0, cell, cell + 1.0)
        t = (border - at) / select(rate * rate < _TINY, 1.0, rate)
        ends = select(rate < 0.0, cell < 0.0, cell >= last)
        return select(rate * rate < _TINY, inf, select(ends > 0.0, inf, t))

    def _crossing(self, cell: Any, ray: tuple[Vec, Vec], t: Scalar, upto: Scalar) -> Scalar:
        """The first t in a cell at which z - height changes its sign; infinite if it does not."""
        x, d = ray
        span = upto - t
        above = []
        for part in (0.0, 0.5, 1.0):
            s = t + part * span
            above.append(x[2] + s * d[2] - self._height(cell, x[0] + s * d[0], x[1] + s * d[1]))
        a, b, c = above
        curve, slope = 2.0 * (a + c - 2.0 * b), 4.0 * b - 3.0 * a - c  # a + slope p + curve p², p from 0 to 1
        root = sqrt(maximum(slope * slope - 4.0 * a * curve, 0.0))
        far = -0.5 * (slope + select(slope < 0.0, -1.0, 1.0) * root)
        flat, still = curve * curve < _TINY, far * far < _TINY
        roots = (select(still, inf, a / select(still, 1.0, far)), select(flat, inf, far / select(flat, 1.0, curve)))
        inside = [select(p >= -_EDGE, select(p <= 1.0 + _EDGE, maximum(p, 0.0), inf), inf) for p in roots]
        p = minimum(inside[0], inside[1])
        real = slope * slope - 4.0 * a * curve >= 0.0
        return select(real, select(p < inf, t + p * span, inf), inf)

    def _height(self, cell: Any, x: Scalar, y: Scalar) -> Scalar:
        """The height at a place in a cell, whose neighbours do not count where it is on an edge."""
        field, n, m = self.field, len(self.field.heights), len(self.field.heights[0])
        u, i = self._part((x - field.origin[0]) / field.spacing[0], cell[0], n)
        w, j = self._part((y - field.origin[1]) / field.spacing[1], cell[1], m)
        return field.height_in_cell(i, j, u, w)

    def _part(self, at: Scalar, cell: Scalar, n: int) -> tuple[Scalar, Scalar]:
        """How far a place is in a cell of the table, and that cell; on the rim of the table outside of it."""
        own = maximum(minimum(cell, n - 2.0), 0.0)
        return maximum(minimum(at - own, 1.0), 0.0), own


def _towards(recorder: Any, terrain: SignedDistance, x: Vec, d: Vec) -> Scalar:
    """Steps as long as the distance, until the surface is near; from inside, until it is left."""
    side = recorder.call(_Side(terrain), x)

    def body(t: Any) -> Any:
        return recorder.call(_SphereStep(terrain), t[0], side, x, d)

    (t,) = recorder.repeat(body, (0.0,), MOST_STEPS)
    return recorder.call(_SphereStep(terrain).reached, t, x, d)


class _Side:
    """1.0 outside of terrain, -1.0 inside."""

    def __init__(self, terrain: SignedDistance) -> None:
        self.terrain = terrain

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.terrain == other.terrain  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.terrain)

    def __call__(self, x: Vec) -> Scalar:
        return select(self.terrain.surface(x).gap < 0.0, -1.0, 1.0)


class _SphereStep(_Side):
    """A step along a ray."""

    def __call__(self, t: Scalar, side: Scalar, x: Vec, d: Vec) -> Any:  # type: ignore[override]
        gap = side * self.terrain.surface(x + d * t).gap
        more = select(gap > NEAR, select(t < _FARTHEST, 1.0, -1.0), -1.0)
        return (t + select(more > 0.0, gap, 0.0),), more

    def reached(self, t: Scalar, x: Vec, d: Vec) -> Scalar:
        """t if it is at the surface, else infinite."""
        gap = self.terrain.surface(x + d * t).gap
        return select(maximum(gap, -gap) <= NEAR, t, inf)
