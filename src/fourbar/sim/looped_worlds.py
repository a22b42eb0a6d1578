"""Worlds with loops that are solved while moving: the velocities in which each of them is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING, STOPPED
from ..contact.step_rollout import Taken
from .loops.chart_table import ChartedSamples, ChartTable
from .loops.charted_run import ChartedRun
from .loops.charts import ANY, FAIR

if TYPE_CHECKING:
    from .scene import Scene


class GivenToParts(NamedTuple):
    """What m worlds are given for a step in parts: controls (m, 1, size), numbers (m, *shape) by name; and the shapes
    of what they report, by name.
    """

    controls: Sequence[np.ndarray]
    numbers: dict[str, np.ndarray]
    shapes: dict[str, tuple[int, ...]]
    threads: int | None


class LoopedWorlds:
    """The charts of n worlds. The caller has q (n, nq) and v (n, nv), the robot's own velocities; of worlds that are
    `away`, followed in other velocities, the latter are kept here, with the state that was shown for them.
    """

    def __init__(
        self, scene: Scene, taken: Taken, q: np.ndarray, v: np.ndarray, numbers: Callable[[], dict[str, np.ndarray]]
    ) -> None:
        self._scene = scene
        self.table = ChartTable(scene.robot, partial(scene.chart, taken), taken.which)
        self._read = numbers  # those of all worlds by name, now
        self.loops, n = self.table.home.loops, len(q)
        state = {"q": q.copy(), "v": v.copy()}
        self.samples = ChartedSamples.at_start(state, np.full(n, float(RUNNING)), self.table.home.watched)
        self._shown = (q.copy(), v.copy())
        self.any_away = False
        if self.loops:
            self.begin(np.arange(n), q, v)

    def begin(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Some worlds begin anew."""
        s = self._looked_at()
        s.chart[worlds], s.stuck[worlds] = 0, np.inf
        s.state["q"][worlds], s.state["v"][worlds] = q[worlds], v[worlds]
        self.table.begin(s, worlds)
        self._note(worlds, q, v[worlds])

    def _looked_at(self) -> ChartedSamples:
        """The samples with the parameters that loops have now."""
        if self.table.which:
            known = self._read()
            self.samples = self.samples._replace(numbers=tuple(known[x.name] for x in self.table.which))
        return self.samples

    def _note(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Note what is shown of some worlds, v (m, nv), and whether any is followed in other velocities."""
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

    def followed_velocities(self, worlds: np.ndarray) -> np.ndarray:
        """The velocities (m, nv) in which some worlds are followed."""
        return self.samples.state["v"][worlds]

    def show(self, worlds: np.ndarray, q: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
        """The robot's own velocities (m, nv) of some worlds, of the velocities w that are followed, if these are
        given, else of those that are kept.
        """
        s = self._looked_at()
        if w is not None:
            s.state["v"][worlds] = w
        some = s._replace(state={"q": q[worlds], "v": s.state["v"][worlds]}, chart=s.chart[worlds])
        some = some._replace(numbers=tuple(x[worlds] for x in s.numbers))
        v = self.table.robot_velocities(some)
        self._note(worlds, q, v)
        return v

    def step_in_parts(
        self, taken: Taken, worlds: np.ndarray, state: dict[str, np.ndarray], given: GivenToParts
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Make a step of some worlds (m), which gave no state, in parts. Which of them have made it, which may try the
        whole step again, and what is reported (m, *shape) by name; `state` (m, ...) becomes that after the step.
        """
        s, table = self._looked_at(), ChartTable(self.table.robot, partial(self._scene.chart, taken), taken.which)
        for chart in self.table.charts[1:]:
            table.number(chart.now)
        usual, chart, stuck = (x[worlds].copy() for x in (s.usual, s.chart, s.stuck))
        m = len(worlds)
        state["v"] = np.where(chart[:, None] > 0, s.state["v"][worlds], state["v"])
        some = ChartedSamples(state, usual, chart, stuck, np.full(m, float(DIVERGED)), np.zeros(m), 0)
        some = some._replace(numbers=tuple(x[worlds] for x in s.numbers))
        run = ChartedRun.of(table, some, given.numbers)
        valid, reports = run.step_in_parts(some, np.arange(m), given.controls, given.shapes, given.threads)
        for other in table.charts[len(self.table.charts) :]:
            self.table.number(other.now)
        s.usual[worlds], s.chart[worlds], s.stuck[worlds] = some.usual, some.chart, some.stuck
        s.state["q"][worlds], s.state["v"][worlds] = state["q"], state["v"]
        return valid, (some.status == RUNNING) & ~valid, reports

    def can_go_on(self, worlds: np.ndarray, status: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Which of some worlds (m) can go on after they stopped, or diverged, in other velocities or as before."""
        s = self._looked_at()
        home = worlds[s.chart[worlds] == 0]
        s.state["v"][home] = v[home]
        s.state["q"][worlds] = q[worlds]
        stopped, diverged = status == STOPPED, np.flatnonzero(status == DIVERGED)
        if stopped.any():
            self.table.look_again(s, worlds[stopped])
        if len(diverged):
            stopped[diverged] = self.table.meet_folds(s, worlds[diverged])
            diverged = diverged[~stopped[diverged]]
            stopped[diverged] = self.table.examine(s, worlds[diverged], FAIR)
        return stopped

    def try_other_velocities(self, worlds: np.ndarray) -> np.ndarray:
        """Which of some worlds (m), whose step gave no state, may make it in other velocities that are any better."""
        return self.table.examine(self.samples, worlds, ANY)
