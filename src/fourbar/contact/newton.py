"""Newton steps on what contacts and joints ask for: λ = P(λ - D⁻¹ c) with c = G λ + g.

P puts normals above zero and friction into its disc, as wide as the normal impulse just found allows (Alart and
Curnier); D is what rows move by themselves. Near λ it is linear, and the step δ solves

    (1 - P′) δ + P′ D⁻¹ G δ = -(λ - P)

P has corners, where a step may lead from one side to the other and back. *Smoothed* by a velocity τ it has none (the
corners of Chen, Harker, Kanzow and Smale): its solutions lie inside the discs, and lead to one of the problem as τ goes
to zero. That is how impulses are found where there are many, as under a foot with four points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..expr import maximum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from .gauss_seidel import TINY, ContactProblem, RowBlock, Scaled, joint_answer, norm, size_of

_TILE = 3  # rows and columns of a matrix that are eliminated together: as many numbers as registers hold
PROXIMAL = 1e-8  # how much stiffer rows are taken than they are, at least: redundant rows make G singular


class Disc(NamedTuple):
    """P of a disc's rows: λ = q y with y = λ - D⁻¹ c of length r and direction s. Its slopes across and along y are q
    and `along`, and with the normal that the rows of the contact ask for `wider` s."""

    s: Vec
    q: Scalar
    along: Scalar
    wider: Scalar


class ProjectionResidual(NamedTuple):
    """The residual λ - P of a block at an impulse, and the slopes of the projection P; `first`: of its first
    row."""

    missed: Vec
    first: Scalar
    discs: tuple[Disc, ...]


def positive_part(y: Scalar, tau: Scalar) -> tuple[Scalar, Scalar]:
    """The positive part of y, and its slope."""
    if is_zero(tau):
        return maximum(y, 0.0), select(y > 0.0, 1.0, 0.0)
    root = sqrt(y * y + 4.0 * (tau * tau) + TINY)
    pushed = 0.5 * (y + root)
    return pushed, pushed / root


def disc_projection(y: Vec, radius: Scalar, tau: Scalar, slope: Scalar) -> Disc:
    """A point put into a disc; `slope` is that of its radius with the normal."""
    r = norm(y) if len(y) > 1 else maximum(size_of(y), TINY)
    inverse = 1.0 / r
    s = y * inverse
    if is_zero(tau):
        slides = r > radius
        return Disc(s, select(slides, radius * inverse, 1.0), select(slides, 0.0, 1.0), select(slides, slope, 0.0))
    more, less = r + radius, r - radius
    square = 4.0 * (tau * tau) + TINY
    a, b = sqrt(more * more + square), sqrt(less * less + square)
    up, down = more / a, less / b
    return Disc(s, 2.0 * radius / (a + b), 0.5 * (up - down), 0.5 * (up + down) * slope)


def projection_residual(
    block: RowBlock, own: Vec, inverse: Vec, bounds: Vec, x: Vec, c: Vec, tau: Scalar
) -> ProjectionResidual:
    """The residual of a block at its impulses x and velocities c; joints are not smoothed. `inverse`: 1 / own."""
    if block.joint:
        wanted, _, held = joint_answer(c[0], x[0], own[0], bounds)
        return ProjectionResidual(Vec([x[0] - wanted]), held, ())
    pushed, slope = positive_part(x[0] - c[0] * inverse[0], tau * inverse[0])
    missed: list[Scalar] = [x[0] - pushed]
    discs = []
    for rows, by, bound in zip(block.places(), inverse[1:], bounds, strict=True):
        places = [i - block.first for i in rows]
        y = Vec([x[i] - c[i] * by for i in places])
        disc = disc_projection(y, bound * pushed, tau * by, bound * slope)
        discs.append(disc)
        missed += [x[i] - disc.q * a for i, a in zip(places, y, strict=True)]
    return ProjectionResidual(Vec(missed), slope, tuple(discs))


def _slopes(found: ProjectionResidual) -> list[list[Scalar]]:
    """P′ as rows."""
    n = len(found.missed)
    rows: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    rows[0][0] = found.first
    at = 1
    for s, q, along, wider in found.discs:
        for i, a in enumerate(s, at):
            rows[i][0] = wider * a
            for j, b in enumerate(s, at):
                rows[i][j] = (q if i == j else 0.0) + (along - q) * a * b
        at += len(s)
    return rows


def by_row(block: RowBlock, own: Vec) -> list[Scalar]:
    """D of a block's rows, from its entries (or the same of D⁻¹)."""
    return [own[0], *(size for size, rows in zip(own[1:], block.places(), strict=True) for _ in rows)]


