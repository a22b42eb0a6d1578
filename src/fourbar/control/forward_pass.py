"""The forward pass: motions of a plant under controls with feedback, in machine code, with their cost.

A step is that of the plant under u = clip(ū + α k + K (x ⊖ x̄)), where x̄, ū, k and K are rows of controls of the
rollout; the cost of the knot is added to what was before. With gaps f the next state is moved by (α - 1) f, so that a
whole step closes them. Without feedback (sampling) controls are rows as they are, held for some steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.tiles import plus_product
from ..contact.contact_model import LARGEST
from ..expr import maximum, minimum, select
from ..functions.context import record_program
from ..functions.registry import flat
from ..functions.rollout import Rollout, Step, steps_since
from ..sim.robot.runge_kutta_step import integrate
from ..spatial.linear import Vec
from ..tree.clusters import split
from .knot_cost import KnotCost
from .plants import Plant

Shape = tuple[int, ...]
_BESIDES = ("q", "v", "u")  # what the cost of a knot gets from the motion, and not as rows or numbers


class PlantStep(Step):
    """The step of a rollout, unrolled up to the size of steps with contacts."""

    def program(self) -> Any:
        """The program of one step; it has functions of the user's, whose meaning is not known from their names."""
        return record_program(self.name, self._record, largest=LARGEST)


