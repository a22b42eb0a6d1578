"""`linearize`: the A and B of a robot or a scene, continuous or of a step, at one state or at all states of a run.

Tangents are those of the configuration space: a state next to q(t) is q(t) ⊕ ξ. As both move, ξ̇ = δv - ad(v) ξ, where
ad(v) is zero but for joints such as the free one, whose velocities turn with them; it is minus twice the slope of the
chart's rate θ̇ by θ at θ = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Argument
from ..errors import ArgumentError
from ..expr import Program
from ..functions.context import Context, record_program
from ..functions.function import make
from ..functions.recording import BLOCK, Recording
from ..functions.registry import flat
from ..once import cached_property
from ..system.system import System
from ..tree.clusters import split
from .motions.read_arguments import check_actuators, refuse_act
from .motions.run import Run
from .scenes.scene import Scene
from .scenes.step_derivatives import StepJacobian

CONTINUOUS, RK4, STEP = "continuous", "rk4", "step"
_SAME = 1e-6  # relative to the largest entry: how far recorded states may be from those of the steps


@dataclass(frozen=True)
class Linearization:
    """The linear model around states: `A, B = fb.linearize(...)`.

    A (..., 2 nv, 2 nv), B (..., 2 nv, nu), or (..., 2 nv, nv) by joint forces: of rates (ξ̇, v̇) if `dt` is None, else
    of the state after a step of length dt. q, v: that state, or v and v̇ of the continuous model. `step`: of scenes,
    the step with the edges of its contacts.
    """

    A: np.ndarray
    B: np.ndarray
    dt: float | None
    q: np.ndarray  # (..., nq), or v (..., nv)
    v: np.ndarray  # (..., nv)
    step: StepJacobian | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.A, self.B))


def linearize(
    robot: System | Scene,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    u: Any = None,
    dt: float | None = None,
    method: str | None = None,
    passive: bool = True,
    numbers: Any = None,
    smoothing: float = 0.0,
    threads: int | None = None,
) -> Linearization:
    """Linearize a robot, or a step of a scene with contacts, around a state, a batch of states or a run.

    Parameters
    ----------
    robot : System or Scene
        The robot, with loops or without, or the scene.
    q : array_like, shape (..., nq), or Run
        Configurations; or a run of this robot or scene with a record of every step, whose steps are all linearized at
        once, along the first axis. Its controls u are then those of the run.
    v : array_like, shape (..., nv), optional
        Velocities (rad/s, m/s); zero if None.
    tau : array_like, shape (..., nv), optional
        Joint forces (N m, N); zero if None. Of a run one row for each step, (steps, ..., nv).
    u : array_like, shape (..., nu), optional
        Controls of the actuators, which then act; B is by these.
    dt : float, optional
        Length of a step (s). If None the model of a robot is continuous, and the step of a scene 0.002 s.
    method : {"continuous", "rk4", "step"}, optional
        The continuous model; the Runge-Kutta step that `fb.rollout` makes of a robot; or the step with contacts of a
        scene. If None what dt and the robot say.
    passive : bool, default True
        Let springs, damping, drag and currents act; in a scene they always do.
    numbers : dict, optional
        Parameters of a scene that may differ in each sample, by name.
    smoothing : float, default 0.0
        For scenes, see `scene.step.jacobian`: a velocity (m/s) over which changes of the contacts' modes are rounded.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

    Returns
    -------
    Linearization
        A and B, in tangents, and the state that they lead to.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be, or a run has other steps than the arguments say.

    See Also
    --------
    simulate : Motions, around which to linearize.

    Examples
    --------
    >>> import fourbar as fb
    >>> arm = fb.robots.double_pendulum()
    >>> A, B = fb.linearize(arm, [0.3, 0.1])
    >>> A.shape, B.shape
    ((4, 4), (4, 2))
    >>> A, B = fb.linearize(arm, [0.3, 0.1], dt=0.01)
    >>> A[:2, 2:].round(4).tolist()
    [[0.01, -0.0], [-0.0, 0.01]]
    """
    is_scene = isinstance(robot, Scene)
    if not isinstance(robot, System | Scene):
        raise ArgumentError(f"linearize takes a robot or a scene, got {robot!r}; for constraints see fb.Scene")
    methods = (STEP,) if is_scene else (CONTINUOUS, RK4)
    run = q if isinstance(q, Run) else None
    if run is not None:
        q, v, u, dt = _of_run(run, v, u, dt)
    chosen = method or (STEP if is_scene else CONTINUOUS if dt is None else RK4)
    if chosen not in methods:
        raise ArgumentError(f"linearize: method={method!r}: of a {'scene' if is_scene else 'robot'} expected "
                            f"{' or '.join(map(repr, methods))}")  # fmt: skip
    if chosen == RK4 and dt is None:
        raise ArgumentError("linearize: method='rk4' needs the length of a step, dt=")
    q = np.asarray(q, float)
    v = np.zeros((*q.shape[:-1], _robot_of(robot).nv)) if v is None else np.asarray(v, float)
    if u is not None:
        check_actuators(_robot_of(robot))
        refuse_act("linearize", _robot_of(robot))
    if isinstance(robot, Scene):
        length = robot.default_dt if dt is None else dt
        J = robot.step.jacobian(q, v, tau, dt=length, u=u, numbers=numbers, smoothing=smoothing, threads=threads)
        model = Linearization(J.A, J.B, length, J.step.q, J.step.v, J)
    else:
        if numbers is not None:
            raise ArgumentError("linearize: numbers= are for scenes; of a robot use robot.with_parameters(...)")
        around = _ModelOfRobot(robot, passive, u is not None, threads)
        control = u if u is not None else np.zeros(robot.nv) if tau is None else tau
        steady = np.zeros(robot.nv) if tau is None or u is None else tau
        given = q, v, control, steady
        model = around.continuous(*given) if dt is None or chosen == CONTINUOUS else around.rk4(*given, float(dt))
    if run is not None:
        _check_run(run, model)
    return model


def _robot_of(robot: System | Scene) -> System:
    return robot.robot if isinstance(robot, Scene) else robot


def _of_run(run: Run, v: Any, u: Any, dt: Any) -> tuple[Any, Any, Any, float]:
    """States, controls and the length of the steps of a run."""
    if v is not None or u is not None:
        raise ArgumentError("linearize: states and controls u are those of the run; give tau= besides, if it had some")
    if len(run.t) < 2:
        raise ArgumentError("linearize: the run has no steps")
    return (
        run.q[:-1],
        run.v[:-1],
        None if run.u is None else run.u[1:],
        float(run.t[1] - run.t[0]) if dt is None else dt,
    )


def _check_run(run: Run, model: Linearization) -> None:
    """Refuse a run whose steps are others."""
    if model.dt is None:
        return
    size = 1.0 + np.abs(run.v[1:]).max(initial=0.0, where=np.isfinite(run.v[1:]))
    apart = np.abs(model.v - run.v[1:]).max(initial=0.0, where=np.isfinite(run.v[1:]))
    if apart > _SAME * size:
        raise ArgumentError(
            f"linearize: the steps of the run end elsewhere, with velocities that differ by up to {apart:.2g}: give "
            "the joint forces that acted as tau=, numbers= that it had, and a run with every=1"
        )


class _ModelOfRobot:
    """A robot under forces, to be linearized."""

    def __init__(self, robot: System, passive: bool, driven: bool, threads: int | None) -> None:
        if robot.model.cluster_tree.has_shared_joints:
            raise ArgumentError(
                f"linearize: a joint of a loop of {robot.name!r} is independent in part; choose other velocities with "
                "robot.with_independent(...)"
            )
        self._robot, self._driven = robot, driven
        self._threads: dict[str, Any] = {"threads": threads}
        self._dynamics: Any = robot.passive_dynamics if passive else robot.forward_dynamics

    def _slopes(self, q: Any, v: Any, control: Any, steady: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """Accelerations, and their derivatives by q, v and the controls."""
        robot, options = self._robot, self._threads
        if not self._driven:
            J = self._dynamics.jacobian(q, v, control, **options)
            return self._dynamics(q, v, control, **options), [J.q, J.v, J.tau]
        tau = robot.control_force(q, v, control, **options) + steady
        J, K = self._dynamics.jacobian(q, v, tau, **options), robot.control_force.jacobian(q, v, control, **options)
        return self._dynamics(q, v, tau, **options), [J.q + J.tau @ K.q, J.v + J.tau @ K.v, J.tau @ K.u]

    def continuous(self, q: np.ndarray, v: np.ndarray, control: Any, steady: Any) -> Linearization:
        """Rates of ξ and v."""
        a, (by_q, by_v, by_u) = self._slopes(q, v, control, steady)
        n, batch = self._robot.nv, by_q.shape[:-2]
        chart = self._chart.jacobian(q, np.zeros(n), v, q, **self._threads).rate
        A, B = np.zeros((*batch, 2 * n, 2 * n)), np.zeros((*batch, 2 * n, by_u.shape[-1]))
        A[..., :n, :n], A[..., :n, n:], A[..., n:, :n], A[..., n:, n:] = 2.0 * chart.theta, np.eye(n), by_q, by_v
        B[..., n:, :] = by_u
        return Linearization(A, B, None, np.broadcast_to(v, (*batch, n)).copy(), a)

    @cached_property
    def _chart(self) -> Any:
        return make(_Chart(self._robot.model))

    def rk4(self, q: np.ndarray, v: np.ndarray, control: Any, steady: Any, dt: float) -> Linearization:
        """The state after a Runge-Kutta step: derivatives of its four passes, one after the other."""
        n = self._robot.nv
        width = np.shape(control)[-1]
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], np.shape(control)[:-1], np.shape(steady)[:-1])
        I, columns = np.eye(n), 2 * n + width
        by = {name: np.zeros((*batch, n, columns)) for name in ("q", "v", "u", "theta")}
        by["q"][..., :, :n], by["v"][..., :, n : 2 * n] = I, I
        start, theta, now, speed = dict(by), np.zeros((*batch, n)), np.broadcast_to(q, (*batch, q.shape[-1])), v
        eye_u = np.zeros((*batch, width, columns))
        eye_u[..., :, 2 * n :] = np.eye(width)
        tangent, change, dtangent, dchange = (np.zeros((*batch, n)), np.zeros((*batch, n)), np.zeros_like(by["q"]),
                                      np.zeros_like(by["q"]))  # fmt: skip
        for weight, ahead in ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)):
            a, (by_q, by_v, by_u) = self._slopes(now, speed, control, steady)
            da = by_q @ by["q"] + by_v @ by["v"] + by_u @ eye_u
            rate, chart = (
                self._chart(q, theta, speed, now, **self._threads)[1],
                self._chart_slopes(q, theta, speed, now),
            )
            drate = chart.rate.theta @ by["theta"] + chart.rate.v @ by["v"]
            tangent, change = tangent + dt * weight * rate, change + dt * weight * a
            dtangent, dchange = dtangent + dt * weight * drate, dchange + dt * weight * da
            is_last = ahead == 0.0
            theta, by["theta"] = (tangent, dtangent) if is_last else (dt * ahead * rate, dt * ahead * drate)
            speed = v + (change if is_last else dt * ahead * a)
            by["v"] = start["v"] + (dchange if is_last else dt * ahead * da)
            now = self._robot.integrate(q, theta, 1.0, **self._threads)
            moved = self._chart_slopes(q, theta, speed, now).moved
            by["q"] = moved.q @ start["q"] + moved.theta @ by["theta"]
        whole = np.concatenate([by["q"], by["v"]], axis=-2)
        return Linearization(whole[..., : 2 * n], whole[..., 2 * n :], dt, now, speed)

    def _chart_slopes(self, q: Any, theta: Any, v: Any, there: Any) -> Any:
        return self._chart.jacobian(q, theta, v, there, **self._threads)


class _Chart(Recording):
    """The chart q ⊕ θ of a step: the tangent from `there` to it, and the rate of θ at velocities v."""

    name = "chart"

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, tree = model, model.cluster_tree
        self.arguments = (
            Argument("q", (tree.nq,), False, (tree.nv,)), Argument("theta", (tree.nv,)), Argument("v", (tree.nv,)),
            Argument("there", (tree.nq,)),
        )  # fmt: skip
        self.results = ("moved", "rate")

    @property
    def nan(self) -> str:
        return ""

    @property
    def parts(self) -> tuple[Any, ...]:
        return "chart", self.model.mechanism

    def pickle_recipe(self) -> tuple[Any, ...]:
        return _make_chart, self.model

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return record_program(self.name, self._record, block)

    def _record(self, recorder: Any) -> Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]:
        c = Context(self.model, recorder, self.arguments)
        tree, call = self.model.cluster_tree, recorder.call
        q, there = (split(c.clusters, c.given[name], "nq") for name in ("q", "there"))
        theta, v = (split(c.clusters, c.given[name], "nv") for name in ("theta", "v"))
        both = zip(c.clusters, q, theta, v, there, strict=True)
        moved, rate = zip(*[call(_evaluate_chart, x.embedding, *parts) for x, *parts in both], strict=True)
        return [("moved", (tree.nv,), flat(moved)), ("rate", (tree.nv,), flat(rate))]


def _evaluate_chart(embedding: Any, q: Any, theta: Any, v: Any, there: Any) -> tuple[Any, Any]:
    return embedding.difference(there, embedding.integrate(q, theta)), embedding.chart_rate(theta, v)


def _make_chart(model: Any) -> Any:
    return make(_Chart(model))
