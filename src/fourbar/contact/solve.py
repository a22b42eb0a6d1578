"""How the impulses of a step are found: sweeps and Newton steps of `solver`, until they are good enough."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..spatial.linear import Scalar, Vec
from . import solver
from .solver import Block, Problem, Scaled, Solution


class Effort(Protocol):
    """How well a problem is solved: the residual (m/s) that is good enough, sweeps at a time, passes at most."""

    @property
    def tolerance(self) -> float: ...

    @property
    def sweeps(self) -> int: ...

    @property
    def rounds(self) -> int: ...


class Iterate(NamedTuple):
    """Where a solution is: after the last sweep; now; the best so far; tries of Newton steps and their course."""

    swept: Vec
    now: Solution
    best: Solution
    tries: Any
    course: Any


def left_over(residual: Scalar, tolerance: Scalar) -> Scalar:
    """What is above zero while a problem is not solved."""
    return residual - tolerance


def solve(recorder: Any, problem: Problem, blocks: tuple[Block, ...], start: Vec, effort: Effort) -> Solution:
    """A sweep from given impulses; then Newton steps, and sweeps where these lead nowhere.

    At least one of each: it ends near rounding then.
    """
    if not blocks:
        return Solution(Vec(()), 0.0)
    call = recorder.call
    scale = call(solver.scaled, problem, blocks)
    x = call(solver.sweep, problem, scale, blocks, start)
    first = call(solver.measured, problem, scale, blocks, x)
    passes = _Passes(recorder, problem, blocks, scale, effort.sweeps)
    newton = len(x) <= solver.NEWTON_ROWS

    def once_more(state: Iterate) -> tuple[Iterate, Any]:
        leapt, stuck = passes.leapt(state) if newton else (state, 1.0)
        now = passes.swept(leapt, stuck)
        best = call(solver.better, now.best, now.now)
        return now._replace(best=best), call(left_over, best.residual, effort.tolerance)

    return recorder.repeat(once_more, Iterate(x, first, first, 0.0, 0.0), effort.rounds).best


class _Passes(NamedTuple):
    """What a pass over a problem does."""

    recorder: Any
    problem: Problem
    blocks: tuple[Block, ...]
    scale: Scaled
    sweeps: int

    def leapt(self, at: Iterate) -> tuple[Iterate, Any]:
        """A Newton step, and whether (1 or 0) these lead nowhere."""
        call = self.recorder.call
        by = call(solver.proximal, self.scale, self.blocks, at.best, at.course)
        y = call(solver.newton, self.problem, self.scale, self.blocks, at.now.impulse, by)
        leap = call(solver.measured, self.problem, self.scale, self.blocks, y)
        tries, course, stuck = call(solver.progress, at.best, leap, at.tries, at.course)
        return at._replace(now=leap, tries=tries, course=course), stuck

    def swept(self, at: Iterate, stuck: Any) -> Iterate:
        """Sweeps of the samples that are `stuck`, from where sweeps ended last: nothing is done where no sample is."""
        call = self.recorder.call

        def again(state: tuple[Vec, Solution]) -> tuple[tuple[Vec, Solution], Any]:
            x = state[0]
            for _ in range(self.sweeps):
                x = call(solver.sweep, self.problem, self.scale, self.blocks, x)
            return (x, call(solver.measured, self.problem, self.scale, self.blocks, x)), 0.0

        swept, now = self.recorder.repeat(again, (at.swept, at.now), 1, stuck)
        return at._replace(swept=swept, now=now)
