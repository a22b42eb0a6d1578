"""Impulses λ of one step that obey unilateral contact, Coulomb friction, joint limits and dry friction.

Given c = G λ + g (velocities of the rows after the step, with what is compliant on the diagonal of G):

    contact   0 ≤ λₙ ⟂ cₙ ≥ 0;  |λₜ| ≤ μ λₙ, and where cₜ ≠ 0 it is -μ λₙ cₜ / |cₜ|     (Signorini and Coulomb, exactly)
    spin      |λ| ≤ γ λₙ likewise, and rolling |λ| ≤ ρ λₙ
    joint     lower ≤ c ≤ upper with forces at the ends only, and dry friction |λ| ≤ hold

Block Gauss-Seidel brings every contact's modes (open, stick, slide); then Newton steps of `newton` end it, as `solve`
says. All lanes do the same, and one that is solved stays as it is: results do not depend on what else is in a batch.
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
_ROOT = 3  # Newton steps for how fast a contact slides
FEW_ROWS = 18  # up to which the matrix of all rows is eliminated as it is, in one piece of code
NEWTON_ROWS = 40  # with more rows than that only sweeps are made: Newton's code grows with their cube


class Block(NamedTuple):
    """Rows from `first` on: of a contact, normal first, with so many others (`disc`: sizes 2, 1); or one of a joint."""

    first: int
    discs: tuple[int, ...]
    joint: bool = False

    @property
    def size(self) -> int:
        """How many rows it has."""
        return 1 + sum(self.discs)

    def places(self) -> list[tuple[int, ...]]:
        """The rows of each disc."""
        found, at = [], self.first + 1
        for size in self.discs:
            found.append(tuple(range(at, at + size)))
            at += size
        return found


class Problem(NamedTuple):
    """G and g of c = G λ + g, and for each block its bounds: μ, γ, ρ of a contact; lower, upper, hold of a joint."""

    G: Mat
    g: Vec
    bounds: tuple[Vec, ...]


class Scaled(NamedTuple):
    """What is found once for a problem: how far rows move under their own impulse (kept from zero), by block."""

    own: tuple[Vec, ...]  # diagonal entries; of discs the largest eigenvalue of their part of G
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


def _in_disc(y: Vec, radius: Scalar) -> Vec:
    """The point of a disc (or an interval) next to y."""
    if len(y) == 1:
        return Vec([maximum(minimum(y[0], radius), -radius)])
    r = norm(y)
    return y * select(r > radius, radius / r, 1.0)


def _largest_eigenvalue(a: Scalar, b: Scalar, d: Scalar) -> Scalar:
    """Of [[a, b], [b, d]]."""
    half = 0.5 * (a - d)
    return 0.5 * (a + d) + sqrt(half * half + b * b + TINY)


def mobility(G: Mat) -> Scalar:
    """How far the row moves that moves farthest under its own impulse."""
    size = G[0][0]
    for i in range(1, len(G)):
        size = maximum(size, G[i][i])
    return size


def scaled(problem: Problem, blocks: tuple[Block, ...], size: Scalar | None = None) -> Scaled:
    """How the rows of each block move by themselves. `size`: `mobility` of all rows, if there are more than these.

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
    return Scaled(tuple(own), tuple(schur))


def _schur(G: Mat, n: int, own: Sequence[Scalar], least: Scalar) -> Vec:
    """S = G_tt - G_tn G_nt / G_nn of a contact, kept from being singular."""
    i, j = n + 1, n + 2
    x, y = G[i][n] / own[0], G[j][n] / own[0]
    more = maximum(_WEAK * own[1], least)
    return Vec((G[i][i] - x * G[n][i] + more, G[i][j] - x * G[n][j], G[j][j] - y * G[n][j] + more))


def velocity(problem: Problem, impulse: Sequence[Scalar], row: int) -> Scalar:
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
    """The friction λₜ = -(S + κ)⁻¹ β of a contact that slides with cₜ = -κ λₜ while cₙ = 0, and λₙ."""

    kappa: Scalar
    scale: Scalar  # -1 / det (S + κ)
    x: Scalar
    y: Scalar
    normal: Scalar


