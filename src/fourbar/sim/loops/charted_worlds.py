"""Worlds with loops that are solved while moving: the velocities in which each of them is followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...compile.rollout_loop import DIVERGED, RUNNING
from ...functions.rollout import ALWAYS
from ...system.system import System
from .chart_table import Chart, ChartedSamples, ChartTable
from .charted_run import AskedSteps, ChartedRun


class ChartedWorlds:
    """The charts of n worlds. The caller has q (n, nq) and v (n, nv), the robot's own velocities; of worlds that are
    `away`, followed in other velocities, the latter are kept here, with the state that was shown for them.

    `chart_of(now, acting)` makes the chart of a robot in some velocities, with the controls that act; `numbers` gives
    those of all worlds, by name.
    """

    def __init__(
        self, robot: System, chart_of: Callable[[System, Any], Chart], which: Any, q: np.ndarray, v: np.ndarray,
        numbers: Callable[[], dict[str, np.ndarray]],
    ) -> None:  # fmt: skip
        self._robot, self._chart_of, self._which, self._read = robot, chart_of, which, numbers
        self._tables: dict[Any, ChartTable] = {}
        self._home = self._table(())
        state, n = {"q": q.copy(), "v": v.copy()}, len(q)
        self.samples = ChartedSamples.at_start(state, np.full(n, float(RUNNING)), self._home.home.reference_size)
        self._shown = (q.copy(), v.copy())
        self.any_away = False
        self.begin(np.arange(n), q, v)

    def _table(self, acting: Any) -> ChartTable:
        """The charts with the controls that act: all tables have the same velocities in the same order."""
        if acting not in self._tables:
            self._tables[acting] = ChartTable(self._robot, lambda now: self._chart_of(now, acting), self._which)
        table = self._tables[acting]
        for chart in self._tables[()].charts[len(table.charts) :]:
            table.number(chart.now)
        return table

    def begin(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Some worlds begin anew."""
        s = self._update_numbers()
        s.chart[worlds], s.stuck[worlds] = 0, np.inf
        s.state["q"][worlds], s.state["v"][worlds] = q[worlds], v[worlds]
        self._home.begin(s, worlds)
        self._note(worlds, q, v[worlds])

    def _update_numbers(self) -> ChartedSamples:
        """The samples with the parameters that loops have now."""
        if self._home.which:
            known = self._read()
            self.samples = self.samples._replace(numbers=tuple(known[x.name] for x in self._home.which))
        return self.samples

    def _note(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Note the states that users see of some worlds, v (m, nv), and whether any is followed in other velocities."""
        self._shown[0][worlds], self._shown[1][worlds] = q[worlds], v
        self.any_away = bool(self.samples.chart.any())

    def come_back(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Begin anew with those of some worlds that are away and were given other states meanwhile."""
        if not self.any_away:
            return
        away = worlds[self.samples.chart[worlds] > 0]
        same = [(x[away] == own[away]).all(axis=-1) for x, own in zip((q, v), self._shown, strict=True)]
        if not (same[0] & same[1]).all():
            self.begin(away[~(same[0] & same[1])], q, v)

    def advance(
        self, acting: Any, worlds: np.ndarray, state: dict[str, np.ndarray], numbers: dict[str, np.ndarray],
        controls: Sequence[np.ndarray], records: Mapping[str, np.ndarray], steps: int, threads: int | None,
        fate: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Steps of some worlds (m), after which `state` (m, ...) is that at their end, with the robot's own velocities;
        which of them have diverged. `fate` are status and steps made (m) of worlds that have begun with these steps in
        the robot's own velocities, and which may need others to go on.
        """
        s, table, m = self._update_numbers(), self._table(acting), len(worlds)
        usual, chart, stuck = (x[worlds] for x in (s.usual, s.chart, s.stuck))
        state["v"] = np.where(chart[:, None] > 0, s.state["v"][worlds], state["v"])
        status, made = (np.full(m, float(RUNNING)), np.zeros(m)) if fate is None else fate
        some = ChartedSamples(state, usual, chart, stuck, status, made, 0, tuple(x[worlds] for x in s.numbers))
        run = ChartedRun.of(table, some, numbers, separated=False)
        asked = AskedSteps(steps, controls, records, ALWAYS, steps, threads)
        if fate is None:
            run.advance(steps, controls, records, hold=asked.hold, every=steps, threads=threads)
        else:
            run.go_on(asked)
        for chart_of_table in table.charts[len(self._home.charts) :]:
            self._home.number(chart_of_table.now)
        now = run.now
        s.usual[worlds], s.chart[worlds], s.stuck[worlds] = now.usual, now.chart, now.stuck
        s.state["q"][worlds], s.state["v"][worlds] = now.state["q"], now.state["v"]
        state |= now.state | {"v": table.robot_velocities(now)}
        self._shown[0][worlds], self._shown[1][worlds] = state["q"], state["v"]
        self.any_away = bool(s.chart.any())
        return now.status == DIVERGED
