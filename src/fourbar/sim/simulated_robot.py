"""Simulations of a robot alone: what is asked for, and what makes the steps, machine code or Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..functions.rollout import ALWAYS, GIVEN, NONE
from ..system.constrained.actuated import Actuated
from ..system.constrained.robot import Constrained
from ..system.system import System
from .applied_forces import acting_on, warn_of_contacts, warn_of_limits, with_passive
from .compiled_stepper import CompiledStepper, ControlRows, PartlyIndependent
from .constrained import ConstrainedFollower, check_met, follower_of, in_drives
from .constrained_stepper import ConstrainedStepper
from .given_numbers import GivenNumbers, are_passive, read_numbers, refuse_dry_friction, refuse_moved_rows
from .loops.charted_run import ChartedRun
from .loops.varied_loops import close
from .observe import check_driven, read_observations
from .outcome import check_room, states_attached, warn_of_divergence, warn_of_folds
from .read_arguments import MotionRequest, check_closed, on_copies, read_control, read_state, started
from .run import Run
from .runge_kutta import (
    ControlSchedule,
    Follower,
    HeldControls,
    PythonRun,
    SimulatedState,
    Torque,
    forces_of,
)
from .runge_kutta_step import ForceLaw, Traced, control_sizes
from .state_observer import InstantObserver, Observer, kept_observer
from .wrenches import read_wrenches


class CompiledRun:
    """A simulation in machine code: controls are arrays, traced, or those of functions that Python asks at the start of
    each period.
    """

    def __init__(self, stepper: CompiledStepper, controls: ControlSchedule, period: int, threads: int | None) -> None:
        self.stepper, self.controls, self._period, self._threads = stepper, controls, period, threads
        sizes = control_sizes(stepper.robot)
        rows = min((x.shape[-2] for x in controls.arrays.values()), default=1)
        still = {name: np.broadcast_to(0.0, (rows, sizes[name])) for name in stepper.law.given}
        given = {name: controls.arrays.get(name, x) for name, x in still.items()}
        self._rows = {name: self._spread(x) for name, x in given.items()}
        self._varies = bool(controls.arrays)

    def _spread(self, x: np.ndarray) -> np.ndarray:
        """Controls (..., rows, size) as (n, rows, size)."""
        n, batch = self.stepper.n, self.stepper.batch
        wide = x if x.shape[:-2] == batch else np.broadcast_to(x, (*batch, *x.shape[-2:]))
        return wide.reshape(n, *x.shape[-2:])

    @property
    def t(self) -> float:
        """The time reached."""
        return self.stepper.steps * self.stepper.dt

    def reach(self, step: int, steps: int) -> bool:
        """Come at least to a step, and at most to `steps`; False where no sample moves any more."""
        stepper = self.stepper
        while stepper.steps < step and not stepper.is_over:
            count = min(stepper.several, steps - stepper.steps)
            rows, hold = self._rows, self._period if self._varies else ALWAYS
            if self.controls.functions:
                count = min(count, self._period - stepper.steps % self._period)
                if stepper.steps % self._period == 0:
                    self._ask()
                row = stepper.steps // self._period
                rows = {name: x[:, row : row + 1] if name in self.controls.arrays else x for name, x in rows.items()}
                hold = ALWAYS
            stepper.advance(count, ControlRows([rows[name] for name in stepper.law.given], hold), self._threads)
        return not stepper.is_over

    def _ask(self) -> None:
        """Ask for the controls of the next period."""
        state = self.stepper.states()
        for name, x in self.controls.ask(self.stepper.steps, self.t, state.q, state.v).items():
            self._rows[name] = self._spread(x[..., None, :])

    def _force(self, t: float, q: np.ndarray, v: np.ndarray, ids: np.ndarray) -> Any:
        """The forces at a time, of some samples."""
        law, motion = self.stepper.law, self.stepper.motion
        look = self.controls.not_finite.look
        found = np.zeros_like(v) if law.torque is None else look("tau", t, np.asarray(law.torque(t, q, v)), q, v)
        step = int(t / self.stepper.dt + 0.25)
        acting = {name: motion.part(f"held_{name}")[ids] for name in law.asked}
        for name in law.asked:  # what is held may be of the period before
            self.controls.look(name, t, np.asarray(self.controls.every[name](t, q, v)), q, v)
        for name, x in self._rows.items():
            held = name in self.controls.arrays
            acting[name] = x[ids, min(step // self._period, x.shape[1] - 1) if held else 0]
        shaped = {name: self.controls.look(name, t, x.reshape(*v.shape[:-1], -1), q, v) for name, x in acting.items()}
        return found + shaped.get("tau", 0.0) + forces_of(self.stepper.robot, q, v, shaped)

    @property
    def made(self) -> np.ndarray:
        """The steps that each sample (...) made."""
        return self.stepper.now.made.reshape(self.stepper.batch).astype(int)

    def finish(self) -> None:
        """Say why samples diverged, where the robot's functions know it."""
        self.stepper.explain(self._force)

    @property
    def trajectory(self) -> Run:
        """The recorded states, and the last one."""
        return self.stepper.trajectory()

    @property
    def held(self) -> dict[str, np.ndarray]:
        """Traced controls at the times of the trajectory, by name."""
        return self.stepper.held

    def warn_of_divergence(self) -> None:
        """Warn when the motion diverged, and in how many samples."""
        stepper = self.stepper
        warn_of_divergence(stepper.robot, stepper.lost_at(), stepper.dt, self.controls.not_finite)

    def warn_of_folds(self, caller: str) -> None:
        """Warn where loops came to a position in which their motion is not determined well."""
        stepper = self.stepper
        motion = stepper.motion
        if isinstance(motion, ChartedRun) and motion.folds_are_met:
            warn_of_folds(caller, stepper.robot, (motion.now.stuck * stepper.dt).reshape(stepper.batch))


