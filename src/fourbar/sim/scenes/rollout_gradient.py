"""The gradient of a weighted sum over a motion of a scene, backwards through the record of its states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...functions.derivatives import read_names
from ..motions.controlled_motion import MotionControls
from ..motions.given_numbers import NOTHING
from ..motions.read_arguments import read_period, read_steps, refuse_act
from ..motions.run import Run
from .scene_motion import StepArguments
from .step_derivatives import MovingNumbers, StepDerivatives, symmetric_part

if TYPE_CHECKING:
    from .scene import Scene

_CALLER = "rollout_vjp"


@dataclass(frozen=True)
class RolloutGradient:
    """A motion, and the gradient of the weighted sum of its states.

    `run`: the motion. q, v (..., nv): by the start; q on its tangent there. tau (..., rows, nv), u (..., rows, nu): by
    the controls, in the shape in which they were given and None where none were. parameters: by numbers, by name.
    edges (...): in how many steps a contact was at a change of its mode. condition (...): the largest of all steps, see
    `StepJacobian`.
    """

    run: Run
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None
    u: np.ndarray | None
    parameters: dict[str, np.ndarray]
    edges: np.ndarray
    condition: np.ndarray


def rollout_vjp(
    scene: Scene,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    weights: Any,
    steps: int | None = None,
    dt: float | None = None,
    u: Any = None,
    period: float | None = None,
    numbers: Any = None,
    parameters: Any = (),
    every: int = 1,
    smoothing: float = 0.0,
    threads: int | None = None,
) -> RolloutGradient:
    """Differentiate a scalar of a whole motion, backwards: by its start, controls and numbers.

    Parameters
    ----------
    scene : Scene
        The scene: ``scene.rollout_vjp(q, ...)`` is the same function.
    q : array_like, shape (..., nq)
        Configurations at the start.
    v : array_like, shape (..., nv), optional
        Velocities at the start (rad/s, m/s); zero if None.
    tau : array_like, shape (..., rows, nv) or (nv,), optional
        Joint forces, a row for each period.
    weights : tuple of array_like, or callable
        ``(w_q, w_v)``, each of shape (n, ..., nv) or None: the derivatives of the scalar by the recorded states, w_q on
        the tangents of the configurations; or a function of the run that returns them.
    steps : int, optional
        Number of steps; if None as many as the rows of `tau` or `u` last.
    dt : float, optional
        Length of a step (s), 0.002 if None.
    u : array_like, shape (..., rows, nu) or (nu,), optional
        Controls of the actuators.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    numbers : dict, optional
        Parameters that may differ in each sample, by name, as in `rollout`.
    parameters : str or sequence of str, optional
        Names of numbers to differentiate by.
    every : int, default 1
        Number of steps between two records. Those between are made again on the way back, so that memory holds
        steps / every + every states of each sample.
    smoothing : float, default 0.0
        Velocity (m/s) over which changes between open, sticking and sliding contacts are rounded, in the derivative.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

    Returns
    -------
    RolloutGradient
        The run, and the derivatives by its start, its controls and the named numbers.
    """
    dt = scene.default_dt if dt is None else dt
    hold = read_period(period, dt)
    if callable(tau) or callable(u):
        raise ArgumentError(f"{_CALLER}: tau and u are arrays here; for feedback, differentiate step by step")
    if u is not None:
        refuse_act(_CALLER, scene.robot)
    count = read_steps(steps, hold, tau, u)
    names = read_names(_CALLER, parameters)
    derivatives = scene.step.derivatives
    moving = derivatives.numbers(_CALLER, numbers, names)
    given = {"dt": dt, "u": u, "period": period, "numbers": numbers, "threads": threads}
    run = scene.rollout(q, v, tau, steps=count, every=every, **given)
    held = MotionControls(_CALLER, scene.robot, count, hold, tau=tau, u=u)
    constant = {name for name, x in (("tau", tau), ("u", u)) if x is not None and np.ndim(x) == 1}
    back = _Backwards(scene, derivatives, moving, names, run, held, constant, float(smoothing), threads)
    back.run_back(_read_weights(weights, run, scene.robot.nv), count, every, float(dt))
    return back.result()


def _read_weights(weights: Any, run: Run, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights (n, ..., nv) of configurations and velocities."""
    pair = weights(run) if callable(weights) else weights
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ArgumentError(
            f"{_CALLER}: weights: expected a pair (w_q, w_v), or a function of the run that returns one"
        )
    shape = (*run.q.shape[:-1], nv)
    arrays = []
    for name, w in zip(("w_q", "w_v"), pair, strict=True):
        array = np.zeros(shape) if w is None else np.asarray(w, float)
        if array.shape != shape:
            raise ArgumentError(
                f"{_CALLER}: {name} must have shape {shape}: recorded times, samples, velocities; got {array.shape}"
            )
        arrays.append(array)
    return arrays[0], arrays[1]


