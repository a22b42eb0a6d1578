"""Rollouts as JAX functions: the passes of a Runge-Kutta step as operations, in `lax.scan`.

JAX differentiates through the steps, by the derivatives of a pass (`sim/robot/runge_kutta_step.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, batch_shape
from ..errors import ArgumentError
from ..functions.arguments import F_EXT
from ..functions.charted_tree import GROWN
from ..functions.varied_context import argument_names
from ..sim.loops.folds import Folds
from ..sim.loops.varied_loops import close, loop_parameters, varied_clusters, varied_functions
from ..sim.motions.given_numbers import are_passive, read_numbers, refuse_dry_friction, which_numbers
from ..sim.motions.in_chunks import control_core
from ..sim.motions.outcome import acting_on, warn_of_contacts, with_passive
from ..sim.motions.read_arguments import check_actuators, check_closed, read_act, read_counts, read_period, read_steps
from ..sim.robot.runge_kutta_step import GIVEN, Followed, ForceLaw, StageRecording, Traced
from ..sim.robot.signal_recording import PASSES, SignalRecording
from ..sim.scenes.scene import Scene
from ..sim.simulations import default_dt
from ..system.system import System
from ..tree.parameters import Parameter
from .jax import array, call, check_precision, function, jax, whole
from .jax_scene import rollout_scene
from .operations import Operation
from .scene_plan import RolloutPlan

_FAR = 20.0  # velocities of joints of a loop, in balanced units, per velocity that is followed
_GROWTH = 10.0  # of these since the start, where they are far from each other by nature, as in gears


class JaxRun(NamedTuple):
    """States of motions as JAX arrays, a pytree; time is the first axis, and its first row the start, as in `fb.Run`.

    t (n): times (s). q (n, ..., nq), v (n, ..., nv): states. lost (n, ...): energy (J) that damping took, None of
    scenes. steps (...): the number of steps that each sample made. diverged (...): where these are fewer than were
    asked for; such samples are NaN from there on. act (n, ..., na): states of the actuators of a robot; None if they
    have none, or do not act.
    """

    t: Any
    q: Any
    v: Any
    lost: Any
    steps: Any
    diverged: Any
    act: Any = None


class _Now(NamedTuple):
    """The state of all samples, which a scan carries. `held`: the controls of this period from functions, by name."""

    q: Any
    v: Any
    lost: Any
    made: Any
    held: dict[str, Any]
    act: Any


def rollout(
    robot: System | Scene,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    steps: int | None = None,
    dt: float | None = None,
    u: Any = None,
    act: Any = None,
    f_ext: Any = None,
    period: float | None = None,
    passive: bool = True,
    numbers: Any = None,
    every: int = 1,
) -> JaxRun:
    """Simulate motions as `fourbar.rollout` does, within JAX transformations.

    Parameters
    ----------
    robot : System or Scene
        The robot, or a scene: its steps are then one operation, with gradients (`grad`, `vjp`), without `jvp`; it takes
        arrays as controls, and no f_ext.
    q : array_like, shape (..., nq)
        Configurations at the start, with loops closed.
    v : array_like, shape (..., nv), optional
        Velocities at the start (rad/s, m/s); zero if None.
    tau : array_like or callable, optional
        Joint forces, shape (..., rows, nv), a row for each period, or (nv,) if they are constant; or a JAX function
        ``tau(t, q, v)`` of arrays that is asked at the start of each period, such as a policy.
    steps : int, optional
        Number of steps; if None as many as the rows of `tau` or `u` last.
    dt : float, optional
        Length of a step (s). If None 0.001 for a robot, 0.002 for a scene.
    u : array_like or callable, optional
        Controls of the actuators, shape (..., rows, nu) or (nu,), in the same way.
    act : array_like, shape (..., na), optional
        States of the actuators of a robot at the start; zero if None, and in scenes.
    f_ext : array_like, dict or callable, optional
        Wrenches [moment; force] (N m, N) on bodies, shape (..., n_bodies, 6), or of some by name, `{"hand": wrench}`;
        or a JAX function ``f_ext(t, q, v)`` that returns such wrenches, asked at the start of each period.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    passive : bool, default True
        Let springs and damping of the joints, drag and currents act.
    numbers : dict, optional
        Parameters of the robot by name, arrays (..., *shape), as in `fourbar.rollout`.
    every : int, default 1
        Number of steps between two records; the start and the last step are always recorded.

    Returns
    -------
    JaxRun
        Times and states, time first. Leading axes broadcast.

    Raises
    ------
    ArgumentError
        If an argument is invalid, or a loop is open at the start; values are not checked while JAX traces them.

    Notes
    -----
    States have the bits of `fourbar.rollout`. It goes through `jit`, `vmap`, `grad`, `jvp` and so on, with respect to
    q, v, controls, f_ext, numbers, and whatever a function of the user closes over. A loop is followed in the
    velocities of the robot throughout, while `fourbar.rollout` changes to others where these do not determine the rest:
    a sample that comes near such a place is `diverged`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, fourbar as fb, fourbar.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> robot = fb.robots.double_pendulum()
    >>> def height(push):
    ...     run = fb.jax.rollout(robot, jnp.zeros(2), None, push, dt=0.01)
    ...     return fb.jax.function(robot.potential_energy)(run.q[-1])
    >>> jax.jit(jax.grad(height))(0.1 * jnp.ones((50, 2))).shape
    (50, 2)
    """
    dt = default_dt(robot) if dt is None else dt
    plan = _read_plan(dt, steps, period, every, passive, tau, u)
    if not isinstance(robot, System | Scene):
        raise ArgumentError(
            f"fourbar.jax.rollout takes a robot, such as fb.load(...) returns, or a scene, got {robot!r}"
        )
    check_precision("rollout")
    if isinstance(robot, Scene):
        if act is not None:
            raise ArgumentError("fourbar.jax.rollout: act: actuators of scenes begin with states of zero here")
        start = {"q": q, "v": v, "tau": tau, "u": u, "f_ext": f_ext}
        t, q, v, made, diverged = rollout_scene(robot, start, numbers, plan)
        return JaxRun(jax.numpy.asarray(t), q, v, None, made.astype(int), diverged)
    acting = {name: GIVEN for name, x in (("u", u), ("f_ext", f_ext)) if x is not None}
    stage = _Stage.of(robot, acting, passive, which_numbers(robot.mechanism, numbers))
    if act is not None and u is None:
        read_act("rollout", robot, act, False)
    start = {"q": q, "v": np.zeros(robot.nv) if v is None else v}
    start["act"] = np.zeros(robot.na) if act is None and u is not None else act
    return _Rolling(stage, plan, {**start, "tau": tau, "u": u, "f_ext": f_ext}, numbers or {}).run()


def _read_plan(dt: Any, steps: Any, period: Any, every: Any, passive: Any, tau: Any, u: Any) -> RolloutPlan:
    for name, x in (("dt", dt), ("steps", steps), ("period", period), ("every", every), ("passive", passive)):
        if isinstance(x, jax.core.Tracer):
            raise ArgumentError(
                f"rollout: {name} is traced by JAX, and decides what is compiled: give it as a plain number, from "
                f"outside the function, or name it in jax.jit(..., static_argnames={name!r})"
            )
    every = read_counts(every, passive)
    held = read_period(period, dt)
    return RolloutPlan(float(dt), read_steps(steps, held, tau, u), every, held)


class _Stage:
    """One pass of a step as an operation, with the data of the robot that it needs."""

    def __init__(self, robot: System, law: ForceLaw) -> None:
        if robot.model.cluster_tree.has_shared_joints:
            raise ArgumentError(
                f"fourbar.jax.rollout: a joint of a loop of {robot.name!r} is independent in part, and for such robots "
                "no steps are compiled; choose other velocities with robot.with_independent, or use fb.simulate"
            )
        followed = Followed(robot, robot)
        self.recording = StageRecording(followed, law, packed=False)
        self.robot, self.law, self.loops = robot, law, followed.loops
        self.operation = Operation(self.recording, self.recording.required_names)
        self.signals: Operation | None = None
        if law.u == GIVEN and robot.na:
            recording = SignalRecording(robot, law)
            self.signals = Operation(recording, recording.required_names)
        self.limits = _limits(robot)
        clusters = robot.model.cluster_tree.clusters
        self.is_free = np.array([c.is_free for c in clusters for _ in range(c.embedding.nq)], bool)
        self.of_loops = loop_parameters(robot, law.which)  # the numbers on which loops that are solved depend
        functions: Any = varied_functions(robot, self.of_loops) if self.of_loops else robot
        self.integrate, self.expand_velocity = function(functions.integrate), function(functions.expand_velocity)
        varied = varied_clusters(robot, self.of_loops) if self.of_loops else ()
        self.is_varied = np.array([c.loops in varied for c in clusters for _ in range(c.embedding.nq)], bool)

    @classmethod
    def of(cls, robot: System, acting: Mapping[str, Any], passive: bool, which: tuple[Parameter, ...]) -> _Stage:
        """The stage of a robot on which some controls act, made once: JAX knows its operation by identity."""
        refuse_dry_friction(which)
        warn_of_contacts(robot, "rollout")
        springs = acting_on(robot, passive, "rollout") is with_passive or (passive and are_passive(which))
        law = ForceLaw(springs, which=which, **acting)
        cache = vars(robot).setdefault("_jax_stages", {})
        return cache[law] if law in cache else cache.setdefault(law, cls(robot, law))

    def step(self, q: Any, v: Any, rest: Mapping[str, Any]) -> dict[str, Any]:
        """The results of the last pass of a step, by name; `rest` are other arguments, with controls in each pass.

        Nothing is taken apart or put together by JAX: XLA's code for the derivative of that may be wrong.
        """
        shapes = self.recording.parts_of_pass
        now = {name: jax.numpy.zeros(shape) for name, shape in shapes.items()}
        now |= {"q": q, "v": v, "stop": jax.numpy.asarray(-1.0)}
        names = [a.name for a in self.operation.arguments[len(shapes) :]]
        for k in range(PASSES):
            at = rest if "signals" not in rest else {**rest, "u": rest["signals"][k]}
            more = [{**at, "q0": q, "v0": v}[name] for name in names]
            now = dict(zip(shapes, call(self.operation, [*now.values(), *more]), strict=True))
        return now

    def _of_loops(self, numbers: Mapping[str, Any]) -> list[Any]:
        """The numbers on which loops depend, of all that are given by the names of arguments."""
        called = dict(zip(self.law.which, argument_names(self.law.which), strict=True))
        return [numbers[called[x]] for x in self.of_loops]

    def normalized_start(self, q: Any, numbers: Mapping[str, Any]) -> Any:
        """q with quaternions of unit length, loops as they are; moved along the configuration space by its tangent.
        Loops that depend on numbers are closed with these: NaN where that is impossible.
        """
        still = jax.lax.stop_gradient
        near = self.integrate(q, np.zeros(self.robot.nv), 1.0, *self._of_loops(numbers))
        return jax.numpy.where(self.is_free | self.is_varied, near, still(q) + (near - still(near)))

    def usual(self, q: Any, numbers: Mapping[str, Any]) -> Any:
        """Reference velocities (..., loops) of joints of loops for samples that start at q."""
        still, given = jax.lax.stop_gradient, zip(self._of_loops(numbers), self.of_loops, strict=True)
        spread = [jax.numpy.expand_dims(still(x), -1 - len(y.shape)) for x, y in given]
        every = self.expand_velocity(still(q)[..., None, :], np.eye(self.robot.nv), *spread)
        sizes = abs(every).max(axis=-2)[..., np.array(self.loops)]
        usual = jax.numpy.maximum(self.limits, _GROWTH * sizes) / GROWN
        none = Folds.of(self.robot).none
        return jax.numpy.concatenate([usual, np.broadcast_to(none, (*usual.shape[:-1], len(none)))], axis=-1)


def _limits(robot: System) -> np.ndarray:
    """Velocities of all joints of solved loops, per unit velocity, beyond which their conditioning is poor."""
    limits: list[float] = []
    for cluster in robot.model.cluster_tree.clusters:
        tie: Any = cluster.embedding
        if tie.is_solved:
            units = tie.units.columns
            least = min(scale / units[j] for j, scale in tie.independent)
            limits += (_FAR * units * least).tolist()
    return np.array(limits)


class _Rolling:
    """A rollout while JAX traces it."""

    def __init__(self, stage: _Stage, plan: RolloutPlan, given: dict[str, Any], numbers: Mapping[str, Any]) -> None:
        robot = stage.robot
        self._stage, self._plan = stage, plan
        if given["u"] is not None:
            check_actuators(robot)
        rows, sizes = -(-plan.steps // plan.period), {"tau": robot.nv, "u": robot.nu}
        self._controls = {name: Argument(name, (size,)) for name, size in sizes.items()}
        self._controls["f_ext"] = F_EXT.on(robot.model)
        self._functions = {name: given[name] for name in self._controls if callable(given[name])}
        for name, control in self._functions.items():
            if isinstance(control, Traced):
                raise ArgumentError(
                    f"rollout: {name}: fb.traced(...) is compiled into the steps of fourbar.rollout; here give a "
                    f"function {name}(t, q, v) of JAX arrays itself, which JAX compiles"
                )
        constant = [name for name in sizes if not callable(x := given[name]) and np.shape(x) == (sizes[name],)]
        given |= {name: jax.numpy.tile(jax.numpy.asarray(given[name]), (rows, 1)) for name in constant}
        cores = {"q": (robot.nq,), "v": (robot.nv,)} | ({} if given["act"] is None else {"act": (robot.na,)})
        cores |= {name: core for name in sizes if (core := control_core(name, given[name], rows, sizes[name]))}
        arguments = [Argument(name, core) for name, core in cores.items()]
        if given["f_ext"] is not None and "f_ext" not in self._functions:
            arguments.append(self._controls["f_ext"])
        names, which = [a.name for a in arguments], stage.law.which
        arguments += [Argument(f"numbers: {x.name!r}", x.shape) for x in which]
        values = [*(given[name] for name in names), *(numbers[x.name] for x in which)]
        arrays = [array("rollout", a, x) for a, x in zip(arguments, values, strict=True)]
        self._leading = batch_shape("rollout", arguments, arrays)
        spread = [whole(x, a.shape, self._leading) for x, a in zip(arrays, arguments, strict=True)]
        n = len(names)
        self._given = dict(zip(names, spread[:n], strict=True))
        self._numbers = dict(zip(argument_names(which), spread[n:], strict=True))
        known = {x: np.asarray(y) for x, y in zip(which, arrays[n:], strict=True) if not isinstance(y, jax.core.Tracer)}
        read_numbers(robot.mechanism, {x.name: y for x, y in known.items()})
        if not isinstance(arrays[0], jax.core.Tracer):
            q = np.asarray(arrays[0])
            check_closed(robot, q, which)
            if all(x in known for x in stage.of_loops):
                close("rollout", robot, which, {x.name: y for x, y in known.items()}, q, np.zeros(robot.nv))

    def run(self) -> JaxRun:
        """Make all steps."""
        jnp, plan, lax, robot = jax.numpy, self._plan, jax.lax, self._stage.robot
        driven = self._stage.signals is not None
        q, v = (jnp.broadcast_to(self._given[x], (*self._leading, self._given[x].shape[-1])) for x in ("q", "v"))
        given, q = q, self._stage.normalized_start(q, self._numbers)
        act = jnp.broadcast_to(self._given["act"], (*self._leading, robot.na)) if driven else jnp.zeros(0)
        start = jnp.where(self._stage.is_varied, q, given), v, jnp.zeros(self._leading), act
        usual = {"usual": self._stage.usual(q, self._numbers)} if self._stage.loops else {}
        fixed = {"dt": jnp.asarray(plan.dt), **usual, **self._numbers}
        if "f_ext" in self._given:
            fixed["f_ext"] = _flat(self._given["f_ext"], self._controls["f_ext"])

        def steps(now: _Now, inputs: Any) -> tuple[_Now, None]:
            return self._next(now, inputs, fixed), None

        def row(now: _Now, inputs: Any) -> tuple[_Now, Any]:
            now, _ = lax.scan(steps, now, inputs)
            return now, (now.q, now.v, now.lost, now.act)

        held = {name: jnp.zeros((*self._leading, self._controls[name].width)) for name in self._functions}
        now = _Now(q, v, jnp.zeros(self._leading), jnp.zeros(self._leading, int), held, act)
        inputs, rows = self._inputs(), plan.steps // plan.every
        whole_rows = jax.tree.map(lambda x: x[: rows * plan.every].reshape(rows, plan.every, *x.shape[1:]), inputs)
        now, later = lax.scan(row, now, whole_rows)
        parts = [[x[None] for x in start], later]
        if plan.steps % plan.every:
            now, _ = lax.scan(steps, now, jax.tree.map(lambda x: x[rows * plan.every :], inputs))
            parts.append([x[None] for x in (now.q, now.v, now.lost, now.act)])
        q, v, lost, act = (jnp.concatenate(x) for x in zip(*parts, strict=True))
        t = np.minimum(np.arange(len(q)) * plan.every, plan.steps) * plan.dt
        return JaxRun(jnp.asarray(t), q, v, lost, now.made, now.made < plan.steps, act if driven else None)

    def _inputs(self) -> dict[str, Any]:
        """The inputs that differ from step to step, along the first axis: its number, and controls that are arrays."""
        plan, inputs = self._plan, {"number": np.arange(self._plan.steps)}
        for name in ("tau", "u"):
            if name in self._given:
                x = jax.numpy.repeat(self._given[name], plan.period, axis=-2)[..., : plan.steps, :]
                inputs[name] = jax.numpy.moveaxis(x, -2, 0)
        return inputs

    def _next(self, now: _Now, inputs: dict[str, Any], fixed: dict[str, Any]) -> _Now:
        """The next states; samples that diverge are NaN from there on."""
        jnp = jax.numpy
        held = self._held_controls(now, inputs["number"])
        nothing = {"tau": jnp.zeros(self._stage.robot.nv)}
        controls = {**nothing, **{name: inputs[name] for name in inputs if name != "number"}, **held}
        rest, act = {**fixed, **controls}, now.act
        if self._stage.signals is not None:
            act, *signals = call(self._stage.signals, [act, controls["u"], fixed["dt"]])
            rest["signals"] = signals
        after = self._stage.step(now.q, now.v, rest)
        q, v, stop = after["q"], after["v"], after["stop"]
        good = jnp.isfinite(q).all(axis=-1) & jnp.isfinite(v).all(axis=-1) & ~(stop > 0.0)
        gone = jnp.where(good, -0.0, jnp.nan)  # adding this changes no bit, and no derivative, of what is good
        q, v, lost = q + gone[..., None], v + gone[..., None], now.lost + after["lost"] + gone
        act = act if self._stage.signals is None else act + gone[..., None]
        return _Now(q, v, lost, now.made + good, held, act)

    def _held_controls(self, now: _Now, number: Any) -> dict[str, Any]:
        """Controls of functions, new ones at the start of each period."""
        if not self._functions:
            return {}
        if self._plan.period == 1:
            return self._ask_functions(now, number)
        is_new = number % self._plan.period == 0
        return jax.lax.cond(is_new, lambda: self._ask_functions(now, number), lambda: now.held)

    def _ask_functions(self, now: _Now, number: Any) -> dict[str, Any]:
        controls = {}
        for name, asked in self._functions.items():
            answer = self._controls[name]._replace(name=f"{name}(t, q, v)")
            try:
                value = array("rollout", answer, asked(number * self._plan.dt, now.q, now.v))
            except jax.errors.TracerArrayConversionError as error:
                raise ArgumentError(
                    f"rollout: {name}: {asked!r} makes NumPy arrays of what JAX traces; write it with jax.numpy, or "
                    f"use fourbar.rollout, which asks functions of NumPy arrays ({str(error).splitlines()[0]})"
                ) from None
            try:
                controls[name] = _flat(jax.numpy.broadcast_to(value, (*self._leading, *answer.shape)), answer)
            except ValueError:
                raise ArgumentError(
                    f"rollout: {name}(t, q, v) returned shape {value.shape} for states of shape "
                    f"{(*self._leading, now.q.shape[-1])}"
                ) from None
        return controls


def _flat(x: Any, argument: Argument) -> Any:
    """An array (..., *shape) of an argument with its entries along one axis."""
    return x.reshape(*x.shape[: x.ndim - len(argument.shape)], argument.width)
