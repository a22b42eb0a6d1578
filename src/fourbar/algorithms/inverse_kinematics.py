"""Inverse kinematics: the mathematics of one step. Levenberg-Marquardt on the group, within bounds.

What is missed, e, are positions (world axes) and rotation vectors log(R_goalᵀ R), each times its weight. A step solves

    (Jᵀ J + λ) δ = -Jᵀ e,    lower <= δ <= upper,    λ = μ |e|²,

where velocities that a bound stops are held there and the others are solved for again. λ goes with |e|², so that steps
near the goal are those of Newton, also where J has no full rank (Yamashita and Fukushima 2001). Limits of coordinates
that are no independent velocity, such as those of a dependent joint of a loop, are rows of their own that are there
only beyond the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..joints.base import Joint
from ..spatial.groups.so3 import from_matrix, quadratic, to_vector
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from ..spatial.series import b as bernoulli
from ..spatial.transform import Transform

Pattern = tuple[tuple[int, int], ...]  # places of the entries of a symmetric matrix, row >= column


class SearchSettings:
    """Settings of the damped steps of inverse kinematics, with damping λ = μ |e|²."""

    FURTHER, NEARER = 4.0, 0.25  # how μ changes after a step that was refused, and one that was taken
    GREAT, LEAST = 1e12, 1e-9  # the largest μ, with which a step leads nowhere, and the least
    TINY = 1e-13  # of the largest entry of Jᵀ J: what λ is at least
    NEAR = 1e-12  # from a bound (rad, m): then a velocity is at it


class Missed(NamedTuple):
    """The error of a frame: rows of J and e, with weights; distance (m) and angle (rad) of what has weights."""

    rows: Mat  # (3, nv)
    e: Vec  # (3,)
    report: Vec  # (1,)


def _size(parts: Sequence[Scalar], weight: Sequence[Scalar]) -> Scalar:
    """The length of a vector without the entries of no weight."""
    return sqrt(dot([select(w > 0.0, x * x, 0.0) for x, w in zip(parts, weight, strict=True)], [1.0] * len(parts)))


def _weigh(rows: Sequence[Vec], parts: Sequence[Scalar], weight: Sequence[Scalar]) -> tuple[list[Vec], list[Scalar]]:
    both = zip(rows, parts, weight, strict=True)
    found = [(Vec([0.0 if is_zero(x) else x * w for x in row]), x * w) for row, x, w in both]
    return [row for row, _ in found], [x for _, x in found]


def missed_position(p: Vec, J: Mat, goal: Vec, weight: Vec) -> Missed:
    """The error of a point; J (3, nv) are its rows."""
    away = [a - b for a, b in zip(p, goal, strict=True)]
    rows, e = _weigh(J, away, weight)
    return Missed(Mat(rows), Vec(e), Vec((_size(away, weight),)))


def missed_rotation(pose: Transform, J: Mat, goal: Vec, weight: Vec) -> Missed:
    """The error of a rotation: log(R_goalᵀ R), whose rate is (1 + ½ [e] + b [e]²) Rᵀ ω; J are the rows of ω."""
    R = pose.R
    wanted = Mat(Vec(goal[3 * i : 3 * i + 3]) for i in range(3))
    turned = to_vector(from_matrix(wanted.T @ R))
    slope = quadratic(turned, 0.5, bernoulli(dot(turned, turned))) @ R.T
    columns = [
        slope @ column if not all(map(is_zero, column)) else Vec((0.0, 0.0, 0.0)) for column in zip(*J, strict=True)
    ]
    rows, e = _weigh(Mat.from_columns(columns) if columns else Mat(Vec(()) for _ in range(3)), turned, weight)
    return Missed(Mat(rows), Vec(e), Vec((_size(turned, weight),)))


def above(x: Scalar, upper: Scalar) -> Scalar:
    """The excess of a coordinate over its upper limit."""
    return maximum(x - upper, 0.0)


def below(x: Scalar, lower: Scalar) -> Scalar:
    """The excess of a coordinate below its lower limit, negative."""
    return minimum(x - lower, 0.0)


def between(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Whichever of both is not zero."""
    return above(x, upper) + below(x, lower)


def room(x: Scalar, end: Scalar, scale: Scalar) -> Scalar:
    """The way of an independent velocity until its joint, which moves by `scale` per unit, is at a limit."""
    return (end - x) * (1.0 / scale)