class _Backwards:
    """The way back through a run: the weights of a state, and the gradients so far."""

    def __init__(
        self, scene: Scene, derivatives: StepDerivatives, moving: MovingNumbers, names: tuple[str, ...], run: Run,
        controls: MotionControls, constant: set[str], smoothing: float, threads: int | None,
    ) -> None:  # fmt: skip
        self._scene, self._derivatives, self._moving, self._run = scene, derivatives, moving, run
        self._names, self._controls, self._smoothing, self._threads = names, controls, smoothing, threads
        self._constant = constant  # the controls that are one row for all periods
        self._batch = run.q.shape[1:-1]
        self._driven = tuple(controls.arrays)
        self._wanted = ("q", "v", *self._driven, *moving.arguments.values())
        axes = {name: 1 if name in constant else 2 for name in self._driven}  # of a control, without those of samples
        shapes = {name: controls.arrays[name].shape[-n:] for name, n in axes.items()}
        self._by_control = {name: np.zeros((*self._batch, *shape)) for name, shape in shapes.items()}
        shapes = {name: moving.parameters[name].shape for name in names}
        self._by_number = {name: np.zeros((*self._batch, *shape)) for name, shape in shapes.items()}
        self._edges, self._condition = np.zeros(self._batch, int), np.ones(self._batch)

    def run_back(self, weights: tuple[np.ndarray, np.ndarray], steps: int, every: int, dt: float) -> None:
        """Go from the end to the start."""
        self.q, self.v = (w[-1].copy() for w in weights)
        for row in reversed(range(len(self._run.t) - 1)):
            first = row * every
            self._segment(row, first, min(every, steps - first), dt)
            self.q, self.v = self.q + weights[0][row], self.v + weights[1][row]

    def _segment(self, row: int, first: int, count: int, dt: float) -> None:
        """Steps between two records: states and impulses of all of them at once, then backwards one by one."""
        run = self._run
        q, v = run.q[row][None], run.v[row][None]
        held = {name: self._rows_of_steps(name, first, count) for name in self._driven}
        numbers = self._numbers_by_name()
        if count > 1:
            rows: dict[str, Any] = {name: np.moveaxis(x, 0, -2) for name, x in held.items()}
            part = self._scene.rollout(q[0], v[0], **rows, steps=count, dt=dt, numbers=numbers, threads=self._threads)
            q, v = part.q[:-1], part.v[:-1]
        tau, u = (held.get(name) for name in ("tau", "u"))
        arguments = StepArguments(q, v, tau, dt, u, None, self._cold(), NOTHING, self._threads)
        step = self._derivatives.solve(arguments, self._moving)
        report = []
        for k in reversed(range(count)):
            at = arguments._replace(q=q[k], v=v[k], impulse=step.impulse[k], **{name: x[k] for name, x in held.items()})
            pair = {"w_q": self.q, "w_v": self.v}
            *gradients, told = self._derivatives.evaluate("vjp", at, self._moving, self._wanted, self._smoothing, pair)
            report.append(told)
            self.q, self.v = gradients[:2]
            self._add(first + k, gradients[2:])
        _, margins, condition, tolerance = self._derivatives.judge(_CALLER, step, np.array(report))
        self._edges = self._edges + (margins <= tolerance).any(axis=-1).sum(axis=0)
        self._condition = np.maximum(self._condition, condition.max(axis=0))

    def _rows_of_steps(self, name: str, first: int, count: int) -> np.ndarray:
        """The controls (count, ..., n) in some steps."""
        rows = [self._controls.at(name, first + k) for k in range(count)]
        return np.stack([np.broadcast_to(x, (*self._batch, x.shape[-1])) for x in rows])

    def _cold(self) -> np.ndarray:
        """No impulses: constraints are met by the motion, and are not looked at again."""
        return np.zeros(self._scene.n_impulses)

    def _numbers_by_name(self) -> Any:
        known = self._moving.numbers
        named: dict[str, Any] = dict(zip((x.name for x in known.every), known.values.values(), strict=True))
        return (named | ({} if known.friction is None else {"friction": known.friction})) or None

    def _add(self, step: int, gradients: list[np.ndarray]) -> None:
        """Add the gradients of a step by controls and numbers."""
        count = len(self._driven)
        for name, gradient in zip(self._driven, gradients[:count], strict=True):
            total = self._by_control[name]
            if name in self._constant:
                total += gradient
            else:
                total[..., step // self._controls.hold, :] += gradient
        for name, gradient in zip(self._names, gradients[count:], strict=True):
            self._by_number[name] += symmetric_part(self._moving.parameters[name], gradient)

    def result(self) -> RolloutGradient:
        """The gradient."""
        by = self._by_control
        return RolloutGradient(
            self._run, self.q, self.v, by.get("tau"), by.get("u"), self._by_number, self._edges, self._condition
        )
