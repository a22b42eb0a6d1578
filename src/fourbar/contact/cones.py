"""Impulses λ of soft contacts: MuJoCo's convex problem, min ½ λᵀ (G + R) λ + λᵀ g over the cones |λₜ / μ| ≤ λₙ.

Written for the velocities c = G λ + g instead: R > 0 makes λ a function of c, λ = φ(c), which is -c / R put into the
cone, and what is sought is λ = φ(G λ + g). That is where ½ λᵀ G λ + s(G λ + g) with φ = -s′, which is convex, is least:
Newton's method with a search along its steps ends at rounding from anywhere. In units of a contact in which its R is
the same in all directions its cone is round, with the slope m = μ / √ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from ..spatial.solve import factor
from .gauss_seidel import RowBlock, Solution

_TINY = 1e-60
_SEARCH = 12  # Newton steps along a step, within bounds
_FARTHEST = 100.0  # times a step


class Cone(NamedTuple):
    """A contact's slope m and its R along the normal."""

    slope: Scalar
    softness: Scalar


class Row(NamedTuple):
    """A joint's row: dry friction (what draws it to rest, R, the largest impulse) and the limits (R, what draws)."""

    rest: Scalar
    friction: Scalar
    hold: Scalar
    lower: Scalar
    upper: Scalar
    below: Scalar
    above: Scalar


class SoftProblem(NamedTuple):
    """G and g in units in which cones are round, those units (impulse = unit · λ), and the cones and joints' rows."""

    G: Mat
    g: Vec
    unit: Vec
    cones: tuple[Any, ...]


class Answer(NamedTuple):
    """φ of a block, and a root C of its slope: -φ′ = C Cᵀ, as rows."""

    impulse: Vec
    root: Any


def in_units(G: Sequence[Sequence[Scalar]], g: Sequence[Scalar], unit: Vec, cones: tuple[Any, ...]) -> SoftProblem:
    """The problem in other units of its rows."""
    rows = [
        Vec([_times(_times(x, a), b) for x, b in zip(row, unit, strict=True)]) for row, a in zip(G, unit, strict=True)
    ]
    return SoftProblem(Mat(rows), Vec([_times(x, a) for x, a in zip(g, unit, strict=True)]), unit, cones)


def _times(x: Scalar, unit: Scalar) -> Scalar:
    return x if unit.__class__ is float and unit == 1.0 else x * unit


def of_cone(cone: Cone, c: Sequence[Scalar]) -> Answer:
    """-c / R put into a round cone, and a root of its slope: three parts, within the cone, without, and at its edge."""
    m, inverse = cone.slope, 1.0 / cone.softness
    root = sqrt(inverse)
    w = [-(x * inverse) for x in c]
    if len(w) == 1:
        pressed = w[0] > 0.0
        return Answer(Vec([maximum(w[0], 0.0)]), (Vec([select(pressed, root, 0.0)]),))
    n, t = w[0], w[1:]
    size = sqrt(dot(t, t) + _TINY)
    inside, outside = size <= m * n, m * size <= -n
    s = [x / size for x in t]
    share = 1.0 / (1.0 + m * m)
    edge = maximum((n + m * size) * share, 0.0)
    normal = select(inside, n, select(outside, 0.0, edge))
    across = [select(inside, x, select(outside, 0.0, m * edge * y)) for x, y in zip(t, s, strict=True)]
    lean = sqrt(m * edge / size)
    along = [share, *(m * share * x for x in s)]  # of the edge's direction (1, m s), in which it gives way in full
    rows = []
    for i in range(len(w)):
        row = []
        for j in range(len(w)):
            full = along[i] if j == 0 else along[i] * m * s[j - 1]
            turn = 0.0 if i == 0 or j == 0 else lean * ((1.0 if i == j else 0.0) - s[i - 1] * s[j - 1])
            at_edge = full + turn
            row.append(select(inside, 1.0 if i == j else 0.0, select(outside, 0.0, at_edge)) * root)
        rows.append(Vec(row))
    return Answer(Vec([normal, *across]), tuple(rows))


