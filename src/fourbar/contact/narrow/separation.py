"""The separation of two convex shapes: gap, normal and nearest points, apart or within each other.

The gap is the largest s(n) = -h_A(-n) - h_B(n) over unit normals n, from the second shape B to the first A, with h the
support functions: the distance where they are apart, and where they overlap minus the least way out. GJK finds the
nearest point v of the differences A - B, and with n = v / |v| a bound from below, s(n), and one from above, |v|.

Where the gap is small or negative v has no direction. So A is moved by t along a normal n0 until the two are apart by
a margin, and GJK maximises s(n) + t n · n0. This is s with a term that draws n to n0: a proximal step, by which s never
falls. The normal found becomes the next n0; what it converges to is a local maximum, the only one where shapes are
apart. The loop is one: each pass asks both shapes for a support point, or else moves the shape.

The certificate is what the bounds leave open: |v| - s(n) of the last problem, and t |n - n0|², which is more than what
the term may hide if the last step was more than 0.7 of the distance to the end.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ...expr import maximum, minimum, select, sqrt
from ...expr.standalone_steps import standalone
from ...shapes.base import ShapeType
from ...spatial.linear import Scalar, Vec, dot
from ...spatial.transform import Transform
from .gjk import Corner, Nearest, either, reduce_simplex
from .normals import NO_STEP, expect_normal
from .pair import ConvexPair, Corners

PASSES = 64  # at most
CERTAIN = 1e-12  # of the size: what bounds may leave open
_MARGIN = 1e-3  # of the smaller reach: how far shapes are apart for GJK
_START = 0.1  # of the distance of the centres, by which they are moved apart at first
_ENOUGH = 0.1  # of what the term that draws n hides, at which the shape is moved
_EXACT = 1e-15  # of both reaches: bounds that meet
_TOUCHING = 1e-4  # of the margin: gaps below which a shape is moved if both have only corners; others below all of it
_SETTLED = 1e-9  # of the margin: by how much less the shape is moved in the end
_NEAR, _AT_END = 1e-4, 1e-16  # squared angles at which Newton's method is about to end, and has ended
_TINY = 1e-200


class Separation(NamedTuple):
    """Gap (m, negative within each other), unit normal from the second shape to the first, the nearest points of both,
    and how much the bounds of the gap leave open (m)."""

    gap: Scalar
    normal: Vec
    first: Vec
    second: Vec
    certificate: Scalar


class SearchState(NamedTuple):
    """The state of the loop. All in the axes of the first shape.

    corners: of the simplex; at: the points of v; shift: by how much the first shape is moved; moved: 1.0 where it has
    just been, so that the nearest point of the simplex is to be found again; low: the largest n · (a - b + shift) yet;
    normal, gap: of the largest s; ahead: where Newton's method expects a larger one, zero if it is not to be tried;
    flat: 1.0 where edges and faces of the simplex hold for that, 0.0 after it failed with them.
    """

    corners: Corners
    at: Corner
    v: Vec
    shift: Vec
    moved: Scalar
    low: Scalar
    normal: Vec
    gap: Scalar
    ahead: Vec
    flat: Scalar
    open: Scalar


class Trial(NamedTuple):
    """What a pass finds: the normal that it looks along, 1.0 where that is one that Newton's method expects, the
    support points there, s, the simplex with these, and 1.0 where its nearest point is no nearer than before."""

    n: Vec
    trying: Scalar
    found: Corner
    gap: Scalar
    nearest: Nearest
    farther: Scalar


@cache
def _steps(first: type[ShapeType], second: type[ShapeType]) -> tuple[Any, Any]:
    """The first step and a pass of the loop for two kinds of shapes."""
    curved = any(x.has("support_rate") for x in (first, second))

    def pair_of(sizes: Any, relative: Any) -> ConvexPair:
        return ConvexPair(first.of_parameters(sizes[0]), second.of_parameters(sizes[1]), *relative)

    @standalone
    def start(sizes: Any, relative: Any, guess: Vec) -> SearchState:
        corner = pair_of(sizes, relative).support(guess)
        d = corner.a - corner.b
        shift = guess * (_START * sqrt(dot(relative[1], relative[1])))
        none = Vec((0.0, 0.0, 0.0))
        return SearchState(
            (corner, corner, corner), corner, d + shift, shift, 1.0, -1e300, guess, dot(d, guess), none, 1.0, 1e300
        )

    @standalone
    def turn(x: SearchState, sizes: Any, relative: Any, margin: Scalar, near: Scalar) -> tuple[SearchState, Scalar]:
        pair = pair_of(sizes, relative)
        return _pass(pair, curved, x, _look(pair, curved, x), margin, near)

    return start, turn


def _look(pair: ConvexPair, curved: bool, x: SearchState) -> Trial:
    squared = dot(x.v, x.v)
    n = x.v * (1.0 / sqrt(maximum(squared, _TINY)))
    trying, corners = 0.0, x.corners
    if curved:
        trying = select(dot(x.ahead, x.ahead) > 0.5, 1.0 - x.moved, 0.0)
        n = either(trying > 0.5, x.ahead, n)
        corners = either(trying > 0.5, tuple(pair.align(n, c) for c in corners), corners)
    found = pair.support(n)
    nearest = reduce_simplex(either(x.moved > 0.5, x.corners[0], found), corners, x.shift, x.v)
    farther = select(dot(nearest.v, nearest.v) < squared, 0.0, 1.0)
    return Trial(n, trying, found, dot(n, found.a - found.b), nearest, farther)


def _pass(
    pair: ConvexPair, curved: bool, x: SearchState, look: Trial, margin: Scalar, near: Scalar
) -> tuple[SearchState, Scalar]:
    """The state after a pass, and 1.0 where it is not the last."""
    n, nearest, moved = look.n, look.nearest, x.moved > 0.5
    gap = select(moved, -1e300, look.gap)
    low = maximum(x.low, gap + dot(n, x.shift))
    left = sqrt(dot(x.v, x.v)) - low
    better = gap > x.gap
    normal, most = either(better, (n, gap), (x.normal, x.gap))
    drawn = sqrt(dot(x.shift, x.shift))
    inside = select(moved, 0.0, nearest.inside)
    exact = select(left <= near, 1.0, look.farther * (1.0 - look.trying))
    enough = select(left <= _ENOUGH * (drawn - dot(n, x.shift)), 1.0, exact)
    touching = 1.0 if curved else _TOUCHING
    shift = normal * select(most < touching * margin, margin - most, 0.0)
    change = shift - x.shift
    moves = select(dot(change, change) <= (_SETTLED * margin) * (_SETTLED * margin), 0.0, 1.0)
    active = (1.0 - x.moved) * (1.0 - inside)
    ended = active * exact * (1.0 - moves)
    again = maximum(inside, active * enough * moves)
    stays = maximum(maximum(again, ended), look.trying * look.farther) > 0.5
    corners, at, v = either(stays, (x.corners, x.at, x.v), (nearest.corners, nearest.at, nearest.v))
    ahead, flat = Vec((0.0, 0.0, 0.0)), x.flat
    if curved:
        next_normal, turn = expect_normal(pair, look.found, n, look.gap, corners, flat)
        leads_on = select(better, select(turn < _NEAR, 1.0, flat), 0.0)
        flat = select(look.trying * (1.0 - leads_on) * moves > 0.5, 1.0 - flat, flat)
        flat = select(turn >= NO_STEP, 1.0, flat)
        again = maximum(again, select(turn < _AT_END, active * look.trying * moves, 0.0))
        ahead = either(select(better, 1.0, 0.0) > 0.5, next_normal, ahead)
        ahead = either(again > 0.5, normal, either(moved, x.ahead, ahead))
    error = select(moved, x.open, left + 2.0 * (drawn - dot(normal, x.shift)))
    shift, low = either(again > 0.5, (shift, -1e300), (x.shift, low))
    return SearchState(corners, at, v, shift, again, low, normal, most, ahead, flat, error), 1.0 - ended


def smaller_reach(first: ShapeType, second: ShapeType) -> Scalar:
    """The smaller reach of two shapes that is above zero; 1.0 of two points."""
    low, high = minimum(first.reach, second.reach), maximum(first.reach, second.reach)
    return select(low > 0.0, low, select(high > 0.0, high, 1.0))


def separate(
    recorder: Any, shapes: tuple[ShapeType, ShapeType], poses: tuple[Transform, Transform], guess: Vec | None = None
) -> Separation:
    """The separation of two shapes at poses in the world; `guess`: a normal near that from the second to the first."""
    (first, r), (second, s) = (x.rounding for x in shapes)
    start, turn = _steps(type(first), type(second))
    sizes = (first.parameters, second.parameters)
    small, near = smaller_reach(first, second), _EXACT * (first.reach + second.reach)
    relative = recorder.call(relative_pose, poses)
    seen = None if guess is None else recorder.call(Transform.unrotate, poses[0], guess)
    begin = recorder.call(_guess, relative[1]) if seen is None else seen
    x = recorder.call(start, sizes, relative, begin)

    def again(x: SearchState) -> tuple[SearchState, Scalar]:
        return recorder.call(turn, x, sizes, relative, _MARGIN * small, near)

    x = recorder.repeat(again, x, PASSES)
    return recorder.call(_world, poses[0], x, (r, s))


def relative_pose(poses: tuple[Transform, Transform]) -> tuple[Any, Vec]:
    """Rotation (rows) and place of the second pose in the axes of the first."""
    a, b = poses
    rows, others = tuple(zip(*a.R, strict=True)), tuple(zip(*b.R, strict=True))
    return tuple(tuple(dot(x, y) for y in others) for x in rows), a.unrotate(b.p - a.p)


def _guess(p: Vec) -> Vec:
    """The direction from the origin of the second shape, at p, to that of the first."""
    squared = dot(p, p)
    same = squared < _TINY
    length = sqrt(select(same, 1.0, squared))
    return Vec([select(same, z, -x / length) for x, z in zip(p, (0.0, 0.0, 1.0), strict=True)])


def _world(pose: Transform, x: SearchState, rounding: tuple[float, float]) -> Separation:
    n = pose.rotate(x.normal)
    a, b = pose.point(x.at.a), pose.point(x.at.b)
    return Separation(x.gap - rounding[0] - rounding[1], n, a - n * rounding[0], b + n * rounding[1], x.open)
