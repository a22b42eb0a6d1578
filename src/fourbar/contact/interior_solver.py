"""Impulses found through the interior of what is allowed (`interior`), for all blocks of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..expr import maximum, select
from ..spatial.linear import Scalar, Vec
from . import gauss_seidel, interior
from .gauss_seidel import RowBlock, Solution
from .newton import Yielding

_PASSES = 60  # at most; they take 25 to 35 where impulses are far from unique
_SHORT = 1e-3  # steps shorter than that lead nowhere
_FAINT = 1e-2  # of the tolerance: what impulses of open contacts change velocities by at most


class InteriorBlock(NamedTuple):
    """A block as the only one; whether it allows no velocity; its own velocities under unit impulses, what its rows
    give way besides, and its bounds."""

    block: RowBlock
    tight: bool
    own: Vec
    soft: Vec
    bounds: Vec


class InteriorRows(Protocol):
    """The blocks of a problem, and what couples them."""

    def interior_blocks(self) -> list[InteriorBlock]:
        """Every block by itself."""
        ...

    def velocities_of(self, x: Sequence[Vec]) -> Sequence[Vec]:
        """The velocities of all blocks under their impulses."""
        ...

    def evaluate_at(self, x: Sequence[Vec], c: Sequence[Vec]) -> Solution:
        """Impulses with their residual, from their velocities."""
        ...

    def responses(self, yields: Sequence[Yielding]) -> Sequence[Vec]:
        """How much faster all blocks become by the steps that these are."""
        ...


class Inside(NamedTuple):
    """Numbers and impulses of all blocks, e, the length of the last step, and the best impulses so far."""

    numbers: tuple[Vec, ...]
    impulses: tuple[Vec, ...]
    energy: Any
    length: Any
    best: Solution


def _goes_on(residual: Scalar, tolerance: Scalar, length: Scalar) -> Scalar:
    """Above zero while a problem is not solved and steps lead somewhere (not so if they are no numbers)."""
    return select(length > _SHORT, residual - tolerance, -1.0)


def _total(*values: Scalar) -> Scalar:
    total = values[0]
    for x in values[1:]:
        total = total + x
    return total


def _cleaner(best: Solution, opened: Solution, tolerance: Scalar) -> Solution:
    """The second, if it leaves no more than the tolerance, or than the first."""
    return gauss_seidel.either(opened.residual <= maximum(best.residual, tolerance), opened, best)


def solve_inside(recorder: Any, rows: InteriorRows, given: Solution, tolerance: float, going: Any) -> Solution:
    """The best of given impulses (by block) and of those that are found from there on, where `going` is above zero."""
    return recorder.repeat(lambda best: (_pressed(recorder, rows, best, tolerance), 0.0), given, 1, going)


def without_open(recorder: Any, rows: InteriorRows, given: Solution, tolerance: float, going: Any) -> Solution:
    """Impulses in which open contacts have none at all, where `going` is above zero: the interior, and steps that are
    smoothed, leave them something too small to be seen."""

    def cleaned(best: Solution) -> tuple[Solution, Any]:
        both = zip(rows.interior_blocks(), best.impulse, rows.velocities_of(best.impulse), strict=True)
        x = tuple(recorder.call(interior.opened, own.block, own.own, a, c, _FAINT * tolerance) for own, a, c in both)
        return recorder.call(_cleaner, best, rows.evaluate_at(x, rows.velocities_of(x)), tolerance), 0.0

    return recorder.repeat(cleaned, given, 1, going)


def _pressed(recorder: Any, rows: InteriorRows, given: Solution, tolerance: float) -> Solution:
    """The best of given impulses and of those that steps through the interior find."""
    call, blocks, start = recorder.call, rows.interior_blocks(), given.impulse
    count = float(sum(interior.pairs(x.block, x.tight) for x in blocks))

    def each(function: Any, *by_block: Sequence[Any]) -> list[Any]:
        return [call(function, x.block, *own) for x, *own in zip(blocks, *by_block, strict=True)]

    tight, own, soft, bounds = ([x[k] for x in blocks] for k in range(1, 5))
    c = rows.velocities_of(start)
    e = call(interior.first, tuple(each(interior.energy, own, bounds, start, c)))
    points = each(interior.entered, tight, own, bounds, start, c, [e] * len(blocks))

    def press(at: Inside) -> tuple[Inside, Any]:
        c = rows.velocities_of(at.impulses)
        best = call(gauss_seidel.better, at.best, rows.evaluate_at(at.impulses, c))
        state = (tight, own, soft, bounds, at.numbers, c, [at.energy] * len(blocks))
        v = rows.responses(each(interior.interior_yielding, *state))
        steps = each(interior.interior_step, *state, v)
        length = call(interior.length, call(gauss_seidel.largest, *(x.fall for x in steps)))
        changes = [x.change for x in steps]
        new = each(interior.advanced, tight, bounds, at.numbers, changes, [length] * len(blocks))
        e = call(interior.lower, at.energy, call(_total, *(x.product for x in new)), count, length)
        after = Inside(tuple(x.numbers for x in new), tuple(x.impulse for x in new), e, length, best)
        return after, call(_goes_on, best.residual, tolerance, length)

    inside = Inside(tuple(x.numbers for x in points), tuple(x.impulse for x in points), e, 1.0, given)
    going = call(_goes_on, given.residual, tolerance, 1.0)
    return recorder.repeat(press, inside, _PASSES, going).best