def of_row(row: Row, c: Scalar) -> Answer:
    """The impulse of a joint's row at its velocity c: of dry friction, and of each limit."""
    rubbing = (row.rest - c) / row.friction
    held = minimum(maximum(rubbing, -row.hold), row.hold)
    below, above = (row.lower - c) / row.below, (row.upper - c) / row.above
    slope = select(maximum(rubbing, -rubbing) < row.hold, 1.0 / row.friction, 0.0)
    slope = slope + select(below > 0.0, 1.0 / row.below, 0.0) + select(above < 0.0, 1.0 / row.above, 0.0)
    found = held + maximum(below, 0.0) + minimum(above, 0.0)
    return Answer(Vec([found]), (Vec([sqrt(slope)]),))


def _answer(block: RowBlock, cone: Any, c: Sequence[Scalar]) -> Answer:
    own = c[block.first : block.first + block.size]
    return of_row(cone, own[0]) if block.joint else of_cone(cone, own)


def answers(problem: SoftProblem, blocks: tuple[RowBlock, ...], c: Sequence[Scalar]) -> tuple[Answer, ...]:
    """φ(c) of all blocks."""
    return tuple(_answer(block, cone, c) for block, cone in zip(blocks, problem.cones, strict=True))


def _flat(found: Sequence[Answer]) -> Vec:
    return Vec([x for answer in found for x in answer.impulse])


def _velocity(problem: SoftProblem, impulse: Sequence[Scalar]) -> Vec:
    return Vec([x + dot(row, impulse) for row, x in zip(problem.G, problem.g, strict=True)])


def missed(problem: SoftProblem, blocks: tuple[RowBlock, ...], impulse: Vec, wanted: Vec) -> Scalar:
    """The largest velocity (m/s, rad/s) that the difference of two impulses makes in its own row, with its R."""
    worst: Scalar = 0.0
    for block, cone in zip(blocks, problem.cones, strict=True):
        soft = _stiffest(cone) if block.joint else cone.softness
        for i in range(block.first, block.first + block.size):
            by = (wanted[i] - impulse[i]) * (problem.G[i][i] + soft) / problem.unit[i]
            worst = maximum(worst, maximum(by, -by))
    return worst


def _stiffest(row: Row) -> Scalar:
    return minimum(row.friction, minimum(row.below, row.above))


def measured(problem: SoftProblem, blocks: tuple[RowBlock, ...], impulse: Vec) -> Solution:
    """Impulses with their residual."""
    wanted = _flat(answers(problem, blocks, _velocity(problem, impulse)))
    return Solution(impulse, missed(problem, blocks, impulse, wanted))


def ended(problem: SoftProblem, blocks: tuple[RowBlock, ...], found: Solution) -> Solution:
    """The impulses at the end, nothing at all where a contact is open."""
    impulse = list(found.impulse)
    for block, answer in zip(blocks, answers(problem, blocks, _velocity(problem, found.impulse)), strict=True):
        for i in range(block.first, block.first + block.size):
            touching = 1.0 if block.joint else answer.impulse[0]
            impulse[i] = select(touching > 0.0, impulse[i] * problem.unit[i], 0.0)
    return Solution(Vec(impulse), found.residual)


def conditions(problem: SoftProblem, blocks: tuple[RowBlock, ...], impulse: Vec) -> Vec:
    """By how much contacts miss each condition of the law, the largest of all: |λₙ cₙ| (J), how far friction is outside
    its cone (N s), and |λ · c| (J), with c = (G + R) λ + g. The first is not zero where a contact slides: the law lets
    it open then."""
    x = Vec([a / u for a, u in zip(impulse, problem.unit, strict=True)])
    c = _velocity(problem, x)
    found: list[Scalar] = [0.0, 0.0, 0.0]
    for block, cone in zip(blocks, problem.cones, strict=True):
        if block.joint:
            continue
        rows = range(block.first, block.first + block.size)
        speed, own = [c[i] + cone.softness * x[i] for i in rows], [x[i] for i in rows]
        beyond: Scalar = -own[0]
        if len(own) > 1:
            beyond = (sqrt(dot(own[1:], own[1:]) + _TINY) - cone.slope * own[0]) * problem.unit[block.first + 1]
        for k, missing in enumerate((own[0] * speed[0], beyond, dot(own, speed))):
            found[k] = maximum(found[k], missing if k == 1 else maximum(missing, -missing))
    return Vec(found)