def _slide(S: Vec, beta: Vec, push: Scalar, pull: Vec, kappa: Scalar) -> _Sliding:
    """At a given κ; λₙ = push - pull · λₜ."""
    a, b, d = S[0] + kappa, S[1], S[2] + kappa
    scale = -1.0 / (a * d - b * b)
    x, y = (d * beta[0] - b * beta[1]) * scale, (a * beta[1] - b * beta[0]) * scale
    return _Sliding(kappa, scale, x, y, push - (pull[0] * x + pull[1] * y))


def coulomb(S: Vec, own: Scalar, Gn: Vec, mu: Scalar, b: Vec, x: Sequence[Scalar], c: Sequence[Scalar]) -> Vec:
    """The impulse of one contact, exactly: b are its velocities without it, Gn = (G_nx, G_ny) couples normal and
    friction. x is an impulse to begin with, c the velocities there.

    With cₙ = 0 the friction sees β = bₜ - G_tn bₙ / G_nn and S = G_tt - G_tn G_nt / G_nn. It sticks with κ = 0 where
    that is in the cone; else κ > 0 is a root of μ λₙ / |λₜ| - 1, which is negative at zero and positive from some κ on:
    it is found by Newton's method between the two, from what it is at x, or would be if friction did not change the
    normal.
    """
    inverse = 1.0 / own
    push, pull = -(b[0] * inverse), Gn * inverse
    beta = Vec((b[1] - pull[0] * b[0], b[2] - pull[1] * b[0]))
    stuck = _slide(S, beta, push, pull, 0.0)
    reach = mu * stuck.normal
    sticks = stuck.x * stuck.x + stuck.y * stuck.y <= select(stuck.normal > 0.0, reach * reach, -1.0)
    alone = norm(beta) / maximum(mu * push, _SMALL)
    low, high = 0.0, alone * (1.0 + mu * (size_of(pull[:1]) + size_of(pull[1:])))
    rubbing = x[1] * x[1] + x[2] * x[2]
    slides = rubbing > 0.99 * mu * mu * x[0] * x[0]
    kappa = select(slides, -(c[1] * x[1] + c[2] * x[2]) / (rubbing + TINY), alone - 0.5 * (S[0] + S[2]))
    found = _slide(S, beta, push, pull, maximum(minimum(kappa, high), 0.0))
    for _ in range(_ROOT):
        kappa, low, high = _nearer(S, pull, mu, found, low, high)
        found = _slide(S, beta, push, pull, kappa)
    normal = select(push > 0.0, maximum(found.normal, 0.0), 0.0)
    scale = mu * normal / sqrt(found.x * found.x + found.y * found.y + TINY)
    pressed = maximum(push, x[0]) > 0.0  # one that jams may also open: it stays as it is
    both = zip((stuck.normal, stuck.x, stuck.y), (normal, found.x * scale, found.y * scale), strict=True)
    return Vec([select(pressed, select(sticks, a, b), b) for a, b in both])


