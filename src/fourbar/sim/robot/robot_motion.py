"""Motions of a robot alone: from checked arguments to the run, with warnings of what went wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...compile.rollout_loop import DIVERGED, RUNNING
from ...errors import ArgumentError, CoordinateError
from ...functions.rollout import GIVEN, NONE
from ...once import make_recent
from ...spatial.linear import Vec
from ...system.constrained.actuated import Actuated
from ...system.constrained.robot import Constrained
from ...system.system import System
from ..loops.chart_table import Chart
from ..loops.charted_run import ChartedRun
from ..loops.varied_loops import close
from ..motions.controlled_motion import ControlledMotion, MotionControls, force_of_controls
from ..motions.given_numbers import GivenNumbers, are_passive, read_numbers, refuse_dry_friction, refuse_moved_rows
from ..motions.outcome import (
    Acting,
    acting_on,
    warn_of_contacts,
    warn_of_divergence,
    warn_of_folds,
    warn_of_limits,
    with_passive,
)
from ..motions.read_arguments import (
    MotionRequest,
    check_closed,
    on_copies,
    read_act,
    read_state,
    starting_configuration,
)
from ..motions.run import Run
from ..observe import Observer, cached_observer, check_driven, read_observations
from .constrained import ConstrainedFollower, ConstrainedRun, check_met, constrained_rollout, follower_of, in_drives
from .runge_kutta import Follower, PythonSamples, SimulatedState, charts_of, step
from .runge_kutta_step import Followed, ForceLaw, Traced, control_sizes, rollout_of, signals_of


class RobotMotion(ControlledMotion):
    """A motion of a robot alone: its checked arguments, and what is reported of it."""

    ends_early = True

    def __init__(self, robot: Any, request: MotionRequest) -> None:
        caller, tau, u, torque = request.caller, request.tau, request.u, None
        if request.is_law and callable(tau):
            tau, torque = None, tau
        if isinstance(robot, Actuated):
            robot, torque, u = in_drives(robot, torque, tau, u)
            tau = None
        self.held = robot if isinstance(robot, Constrained) else None
        system: Any = robot if self.held is None else self.held.system
        self.robot: System = system
        self.torque: Any = on_copies(torque)
        q, v = read_state(caller, self.robot, request.q, request.v)
        controls = MotionControls(caller, self.robot, request.steps, request.hold, tau=tau, u=u, f_ext=request.f_ext)
        self.numbers = self._read_numbers(request.numbers)
        self.observed = read_observations(request.observe, self.robot.model)
        if "u" not in controls.every:
            check_driven(self.observed, self.robot.mechanism)
        q, v = self._spread(controls, q, v)
        which, values = self.numbers.which, self.numbers.by_name
        if which:
            q, v = close(caller, self.robot, which, values, q, v)
        check_closed(self.robot, q, which)
        start = starting_configuration(self.robot, q, np.zeros_like(v), which, values)
        if self.held is not None:
            check_met(self.held, q, v)
        self._given, self._start = {"q": q, "v": v}, {"q": start, "v": v.copy()}
        self._has_act = "u" in controls.every and bool(self.robot.na)
        if self._has_act:
            self._start["act"] = read_act(caller, self.robot, request.act, True)
            self._given["act"] = self._start["act"]
        elif request.act is not None:
            read_act(caller, self.robot, request.act, "u" in controls.every)
        self.acting: Acting = acting_on(self.robot, request.passive, caller)
        if request.passive and are_passive(which):
            self.acting = with_passive
        self.lost_at_start = ~(np.isfinite(start).all(axis=-1) & np.isfinite(v).all(axis=-1)).reshape(-1)
        self._begin(request, self._samples(request, controls), controls)

    def _read_numbers(self, numbers: Any) -> GivenNumbers:
        known = read_numbers(self.robot.mechanism, numbers)
        refuse_dry_friction(known.which)
        if self.held is not None:
            refuse_moved_rows(known.which)
        return known

    def _spread(self, controls: MotionControls, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state with the leading axes of controls and numbers too."""
        leading = [(name, x.shape[:-2]) for name, x in controls.arrays.items()]
        for x, values in zip(self.numbers.which, self.numbers.of_robot.values(), strict=True):
            leading.append((f"numbers: {x.name!r}", values.shape[: values.ndim - len(x.shape)]))
        batch = q.shape[:-1]
        for name, axes in leading:
            try:
                batch = np.broadcast_shapes(axes, batch)
            except ValueError:
                raise ArgumentError(f"{name}: leading axes {axes} do not fit a batch of states {batch}") from None
        if batch == q.shape[:-1]:
            return q, v
        return np.broadcast_to(q, (*batch, q.shape[-1])).copy(), np.broadcast_to(v, (*batch, v.shape[-1])).copy()

    def _begin(self, request: MotionRequest, samples: Any, controls: MotionControls) -> None:
        held = [f"held_{name}" for name in controls.traced]
        names = ("q", "v", "lost", *(["act"] if self._has_act else []), *held)
        super().__init__(request, samples, controls, names, self._given | dict.fromkeys(held, np.nan))

    def _law(self, controls: MotionControls, hold: int) -> ForceLaw:
        """The forces on the robot, in compiled steps."""
        inside, every = controls.traced, controls.every
        tau: Any = inside.get("tau", GIVEN if self.torque is None else NONE)
        u, f_ext = (inside.get(name, GIVEN if name in every else NONE) for name in ("u", "f_ext"))
        period = hold if inside else 1
        return ForceLaw(self.acting is with_passive, self.torque, tau, u, period, self.numbers.which, f_ext)

    def _samples(self, request: MotionRequest, controls: MotionControls) -> Any:
        """The samples at their start, in machine code if that can be."""
        from_python = self.torque is not None and not isinstance(self.torque, Traced)
        if from_python:
            return self._python_samples(request, controls)
        self._compiled = self._law(controls, request.hold)
        return self._machine_samples({"dt": request.dt, **self.numbers.of_robot}, controls)

    def _chart(self, now: System) -> Chart:
        """The compiled steps in the velocities of `now`. They stay with the robot, and so do the last traced ones."""
        robot, held, law = self.robot, self.held, self._compiled

        def make() -> Chart:
            if held is not None:
                return Chart(now, constrained_rollout(held, law), [])
            followed = Followed(robot, now)
            return Chart(now, rollout_of(followed, law), followed.loops)

        cache = vars(robot if held is None else held).setdefault("_rollouts", {})
        return make_recent(cache, (now, law), make, lambda x: x[1].is_traced)

    def _machine_samples(self, numbers: dict[str, Any], controls: MotionControls) -> Any:
        """Samples in machine code; only those with loops that are solved are charted."""
        home, law = self._chart(self.robot), self._compiled
        state: dict[str, Any] = {name: np.zeros(shape) for name, shape in home.rollout.step.state.items()}
        state |= self._start
        if self.held is not None:
            return ConstrainedRun(self.held, self._chart, state, numbers, law, controls)
        if home.loops:
            return ChartedRun(self.robot, self._chart, state, numbers, which=law.which)
        samples = home.rollout.start(state, numbers)
        samples.now = samples.now._replace(status=np.where(self.lost_at_start, float(DIVERGED), float(RUNNING)))
        return samples

    def _python_samples(self, request: MotionRequest, controls: MotionControls) -> PythonSamples:
        """Samples whose forces Python is asked for in every pass."""
        if self._has_act:
            raise ArgumentError(
                f"u: actuators of {self.robot.name!r} have dynamics or delays, which need compiled steps: give tau "
                "with a period, or as fb.traced(tau); no joint of a loop, such as a ball, may be partly independent"
            )
        if self.numbers.which:
            raise ArgumentError(
                "numbers: parameters that differ from sample to sample need compiled steps: give tau with a period, or "
                "as fb.traced(tau)"
            )
        passive = self.acting is with_passive
        follower = (
            ConstrainedFollower(self.held, self.torque, passive)
            if self.held is not None
            else Follower(self.robot, self.torque, self.acting)
        )
        state = SimulatedState(self._start["q"], self._start["v"], np.zeros(self._start["q"].shape[:-1]))
        return PythonSamples(follower, state, request.dt, controls)

    # Its outcome.

    @property
    def _loss_times(self) -> np.ndarray:
        """When samples (...) diverged that were finite at the start (s); others never."""
        now = self.samples.now
        gone = (now.status == DIVERGED) & ~self.lost_at_start
        return np.where(gone, now.made * self.dt, np.inf).reshape(self.samples.batch)

    def finish(self) -> None:
        """Repeat the steps of samples that diverged by the robot's own functions, which say why: an error if there is
        one sample only, else a warning.
        """
        samples, now = self.samples, self.samples.now
        lost = (now.status == DIVERGED) & ~self.lost_at_start
        if self.request.caller == "rollout" or isinstance(samples, PythonSamples) or not lost.any():
            return
        if self.numbers.which:  # the robot's own functions know other numbers
            return
        charted = isinstance(samples, ChartedRun)
        chart = now.chart if charted else np.zeros(samples.n, int)
        q, v = (now.state[name] if charted else samples.part(name).reshape(samples.n, -1) for name in ("q", "v"))
        for k in np.unique(chart):
            gone = lost & (chart == k)
            for count in np.unique(now.made[gone]):
                ids = np.flatnonzero(gone & (now.made == count))
                which: Any = ids if samples.batch else int(ids[0])
                charts = samples.table.at(k) if charted else charts_of(self.robot)
                self._explain(SimulatedState(q[which], v[which], 0.0), charts, count, ids)

    def _explain(self, state: SimulatedState, charts: Any, made: Any, ids: np.ndarray) -> None:
        """Repeat a step, or look at its forces if it was repeated already and said why it failed."""
        t = made * self.dt
        if self.held is not None:
            self._force(t, state.q, state.v, ids)
            return

        def force_at(t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
            return charts.force(q, self._force(t, q, charts.to_robot_velocities(q, w), ids))

        try:
            step(charts.now, t, state, self.dt, force_at, self.acting)
        except CoordinateError:
            return

    def _force(self, t: float, q: np.ndarray, v: np.ndarray, ids: np.ndarray) -> Any:
        """The forces at a time, of some samples; it is noted if they are not finite."""
        controls, samples, look = self.controls, self.samples, self.controls.not_finite.look
        total = np.zeros_like(v) if self.torque is None else look("tau", t, np.asarray(self.torque(t, q, v)), q, v)
        acting = controls.acting(samples, ids, int(t / self.dt + 0.25))
        for name, traced in controls.traced.items():
            look(name, t, np.asarray(traced(t, q, v)), q, v)  # what is held may be of the period before
            acting[name] = samples.part(f"held_{name}").reshape(samples.n, -1)[ids]
        if self._has_act:
            acting["u"] = self._signals(samples.part("act").reshape(samples.n, -1)[ids], acting["u"])
        shaped = {name: look(name, t, x.reshape(*v.shape[:-1], -1), q, v) for name, x in acting.items()}
        return total + force_of_controls(self.robot, q, v, shaped)

    def _signals(self, act: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The inputs of the laws of actuators (..., nu) at their states (..., na), with controls (..., nu)."""
        signals = signals_of(self.robot, self._law(self.controls, 1))
        entries = signals.at_rest(Vec(np.moveaxis(act, -1, 0)), Vec(np.moveaxis(u, -1, 0)))
        return np.stack(entries, axis=-1)

    def result(self) -> Run:
        """The states so far, with the controls of actuators, and with what was observed."""
        return self._with_reports(self.states())

    def result_so_far(self, error: BaseException) -> Run:
        """The states before an error; without observations where a function of the user's may have failed."""
        run = self.states()
        return self._with_reports(run) if isinstance(error, KeyboardInterrupt) else run

    def states(self) -> Run:
        """The states so far. Samples that have made fewer steps than were asked for have diverged."""
        t, records = self.records()
        self._held = {name: records[f"held_{name}"] for name in self.controls.traced}
        wanted = self.steps if self.is_over else min(self.steps, self.samples.now.steps)
        made = self.step_counts
        return Run(t, records["q"], records["v"], self.robot, records["lost"], made, np.asarray(made < wanted),
                   act=records.get("act"))  # fmt: skip

    def warn_of(self, run: Run) -> None:
        """Warn of divergence and limits, but in rollouts, which mark samples; and of folds."""
        samples, lost_at, caller = self.samples, self._loss_times, self.request.caller
        if caller != "rollout":
            if np.isfinite(lost_at).any() and not isinstance(samples, PythonSamples):
                self.controls.look_at_rows(self.dt)
            warn_of_divergence(self.robot, lost_at, self.dt, self.controls.not_finite)
        since = samples.stuck_since(self.dt) if hasattr(samples, "stuck_since") else None
        if since is not None:
            warn_of_folds(caller, self.robot, since)
        if caller != "rollout":
            warn_of_limits(self.robot, run.t, run.q)

    def pad(self, run: Run) -> Run:
        """A run with NaN in the rows after the last finite state of all samples, if it has ended before its time."""
        made = round(run.t[-1] / self.dt)
        if made == self.steps:
            return run
        count, rows = 1 + -(-self.steps // self.every), 1 + made // self.every  # without a state between two records

        def longer(x: np.ndarray | None) -> Any:
            return None if x is None else np.concatenate([x[:rows], np.full((count - rows, *x.shape[1:]), np.nan)])

        t = np.minimum(np.arange(count) * self.every, self.steps) * self.dt
        seen = {name: longer(x) for name, x in run.observations.items()}
        more = {name: longer(getattr(run, name)) for name in ("q", "v", "lost", "u", "act")}
        return replace(run, t=t, observations=seen, **more)

    # Controls and observations at the recorded times.

    def _with_reports(self, run: Run) -> Run:
        """The run with the controls of actuators, and with what was observed."""
        numbers = np.round(run.t / self.dt).astype(int)
        acted = {
            name: self._control_records(name, numbers) for name in self.controls.every if name == "u" or self.observed
        }
        observations: dict[str, np.ndarray] = {}
        if self.observed:
            values = self._values()
            watch = self._observer(self.numbers.which, self.observed)
            observations = {name: x[None] for name, x in watch.observe(run.q[0], run.v[0], values).items()}
            if len(run.t) > 1:
                later = self._later(run, acted, values)
                observations = {name: np.concatenate([x, later[name]]) for name, x in observations.items()}
        return replace(run, u=acted.get("u"), observations=observations)

    def _values(self) -> dict[str, np.ndarray]:
        """The parameters of all samples (..., *shape)."""
        both = zip(self.numbers.which, self.numbers.of_robot.items(), strict=True)
        return {name: np.broadcast_to(x, (*self.samples.batch, *p.shape)) for p, (name, x) in both}

    def _later(self, run: Run, acted: dict[str, np.ndarray], values: dict[str, Any]) -> dict[str, Any]:
        """The observations at all times but the first."""
        is_traced = isinstance(self.torque, Traced) and self.held is None
        law = self._law(self.controls, self.request.hold)._replace(torque=self.torque if is_traced else None)
        acting = {name: x[1:] for name, x in acted.items()}
        if run.act is not None:
            acting["u"] = self._signals(run.act[1:], acting["u"])
        if self.torque is not None and not is_traced:
            asked = [self.torque(t, q, v) for t, q, v in zip(run.t[1:], run.q[1:], run.v[1:], strict=True)]
            acting["tau"] = np.array([np.broadcast_to(x, run.v.shape[1:]) for x in asked])
        if self.held is not None:
            robots: Any = self.robot
            if values:
                robots = self.robot.varying(*(x.name for x in self.numbers.which)).at(**values)
            tau = np.zeros(self.robot.nv) + force_of_controls(robots, run.q[1:], run.v[1:], acting)
            follower = follower_of(self.held, robots, None, self.acting is with_passive)
            acting["a"] = follower.accelerations(run.q[1:], run.v[1:], tau)
        t = run.t[1:].reshape(-1, *[1] * (run.q.ndim - 2))
        watch = self._observer(law.which, self.observed, law)
        return watch.observe(run.q[1:], run.v[1:], values, t, acting)

    def _observer(self, *given: Any) -> Observer:
        return cached_observer(vars(self.robot).setdefault("_observers", {}), self.robot.model, *given)

    def _control_records(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """The controls in the steps that end with these numbers (n, ..., size); NaN at the start."""
        controls = np.full((len(numbers), *self.samples.batch, control_sizes(self.robot)[name]), np.nan)
        if name in self._held:
            controls[1:] = self._held[name][1:]
            return controls
        for k, number in enumerate(numbers[1:], 1):
            controls[k] = self.controls.at(name, int(number) - 1)
        return controls


def run_robot(robot: Any, request: MotionRequest) -> Run:
    """The run of a motion of a robot alone. A simulation that diverges warns, or raises an error that says why; a
    rollout only marks the samples.
    """
    motion = RobotMotion(robot, request)
    warn_of_contacts(motion.robot, request.caller)
    run = motion.run()
    return motion.pad(run) if request.caller == "rollout" else run