def _rooted(blocks: tuple[RowBlock, ...], found: Sequence[Answer], x: Sequence[Scalar], transposed: bool) -> Vec:
    """C x, or Cᵀ x."""
    made: list[Scalar] = []
    for block, answer in zip(blocks, found, strict=True):
        own = x[block.first : block.first + block.size]
        C = Mat(answer.root)
        made += C.transpose_times(Vec(own)) if transposed else C @ Vec(own)
    return Vec(made)


def between(G: Mat, first: Answer, second: Answer) -> Mat:
    """Cᵀ G C of two blocks."""
    return Mat(first.root).T @ (G @ Mat(second.root))


def _matrix(problem: SoftProblem, blocks: tuple[RowBlock, ...], found: Sequence[Answer]) -> Mat:
    """1 + Cᵀ G C, its lower triangle."""
    n = len(problem.g)
    rows: list[list[Scalar]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for k, (a, first) in enumerate(zip(blocks, found, strict=True)):
        for b, second in zip(blocks[: k + 1], found, strict=False):
            G = part(problem, a, b)
            if all(is_zero(x) for row in G for x in row):
                continue
            for i, row in enumerate(between(G, first, second), a.first):
                for j, x in enumerate(row, b.first):
                    rows[i][j] = rows[i][j] + x
    return Mat(Vec(row) for row in rows)


def part(problem: SoftProblem, a: RowBlock, b: RowBlock) -> Mat:
    """G of two blocks."""
    return Mat(Vec(problem.G[i][b.first : b.first + b.size]) for i in range(a.first, a.first + a.size))


class Downhill(NamedTuple):
    """At a place: φ of all blocks, what it leaves of λ, and Cᵀ G times that."""

    found: tuple[Answer, ...]
    left: Vec
    right: Vec


def downhill(problem: SoftProblem, blocks: tuple[RowBlock, ...], x: Vec) -> Downhill:
    """The terms of Newton's equations."""
    found = answers(problem, blocks, _velocity(problem, x))
    left = _flat(found) - x
    moved = Vec([dot(row, left) for row in problem.G])
    return Downhill(found, left, _rooted(blocks, found, moved, True))


def way(blocks: tuple[RowBlock, ...], at: Downhill, y: Vec) -> Vec:
    """δ of (1 + C Cᵀ G) δ = φ - λ, with y of (1 + Cᵀ G C) y = Cᵀ G (φ - λ)."""
    return at.left - _rooted(blocks, at.found, y, False)


def newton(problem: SoftProblem, blocks: tuple[RowBlock, ...], x: Vec) -> Vec:
    """Newton's direction δ."""
    at = downhill(problem, blocks, x)
    return way(blocks, at, factor(_matrix(problem, blocks, at.found)).solve(at.right))


def searched(problem: SoftProblem, blocks: tuple[RowBlock, ...], x: Vec, step: Vec) -> Vec:
    """x after a step along which the convex function is least: from the whole of it by Newton steps within bounds."""
    c, by = _velocity(problem, x), Vec([dot(row, step) for row in problem.G])
    low: Scalar = 0.0
    high: Scalar = _FARTHEST
    at: Scalar = 1.0
    bent = dot(by, step)
    for _ in range(_SEARCH):
        found = answers(problem, blocks, c + by * at)
        slope = dot(by, x + step * at - _flat(found))
        down = _rooted(blocks, found, by, True)
        low, high = select(slope < 0.0, at, low), select(slope < 0.0, high, at)
        leap = at - slope / (bent + dot(down, down))
        middle = select(high < _FARTHEST, 0.5 * (low + high), 4.0 * at)
        at = select(leap > low, select(leap < high, leap, middle), middle)
    return x + step * at


def onward(problem: SoftProblem, blocks: tuple[RowBlock, ...], x: Vec) -> Vec:
    """A Newton step, and the search along it."""
    return searched(problem, blocks, x, newton(problem, blocks, x))