def coordinate_rates(joint: Joint, q: Vec) -> Mat:
    """The rates (nq x nv) of a joint's coordinates, for unit velocities."""
    units = [[1.0 if i == j else 0.0 for i in range(joint.nv)] for j in range(joint.nv)]
    return Mat.from_columns([joint.rate(q, Vec(unit)) for unit in units])


class NormalEquations(NamedTuple):
    """The normal equations at a configuration: |e|², Jᵀ J (entries of the pattern), Jᵀ e, how far limits are passed."""

    cost: Scalar  # |e|²
    A: Vec  # (pattern,), entries of Jᵀ J, lower triangle
    g: Vec  # (nv,), Jᵀ e
    outside: Scalar  # rad or m


def normal_equations(
    rows: Mat, e: Vec, walls: Mat, passed: Vec, stiffness: Scalar, pattern: Pattern, n: int
) -> NormalEquations:
    """The problem of rows J (rows, n) and e (rows,), and of limits: `walls` (limits, n), `passed` by (limits,), with a
    weight.
    """
    known = [[(i, x) for i, x in enumerate(row) if not is_zero(x)] for row in rows]
    A: dict[tuple[int, int], Scalar] = dict.fromkeys(pattern, 0.0)
    g: list[Scalar] = [0.0] * n
    cost: Scalar = 0.0
    outside: Scalar = 0.0
    for row, value in zip(known, e, strict=True):
        cost = cost + value * value
        for k, (i, a) in enumerate(row):
            g[i] = g[i] + a * value
            for j, other in row[: k + 1]:
                A[i, j] = A[i, j] + a * other
    for wall, value in zip(walls, passed, strict=True):
        outside = maximum(outside, maximum(value, -value))
        cost = cost + stiffness * value * value
        there = select(maximum(value, -value) > 0.0, stiffness, 0.0)
        row = [(i, a) for i, a in enumerate(wall) if not is_zero(a)]
        for k, (i, a) in enumerate(row):
            g[i] = g[i] + stiffness * value * a
            for j, other in row[: k + 1]:
                A[i, j] = A[i, j] + there * a * other
    return NormalEquations(cost, Vec(A.values()), Vec(g), outside)


def solve_from_tips(A: list[list[Scalar]], b: list[Scalar]) -> list[Scalar]:
    """x (n,) with A x = b, A (n, n) symmetric and positive definite (its lower triangle): the last is eliminated first.

    Zeros by structure stay so where velocities of different branches do not meet.
    """
    n, inverse = len(b), list(b)
    for k in reversed(range(n)):
        inverse[k] = 1.0 / A[k][k]
        met = [i for i in range(k) if not is_zero(A[k][i])]
        for i in met:
            factor = A[k][i] * inverse[k]
            for j in met:
                if j <= i:
                    A[i][j] = A[i][j] - factor * A[k][j]
            b[i] = b[i] - factor * b[k]
    x: list[Scalar] = []
    for k in range(n):
        x.append((b[k] - dot(A[k][:k], x)) * inverse[k])
    return x


class StepBounds(NamedTuple):
    """Bounds of the steps of some velocities (`bounded`, in order)."""

    lower: Vec  # (bounded,), rad or m
    upper: Vec  # (bounded,)


class Hold(NamedTuple):
    """A mask of the velocities that are free (1, others 0), and the steps of the others."""

    free: Vec  # (nv,)
    at: Vec  # (nv,)


def damping(problem: NormalEquations, mu: Scalar, pattern: Pattern) -> Scalar:
    """λ."""
    largest: Scalar = 0.0
    for (i, j), a in zip(pattern, problem.A, strict=True):
        largest = maximum(largest, a) if i == j else largest
    return mu * problem.cost + SearchSettings.TINY * largest + 1e-300


def hold_at_bounds(g: Vec, box: StepBounds, bounded: tuple[int, ...]) -> Hold:
    """The velocities that are at a bound, and that |e|² drives against it."""
    free: list[Scalar] = [1.0] * len(g)
    at: list[Scalar] = [0.0] * len(g)
    for i, low, high in zip(bounded, box.lower, box.upper, strict=True):
        free[i] = select(
            g[i] > 0.0, select(low > -SearchSettings.NEAR, 0.0, 1.0), select(high < SearchSettings.NEAR, 0.0, 1.0)
        )
        at[i] = select(g[i] > 0.0, low, high)
    return Hold(Vec(free), Vec(at))


