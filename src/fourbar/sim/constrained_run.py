"""Samples of a robot with constraints that forces keep, in machine code.

A step in which the rows that stand for all no longer do so, as where a linkage folds flat, is repeated for the samples
concerned by `ConstrainedFollower`, which solves by singular values; then they catch up with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING
from ..functions.varied_context import argument_names
from ..system.constrained.robot import Constrained
from ..system.system import System
from .constrained import follower_of
from .controlled_motion import MotionControls, force_of_controls
from .loops.chart_table import Chart, ChartedSamples
from .loops.charted_run import AskedSteps, ChartedRun
from .runge_kutta import SimulatedState, diverged
from .runge_kutta_step import ForceLaw


class ConstrainedRun(ChartedRun):
    """Samples under way of a robot with constraints."""

    def __init__(
        self, held: Constrained, chart_of: Callable[[System], Chart], state: Mapping[str, Any],
        numbers: Mapping[str, Any], law: ForceLaw, controls: MotionControls,
    ) -> None:  # fmt: skip
        super().__init__(held.system, chart_of, state, numbers, which=law.which)
        self._held, self._law, self._controls = held, law, controls

    def _switched(self, s: ChartedSamples, asked: AskedSteps) -> ChartedSamples:
        """The samples after those whose step gave no state have made it another way, and caught up."""
        while True:
            failed = (s.status == DIVERGED) & ~self.lost_at_start & (self.retried != s.made)
            if not failed.any():
                return s
            s = s.copied()
            self.start_anew()
            for made in np.unique(s.made[failed]):
                self._step_anew(s, np.flatnonzero(failed & (s.made == made)), int(made), asked)
            self.catch_up(s, 0, np.flatnonzero(failed & (s.status == RUNNING) & (s.made < asked.end)), asked)

    def _step_anew(self, s: ChartedSamples, ids: np.ndarray, made: int, asked: AskedSteps) -> None:
        """One step of some samples by `ConstrainedFollower`; those that have no state after it stay as they are."""
        self.retried[ids] = made
        which: Any = ids if self.batch else int(ids[0])  # of one sample, errors are raised
        now, law, dt = SimulatedState(*(s.state[name][which] for name in ("q", "v", "lost"))), self._law, self._dt
        held = self._acting(s, ids, made, now)
        robots = self._robots(which)

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            tau = np.zeros(v.shape[-1]) if law.torque is None else law.torque(t, q, v)
            return tau + force_of_controls(robots, q, v, held)

        after = follower_of(self._held, robots, force, law.passive).step(made * dt, now, dt)
        valid = np.atleast_1d(~diverged(after))
        done = ids[valid]
        found = {"q": after.q, "v": after.v, "lost": np.asarray(after.lost)}
        found |= {f"held_{name}": held[name] for name in law.asked}
        for name, x in found.items():
            fresh = x.reshape(len(ids), *s.state[name].shape[1:])[valid]
            s.state[name][done] = fresh
            if (made + 1) % asked.every == 0 and name in asked.records:
                asked.records[name][done, (made + 1) // asked.every - 1] = fresh
        s.made[done], s.status[done] = made + 1, RUNNING
        counts = {"count": made + 1, "since": (made + 1) % law.period}
        for name in counts.keys() & s.state.keys():
            s.state[name][done] = counts[name]

    @property
    def _dt(self) -> float:
        return float(self._numbers["dt"][0])

    def _robots(self, which: Any) -> Any:
        """The functions of the robot with the parameters of some samples."""
        if not self._law.which:
            return self._held.system
        values = {name: self._numbers[name][which] for name in argument_names(self._law.which)}
        return self._held.system.varying(*(x.name for x in self._law.which)).at(**values)

    def _acting(self, s: ChartedSamples, ids: np.ndarray, made: int, now: SimulatedState) -> dict[str, np.ndarray]:
        """The controls of a step of some samples, by name."""
        found = self._controls.acting(self, ids, made)
        for name, traced in self._law.asked.items():
            begins = made % self._law.period == 0
            found[name] = traced(made * self._dt, now.q, now.v) if begins else s.state[f"held_{name}"][ids]
        return {name: x.reshape(*now.v.shape[:-1], -1) for name, x in found.items()}
