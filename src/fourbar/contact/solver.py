"""Impulses λ of one step that obey unilateral contact, Coulomb friction, joint limits and dry friction.

Given c = G λ + g (velocities of the rows after the step, with what is compliant on the diagonal of G):

    contact   0 ≤ λₙ ⟂ cₙ ≥ 0;  |λₜ| ≤ μ λₙ, and where cₜ ≠ 0 it is -μ λₙ cₜ / |cₜ|     (Signorini and Coulomb, exactly)
    spin      |λ| ≤ γ λₙ likewise, and rolling |λ| ≤ ρ λₙ
    joint     lower ≤ c ≤ upper with forces at the ends only, and dry friction |λ| ≤ hold

Block Gauss-Seidel brings every contact's modes (open, stick, slide); then a Newton step on the modes found ends it. All
lanes do the same, and one that is solved stays as it is: results do not depend on what else is in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero

_TINY = 1e-300
_WEAK = 1e-10  # a row that moves so much less than the others of its contact is taken to move that much
_PROXIMAL = 1e-7  # how much Newton's matrix is stiffened: redundant rows make G singular
_INNER = 2  # rounds of a contact on its own in a sweep
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
    inverse: tuple[Mat, ...]  # of the 3 x 3 blocks of contacts with sliding friction only; else empty


class Solution(NamedTuple):
    """Impulses, and how far they are from a solution: the largest velocity by which a condition is missed."""

    impulse: Vec
    residual: Scalar


def _norm(x: Sequence[Scalar]) -> Scalar:
    return x[0] if len(x) == 1 else sqrt(dot(x, x) + _TINY)


def _size(x: Sequence[Scalar]) -> Scalar:
    return maximum(x[0], -x[0]) if len(x) == 1 else _norm(x)


def _in_disc(y: Vec, radius: Scalar) -> Vec:
    """The point of a disc (or an interval) next to y."""
    if len(y) == 1:
        return Vec([maximum(minimum(y[0], radius), -radius)])
    r = _norm(y)
    return y * select(r > radius, radius / r, 1.0)


def _largest_eigenvalue(a: Scalar, b: Scalar, d: Scalar) -> Scalar:
    """Of [[a, b], [b, d]]."""
    half = 0.5 * (a - d)
    return 0.5 * (a + d) + sqrt(half * half + b * b + _TINY)


def _inverse_three(A: Mat) -> Mat:
    """The inverse of a symmetric 3 x 3 matrix, by cofactors."""
    (a, b, c), (_, d, e), (_, _, f) = A
    C = (d * f - e * e, c * e - b * f, b * e - c * d)
    scale = 1.0 / (a * C[0] + b * C[1] + c * C[2])
    x, y, z = a * f - c * c, b * c - a * e, a * d - b * b
    return Mat((Vec((C[0], C[1], C[2])), Vec((C[1], x, y)), Vec((C[2], y, z)))) * scale


def scaled(problem: Problem, blocks: tuple[Block, ...]) -> Scaled:
    """How the rows of each block move by themselves."""
    own, inverse = [], []
    for block in blocks:
        G, first = problem.G, block.first
        rows = range(first, first + 1 + (sum(block.discs[:1]) if block.discs else 0))
        least = sum((G[i][i] for i in rows), 0.0) * _WEAK + _TINY
        found = [maximum(G[first][first], least)]
        for rows_of in block.places():
            if len(rows_of) == 1:
                found.append(maximum(G[rows_of[0]][rows_of[0]], least))
            else:
                i, j = rows_of
                found.append(maximum(_largest_eigenvalue(G[i][i], G[i][j], G[j][j]), least))
        own.append(Vec(found))
        inverse.append(_inverse_block(G, block, found) if block.discs == (2,) else Mat(()))
    return Scaled(tuple(own), tuple(inverse))


def _inverse_block(G: Mat, block: Block, own: Sequence[Scalar]) -> Mat:
    at, more = block.first, (own[0], own[1], own[1])
    local = [[G[at + i][at + j] for j in range(3)] for i in range(3)]
    for i in range(3):
        local[i][i] = local[i][i] + _WEAK * more[i]
    return _inverse_three(Mat(Vec(row) for row in local))


def velocity(problem: Problem, impulse: Sequence[Scalar], row: int) -> Scalar:
    """c of one row."""
    return problem.g[row] + dot(problem.G[row], impulse)


def _joint(c: Scalar, x: Scalar, own: Scalar, bounds: Vec) -> tuple[Scalar, Scalar, Scalar]:
    """The impulse of a joint's row when the others stay, its velocity then, and whether (1 or 0) that is held."""
    lower, upper, hold = bounds
    alone = c - own * x
    drag = own * hold
    rubbed = alone - maximum(minimum(alone, drag), -drag)
    moving = minimum(maximum(rubbed, lower), upper)
    held = select(_size([alone]) > drag, select(_size([moving - rubbed]) > 0.0, 1.0, 0.0), 1.0)
    return (moving - alone) / own, moving, held


