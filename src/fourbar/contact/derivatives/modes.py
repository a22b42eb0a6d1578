"""Slopes of the natural map λ = P(λ - D⁻¹ c, b) at a solution: open, stick or slide; held, or rubbing.

Linearised, every block of rows says  (1 - P′) δλ + P′ D⁻¹ δc = P_b δb.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...expr import maximum, minimum, select
from ...spatial.linear import Mat, Scalar, Vec
from ..gauss_seidel import RowBlock, joint_answer, size_of
from ..newton import by_row, disc_projection, positive_part

_FAR = 1e30  # m/s: no change of mode is near


class BlockSlopes(NamedTuple):
    """The linearised natural map of one block of n rows with m bounds.

    impulse: 1 - P′ (n, n); velocity: P′ D⁻¹ (n, n); bounds: P_b (n, m); margin: how far the block is from a change of
    its mode, and residual: how far it is from solving the equations, as velocities (m/s, rad/s).
    """

    impulse: Mat
    velocity: Mat
    bounds: Mat
    margin: Scalar
    residual: Scalar


def block_slopes(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec, smoothing: float) -> BlockSlopes:
    """The slopes of a block at impulses x (N s) and velocities c (m/s) that solve it; `own`: D."""
    if block.joint:
        return _joint_slopes(own[0], bounds, x[0], c[0])
    n = block.size
    inverse = Vec([1.0 / a for a in own])
    y = x[0] - c[0] * inverse[0]
    pushed, press = positive_part(y, smoothing * inverse[0])
    slopes: list[list[Any]] = [[0.0] * n for _ in range(n)]
    by_bounds: list[list[Any]] = [[0.0] * len(bounds) for _ in range(n)]
    slopes[0][0] = press
    margin = size_of([y]) * own[0]
    missed = size_of([x[0] - maximum(y, 0.0)]) * own[0]
    for k, (rows, size, by, bound) in enumerate(zip(block.places(), own[1:], inverse[1:], bounds, strict=True)):
        places = [i - block.first for i in rows]
        point = Vec([x[i] - c[i] * by for i in places])
        s, q, along, wider = disc_projection(point, bound * pushed, smoothing * by, 1.0)
        for i, a in zip(places, s, strict=True):
            slopes[i][0] = wider * bound * press * a
            by_bounds[i][k] = wider * pushed * a
            for j, b in zip(places, s, strict=True):
                slopes[i][j] = (q if i == j else 0.0) + (along - q) * a * b
        edge = size_of([size_of(point) - bound * pushed]) * size
        margin = minimum(margin, select(y > 0.0, edge, _FAR))
        exact = disc_projection(point, bound * maximum(y, 0.0), 0.0, 1.0)
        missing = [x[i] - exact.q * a for i, a in zip(places, point, strict=True)]
        missed = maximum(missed, size_of(missing) * size)
    scale = by_row(block, inverse)
    impulse = Mat(Vec([(1.0 if i == j else 0.0) - slopes[i][j] for j in range(n)]) for i in range(n))
    velocity = Mat(Vec([slopes[i][j] * scale[j] for j in range(n)]) for i in range(n))
    return BlockSlopes(impulse, velocity, Mat(map(Vec, by_bounds)), margin, missed)


def _joint_slopes(own: Scalar, bounds: Vec, x: Scalar, c: Scalar) -> BlockSlopes:
    """A row of a joint or a constraint: held at one of its ends or by dry friction, else rubbing with all of that."""
    lower, upper, hold = bounds
    alone, drag = c - own * x, own * hold
    rubbed = alone - maximum(minimum(alone, drag), -drag)
    below, above = select(rubbed < lower, 1.0, 0.0), select(rubbed > upper, 1.0, 0.0)
    ended = below + above
    rubs = (1.0 - ended) * select(size_of([alone]) > drag, 1.0, 0.0)
    held = 1.0 - rubs
    by_hold = rubs * select(alone > 0.0, -1.0, 1.0)
    inverse = 1.0 / own
    margin = minimum(size_of([rubbed - lower]), size_of([rubbed - upper]))
    is_bilateral = lower.__class__ is float and lower == upper
    margin = _FAR if is_bilateral else minimum(margin, select(drag > 0.0, size_of([size_of([alone]) - drag]), _FAR))
    by_bounds = Vec((below * inverse, above * inverse, by_hold))
    missed = size_of([joint_answer(c, x, own, bounds)[0] - x]) * own
    return BlockSlopes(Mat((Vec((1.0 - held,)),)), Mat((Vec((held * inverse,)),)), Mat((by_bounds,)), margin, missed)
