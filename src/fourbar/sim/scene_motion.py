"""Motions of a scene: from checked arguments to the run, with warnings of what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.candidates import reported_gaps
from ..contact.step_rollout import DRIVEN, Force, Taken
from ..errors import warn
from ..functions.repeated_steps import RepeatedSteps
from ..functions.rollout import ALWAYS, GIVEN, Rolled, RolloutRun
from ..functions.step_end import OBSERVED
from ..system.system import System
from .applied_forces import SimulationWarning
from .given_numbers import NOTHING, GivenNumbers
from .loops.charted_run import ChartedRepeats, ChartedRun, repeated_steps
from .observe import check_driven, read_observations
from .outcome import NotFinite, check_room, loop_hint, states_attached
from .read_arguments import MotionRequest, read_answer, read_control
from .run import Contacts, Residuals, Run
from .runge_kutta_step import Commands, Traced, control_sizes
from .wrenches import read_wrenches

if TYPE_CHECKING:
    from .scene import Scene

_LITTLE = 100.0  # times the tolerance: a residual that most can live with
RECORDS = ("q", "v", "residual", "residuals", "worst", "gap", "force")


class RunningContacts:
    """A motion under way, in machine code; its records have time as the first axis."""

    def __init__(
        self, scene: Scene, motion: RolloutRun | ChartedRun, wanted: MotionRequest, observed: dict[str, np.ndarray]
    ) -> None:
        self.caller, self.scene, self.motion = wanted.caller, scene, motion
        self.dt, self.steps, self.every = wanted.dt, wanted.steps, wanted.every
        self._start, self._observed, self._threads = motion.state, observed, wanted.threads
        known = (*motion.recordable, *RECORDS)
        more = {"kept"} | ({"acting"} if wanted.u is not None else set())
        names = (*RECORDS, *(x for x in known if x in more or x.startswith(OBSERVED)))
        self._tail = motion.room(names, 1, time_first=True)
        check_room(self.caller, self.steps, self.every, sum(x.size for x in self._tail.values()))
        self._rows = motion.room(names, self.steps // self.every, time_first=True)
        self._whole = self.steps - self.steps % self.every  # the steps whose records go into rows
        self.not_finite = NotFinite()
        self._is_driven = wanted.tau is not None or wanted.u is not None

    def repeated(self) -> RepeatedSteps | ChartedRepeats:
        """Its steps with controls that are asked for again and again."""
        return repeated_steps(self.motion, self._rows, self.every, self._threads)

    def advance(self, count: int, controls: list[np.ndarray], hold: int, repeated: Any = None) -> None:
        """Some steps; the last of all is recorded too."""
        before = max(0, min(count, self._whole - self.motion.now.steps))
        if before and repeated is not None:
            repeated.advance(before)
        elif before:
            self.motion.advance(before, controls, self._rows, hold=hold, every=self.every, threads=self._threads)
        if count > before:
            self.motion.advance(
                count - before, controls, self._tail, hold=hold, every=self.steps, threads=self._threads
            )

    @property
    def t(self) -> float:
        """The time that was reached."""
        return self.motion.now.steps * self.dt

    def result(self) -> Run:
        """The motion so far."""
        done = self.motion.now.steps
        rolled = self.motion.outcome(self._rows, self.every)
        batch = self.motion.batch
        records = {x: np.moveaxis(y, len(batch), 0) for x, y in rolled.records.items()}
        times = [0.0, *((np.arange(done // self.every) + 1) * self.every * self.dt).tolist()]
        if done % self.every and done == self.steps:
            times.append(done * self.dt)
            last = {x: y[:, 0].reshape((*batch, *y.shape[2:])) for x, y in self._tail.items()}
            moved = rolled.made == done
            for x, y in last.items():
                kept = np.where(moved.reshape((*batch, *[1] * (y.ndim - len(batch)))), y, np.nan)
                records[x] = np.concatenate([records[x], kept[None]])
        return self._run(np.array(times), records, rolled)

    def _run(self, t: np.ndarray, records: dict[str, np.ndarray], rolled: Rolled) -> Run:
        n, batch = len(self.scene.contacts), self.motion.batch
        first = {
            "q": self._start["q"], "v": self._start["v"], "residual": np.zeros(batch), "worst": np.zeros(batch),
            "residuals": np.zeros((*batch, 3)),
            "gap": np.full((*batch, n), np.nan), "force": np.zeros((*batch, n, 3)),
        }  # fmt: skip
        if "kept" in records:
            first["kept"] = np.zeros(records["kept"].shape[1:])
        if "acting" in records:
            first["acting"] = np.full(records["acting"].shape[1:], np.nan)
        first |= {OBSERVED + x: np.broadcast_to(y, records[OBSERVED + x].shape[1:]) for x, y in self._observed.items()}
        whole = {name: np.concatenate([x[None], records[name]]) for name, x in first.items()}
        gap, force = whole["gap"], whole["force"]
        gap = reported_gaps(gap) if self.scene.may_be_apart else gap
        contacts = Contacts(self.scene.contacts, gap, force, (force != 0.0).any(axis=-1))
        stuck = t.reshape(-1, *[1] * len(batch)) >= self._stuck_since() - 0.5 * self.dt
        good = (whole["residual"] <= self.scene.spec.tolerance) & ~stuck
        last = (rolled.state["q"], rolled.state["v"])
        fast = self.scene.too_fast(whole["v"], self.dt)
        by_law = Residuals(*np.moveaxis(whole["residuals"], -1, 0))
        return Run(
            t, whole["q"], whole["v"], self.scene.robot, steps=rolled.made, diverged=rolled.diverged,
            u=whole.get("acting"), observations={x: whole[OBSERVED + x] for x in self._observed}, scene=self.scene,
            contacts=contacts, residual=whole["residual"], worst=whole["worst"], converged=good, residuals=by_law,
            last=last, constraint_force=whole.get("kept"), too_fast=fast,
        )  # fmt: skip

    def _stuck_since(self) -> np.ndarray:
        """When samples (...) came to a toggle position that they could not pass (s), infinite if never."""
        batch = self.motion.batch
        if not isinstance(self.motion, ChartedRun):
            return np.full(batch, np.inf)
        return (self.motion.now.stuck * self.dt).reshape(batch)

    def warn_of(self, run: Run) -> None:
        """Warn of what went wrong, and say what can be done about it."""
        name, state = self.caller, self.motion.state
        since = self._stuck_since()
        made, late = (x.reshape(self.motion.batch) * self.dt for x in (self.motion.now.made, state["late"]))
        gains = " or smaller gains" if self._is_driven else ""
        hint = loop_hint(self.scene.robot) if np.any(run.diverged) else ""
        advice = f"try a shorter step than dt = {self.dt:g} s{gains}{hint}"
        warn_of(name, run.diverged, made, "diverged and stopped at the last finite state",
                self.not_finite.reason() or advice)  # fmt: skip
        tolerance = f"{self.scene.spec.tolerance:g} m/s"
        worst = float(np.max(state["worst"], initial=0.0))
        warn_of(name, late >= 0.0, late, f"had contacts that were not solved to the tolerance of {tolerance}",
                self._solver_advice(worst))  # fmt: skip
        warn_of(name, np.isfinite(since), since, "came to a toggle position of a loop",
                _toggle_advice(self.scene.robot))  # fmt: skip
        fast = np.asarray(run.too_fast)
        when = np.broadcast_to(run.t[np.argmax(fast, axis=0)], self.motion.batch)
        what = "moved further in a step than is looked at, so that contacts may be missed"
        warn_of(name, fast.any(axis=0) & ~run.diverged, when, what,
                f"look at `too_fast` of the result; try a shorter step than dt = {self.dt:g} s")  # fmt: skip

    def _solver_advice(self, worst: float) -> str:
        """Advice on steps that missed the tolerance, by `worst` (m/s) at most."""
        spec = self.scene.spec
        says = f"by {worst:.2g} m/s at most; `converged` and `residual` of the result say in which states"
        if worst <= _LITTLE * spec.tolerance:
            return f"{says}. If that is good enough, build the scene with tolerance={_rounded_up(worst):g}"
        return (
            f"{says}. Try a shorter step than dt = {self.dt:g} s, or more passes of the solver: Scene(..., "
            f"iterations={10 * spec.rounds})"
        )


def _rounded_up(x: float) -> float:
    """The next power of ten."""
    return float(f"1e{math.ceil(math.log10(x))}") if x > 0.0 else x


def _toggle_advice(robot: System) -> str:
    """What to do about a loop at a toggle position."""
    return (
        f"its independent velocities ({', '.join(robot.names.velocities)}) do not determine the motion there, and what "
        "follows counts as not converged; choose others with robot.with_independent(...), or let loops be rows of the "
        "problem: "
        "fb.Scene(robot.spanning().constrained(*(x.loop for x in robot.mechanism.loops)), ...)"
    )


def warn_of(name: str, which: np.ndarray, when: np.ndarray, what: str, advice: str) -> None:
    """Warn of samples with which something is wrong, since when."""
    if not np.any(which):
        return
    numbers = np.flatnonzero(which)
    shown = ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
    of = f"samples {shown} of {np.size(which)}" if np.ndim(which) else "the motion"
    warn(f"{name}: {of} {what}, first at t = {float(np.min(when[which])):.6g} s; {advice}", SimulationWarning)


def wrap_steps(progress: Callable[[Iterable[int]], Iterable[int]] | None, steps: int) -> Iterator[int]:
    """The numbers of the steps, wrapped by `progress` if it is given."""
    return iter(range(steps) if progress is None else progress(range(steps)))


class Driver:
    """Makes the steps of a run: controls from arrays, from functions asked in Python, or from within the step.

    `controls` are arrays (..., rows, size) and functions (t, q, v), by name; see `control_sizes`.
    """

    def __init__(self, run: RunningContacts, controls: dict[str, Any], period: int) -> None:
        self.run, self.period = run, period
        self._asks = {name: x for name, x in controls.items() if callable(x)}
        self._given = {name: x for name, x in controls.items() if not callable(x)}
        self._rows: list[np.ndarray] = []
        self._repeated = run.repeated() if self._asks else None
        is_driven = "u" in controls
        if self._repeated is not None:
            self._rows = self._repeated.rows
            if is_driven and DRIVEN in self._repeated.controls:
                self._repeated.controls[DRIVEN][...] = 1.0
        else:
            for name, x in self._given.items():
                run.not_finite.look_at_rows(name, x, period * run.dt)
            count = -(-run.steps // period) if self._given else 1
            still = {name: np.broadcast_to(0.0, (count, *x)) for name, x in run.motion.control_shapes.items()}
            still |= {DRIVEN: np.broadcast_to(1.0, (count,))} if is_driven and DRIVEN in still else {}
            self._rows = run.motion.rows(still | self._given, count)

    def _ask(self, held: dict[str, np.ndarray]) -> None:
        """Ask for the controls of the next period."""
        run = self.run
        row = run.motion.now.steps // self.period
        q, v = run.motion.part("q"), run.motion.part("v")
        for name in (*self._given, *self._asks):
            target = held[name]
            if name in self._given:
                x = self._given[name][..., row, :]
            else:
                x = self._answer(name, self._asks[name], q, v, target.shape)
            target[...] = run.not_finite.look(name, run.t, x, q, v)

    def _answer(self, called: str, function: Any, q: np.ndarray, v: np.ndarray, wanted: tuple[int, ...]) -> np.ndarray:
        """The result of a user's function at a state, checked."""
        t = self.run.t
        try:
            return read_answer(self.run.caller, wanted[:-1], function(t, q, v), called, wanted[-1])
        except (TypeError, ValueError, OverflowError) as error:
            error.add_note(f"{called}(t, q, v) at t = {t:.6g} s, expected an array {wanted[-1:]}")
            raise

    def reach(self, steps: Iterator[int]) -> None:
        """Make all steps."""
        run = self.run
        hold = self.period if self._given and not self._asks else ALWAYS
        while run.motion.now.steps < run.steps:
            count = min(run.motion.several, run.steps - run.motion.now.steps)
            if self._repeated is not None:
                count = min(count, self.period - run.motion.now.steps % self.period)
                if run.motion.now.steps % self.period == 0:
                    self._ask(self._repeated.controls)
            run.advance(count, self._rows, hold, self._repeated)
            for _ in range(count):
                next(steps, None)
        next(steps, None)  # lets who shows them close


