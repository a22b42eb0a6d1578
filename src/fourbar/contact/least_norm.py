"""Least-norm impulses among those that move a robot alike.

Contacts that stick redundantly, as the corners of a box do, leave their impulses open: forces within the box change no
velocity. Of all λ with the same effect on the robot the smallest in Σ D λ² is taken, where D is the velocity of a row
under a unit impulse of its own. With K = D⁻¹/ε on the rows s that stick, λ λᵀ/(ε λᵀ D λ) on those of a contact that
slides, whose impulse keeps its direction, and zero elsewhere,

    (M̃ + Jᵀ K J) v = Jₛᵀ λ,     λ' = K J v,     λ - λ' = T λ with T = (1 + K G)⁻¹

which are Newton's equations of the solver with another K. T leaves what moves nothing, and of the rest a part ε: made
twice, what moves the robot is kept to ε². Contacts that λ' would put outside of their cones keep their impulses; those
that it would open are left out, and the others take over their impulses. The step ends where another contact would
leave its cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..expr import maximum, minimum, select, sqrt
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, dot
from .gauss_seidel import TINY, RowBlock, Solution, either, joint_answer, largest, size_of
from .newton import Yielding, by_row

_EPSILON = 1e-6  # of what rows move by themselves
_SLOW = 1e-6  # of the velocity that friction at its bound would give its own row: a contact that is faster slides
_FULL = 1.0 + 1e-9  # of the friction that a normal impulse allows: rounding may put what slides outside of its cone
_WITHIN = 1.0 - 1e-9  # of the way to where a contact would slide or open


class GroupState(NamedTuple):
    """Some blocks that are looked at together, each as the only one: D, bounds, impulses and velocities."""

    blocks: tuple[RowBlock, ...]
    own: tuple[Vec, ...]
    bounds: tuple[Vec, ...]
    x: tuple[Vec, ...]
    c: tuple[Vec, ...]


Steps = Sequence[tuple[Vec, ...]]  # by group
Yields = Sequence[tuple[Yielding, ...]]


class CoupledRows(Protocol):
    """The equations of given K, factored."""

    def solve(self, own: Steps) -> Steps:
        """The steps δ = own - K v of all blocks, where v is what these steps change the velocities by."""
        ...


class LeastNormRows(Protocol):
    """Impulses of a problem, group by group, and the equations that couple them."""

    def groups_at(self, at: Solution) -> list[GroupState]:
        """Every group of blocks at impulses."""
        ...

    def couple(self, yields: Yields) -> tuple[Steps, CoupledRows]:
        """The steps of all blocks, and the equations with their K."""
        ...

    def summary(self, at: Solution) -> Solution:
        """What of a solution is kept beside the search for a better one."""
        ...

    def subtract(self, x: Any, steps: Steps, length: Any) -> Any:
        """Impulses less a part of some steps."""
        ...

    def redundancy(self, at: Solution) -> Any:
        """Above zero where impulses within the robot may change no velocity."""
        ...

    def evaluate(self, x: Any, at: Solution | None = None) -> Solution:
        """Impulses with their residual, and what is known of them; `at`: a solution that these came from."""
        ...


def _slides(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec) -> Scalar:
    """1 where a disc of a contact slides, else 0: it may stick with all the friction that it has."""
    slides: Scalar = 0.0
    for rows, size, bound in zip(block.places(), own[1:], bounds, strict=True):
        slides = select(size_of([c[i] for i in rows]) < _SLOW * size * bound * x[0], slides, 1.0)
    return slides


@standalone
def compliance(at: GroupState) -> tuple[Yielding, ...]:
    """K and λ of blocks: of each row by itself where they stick, along λ where they slide, zero where they are open."""
    return tuple(_compliance(*own) for own in zip(*at, strict=True))


def _compliance(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec) -> Yielding:
    D, n = by_row(block, own), range(block.size)
    if block.joint:
        held = joint_answer(c[0], x[0], own[0], bounds)[2]
        return Yielding(Mat((Vec((held / (_EPSILON * D[0]),)),)), x * held)
    presses, slides = select(x[0] > 0.0, 1.0, 0.0), _slides(block, own, bounds, x, c)
    along = slides / (_EPSILON * (sum((d * y * y for d, y in zip(D, x, strict=True)), 0.0) + TINY))
    apart = (1.0 - slides) / _EPSILON
    K = [[along * x[i] * x[j] + (apart / D[i] if i == j else 0.0) for j in n] for i in n]
    return Yielding(Mat(Vec([presses * k for k in row]) for row in K), x * presses)


@standalone
def restrict(
    at: GroupState, yields: tuple[Yielding, ...], steps: tuple[Vec, ...]
) -> tuple[tuple[Yielding, ...], Scalar]:
    """The same blocks without contacts that x - step would open, whose impulses the others take over, or put outside of
    their cones, which keep their impulses; and 1 if there are any, else 0."""
    found, some = [], 0.0
    for block, bounds, x, own, step in zip(at.blocks, at.bounds, at.x, yields, steps, strict=True):
        if block.joint:
            found.append(own)
            continue
        new = x - step
        opens = select(new[0] > 0.0, 0.0, 1.0)
        inside = 1.0 - opens
        for rows, bound in zip(block.places(), bounds, strict=True):
            inside = select(size_of([new[i] for i in rows]) < bound * new[0] * _FULL, inside, 0.0)
        moves = maximum(inside, opens)
        some = select(x[0] > 0.0, select(inside > 0.5, some, 1.0), some)
        found.append(Yielding(Mat(row * inside for row in own.K), own.own * moves))
    return tuple(found), some


@standalone
def room(at: GroupState, steps: tuple[Vec, ...]) -> Scalar:
    """The part of x - step, 1 at most, until a contact leaves its cone; joints are left to the residual. One that
    slides stays on its cone."""
    least: Scalar = 1.0
    for block, own, bounds, x, c, step in zip(*at, steps, strict=True):
        if not block.joint:
            least = minimum(least, _room(block, own, bounds, x, c, step))
    return least


def _room(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec, step: Vec) -> Scalar:
    opens: Scalar = select(step[0] > x[0], x[0] / maximum(step[0], TINY), 1.0)
    length = opens
    for rows, bound in zip(block.places(), bounds, strict=True):
        disc = [Vec([y[i] for i in rows]) for y in (x, step)]
        length = minimum(length, _within_disc(bound, x[0], step[0], *disc))
    return select(_slides(block, own, bounds, x, c) > 0.0, opens, length)


def _within_disc(bound: Scalar, press: Scalar, less: Scalar, x: Vec, step: Vec) -> Scalar:
    """The least t above zero with |x - t step| = bound (press - t less), 1 at most: a root of a t² - 2 b t + c."""
    a = dot(step, step) - bound * bound * less * less
    b = dot(x, step) - bound * bound * press * less
    c = dot(x, x) - bound * bound * press * press  # not above zero: it sticks
    square = b * b - a * c
    under = b - sqrt(maximum(square, 0.0))
    reached = select(square < 0.0, 1.0, select(under < 0.0, c / minimum(under, -TINY), 1.0))  # else the disc widens
    return minimum(reached, 1.0)


def _is_due(residual: Scalar, tolerance: Scalar, redundant: Scalar) -> Scalar:
    """Above zero where a problem is solved and its impulses may be redundant."""
    return select(residual > tolerance, -1.0, redundant)


def _accepted(best: Solution, new: Solution, tolerance: Scalar) -> Solution:
    return either(new.residual <= maximum(best.residual, tolerance), new, best)


def _shortest(*lengths: Scalar) -> Scalar:
    least = lengths[0]
    for x in lengths[1:]:
        least = minimum(least, x)
    return least * _WITHIN


def pressing(*x: Vec) -> Scalar:
    """The number of impulses that push."""
    return sum((select(own[0] > 0.0, 1.0, 0.0) for own in x), 0.0)


def least_norm(recorder: Any, rows: LeastNormRows, best: Solution, tolerance: float) -> Solution:
    """The least-norm impulses with the effect of given ones, where these solve a problem and may be redundant."""
    call = recorder.call

    def twice(yields: Yields) -> tuple[Steps, Steps]:
        steps, coupled = rows.couple(yields)
        return steps, coupled.solve(steps)

    def even(best: Solution) -> tuple[Solution, Any]:
        groups = rows.groups_at(best)
        yields = [call(compliance, own) for own in groups]
        first, steps = twice(yields)
        restricted = [call(restrict, *own) for own in zip(groups, yields, first, strict=True)]
        some = call(largest, *(x for _, x in restricted))
        steps = recorder.repeat(lambda _: (tuple(twice([x for x, _ in restricted])[1]), 0.0), tuple(steps), 1, some)
        lengths = [call(room, own, step) for own, step in zip(groups, steps, strict=True)]
        new = rows.summary(rows.evaluate(rows.subtract(best.impulse, steps, call(_shortest, *lengths))))
        return call(_accepted, best, new, tolerance), 0.0

    going = call(_is_due, best.residual, tolerance, rows.redundancy(best))
    return recorder.repeat(even, best, 1, going)
