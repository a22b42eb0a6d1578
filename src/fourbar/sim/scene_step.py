"""One step of a scene: a rollout of one step, with little to do around the call."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import is_lazy
from ..contact.candidates import reported_gaps
from ..contact.step_rollout import DRIVEN, Taken, one_step
from ..functions.rollout import ALWAYS
from .given_numbers import GivenNumbers
from .loops.charted_run import ChartedRun
from .read_arguments import read_constant

if TYPE_CHECKING:
    from .scene import Scene


class Stepped(NamedTuple):
    """After a step: the state, impulses (the start for those of the next step), the residual in m/s, gaps and forces.

    gap (..., n) is that at the start of the step, force (..., n, 3) acts on the first of the two that touch, in the
    world.
    """

    q: np.ndarray
    v: np.ndarray
    impulse: np.ndarray
    residual: np.ndarray
    gap: np.ndarray
    force: np.ndarray


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
        self._takes_friction = bool(scene.contacts) or is_rigid
        self._is_looped = bool(self._home.loops)
        self._usual: tuple[np.ndarray, ...] = ()
        if self._is_looped:
            usual, is_good = scene.reference_velocities(taken)
            # Of a robot whose own velocities do badly in the neutral configuration, loops are examined in every step.
            self._usual = (usual if is_good else np.full_like(usual, -np.inf),)

    def step(self, x: StepArguments) -> Stepped:
        """The state after a step."""
        friction = self._friction if x.numbers.friction is None else x.numbers.friction
        impulse = self._impulse if x.impulse is None else x.impulse
        controls, params = self._given(x), x.numbers.values.values()
        warm, rubbing = (impulse,) if self._takes_impulse else (), (friction,) if self._takes_friction else ()
        given = (x.q, x.v, *warm, x.dt, *rubbing, *params, *self._usual, *controls)
        results = self.function(*given) if x.threads is None else self.function(*given, threads=x.threads)
        q, v, found, report = results if warm else (*results[:2], results[0][..., :0], results[2])
        if q.ndim == 1 and type(q) is np.ndarray and not self._is_looped:
            size = q.dot(q) + v.dot(v) + found.dot(found)
            if not math.isfinite(size):
                return self._last_finite(x, (q, v, found, report))
            n = self._n
            return Stepped(q, v, found, report[0], self._gaps(report[1 : 1 + n]), report[1 + n :].reshape(n, 3))
        return self._last_finite(x, (q, v, found, report))

    def _given(self, x: StepArguments) -> list[Any]:
        """The controls in the order of the step."""
        found = []
        for name in self._controls:
            if name == DRIVEN:
                found.append(0.0 if x.u is None else 1.0)
                continue
            value = getattr(x, name)
            if value is not None and name == "f_ext":
                value = read_constant("step", self._scene.robot, value)
            found.append(self._still[name] if value is None else value)
        return found

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
            return self._rolled(x)
        old = [np.asarray(y, float) if not is_lazy(y) else y for y in (x.q, x.v)]
        q, v = (np.where(valid[..., None], new, before) for new, before in zip((q, v), old, strict=True))
        force = report[..., first + n :].reshape(*report.shape[:-1], n, 3)
        return Stepped(
            q, v, np.where(valid[..., None], impulse, 0.0), np.where(valid, report[..., 0], np.inf),
            self._gaps(report[..., first : first + n]), np.where(valid[..., None, None], force, 0.0),
        )  # fmt: skip

    def _rolled(self, x: StepArguments) -> Stepped:
        """The same by a motion of one step, in which loops are followed in other velocities, or in parts of the step,
        where they need it.
        """
        scene, n = self._scene, self._n
        friction = self._friction if x.numbers.friction is None else x.numbers.friction
        shapes = self._home.rollout.step.controls
        controls = {name: np.asarray(y, float) for name, y in zip(self._controls, self._given(x), strict=True)}
        leading = [y.shape[: y.ndim - len(shapes[name])] for name, y in controls.items()]
        first = {name: np.zeros(shape) for name, shape in self._home.rollout.step.state.items()}
        first |= {"q": x.q, "v": x.v, "late": np.array(-1.0)}
        first |= {} if x.impulse is None else {"impulse": x.impulse}
        given = {"dt": x.dt, "friction": friction, **x.numbers.values}
        run = ChartedRun(scene.robot, partial(scene.chart, self._taken), first, given, np.broadcast_shapes(*leading),
                         "step", self._taken.which)  # fmt: skip
        rows = run.rows({name: np.expand_dims(y, y.ndim - len(shapes[name])) for name, y in controls.items()}, 1)
        records = {name: np.empty((run.n, 1, *run.record_shapes[name])) for name in ("residual", "gap", "force")}
        run.advance(1, rows, records, hold=ALWAYS, threads=x.threads)
        state, valid = run.state, np.asarray(run.now.made > 0).reshape(run.batch)
        residual, gap, force = (records[name][:, 0].reshape((*run.batch, *more))
                                for name, more in (("residual", ()), ("gap", (n,)), ("force", (n, 3))))  # fmt: skip
        return Stepped(
            state["q"], state["v"], np.where(valid[..., None], state["impulse"], 0.0),
            np.where(valid, residual, np.inf), self._gaps(gap), np.where(valid[..., None, None], force, 0.0),
        )  # fmt: skip