def _nearer(S: Vec, pull: Vec, mu: Scalar, at: _Sliding, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A Newton step of κ on μ λₙ / |λₜ| - 1, and the narrower bounds; where it leaves them, a place between these."""
    a, b, d = S[0] + at.kappa, S[1], S[2] + at.kappa
    dx, dy = (d * at.x - b * at.y) * at.scale, (a * at.y - b * at.x) * at.scale
    dn = -(pull[0] * dx + pull[1] * dy)
    squared = at.x * at.x + at.y * at.y + TINY
    size = sqrt(squared)
    value = mu * at.normal - size  # times |λₜ|, as is the slope
    steep = dn * squared - at.normal * (at.x * dx + at.y * dy)
    above = value > 0.0
    low, high = select(above, low, at.kappa), select(above, at.kappa, high)
    middle = low + 0.1 * (high - low)
    if is_zero(steep):  # as of a point that can move along one line only
        return middle, low, high
    step = at.kappa - value * squared / (mu * steep)  # infinite or not a number where the slope is zero: not within
    return select(step >= low, select(step <= high, step, middle), middle), low, high


def _contact(problem: Problem, block: Block, own: Vec, schur: Vec, bounds: Vec, x: Vec, c: Vec) -> Vec:
    """The impulse of one contact when the others stay, from its velocities c at the impulse x."""
    at, n = block.first, block.size
    G = [[problem.G[at + i][at + j] for j in range(n)] for i in range(n)]
    discs = [[i - at for i in rows] for rows in block.places()]
    found, speed = list(x), list(c)

    def change(rows: Sequence[int], to: Sequence[Scalar]) -> None:
        by = [a - found[i] for i, a in zip(rows, to, strict=True)]
        for i in range(n):
            speed[i] = speed[i] + dot([G[i][j] for j in rows], by)
        for i, a in zip(rows, to, strict=True):
            found[i] = a

    for _ in range(_INNER if len(discs) > (1 if schur else 0) else 1):
        if schur:
            b = Vec([speed[i] - dot(G[i][:3], found[:3]) for i in range(3)])
            change((0, 1, 2), coulomb(schur, own[0], Vec(G[0][1:3]), bounds[0], b, found, speed))
        else:
            change([0], [maximum(found[0] - speed[0] / own[0], 0.0)])
        for rows, size, bound in list(zip(discs, own[1:], bounds, strict=True))[1 if schur else 0 :]:
            y = Vec([found[i] - speed[i] / size for i in rows])
            change(rows, _in_disc(y, bound * found[0]))
    return Vec(found)


def sweep(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], impulse: Vec) -> Vec:
    """One round of block Gauss-Seidel."""
    found = list(impulse)
    for block, own, schur, bounds in zip(blocks, scale.own, scale.schur, problem.bounds, strict=True):
        rows = range(block.first, block.first + block.size)
        c = Vec([velocity(problem, found, i) for i in rows])
        x = Vec([found[i] for i in rows])
        if block.joint:
            found[block.first] = joint_answer(c[0], x[0], own[0], bounds)[0]
        else:
            found[block.first : block.first + block.size] = _contact(problem, block, own, schur, bounds, x, c)
    return Vec(found)


def residual(
    scale: Scaled, blocks: tuple[Block, ...], bounds_of: tuple[Vec, ...], impulse: Vec, velocities: Vec
) -> Scalar:
    """The largest velocity (m/s, rad/s) by which a condition is missed: of Signorini, of Coulomb, of a joint."""
    worst: Scalar = 0.0
    for block, own, bounds in zip(blocks, scale.own, bounds_of, strict=True):
        at = block.first
        c = velocities[at : at + block.size]
        if block.joint:
            wanted = joint_answer(c[0], impulse[at], own[0], bounds)[0]
            worst = maximum(worst, size_of([(wanted - impulse[at]) * own[0]]))
            continue
        normal = maximum(impulse[at] - c[0] / own[0], 0.0)
        worst = maximum(worst, size_of([(normal - impulse[at]) * own[0]]))
        for rows, size, bound in zip(block.places(), own[1:], bounds, strict=True):
            x, v = Vec([impulse[i] for i in rows]), Vec([c[i - at] for i in rows])
            missed = (_in_disc(x - v * (1.0 / size), bound * normal) - x) * size
            worst = maximum(worst, size_of(missed))
    return worst


def reach(scale: Scaled, blocks: tuple[Block, ...], impulse: Vec, residual: Scalar) -> Scalar:
    """The largest velocity that an impulse gives its own row, or that is left."""
    size: Scalar = residual + TINY
    for block, own in zip(blocks, scale.own, strict=True):
        size = maximum(size, size_of([impulse[block.first]]) * own[0])
        for rows, a in zip(block.places(), own[1:], strict=True):
            size = maximum(size, size_of([impulse[i] for i in rows]) * a)
    return size


def better(first: Solution, second: Solution) -> Solution:
    """The one with the smaller residual; the first where the second is not a number."""
    closer = second.residual < first.residual
    both = zip((first.impulse, first.velocity), (second.impulse, second.velocity), strict=True)
    chosen = [_either(closer, b, a) for a, b in both]
    return Solution(chosen[0], select(closer, second.residual, first.residual), chosen[1])


def _either(condition: Any, a: Any, b: Any) -> Any:
    """Entries of a where a condition holds, else of b, which may be nested."""
    both = zip(a, b, strict=True)
    if a and isinstance(a[0], tuple):
        return tuple(_either(condition, x, y) for x, y in both)
    return Vec([select(condition, x, y) for x, y in both])


def measured(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], impulse: Vec) -> Solution:
    """Impulses with their velocities and residual."""
    c = Vec([velocity(problem, impulse, i) for i in range(len(impulse))])
    return Solution(impulse, residual(scale, blocks, problem.bounds, impulse, c), c)


def conditions(problem: Problem, blocks: tuple[Block, ...], impulse: Vec, velocities: Vec | None = None) -> Vec:
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
