"""Impulses λ of one step that obey unilateral contact, Coulomb friction, joint limits and dry friction.

Given c = G λ + g (velocities of the rows after the step, with what is compliant on the diagonal of G):

    contact   0 ≤ λₙ ⟂ cₙ ≥ 0;  |λₜ| ≤ μ λₙ, and where cₜ ≠ 0 it is -μ λₙ cₜ / |cₜ|     (Signorini and Coulomb, exactly)
    spin      |λ| ≤ γ λₙ likewise, and rolling |λ| ≤ ρ λₙ
    joint     lower ≤ c ≤ upper with forces at the ends only, and dry friction |λ| ≤ hold

A sweep (`sweep` or `jacobi`) finds the mode of every contact (open, stick, slide); Newton steps (`newton`) finish, as
`impulse_solver` says. All lanes do the same, and one that is solved stays as it is: results do not depend on what else
is in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero

TINY = 1e-60  # of squares: keeps roots and ratios of what vanishes from infinity, and products above what is slow
_SMALL = 1e-30  # an impulse below which nothing rubs
_WEAK = 1e-10  # a row that moves so much less than the others of its contact is taken to move that much
_STUCK = 1e-13  # the same among all rows: less than that is rounding
_INNER = 2  # rounds of a contact with several kinds of friction on its own in a sweep
_ROOTS = 3  # Newton steps for how fast a contact slides
_RELAXATION = 0.5  # weight of a Jacobi round
FEW_ROWS = 18  # up to which the matrix of all rows is eliminated as it is; more are solved over the joints


class RowBlock(NamedTuple):
    """Rows from `first` on: of a contact, normal first, with so many others (`disc`: sizes 2, 1); or one of a joint."""

    first: int
    discs: tuple[int, ...]
    joint: bool = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return 1 + sum(self.discs)

    def places(self) -> list[tuple[int, ...]]:
        """The rows of each disc."""
        found, at = [], self.first + 1
        for size in self.discs:
            found.append(tuple(range(at, at + size)))
            at += size
        return found


class ContactProblem(NamedTuple):
    """G and g of c = G λ + g, and for each block its bounds: μ, γ, ρ of a contact; lower, upper, hold of a joint."""

    G: Mat
    g: Vec
    bounds: tuple[Vec, ...]


class Scaled(NamedTuple):
    """Computed once for a problem: the velocities of rows under unit impulses of their own, above zero, by block."""

    own: tuple[Vec, ...]  # diagonal entries; of discs the largest eigenvalue of their part of G
    inverse: tuple[Vec, ...]  # one over these
    schur: tuple[Vec, ...]  # xx, xy, yy of how a contact slides while its normal gives way; empty without friction


class Solution(NamedTuple):
    """Impulses, how far they are from a solution (the largest velocity by which a condition is missed), and the
    velocities of the rows under them, if these are known. All rows are one vector, or one for each block."""

    impulse: Any
    residual: Scalar
    velocity: Any = ()


def norm(x: Sequence[Scalar]) -> Scalar:
    """Length."""
    return x[0] if len(x) == 1 else sqrt(dot(x, x) + TINY)


def size_of(x: Sequence[Scalar]) -> Scalar:
    """Length, of one number its magnitude."""
    return maximum(x[0], -x[0]) if len(x) == 1 else norm(x)


def square(x: Scalar) -> Scalar:
    """x²."""
    return x * x


def largest(*values: Scalar) -> Scalar:
    """The largest of some numbers, compared in pairs: that waits less than one after the other."""
    if len(values) == 1:
        return values[0]
    pairs = [maximum(*values[k : k + 2]) for k in range(0, len(values) - 1, 2)]
    return largest(*pairs, *values[2 * len(pairs) :])


def _in_disc(y: Vec, radius: Scalar) -> Vec:
    """The point of a disc (or an interval) next to y."""
    if len(y) == 1:
        return Vec([maximum(minimum(y[0], radius), -radius)])
    r = norm(y)
    return y * select(r > radius, radius / r, 1.0)


def _largest_eigenvalue(a: Scalar, b: Scalar, d: Scalar) -> Scalar:
    """The largest eigenvalue of [[a, b], [b, d]]."""
    half = 0.5 * (a - d)
    return 0.5 * (a + d) + sqrt(half * half + b * b + TINY)


def mobility(G: Mat) -> Scalar:
    """The largest velocity of a row under a unit impulse of its own."""
    return largest(*(G[i][i] for i in range(len(G))))


def scaled(problem: ContactProblem, blocks: tuple[RowBlock, ...], size: Scalar | None = None) -> Scaled:
    """`Scaled` of a problem. `size`: `mobility` of all rows, if there are more than these.

    A row that cannot move, as between two links in line, has rounding errors for entries: it is taken to move a little.
    """
    largest: Scalar = mobility(problem.G) if size is None else size
    own, schur = [], []
    for block in blocks:
        G, first = problem.G, block.first
        rows = range(first, first + 1 + (sum(block.discs[:1]) if block.discs else 0))
        sum_of = sum((maximum(G[i][i], 0.0) for i in rows), 0.0)
        least = maximum(sum_of * _WEAK, largest * _STUCK) + TINY
        found = [maximum(G[first][first], least)]
        for rows_of in block.places():
            if len(rows_of) == 1:
                found.append(maximum(G[rows_of[0]][rows_of[0]], least))
            else:
                i, j = rows_of
                found.append(maximum(_largest_eigenvalue(G[i][i], G[i][j], G[j][j]), least))
        own.append(Vec(found))
        schur.append(_schur(G, first, found, largest * _STUCK) if block.discs[:1] == (2,) else Vec(()))
    return Scaled(tuple(own), tuple(Vec([1.0 / x for x in found]) for found in own), tuple(schur))


def _schur(G: Mat, n: int, own: Sequence[Scalar], least: Scalar) -> Vec:
    """S = G_tt - G_tn G_nt / G_nn of a contact, kept from being singular."""
    i, j = n + 1, n + 2
    x, y = G[i][n] / own[0], G[j][n] / own[0]
    more = maximum(_WEAK * own[1], least)
    return Vec((G[i][i] - x * G[n][i] + more, G[i][j] - x * G[n][j], G[j][j] - y * G[n][j] + more))


def velocity(problem: ContactProblem, impulse: Sequence[Scalar], row: int) -> Scalar:
    """c of one row."""
    return problem.g[row] + dot(problem.G[row], impulse)


def joint_answer(c: Scalar, x: Scalar, own: Scalar, bounds: Vec) -> tuple[Scalar, Scalar, Scalar]:
    """The impulse of a joint's row when the others stay, its velocity then, and whether (1 or 0) that is held."""
    lower, upper, hold = bounds
    alone = c - own * x
    drag = own * hold
    rubbed = alone - maximum(minimum(alone, drag), -drag)
    moving = minimum(maximum(rubbed, lower), upper)
    held = select(size_of([alone]) > drag, select(size_of([moving - rubbed]) > 0.0, 1.0, 0.0), 1.0)
    return (moving - alone) / own, moving, held


