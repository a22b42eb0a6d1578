"""A simulation whose steps are machine code throughout.

All samples advance together, some milliseconds of work at a time. Where the independent velocities of a loop become
ill-conditioned, the samples concerned stop there (`RungeKuttaStage._stop`), are switched to other velocities, each on
its own account, and catch up with the others. A sample that diverges is tried in other velocities first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..compile.rollout_loop import DIVERGED, RUNNING, STOPPED
from ..errors import CoordinateError
from ..functions.repeated_steps import RepeatedSteps
from ..functions.rollout import ALWAYS, Rollout, RolloutRun
from ..once import recently_made
from ..system.system import System
from .applied_forces import Acting
from .charts import POOR, Charts, noted
from .runge_kutta import SimulatedState, Trajectory, diverged, step
from .runge_kutta_step import Followed, ForceLaw, rollout_of


class Chart(NamedTuple):
    """A robot in some independent velocities, and its steps."""

    followed: Followed
    rollout: Rollout
    loops: list[int]


def kept_chart(owner: Any, key: tuple[System, ForceLaw], make: Callable[[], Chart]) -> Chart:
    """The steps of a robot in some velocities; they stay with their owner, and so do the last traced ones."""
    return recently_made(vars(owner).setdefault("_rollouts", {}), key, make, lambda x: x[1].is_traced)


class Samples(NamedTuple):
    """All samples (n, ...): q, v in the velocities of chart number `chart`, the energy lost; what is usual of loops;
    what became of each, and the number of its steps; joint forces and controls of actuators that are held.
    """

    q: np.ndarray
    v: np.ndarray
    lost: np.ndarray
    usual: np.ndarray
    chart: np.ndarray
    status: np.ndarray
    made: np.ndarray
    held_tau: np.ndarray
    held_u: np.ndarray

    def copied(self) -> Samples:
        """Copies of the samples."""
        return Samples(*(x.copy() for x in self))


class ControlRows(NamedTuple):
    """Controls that are given: (n, rows, size) each, a row for `hold` steps."""

    given: list[np.ndarray]
    hold: int


class PartlyIndependent(Exception):
    """Joints such as balls would be independent in part, for which no steps are compiled."""


class CompiledStepper:
    """A simulation under way. `now` and `steps` are replaced together when a part of it is done."""

    def __init__(
        self, robot: System, law: ForceLaw, start: SimulatedState, dt: float, steps: int, every: int, acting: Acting,
        numbers: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self.robot, self.law, self.acting = robot, law, acting
        self.dt, self.every = dt, every
        self.batch = start.q.shape[:-1]
        q, v = start.q.reshape(-1, robot.nq), start.v.reshape(-1, robot.nv)
        self.n = len(q)
        self._numbers = numbers or {}  # (n, *shape) each, by the names of arguments
        self._charts = [self._chart(robot)]
        self._known: dict[Any, System] = vars(robot).setdefault("_charts", {})
        self._retried = np.full(self.n, -1.0)
        rows = 2 + steps // every  # the start, and the end if it is not one of the others
        self._rows = {"q": np.empty((rows, self.n, robot.nq)), "v": np.empty((rows, self.n, robot.nv)),
                      "lost": np.empty((rows, self.n))}  # fmt: skip
        sizes = {"tau": robot.nv, "u": robot.nu}
        self._rows |= {f"held_{name}": np.empty((rows, self.n, sizes[name])) for name in law.asked}
        self._start_lost = diverged(SimulatedState(q, v, None))
        loops = self._charts[0].loops
        ones = np.ones(self.n)
        self._now = (Samples(
            q, v, np.zeros(self.n), np.ones((self.n, len(loops))), np.zeros(self.n, int),
            np.where(self._start_lost, float(DIVERGED), float(RUNNING)), 0.0 * ones, np.zeros((self.n, robot.nv)),
            np.zeros((self.n, robot.nu)),
        ), 0)  # fmt: skip
        self._motion: RolloutRun | None = None
        self._repeats: RepeatedSteps | None = None
        self.held: dict[str, np.ndarray] = {}  # traced controls at the recorded times
        if loops:
            self._examine_start()

    def _chart(self, now: System) -> Chart:
        """The steps in the velocities of `now`."""

        def make() -> Chart:
            followed = Followed(self.robot, now)
            return Chart(followed, rollout_of(followed, self.law), followed.loops)

        return kept_chart(self.robot, (now, self.law), make)

    @property
    def now(self) -> Samples:
        """Where all samples are."""
        return self._now[0]

    @property
    def steps(self) -> int:
        """The steps made so far."""
        return self._now[1]

    @property
    def several(self) -> int:
        """Steps that take some milliseconds."""
        return self._charts[0].rollout.several(self.n)

    @property
    def is_over(self) -> bool:
        """Whether no sample moves any more."""
        return not (self.now.status == RUNNING).any()

    def states(self) -> SimulatedState:
        """The states as the user knows them, (..., nq) and (..., nv)."""
        s = self.now
        v = self._robot_velocities(s, slice(None), s.q, s.v)
        q, v = (x.reshape(*self.batch, x.shape[-1]) for x in (s.q, v))
        return SimulatedState(q, v, s.lost.reshape(self.batch))

    def _robot_velocities(self, s: Samples, ids: Any, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Velocities (n, ..., nv) of some samples in the robot's own."""
        found, which = w.copy(), s.chart[ids]
        if len(self._charts) == 1 and self._charts[0].followed.now is self.robot:
            return found
        for k in np.unique(which):
            now = self._charts[k].followed.now
            if now is not self.robot:
                found[which == k] = self._charts_at(now).to_robot_velocities(q[which == k], w[which == k])
        return found

    def _charts_at(self, now: System) -> Charts:
        charts = Charts(self.robot, known=self._known)
        charts.now = now
        return charts

    # Advancing.

    def advance(self, count: int, rows: ControlRows, threads: int | None) -> None:
        """Make some steps with forces that are given, none of them longer than the rows last."""
        s, end = self.now, self.steps + count
        if len(self._charts) == 1:
            s = self._together(s, end, rows, threads)
        else:
            s = s.copied()
            for k in np.unique(s.chart[s.status == RUNNING]):
                self._some(s, k, np.flatnonzero((s.chart == k) & (s.status == RUNNING)), end, rows, threads)
        if self._charts[0].loops:
            s = self._switched(s, end, rows, threads)
        self._now = (s, end)

    def _given(self, s: Samples, ids: Any, chart: Chart) -> tuple[dict[str, Any], dict[str, Any]]:
        state: dict[str, Any] = {"q": s.q[ids], "v": s.v[ids], "lost": s.lost[ids]}
        names = chart.rollout.step.state
        if "n" in names:
            state["n"] = s.made[ids]
        if "since" in names:
            state["since"] = s.made[ids] % self.law.period
        state |= {name: getattr(s, name)[ids] for name in ("held_tau", "held_u") if name in names}
        numbers = {"dt": self.dt} | ({"usual": s.usual[ids]} if chart.loops else {})
        return state, numbers | {name: x[ids] for name, x in self._numbers.items()}

    def _together(self, s: Samples, end: int, rows: ControlRows, threads: int | None) -> Samples:
        """All samples in one chart: they stay in place, and records go where they belong."""
        chart = self._charts[0]
        motion = self._motion
        if motion is None or motion.now.steps != self.steps:  # which an interrupt has left behind
            motion = chart.rollout.start(*self._given(s, slice(None), chart), batch=(self.n,))
            motion.now = motion.now._replace(status=s.status, made=s.made, steps=self.steps)
            self._motion = motion
        if rows.hold == ALWAYS:
            repeated = self._repeated_steps(motion, threads)
            for mine, x in zip(repeated.rows, rows.given, strict=True):
                mine[...] = x
            repeated.advance(end - motion.now.steps)
        else:
            self._advanced(motion, end, rows, slice(None), self._into(), 0, threads)
        known = chart.rollout.step.state
        kept = {name: motion.part(name) for name in ("q", "v", "lost", "held_tau", "held_u") if name in known}
        return s._replace(**kept, status=motion.now.status, made=motion.now.made)

    def _into(self) -> dict[str, np.ndarray]:
        """Where the records of steps go, (n, rows, ...)."""
        return {name: x[1:].swapaxes(0, 1) for name, x in self._rows.items()}

    def _repeated_steps(self, motion: RolloutRun, threads: int | None) -> RepeatedSteps:
        """The steps of a motion with controls that are held for a call."""
        if self._repeats is None or self._repeats.motion is not motion:
            self._repeats = RepeatedSteps(motion, self._into(), self.every, threads)
        return self._repeats

    def _advanced(
        self, motion: RolloutRun, end: int, rows: ControlRows, ids: Any, into: Mapping[str, np.ndarray],
        first_record: int, threads: int | None,
    ) -> None:  # fmt: skip
        given = [x[ids] for x in rows.given]
        motion.advance(end - motion.now.steps, given, into, hold=rows.hold, every=self.every, first_record=first_record,
                       threads=threads)  # fmt: skip

    def _some(self, s: Samples, k: int, ids: np.ndarray, end: int, rows: ControlRows, threads: int | None) -> None:
        """Some samples in one chart, which may have come to different steps."""
        if not len(ids):
            return
        chart = self._charts[k]
        behind = s.made[ids].copy()
        motion = chart.rollout.start(*self._given(s, ids, chart), batch=(len(ids),), made=behind)
        first = motion.now.steps // self.every
        into = {name: np.empty((len(ids), end // self.every - first, *x.shape[2:])) for name, x in self._rows.items()}
        self._advanced(motion, end, rows, ids, into, first, threads)
        state = motion.state
        s.q[ids], s.v[ids], s.lost[ids] = state["q"], state["v"], state["lost"]
        s.status[ids], s.made[ids] = motion.now.status, motion.now.made
        for name in ("held_tau", "held_u"):
            if name in state:
                getattr(s, name)[ids] = state[name]
        number = np.arange(first + 1, end // self.every + 1)
        at = number[None] * self.every
        which, row = np.nonzero((at > behind[:, None]) & (at <= motion.now.made[:, None]))
        fresh = {name: x[which, row] for name, x in into.items()}
        if chart.followed.now is not self.robot and len(which):
            fresh["v"] = self._charts_at(chart.followed.now).to_robot_velocities(fresh["q"], fresh["v"])
        for name, x in self._rows.items():
            x[number[row], ids[which]] = fresh[name]

    # Loops.

    def _examine_start(self) -> None:
        """Note what is usual of loops, and switch samples that start in ill-conditioned velocities."""
        s = self.now.copied()
        for i in np.flatnonzero(~self._start_lost):
            self._examine(s, i, POOR)
        self._now = (s, 0)

    def _examine(self, s: Samples, i: Any, poor: float) -> bool:
        """Look at the loops of a sample; whether it is now in other velocities."""
        chart = self._charts[s.chart[i]]
        charts = self._charts_at(chart.followed.now)
        changed = charts.better(s.q[i], s.v[i], poor)
        if changed is not None:
            s.v[i], s.chart[i] = changed, self._number(charts.now)
        s.usual[i] = noted(charts.sizes(s.q[i]), None)[self._charts[s.chart[i]].loops]
        return changed is not None

    def _number(self, now: System) -> int:
        for k, chart in enumerate(self._charts):
            if chart.followed.now is now:
                return k
        if now.model.cluster_tree.has_shared_joints:
            raise PartlyIndependent
        self._charts.append(self._chart(now))
        self._motion = None
        return len(self._charts) - 1

    def _switched(self, s: Samples, end: int, rows: ControlRows, threads: int | None) -> Samples:
        """The samples after those that stopped, or diverged, have been given other velocities and caught up."""
        while True:
            stopped = s.status == STOPPED
            failed = (s.status == DIVERGED) & ~self._start_lost & (self._retried != s.made)
            if not (stopped | failed).any():
                return s
            s = s.copied()
            self._motion = None
            for i in np.flatnonzero(stopped):
                self._look_again(s, i)
                s.status[i] = RUNNING
            for i in np.flatnonzero(failed):
                self._retried[i] = s.made[i]
                if self._examine(s, i, 1.0):
                    s.status[i] = RUNNING
            late = (stopped | failed) & (s.status == RUNNING) & (s.made < end)
            for k in np.unique(s.chart[late]):
                self._some(s, k, np.flatnonzero(late & (s.chart == k)), end, rows, threads)

    def _look_again(self, s: Samples, i: Any) -> None:
        before = s.usual[i].copy()
        if not self._examine(s, i, POOR):
            s.usual[i] = np.fmax(s.usual[i], before)

    # What comes of it.

    def trajectory(self) -> Trajectory:
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
            found["q"][-1], found["lost"][-1] = s.q, s.lost
            found["v"][-1] = self._robot_velocities(s, slice(None), s.q, s.v)
            for name in ("held_tau", "held_u"):
                if name in found:
                    found[name][-1] = getattr(s, name)
        number = np.minimum(np.arange(end) * self.every, steps)
        if (s.status != RUNNING).any():
            gone = (number[:, None] > s.made) & (s.status != RUNNING)
            for x in found.values():
                x[gone] = np.nan
        shaped = {name: x.reshape(end, *self.batch, *x.shape[2:]) for name, x in found.items()}
        held = {name: shaped.pop(name) for name in ("held_tau", "held_u") if name in shaped}
        self.held = {name.removeprefix("held_"): x for name, x in held.items()}
        return Trajectory(np.array(times), **shaped, robot=self.robot)

    def begin_at(self, q: np.ndarray, v: np.ndarray) -> None:
        """Record the start as it was given."""
        self._rows["q"][0], self._rows["v"][0] = (x.reshape(self.n, x.shape[-1]) for x in (q, v))
        self._rows["lost"][0] = 0.0
        for name in ("held_tau", "held_u"):
            if name in self._rows:
                self._rows[name][0] = np.nan

    def lost_at(self) -> np.ndarray:
        """When samples (...) diverged that were finite at the start; others never."""
        s = self.now
        gone = (s.status == DIVERGED) & ~self._start_lost
        return np.where(gone, s.made * self.dt, np.inf).reshape(self.batch)

    def explain(self, force: Any) -> None:
        """Repeat the steps of samples that diverged by the robot's own functions, which say why: an error if there is
        one sample only, else a warning. `force(t, q, v)` are the forces.
        """
        s = self.now
        for k in () if self._numbers else np.unique(s.chart):  # the robot's own functions know other numbers
            gone = (s.status == DIVERGED) & ~self._start_lost & (s.chart == k)
            for made in np.unique(s.made[gone]):
                ids = np.flatnonzero(gone & (s.made == made))
                which: Any = ids if self.batch else int(ids[0])
                now = self._charts[k].followed.now
                self._explained(SimulatedState(s.q[which], s.v[which], 0.0), now, made * self.dt, force, ids)

    def _explained(self, state: SimulatedState, now: System, t: float, force: Any, ids: np.ndarray) -> None:
        charts = self._charts_at(now)

        def asked(t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
            return charts.force(q, force(t, q, charts.to_robot_velocities(q, w), ids))

        try:
            step(now, t, state, self.dt, asked, self.acting)
        except CoordinateError:
            return
