"""Fixed-step fourth-order Runge-Kutta on the configuration group (Runge-Kutta-Munthe-Kaas).

Within a step the configuration is written as q(t) = q₀ ⊕ θ(t) with θ in the tangent space, where the classic scheme
applies; quaternions therefore stay of unit length without being renormalised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compile.rollout_loop import DIVERGED, RUNNING
from ...errors import CoordinateError, SingularError
from ...functions.nan_reasons import implicit_loops
from ...system.system import System
from ..loops.charts import ANY, FAIR, Charts
from ..loops.folds import RUNGE_KUTTA, Folds, leapt_well
from ..motions.controlled_motion import MotionControls, NotFinite, force_of_controls
from ..motions.outcome import Acting, with_passive
from ..motions.read_arguments import read_answer
from .runge_kutta_step import Followed, ForceLaw, StageFunction, control_sizes

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class SimulatedState(NamedTuple):
    """Configuration, velocity, and dissipated energy."""

    q: np.ndarray  # (..., nq)
    v: np.ndarray  # (..., nv)
    lost: Any


class StateRates(NamedTuple):
    """The rate of a state: in the chart of the step, the acceleration, and the dissipated power."""

    theta: np.ndarray  # (..., nv)
    a: np.ndarray  # (..., nv)
    lost: Any


def _move(robot: System, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
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
    q = _move(robot, q0, theta)
    if robot.model.cluster_tree.has_shared_joints:  # where the rate of θ depends on q, not on θ alone
        rate = robot.difference.jvp((q0, q), (None, v))
    else:
        rate = robot.chart_rate(theta, v)
    return StateRates(rate, *acting(robot, q, v, torque(t, q, v)))


def step(robot: System, t: float, now: SimulatedState, dt: float, torque: Torque, acting: Acting) -> SimulatedState:
    """One step of length dt from a state at time t."""
    q, v, lost = now
    k1 = _rates(robot, t, q, np.zeros_like(v), v, torque, acting)
    k2 = _rates(robot, t + dt / 2, q, dt / 2 * k1.theta, v + dt / 2 * k1.a, torque, acting)
    k3 = _rates(robot, t + dt / 2, q, dt / 2 * k2.theta, v + dt / 2 * k2.a, torque, acting)
    k4 = _rates(robot, t + dt, q, dt * k3.theta, v + dt * k3.a, torque, acting)
    theta, change, power = (dt / 6 * (a + 2 * (b + c) + d) for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    return SimulatedState(_move(robot, q, theta), v + change, lost + power)


class OwnVelocities:
    """The velocities of a robot without loops that are solved while it moves: its own, always; see `Charts`."""

    moving, usual = False, None

    def __init__(self, robot: System) -> None:
        self.robot = self.now = robot

    def to_robot_velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """As they are."""
        return w

    def force(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """As it is."""
        return tau

    def better(self, q: np.ndarray, w: np.ndarray, poor: float) -> None:
        """No others."""


def charts_of(robot: System) -> Any:
    """The velocities in which a robot is followed."""
    if any(cluster.embedding.is_solved for cluster in robot.model.cluster_tree.clusters):
        return Charts(robot, known=vars(robot).setdefault("_charts", {}))
    return OwnVelocities(robot)


class Follower:
    """Integrates a motion, switching to the velocities of other joints where those of the robot are ill-conditioned.

    Steps are made by compiled stages. Where one gives no finite state, the robot's own functions repeat it and say why.
    """

    def __init__(self, robot: System, torque: Torque | None, acting: Acting) -> None:
        self.charts = charts_of(robot)
        self.torque, self.acting = torque, acting
        self.not_finite = NotFinite()
        self.stuck_at = np.inf  # when a loop came to a fold that no branch leads through
        self.all_finite = False  # whether the last state is known to be finite in all samples
        self._examines = self.charts.moving
        self._stages: dict[Any, tuple[System, StageFunction]] = vars(robot).setdefault("_stages", {})
        self._folds: tuple[System, np.ndarray] | None = None  # the numbers (..., m) of branches near folds

    def step(self, t: float, now: SimulatedState, dt: float) -> SimulatedState:
        """The next state; velocities are those in use."""
        if self._examines:
            now = now._replace(v=self.charts.examine(now.q, now.v))
        try:
            return self._follow(t, now, dt)
        except SingularError:
            changed = self.charts.better(now.q, now.v, ANY)
            if changed is None:
                raise
            return self._follow(t, now._replace(v=changed), dt)

    def _follow(self, t: float, now: SimulatedState, dt: float) -> SimulatedState:
        stage = self._stage()
        self.all_finite, self._examines = False, self.charts.moving
        while True:
            result = stage.step(t, now.q, now.v, dt, self._user_forces, self.charts.usual, self._branches(now))
            after = SimulatedState(result.q, result.v, now.lost + result.lost)
            lost = diverged(after) & ~diverged(now)
            if result.finite or not lost.any():
                self.all_finite = result.finite
                self._examines = result.stop or (self.charts.moving and self.charts.usual is None)
                return after
            if self._meet_folds(now, lost):
                continue
            changed = self.charts.better(now.q, now.v, FAIR) if self.charts.moving else None
            if changed is not None:
                return self._follow(t, now._replace(v=changed), dt)
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

        def leap_from(t: float, now: SimulatedState, dt: float) -> SimulatedState | None:
            made = stage.step(t, now.q, now.v, dt, self._user_forces, self.charts.usual, numbers)
            return SimulatedState(made.q, made.v, now.lost + made.lost) if made.finite else None

        whole, half = leap_from(t, now, dt), leap_from(t, now, 0.5 * dt)
        end = None if half is None else leap_from(t + 0.5 * dt, half, 0.5 * dt)
        if whole is None or end is None:
            return None
        good = leapt_well(self.charts.now, now.q, (whole.q, whole.v), (end.q, end.v))
        return end if good.all() else None

    def _made_in_parts(self, t: float, now: SimulatedState, dt: float, count: int) -> SimulatedState:
        """The state after a step of all samples in `count` parts."""
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

    def _stage(self) -> StageFunction:
        """The compiled stage in the velocities in use."""
        now, passive = self.charts.now, self.acting is with_passive
        key = id(now), passive  # by identity: to hash a robot takes long
        if key not in self._stages:
            self._stages[key] = (now, StageFunction(Followed(self.charts.robot, now), ForceLaw(passive)))
        return self._stages[key][1]

    def _user_forces(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The user's forces."""
        if self.torque is None:
            return np.zeros(self.charts.robot.nv)
        tau = self.torque(t, q, self.charts.to_robot_velocities(q, w))
        return read_answer("simulate", q.shape[:-1], tau, "tau", self.charts.robot.nv)

    def _force(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The same on the velocities in use; it is noted if they are not finite."""
        tau = self._user_forces(t, q, w)
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


class Progress(NamedTuple):
    """The status of each sample, its number of steps, and the steps since the start."""

    status: np.ndarray  # (n,)
    made: np.ndarray  # (n,)
    steps: int


class PythonSamples:
    """Samples whose forces Python is asked for in every pass of a step, to be used as those of a rollout are: besides
    controls that are held, traced ones among them, there may be a function of time and state.
    """

    several = 1

    def __init__(self, follower: Follower, start: SimulatedState, dt: float, controls: MotionControls) -> None:
        self._follower, self._torque, self._state, self._dt = follower, follower.torque, start, dt
        follower.not_finite, self._not_finite = controls.not_finite, controls.not_finite
        if controls.every:
            follower.torque = self._forces
        self.batch = start.q.shape[:-1]
        self.n = math.prod(self.batch)
        sizes = control_sizes(follower.charts.robot)
        self.control_shapes = {name: (sizes[name],) for name in controls.every if name not in controls.traced}
        held = {f"held_{name}": (sizes[name],) for name in controls.traced}
        self.state_shapes = {"q": start.q.shape[-1:], "v": start.v.shape[-1:], "lost": (), **held}
        self.record_shapes = self.state_shapes
        self._traced, self._hold = controls.traced, controls.hold
        self._acting: dict[str, np.ndarray] = {}
        status = np.where(diverged(start), float(DIVERGED), float(RUNNING)).reshape(-1)
        self.now = Progress(status, np.zeros(self.n), 0)

    def stuck_since(self, dt: float) -> np.ndarray:
        """When a loop came to a position in which its motion is not determined well, infinite if never."""
        return np.array(self._follower.stuck_at)

    def part(self, name: str) -> np.ndarray:
        """A part of the state of every sample; velocities are the robot's own."""
        if name.startswith("held_"):
            return self._acting[name.removeprefix("held_")]
        if name == "v":
            return self._follower.charts.to_robot_velocities(self._state.q, self._state.v)
        return np.asarray(getattr(self._state, name))

    def rows(self, controls: Mapping[str, np.ndarray], least: int) -> list[np.ndarray]:
        """Controls (..., rows, size) as (n, rows, size)."""
        wide_rows = []
        for name in self.control_shapes:
            wide = np.broadcast_to(controls[name], (*self.batch, *controls[name].shape[-2:]))
            wide_rows.append(wide.reshape(self.n, *wide.shape[-2:]))
        return wide_rows

    def advance(
        self, steps: int, controls: Sequence[np.ndarray], records: Mapping[str, np.ndarray], *,
        hold: int, every: int, threads: int | None,
    ) -> None:  # fmt: skip
        """Make some steps; see `RolloutRun.advance`."""
        for _ in range(steps):
            number = self.now.steps
            for name, rows in zip(self.control_shapes, controls, strict=True):
                self._acting[name] = rows[:, number // hold].reshape(*self.batch, -1)
            self.now = self._step(number)
            if self.now.steps % every == 0 and (self.now.status == RUNNING).any():
                for name, rows in records.items():
                    rows[:, self.now.steps // every - 1] = self.part(name).reshape(rows[:, 0].shape)

    def _step(self, number: int) -> Progress:
        """The progress after a step; where no finite sample is left, the state stays as it was."""
        follower, before, (status, steps_made, _) = self._follower, self._state, self.now
        t = number * self._dt
        if number % self._hold == 0:
            for name, traced in self._traced.items():
                self._acting[name] = traced(t, before.q, self.part("v"))
        for name, x in self._acting.items():
            self._not_finite.look(name, t, x, before.q, before.v)
        try:
            after = follower.step(t, before, self._dt)
        except CoordinateError:  # those at the start are valid
            return Progress(np.full(self.n, float(DIVERGED)), steps_made, number + 1)
        if not follower.all_finite:
            lost = diverged(after).reshape(-1)
            status = np.where(lost, float(DIVERGED), status)
            if lost.all():
                return Progress(status, steps_made, number + 1)
        self._state = after
        return Progress(status, np.where(status == RUNNING, number + 1.0, steps_made), number + 1)

    def _forces(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces of this step."""
        tau = np.zeros(v.shape[-1]) if self._torque is None else self._torque(t, q, v)
        return tau + force_of_controls(self._follower.charts.robot, q, v, self._acting)
