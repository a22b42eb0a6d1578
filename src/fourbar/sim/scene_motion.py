"""Motions of a scene: from checked arguments to the run, with warnings of what went wrong."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.candidates import reported_gaps
from ..contact.step_rollout import Force, Taken
from ..errors import warn
from ..functions.rollout import GIVEN
from ..functions.step_end import OBSERVED
from ..system.system import System
from .controlled_motion import ControlledMotion, MotionControls
from .given_numbers import NOTHING, GivenNumbers
from .loops.charted_run import ChartedRun
from .observe import check_driven, read_observations
from .outcome import SimulationWarning, loop_hint
from .read_arguments import MotionRequest
from .run import Contacts, Residuals, Run
from .runge_kutta_step import Commands, control_sizes

if TYPE_CHECKING:
    from .scene import Scene

_LITTLE = 100.0  # times the tolerance: a residual that most can live with
RECORDS = ("q", "v", "residual", "residuals", "worst", "gap", "force")


class SceneMotion(ControlledMotion):
    """A motion of a scene, in machine code."""

    def __init__(self, scene: Scene, request: MotionRequest) -> None:
        caller, robot = request.caller, scene.robot
        given = {"tau": request.tau, "u": request.u, "f_ext": request.f_ext}
        controls = MotionControls(caller, robot, request.steps, request.hold, **given)
        numbers = NOTHING if request.numbers is None else scene.read_numbers(request.numbers)
        observed = () if request.observe is None else read_observations(request.observe, scene.model)
        if observed and "u" not in controls.every:
            check_driven(observed, robot.mechanism)
        # Joint forces are an input of the step even where there are none, as friction is: all motions of a scene run
        # the same program, and have the same bits.
        forces: dict[str, Any] = {"tau": GIVEN} | dict.fromkeys(controls.every, GIVEN)
        for name, x in controls.traced.items():
            forces[name] = Force(Commands(x, name, control_sizes(robot)[name]), request.hold)
        taken = scene.inputs(Taken(**forces, which=numbers.which, observed=observed, terrain=numbers.terrain))
        start = scene.read_state(caller, request.q, request.v, numbers)
        samples = _at_start(scene, start, request, taken, numbers, controls.batch)
        self.scene, self._observed = scene, [name for name, _ in observed]
        first: dict[str, Any] = {"q": samples.part("q"), "v": samples.part("v"), "gap": np.nan, "acting": np.nan}
        if observed:
            watch = scene.observer(numbers.which, observed)
            seen = watch.observe(first["q"], first["v"], numbers.of_robot)
            first |= {OBSERVED + name: x for name, x in seen.items()}
        more = {"kept"} | ({"acting"} if "u" in controls.every else set())
        names = (*RECORDS, *(x for x in samples.record_shapes if x in more or x.startswith(OBSERVED)))
        super().__init__(request, samples, controls, names, first)

    def result(self) -> Run:
        """The motion so far."""
        samples, scene = self.samples, self.scene
        t, whole = self.recorded()
        gap, force = whole["gap"], whole["force"]
        gap = reported_gaps(gap) if scene.may_be_apart else gap
        contacts = Contacts(scene.contacts, gap, force, (force != 0.0).any(axis=-1))
        stuck = t.reshape(-1, *[1] * len(samples.batch)) >= self._stuck_since() - 0.5 * self.dt
        good = (whole["residual"] <= scene.spec.tolerance) & ~stuck
        fast = scene.too_fast(whole["v"], self.dt)
        by_law = Residuals(*np.moveaxis(whole["residuals"], -1, 0))
        return Run(
            t, whole["q"], whole["v"], scene.robot, steps=self.made, diverged=self.diverged,
            u=whole.get("acting"), observations={x: whole[OBSERVED + x] for x in self._observed}, scene=scene,
            contacts=contacts, residual=whole["residual"], worst=whole["worst"], converged=good, residuals=by_law,
            last=(samples.part("q"), samples.part("v")), constraint_force=whole.get("kept"), too_fast=fast,
        )  # fmt: skip

    def _stuck_since(self) -> np.ndarray:
        """When samples (...) came to a toggle position that they could not pass (s), infinite if never."""
        samples = self.samples
        if not isinstance(samples, ChartedRun):
            return np.full(samples.batch, np.inf)
        return (samples.now.stuck * self.dt).reshape(samples.batch)

    def warn_of(self, run: Run) -> None:
        """Warn of what went wrong, and say what can be done about it."""
        name, samples, every = self.request.caller, self.samples, self.controls.every
        since = self._stuck_since()
        made, late, worst = self.made * self.dt, samples.part("late") * self.dt, samples.part("worst")
        gains = " or smaller gains" if "tau" in every or "u" in every else ""
        hint = loop_hint(self.scene.robot) if np.any(run.diverged) else ""
        advice = f"try a shorter step than dt = {self.dt:g} s{gains}{hint}"
        warn_of(name, run.diverged, made, "diverged and stopped at the last finite state",
                self._reason(run) or advice)  # fmt: skip
        tolerance = f"{self.scene.spec.tolerance:g} m/s"
        warn_of(name, late >= 0.0, late, f"had contacts that were not solved to the tolerance of {tolerance}",
                self._solver_advice(float(np.max(worst, initial=0.0))))  # fmt: skip
        warn_of(name, np.isfinite(since), since, "came to a toggle position of a loop",
                _toggle_advice(self.scene.robot))  # fmt: skip
        fast = np.asarray(run.too_fast)
        when = np.broadcast_to(run.t[np.argmax(fast, axis=0)], samples.batch)
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

    def _reason(self, run: Run) -> str | None:
        """What was not finite, if samples have diverged."""
        if np.any(run.diverged):
            self.controls.look_at_rows(self.dt)
        return self.controls.not_finite.reason()


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


def _at_start(
    scene: Scene, state: tuple[np.ndarray, np.ndarray], wanted: MotionRequest, taken: Taken,
    numbers: GivenNumbers, batch: tuple[int, ...],
) -> Any:  # fmt: skip
    """Samples at their start."""
    home = scene.chart(taken, scene.robot)
    friction = scene.friction if numbers.friction is None else numbers.friction
    given = {"dt": wanted.dt, "friction": friction, **numbers.values}
    charted = partial(ChartedRun, scene.robot, partial(scene.chart, taken), which=taken.which)
    start = charted if home.loops else home.rollout.start
    first = {name: np.zeros(shape) for name, shape in home.rollout.step.state.items()}
    first |= {"q": state[0], "v": state[1], "late": np.array(-1.0)}  # nothing has acted, and nothing failed, yet
    return start(first, given, batch, caller=wanted.caller)
