"""The velocities in which samples are followed whose loops may need others than the robot's own, each independently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compile.rollout_loop import RUNNING
from ...functions.charted_tree import GROWN
from ...functions.rollout import Rollout
from ...once import cached_property, make_recent
from ...system.system import System
from .charts import FAIR, POOR, Charts, update_reference
from .folds import RUNGE_KUTTA, Folds
from .varied_loops import Which, folds_at, loop_parameters

_AT_TOGGLE = 0.03  # the conditioning of independent velocities, at most 1, below which steps cannot be trusted


class Chart(NamedTuple):
    """A robot in some independent velocities, its steps, the velocities of loops that are watched, by number, and how
    far a step may move, relative to the smallest pivot of a loop.
    """

    now: System
    rollout: Rollout
    loops: Sequence[int]
    stride: float = RUNGE_KUTTA

    @property
    def folds(self) -> Folds:
        """The folds of its loops."""
        return Folds.of(self.now)

    @property
    def reference_size(self) -> int:
        """How many numbers say what is usual of its loops: a velocity for each, and those of folds, if taken."""
        (count,) = self.rollout.step.numbers.get("usual", (0,))
        return count

    @property
    def far_from_folds(self) -> np.ndarray:
        """The numbers of folds where none is near."""
        return self.folds.first(self.stride) if self.reference_size > len(self.loops) else np.zeros(0)


class ChartedSamples(NamedTuple):
    """All samples: their `state` (n, ...) by name, v in the velocities of the chart of number `chart` (n); what is
    `usual` of loops (n, watched), with the branches that are followed near folds; after how many steps a loop came so
    near to a toggle position that no other velocities helped, infinite if never (`stuck`); what became of each, and how
    many steps it has made; the steps since the start; parameters of loops (n, *shape) that differ (`ChartTable.which`).
    """

    state: dict[str, np.ndarray]
    usual: np.ndarray
    chart: np.ndarray
    stuck: np.ndarray  # (n,)
    status: np.ndarray  # (n,)
    made: np.ndarray  # (n,)
    steps: int
    numbers: tuple[np.ndarray, ...] = ()

    @staticmethod
    def at_start(
        state: dict[str, np.ndarray], status: np.ndarray, watched: int, numbers: Sequence[np.ndarray] = ()
    ) -> ChartedSamples:
        """Samples that have made no step yet, in the robot's own velocities."""
        n = len(status)
        return ChartedSamples(
            state, np.ones((n, watched)), np.zeros(n, int), np.full(n, np.inf), status, np.zeros(n), 0, tuple(numbers)
        )

    def copies(self) -> ChartedSamples:
        """Copies of the samples."""
        state = {name: x.copy() for name, x in self.state.items()}
        usual, chart, stuck, status, made = (x.copy() for x in self[1:6])
        return ChartedSamples(state, usual, chart, stuck, status, made, self.steps, self.numbers)

    def begin_parts(self, ids: np.ndarray, state: dict[str, np.ndarray]) -> ChartedSamples:
        """Some samples (m) in a state (m, ...) by name, before the parts of a step."""
        usual, chart = (x[ids].copy() for x in (self.usual, self.chart))
        n = len(ids)
        numbers = tuple(x[ids] for x in self.numbers)
        return ChartedSamples(
            state, usual, chart, np.full(n, np.inf), np.full(n, float(RUNNING)), np.zeros(n), 0, numbers
        )

    def take(self, ids: np.ndarray, part: ChartedSamples, made: np.ndarray) -> None:
        """Take over some samples (m) that have made a step in parts: `made` are their numbers in `part`."""
        for name, x in self.state.items():
            x[ids] = part.state[name][made]
        self.usual[ids], self.chart[ids], self.status[ids] = part.usual[made], part.chart[made], float(RUNNING)
        late = ids[np.isfinite(part.stuck[made])]
        self.stuck[late] = np.fmin(self.stuck[late], self.made[late])
        self.made[ids] += 1.0