def run_motion(scene: Scene, wanted: MotionRequest) -> Run:
    """The run of a motion that is asked for."""
    caller, acting = wanted.caller, _read_controls(scene, wanted)
    inside = {name: x for name, x in acting.items() if isinstance(x, Traced)}
    outside = {name: x for name, x in acting.items() if name not in inside}
    numbers = NOTHING if wanted.numbers is None else scene.read_numbers(wanted.numbers)
    observed = () if wanted.observe is None else read_observations(wanted.observe, scene.model)
    if observed and "u" not in acting:
        check_driven(observed, scene.robot.mechanism)
    # Joint forces are an input of the step even where there are none, as friction is: in live worlds both are given
    # with every call, and the same program has the same bits.
    forces: dict[str, Any] = {"tau": GIVEN} | dict.fromkeys(outside, GIVEN)
    sizes = control_sizes(scene.robot) if inside else {}
    for name, x in inside.items():
        forces[name] = Force(Commands(x, name, sizes[name]), wanted.hold)
    taken = scene.inputs(Taken(**forces, which=numbers.which, observed=observed, terrain=numbers.terrain))
    shapes = [x.shape[:-2] for x in outside.values() if isinstance(x, np.ndarray)]
    batch = np.broadcast_shapes(*shapes) if shapes else ()
    start = scene.read_state(caller, wanted.q, wanted.v, numbers)
    motion = _at_start(scene, start, wanted, taken, numbers, batch)
    first: dict[str, np.ndarray] = {}
    if observed:
        at_start = scene.observer(numbers.which, observed)
        first = at_start.observe(motion.part("q"), motion.part("v"), numbers.of_robot)
    run = RunningContacts(scene, motion, wanted, first)
    with states_attached(caller, lambda: run.t, lambda error: run.result()):
        Driver(run, outside, wanted.hold).reach(wrap_steps(wanted.progress, wanted.steps))
    result = run.result()
    run.warn_of(result)
    return result


