"""Steps through the interior of what contacts and joints allow: impulses that stay off all bounds, less and less.

Newton steps on modes, smoothed or not, fail where impulses are far from unique, as those of a robot that lies on many
links whose joints rub: they drift along what changes no velocity until they meet a bound. Here every pair of numbers
of which one must vanish has a product e > 0 instead, an energy, the same for all pairs, which then goes to zero:

    contact   λₙ w = e with w = cₙ;   for a disc of radius R = μ λₙ, with a = λₜ / R,   cₜ + κ a = 0,   κ R η = e,
              η = (1 - |a|²) / 2:   it sticks where κ vanishes, and slides with the speed κ where η does
    joint     dry friction likewise, with a radius that is given, and λ (c - lower) = e, λ (upper - c) = e of its limits

w and η are unknowns of their own, so that all of these stay above zero by the length of a step alone: what they differ
from cₙ and (1 - |a|²) / 2 vanishes with the steps. A step is linear in the velocities, δ = own - K v as those of
`newton`, and is found from the same equations. Nothing depends on units: energies of all rows are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from .gauss_seidel import TINY, RowBlock, largest, norm, square
from .newton import Yielding, by_row, projection_residual

_FIRST = 0.1  # e at first, of the largest energy of an impulse, or of what it misses
_WITHIN = 0.8  # how far towards a bound a step goes, and a disc is filled at first
_PROXIMAL = 1e-13  # how much rows give way at least, of what they do by themselves: keeps equations solvable
_TIGHT = 1e-10  # the same of rows that allow no velocity
_SLIPPERY = 1e-15  # the least friction: no impulse that anyone sees
_NOTHING = 1e-30  # the least dry friction, of the same kind
_LOWER = ((0.9, 0.2), (0.6, 0.3), (0.3, 0.6))  # after a step longer than so much, e is that of the mean product


class InteriorStep(NamedTuple):
    """How a block's numbers change, and by how many times their own size the fastest of them falls."""

    change: Vec
    fall: Scalar


class InteriorPoint(NamedTuple):
    """A block's numbers, its impulses, and the sum of its products."""

    numbers: Vec
    impulse: Vec
    product: Scalar


class _Disc(NamedTuple):
    """A disc's rows: a and R, κ, η and what it is off by; they give way by q (1 - share a aᵀ), and by `lean` a with the
    normal; `drive` is κ where its product is e."""

    a: Vec
    radius: Scalar
    kappa: Scalar
    eta: Scalar
    off: Scalar
    share: Scalar
    q: Scalar
    lean: Scalar
    drive: Scalar


def is_tight(block: RowBlock, bounds: Vec) -> bool:
    """Whether the row of a joint allows no velocity at all, known when it is recorded."""
    return block.joint and is_zero(bounds[0]) and is_zero(bounds[1])


def pairs(block: RowBlock, tight: bool) -> int:
    """How many products a block has."""
    return (0 if tight else 3) if block.joint else 1 + len(block.discs)


@standalone
def energy(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec) -> Scalar:
    """The largest energy of an impulse of a block, or of what it misses."""
    inverse = Vec([1.0 / a for a in own])
    missed = projection_residual(block, own, inverse, bounds, x, c, 0.0).missed
    rows = zip(by_row(block, own), x, missed, strict=True)
    return largest(*(size * maximum(square(a), square(b)) for size, a, b in rows))


def first(energies: Sequence[Scalar]) -> Scalar:
    """e to begin with."""
    return _FIRST * largest(*energies) + TINY


def _apart(y: Scalar, t: Scalar) -> tuple[Scalar, Scalar]:
    """p and n above zero with p - n = y and p n = t²."""
    more = 0.5 * (maximum(y, -y) + sqrt(y * y + 4.0 * (t * t) + TINY))
    less = t * t / more
    return select(y > 0.0, more, less), select(y > 0.0, less, more)


@standalone
def entered(block: RowBlock, tight: bool, own: Vec, bounds: Vec, x: Vec, c: Vec, e: Scalar) -> InteriorPoint:
    """A block's numbers near given impulses, with all products e."""
    if tight:
        return InteriorPoint(Vec([x[0]]), Vec([x[0]]), 0.0)
    if block.joint:
        return placed(block, tight, bounds, _entered_joint(own[0], bounds, x[0], c[0], e))
    push, away = _apart(x[0] - c[0] / own[0], sqrt(e / own[0]))
    numbers: list[Scalar] = [push, own[0] * away]
    at = 1
    for size, by, bound in zip(block.discs, own[1:], bounds, strict=True):
        y = Vec([x[i] - c[i] / by for i in range(at, at + size)])
        radius = maximum(bound, _SLIPPERY) * push
        a = y * (_WITHIN / maximum(maximum(norm(y), -norm(y)), radius))
        eta = 0.5 * (1.0 - dot(a, a))
        numbers += [*(a * radius), e / (radius * eta), eta]
        at += size
    return placed(block, tight, bounds, Vec(numbers))


