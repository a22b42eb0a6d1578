"""Fixed-step fourth-order Runge-Kutta on the configuration group (Runge-Kutta-Munthe-Kaas).

Within a step the configuration is written as q(t) = q₀ ⊕ θ(t) with θ in the tangent space, where the classic scheme
applies; quaternions therefore stay of unit length without being renormalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import CoordinateError, SingularError
from ..functions.nan_reasons import implicit_loops
from ..system.system import System
from .applied_forces import Acting, with_passive
from .loops.charts import ANY, FAIR, Charts, chart_rate
from .loops.folds import RUNGE_KUTTA, Folds, leapt_well
from .outcome import NotFinite, warn_of_divergence, warn_of_folds
from .read_arguments import read_answer
from .run import Run
from .runge_kutta_step import Followed, ForceLaw, Traced, control_sizes
from .stage_function import StageFunction

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class SimulatedState(NamedTuple):
    """Configuration, velocity, and dissipated energy."""

    q: np.ndarray
    v: np.ndarray
    lost: Any


class StateRates(NamedTuple):
    """The rate of a state: in the chart of the step, the acceleration, and the dissipated power."""

    theta: np.ndarray
    a: np.ndarray
    lost: Any


def _moved(robot: System, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """q ⊕ θ; NaN where a robot without implicit loops is so fast that this is no configuration: it has diverged."""
    try:
        return robot.integrate(q, theta, _UNIT_TIME)
    except SingularError:
        if implicit_loops(robot.model.cluster_tree):
            raise
        return np.full_like(q, np.nan)


def _rates(
    robot: System, t: float, q0: np.ndarray, theta: np.ndarray, v: np.ndarray, torque: Torque, acting: Acting
) -> StateRates:
    q = _moved(robot, q0, theta)
    return StateRates(chart_rate(robot, q0, q, theta, v), *acting(robot, q, v, torque(t, q, v)))


def step(robot: System, t: float, now: SimulatedState, dt: float, torque: Torque, acting: Acting) -> SimulatedState:
    """One step of length dt from a state at time t."""
    q, v, lost = now
    k1 = _rates(robot, t, q, np.zeros_like(v), v, torque, acting)
    k2 = _rates(robot, t + dt / 2, q, dt / 2 * k1.theta, v + dt / 2 * k1.a, torque, acting)
    k3 = _rates(robot, t + dt / 2, q, dt / 2 * k2.theta, v + dt / 2 * k2.a, torque, acting)
    k4 = _rates(robot, t + dt, q, dt * k3.theta, v + dt * k3.a, torque, acting)
    theta, change, power = (dt / 6 * (a + 2 * (b + c) + d) for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    return SimulatedState(_moved(robot, q, theta), v + change, lost + power)


class Follower:
    """Integrates a motion, switching to the velocities of other joints where those of the robot are ill-conditioned.

    Steps are made by compiled stages. Where one gives no finite state, the robot's own functions repeat it and say why.
    """

    def __init__(self, robot: System, torque: Torque | None, acting: Acting) -> None:
        self.charts = Charts(robot, known=vars(robot).setdefault("_charts", {}))
        self.torque, self.acting = torque, acting
        self.not_finite = NotFinite()
        self.stuck_at = np.inf  # when a loop came to a fold that no branch leads through
        self.all_finite = False  # whether the last state is known to be finite in all samples
        self._examines = self.charts.moving
        self._stages: dict[Any, tuple[System, StageFunction | None]] = vars(robot).setdefault("_stages", {})
        self._folds: tuple[System, np.ndarray] | None = None  # the numbers (..., m) of branches near folds

    def step(self, t: float, now: SimulatedState, dt: float) -> SimulatedState:
        """The next state; velocities are those in use."""
        if self._examines:
            now = now._replace(v=self.charts.looked_at(now.q, now.v))
        try:
            return self._followed(t, now, dt)
        except SingularError:
            changed = self.charts.better(now.q, now.v, ANY)
            if changed is None:
                raise
            return self._followed(t, now._replace(v=changed), dt)

    def _followed(self, t: float, now: SimulatedState, dt: float) -> SimulatedState:
        stage = self._stage()
        self.all_finite, self._examines = False, self.charts.moving
        while stage is not None:
            made = stage.step(t, now.q, now.v, dt, self._asked, self.charts.usual, self._branches(now))
            after = SimulatedState(made.q, made.v, now.lost + made.lost)
            lost = diverged(after) & ~diverged(now)
            if made.finite or not lost.any():
                self.all_finite = made.finite
                self._examines = made.stop or (self.charts.moving and self.charts.usual is None)
                return after
            if self._meet_folds(now, lost):
                continue
            changed = self.charts.better(now.q, now.v, FAIR) if self.charts.moving else None
            if changed is not None:
                return self._followed(t, now._replace(v=changed), dt)
            count = self._parts(t, now, lost, dt)
            leapt = self._leap(stage, t, now, dt) if count < 0 else None
            if leapt is not None:
                return leapt
            if abs(count) > 1:
                return self._made_in_parts(t, now, dt, abs(count))
            if not count:
                break
        return step(self.charts.now, t, now, dt, self._force, self.acting)

    def _leap(self, stage: StageFunction, t: float, now: SimulatedState, dt: float) -> SimulatedState | None:
        """The state after a step of all samples that leaps over a fold in two halves; None unless a whole step leads to
        the same.
        """
        numbers = Folds.of(self.charts.now).leap(self._branches(now))
        whole = stage.step(t, now.q, now.v, dt, self._asked, self.charts.usual, numbers)
        half = stage.step(t, now.q, now.v, 0.5 * dt, self._asked, self.charts.usual, numbers)
        if not (whole.finite and half.finite):
            return None
        end = stage.step(t + 0.5 * dt, half.q, half.v, 0.5 * dt, self._asked, self.charts.usual, numbers)
        if not end.finite or not leapt_well(self.charts.now, now.q, (whole.q, whole.v), (end.q, end.v)).all():
            return None
        return SimulatedState(end.q, end.v, now.lost + half.lost + end.lost)

    def _made_in_parts(self, t: float, now: SimulatedState, dt: float, count: int) -> SimulatedState:
        """The state after a step of all samples in so many parts."""
        for k in range(count):
            now = self.step(t + k * (dt / count), now, dt / count)
        folds, numbers = Folds.of(self.charts.now), self._branches(now)
        for i in np.ndindex(numbers.shape[:-1]):
            numbers[i] = folds.after_parts(numbers[i], RUNGE_KUTTA)
        return now

    def _branches(self, now: SimulatedState) -> np.ndarray:
        """The numbers (..., m) of branches near folds, in the velocities in use."""
        robot = self.charts.now
        if self._folds is None or self._folds[0] is not robot:
            first = Folds.of(robot).first(RUNGE_KUTTA) if self.charts.moving else np.zeros(0)
            self._folds = robot, np.tile(first, (*now.q.shape[:-1], 1))
        return self._folds[1]

    def _meet_folds(self, now: SimulatedState, lost: np.ndarray) -> bool:
        """Look for folds near samples (...) whose step gave no state; whether any of them may make it now."""
        if not self.charts.moving:
            return False
        folds, numbers, met = Folds.of(self.charts.now), self._branches(now), False
        for i in _indices(lost):
            changed = folds.meet(numbers[i], now.q[i], now.v[i])
            if changed is not None:
                met, numbers[i] = True, changed
        return met

    def _parts(self, t: float, now: SimulatedState, lost: np.ndarray, dt: float) -> int:
        """In how many parts a step should be made that gave some samples (...) no state; see `Folds.parts`."""
        if not self.charts.moving:
            return 0
        folds, numbers, most = Folds.of(self.charts.now), self._branches(now), 0
        for i in _indices(lost):
            count, numbers[i] = folds.parts(numbers[i], now.q[i], now.v[i] * dt)
            self.stuck_at = min(self.stuck_at, t) if count == 1 else self.stuck_at
            most = max(most, count, key=abs)
        return most

    def _stage(self) -> StageFunction | None:
        """The compiled stage in the velocities in use; None for joints that are independent in part."""
        now, passive = self.charts.now, self.acting is with_passive
        key = id(now), passive  # by identity: to hash a robot takes long
        if key not in self._stages:
            shared = now.model.cluster_tree.has_shared_joints
            stage = None if shared else StageFunction(Followed(self.charts.robot, now), ForceLaw(passive))
            self._stages[key] = (now, stage)
        return self._stages[key][1]

    def _asked(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The user's forces."""
        if self.torque is None:
            return np.zeros(self.charts.robot.nv)
        return self.charts.checked(q, self.torque(t, q, self.charts.to_robot_velocities(q, w)), "tau")

    def _force(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The same on the velocities in use; it is noted if they are not finite."""
        tau = self._asked(t, q, w)
        self.not_finite.look("tau", t, tau, q, w)
        return self.charts.force(q, tau)


def _indices(which: np.ndarray) -> Iterable[tuple[Any, ...]]:
    """The indices of samples (...)."""
    return zip(*np.nonzero(which), strict=True) if which.ndim else [()]


def diverged(state: SimulatedState) -> np.ndarray:
    """The samples (...) that are not finite."""
    if np.isfinite(state.q).all() and np.isfinite(state.v).all():  # which is found sooner than for each sample
        return np.zeros(state.q.shape[:-1], bool)
    return np.asarray(~(np.isfinite(state.q).all(axis=-1) & np.isfinite(state.v).all(axis=-1)))


class ControlSchedule:
    """Controls by name (see `control_sizes`), held for `period` steps each: arrays (..., rows, size) with a row for
    each period, or functions (t, q, v). Every so many steps are `recorded`, and the last one is. `caller` is
    what the user called.
    """

    def __init__(self, robot: System, every: dict[str, Any], period: int, recorded: int, caller: str) -> None:
        self.robot, self.every, self.period, self._caller = robot, every, period, caller
        self._recorded = recorded
        self.arrays = {name: x for name, x in every.items() if isinstance(x, np.ndarray)}
        self.functions = {name: x for name, x in every.items() if callable(x) and not isinstance(x, Traced)}
        self._kept: dict[int, dict[str, np.ndarray]] = {}  # what functions returned, by period, where it is recorded
        self._sizes = control_sizes(robot)
        self.not_finite = NotFinite()

    def ask(self, number: int, t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """The controls of the period that begins with a step, as functions return them."""
        found = {}
        for name, function in self.functions.items():
            read = read_answer(self._caller, q.shape[:-1], function(t, q, v), name, self._sizes[name])
            found[name] = self.look(name, t, read, q, v)
        period = number // self.period
        self._kept[period] = {name: x.copy() for name, x in found.items()}
        begin = (period - 2) * self.period  # what the last state may need, wherever the motion ends, is later
        if (begin + self.period) // self._recorded == begin // self._recorded:
            self._kept.pop(period - 2, None)
        return found

    def look(self, name: str, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The control x (..., size) of a name at a state, returned as it is; it is noted if it is not finite."""
        return self.not_finite.look(name, t, x, q, v)

    def keep_traced(self, number: int, name: str, found: np.ndarray) -> np.ndarray:
        """Keep what a traced function returned, where it is not part of the steps."""
        self._kept.setdefault(number // self.period, {})[name] = found
        return found

    def at(self, name: str, number: int) -> np.ndarray:
        """The control (..., size) of a step."""
        if name in self.arrays:
            return self.arrays[name][..., number // self.period, :]
        return self._kept[number // self.period][name]


class HeldControls:
    """Controls as forces that are held for a period, with those of a function of time and state besides, if any."""

    def __init__(self, controls: ControlSchedule, torque: Torque | None) -> None:
        self._controls, self._torque = controls, torque
        self._now: dict[str, np.ndarray] = {}

    def begin(self, number: int, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Note the controls of a step, which begins with this state."""
        if number % self._controls.period == 0:
            self._now |= self._controls.ask(number, t, q, v)
            for name, x in self._controls.every.items():
                if isinstance(x, Traced):
                    self._now[name] = self._controls.keep_traced(number, name, x(t, q, v))
        self._now |= {name: self._controls.at(name, number) for name in self._controls.arrays}
        for name, x in self._now.items():
            self._controls.look(name, t, x, q, v)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces of this step."""
        tau = self._now.get("tau", np.zeros(v.shape[-1]))
        if self._torque is not None:
            tau = tau + self._torque(t, q, v)
        return tau + forces_of(self._controls.robot, q, v, self._now)


def forces_of(robot: Any, q: np.ndarray, v: np.ndarray, acting: Mapping[str, np.ndarray]) -> Any:
    """Joint forces (..., nv) of actuators and wrenches among controls (..., size) by name; zero if there are none."""
    total: Any = 0.0
    if "u" in acting:
        total = total + robot.control_force(q, v, acting["u"])
    if "f_ext" in acting:
        flat = acting["f_ext"]
        total = total + robot.generalized_force(q, flat.reshape(*flat.shape[:-1], -1, 6))
    return total


class PythonRun:
    """A running simulation with forces asked from Python: its state, and what was recorded, beginning with `given`."""

    def __init__(
        self,
        follower: Follower,
        start: SimulatedState,
        dt: float,
        every: int,
        given: SimulatedState,
        not_finite: NotFinite,
    ) -> None:
        self._not_finite = not_finite
        self._follower, self._now, self._dt, self._every = follower, start, dt, every
        self._steps = 0
        self._times, self._states = [0.0], [given]
        self._given_up = diverged(start)
        self._lost_at = np.full(start.q.shape[:-1], np.inf)  # when each sample diverged that was finite at the start

    @property
    def t(self) -> float:
        """The time reached."""
        return self._steps * self._dt

    def reach(self, step: int, steps: int) -> bool:
        """Come to a step; False where no finite sample is left."""
        while self._steps < step:
            if not self._advance():
                return False
        return True

    def _advance(self) -> bool:
        """Make a step, and record it if that is due; False where no finite sample is left."""
        follower, now = self._follower, self._now
        if isinstance(follower.torque, HeldControls):
            follower.torque.begin(self._steps, self.t, now.q, follower.charts.to_robot_velocities(now.q, now.v))
        try:
            after = follower.step(self.t, now, self._dt)
        except CoordinateError:  # those at the start are valid
            self._lost_at[...] = self.t
            return False
        if not follower.all_finite:
            lost = diverged(after)
            self._lost_at[lost & ~self._given_up & np.isinf(self._lost_at)] = self.t
            if lost.all():
                return False
        self._now, self._steps = after, self._steps + 1
        if self._steps % self._every == 0:
            self._record()
        return True

    def _record(self) -> None:
        if self._times[-1] != self.t:
            self._times.append(self.t)
            self._states.append(
                self._now._replace(v=self._follower.charts.to_robot_velocities(self._now.q, self._now.v))
            )

    @property
    def trajectory(self) -> Run:
        """The recorded states, and the last one."""
        self._record()
        q, v, lost = (np.array(x) for x in zip(*self._states, strict=True))
        return Run(np.array(self._times), q, v, self._follower.charts.robot, lost)

    @property
    def made(self) -> np.ndarray:
        """The steps that each sample (...) made."""
        lost = np.where(np.isinf(self._lost_at), self._steps, np.round(self._lost_at / self._dt))
        return np.where(self._given_up, 0, lost).astype(int)

    def finish(self) -> None:
        """No-op; divergence is reported elsewhere."""

    def warn_of_divergence(self) -> None:
        """Warn when the motion diverged, and in how many samples."""
        warn_of_divergence(self._follower.charts.robot, self._lost_at, self._dt, self._not_finite)

    def warn_of_folds(self, caller: str) -> None:
        """Warn where a loop came to a position in which its motion is not determined well."""
        warn_of_folds(caller, self._follower.charts.robot, np.array(getattr(self._follower, "stuck_at", np.inf)))
