"""Worlds with loops that are solved while moving: the velocities in which each of them is followed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING, STOPPED
from ..contact.step_rollout import Taken
from .chart_table import ChartedSamples, ChartTable

if TYPE_CHECKING:
    from .scene import Scene


class LoopedWorlds:
    """The charts of n worlds. The caller has q (n, nq) and v (n, nv), the robot's own velocities; of worlds that are
    `away`, followed in other velocities, the latter are kept here, with the state that was shown for them.
    """

    def __init__(self, scene: Scene, taken: Taken, q: np.ndarray, v: np.ndarray) -> None:
        self.table = ChartTable(scene.robot, partial(scene.chart, taken))
        self.loops, n = self.table.home.loops, len(q)
        state = {"q": q.copy(), "v": v.copy()}
        self.samples = ChartedSamples.at_start(state, np.full(n, float(RUNNING)), self.table.home.watched)
        self._shown = (q.copy(), v.copy())
        self.any_away = False
        if self.loops:
            self.begin(np.arange(n), q, v)

    def begin(self, worlds: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Some worlds begin anew."""
        s = self.samples
        s.chart[worlds], s.stuck[worlds] = 0, np.inf
        s.state["q"][worlds], s.state["v"][worlds] = q[worlds], v[worlds]
        self.table.begin(s, worlds)
        self._note(worlds, q, v[worlds])

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
        s = self.samples
        if w is not None:
            s.state["v"][worlds] = w
        some = s._replace(state={"q": q[worlds], "v": s.state["v"][worlds]}, chart=s.chart[worlds])
        v = self.table.robot_velocities(some)
        self._note(worlds, q, v)
        return v

    def can_go_on(self, worlds: np.ndarray, status: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Which of some worlds (m) can go on after they stopped, or diverged, in other velocities or as before."""
        s = self.samples
        home = worlds[s.chart[worlds] == 0]
        s.state["v"][home] = v[home]
        s.state["q"][worlds] = q[worlds]
        stopped, diverged = status == STOPPED, np.flatnonzero(status == DIVERGED)
        if stopped.any():
            self.table.look_again(s, worlds[stopped])
        if len(diverged):
            stopped[diverged] = self.table.meet_folds(s, worlds[diverged])
            diverged = diverged[~stopped[diverged]]
            stopped[diverged] = self.table.examine(s, worlds[diverged], 1.0)
        return stopped