def _entered_joint(own: Scalar, bounds: Vec, x: Scalar, c: Scalar, e: Scalar) -> Vec:
    lower, upper, hold = bounds
    radius = maximum(hold, _NOTHING)
    a = minimum(maximum(x / radius, -_WITHIN), _WITHIN)
    eta = 0.5 * (1.0 - a * a)
    rest, t = x - hold * a, sqrt(e / own)
    low, above = _apart(maximum(rest, 0.0) - (c - lower) / own, t)
    high, below = _apart(maximum(-rest, 0.0) - (upper - c) / own, t)
    return Vec((a, e / (radius * eta), eta, low, own * above, high, own * below))


def placed(block: RowBlock, tight: bool, bounds: Vec, numbers: Vec) -> InteriorPoint:
    """A block at its numbers."""
    if tight:
        return InteriorPoint(numbers, numbers, 0.0)
    if block.joint:
        a, kappa, eta, low, above, high, below = numbers
        products = kappa * maximum(bounds[2], _NOTHING) * eta + low * above + high * below
        return InteriorPoint(numbers, Vec([bounds[2] * a + low - high]), products)
    push = numbers[0]
    impulse, product, at = [push], push * numbers[1], 2
    for size, bound in zip(block.discs, bounds, strict=True):
        impulse += numbers[at : at + size]
        product = product + numbers[at + size] * (maximum(bound, _SLIPPERY) * push) * numbers[at + size + 1]
        at += size + 2
    return InteriorPoint(numbers, Vec(impulse), product)


def _discs(block: RowBlock, own: Vec, bounds: Vec, numbers: Vec, e: Scalar) -> list[_Disc]:
    found, at = [], 2
    for size, by, bound in zip(block.discs, own[1:], bounds, strict=True):
        mu = maximum(bound, _SLIPPERY)
        radius, kappa, eta = mu * numbers[0], numbers[at + size], numbers[at + size + 1]
        a = Vec(numbers[at : at + size]) * (1.0 / radius)
        filled, soft = dot(a, a), _PROXIMAL * by
        share = 1.0 / (eta * (1.0 + soft * radius / kappa) + filled)
        q, lean = 1.0 / (kappa / radius + soft), mu * (2.0 * eta + filled) * share
        found.append(_Disc(a, radius, kappa, eta, 0.5 * (1.0 - filled) - eta, share, q, lean, e / (radius * eta)))
        at += size + 2
    return found


@standalone
def interior_yielding(
    block: RowBlock, tight: bool, own: Vec, soft: Vec, bounds: Vec, numbers: Vec, c: Vec, e: Scalar
) -> Yielding:
    """A block's part of the equations, solved for the step of its impulses."""
    if tight:
        K = 1.0 / (_TIGHT * own[0])
        return Yielding(Mat((Vec((K,)),)), Vec((-c[0] * K,)))
    if block.joint:
        turn, low, high = _joint(own[0], bounds, numbers, c[0], e)
        hold = bounds[2]
        K = hold * turn[0] + low[0] + high[0]
        return Yielding(Mat((Vec((K,)),)), Vec((hold * turn[1] + low[1] - high[1],)))
    gives = 1.0 / (numbers[1] / numbers[0] + (_PROXIMAL * own[0] + soft[0]))
    pushed = gives * (e / numbers[0] - c[0])
    n = block.size
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    K[0][0] = gives
    step: list[Scalar] = [pushed]
    at = 1
    for disc in _discs(block, own, bounds, numbers, e):
        a, lean = disc.a, disc.lean
        rows = range(at, at + len(a))
        v = Vec([c[i] for i in rows]) + a * (disc.drive - disc.kappa * disc.off / disc.eta)
        along = dot(a, v) * disc.share
        for i, x, y in zip(rows, a, v, strict=True):
            step.append(x * (lean * pushed) - disc.q * (y - x * along))
            K[i][0] = x * (lean * gives)
            for j, z in zip(rows, a, strict=True):
                K[i][j] = disc.q * ((1.0 if i == j else 0.0) - x * z * disc.share)
        at = rows.stop
    return Yielding(Mat(Vec(row) for row in K), Vec(step))