def _contact(problem: Problem, block: Block, own: Vec, inverse: Mat, bounds: Vec, x: Vec, c: Vec) -> Vec:
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

    for _ in range(_INNER if discs else 1):
        change([0], [maximum(found[0] - speed[0] / own[0], 0.0)])
        for rows, size, bound in zip(discs, own[1:], bounds, strict=True):
            y = Vec([found[i] - speed[i] / size for i in rows])
            change(rows, _in_disc(y, bound * found[0]))
    if not inverse:
        return Vec(found)
    stuck = x - inverse @ c
    reach = bounds[0] * stuck[0]
    sticks = dot(stuck[1:], stuck[1:]) <= select(stuck[0] > 0.0, reach * reach, -1.0)
    return Vec([select(sticks, a, b) for a, b in zip(stuck, found, strict=True)])


def sweep(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], impulse: Vec) -> Vec:
    """One round of block Gauss-Seidel."""
    found = list(impulse)
    for block, own, inverse, bounds in zip(blocks, scale.own, scale.inverse, problem.bounds, strict=True):
        rows = range(block.first, block.first + block.size)
        c = Vec([velocity(problem, found, i) for i in rows])
        x = Vec([found[i] for i in rows])
        if block.joint:
            found[block.first] = _joint(c[0], x[0], own[0], bounds)[0]
        else:
            found[block.first : block.first + block.size] = _contact(problem, block, own, inverse, bounds, x, c)
    return Vec(found)


def residual(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], impulse: Vec) -> Scalar:
    """The largest velocity (m/s, rad/s) by which a condition is missed: of Signorini, of Coulomb, of a joint."""
    worst: Scalar = 0.0
    for block, own, bounds in zip(blocks, scale.own, problem.bounds, strict=True):
        at = block.first
        c = [velocity(problem, impulse, i) for i in range(at, at + block.size)]
        if block.joint:
            wanted = _joint(c[0], impulse[at], own[0], bounds)[0]
            worst = maximum(worst, _size([(wanted - impulse[at]) * own[0]]))
            continue
        normal = maximum(impulse[at] - c[0] / own[0], 0.0)
        worst = maximum(worst, _size([(normal - impulse[at]) * own[0]]))
        for rows, size, bound in zip(block.places(), own[1:], bounds, strict=True):
            x, v = Vec([impulse[i] for i in rows]), Vec([c[i - at] for i in rows])
            missed = (_in_disc(x - v * (1.0 / size), bound * normal) - x) * size
            worst = maximum(worst, _size(missed))
    return worst


def _joint_row(problem: Problem, own: Vec, bounds: Vec, at: int, c: Scalar, x: Scalar) -> tuple[list[Scalar], Scalar]:
    wanted, moving, held = _joint(c, x, own[0], bounds)
    row = [a * held for a in problem.G[at]]
    row[at] = select(held > 0.5, problem.G[at][at], own[0])
    return row, select(held > 0.5, moving - c, (wanted - x) * own[0])