def _read_controls(scene: Scene, wanted: MotionRequest) -> dict[str, Any]:
    """The controls that act, by name."""
    robot, rows = scene.robot, -(-wanted.steps // wanted.hold)
    every = {
        "tau": read_control(robot, wanted.tau, rows),
        "u": read_control(robot, wanted.u, rows, "u"),
        "f_ext": None if wanted.f_ext is None else read_wrenches(wanted.caller, robot, wanted.f_ext, rows),
    }
    return {name: x for name, x in every.items() if x is not None}


def _at_start(
    scene: Scene, state: tuple[np.ndarray, np.ndarray], wanted: MotionRequest, taken: Taken,
    numbers: GivenNumbers, batch: tuple[int, ...],
) -> RolloutRun | ChartedRun:  # fmt: skip
    """A motion at its beginning."""
    home = scene.chart(taken, scene.robot)
    friction = scene.friction if numbers.friction is None else numbers.friction
    given = {"dt": wanted.dt, "friction": friction, **numbers.values}
    charted = partial(ChartedRun, scene.robot, partial(scene.chart, taken), which=taken.which)
    start = charted if home.loops else home.rollout.start
    first = {name: np.zeros(shape) for name, shape in home.rollout.step.state.items()}
    first |= {"q": state[0], "v": state[1], "late": np.array(-1.0)}  # nothing has acted, and nothing failed, yet
    return start(first, given, batch, caller=wanted.caller)
