"""Motions of a scene: from checked arguments to the run, with warnings of what went wrong; and single steps, which are
motions of one step with little to do around the call.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import is_lazy
from ...contact.candidates import reported_gaps
from ...contact.step_rollout import DRIVEN, Force, Taken, one_step
from ...errors import warn
from ...functions.rollout import ALWAYS, GIVEN
from ...functions.step_end import OBSERVED
from ...system.system import System
from ..loops.charted_run import ChartedRun
from ..motions.controlled_motion import ControlledMotion, MotionControls
from ..motions.given_numbers import NOTHING, GivenNumbers
from ..motions.outcome import SimulationWarning, loop_hint
from ..motions.read_arguments import MotionRequest, read_act, read_constant
from ..motions.run import Contacts, Residuals, Run, penetration
from ..observe import check_driven, read_observations
from ..robot.runge_kutta_step import Commands, control_sizes

if TYPE_CHECKING:
    from .scene import Scene


_LITTLE = 100.0  # times the tolerance: a residual that most can live with
RECORDS = ("q", "v", "residual", "residuals", "worst", "energy_gain", "gap", "force")


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
        q, v = scene.read_state(caller, request.q, request.v, numbers)
        state = {"q": q, "v": v, "act": read_act(caller, robot, request.act, "u" in controls.every)}
        samples = _at_start(scene, taken, state, request.dt, numbers, controls.batch, caller)
        self.scene, self._observed = scene, [name for name, _ in observed]
        self._has_act = "u" in controls.every and bool(robot.na)
        first: dict[str, Any] = {"q": samples.part("q"), "v": samples.part("v"), "gap": np.nan, "acting": np.nan}
        first |= {"act": samples.part("act")} if self._has_act else {}
        if observed:
            watch = scene.observer(numbers.which, observed)
            seen = watch.observe(first["q"], first["v"], numbers.of_robot)
            first |= {OBSERVED + name: x for name, x in seen.items()}
        wanted = {"kept"} | ({"acting"} if "u" in controls.every else set())
        further = [x for x in samples.record_shapes if x in wanted or x.startswith(OBSERVED)]
        names = (*RECORDS, *(["act"] if self._has_act else []), *further)
        super().__init__(request, samples, controls, names, first)

    def result(self) -> Run:
        """The motion so far."""
        samples, scene = self.samples, self.scene
        t, whole = self.records()
        gap, force = whole["gap"], whole["force"]
        gap = reported_gaps(gap) if scene.may_be_apart else gap
        contacts = Contacts(scene.contacts, gap, force, (force != 0.0).any(axis=-1))
        stuck = t.reshape(-1, *[1] * len(samples.batch)) >= self._stuck_since() - 0.5 * self.dt
        good = (whole["residual"] <= scene.spec.tolerance) & ~stuck
        fast = scene.too_fast(whole["v"], self.dt)
        by_law = Residuals(*np.moveaxis(whole["residuals"], -1, 0))
        return Run(
            t, whole["q"], whole["v"], scene.robot, steps=self.step_counts, diverged=self.diverged,
            u=whole.get("acting"), act=whole.get("act"), scene=scene,
            observations={x: whole[OBSERVED + x] for x in self._observed}, contacts=contacts,
            residual=whole["residual"], worst=whole["worst"], converged=good, residuals=by_law,
            penetration=penetration(gap), energy_gain=whole["energy_gain"],
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
        ended, late, worst = self.step_counts * self.dt, samples.part("late") * self.dt, samples.part("worst")
        gains = " or smaller gains" if "tau" in every or "u" in every else ""
        hint = loop_hint(self.scene.robot) if np.any(run.diverged) else ""
        advice = f"try a shorter step than dt = {self.dt:g} s{gains}{hint}"
        warn_of(name, run.diverged, ended, "diverged and stopped at the last finite state",
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
            return f"{says}. If that is good enough, build the scene with tolerance={_round_up(worst):g}"
        return (
            f"{says}. Try a shorter step than dt = {self.dt:g} s, or more passes of the solver: Scene(..., "
            f"iterations={10 * spec.rounds})"
        )

    def _reason(self, run: Run) -> str | None:
        """A message about the first control that was not finite, if samples have diverged."""
        if np.any(run.diverged):
            self.controls.look_at_rows(self.dt)
        return self.controls.not_finite.reason()


def _round_up(x: float) -> float:
    """The next power of ten."""
    return float(f"1e{math.ceil(math.log10(x))}") if x > 0.0 else x


def _toggle_advice(robot: System) -> str:
    """Advice on a loop at a toggle position."""
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
    scene: Scene, taken: Taken, state: dict[str, Any], dt: Any, numbers: GivenNumbers, batch: tuple[int, ...],
    caller: str,
) -> Any:  # fmt: skip
    """Samples at their start, where nothing has acted, and nothing failed, yet."""
    home = scene.chart(taken, scene.robot)
    friction = scene.friction if numbers.friction is None else numbers.friction
    charted = partial(ChartedRun, scene.robot, partial(scene.chart, taken), which=taken.which)
    start = charted if home.loops else home.rollout.start
    first = {name: np.zeros(shape) for name, shape in home.rollout.step.state.items()} | {"late": np.array(-1.0)}
    return start(first | state, {"dt": dt, "friction": friction, **numbers.values}, batch, caller=caller)


class Stepped(NamedTuple):
    """After a step: the state, impulses (the start for those of the next step), the residual in m/s, gaps and forces,
    the state of actuators.

    gap (..., n) is that at the start of the step, force (..., n, 3) acts on the first of the two that touch, in the
    world.
    """

    q: np.ndarray  # (..., nq)
    v: np.ndarray  # (..., nv)
    impulse: np.ndarray  # (..., n_impulses)
    residual: np.ndarray  # (...)
    gap: np.ndarray
    force: np.ndarray
    act: np.ndarray


class StepArguments(NamedTuple):
    """The arguments of a step, of which q and v are arrays; None where something is not given."""

    q: Any
    v: Any
    tau: Any
    dt: Any
    u: Any
    f_ext: Any
    impulse: Any
    numbers: GivenNumbers
    threads: int | None
    act: Any = None


class SceneStep:
    """The steps of a scene that take the same inputs: one compiled function, of one state or of a batch."""

    def __init__(self, scene: Scene, taken: Taken) -> None:
        self._scene, self._taken = scene, taken
        self._home = scene.chart(taken, scene.robot)
        rollout = self._home.rollout
        self.function = one_step(scene.robot.mechanism, scene.spec, taken, rollout)
        self._n, self._friction = len(scene.contacts), scene.friction
        self._still = {name: np.zeros(shape) for name, shape in rollout.step.controls.items()}
        self._controls = tuple(rollout.step.controls)
        shape, is_rigid = rollout.step.state["impulse"], not scene.robot.nv
        self._impulse, self._takes_impulse = np.zeros(shape), bool(shape[0]) or is_rigid
        self._act = np.zeros(rollout.step.state["act"])
        self._takes_act = bool(self._act.size) or is_rigid
        self._takes_friction = bool(scene.contacts) or is_rigid
        self._is_looped = bool(self._home.loops)
        self._usual: tuple[np.ndarray, ...] = ()
        if self._is_looped:
            usual, is_good = scene.reference_velocities(taken)
            # Of a robot whose own velocities do badly in the neutral configuration, loops are examined in every step.
            self._usual = (usual if is_good else np.full_like(usual, -np.inf),)

    def step(self, x: StepArguments) -> Stepped:
        """The state after a step."""
        known, warm, acting, rubbing = x.numbers, (), (), ()
        if self._takes_impulse:
            warm = (self._impulse if x.impulse is None else x.impulse,)
        if self._takes_act:
            acting = (self._act if x.act is None else x.act,)
        if self._takes_friction:
            rubbing = (self._friction if known.friction is None else known.friction,)
        params, controls = known.values.values(), self._controls_in_order(x)
        given = (x.q, x.v, *warm, *acting, x.dt, *rubbing, *params, *self._usual, *controls)
        results = self.function(*given) if x.threads is None else self.function(*given, threads=x.threads)
        q, v, impulses, report = results if warm else (*results[:2], results[0][..., :0], results[2])
        if q.ndim == 1 and type(q) is np.ndarray and not self._is_looped:
            if not math.isfinite(q.dot(q) + v.dot(v) + impulses.dot(impulses)):
                return self._last_finite(x, (q, v, impulses, report))
            first, end = 1 + self._n, 1 + 4 * self._n
            force = report[first:end].reshape(self._n, 3)
            return Stepped(q, v, impulses, report[0], self._gaps(report[1:first]), force, report[end:])
        return self._last_finite(x, (q, v, impulses, report))

    def _controls_in_order(self, x: StepArguments) -> list[Any]:
        """The controls in the order of the step."""
        controls = []
        for name in self._controls:
            if name == DRIVEN:
                controls.append(0.0 if x.u is None else 1.0)
                continue
            value = getattr(x, name)
            if value is not None and name == "f_ext":
                value = read_constant("step", self._scene.robot, value)
            controls.append(self._still[name] if value is None else value)
        return controls

    def _gaps(self, gaps: np.ndarray) -> np.ndarray:
        return reported_gaps(gaps) if self._scene.may_be_apart else gaps

    def _last_finite(self, x: StepArguments, found: tuple[np.ndarray, ...]) -> Stepped:
        """The results, with the state before in samples whose new one is not finite: without forces, and with an
        infinite residual. Where loops are solved, samples that need other velocities are rolled out.
        """
        q, v, impulse, report = found
        n, first = self._n, 1 + self._is_looped
        valid: Any = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1) & np.isfinite(impulse).all(axis=-1)
        if self._is_looped and not is_lazy(q) and not (valid & ~(report[..., 1] > 0.0)).all():
            return self._roll(x)
        old = [np.asarray(y, float) if not is_lazy(y) else y for y in (x.q, x.v)]
        q, v = (np.where(valid[..., None], new, before) for new, before in zip((q, v), old, strict=True))
        force = report[..., first + n : first + 4 * n].reshape(*report.shape[:-1], n, 3)
        act = report[..., first + 4 * n :]
        act = np.where(valid[..., None], act, self._act if x.act is None else x.act) if self._act.size else act
        return Stepped(
            q, v, np.where(valid[..., None], impulse, 0.0), np.where(valid, report[..., 0], np.inf),
            self._gaps(report[..., first : first + n]), np.where(valid[..., None, None], force, 0.0), act,
        )  # fmt: skip

    def _roll(self, x: StepArguments) -> Stepped:
        """The same by a motion of one step, in which loops are followed in other velocities, or in parts of the step,
        where they need it.
        """
        n, shapes = self._n, self._home.rollout.step.controls
        controls = {
            name: np.asarray(y, float) for name, y in zip(self._controls, self._controls_in_order(x), strict=True)
        }
        leading = [y.shape[: y.ndim - len(shapes[name])] for name, y in controls.items()]
        state = {"q": x.q, "v": x.v}
        state |= {name: own for name in ("impulse", "act") if (own := getattr(x, name)) is not None}
        run = _at_start(self._scene, self._taken, state, x.dt, x.numbers, np.broadcast_shapes(*leading), "step")
        rows = run.rows({name: np.expand_dims(y, y.ndim - len(shapes[name])) for name, y in controls.items()}, 1)
        records = {name: np.empty((run.n, 1, *run.record_shapes[name])) for name in ("residual", "gap", "force")}
        run.advance(1, rows, records, hold=ALWAYS, threads=x.threads)
        state, valid = run.state, np.asarray(run.now.made > 0).reshape(run.batch)
        residual, gap, force = (records[name][:, 0].reshape((*run.batch, *more))
                                for name, more in (("residual", ()), ("gap", (n,)), ("force", (n, 3))))  # fmt: skip
        return Stepped(
            state["q"], state["v"], np.where(valid[..., None], state["impulse"], 0.0),
            np.where(valid, residual, np.inf), self._gaps(gap), np.where(valid[..., None, None], force, 0.0),
            state["act"],
        )  # fmt: skip
