"""A simulation of a robot with constraints that forces keep, in machine code.

A step in which the rows that stand for all no longer do so, as where a linkage folds flat, is repeated for the samples
concerned by `ConstrainedFollower`, which solves by singular values; then they catch up with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING
from ..system.constrained.robot import Constrained
from ..system.system import System
from .applied_forces import Acting
from .compiled_stepper import CompiledStepper, ControlRows, kept_chart
from .constrained import follower_of
from .constrained_step import constrained_rollout
from .loops.chart_table import Chart, ChartedSamples
from .loops.charted_run import AskedSteps, ChartedRun
from .loops.charts import Charts
from .runge_kutta import SimulatedState, diverged, forces_of
from .runge_kutta_step import ForceLaw


class ConstrainedStepper(CompiledStepper):
    """A simulation under way of a robot with constraints."""

    def __init__(
        self, held: Constrained, law: ForceLaw, start: SimulatedState, dt: float, steps: int, every: int,
        acting: Acting, numbers: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self._held = held
        super().__init__(held.system, law, start, dt, steps, every, acting, numbers)

    def _chart(self, now: System) -> Chart:
        def make() -> Chart:
            return Chart(now, constrained_rollout(self._held, self.law), [])

        return kept_chart(self._held, (now, self.law), make)

    def _start(self, state: Mapping[str, Any], numbers: Mapping[str, Any]) -> ChartedRun:
        """A motion whose samples can be repeated one by one."""
        return ChartedRun(self.robot, self._chart, state, numbers, which=self.law.which)

    def advance(self, count: int, rows: ControlRows, threads: int | None) -> None:
        """Make some steps with forces that are given, none of them longer than the rows last."""
        asked = AskedSteps(self.steps + count, rows.given, self._into, rows.hold, self.every, threads)
        super().advance(count, rows, threads)
        self.motion.now = self._repeated(self.now, asked, rows)

    def _repeated(self, s: ChartedSamples, asked: AskedSteps, rows: ControlRows) -> ChartedSamples:
        """The samples after those whose step gave no state have made it another way, and caught up."""
        motion = self.motion
        while True:
            failed = (s.status == DIVERGED) & ~motion.lost_at_start & (motion.retried != s.made)
            if not failed.any():
                return s
            s = s.copied()
            motion.start_anew()
            for made in np.unique(s.made[failed]):
                self._step_anew(s, np.flatnonzero(failed & (s.made == made)), int(made), rows)
            motion.catch_up(s, 0, np.flatnonzero(failed & (s.status == RUNNING) & (s.made < asked.end)), asked)

    def _step_anew(self, s: ChartedSamples, ids: np.ndarray, made: int, rows: ControlRows) -> None:
        """One step of some samples by `ConstrainedFollower`; those that have no state after it stay as they are."""
        self.motion.retried[ids] = made
        which: Any = ids if self.batch else int(ids[0])  # of one sample, errors are raised
        now = SimulatedState(*(s.state[name][which] for name in ("q", "v", "lost")))
        held = self._controls(s, ids, made, rows, now)
        robots = self._robots(which)

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            tau = held.get("tau", np.zeros(self.robot.nv))
            tau = tau if self.law.torque is None else tau + self.law.torque(t, q, v)
            return tau + forces_of(robots, q, v, held)

        follower = follower_of(self._held, robots, force, self.law.passive)
        after = follower.step(made * self.dt, now, self.dt)
        valid = np.atleast_1d(~diverged(after))
        done = ids[valid]
        found = {"q": after.q, "v": after.v, "lost": np.asarray(after.lost)}
        found |= {f"held_{name}": held[name] for name in self.law.asked}
        for name, x in found.items():
            fresh = x.reshape(len(ids), *s.state[name].shape[1:])[valid]
            s.state[name][done] = fresh
            if (made + 1) % self.every == 0:
                self._rows[name][(made + 1) // self.every, done] = fresh
        s.made[done], s.status[done] = made + 1, RUNNING
        counts = {"count": made + 1, "since": (made + 1) % self.law.period}
        for name in counts.keys() & s.state.keys():
            s.state[name][done] = counts[name]

    def _robots(self, which: Any) -> Any:
        """The functions of the robot with the parameters of some samples."""
        if not self._numbers:
            return self.robot
        return self.robot.varying(*(x.name for x in self.law.which)).at(
            **{name: x[which] for name, x in self._numbers.items()}
        )

    def _controls(
        self, s: ChartedSamples, ids: np.ndarray, made: int, rows: ControlRows, now: SimulatedState
    ) -> dict[str, np.ndarray]:
        """The controls of a step of some samples, by name."""
        shape, found = now.v.shape[:-1], {}
        for name, x in zip(self.law.given, rows.given, strict=True):
            found[name] = x[ids, min(made // rows.hold, x.shape[1] - 1)]
        for name, traced in self.law.asked.items():
            begins = made % self.law.period == 0
            found[name] = traced(made * self.dt, now.q, now.v) if begins else s.state[f"held_{name}"][ids]
        return {name: x.reshape(*shape, -1) for name, x in found.items()}

    def _explained(self, state: SimulatedState, charts: Charts, t: float, force: Any, ids: np.ndarray) -> None:
        """Look at the forces once more; the step was repeated already, and said why it failed."""
        force(t, state.q, state.v, ids)
