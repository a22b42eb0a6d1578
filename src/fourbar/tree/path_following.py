"""Following the closed configurations of loops in steps so small that the assembly does not change.

Two closed configurations belong to one assembly (elbow up, elbow down) if a motion leads from one to the other. Each
pass goes straight on along the tangent, by δ = s t, and at once makes the correction that the gap φ of the last step
asks for, both from one factor of K Kᵀ:

    t <- (1 - K⁺ K) t,    c = -K⁺ φ,    K⁺ = Kᵀ (K Kᵀ)⁻¹

A step whose correction is not small beside it is halved. Where two assemblies come near each other K is nearly
singular: the clearance 1 / sqrt(tr K Kᵀ tr (K Kᵀ)⁻¹) bounds the steps, and where it is small the path turns back. At
limits of joints it is reflected. All over any scalar: on numbers, on arrays, and recorded for machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..constraints.trace import cut
from ..expr import evaluate, maximum, minimum, prepare, select, sqrt
from ..spatial.linear import Scalar, Vec, dot, is_zero
from .embedding import LoopEmbedding

PASSES = 150  # the largest number of steps
FARTHEST = 24.0  # the longest path, in the units of the joints: so many steps lead there


class PathSettings:
    """Settings of the steps along a path of closed configurations."""

    LONGEST, SHORTEST = 0.4, 0.02  # the longest step, in the units of the joints, and the shortest before turning back
    CLEAR = 0.8  # longest step where K is as far from singular as at the start
    BENT = 0.25  # correction relative to the step: where it is larger, the step was too long
    ROUNDING = 1e-5  # a correction that is small beside any step; in small loops far away it may be rounding
    LAST = 1e-7  # a correction after which the gap is rounding
    INWARD = 0.5  # least speed at which a path leaves a limit, relative to its own
    NOTHING = 1e-9  # norm of a direction that is only rounding, where loops allow none
    ONE_BY_ONE = 4  # samples up to which numbers are faster than arrays
    TINY = 1e-300  # instead of zero in denominators whose numerator is zero too


@dataclass(frozen=True)
class PathLimits:
    """The limits (nq) of the coordinates of all joints of a cluster, and the ranges (nq) that are left beside them."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    room: tuple[float, ...]

    @classmethod
    def of(cls, tie: LoopEmbedding, lower: np.ndarray, upper: np.ndarray) -> PathLimits:
        """Limits (nq) of a cluster; a path may end beside them, by up to half of the smaller of range and guesses."""
        return cls(*(tuple(x.tolist()) for x in (lower, upper, np.minimum(upper - lower, tie.units.guesses))))


class Path(NamedTuple):
    """The state of a path, in units of the joints (`units.steps`): the last configuration, closed but for second order,
    its correction and heading (nv), the next step and the longest one allowed, the length that is left, the norm of the
    correction, the clearance here and at the start, the number of passes; above zero while the path goes on, zero where
    it has arrived, and negative where it is lost.
    """

    q: Vec  # (nq,)
    correction: Vec
    heading: Vec
    step: Scalar
    longest: Scalar
    left: Scalar
    bend: Scalar
    clear: Scalar
    clear_first: Scalar
    passes: Scalar
    going: Scalar

    @classmethod
    def begin(cls, tie: LoopEmbedding, q: Vec, direction: Vec, length: Scalar) -> Path:
        """A path at its start."""
        zero = Vec([0.0] * len(tie.traced.v))
        return cls(q, zero, direction, 0.0, PathSettings.LONGEST, length, 0.0, 1.0, 0.0, 0.0, 1.0)


class StepTangent(NamedTuple):
    """A configuration ahead: its correction, the tangent nearest to the heading and that nearest to the way into the
    limits, this way itself (nv each, in units), and the clearance."""

    q: Vec  # (nq,)
    correction: Vec
    heading: Vec
    inward: Vec
    entry_direction: Vec
    clear: Scalar


def step_ahead(tie: LoopEmbedding, path: Path) -> Vec:
    """The configuration after the next step and the correction of the last one."""
    parts = zip(path.correction, path.heading, tie.units.steps.tolist(), strict=True)
    return tie.move(path.q, [(c + path.step * t) * unit for c, t, unit in parts])


