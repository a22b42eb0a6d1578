"""Newton steps on what contacts and joints ask for: λ = P(λ - D⁻¹ c) with c = G λ + g.

P puts normals above zero and friction into its disc, as wide as the normal impulse just found allows (Alart and
Curnier); D is what rows move by themselves. Near λ it is linear, and the step δ solves

    (1 - P′) δ + P′ D⁻¹ G δ = -(λ - P)

P has corners, where a step may lead from one side to the other and back. *Smoothed* by a velocity τ it has none (the
corners of Chen, Harker, Kanzow and Smale): its solutions lie inside the discs, and lead to one of the problem as τ goes
to zero. That is how impulses are found where there are many, as under a foot with four points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..expr import maximum, select, sqrt
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from .solver import TINY, Block, Problem, Scaled, joint_answer, norm, size_of

PROXIMAL = 1e-8  # how much stiffer rows are taken than they are, at least: redundant rows make G singular


class Disc(NamedTuple):
    """P of a disc's rows: λ = q y with y = λ - D⁻¹ c of length r and direction s. Its slopes across and along y are q
    and `along`, and with the normal that the rows of the contact ask for `wider` s."""

    s: Vec
    q: Scalar
    along: Scalar
    wider: Scalar


class Asked(NamedTuple):
    """What a block asks for at an impulse: how far that misses it, λ - P, and the slopes of P; `first`: of its first
    row."""

    missed: Vec
    first: Scalar
    discs: tuple[Disc, ...]


def _pushed(y: Scalar, tau: Scalar) -> tuple[Scalar, Scalar]:
    """What of y is above zero, and its slope."""
    if is_zero(tau):
        return maximum(y, 0.0), select(y > 0.0, 1.0, 0.0)
    root = sqrt(y * y + 4.0 * (tau * tau) + TINY)
    pushed = 0.5 * (y + root)
    return pushed, pushed / root


def _in_disc(y: Vec, radius: Scalar, tau: Scalar, slope: Scalar) -> Disc:
    """A point put into a disc; `slope` is that of its radius with the normal."""
    r = norm(y) if len(y) > 1 else maximum(size_of(y), TINY)
    s = y * (1.0 / r)
    if is_zero(tau):
        slides = r > radius
        return Disc(s, select(slides, radius / r, 1.0), select(slides, 0.0, 1.0), select(slides, slope, 0.0))
    more, less = r + radius, r - radius
    square = 4.0 * (tau * tau) + TINY
    a, b = sqrt(more * more + square), sqrt(less * less + square)
    up, down = more / a, less / b
    return Disc(s, 2.0 * radius / (a + b), 0.5 * (up - down), 0.5 * (up + down) * slope)


def asked(block: Block, own: Vec, bounds: Vec, x: Vec, c: Vec, tau: Scalar) -> Asked:
    """What a block asks for at its impulses x and velocities c; joints are not smoothed."""
    if block.joint:
        wanted, _, held = joint_answer(c[0], x[0], own[0], bounds)
        return Asked(Vec([x[0] - wanted]), held, ())
    inverse = [1.0 / a for a in own]
    pushed, slope = _pushed(x[0] - c[0] * inverse[0], tau * inverse[0])
    missed: list[Scalar] = [x[0] - pushed]
    discs = []
    for rows, by, bound in zip(block.places(), inverse[1:], bounds, strict=True):
        places = [i - block.first for i in rows]
        y = Vec([x[i] - c[i] * by for i in places])
        disc = _in_disc(y, bound * pushed, tau * by, bound * slope)
        discs.append(disc)
        missed += [x[i] - disc.q * a for i, a in zip(places, y, strict=True)]
    return Asked(Vec(missed), slope, tuple(discs))


def _slopes(found: Asked) -> list[list[Scalar]]:
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


def by_row(block: Block, own: Vec) -> list[Scalar]:
    """D of a block's rows."""
    return [own[0], *(size for size, rows in zip(own[1:], block.places(), strict=True) for _ in rows)]


def step(problem: Problem, scale: Scaled, blocks: tuple[Block, ...], x: Vec, c: Vec, tau: Scalar, stiff: Scalar) -> Vec:
    """λ + δ, by elimination over all rows, each of which is taken to be stiffer by `stiff`."""
    A: list[list[Scalar]] = []
    b: list[Scalar] = []
    n = len(x)
    for block, own, bounds in zip(blocks, scale.own, problem.bounds, strict=True):
        at, end = block.first, block.first + block.size
        found = asked(block, own, bounds, Vec(x[at:end]), Vec(c[at:end]), tau)
        inverse = [1.0 / a for a in by_row(block, own)]
        for i, slopes in enumerate(_slopes(found)):
            weighted = [p * a for p, a in zip(slopes, inverse, strict=True)]
            row: list[Scalar] = [dot(weighted, [problem.G[at + k][j] for k in range(block.size)]) for j in range(n)]
            for j, p in enumerate(slopes, at):
                row[j] = row[j] + ((1.0 + stiff if j == at + i else 0.0) - p)
            A.append(row)
            b.append(-found.missed[i])
    return x + eliminate(A, b)


def eliminate(A: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """x with A x = b, without pivoting: the answer is looked at before it is taken."""
    n = len(b)
    left, x = [list(row) for row in A], list(b)
    inverse: list[Scalar] = []
    for k in range(n):
        inverse.append(1.0 / left[k][k])
        for i in range(k + 1, n):
            if is_zero(left[i][k]):
                continue
            factor = left[i][k] * inverse[k]
            for j in range(k + 1, n):
                if not is_zero(left[k][j]):
                    left[i][j] = left[i][j] - factor * left[k][j]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - dot(left[k][k + 1 :], x[k + 1 :])) * inverse[k]
    return Vec(x)


class Yielding(NamedTuple):
    """How a block's step follows from what the others do: δ = own - K v, where v is how much faster its rows move."""

    K: Mat
    own: Vec


def yielding(block: Block, own: Vec, soft: Vec, bounds: Vec, x: Vec, c: Vec, tau: Scalar, stiff: Scalar) -> Yielding:
    """A block's part of Newton's equations, solved for its step. `soft`: what its rows give way to their own impulse
    besides what moves the robot (of contacts the first row only)."""
    found = asked(block, own, bounds, x, c, tau)
    inverse = [1.0 / a for a in own]
    rho = soft[0] * inverse[0]
    gives = 1.0 / (1.0 + stiff - found.first + found.first * rho)
    first, press = -found.missed[0] * gives, found.first * gives
    n = block.size
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    K[0][0] = press * inverse[0]
    step: list[Scalar] = [first]
    at = 1
    for (s, q, along, wider), by in zip(found.discs, inverse[1:], strict=True):
        across, ahead = 1.0 / (1.0 + stiff - q), 1.0 / (1.0 + stiff - along)
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
