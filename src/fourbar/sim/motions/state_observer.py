"""Observations of states: at the start of a motion, where nothing has acted yet, and of a robot alone at any time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...algorithms.energy import add
from ...functions import actuator_recording as actuation
from ...functions.context import Context
from ...functions.methods.dynamics import accelerations
from ...functions.methods.passive import passive_parts
from ...functions.registry import flat
from ...functions.rollout import Rollout, Step
from ...functions.step_end import OBSERVED, Observation, StepEnd
from ...functions.varied_context import VariedContext, argument_names
from ...once import cached_property, make_recent
from ...spatial.linear import Vec
from ...tree.parameters import Parameter
from ..robot.runge_kutta_step import Commands, ForceLaw


class Start:
    """The start of a motion; see `StepEnd`. Controls are not known yet: NaN."""

    t = 0.0

    def __init__(self, c: Context) -> None:
        still = (0.0,) * c.nv
        self.now = self.moving = c.with_values(
            {**c.given, "a": still, "tau": still, "u": (float("nan"),) * len(c.actuators)}
        )

    @property
    def own(self) -> StepEnd:
        """Itself."""
        return self

    @property
    def actuator_forces(self) -> list[Any]:
        """None act."""
        return [0.0] * len(self.now.actuators)

    @property
    def contacts(self) -> dict[str, Any] | None:
        """None press."""
        spec = getattr(self.now.model, "spec", None)
        return None if spec is None else {"force": [0.0] * (3 * len(spec.candidates))}


def kept_observer(kept: dict[Any, Any], make: Callable[..., Any], model: Any, *given: Any) -> Any:
    """An observer of a model that was made before, found among `kept` ones of the same model, or a new one."""
    return make_recent(kept, (make, *given), partial(make, model, *given))


class Observer:
    """Observations of states at which a motion begins."""

    def __init__(self, model: Any, which: tuple[Parameter, ...], observed: tuple[tuple[str, Observation], ...]) -> None:
        self._model, self._which, self._observed = model, which, observed
        tree = model.cluster_tree
        numbers = {name: x.shape for name, x in zip(argument_names(which), which, strict=True)}
        records = {f"{OBSERVED}{name}": x.shape(model) for name, x in observed}
        state = {"q": (tree.nq,), "v": (tree.nv,)}
        key = (model.mechanism, getattr(model, "spec", None), which, observed)
        self._rollout = Rollout(Step("observe", self._write, state, {}, numbers, records, key=key))

    def _write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        end = Start(VariedContext.with_parameters(self._model, recorder, given, self._which))
        found = {f"{OBSERVED}{name}": x.write(end) for name, x in self._observed}
        return {"q": given["q"], "v": given["v"], **found}

    def observe(self, q: np.ndarray, v: np.ndarray, numbers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Observations at states (..., nq), (..., nv), by name."""
        if not self._observed:
            return {}
        rolled = self._rollout.run({"q": q, "v": v}, {}, numbers, steps=1)
        axis = rolled.made.ndim
        return {name: np.take(rolled.records[f"{OBSERVED}{name}"], 0, axis=axis) for name, _ in self._observed}


class Present:
    """A state of a robot alone, with what acts there; see `StepEnd`."""

    def __init__(self, c: Context, t: Any, law: ForceLaw) -> None:
        self.t, self._law = t, law
        if law.torque is not None:
            own = Commands(law.torque, "tau", c.nv)
            c.given["tau"] = tuple(c.recorder.call(own, t, Vec(c.given["q"]), Vec(c.given["v"])))
        total = c.by_cluster("tau")
        if "u" in c.given:
            driven = c.project(actuation.joint_forces(c))
            total = [c.recorder.call(add, *both) for both in zip(total, driven, strict=True)]
        self.now = c.with_values({**c.given, "tau": tuple(flat(total))})

    @cached_property
    def moving(self) -> Context:
        """A recording with accelerations: the given ones, if there are any."""
        c = self.now
        if "a" in c.given:
            return c
        tau = c.by_cluster("tau")
        if self._law.passive:
            tau = [c.recorder.call(add, *both) for both in zip(tau, passive_parts(c), strict=True)]
        return c.with_values({**c.given, "a": tuple(flat(accelerations(c, c.velocities(), tau, c.gravity)))})

    @property
    def own(self) -> StepEnd:
        """Itself."""
        return self

    @property
    def actuator_forces(self) -> list[Any]:
        """The forces of the actuators."""
        return actuation.forces(self.now)

    @property
    def contacts(self) -> None:
        """There are none."""
        return


class InstantObserver:
    """Observations of a robot alone at times, states and controls."""

    def __init__(self, model: Any, law: ForceLaw, observed: tuple[tuple[str, Observation], ...]) -> None:
        self._model, self._law, self._observed = model, law, observed
        self._rollouts: dict[tuple[str, ...], Rollout] = {}  # by the controls that are given

    def _write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        c = VariedContext.with_parameters(self._model, recorder, given, self._law.which)
        end = Present(c, given["t"][0], self._law)
        found = {f"{OBSERVED}{name}": x.write(end) for name, x in self._observed}
        return {"q": given["q"], "v": given["v"], **found}

    def observe(self, t: Any, q: np.ndarray, v: np.ndarray, controls: dict[str, Any], numbers: Any) -> dict[str, Any]:
        """Observations by name; leading axes broadcast."""
        if tuple(controls) not in self._rollouts:
            self._rollouts[tuple(controls)] = self._rollout(controls)
        rollout = self._rollouts[tuple(controls)]
        rolled = rollout.run({"q": q, "v": v}, {}, {"t": t, **controls, **numbers}, steps=1)
        axis = rolled.made.ndim
        return {name: np.take(rolled.records[f"{OBSERVED}{name}"], 0, axis=axis) for name, _ in self._observed}

    def _rollout(self, controls: dict[str, Any]) -> Rollout:
        tree, which = self._model.cluster_tree, self._law.which
        shapes: dict[str, tuple[int, ...]] = {"t": ()} | {name: x.shape[-1:] for name, x in controls.items()}
        shapes |= {name: x.shape for name, x in zip(argument_names(which), which, strict=True)}
        records = {f"{OBSERVED}{name}": x.shape(self._model) for name, x in self._observed}
        own = (self._law.passive, self._law.torque, which, tuple(controls))
        key = (self._model.mechanism, self._observed, own)
        return Rollout(Step("observe", self._write, {"q": (tree.nq,), "v": (tree.nv,)}, {}, shapes, records, key=key))