def end(tie: LoopEmbedding, path: Path) -> Vec:
    """The configuration at the end of a path."""
    return tie.move(path.q, [c * unit for c, unit in zip(path.correction, tie.units.steps.tolist(), strict=True)])


def direction_into_limits(tie: LoopEmbedding, limits: PathLimits, q: Vec, depth: Scalar) -> Vec:
    """The way (nv, in units) of the coordinates that are outside their limits, to a fraction `depth` inside of them."""
    direction: list[Scalar] = []
    sizes = [joint.nq for joint in tie.joints]
    parts = zip(
        tie.joints, cut(q, sizes), *(cut(x, sizes) for x in (limits.lower, limits.upper, limits.room)), strict=True
    )
    for joint, joint_q, lower, upper, room in parts:
        if all(a == -np.inf and b == np.inf for a, b in zip(lower, upper, strict=True)):
            direction += [0.0] * joint.nv
            continue
        inside: Scalar = 1.0
        target = []
        for x, a, b, c in zip(joint_q, lower, upper, room, strict=True):
            target.append(select(x < a, a + depth * c, select(b < x, b - depth * c, x)))
            inside = select(x < a, 0.0, select(b < x, 0.0, inside))
        direction += [select(inside > 0.5, 0.0, x) for x in joint.difference(joint_q, target)]
    return Vec(
        [x if is_zero(x) else x * (1.0 / unit) for x, unit in zip(direction, tie.units.steps.tolist(), strict=True)]
    )


def entries_of(tie: LoopEmbedding) -> list[list[int]]:
    """The columns of the entries of each row of K that is solved for."""
    return [list(tie.traced.entries[i]) for i in tie.rows]


def loops_at(tie: LoopEmbedding, q: Vec) -> Vec:
    """φ and the entries of K (flat) of the rows that are solved for."""
    roots, values = _roots(tie)
    return Vec(evaluate(roots, dict(zip(values, (*q, *tie.p), strict=True))))


def _roots(tie: LoopEmbedding) -> tuple[list[Any], tuple[Any, ...]]:
    t = tie.traced
    K = [t.K[i][j] for i, own in zip(tie.rows, entries_of(tie), strict=True) for j in own]
    return [t.phi[i] for i in tie.rows] + K, (*t.q, *t.p)


def factor(tie: LoopEmbedding, loops: Vec) -> tuple[Vec, Vec, Vec, Scalar]:
    """φ, the entries of K and those of L⁻¹ by rows, with L Lᵀ = K Kᵀ, in units; and the clearance."""
    entries, unit = entries_of(tie), tie.units.steps.tolist()
    gaps = [1.0 / x for x in tie.units.effects[list(tie.rows)].tolist()]
    phi = Vec([x * g for x, g in zip(loops, gaps, strict=False)])
    values = iter(loops[len(gaps) :])
    K = [{j: next(values) * (unit[j] * g) for j in own} for own, g in zip(entries, gaps, strict=True)]
    M = [[_product(K[i], K[j]) for j in range(i + 1)] for i in range(len(K))]
    inverse = _inverse_factor(M)
    trace, inverse_trace = (dot(x, [1.0] * len(x)) for x in ([row[-1] for row in M], [dot(x, x) for x in inverse]))
    clear = 1.0 / sqrt(maximum(trace * inverse_trace, PathSettings.TINY)) if K else 1.0
    return phi, Vec([x for row in K for x in row.values()]), Vec([x for row in inverse for x in row]), clear


def _product(a: dict[int, Scalar], b: dict[int, Scalar]) -> Scalar:
    both = [j for j in a if j in b]
    return dot([a[j] for j in both], [b[j] for j in both])


def _inverse_factor(M: list[list[Scalar]]) -> list[list[Scalar]]:
    """The rows of L⁻¹, with L Lᵀ = M (its lower triangle)."""
    L: list[list[Scalar]] = []
    inverse: list[list[Scalar]] = []
    for i, row in enumerate(M):
        factor_row: list[Scalar] = []
        for j in range(i):
            factor_row.append(
                (row[j] - dot(factor_row, L[j][:j])) * L[j][j] if not _is_apart(factor_row, row[j], L[j]) else 0.0
            )
        pivot = 1.0 / sqrt(maximum(row[i] - dot(factor_row, factor_row), PathSettings.TINY))
        inverse.append([-pivot * dot(factor_row[k:], [inverse[j][k] for j in range(k, i)]) for k in range(i)] + [pivot])
        L.append([*factor_row, pivot])  # the reciprocal of the diagonal
    return inverse