def caught(x: Vec, hold: Hold, box: StepBounds, bounded: tuple[int, ...]) -> Hold:
    """The velocities that `stopped` holds, and those that a step x takes beyond their bounds, which end there."""
    free, at = list(hold.free), list(hold.at)
    for i, low, high in zip(bounded, box.lower, box.upper, strict=True):
        at[i] = select(x[i] < low, low, select(x[i] > high, high, x[i]))
        free[i] = select(x[i] < low, 0.0, select(x[i] > high, 0.0, free[i]))
    return Hold(Vec(free), Vec(at))


def is_one(x: Scalar) -> bool:
    """Whether x is the constant 1."""
    return x.__class__ is float and x == 1.0


def free_step(A: Vec, g: Vec, damping: Scalar, hold: Hold, pattern: Pattern) -> Vec:
    """The step of the free velocities, while the others make theirs."""
    n, (free, at) = len(g), hold
    rows: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    right = [-x for x in g]
    for (i, j), a in zip(pattern, A, strict=True):
        if i == j:
            rows[i][i] = a + damping if is_one(free[i]) else select(free[i] > 0.5, a + damping, 1.0)
            continue
        for one, other in ((i, j), (j, i)):
            if not is_one(free[other]):
                right[one] = right[one] - a * select(free[other] > 0.5, 0.0, at[other])
        rows[i][j] = a * free[i] * free[j]
    both = zip(right, free, at, strict=True)
    return Vec(solve_from_tips(rows, [x if is_one(own) else select(own > 0.5, x, held) for x, own, held in both]))


def within(x: Vec, box: StepBounds, bounded: tuple[int, ...]) -> Vec:
    """A step that does not leave its bounds."""
    found = list(x)
    for i, low, high in zip(bounded, box.lower, box.upper, strict=True):
        found[i] = minimum(maximum(found[i], low), high)
    return Vec(found)


def predicted_decrease(problem: NormalEquations, x: Vec, pattern: Pattern) -> Scalar:
    """The decrease of |e|² by a step, if J were constant."""
    total = dot(problem.g, x) * -2.0
    for (i, j), a in zip(pattern, problem.A, strict=True):
        total = total - a * x[i] * x[j] * (1.0 if i == j else 2.0)
    return total


class Search(NamedTuple):
    """Where a search is: the best so far with its problem; what misses its goal; μ; what the next step promises;
    passes, and passes with little gain."""

    q: Vec  # (nq,)
    problem: NormalEquations
    report: Vec  # (errors,)
    mu: Scalar
    promised: Scalar
    passes: Scalar
    idle: Scalar


def judge(search: Search, q: Vec, problem: NormalEquations, report: Vec, gain: Scalar) -> Search:
    """The search after a trial: taken if it is better. A pass is idle where less than `gain` of |e|² was gained."""
    before, after = search.problem.cost, problem.cost
    better = after < before
    chosen = _either(better, Search(q, problem, report, 0.0, 0.0, 0.0, 0.0), search)
    good = before - after > 0.25 * search.promised
    mu = select(better, select(good, search.mu * SearchSettings.NEARER, search.mu), search.mu * SearchSettings.FURTHER)
    idle = select(before - after > gain * before, 0.0, search.idle + 1.0)
    return chosen._replace(mu=maximum(mu, SearchSettings.LEAST), passes=search.passes + 1.0, idle=idle)


def _either(first: Scalar, a: Search, b: Search) -> Search:
    """The configuration of one of two searches."""

    def choose(x: Sequence[Scalar], y: Sequence[Scalar]) -> Vec:
        return Vec([select(first, one, other) for one, other in zip(x, y, strict=True)])

    one, other = a.problem, b.problem
    problem = NormalEquations(
        select(first, one.cost, other.cost),
        choose(one.A, other.A),
        choose(one.g, other.g),
        select(first, one.outside, other.outside),
    )
    return b._replace(q=choose(a.q, b.q), problem=problem, report=choose(a.report, b.report))


def goes_on(search: Search, tolerance: Scalar, beyond: Scalar, passes: Scalar, patience: Scalar) -> Scalar:
    """Above zero while a search has not converged and still makes progress."""
    worst: Scalar = 0.0
    for x in search.report:
        worst = maximum(worst, x)
    there = select(worst > tolerance, 0.0, select(search.problem.outside > beyond, 0.0, 1.0))
    hope = minimum(minimum(passes - search.passes, patience - search.idle), SearchSettings.GREAT - search.mu)
    return select(there > 0.5, -1.0, select(search.problem.cost < 1e300, hope, -1.0))