class _Sliding(NamedTuple):
    """A contact that slides with cₜ = -κ λₜ while cₙ = 0: λₜ = -X / det, where X = adj (S + κ) β, det = det (S + κ)."""

    kappa: Scalar
    x: Scalar
    y: Scalar
    det: Scalar


def _slide(S: Vec, beta: Vec, kappa: Scalar) -> _Sliding:
    """At a given κ."""
    a, b, d = S[0] + kappa, S[1], S[2] + kappa
    return _Sliding(kappa, d * beta[0] - b * beta[1], a * beta[1] - b * beta[0], a * d - b * b)


def coulomb(S: Vec, inverse: Scalar, G: Mat, mu: Scalar, b: Vec, x: Sequence[Scalar]) -> Vec:
    """The impulse of one contact: b are its velocities without it, G = (n, x, y) couples its rows, `inverse` is
    1 / G_nn. x is an impulse to begin with.

    With cₙ = 0 the friction sees β = bₜ - G_tn bₙ / G_nn and S = G_tt - G_tn G_nt / G_nn. It sticks with κ = 0 where
    that is in the cone; else κ > 0 is a root of μ λₙ / |λₜ| - 1, which is negative at zero and positive from some κ on:
    it is found by a few steps of Newton's method between the two, from what it is at x, or would be if friction did
    not change the normal.
    """
    push, pull = -(b[0] * inverse), Vec(G[0][1:3]) * inverse
    beta = Vec((b[1] - pull[0] * b[0], b[2] - pull[1] * b[0]))
    stuck = _slide(S, beta, 0.0)
    by = -1.0 / stuck.det
    held = Vec((stuck.x * by, stuck.y * by))
    pressed = push - dot(pull, held)
    reach = mu * pressed
    sticks = dot(held, held) <= select(pressed > 0.0, reach * reach, -1.0)
    alone = norm(beta) / maximum(mu * push, _SMALL)
    low, high = 0.0, alone * (1.0 + mu * (size_of(pull[:1]) + size_of(pull[1:])))
    rubbing = x[1] * x[1] + x[2] * x[2]
    slides = rubbing > 0.99 * mu * mu * x[0] * x[0]
    power = b[1] * x[1] + b[2] * x[2] + (x[1] * dot(G[1], x) + x[2] * dot(G[2], x))
    kappa = select(slides, power * (-1.0 / (rubbing + TINY)), alone - 0.5 * (S[0] + S[2]))
    kappa = maximum(minimum(kappa, high), 0.0)
    for _ in range(_ROOTS):
        kappa, low, high = _nearer(S, beta, push, pull, mu, kappa, low, high)
    found = _slide(S, beta, kappa)
    normal = push + (pull[0] * found.x + pull[1] * found.y) * (1.0 / found.det)
    normal = select(push > 0.0, maximum(normal, 0.0), 0.0)
    scale = (mu * normal) * (-1.0 / norm((found.x, found.y)))
    presses = maximum(push, x[0]) > 0.0  # one that jams may also open: it stays as it is
    both = zip((pressed, *held), (normal, found.x * scale, found.y * scale), strict=True)
    return Vec([select(presses, select(sticks, a, b), b) for a, b in both])