def _is_apart(own: Sequence[Scalar], entry: Scalar, other: Sequence[Scalar]) -> bool:
    """Whether an entry of L is zero by structure."""
    return is_zero(entry) and all(is_zero(a) or is_zero(b) for a, b in zip(own, other, strict=False))


def solve_tangent(
    tie: LoopEmbedding, path: Path, q: Vec, entry_direction: Vec, factors: tuple[Vec, Vec, Vec, Scalar]
) -> StepTangent:
    """The correction, heading and way into the limits that loops allow at a configuration ahead."""
    phi, flat_K, flat_inverse, clear = factors
    values, n = iter(flat_K), len(entry_direction)
    K = [{j: next(values) for j in own} for own in entries_of(tie)]
    inverse = cut(flat_inverse, range(1, len(K) + 1))

    def least(b: Sequence[Scalar]) -> list[Scalar]:
        """K⁺ b."""
        half = [dot(row, b[: len(row)]) for row in inverse]
        x = [dot([row[i] for row in inverse[i:]], half[i:]) for i in range(len(K))]
        step: list[Scalar] = [0.0] * n
        for row, y in zip(K, x, strict=True):
            for j, entry in row.items():
                step[j] = step[j] + entry * y
        return step

    def project(direction: Sequence[Scalar]) -> Vec:
        return Vec(direction) - least([dot(list(row.values()), [direction[j] for j in row]) for row in K])

    inward = entry_direction if all(map(is_zero, entry_direction)) else project(entry_direction)
    return StepTangent(q, -Vec(least(phi)), _unit(project(_unit(path.heading))), inward, entry_direction, clear)


def _unit(direction: Sequence[Scalar]) -> Vec:
    """A direction of unit length; zero where it is only rounding."""
    size = sqrt(dot(direction, direction))
    scale = select(size > PathSettings.NOTHING, 1.0 / maximum(size, PathSettings.NOTHING), 0.0)
    return Vec([x * scale for x in direction])


def _reflect(t: StepTangent) -> Vec:
    """The heading, reflected where a path leaves the limits: there it goes back in, at a fair part of its speed."""
    if all(map(is_zero, t.entry_direction)):
        return t.heading
    normal = _unit(t.inward)
    speed = dot(t.heading, normal)
    more = maximum(maximum(speed, -speed), select(dot(normal, normal) > 0.5, PathSettings.INWARD, 0.0)) - speed
    return _unit([x + more * y for x, y in zip(t.heading, normal, strict=True)])


def judge(path: Path, t: StepTangent) -> Path:
    """The path after a pass: on from the configuration ahead, or with half of the step from the last one."""
    bend = sqrt(dot(t.correction, t.correction))
    good = select(
        bend <= PathSettings.BENT * maximum(path.step, path.bend) + PathSettings.ROUNDING,
        select(t.clear > 0.0, 1.0, 0.0),
        0.0,
    )
    advanced, halved = _go_on(path, t, bend), _halve(path)
    return Path(*_choose(good > 0.5, advanced, halved))


def _choose(condition: Scalar, a: Any, b: Any) -> Any:
    """The first of two nested tuples where a condition holds, else the second."""
    if isinstance(a, tuple):
        return Vec([_choose(condition, x, y) for x, y in zip(a, b, strict=True)])
    return select(condition, a, b)


