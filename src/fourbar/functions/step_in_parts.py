"""Steps that are made in parts where a whole one gives no state, as with loops near a singular position.

A part that gives no state is halved until it does, but not below a shortest length that each sample has; the rest of
the step follows in parts of the length that was found. Where the shortest part does not lead on either, or a loop
should be examined before the end, the step gives no state. Controls are held for all parts, and what is reported is
that of the whole step: the gaps at its start, the largest residuals, mean forces, and the state at its end. A traced
control that is asked for in every step is asked for in every part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..expr import maximum, select
from ..spatial.linear import Scalar, Vec, dot

COUNTS = ("count",)  # of the steps since the start
PART = "part"  # what the fraction of a step that is recorded is called among what it is given
PHASES = ("since",)  # of the steps since controls were asked for
FIRST, LARGEST, MEAN = ("gap",), ("residual", "residuals"), ("force", "kept")  # reports; others are those of the end
FINEST = 2.0**-6  # the shortest part of any step, as a fraction of it
PASSES = 2 * round(1.0 / FINEST)  # parts, and attempts at longer ones
Names = tuple[str, ...]
Write = Callable[[Any, dict[str, tuple[Any, ...]]], Mapping[str, Sequence[Any]]]


class StepProgress(NamedTuple):
    """A step under way: the fraction of it that is done, and that of the next part; the state, and what is reported so
    far, by name; above zero where a loop should be examined.
    """

    done: Any
    part: Any
    state: tuple[Vec, ...]
    reports: tuple[Vec, ...]
    stop: Any


class StepInParts(NamedTuple):
    """A step that `write` records as a whole, with the names of its state and the shapes of its reports.

    The last of the numbers `usual` is the length of the shortest part, as a fraction of the step: one where it is to be
    made as a whole.
    """

    whole: Write
    state: Names
    reports: Mapping[str, tuple[int, ...]]

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        """Record it."""
        call, (dt,), shortest = recorder.call, given["dt"], given["usual"][-1]
        state, names = self.state, tuple(self.reports)
        blank = tuple(Vec([0.0] * math.prod(shape)) for shape in self.reports.values())

        def body(now: StepProgress) -> tuple[StepProgress, Any]:
            length, before = call(_begin, state, now, dt)
            entries = {name: tuple(x) for name, x in zip(state, before, strict=True)}
            found = self.whole(recorder, {**given, **entries, "dt": (length,), PART: (now.part,)})
            after, reported = (tuple(Vec(found[name]) for name in some) for some in (state, names))
            return call(_end, state, names, now, (after, reported, found["stop"][0]), shortest)

        start = StepProgress(0.0, 1.0, tuple(Vec(given[name]) for name in state), blank, -1.0)
        end = recorder.repeat(body, start, PASSES)
        results = zip(state, call(_result, state, end), strict=True)
        return {**dict(results), **dict(zip(names, end.reports, strict=True)), "stop": (end.stop,)}


def _begin(names: Names, now: StepProgress, dt: Scalar) -> tuple[Scalar, tuple[Vec, ...]]:
    """The length of the next part, and the state before it."""

    def begin(name: str, x: Scalar) -> Scalar:
        if name in COUNTS:
            return (x + now.done) * (1.0 / now.part)
        if name in PHASES:
            return select(now.done > 0.0, 1.0, x)
        return x * now.part if name == "impulse" else x

    state = [Vec([begin(name, x) for x in own]) for name, own in zip(names, now.state, strict=True)]
    return dt * now.part, tuple(state)


def _end(
    state: Names, reports: Names, now: StepProgress, found: tuple[tuple[Vec, ...], tuple[Vec, ...], Scalar],
    shortest: Scalar,
) -> tuple[StepProgress, Scalar]:  # fmt: skip
    """The step after an attempt at a part, and above zero where there are more."""
    after, reported, stop = found
    square: Scalar = 0.0
    for own in after:
        square = square + dot(own, own)
    valid, is_first = square < float("inf"), now.done <= 0.0
    before = dict(zip(state, now.state, strict=True))

    def keep(name: str, old: Scalar, new: Scalar) -> Scalar:
        if name in COUNTS:
            return old
        if name in PHASES:
            new = select(is_first, new, old)
        elif name == "impulse":
            new = new * (1.0 / now.part)
        elif name == "late":
            new = select(old < 0.0, select(new < 0.0, new, before["count"][0]), new)
        return select(valid, new, old)

    def report(name: str, old: Scalar, new: Scalar) -> Scalar:
        if name in MEAN:
            share = new * now.part
            new = select(is_first, share, old + share)
        elif name in FIRST:
            new = select(is_first, new, old)
        elif name in LARGEST:
            new = select(is_first, new, maximum(old, new))
        return select(valid, new, old)

    def each(names: Names, rule: Callable[..., Scalar], old: tuple[Vec, ...], new: tuple[Vec, ...]) -> tuple[Vec, ...]:
        both = zip(names, old, new, strict=True)
        return tuple(Vec([rule(name, x, y) for x, y in zip(a, b, strict=True)]) for name, a, b in both)

    done = select(valid, now.done + now.part, now.done)
    part = select(valid, now.part, 0.5 * now.part)
    stop = select(valid, maximum(now.stop, stop), now.stop)
    left = select(part < shortest, 0.0, select(stop > 0.0, 0.0, 1.0 - done))
    kept_state, kept_reports = each(state, keep, now.state, after), each(reports, report, now.reports, reported)
    return StepProgress(done, part, kept_state, kept_reports, stop), left


def _result(names: Names, end: StepProgress) -> tuple[Vec, ...]:
    """The state after a step; NaN where it has none."""
    made = end.done >= 1.0

    def result(name: str, x: Scalar) -> Scalar:
        return select(made, x + 1.0 if name in COUNTS else x, float("nan"))

    return tuple(Vec([result(name, x) for x in own]) for name, own in zip(names, end.state, strict=True))