class ChartTable:
    """The charts that samples of a robot have come to, the robot's own first. `chart_of` makes the chart of a robot
    with some independent velocities; `which` are parameters that differ from sample to sample, of which those of loops
    that are solved matter here.
    """

    def __init__(self, robot: System, chart_of: Callable[[System], Chart], which: Which = ()) -> None:
        self.robot, self._chart_of, self.which = robot, chart_of, loop_parameters(robot, which)
        self.charts = [chart_of(robot)]
        self._known: dict[Any, System] = vars(robot).setdefault("_charts", {})
        self._varied_folds: dict[Any, Folds] = {}

    @property
    def home(self) -> Chart:
        """The chart of the robot's own velocities."""
        return self.charts[0]

    def at(self, k: int, s: ChartedSamples | None = None, ids: Any = ()) -> Charts:
        """The robot in the velocities of chart number k, with the parameters of some of the samples s."""
        values = [x[ids] for x in s.numbers] if s is not None else ()
        charts = Charts(self.robot, known=self._known, which=self.which if values else (), values=values)
        charts.now = self.charts[k].now
        return charts

    def _folds(self, s: ChartedSamples, i: int) -> Folds:
        """The folds of the loops of sample i, in its velocities."""
        k = int(s.chart[i])
        if not self.which:
            return self.charts[k].folds
        values = [x[i] for x in s.numbers]
        key = (k, *(x.tobytes() for x in values))
        return make_recent(self._varied_folds, key, lambda: folds_at(self.charts[k].now, self.which, values))

    def number(self, now: System) -> int:
        """The number of the chart of a robot."""
        for k, chart in enumerate(self.charts):
            if chart.now is now:
                return k
        self.charts.append(self._chart_of(now))
        return len(self.charts) - 1

    def robot_velocities(self, s: ChartedSamples) -> np.ndarray:
        """Velocities (n, nv) of all samples in the robot's own."""
        velocities = s.state["v"]
        away = [k for k in np.unique(s.chart) if k] if len(self.charts) > 1 else []
        velocities = velocities.copy() if away else velocities
        for k in away:
            own = s.chart == k
            velocities[own] = self.at(k, s, own).to_robot_velocities(s.state["q"][own], velocities[own])
        return velocities

    def begin(self, s: ChartedSamples, ids: np.ndarray) -> None:
        """Some samples (m) begin in the robot's own velocities: those in which joints move much faster per unit
        velocity than in the neutral configuration are examined.
        """
        if self.which:
            s.usual[ids, len(self.home.loops) :] = self.home.far_from_folds
            self.examine(s, ids)
            return
        usual, is_good = self._neutral
        sizes = self.at(0).sizes(s.state["q"][ids])[:, self.home.loops]
        calm = (sizes <= GROWN * usual).all(axis=-1) & is_good
        s.usual[ids[calm], : len(usual)] = usual
        s.usual[ids, len(usual) :] = self.home.far_from_folds
        if not calm.all():
            self.examine(s, ids[~calm])

    @property
    def reference(self) -> tuple[np.ndarray, bool]:
        """The numbers that are `usual` in the neutral configuration, far from folds, and whether the robot's own
        velocities do well there. Never, where loops depend on parameters that differ.
        """
        sizes, is_good = self._neutral
        return np.concatenate([sizes, self.home.far_from_folds]), is_good and not self.which

    @cached_property
    def _neutral(self) -> tuple[np.ndarray, bool]:
        """The `usual` velocities of loops in the neutral configuration, and whether the robot's own do well there."""
        charts, q = self.at(0), self.robot.model.neutral()
        return update_reference(charts.sizes(q), None)[self.home.loops], bool(charts.holds(q[None])[0] >= POOR)

    def examine(self, s: ChartedSamples, ids: np.ndarray, poor: float = POOR) -> np.ndarray:
        """Look at the loops of some samples (m), and switch those whose conditioning is below `poor` to other
        velocities where these are better; which of the samples were switched. What is `usual` of their loops is noted
        anew.
        """
        switched, before = np.zeros(len(s.chart), bool), s.chart[ids].copy()
        for k in np.unique(before):
            members = ids[before == k]
            hold = self.at(k, s, members).holds(s.state["q"][members])
            for i in members[hold < poor]:
                switched[i] = self._switch(s, int(i), poor)
        for k in np.unique(s.chart[ids]):
            members = ids[s.chart[ids] == k]
            loops = self.charts[k].loops
            s.usual[members, : len(loops)] = update_reference(
                self.at(k, s, members).sizes(s.state["q"][members]), None
            )[:, loops]
            s.usual[members[switched[members]], len(loops) :] = self.charts[k].far_from_folds
        return switched[ids]

    def meet_folds(self, s: ChartedSamples, ids: np.ndarray) -> np.ndarray:
        """Look for folds near samples (m) whose step gave no state: which of them may make it now, along the branch
        that is followed there.
        """
        may_go_on = np.zeros(len(ids), bool)
        for n, i in enumerate(ids if self.home.reference_size > len(self.home.loops) else ()):
            chart = self.charts[s.chart[i]]
            first = len(chart.loops)
            changed = self._folds(s, i).meet(s.usual[i, first:], s.state["q"][i], s.state["v"][i])
            if changed is not None:
                may_go_on[n], s.usual[i, first:] = True, changed
        return may_go_on

    def parts(self, s: ChartedSamples, ids: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """In how many parts samples, whose steps of lengths dt (m) gave no state, should make them: none where loops
        are not the reason, one where no step is short enough, which is marked.
        """
        counts = np.zeros(len(ids), int)
        for n, i in enumerate(ids if self.home.reference_size > len(self.home.loops) else ()):
            chart = self.charts[s.chart[i]]
            own = slice(len(chart.loops), None)
            way = s.state["v"][i] * dt[n]
            counts[n], s.usual[i, own] = self._folds(s, i).parts(s.usual[i, own], s.state["q"][i], way)
            if counts[n] == 1:
                s.stuck[i] = min(s.stuck[i], s.made[i])
        return counts

    def end_parts(self, s: ChartedSamples, ids: np.ndarray) -> None:
        """Let samples (m) that have made a step in parts make whole steps again."""
        for i in ids:
            chart = self.charts[s.chart[i]]
            own = slice(len(chart.loops), None)
            s.usual[i, own] = chart.folds.after_parts(s.usual[i, own], chart.stride)

    def look_again(self, s: ChartedSamples, ids: np.ndarray) -> None:
        """Examine samples (m) that stopped: those that keep their velocities stop later next time."""
        watched = slice(len(self.home.loops))
        before = s.usual[ids, watched].copy()
        switched = self.examine(s, ids)
        kept = ids[~switched]
        s.usual[kept, watched] = np.fmax(s.usual[kept, watched], before[~switched])

    def _switch(self, s: ChartedSamples, i: int, poor: float) -> bool:
        """Switch a sample to other velocities, if they are better."""
        charts = self.at(s.chart[i], s, [i])
        q = s.state["q"][i][None]
        is_stuck = charts.holds(q)[0] < _AT_TOGGLE
        changed = charts.better(q, s.state["v"][i][None], poor)
        if changed is not None and np.isfinite(changed).all():  # not so exactly at a toggle position
            s.chart[i] = self.number(charts.now)
            s.state["v"][i] = changed[0]
            return True
        if is_stuck and poor != FAIR:  # else the step may be made in parts
            s.stuck[i] = min(s.stuck[i], s.made[i])
        return False