def _joint(own: Scalar, bounds: Vec, numbers: Vec, c: Scalar, e: Scalar) -> tuple[Vec, Vec, Vec]:
    """How a = λ / hold of dry friction, and the impulses of both limits follow the velocity: slope and step each."""
    lower, upper, hold = bounds
    a, kappa, eta, low, above, high, below = numbers
    off = 0.5 * (1.0 - a * a) - eta
    turn = 1.0 / (kappa * (1.0 + a * a / eta) + _PROXIMAL * own * hold)
    drive = e / (maximum(hold, _NOTHING) * eta) - kappa * off / eta
    up, down = 1.0 / (above / low + _PROXIMAL * own), 1.0 / (below / high + _PROXIMAL * own)
    return (
        Vec((turn, -turn * (c + a * drive))),
        Vec((up, up * (e / low - (c - lower)))),
        Vec((down, down * (e / high - (upper - c)))),
    )


@standalone
def interior_step(
    block: RowBlock, tight: bool, own: Vec, soft: Vec, bounds: Vec, numbers: Vec, c: Vec, e: Scalar, v: Vec
) -> InteriorStep:
    """How a block's numbers change where its rows become faster by v, what is soft in them not counted."""
    found = interior_yielding(block, tight, own, soft, bounds, numbers, c, e)
    step = found.own - found.K @ v
    if tight:
        return InteriorStep(step, 0.0)
    if block.joint:
        return _joint_step(own[0], bounds, numbers, c[0], e, v[0])
    change: list[Scalar] = [step[0], v[0] + (_PROXIMAL * own[0] + soft[0]) * step[0] + c[0] - numbers[1]]
    falls = [-change[0] / numbers[0], -change[1] / numbers[1]]
    at = 1
    for a, radius, kappa, eta, off, _, _, _, drive in _discs(block, own, bounds, numbers, e):
        moved = Vec(step[at : at + len(a)])
        wider = step[0] / numbers[0]
        turned = moved * (1.0 / radius) - a * wider
        closer = off - dot(a, turned)
        faster = drive - kappa * (1.0 + wider + closer / eta)
        change += [*moved, faster, closer]
        falls += [-faster / kappa, -closer / eta]
        at += len(a)
    return InteriorStep(Vec(change), largest(*falls))


def _joint_step(own: Scalar, bounds: Vec, numbers: Vec, c: Scalar, e: Scalar, v: Scalar) -> InteriorStep:
    lower, upper, hold = bounds
    a, kappa, eta, low, above, high, below = numbers
    turn, up, down = _joint(own, bounds, numbers, c, e)
    turned = turn[1] - turn[0] * v
    closer = 0.5 * (1.0 - a * a) - eta - a * turned
    faster = e / (maximum(hold, _NOTHING) * eta) - kappa * (1.0 + closer / eta)
    push, pull, soft = up[1] - up[0] * v, down[1] + down[0] * v, _PROXIMAL * own
    wider, narrower = v + soft * push + (c - lower) - above, soft * pull - v + (upper - c) - below
    change = Vec((turned, faster, closer, push, wider, pull, narrower))
    positive = zip(change[1:], (kappa, eta, low, above, high, below), strict=True)
    return InteriorStep(change, largest(*(-x / y for x, y in positive)))


@standalone
def advanced(block: RowBlock, tight: bool, bounds: Vec, numbers: Vec, change: Vec, length: Scalar) -> InteriorPoint:
    """A block after a part of a step."""
    return placed(block, tight, bounds, numbers + change * length)


@standalone
def opened(block: RowBlock, own: Vec, x: Vec, c: Vec, faint: Scalar) -> Vec:
    """Impulses without those of a contact that moves away, and that these change by less than a faint velocity."""
    if block.joint:
        return x
    pressed = x[0] * own[0] > minimum(c[0], faint)
    return Vec([select(pressed, a, 0.0) for a in x])


def length(fall: Scalar) -> Scalar:
    """How far a step goes, 1 at most, so that all that is above zero stays there."""
    return minimum(1.0, _WITHIN / maximum(fall, TINY))


def lower(e: Scalar, product: Scalar, count: Scalar, length: Scalar) -> Scalar:
    """e of the next step, from the sum of all products."""
    share: Scalar = 1.0
    for longer, by in reversed(_LOWER):
        share = select(length > longer, by, share)
    return minimum(e, share * product / count)