def _nearer(
    S: Vec, beta: Vec, push: Scalar, pull: Vec, mu: Scalar, kappa: Scalar, low: Scalar, high: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """A Newton step of κ on μ λₙ / |λₜ| - 1, and the narrower bounds; where it leaves them, a place between these."""
    at = _slide(S, beta, kappa)
    squared = at.x * at.x + at.y * at.y + TINY
    reach = mu * (push * at.det + (pull[0] * at.x + pull[1] * at.y))  # μ λₙ det, where |X| = |λₜ| det
    wider = mu * (push * (S[0] + S[2] + 2.0 * kappa) + dot(pull, beta))
    steep = wider * squared - reach * (at.x * beta[0] + at.y * beta[1])
    value = reach - sqrt(squared)
    above = value > 0.0
    low, high = select(above, low, kappa), select(above, kappa, high)
    middle = low + 0.1 * (high - low)
    if is_zero(steep):  # as of a point that can move along one line only
        return middle, low, high
    step = kappa - value * squared / steep  # infinite or not a number where the slope is zero: not within
    return select(step >= low, select(step <= high, step, middle), middle), low, high


def _contact(G: Mat, block: RowBlock, inverse: Vec, schur: Vec, bounds: Vec, x: Vec, free: Vec) -> Vec:
    """The impulse of one contact when the others stay, from its velocities without its own impulse."""
    discs = [[i - block.first for i in rows] for rows in block.places()]
    found = list(x)

    def speed(i: int, without: Sequence[int] = ()) -> Scalar:
        total = free[i]
        for j, a in enumerate(found):
            if j not in without:
                total = total + G[i][j] * a
        return total

    for _ in range(_INNER if len(discs) > (1 if schur else 0) else 1):
        if schur:
            b = Vec([speed(i, (0, 1, 2)) for i in range(3)])
            found[:3] = coulomb(schur, inverse[0], Mat(Vec(row[:3]) for row in G[:3]), bounds[0], b, found[:3])
        else:
            found[0] = maximum(found[0] - speed(0) * inverse[0], 0.0)
        for rows, by, bound in list(zip(discs, inverse[1:], bounds, strict=True))[1 if schur else 0 :]:
            y = Vec([found[i] - speed(i) * by for i in rows])
            found[rows[0] : rows[-1] + 1] = _in_disc(y, bound * found[0])
    return Vec(found)


def block_solution(problem: ContactProblem, scale: Scaled, blocks: tuple[RowBlock, ...], k: int, impulse: Vec) -> Vec:
    """The impulses of block k that solve it exactly while those of the others stay."""
    block, bounds = blocks[k], problem.bounds[k]
    own, inverse, schur = scale.own[k], scale.inverse[k], scale.schur[k]
    rows = range(block.first, block.first + block.size)
    free = []  # velocities without the block's own impulses
    for i in rows:
        total = problem.g[i]
        for j in (*range(rows.stop, len(impulse)), *range(rows.start)):
            total = total + problem.G[i][j] * impulse[j]
        free.append(total)
    x = Vec([impulse[i] for i in rows])
    if block.joint:
        c = free[0] + problem.G[block.first][block.first] * x[0]
        return Vec([joint_answer(c, x[0], own[0], bounds)[0]])
    G = Mat(Vec([problem.G[i][j] for j in rows]) for i in rows)
    return _contact(G, block, inverse, schur, bounds, x, Vec(free))


def sweep(problem: ContactProblem, scale: Scaled, blocks: tuple[RowBlock, ...], impulse: Vec) -> Vec:
    """One sweep of block Gauss-Seidel: where impulses are unique, the order of the blocks does not matter."""
    swept = list(impulse)
    for k, block in enumerate(blocks):
        rows = slice(block.first, block.first + block.size)
        swept[rows] = block_solution(problem, scale, blocks, k, Vec(swept))
    return Vec(swept)


def jacobi(problem: ContactProblem, scale: Scaled, blocks: tuple[RowBlock, ...], impulse: Vec) -> Vec:
    """One damped round of block Jacobi: every block moves part of the way to its own solution.

    No block comes first, so what is symmetric stays so. After a Gauss-Seidel sweep, equal contacts have unequal
    impulses, and where these are redundant Newton's method ends at the solution next to them: a symmetric grasp slips.
    """
    old = tuple(Vec([impulse[i] for i in range(x.first, x.first + x.size)]) for x in blocks)
    new = tuple(block_solution(problem, scale, blocks, k, impulse) for k in range(len(blocks)))
    sizes = [maximum(size_of(a[:1]), size_of(b[:1])) for a, b in zip(old, new, strict=True)]
    weight = relaxation(sum((select(x > 0.0, 1.0, 0.0) for x in sizes), 0.0))
    return Vec([x for both in zip(old, new, strict=True) for x in damp(*both, weight)])


def relaxation(count: Scalar) -> Scalar:
    """Weight of a Jacobi round, from the number of blocks with impulses: 1 if there is only one."""
    return select(count > 1.5, _RELAXATION, 1.0)


def damp(old: Vec, new: Vec, weight: Scalar) -> Vec:
    """Impulses of a block between old and new ones; exactly zero where the new ones are: contacts that open."""
    return Vec([select(size_of(new[:1]) > 0.0, a + weight * (b - a), 0.0) for a, b in zip(old, new, strict=True)])


def residual(
    scale: Scaled, blocks: tuple[RowBlock, ...], bounds_of: tuple[Vec, ...], impulse: Vec, velocities: Vec
) -> Scalar:
    """The largest velocity (m/s, rad/s) by which a condition is missed: of Signorini, of Coulomb, of a joint."""
    squares: list[Scalar] = []
    for block, own, inverse, bounds in zip(blocks, scale.own, scale.inverse, bounds_of, strict=True):
        at = block.first
        c = velocities[at : at + block.size]
        if block.joint:
            wanted = joint_answer(c[0], impulse[at], own[0], bounds)[0]
            squares.append(square((wanted - impulse[at]) * own[0]))
            continue
        normal = maximum(impulse[at] - c[0] * inverse[0], 0.0)
        squares.append(square((normal - impulse[at]) * own[0]))
        for rows, size, by, bound in zip(block.places(), own[1:], inverse[1:], bounds, strict=True):
            x, v = Vec([impulse[i] for i in rows]), Vec([c[i - at] for i in rows])
            missed = (_in_disc(x - v * by, bound * normal) - x) * size
            squares.append(dot(missed, missed))
    return sqrt(largest(*squares) + TINY)


def reach(scale: Scaled, blocks: tuple[RowBlock, ...], impulse: Vec, residual: Scalar) -> Scalar:
    """The largest velocity that an impulse gives its own row, or that is left."""
    size: Scalar = residual + TINY
    for block, own in zip(blocks, scale.own, strict=True):
        size = maximum(size, size_of([impulse[block.first]]) * own[0])
        for rows, a in zip(block.places(), own[1:], strict=True):
            size = maximum(size, size_of([impulse[i] for i in rows]) * a)
    return size


def better(first: Solution, second: Solution) -> Solution:
    """The one with the smaller residual; the first where the second is not a number."""
    return either(second.residual < first.residual, second, first)


def either(condition: Any, first: Solution, second: Solution) -> Solution:
    """The first where a condition holds, else the second."""
    impulse, velocity = (_either(condition, first[k], second[k]) for k in (0, 2))
    return Solution(impulse, select(condition, first.residual, second.residual), velocity)


def _either(condition: Any, a: Any, b: Any) -> Any:
    """Entries of a where a condition holds, else of b, which may be nested."""
    both = zip(a, b, strict=True)
    if a and isinstance(a[0], tuple):
        return tuple(_either(condition, x, y) for x, y in both)
    return Vec([select(condition, x, y) for x, y in both])


def measured(problem: ContactProblem, scale: Scaled, blocks: tuple[RowBlock, ...], impulse: Vec) -> Solution:
    """Impulses with their velocities and residual."""
    c = Vec([velocity(problem, impulse, i) for i in range(len(impulse))])
    return Solution(impulse, residual(scale, blocks, problem.bounds, impulse, c), c)


def conditions(
    problem: ContactProblem, blocks: tuple[RowBlock, ...], impulse: Vec, velocities: Vec | None = None
) -> Vec:
    """By how much contacts miss each law, the largest of all: Signorini's |λₙ cₙ| (J), how far friction is outside its
    cone (N s), and |λ · (c + μ |cₜ| n)| (J), which is zero where friction takes as much energy as it can."""
    found: list[Scalar] = [0.0, 0.0, 0.0]
    for block, bounds in zip(blocks, problem.bounds, strict=True):
        if block.joint:
            continue
        at = block.first
        rows_of = range(at, at + block.size)
        c = [velocity(problem, impulse, i) if velocities is None else velocities[i] for i in rows_of]
        press = impulse[at]
        lost = press * c[0]
        found[0] = maximum(found[0], size_of([lost]))
        found[1] = maximum(found[1], -press)
        for rows, bound in zip(block.places(), bounds, strict=True):
            x, v = Vec([impulse[i] for i in rows]), Vec([c[i - at] for i in rows])
            found[1] = maximum(found[1], size_of(x) - bound * press)
            lost = lost + dot(x, v) + bound * press * size_of(v)
        found[2] = maximum(found[2], size_of([lost]))
    return Vec(found)
