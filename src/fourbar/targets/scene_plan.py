"""Motions of scenes with contacts, and their gradients, as other libraries call them: on arrays, by place.

Gradients by q have an entry for each coordinate, as those libraries will have it; they are those of a function that is
constant off the configuration space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..sim.motions.in_chunks import control_core
from ..sim.motions.read_arguments import check_actuators
from ..sim.scenes.scene import Scene


class RolloutPlan(NamedTuple):
    """The steps of a rollout: how long, how many, how many of them a row and a control last."""

    dt: float
    steps: int
    every: int
    period: int


class ScenePlan(NamedTuple):
    """A motion of a scene, as far as it is compiled: its steps; the names of the arrays that are given, q, v, controls
    and then numbers; and how many axes each has besides those of samples.
    """

    scene: Scene
    rollout: RolloutPlan
    names: tuple[str, ...]
    cores: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of recorded states."""
        return 1 + -(-self.rollout.steps // self.rollout.every)

    @property
    def times(self) -> np.ndarray:
        """Times of the records (s)."""
        dt, count, every, _ = self.rollout
        return np.minimum(np.arange(self.rows) * every, count) * dt

    def leading(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The axes of the samples, from the shapes of all arrays."""
        axes = [tuple(s)[: len(s) - n] for s, n in zip(shapes, self.cores, strict=True)]
        try:
            return np.broadcast_shapes(*axes)
        except ValueError:
            shown = ", ".join(f"{name} {x}" for name, x in zip(self.names, axes, strict=True))
            raise ArgumentError(f"rollout: the leading (batch) axes do not broadcast together: {shown}") from None

    def _arguments(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """The arguments of `scene.rollout`."""
        dt, count, every, period = self.rollout
        by_name: dict[str, Any] = {name: np.asarray(x) for name, x in zip(self.names, arrays, strict=True)}
        numbers = {name: by_name.pop(name) for name in self.names if name not in ("q", "v", "tau", "u")}
        return {**by_name, "steps": count, "dt": dt, "every": every, "period": period * dt, "numbers": numbers or None}

    def run(self, arrays: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Recorded q (..., n, nq) and v (..., n, nv), and the number of steps (...)."""
        run = self.scene.rollout(**self._arguments(arrays))
        batch = self.leading([np.shape(x) for x in arrays])
        q, v = (np.broadcast_to(np.moveaxis(x, 0, -2), (*batch, self.rows, x.shape[-1])) for x in (run.q, run.v))
        return np.ascontiguousarray(q), np.ascontiguousarray(v), np.broadcast_to(run.steps, batch).astype(float)

    def pull(self, arrays: Sequence[Any], w_q: Any, w_v: Any) -> tuple[np.ndarray, ...]:
        """The gradients by all arrays, each with the axes of all samples; w_q (..., n, nq), w_v (..., n, nv)."""
        robot, motion = self.scene.robot, self._arguments(arrays)
        batch = self.leading([np.shape(x) for x in arrays])
        motion |= {name: np.broadcast_to(motion[name], (*batch, motion[name].shape[-1])) for name in ("q", "v")}
        names = tuple(motion["numbers"] or ())

        def weights(run: Any) -> tuple[np.ndarray, np.ndarray]:
            entries, velocities = (np.moveaxis(np.asarray(w), -2, 0) for w in (w_q, w_v))
            return np.einsum("...i,...ij->...j", entries, _rates(robot, run.q)), velocities

        found = self.scene.rollout_vjp(**motion, weights=weights, parameters=names)
        R = _rates(robot, np.asarray(motion["q"]))
        by_q = np.einsum("...ij,...j->...i", R, np.linalg.solve(np.swapaxes(R, -1, -2) @ R, found.q[..., None])[..., 0])
        by_name = {"q": by_q, "v": found.v, "tau": found.tau, "u": found.u, **found.parameters}
        return tuple(np.ascontiguousarray(by_name[name]) for name in self.names)

    def cores_of(self, shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The axes of all arrays besides those of samples."""
        return [tuple(s)[len(s) - n :] for s, n in zip(shapes, self.cores, strict=True)]


def _rates(robot: Any, q: np.ndarray) -> np.ndarray:
    """The rates of coordinates (..., nq, nv) by velocities."""
    return robot.integrate.jacobian(q, np.zeros(robot.nv), 1.0).v


def make_plan(
    caller: str, scene: Scene, plan: RolloutPlan, given: Mapping[str, Any], numbers: Any, library: Any,
    convert: Callable[[str, Any, tuple[int, ...]], Any],
) -> tuple[ScenePlan, list[Any]]:  # fmt: skip
    """The motion, and its arrays in order.

    `library` has broadcast_to; `convert` makes an array of the library of an argument, whose last axes are given.
    """
    robot, rows = scene.robot, -(-plan.steps // plan.period)
    if given["u"] is not None:
        check_actuators(robot)
    for name in ("tau", "u", "f_ext"):
        if callable(given.get(name)) or (name == "f_ext" and given.get(name) is not None):
            raise ArgumentError(
                f"{caller}: {name}: motions of scenes take arrays tau and u here; for feedback or wrenches, "
                "make the steps with scene.step, whose derivatives are scene.step.vjp"
            )
    arrays = {"q": convert("q", given["q"], (robot.nq,))}
    arrays["v"] = convert("v", np.zeros(robot.nv) if given["v"] is None else given["v"], (robot.nv,))
    for name, size in (("tau", robot.nv), ("u", robot.nu)):
        if given[name] is not None:
            control = convert(name, given[name], ())
            if tuple(control.shape) == (size,):
                control = library.broadcast_to(control, (rows, size))
            control_core(name, control, rows, size)
            arrays[name] = control
    cores = {name: 1 if name in ("q", "v") else 2 for name in arrays}
    for name, value in (numbers or {}).items():
        shape = scene.step.derivatives.numbers(caller, None, (name,)).parameters[name].shape
        arrays[name], cores[name] = convert(name, value, shape), len(shape)
    return ScenePlan(scene, plan, tuple(arrays), tuple(cores.values())), list(arrays.values())
