"""Samples under way whose loops may be followed in other velocities than the robot's own, each independently.

All samples advance together. Where the independent velocities of a loop become ill-conditioned, the samples concerned
stop (`ChartedTree.growth`), are switched to other velocities, and catch up with the others. A sample that diverges is
tried in other velocities first, and then in shorter steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...compile.rollout_loop import DIVERGED, RUNNING, STOPPED
from ...functions.rollout import ALWAYS, RolloutRun, as_samples
from ...functions.varied_context import argument_names
from ...system.system import System
from .chart_table import Chart, ChartedSamples, ChartTable
from .charts import ANY, FAIR
from .folds import leapt_well
from .varied_loops import Which

_LEAP = 0  # in place of the number of parts: a step that leaps over a fold


class AskedSteps(NamedTuple):
    """Steps up to number `end`: controls (n, rows, size), a row for `hold` steps; records (n, rows, ...) by name."""

    end: int
    controls: Sequence[np.ndarray]
    records: Mapping[str, np.ndarray]
    hold: int
    every: int
    threads: int | None


class ChartedRun:
    """Samples under way, to be used as a `RolloutRun` is. `now` is replaced as a whole when a part of the motion is
    done: what interrupts it leaves `now` as it was before.

    `chart_of` makes the chart of a robot with some independent velocities, and may refuse one with an error of its own.
    `which` are the parameters among the numbers, which have the names of arguments.
    """

    def __init__(
        self,
        robot: System,
        chart_of: Callable[[System], Chart],
        state: Mapping[str, Any],
        numbers: Mapping[str, Any],
        batch: tuple[int, ...] = (),
        caller: str = "",
        which: Which = (),
    ) -> None:
        table = ChartTable(robot, chart_of, which)
        home = table.home
        step, loops = home.rollout.step, home.loops
        shapes = {**step.state, **{name: x for name, x in step.numbers.items() if name != "usual"}}
        batch, flat = as_samples(caller or step.name, shapes, {**state, **numbers}, batch)
        start = {name: flat[name] for name in step.state}
        n = len(start["q"])
        is_lost = ~(np.isfinite(start["q"]).all(axis=-1) & np.isfinite(start["v"]).all(axis=-1))
        status = np.where(is_lost, float(DIVERGED), float(RUNNING))
        called = dict(zip(which, argument_names(which), strict=True))
        s = ChartedSamples.at_start(start, status, home.reference_size, [flat[called[x]] for x in table.which])
        if loops:
            s = s.copies()
            table.begin(s, np.flatnonzero(~is_lost))
        self._begin(table, s, {name: flat[name] for name in shapes if name not in step.state}, batch)
        self._layout = home.rollout.start(*self._inputs(self.now, slice(None), home), (n,))
        self._layout.now = self._layout.now._replace(status=status)
        self._motion = None if self.now.chart.any() else self._layout

    def _begin(
        self, table: ChartTable, s: ChartedSamples, numbers: dict[str, np.ndarray], batch: tuple[int, ...],
        separated: bool = True,
    ) -> None:  # fmt: skip
        """Begin with samples in any chart, and with numbers (n, *shape) by name, of which all that follows from them
        alone is computed once if they are `separated`.
        """
        self._separated, self.divides = separated, True
        self.table, self.now, self._numbers, self.batch, self.n = table, s, numbers, batch, len(s.status)
        self.lost_at_start = s.status == DIVERGED
        self.retried = np.full(self.n, -1.0)  # the step of each sample that was tried in other velocities
        self.given_up = np.full(self.n, -1.0)  # and the one that has no state
        self._motion: RolloutRun | None = None  # of all samples together

    @classmethod
    def of(
        cls, table: ChartTable, s: ChartedSamples, numbers: dict[str, np.ndarray], separated: bool = True
    ) -> ChartedRun:
        """Samples in any chart, with numbers (n, *shape) by name, which record what they are given rows for."""
        run = cls.__new__(cls)
        run._begin(table, s, numbers, (len(s.status),), separated)
        return run

    def go_on(self, asked: AskedSteps) -> None:
        """Let samples that have stopped, or diverged, in steps that were made elsewhere, make those that are left."""
        self.lost_at_start = np.zeros(self.n, bool)
        self.now = self._switch_velocities(self.now, asked)

    @property
    def meets_folds(self) -> bool:
        """Whether steps follow branches near folds."""
        home = self.table.home
        return home.reference_size > len(home.loops)

    def stuck_since(self, dt: float) -> np.ndarray | None:
        """When samples (...) came so near to a singular position of a loop that no step is short enough (s), infinite
        if never; None if no folds are looked for.
        """
        return (self.now.stuck * dt).reshape(self.batch) if self.meets_folds else None

    # As a `RolloutRun`.

    @property
    def several(self) -> int:
        """Steps that take some milliseconds."""
        return self.table.home.rollout.several(self.n)

    @property
    def state_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The core shapes of the parts of the state, by name."""
        return self._layout.state_shapes

    @property
    def record_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The core shapes of all that can be recorded, by name."""
        return self._layout.record_shapes

    @property
    def control_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The core shapes of the controls that are given, by name."""
        return self._layout.control_shapes

    def rows(self, controls: Mapping[str, np.ndarray], least: int) -> list[np.ndarray]:
        """Controls (..., rows, *shape) as (n, rows, *shape), in the order of the step; at least `least` rows."""
        shapes = self.control_shapes
        core = {name: x.shape[-1 - len(shapes[name]) :] for name, x in controls.items()}
        wide = {name: np.broadcast_to(x, (*self.batch, *core[name])) for name, x in controls.items()}
        flat = {name: x.reshape(self.n, *core[name]) for name, x in wide.items()}
        return self._layout.rows(flat, least)

    def part(self, name: str) -> np.ndarray:
        """A part of the state of every sample; velocities are the robot's own."""
        s = self.now
        found = self.table.robot_velocities(s) if name == "v" else s.state[name]
        return found.reshape((*self.batch, *found.shape[1:]))

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The state of every sample, by name; velocities are the robot's own."""
        return {name: self.part(name) for name in self.now.state}

    # Advancing.

    def advance(
        self,
        steps: int,
        controls: Sequence[np.ndarray] = (),
        records: Mapping[str, np.ndarray] | None = None,
        *,
        hold: int = 1,
        every: int = 1,
        threads: int | None = None,
    ) -> None:
        """Make some steps; see `RolloutRun.advance`."""
        s, end = self.now, self.now.steps + steps
        asked = AskedSteps(end, controls, records or {}, hold, every, threads)
        going = np.unique(s.chart) if len(self.table.charts) > 1 else [0]
        if len(going) == 1:
            s = self._together(s, int(going[0]), asked)
        else:
            s = s.copies()
            for k in going:
                self.catch_up(s, int(k), np.flatnonzero((s.chart == k) & (s.status == RUNNING)), asked)
        s = self._switch_velocities(s, asked)
        self.now = s._replace(steps=end)

    def _inputs(self, s: ChartedSamples, ids: Any, chart: Chart) -> tuple[dict[str, Any], dict[str, Any]]:
        """States and numbers of some samples."""
        numbers = {name: x[ids] for name, x in self._numbers.items()}
        return {name: x[ids] for name, x in s.state.items()}, numbers | ({"usual": s.usual[ids]} if chart.loops else {})

    def _together(self, s: ChartedSamples, k: int, asked: AskedSteps) -> ChartedSamples:
        """All samples in one chart: they stay in place, and records go where they belong."""
        motion = self._motion
        if motion is None or motion.now.steps != s.steps:  # which an interrupt has left behind
            chart = self.table.charts[k]
            motion = chart.rollout.start(*self._inputs(s, slice(None), chart), (self.n,), separated=self._separated)
            motion.now = motion.now._replace(status=s.status, made=s.made, steps=s.steps)
            self._motion = motion
        motion.advance(asked.end - s.steps, asked.controls, asked.records, hold=asked.hold, every=asked.every,
                       threads=asked.threads)  # fmt: skip
        after = s._replace(state=motion.state, status=motion.now.status, made=motion.now.made)
        if k:
            self._record_own_velocities(k, s.made, after.made, asked)
        return after

    def start_anew(self) -> None:
        """Forget where the motion of all samples together is, as some of them have been moved apart from it."""
        self._motion = None

    def _record_own_velocities(self, k: int, before: np.ndarray, after: np.ndarray, asked: AskedSteps) -> None:
        """Turn recorded velocities of a chart into the robot's own, in the records of all samples of these steps."""
        which, row = fresh_records(before, after, asked.every)
        if "v" in asked.records and len(which):
            q, v = asked.records["q"], asked.records["v"]
            v[which, row] = self.table.at(k, self.now, which).to_robot_velocities(q[which, row], v[which, row])

    def catch_up(self, s: ChartedSamples, k: int, ids: np.ndarray, asked: AskedSteps) -> None:
        """Some samples in one chart, which may have come to different steps, reach the end of the steps asked for."""
        if not len(ids):
            return
        chart, behind = self.table.charts[k], s.made[ids].copy()
        motion = chart.rollout.start(*self._inputs(s, ids, chart), (len(ids),), behind, separated=self._separated)
        first = motion.now.steps // asked.every
        rows = asked.end // asked.every - first
        into = {name: np.empty((len(ids), rows, *x.shape[2:])) for name, x in asked.records.items()}
        motion.advance(asked.end - motion.now.steps, [x[ids] for x in asked.controls], into, hold=asked.hold,
                       every=asked.every, first_record=first, threads=asked.threads)  # fmt: skip
        for name, values in motion.state.items():
            s.state[name][ids] = values
        s.status[ids], s.made[ids] = motion.now.status, motion.now.made
        which, row = fresh_records(behind, motion.now.made, asked.every)
        fresh = {name: x[which, row - first] for name, x in into.items()}
        if k and len(which) and "v" in fresh:
            fresh["v"] = self.table.at(k, s, ids[which]).to_robot_velocities(fresh["q"], fresh["v"])
        for name, values in asked.records.items():
            values[ids[which], row] = fresh[name]

    def _switch_velocities(self, s: ChartedSamples, asked: AskedSteps) -> ChartedSamples:
        """The samples after those that stopped, or diverged, have been given other velocities and caught up."""
        while self.table.home.loops:
            stopped = s.status == STOPPED
            failed = (s.status == DIVERGED) & ~self.lost_at_start & (self.given_up != s.made)
            if not (stopped | failed).any():
                return s
            s = s.copies()
            self.start_anew()
            self.table.look_again(s, np.flatnonzero(stopped))
            s.status[stopped] = RUNNING
            ids = np.flatnonzero(failed)
            s.status[ids[self.table.meet_folds(s, ids)]] = RUNNING
            ids = np.flatnonzero(failed & (s.status == DIVERGED))
            s.status[ids[self.table.examine(s, ids, FAIR)]] = RUNNING
            if self.divides:
                self._make_in_parts(s, np.flatnonzero(failed & (s.status == DIVERGED)), asked)
            ids = np.flatnonzero(failed & (s.status == DIVERGED) & (self.retried != s.made))
            self.retried[ids] = s.made[ids]
            s.status[ids[self.table.examine(s, ids, ANY)]] = RUNNING
            lost = failed & (s.status == DIVERGED)
            self.given_up[lost] = s.made[lost]
            late = (stopped | failed) & (s.status == RUNNING) & (s.made < asked.end)
            for k in np.unique(s.chart[late]):
                self.catch_up(s, int(k), np.flatnonzero(late & (s.chart == k)), asked)
        return s

    def _make_in_parts(self, s: ChartedSamples, ids: np.ndarray, asked: AskedSteps) -> None:
        """Make a step of some samples, which gave no state, in parts, if loops are the reason."""
        if not len(ids):
            return
        rows = (s.made[ids] // asked.hold).astype(int)
        held = [x[ids, np.minimum(rows, x.shape[1] - 1)][:, None] for x in asked.controls]
        shapes = {name: x.shape[2:] for name, x in asked.records.items()}
        valid, reports = self.step_in_parts(s, ids, held, shapes, asked.threads)
        due = valid & (s.made[ids] % asked.every == 0)
        for name, x in asked.records.items():
            x[ids[due], (s.made[ids[due]] // asked.every - 1).astype(int)] = reports[name][due]

    def step_in_parts(
        self, s: ChartedSamples, ids: np.ndarray, controls: Sequence[np.ndarray],
        shapes: Mapping[str, tuple[int, ...]], threads: int | None,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:  # fmt: skip
        """Make a step of some samples (m), which gave no state, in parts under controls (m, 1, size): which of them
        made it, and their records (m, *shape) by name. Some may try the whole step again.
        """
        counts = self.table.parts(s, ids, self._numbers["dt"][ids])
        s.status[ids[counts == 1]] = RUNNING
        valid = np.zeros(len(ids), bool)
        reports = {name: np.empty((len(ids), *shape)) for name, shape in shapes.items()}
        for count in [_LEAP, *np.unique(np.abs(counts[np.abs(counts) > 1])).tolist()]:
            members = np.flatnonzero(counts < 0 if count == _LEAP else (np.abs(counts) == count) & ~valid)
            if not len(members):
                continue
            make = self._leap if count == _LEAP else partial(self._parts_of, count=count)
            part, recorded = make(s, ids[members], [x[members] for x in controls], shapes, threads)
            made = np.flatnonzero(part.status == RUNNING)
            valid[members[made]] = True
            s.take(ids[members[made]], part, made)
            for name, x in recorded.items():
                reports[name][members] = report_parts(name, x)
        self.table.end_parts(s, ids[valid])
        return valid, reports

    def _leap(
        self, s: ChartedSamples, ids: np.ndarray, controls: list[np.ndarray], shapes: Mapping[str, tuple[int, ...]],
        threads: int | None,
    ) -> tuple[ChartedSamples, dict[str, np.ndarray]]:  # fmt: skip
        """Some samples (m) after a step that leaps over a fold in two halves, and what was recorded (m, 2, *shape) of
        these. They have diverged unless a whole step leads to the same.
        """
        before = s.usual[ids]
        for k in np.unique(s.chart[ids]):
            members, first = ids[s.chart[ids] == k], len(self.table.charts[k].loops)
            s.usual[members, first:] = self.table.charts[k].folds.leap(s.usual[members, first:])
        whole, _ = self._parts_of(s, ids, controls, shapes, threads, 1, divides=False)
        halves, recorded = self._parts_of(s, ids, controls, shapes, threads, 2, divides=False)
        s.usual[ids] = before
        good = (whole.status == RUNNING) & (halves.status == RUNNING) & (whole.chart == halves.chart)
        good &= np.isinf(whole.stuck) & np.isinf(halves.stuck)
        for k in np.unique(halves.chart[good]):
            members = np.flatnonzero(good & (halves.chart == k))
            ends = [(x.state["q"][members], x.state["v"][members]) for x in (whole, halves)]
            good[members] = leapt_well(self.table.charts[k].now, s.state["q"][ids[members]], *ends)
        return halves._replace(status=np.where(good, float(RUNNING), float(DIVERGED))), recorded

    def _parts_of(
        self, s: ChartedSamples, ids: np.ndarray, controls: list[np.ndarray],
        shapes: Mapping[str, tuple[int, ...]], threads: int | None, count: int, divides: bool = True,
    ) -> tuple[ChartedSamples, dict[str, np.ndarray]]:  # fmt: skip
        """Some samples (m) after a step in `count` parts, and what was recorded (m, count, *shape) of the parts, which
        may have parts again if it `divides`.
        """
        before = {name: x[ids] for name, x in s.state.items()}
        numbers = {name: x[ids] / count if name == "dt" else x[ids] for name, x in self._numbers.items()}
        run = ChartedRun.of(self.table, s.begin_parts(ids, begin_parts(before, count)), numbers, self._separated)
        run.divides = divides
        into = {name: np.empty((len(ids), count, *shape)) for name, shape in shapes.items()}
        actuators = self.table.robot.mechanism.actuators
        waiting = slice(sum(x.dynamics is not None for x in actuators), None)
        singly = asks_in_periods(before) or any(x.delay for x in actuators)
        first, steps = before, 1 if singly else count
        for k in range(0, count, steps):
            if k:
                run.now = run.now._replace(state=hold_parts(before, run.now.state, waiting))
                run.start_anew()
            run.advance(steps, controls, into, hold=ALWAYS, threads=threads)
            first = first if k else run.now.state
        return run.now._replace(state=end_parts(before, first, run.now.state, count, waiting)), into


def fresh_records(before: np.ndarray, after: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples and rows of the records of steps that samples (n) made, from `before` steps to `after`."""
    first, last = int(before.min(initial=np.inf)) // every, int(after.max(initial=0)) // every
    row = np.arange(first, last)
    at = (row[None] + 1) * every
    which, column = np.nonzero((at > before[:, None]) & (at <= after[:, None]))
    return which, row[column]


# Steps that are made in parts, where loops are so near to a singular position that a whole step moves too far: controls
# are held for all parts, and what is reported is that of the whole step: the gaps at its start, the largest residuals,
# mean forces, and the state at its end. A traced control that is asked for in every step is asked for in every part.

State = dict[str, np.ndarray]
_COUNTS = ("count",)  # of the steps since the start
_PHASES = ("since",)  # of the steps since controls were asked for
_FIRST, _LARGEST, _MEAN = ("gap",), ("residual", "residuals"), ("force", "kept")


def begin_parts(state: Mapping[str, np.ndarray], count: int) -> State:
    """The state (n, ...) by name at the start of the parts of a step."""
    started = dict(state)
    for name in _COUNTS:
        if name in started:
            started[name] = started[name] * count
    if "impulse" in started:
        started["impulse"] = started["impulse"] / count
    return started


def asks_in_periods(state: Mapping[str, np.ndarray]) -> bool:
    """Whether traced controls are asked for once in several steps."""
    return any(name in state for name in _PHASES)


def hold_parts(before: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray], waiting: slice) -> State:
    """The state before a later part, in which traced controls are held, and those `waiting` in `act` wait again."""
    held = {name: np.ones_like(x) if name in _PHASES else x for name, x in state.items()}
    return held | _with_waiting(state, before, waiting)


def _with_waiting(state: Mapping[str, np.ndarray], of: Mapping[str, np.ndarray], waiting: slice) -> State:
    """The state of actuators with the controls that wait in another one."""
    if "act" not in state:
        return {}
    act = state["act"].copy()
    act[:, waiting] = of["act"][:, waiting]
    return {"act": act}


def end_parts(
    before: Mapping[str, np.ndarray], first: Mapping[str, np.ndarray], last: State, count: int, waiting: slice
) -> State:
    """The state after a step, of those `before` it, after the `first` of its parts and after the `last`."""
    after = dict(last) | _with_waiting(last, first, waiting)
    for name in _COUNTS:
        if name in after:
            after[name] = before[name] + 1.0
    for name in _PHASES:
        if name in after:
            after[name] = first[name]
    if "late" in after:
        is_new = (before["late"] < 0.0) & (after["late"] >= 0.0)
        after["late"] = np.where(is_new, before["count"], after["late"])
    if "impulse" in after:
        after["impulse"] = after["impulse"] * count
    return after


def report_parts(name: str, parts: np.ndarray) -> np.ndarray:
    """The record (n, ...) of a step, from those of its parts (n, count, ...)."""
    if name in _FIRST:
        return parts[:, 0]
    if name in _LARGEST:
        return parts.max(axis=1)
    return parts.mean(axis=1) if name in _MEAN else parts[:, -1]