class FedMotion(NamedTuple):
    """Motions: q (..., T + 1, nq), v (..., T + 1, nv), u (..., T, nu), the cost (...) of the knots before the last;
    what else derivatives need, (..., T, *shape) by name; and whether (...) all of it is finite."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    cost: np.ndarray
    needed: dict[str, np.ndarray]
    finite: np.ndarray


class ForwardPass:
    """Motions of a plant under controls of a kind. `rows` are inputs of the cost that differ from knot to knot."""

    def __init__(self, plant: Plant, cost: KnotCost, rows: Sequence[str], gaps: bool = False, hold: int = 0) -> None:
        self._plant, self._cost, self._hold, self._gaps = plant, cost, hold, gaps
        robot, m = plant.robot, plant.drives.count
        state = {"q": (robot.nq,), "v": (robot.nv,), **plant.state, "cost": ()}
        inner = {name: shape for name, shape in cost.inputs.items() if name not in _BESIDES and 0 not in shape}
        self._row_names = [name for name in inner if name in rows]
        controls: dict[str, Shape] = {name: inner[name] for name in self._row_names}
        numbers: dict[str, Shape] = {name: x for name, x in inner.items() if name not in rows} | {"dt": ()}
        controls |= {"u": (m,)}
        if hold:
            state |= {"since": ()}
        else:
            n = 2 * robot.nv
            controls |= {"over_q": (robot.nq,), "over_v": (robot.nv,), "k": (m,), "K": (m, n)}
            controls |= {"low": (m,), "high": (m,)}
            controls |= {"gap": (n,)} if gaps else {}
            numbers |= {"length": ()}
        patience = getattr(plant, "patience", ())
        if patience:  # a state that a rollout knows by itself, the last one
            state["patience"] = state.pop("patience")
        records = {} if hold else {"own": (m,)}
        step = PlantStep("motion", self._write, state, controls, numbers, records, patience=patience)
        self._rollout, self.numbers, self.controls = Rollout(step), numbers, controls

    def _write(self, recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
        plant, call = self._plant, recorder.call
        if self._hold:
            u = tuple(given["u"])
            due = given["since"][0]
        else:
            u, due = self._feedback(recorder, given), None
        inputs = {name: given.get(name, ()) for name in self._cost.inputs} | {"u": u}
        spent = self._cost.write(recorder, inputs)
        after = plant.write(recorder, {**{name: given[name] for name in ("q", "v", "dt", *plant.state)}, "u": u})
        results: dict[str, Any] = {name: after[name] for name in ("q", "v", *plant.state)}
        results["cost"] = (call(_add_due, given["cost"][0], spent, 0.0 if due is None else due),)
        if self._hold:
            results["since"] = (call(steps_since, due, float(self._hold)),)
            return results
        if self._gaps:
            results["q"], results["v"] = self._close(recorder, results, given)
        return {**results, "own": u}

    def _feedback(self, recorder: Any, given: dict[str, Any]) -> tuple[Any, ...]:
        """u + α k + K (x ⊖ x̄), within bounds."""
        call, clusters = recorder.call, self._plant.model.cluster_tree.clusters
        m, n = len(given["u"]), 2 * self._plant.robot.nv
        there, here = (split(clusters, Vec(given[name]), "nq") for name in ("over_q", "q"))
        away = [x for c, a, b in zip(clusters, there, here, strict=True) for x in call(_difference, c.embedding, a, b)]
        away += call(_less, Vec(given["v"]), Vec(given["over_v"]))
        K = [list(given["K"][i : i + n]) for i in range(0, m * n, n)]
        fed = plus_product(recorder, [[x] for x in given["u"]], K, [[x] for x in away])
        ends = Vec(given["low"]), Vec(given["high"])
        return tuple(call(_along, Vec([x for (x,) in fed]), Vec(given["k"]), given["length"][0], *ends))

    def _close(self, recorder: Any, after: dict[str, Any], given: dict[str, Any]) -> tuple[Any, Any]:
        """The next state, with a part of the gap left."""
        call, clusters, n = recorder.call, self._plant.model.cluster_tree.clusters, self._plant.robot.nv
        left = call(_left_of_gap, Vec(given["gap"]), given["length"][0])
        both = zip(clusters, split(clusters, Vec(after["q"]), "nq"), split(clusters, Vec(left[:n]), "nv"), strict=True)
        return flat([call(integrate, c.embedding, *x) for c, *x in both]), call(_sum, Vec(after["v"]), Vec(left[n:]))

    def run(
        self, q: np.ndarray, v: np.ndarray, controls: Mapping[str, Any], numbers: Mapping[str, Any], steps: int,
        threads: int | None,
    ) -> FedMotion:  # fmt: skip
        """Motions from states (..., nq), (..., nv); `controls` (..., T, *shape), `numbers` (..., *shape)."""
        plant = self._plant
        state = {"q": q, "v": v, **plant.first_state(), "cost": np.zeros(())}
        state.pop("patience", None)
        kept = ("q", "v", "own", "cost", *plant.needed)
        own = {name: controls[name] for name in self.controls}
        run = self._rollout.run(
            state, own, {name: numbers[name] for name in self.numbers}, steps=steps, records=kept, threads=threads
        )
        lead = run.records["cost"].shape[:-1]
        first = [np.broadcast_to(x, (*lead, x.shape[-1]))[..., None, :] for x in (q, v)]
        q, v = (np.concatenate([a, run.records[name]], axis=-2) for a, name in zip(first, "qv", strict=True))
        needed = {name: run.records[name] for name in plant.needed}
        return FedMotion(q, v, run.records["own"], run.records["cost"][..., -1], needed, ~run.diverged)

    def sample(
        self, q: np.ndarray, v: np.ndarray, controls: Mapping[str, Any], numbers: Mapping[str, Any], steps: int,
        threads: int | None,
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:  # fmt: skip
        """The states at the end of motions by name, and their costs (...), infinite where these diverged."""
        state = {"q": q, "v": v, **self._plant.first_state(), "cost": np.zeros(()), "since": np.zeros(())}
        state.pop("patience", None)
        run = self._rollout.run(
            state, {name: controls[name] for name in self.controls}, {name: numbers[name] for name in self.numbers},
            steps=steps * self._hold, hold=self._hold, every=steps * self._hold, records=(), threads=threads,
        )  # fmt: skip
        return run.state, np.where(run.diverged, np.inf, run.state["cost"])


def _difference(embedding: Any, a: Vec, b: Vec) -> Any:
    return embedding.difference(a, b)


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b


def _left_of_gap(gap: Vec, length: Any) -> Vec:
    return gap * (length - 1.0)


def _along(u: Vec, k: Vec, length: Any, low: Vec, high: Vec) -> Vec:
    wanted = [x + length * d for x, d in zip(u, k, strict=True)]
    return Vec([minimum(maximum(x, a), b) for x, a, b in zip(wanted, low, high, strict=True)])


def _add_due(total: Any, spent: Any, since: Any) -> Any:
    return total + select(since < 0.5, spent, 0.0)