def _go_on(path: Path, t: StepTangent, bend: Scalar) -> Path:
    """The path from the configuration ahead."""
    left, depth = path.left - path.step, dot(t.entry_direction, t.entry_direction)
    clear_first = select(path.passes > 0.5, path.clear_first, t.clear)
    allowed = PathSettings.CLEAR * t.clear / maximum(clear_first, PathSettings.TINY)
    longest = minimum(2.0 * path.longest, PathSettings.LONGEST)
    heading = _reflect(t)
    closer = select(allowed < PathSettings.SHORTEST, select(t.clear < path.clear, -1.0, 1.0), 1.0)  # -1: it turns back
    heading = Vec([closer * x for x in heading])
    ahead = maximum(minimum(longest, allowed), PathSettings.SHORTEST)
    inside = select(depth > 0.0, 0.0, select(allowed < PathSettings.SHORTEST, 0.0, 1.0))
    speed = dot(t.entry_direction, heading)
    into = select(speed > 0.0, depth / maximum(speed, PathSettings.TINY), ahead)
    wanted = select(inside > 0.5, maximum(left, 0.0), select(depth > 0.0, into, ahead))
    stalled = select(path.step > 0.0, 0.0, select(bend > PathSettings.BENT * path.bend, PathSettings.ROUNDING, 0.0))
    arrived = select(left > 0.0, 0.0, select(bend <= maximum(stalled, PathSettings.LAST), inside, 0.0))
    return Path(
        t.q, t.correction, heading, minimum(ahead, wanted), longest, left, bend, t.clear, clear_first,
        path.passes + 1.0, 1.0 - arrived,
    )  # fmt: skip


def _halve(path: Path) -> Path:
    """The path from the last configuration, with half of the step; back from there where this is too short."""
    half = 0.5 * path.step
    short = half < PathSettings.SHORTEST
    step = select(short, PathSettings.SHORTEST, half)
    return path._replace(
        heading=Vec([select(short, -x, x) for x in path.heading]),
        step=step,
        longest=step,
        passes=path.passes + 1.0,
        going=select(path.step > 0.0, 1.0, -1.0),
    )


def walk(
    recorder: Any, tie: LoopEmbedding, limits: PathLimits, q: Vec, direction: Vec, length: Scalar, depth: Scalar,
    loops: Callable[[LoopEmbedding, Vec], Vec] = loops_at,
) -> Path:  # fmt: skip
    """A path from closed q (nq), for a length in the directions nearest to `way` (nv, both in units), to its end.

    `depth`, below one half, is the place within the range beside a limit to which the path returns that has left it.
    """
    call = recorder.call

    def once_more(path: Path) -> tuple[Path, Scalar]:
        q = call(step_ahead, tie, path)
        entry_direction = call(direction_into_limits, tie, limits, q, depth)
        factors = call(factor, tie, call(loops, tie, q))
        tangent = call(solve_tangent, tie, path, q, entry_direction, factors)
        path = call(judge, path, tangent)
        return path, path.going

    return recorder.repeat(once_more, Path.begin(tie, q, direction, length), PASSES)


def follow_path(
    tie: LoopEmbedding,
    limits: PathLimits,
    start: np.ndarray,
    direction: np.ndarray,
    length: np.ndarray,
    depth: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The ends (n, nq) of paths from start (n, nq), for lengths (n), and whether they arrived (n): `walk` in NumPy."""
    from ..expr import Direct  # when first needed: building a robot does without

    roots, values = _roots(tie)
    run, p = prepare(roots, values), (0.0,) * len(tie.p)

    def loops(_: LoopEmbedding, q: Vec) -> Vec:
        return Vec(run((*q, *p)))

    def ends(q: Any, direction: Any, length: Any, depth: Any) -> tuple[Vec, Any]:
        path = walk(Direct(), tie, limits, Vec(q), Vec(direction), length, depth, loops)
        return end(tie, path), path.going

    path_ends, going = np.empty((len(start), len(tie.traced.q))), np.empty(len(start))
    together = np.full(len(start), len(start) > PathSettings.ONE_BY_ONE)
    for i in np.flatnonzero(~together):
        try:
            path_ends[i], going[i] = ends(start[i].tolist(), direction[i].tolist(), float(length[i]), float(depth[i]))
        except (ArithmeticError, ValueError):  # of Python's numbers, where a result is undefined
            together[i] = True
    if together.any():
        with np.errstate(all="ignore"):
            rows, going[together] = ends(start[together].T, direction[together].T, length[together], depth[together])
        path_ends[together] = np.stack(np.broadcast_arrays(*rows, going[together])[:-1], axis=-1)
    return path_ends, going == 0.0
