"""Motions of scenes with contacts as JAX functions: machine code forwards, and backwards through the record of states.

A motion is one callback (`jax.pure_callback`), and so is its gradient (`scene.rollout_vjp`): JAX differentiates it
backwards (`grad`, `vjp`), not forwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Argument
from ..sim.scenes.scene import Scene
from .jax import array, jax
from .scene_plan import RolloutPlan, ScenePlan, make_plan


def rollout_scene(scene: Scene, given: Mapping[str, Any], numbers: Any, plan: RolloutPlan) -> Any:
    """Times, q (n, ..., nq), v (n, ..., nv), steps (...) and whether samples diverged (...) of a motion of a scene."""
    motion, arrays = make_plan("fourbar.jax.rollout", scene, plan, given, numbers, jax.numpy, _array)
    q, v, count = _motion(motion, *arrays)
    return motion.times, jax.numpy.moveaxis(q, -2, 0), jax.numpy.moveaxis(v, -2, 0), count, count < plan.steps


def _array(name: str, x: Any, core: tuple[int, ...]) -> Any:
    return array("rollout", Argument(name, core), x)


def _forwards(plan: ScenePlan, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
    """The motion, and what its gradient needs."""
    batch, robot = plan.leading([x.shape for x in arrays]), plan.scene.robot
    sizes = ((plan.rows, robot.nq), (plan.rows, robot.nv), ())
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *size), np.dtype(float)) for size in sizes)
    return jax.pure_callback(lambda *x: plan.run(x), shapes, *arrays, vmap_method="broadcast_all"), arrays


def _backwards(plan: ScenePlan, arrays: tuple[Any, ...], weights: Any) -> tuple[Any, ...]:
    """The gradients by all arrays, each of its own shape."""
    own_shapes = [x.shape for x in arrays]
    batch, count = plan.leading(own_shapes), len(arrays)
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *core), np.dtype(float)) for core in plan.cores_of(own_shapes))
    gradients = jax.pure_callback(
        lambda *x: plan.pull(x[:count], *x[count:]), shapes, *arrays, *weights[:2], vmap_method="broadcast_all"
    )
    return tuple(_sum_to(x, shape) for x, shape in zip(gradients, own_shapes, strict=True))


def _sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """A gradient summed over the axes along which an array was repeated."""
    extra = tuple(range(x.ndim - len(shape)))
    x = x.sum(axis=extra)
    repeated = tuple(k for k, (a, b) in enumerate(zip(x.shape, shape, strict=True)) if b == 1 and a != 1)
    return x.sum(axis=repeated, keepdims=True)


_motion: Any = jax.custom_vjp(lambda plan, *arrays: _forwards(plan, *arrays)[0], nondiff_argnums=(0,))
_motion.defvjp(_forwards, _backwards)