class Simulation:
    """A simulation of a robot alone: its checked arguments, and what makes its steps."""

    def __init__(self, robot: Any, wanted: MotionRequest) -> None:
        tau, u, torque = wanted.tau, wanted.u, None
        if wanted.is_law and callable(tau):
            tau, torque = None, tau
        if isinstance(robot, Actuated):
            robot, torque, u = in_drives(robot, torque, tau, u)
            tau = None
        self.held = robot if isinstance(robot, Constrained) else None
        robot = robot if self.held is None else self.held.system
        dt, steps = wanted.dt, wanted.steps
        self.torque: Any = on_copies(torque)
        self.given_q, self.given_v = read_state(wanted.caller, robot, wanted.q, wanted.v)
        self.period = wanted.hold
        rows = -(-steps // self.period)
        given = {"tau": read_control(robot, tau, rows), "u": read_control(robot, u, rows, "u"),
                 "f_ext": read_wrenches(wanted.caller, robot, wanted.f_ext, rows)}  # fmt: skip
        acting = {name: x for name, x in given.items() if x is not None}
        self.controls = ControlSchedule(robot, acting, self.period, wanted.every, wanted.caller)
        self.numbers = self._read_numbers(robot, wanted.numbers)
        self.observed = read_observations(wanted.observe, robot.model)
        if "u" not in self.controls.every:
            check_driven(self.observed, robot.mechanism)
        for name, x in self.controls.arrays.items():
            self._spread(name, x.shape[:-2])
        for x, values in zip(self.numbers.which, self.numbers.of_robot.values(), strict=True):
            self._spread(f"numbers: {x.name!r}", values.shape[: values.ndim - len(x.shape)])
        self.robot, self.threads = robot, wanted.threads
        self.dt, self.steps, self.every = dt, steps, wanted.every
        check_room(wanted.caller, steps, wanted.every, math.prod(self.given_q.shape[:-1]) * (robot.nq + robot.nv + 1))
        given = self.numbers.which, self.numbers.by_name
        if self.numbers.which:
            self.given_q, self.given_v = close(wanted.caller, robot, *given, self.given_q, self.given_v)
        check_closed(robot, self.given_q, self.numbers.which)
        start = started(robot, self.given_q, np.zeros_like(self.given_v), *given)
        if self.held is not None:
            check_met(self.held, self.given_q, self.given_v)
        self.start = SimulatedState(start, self.given_v.copy(), np.zeros(start.shape[:-1]))
        self.acting = acting_on(robot, wanted.passive, wanted.caller)
        if wanted.passive and are_passive(self.numbers.which):
            self.acting = with_passive
        self.motion = self.run()

    def _read_numbers(self, robot: System, numbers: Any) -> GivenNumbers:
        found = read_numbers(robot.mechanism, numbers)
        refuse_dry_friction(found.which)
        if self.held is not None:
            refuse_moved_rows(found.which)
        return found

    def _spread(self, name: str, more: tuple[int, ...]) -> None:
        try:
            batch = np.broadcast_shapes(more, self.given_q.shape[:-1])
        except ValueError:
            raise ArgumentError(
                f"{name}: leading axes {more} do not fit a batch of states {self.given_q.shape[:-1]}"
            ) from None
        if batch != self.given_q.shape[:-1]:
            both = (self.given_q, self.given_v)
            self.given_q, self.given_v = (np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in both)

    @property
    def is_compiled(self) -> bool:
        """Whether all steps can be machine code."""
        from_python = self.torque is not None and not isinstance(self.torque, Traced)
        return not from_python and not self.robot.model.cluster_tree.has_shared_joints

    def law(self) -> ForceLaw:
        """The forces on the robot, in compiled steps."""
        inside = {name: x for name, x in self.controls.every.items() if isinstance(x, Traced)}
        tau: Any = inside.get("tau", GIVEN if self.torque is None else NONE)
        u, f_ext = (inside.get(name, GIVEN if name in self.controls.every else NONE) for name in ("u", "f_ext"))
        period = self.period if inside else 1
        return ForceLaw(self.acting is with_passive, self.torque, tau, u, period, self.numbers.which, f_ext)

    def reach(self, numbers: Iterable[int]) -> None:
        """Make the steps of these numbers, unless no sample moves any more."""
        for i in numbers:
            try:
                is_moving = self.motion.reach(i + 1, self.steps)
            except PartlyIndependent:
                self.motion = self.python_run()
                is_moving = self.motion.reach(i + 1, self.steps)
            if not is_moving:
                break

    def run(self) -> Any:
        """The motion at its beginning."""
        if not self.is_compiled:
            return self.python_run()
        given = self.start, self.dt, self.steps, self.every, self.acting
        try:
            if self.held is not None:
                stepper: CompiledStepper = ConstrainedStepper(self.held, self.law(), *given, self._values())
            else:
                stepper = CompiledStepper(self.robot, self.law(), *given, self._values())
        except PartlyIndependent:
            return self.python_run()
        stepper.begin_at(self.given_q, self.given_v)
        return CompiledRun(stepper, self.controls, self.period, self.threads)

    def _values(self) -> dict[str, np.ndarray]:
        """The parameters of all samples (n, *shape)."""
        batch, found = self.given_q.shape[:-1], {}
        for x, (name, values) in zip(self.numbers.which, self.numbers.of_robot.items(), strict=True):
            found[name] = np.broadcast_to(values, (*batch, *x.shape)).reshape(-1, *x.shape)
        return found

    def python_run(self) -> PythonRun:
        """A run that calls Python for forces in every pass."""
        if self.numbers.which:
            raise ArgumentError(
                "numbers: parameters that differ from sample to sample need compiled steps: give tau with a period, or "
                "as fb.traced(tau); no joint of a loop, such as a ball, may be partly independent"
            )
        follower = self._follower()
        follower.not_finite = self.controls.not_finite
        given = SimulatedState(self.given_q, self.given_v, self.start.lost)
        return PythonRun(follower, self.start, self.dt, self.every, given, self.controls.not_finite)

    def _follower(self) -> Follower:
        """The stepper that calls Python for forces."""
        if self.held is not None:
            return ConstrainedFollower(self.held, self._python_torque(), self.acting is with_passive)
        return Follower(self.robot, self._python_torque(), self.acting)

    def _python_torque(self) -> Torque | None:
        """The forces as a function of time and state, asked in every pass."""
        return HeldControls(self.controls, self.torque) if self.controls.every else self.torque

    # What is reported of the motion besides its states.

    def states_so_far(self, error: BaseException) -> Run:
        """The states before an error; without observations where a function of the user's may have failed."""
        return self.result(round(self.motion.t / self.dt), isinstance(error, KeyboardInterrupt))

    def result(self, wanted: int, reported: bool = True) -> Run:
        """The states so far, if `reported` with the controls of actuators, and with what was observed. Samples that
        have made fewer steps than `wanted` have diverged.
        """
        made = self.motion.made
        run = replace(self.motion.trajectory, steps=made, diverged=np.asarray(made < wanted))
        return self._reported(run) if reported else run

    def padded(self, run: Run) -> Run:
        """A run with NaN in the rows after the last finite state of all samples, if it has ended before its time."""
        made = round(run.t[-1] / self.dt)
        if made == self.steps:
            return run
        count, rows = 1 + -(-self.steps // self.every), 1 + made // self.every  # without a state between two records

        def longer(x: np.ndarray | None) -> Any:
            return None if x is None else np.concatenate([x[:rows], np.full((count - rows, *x.shape[1:]), np.nan)])

        t = np.minimum(np.arange(count) * self.every, self.steps) * self.dt
        seen = {name: longer(x) for name, x in run.observations.items()}
        more = {name: longer(getattr(run, name)) for name in ("q", "v", "lost", "u")}
        return replace(run, t=t, observations=seen, **more)

    def _reported(self, motion: Run) -> Run:
        """The run with the controls of actuators, and with what was observed."""
        run = self.motion
        numbers = np.round(motion.t / self.dt).astype(int)
        reported = [name for name in self.controls.every if name == "u" or self.observed]
        acted = {name: self._acted(name, numbers, run) for name in reported}
        u = acted.get("u")
        found: dict[str, np.ndarray] = {}
        if self.observed:
            values = {name: x.reshape(*self.given_q.shape[:-1], *x.shape[1:]) for name, x in self._values().items()}
            watch = self._observer(Observer, self.numbers.which, self.observed)
            found = {name: x[None] for name, x in watch.observe(motion.q[0], motion.v[0], values).items()}
            if len(motion.t) > 1:
                later = self._later(motion, acted, values)
                found = {name: np.concatenate([x, later[name]]) for name, x in found.items()}
        return replace(motion, u=u, observations=found)

    def _later(self, motion: Run, acted: dict[str, np.ndarray], values: dict[str, Any]) -> dict[str, Any]:
        """The observations at all times but the first."""
        is_traced = isinstance(self.torque, Traced) and self.held is None
        law = self.law()._replace(torque=self.torque if is_traced else None)
        given = {name: x[1:] for name, x in acted.items()}
        if self.torque is not None and not is_traced:
            asked = [self.torque(t, q, v) for t, q, v in zip(motion.t[1:], motion.q[1:], motion.v[1:], strict=True)]
            given["tau"] = np.array([np.broadcast_to(x, motion.v.shape[1:]) for x in asked])
        if self.held is not None:
            tau = given.get("tau", np.zeros(self.robot.nv))
            robots: Any = self.robot
            if values:
                robots = self.robot.varying(*(x.name for x in self.numbers.which)).at(**values)
            tau = tau + forces_of(robots, motion.q[1:], motion.v[1:], given)
            follower = follower_of(self.held, robots, None, self.acting is with_passive)
            given["a"] = follower.accelerations(motion.q[1:], motion.v[1:], tau)
        t = motion.t[1:].reshape(-1, *[1] * (motion.q.ndim - 2))
        watch = self._observer(InstantObserver, law, self.observed)
        return watch.observe(t, motion.q[1:], motion.v[1:], given, values)

    def _observer(self, make: Any, *given: Any) -> Any:
        return kept_observer(vars(self.robot).setdefault("_observers", {}), make, self.robot.model, *given)

    def _acted(self, name: str, numbers: np.ndarray, run: Any) -> np.ndarray:
        """The controls in the steps that end with these numbers (n, ..., size); NaN at the start."""
        wanted = (len(numbers), *self.given_q.shape[:-1], control_sizes(self.robot)[name])
        found = np.full(wanted, np.nan)
        if isinstance(run, CompiledRun) and name in run.held:
            found[1:] = run.held[name][1:]
            return found
        for k, number in enumerate(numbers[1:], 1):
            found[k] = self.controls.at(name, int(number) - 1)
        return found


def run_robot(robot: Any, request: MotionRequest) -> Run:
    """The run of a motion of a robot alone. A simulation that diverges warns, or raises an error that says why; a
    rollout only marks the samples.
    """
    simulation, caller, steps = Simulation(robot, request), request.caller, request.steps
    warn_of_contacts(simulation.robot, caller)
    is_rollout = caller == "rollout"
    with states_attached(caller, lambda: simulation.motion.t, simulation.states_so_far):
        simulation.reach((steps - 1,) if request.progress is None else request.progress(range(steps)))
        if not is_rollout:
            simulation.motion.finish()
    run = simulation.result(steps)
    if not is_rollout:
        simulation.motion.warn_of_divergence()
    simulation.motion.warn_of_folds(caller)
    if is_rollout:
        return simulation.padded(run)
    warn_of_limits(simulation.robot, run.t, run.q)
    return run
