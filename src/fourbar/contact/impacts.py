"""Restitution that creates no energy.

Newton's restitution asks for c⁺ = -e c⁻ along the normal. With friction, or several contacts at once, impulses that
obey it may add energy (Kane's paradox): the work of all impulses λ on a robot whose rows move with c₀ without them is

    W = λᵀ c₀ + ½ λᵀ G λ

which is never positive for e = 0, but for what takes back a penetration. Where W is positive, all coefficients of the
step are reduced by one share, as little as needed: W is a continuous function of the share, and three steps of the
regula falsi keep the side that gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..expr import maximum, select
from ..spatial.linear import Scalar, Vec
from .gauss_seidel import TINY, Solution, either, size_of
from .laws import rebound

_SEARCH = 3  # steps of the regula falsi
_ROUNDING = 1e-11  # of the energy that impulses exchange: less is no gain


class Attempt(NamedTuple):
    """A search for the largest share of restitution that gains nothing: the share to try next; the shares on both sides
    with their work; the work that is allowed; solutions so far (0: none, 1: of the whole restitution, ...); the
    impulses that are kept, and their share."""

    share: Any
    low: Any
    high: Any
    low_work: Any
    high_work: Any
    allowed: Any
    count: Any
    kept: Solution
    kept_share: Any


class Impact(NamedTuple):
    """A contact with restitution: its normal row, the gap, the velocity before and without contacts, coefficient."""

    row: int
    gap: Scalar
    before: Scalar
    free: Scalar
    restitution: float


def rebounding(impact: Impact, g: Scalar, dt: Scalar, least: float, share: Scalar) -> Scalar:
    """g of the normal row of a contact with a share of its restitution."""
    _, gap, before, free, e = impact
    return free + rebound(g - free, gap, dt, before, free, e * share, least)


def work(impulse: Vec, free: Vec, g: Vec, c: Vec) -> Vec:
    """The work of impulses, and the sum of magnitudes of what it consists of.

    `free`, c: velocities of the rows without and with the impulses; c and g with what laws add to them.
    """
    pairs = [(x * a, 0.5 * x * (b - d)) for x, a, b, d in zip(impulse, free, c, g, strict=True)]
    total, size = pairs[0][0] + pairs[0][1], size_of([pairs[0][0]]) + size_of([pairs[0][1]])
    for a, b in pairs[1:]:
        total, size = total + (a + b), size + (size_of([a]) + size_of([b]))
    return Vec((total, size))


def energy_gain(impulse: Vec, free: Vec, after: Vec) -> Scalar:
    """The work of impulses on rows that move with `free` without and `after` with them, if it is more than rounding."""
    done: Scalar = 0.0
    size: Scalar = 0.0
    for x, a, b in zip(impulse, free, after, strict=True):
        done, size = done + 0.5 * x * (a + b), size + size_of([x * a]) + size_of([x * b])
    return select(done > _ROUNDING * size, done, 0.0)


def search(at: Attempt, new: Solution, done: Vec) -> tuple[Attempt, Scalar]:
    """The next attempt, after one with a new solution and its work; above zero while the search goes on."""
    gained = done[0] - _ROUNDING * done[1]
    first, second = at.count < 0.5, at.count < 1.5
    allowed = select(first, 0.0, select(second, maximum(gained, 0.0), at.allowed))
    fits = gained <= allowed
    low = select(fits, at.share, at.low)
    low_work = select(fits, done[0], at.low_work)
    high, high_work = select(fits, at.high, at.share), select(fits, at.high_work, done[0])
    span = high_work - low_work
    falsi = high - (high_work - allowed) * (high - low) / select(size_of([span]) > TINY, span, 1.0)
    share = select(first, 0.0, maximum(low, falsi))
    keep = select(first, 1.0, select(fits, 1.0, 0.0)) > 0.5
    kept, kept_share = either(keep, new, at.kept), select(keep, at.share, at.kept_share)
    going = select(first, select(fits, -1.0, 1.0), _SEARCH + 1.5 - at.count)
    return Attempt(share, low, high, low_work, high_work, allowed, at.count + 1.0, kept, kept_share), going


def solve_impacts(
    recorder: Any, solve: Callable[[Any, Vec], Solution], measure: Callable[[Any, Solution], Vec], start: Vec
) -> tuple[Solution, Any]:
    """Impulses of the largest share of restitution that creates no energy, and this share.

    `solve` finds impulses for a share, from some to begin with; `measure` is their work.
    """

    def attempt(at: Attempt) -> tuple[Attempt, Any]:
        new = solve(at.share, at.kept.impulse)
        return recorder.call(search, at, Solution(new.impulse, new.residual), measure(at.share, new))

    state = Attempt(1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, Solution(start, 0.0), 1.0)
    end = recorder.repeat(attempt, state, _SEARCH + 2, 1.0)
    return end.kept, end.kept_share