def step(
    problem: ContactProblem, scale: Scaled, blocks: tuple[RowBlock, ...], x: Vec, c: Vec, tau: Scalar, stiff: Scalar
) -> Vec:
    """λ + δ, by elimination over all rows, each of which is taken to be stiffer by `stiff`."""
    missed: list[Scalar] = []
    rows: list[tuple[range, list[Scalar], list[Scalar]]] = []  # of each row: those of its block, P′ and P′ D⁻¹ there
    for block, own, inverse, bounds in zip(blocks, scale.own, scale.inverse, problem.bounds, strict=True):
        of_block = range(block.first, block.first + block.size)
        found = projection_residual(
            block, own, inverse, bounds, Vec([x[i] for i in of_block]), Vec([c[i] for i in of_block]), tau
        )
        missed += [-a for a in found.missed]
        by = by_row(block, inverse)
        for slopes in _slopes(found):
            rows.append((of_block, slopes, [p * a for p, a in zip(slopes, by, strict=True)]))

    def entry(i: int, j: int) -> Scalar:
        of_block, slopes, weighted = rows[i]
        value = dot(weighted, [problem.G[k][j] for k in of_block])
        if j not in of_block:
            return value
        return value + ((1.0 + stiff if i == j else 0.0) - slopes[j - of_block.start])

    return x + eliminate(entry, missed)


def eliminate(A: Callable[[int, int], Scalar], b: Sequence[Scalar]) -> Vec:
    """x with A x = b, without pivoting: the answer is looked at before it is taken. A gives its entries.

    They are finished tile by tile, so that they stay in registers until they are, and x takes up what is found last at
    the end of its sums: processors wait less.
    """
    n = len(b)
    left: list[list[Scalar]] = [[0.0] * n + [x] for x in b]  # above the diagonal and in the last column what is left
    factors: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    cuts = [range(k, min(k + _TILE, n)) for k in range(0, n, _TILE)]
    for rows in cuts:
        for columns in (*cuts, range(n, n + 1)):
            for i in rows:
                for j in columns:
                    if j < n:
                        left[i][j] = A(i, j)
            for k in range(min(rows.stop, columns.stop)):
                if k in rows and k in columns:
                    inverse[k] = 1.0 / left[k][k]
                for i in rows:
                    if i <= k or is_zero(left[i][k]):
                        continue
                    if k in columns:
                        factors[i][k] = left[i][k] * inverse[k]
                    for j in columns:
                        if j > k and not is_zero(left[k][j]):
                            left[i][j] = left[i][j] - factors[i][k] * left[k][j]
    x = [row[n] for row in left]
    for k in reversed(range(n)):
        for j in reversed(range(k + 1, n)):
            x[k] = x[k] - left[k][j] * x[j]
        x[k] = x[k] * inverse[k]
    return Vec(x)


class Yielding(NamedTuple):
    """A block's step as a function of those of the others: δ = own - K v, where v is the change of its velocities."""

    K: Mat
    own: Vec


def yielding(
    block: RowBlock, own: Vec, inverse: Vec, soft: Vec, bounds: Vec, x: Vec, c: Vec, tau: Scalar, stiff: Scalar
) -> Yielding:
    """A block's part of Newton's equations, solved for its step. `soft`: what its rows give way to their own impulse
    besides what moves the robot (of contacts the first row only); `inverse`: 1 / own."""
    found = projection_residual(block, own, inverse, bounds, x, c, tau)
    rho = soft[0] * inverse[0]
    gives = 1.0 / (1.0 + stiff - found.first + found.first * rho)
    first, press = -found.missed[0] * gives, found.first * gives
    n = block.size
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    K[0][0] = press * inverse[0]
    step: list[Scalar] = [first]
    at = 1
    for (s, q, along, wider), by in zip(found.discs, inverse[1:], strict=True):
        across = 1.0 / (1.0 + stiff - q)
        stuck = select(along > 0.5, 1.0 / stiff, 1.0 / (1.0 + stiff))  # as its slope is one then, else zero
        ahead = stuck if is_zero(tau) else 1.0 / (1.0 + stiff - along)
        missed = found.missed[at : at + len(s)]
        both = (across - ahead) * dot(s, missed) + wider * ahead * first * (1.0 - rho)
        step += [both * a - across * m for a, m in zip(s, missed, strict=True)]
        lean = wider * ahead * (1.0 + press * (1.0 - rho)) * inverse[0]
        turn, slide = across * q * by, (ahead * along - across * q) * by
        for i, a in enumerate(s, at):
            K[i][0] = lean * a
            for j, b in enumerate(s, at):
                K[i][j] = slide * a * b + (turn if i == j else 0.0)
        at += len(s)
    return Yielding(Mat(Vec(row) for row in K), Vec(step))


def coupled_step(G: Mat, yields: tuple[Yielding, ...]) -> Vec:
    """δ of all rows, by elimination: (1 + K G) δ = own."""
    first, at = [], 0
    for y in yields:
        first += [at] * len(y.own)
        at += len(y.own)
    rows = [row for y in yields for row in y.K]

    def entry(i: int, j: int) -> Scalar:
        value = dot(rows[i], [G[first[i] + k][j] for k in range(len(rows[i]))])
        return value + 1.0 if i == j else value

    return eliminate(entry, [x for y in yields for x in y.own])
