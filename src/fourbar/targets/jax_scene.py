"""Motions of scenes with contacts as JAX functions: machine code forwards, and backwards through the record of states.

A motion is one callback (`jax.pure_callback`), and so is its gradient (`scene.rollout_vjp`): JAX differentiates it
backwards (`grad`, `vjp`), not forwards. Gradients by q have an entry for each coordinate, as JAX will have it; they are
those of a function that is constant off the configuration space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument
from ..errors import ArgumentError
from ..sim.motions.in_chunks import control_core
from ..sim.motions.read_arguments import check_actuators
from ..sim.scenes.scene import Scene
from .jax import array, jax


class ScenePlan(NamedTuple):
    """A motion of a scene, as far as it is compiled: steps, their length, records and periods; the names of the arrays
    that are given, q, v, controls and then numbers; and their core axes.
    """

    scene: Any
    steps: int
    dt: float
    every: int
    period: int
    names: tuple[str, ...]
    cores: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of recorded states."""
        return 1 + -(-self.steps // self.every)

    def arguments(self, arrays: tuple[np.ndarray, ...]) -> dict[str, Any]:
        """The arguments of `scene.rollout`."""
        by_name: dict[str, Any] = {name: np.asarray(x) for name, x in zip(self.names, arrays, strict=True)}
        numbers = {name: by_name.pop(name) for name in self.names if name not in ("q", "v", "tau", "u")}
        period = self.period * self.dt
        return {**by_name, "steps": self.steps, "dt": self.dt, "every": self.every, "period": period,
                "numbers": numbers or None}  # fmt: skip

    def leading(self, arrays: Any) -> tuple[int, ...]:
        """The axes of the samples."""
        shapes = [np.shape(x)[: np.ndim(x) - n] for x, n in zip(arrays, self.cores, strict=True)]
        return np.broadcast_shapes(*shapes)


def rollout_scene(scene: Scene, given: Mapping[str, Any], numbers: Any, plan: tuple[float, int, int, int]) -> Any:
    """Times, q (n, ..., nq), v (n, ..., nv), steps (...) and whether samples diverged (...) of a motion of a scene."""
    dt, steps, every, period = plan
    robot = scene.robot
    if given["u"] is not None:
        check_actuators(robot)
    for name in ("tau", "u", "f_ext"):
        if callable(given[name]) or (name == "f_ext" and given[name] is not None):
            raise ArgumentError(
                f"fourbar.jax.rollout: {name}: motions of scenes take arrays tau and u here; for feedback or wrenches, "
                "make the steps with scene.step, whose derivatives are scene.step.vjp"
            )
    rows, sizes = -(-steps // period), {"tau": robot.nv, "u": robot.nu}
    arrays = {"q": array("rollout", Argument("q", (robot.nq,)), given["q"])}
    arrays["v"] = array("rollout", Argument("v", (robot.nv,)), np.zeros(robot.nv) if given["v"] is None else given["v"])
    for name, size in sizes.items():
        if given[name] is not None:
            x = jax.numpy.asarray(given[name], float)
            x = jax.numpy.broadcast_to(x, (rows, size)) if x.shape == (size,) else x
            control_core(name, x, rows, size)
            arrays[name] = x
    cores = {name: 1 if name in ("q", "v") else 2 for name in arrays}
    for name, value in (numbers or {}).items():
        arrays[name] = jax.numpy.asarray(value, float)
        cores[name] = _core(scene, name)
    made = ScenePlan(scene, steps, dt, every, period, tuple(arrays), tuple(cores[name] for name in arrays))
    q, v, count = _motion(made, *arrays.values())
    t = np.minimum(np.arange(made.rows) * every, steps) * dt
    return t, jax.numpy.moveaxis(q, -2, 0), jax.numpy.moveaxis(v, -2, 0), count, count < steps


def _core(scene: Scene, name: str) -> int:
    """The number of axes of a number."""
    nominal = scene.step.derivatives.numbers("rollout", None, (name,))
    return len(nominal.parameters[name].shape)


def _run(plan: ScenePlan, *arrays: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Recorded q (..., n, nq) and v (..., n, nv), and the number of steps (...)."""
    run = plan.scene.rollout(**plan.arguments(arrays))
    batch = plan.leading(arrays)
    q, v = (np.broadcast_to(np.moveaxis(x, 0, -2), (*batch, plan.rows, x.shape[-1])) for x in (run.q, run.v))
    return np.ascontiguousarray(q), np.ascontiguousarray(v), np.broadcast_to(run.steps, batch).astype(float)


def _shapes(plan: ScenePlan, arrays: Any) -> tuple[Any, ...]:
    batch, robot = plan.leading(arrays), plan.scene.robot
    sizes = ((plan.rows, robot.nq), (plan.rows, robot.nv), ())
    return tuple(jax.ShapeDtypeStruct((*batch, *size), np.dtype(float)) for size in sizes)


def _motion_forwards(plan: ScenePlan, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
    """The motion, and what its gradient needs."""
    found = jax.pure_callback(lambda *x: _run(plan, *x), _shapes(plan, arrays), *arrays, vmap_method="broadcast_all")
    return found, arrays


def _motion_backwards(plan: ScenePlan, arrays: tuple[Any, ...], weights: Any) -> tuple[Any, ...]:
    """The gradients by all arrays, each of its own shape."""
    batch = plan.leading(arrays)
    cores = [np.shape(x)[np.ndim(x) - n :] for x, n in zip(arrays, plan.cores, strict=True)]
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *core), np.dtype(float)) for core in cores)
    gradients = jax.pure_callback(
        lambda *x: _pull(plan, x[: len(arrays)], *x[len(arrays) :]), shapes, *arrays, *weights[:2],
        vmap_method="broadcast_all",
    )  # fmt: skip
    return tuple(_sum_to(x, np.shape(own)) for x, own in zip(gradients, arrays, strict=True))


def _sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """A gradient summed over the axes along which an array was repeated."""
    extra = tuple(range(x.ndim - len(shape)))
    x = x.sum(axis=extra)
    repeated = tuple(k for k, (a, b) in enumerate(zip(x.shape, shape, strict=True)) if b == 1 and a != 1)
    return x.sum(axis=repeated, keepdims=True)


def _pull(plan: ScenePlan, arrays: tuple[Any, ...], w_q: Any, w_v: Any) -> tuple[np.ndarray, ...]:
    """Gradients with the leading axes of all samples."""
    robot, motion = plan.scene.robot, plan.arguments(arrays)
    batch = plan.leading(arrays)
    motion |= {name: np.broadcast_to(motion[name], (*batch, motion[name].shape[-1])) for name in ("q", "v")}
    names = tuple(motion["numbers"] or ())

    def weights(run: Any) -> tuple[np.ndarray, np.ndarray]:
        entries, velocities = (np.moveaxis(np.asarray(w), -2, 0) for w in (w_q, w_v))
        return np.einsum("...i,...ij->...j", entries, _rates(robot, run.q)), velocities

    found = plan.scene.rollout_vjp(**motion, weights=weights, parameters=names)
    R = _rates(robot, np.asarray(motion["q"]))
    by_q = np.einsum("...ij,...j->...i", R, np.linalg.solve(np.swapaxes(R, -1, -2) @ R, found.q[..., None])[..., 0])
    by_name = {"q": by_q, "v": found.v, "tau": found.tau, "u": found.u, **found.parameters}
    return tuple(np.asarray(by_name[name]) for name in plan.names)


def _rates(robot: Any, q: np.ndarray) -> np.ndarray:
    """The rates of coordinates (..., nq, nv) by velocities."""
    return robot.integrate.jacobian(q, np.zeros(robot.nv), 1.0).v


_motion: Any = jax.custom_vjp(lambda plan, *arrays: _motion_forwards(plan, *arrays)[0], nondiff_argnums=(0,))
_motion.defvjp(_motion_forwards, _motion_backwards)
