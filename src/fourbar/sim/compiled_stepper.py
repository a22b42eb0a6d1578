"""A simulation whose steps are machine code throughout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING
from ..errors import CoordinateError
from ..functions.repeated_steps import RepeatedSteps
from ..functions.rollout import ALWAYS, RolloutRun
from ..once import make_recent
from ..system.system import System
from .applied_forces import Acting
from .loops.chart_table import Chart
from .loops.charted_run import ChartedRun
from .loops.charts import Charts
from .run import Run
from .runge_kutta import SimulatedState, step
from .runge_kutta_step import Followed, ForceLaw, rollout_of


def kept_chart(owner: Any, key: tuple[System, ForceLaw], make: Callable[[], Chart]) -> Chart:
    """The steps of a robot in some velocities; they stay with their owner, and so do the last traced ones."""
    return make_recent(vars(owner).setdefault("_rollouts", {}), key, make, lambda x: x[1].is_traced)


class ControlRows(NamedTuple):
    """Controls that are given: (n, rows, size) each, a row for `hold` steps."""

    given: list[np.ndarray]
    hold: int


class PartlyIndependent(Exception):
    """Joints such as balls would be independent in part, for which no steps are compiled."""


class CompiledStepper:
    """A simulation under way."""

    def __init__(
        self, robot: System, law: ForceLaw, start: SimulatedState, dt: float, steps: int, every: int, acting: Acting,
        numbers: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self.robot, self.law, self.acting = robot, law, acting
        self.dt, self.every = dt, every
        self.batch = start.q.shape[:-1]
        self._numbers = numbers or {}  # (n, *shape) each, by the names of arguments
        q, v = start.q.reshape(-1, robot.nq), start.v.reshape(-1, robot.nv)
        self.n = len(q)
        self.lost_at_start = ~(np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1))
        names = self._chart(robot).rollout.step.state
        state: dict[str, Any] = {name: np.zeros(shape) for name, shape in names.items()} | {"q": q, "v": v}
        self.motion = self._start(state, {"dt": dt, **self._numbers})
        self._repeats: RepeatedSteps | None = None
        rows = 2 + steps // every  # the start, and the end if it is not one of the others
        recorded = ["q", "v", "lost", *(f"held_{name}" for name in law.asked)]
        self._rows = {name: np.empty((rows, self.n, *names[name])) for name in recorded}
        self._into = {name: x[1:].swapaxes(0, 1) for name, x in self._rows.items()}  # of steps, (n, rows, ...)
        self.held: dict[str, np.ndarray] = {}  # traced controls at the recorded times

    def _chart(self, now: System) -> Chart:
        """The steps in the velocities of `now`."""
        if now is not self.robot and now.model.cluster_tree.has_shared_joints:
            raise PartlyIndependent

        def make() -> Chart:
            followed = Followed(self.robot, now)
            return Chart(now, rollout_of(followed, self.law), followed.loops)

        return kept_chart(self.robot, (now, self.law), make)

    def _start(self, state: Mapping[str, Any], numbers: Mapping[str, Any]) -> Any:
        """The motion at its start: a `RolloutRun`, or a `ChartedRun` where loops are solved while moving."""
        home = self._chart(self.robot)
        if home.loops:
            return ChartedRun(self.robot, self._chart, state, numbers, which=self.law.which)
        motion = home.rollout.start(state, numbers, (self.n,))
        status = np.where(self.lost_at_start, float(DIVERGED), float(RUNNING))
        motion.now = motion.now._replace(status=status)
        return motion

    @property
    def now(self) -> Any:
        """The progress of all samples: status, made, steps."""
        return self.motion.now

    @property
    def steps(self) -> int:
        """The steps made so far."""
        return self.now.steps

    @property
    def several(self) -> int:
        """Steps that take some milliseconds."""
        return self.motion.several

    @property
    def is_over(self) -> bool:
        """Whether no sample moves any more."""
        return not (self.now.status == RUNNING).any()

    def states(self) -> SimulatedState:
        """The states as the user knows them, (..., nq) and (..., nv)."""
        found = (self.motion.part(name) for name in ("q", "v", "lost"))
        return SimulatedState(*(x.reshape((*self.batch, *x.shape[1:])) for x in found))

    def advance(self, count: int, rows: ControlRows, threads: int | None) -> None:
        """Make some steps with forces that are given, none of them longer than the rows last."""
        motion = self.motion
        if rows.hold != ALWAYS or not isinstance(motion, RolloutRun):
            motion.advance(count, rows.given, self._into, hold=rows.hold, every=self.every, threads=threads)
            return
        if self._repeats is None:
            self._repeats = RepeatedSteps(motion, self._into, self.every, threads)
        for mine, x in zip(self._repeats.rows, rows.given, strict=True):
            mine[...] = x
        self._repeats.advance(count)

    # What comes of it.

    def trajectory(self) -> Run:
        """The recorded states, and the last one."""
        s = self.now
        steps = int(s.made.max(initial=0)) if self.is_over and self.n else self.steps
        rows = steps // self.every
        times = [k * self.every * self.dt for k in range(rows + 1)]
        end = rows + 1
        if steps % self.every:
            times.append(steps * self.dt)
            end += 1
        found = {name: x[:end] for name, x in self._rows.items()}
        if steps % self.every:
            for name, x in found.items():
                x[-1] = self.motion.part(name)
        number = np.minimum(np.arange(end) * self.every, steps)
        if (s.status != RUNNING).any():
            gone = (number[:, None] > s.made) & (s.status != RUNNING)
            for x in found.values():
                x[gone] = np.nan
        shaped = {name: x.reshape(end, *self.batch, *x.shape[2:]) for name, x in found.items()}
        self.held = {name: shaped[f"held_{name}"] for name in self.law.asked}
        return Run(np.array(times), shaped["q"], shaped["v"], self.robot, shaped["lost"])

    def begin_at(self, q: np.ndarray, v: np.ndarray) -> None:
        """Record the start as it was given."""
        self._rows["q"][0], self._rows["v"][0] = (x.reshape(self.n, x.shape[-1]) for x in (q, v))
        self._rows["lost"][0] = 0.0
        for name in self.law.asked:
            self._rows[f"held_{name}"][0] = np.nan

    def lost_at(self) -> np.ndarray:
        """When samples (...) diverged that were finite at the start; others never."""
        s = self.now
        gone = (s.status == DIVERGED) & ~self.lost_at_start
        return np.where(gone, s.made * self.dt, np.inf).reshape(self.batch)

    def explain(self, force: Any) -> None:
        """Repeat the steps of samples that diverged by the robot's own functions, which say why: an error if there is
        one sample only, else a warning. `force(t, q, v)` are the forces.
        """
        s, lost = self.now, (self.now.status == DIVERGED) & ~self.lost_at_start
        if self._numbers or not lost.any():  # the robot's own functions know other numbers
            return
        motion = self.motion
        charted = isinstance(motion, ChartedRun)
        chart = s.chart if charted else np.zeros(self.n, int)
        q, v = (s.state["q"], s.state["v"]) if charted else (motion.part("q"), motion.part("v"))
        for k in np.unique(chart):
            gone = lost & (chart == k)
            for made in np.unique(s.made[gone]):
                ids = np.flatnonzero(gone & (s.made == made))
                which: Any = ids if self.batch else int(ids[0])
                charts = motion.table.at(k) if charted else Charts(self.robot)
                self._explained(SimulatedState(q[which], v[which], 0.0), charts, made * self.dt, force, ids)

    def _explained(self, state: SimulatedState, charts: Charts, t: float, force: Any, ids: np.ndarray) -> None:
        def asked(t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
            return charts.force(q, force(t, q, charts.to_robot_velocities(q, w), ids))

        try:
            step(charts.now, t, state, self.dt, asked, self.acting)
        except CoordinateError:
            return