def _disc_rows(
    problem: Problem, rows: Sequence[int], normal: int, own: Scalar, bound: Scalar, x: Vec, c: Vec, push: Scalar
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Rows of Newton's equations of a disc: stick where c = 0, slide where λ is on its edge, none where it is open.

    Q G δ + (1 - Q) δ own - κ s δₙ own, with Q = 1 (stick), β (1 - s sᵀ) (slide) or 0 (open). `push` is the normal
    impulse that its own row asks for.
    """
    k, m = len(rows), len(problem.g)
    there = [x[i] for i in rows]
    speed = [c[i] for i in rows]
    y = Vec([a - b / own for a, b in zip(there, speed, strict=True)])
    r = _size(y)
    pressed = maximum(x[normal], 0.0)
    active = select(push > 0.0, 1.0, 0.0)
    sticks = select(r <= bound * push, active, 0.0)
    slides = active - sticks
    s = y * (1.0 / maximum(r, _TINY))
    beta = slides * minimum(bound * pressed / maximum(r, _TINY), 1.0)
    Q = [[(sticks + beta if i == j else 0.0) - beta * s[i] * s[j] for j in range(k)] for i in range(k)]
    if k == 1:
        Q = [[sticks]]
    found, right = [], []
    for i in range(k):
        row: list[Scalar] = [dot(Q[i], [problem.G[a][j] for a in rows]) for j in range(m)]
        for j, a in enumerate(rows):
            row[a] = row[a] + own * ((1.0 if i == j else 0.0) - Q[i][j])
        row[normal] = row[normal] - own * bound * slides * s[i]
        found.append(row)
        sliding = own * (bound * pressed * s[i] * slides - there[i])
        right.append(select(sticks > 0.5, -speed[i], sliding))
    return found, right


def _equations(
    problem: Problem, scale: Scaled, blocks: tuple[Block, ...], x: Vec
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Newton's equations A δ = b on the modes at x."""
    A: list[list[Scalar]] = []
    b: list[Scalar] = []
    c = Vec([velocity(problem, x, i) for i in range(len(x))])
    for block, own, bounds in zip(blocks, scale.own, problem.bounds, strict=True):
        at = block.first
        if block.joint:
            row, right = _joint_row(problem, own, bounds, at, c[at], x[at])
            A.append(row)
            b.append(right)
            continue
        push = maximum(x[at] - c[at] / own[0], 0.0)
        active = select(push > 0.0, 1.0, 0.0)
        row = [a * active for a in problem.G[at]]
        row[at] = select(active > 0.5, problem.G[at][at], own[0])
        A.append(row)
        b.append(select(active > 0.5, -c[at], -own[0] * x[at]))
        for rows, size, bound in zip(block.places(), own[1:], bounds, strict=True):
            more, rights = _disc_rows(problem, rows, at, size, bound, x, c, push)
            A += more
            b += rights
        for i, size in zip(range(at, at + block.size), _spread(block, own), strict=True):
            A[i][i] = A[i][i] + _PROXIMAL * size
    return A, b


def _spread(block: Block, own: Vec) -> list[Scalar]:
    """`own` by row."""
    return [own[0], *(size for size, rows in zip(own[1:], block.places(), strict=True) for _ in rows)]


def eliminate(A: list[list[Scalar]], b: list[Scalar]) -> Vec:
    """x with A x = b, without pivoting: the answer is looked at before it is taken."""
    n = len(b)
    A, x = [list(row) for row in A], list(b)
    inverse: list[Scalar] = []
    for k in range(n):
        inverse.append(1.0 / A[k][k])
        for i in range(k + 1, n):
            if is_zero(A[i][k]):
                continue
            factor = A[i][k] * inverse[k]
            for j in range(k + 1, n):
                if not is_zero(A[k][j]):
                    A[i][j] = A[i][j] - factor * A[k][j]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - dot(A[k][k + 1 :], x[k + 1 :])) * inverse[k]
    return Vec(x)


def newton(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], x: Vec) -> Vec:
    """Where the modes at x, if they are right, are kept exactly."""
    A, b = _equations(problem, scale, blocks, x)
    return x + eliminate(A, b)


def better(first: Solution, second: Solution) -> Solution:
    """The one with the smaller residual; the first where the second is not a number."""
    closer = second.residual < first.residual
    return Solution(*_either(closer, second, first))


def _either(condition: Any, a: Solution, b: Solution) -> tuple[Vec, Scalar]:
    chosen = Vec([select(condition, x, y) for x, y in zip(a.impulse, b.impulse, strict=True)])
    return chosen, select(condition, a.residual, b.residual)


def kept(now: Solution, new: Solution, tolerance: Scalar) -> Solution:
    """The new one, but where that of now is good enough."""
    return Solution(*_either(now.residual <= tolerance, now, new))


def measured(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], impulse: Vec) -> Solution:
    """Impulses with their residual."""
    return Solution(impulse, residual(problem, scale, blocks, impulse))
