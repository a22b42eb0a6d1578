"""Derivatives of a step as recordings: along a direction, backwards, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.tiles import plus_product, transpose
from ...arrays import Argument
from ...expr.program_derivatives import PIECE
from ...functions.context import Context
from ...functions.registry import flat
from ...spatial.linear import Mat, Vec
from ...tree.clusters import split
from .directional_step import DirectionalStep, rate_of
from .jacobian_recording import StepJacobianRecording
from .response import negative
from .step_derivative import DISPLACEMENT, FREE, Known, StepDerivative, StepInputs, add, make_derivative, over, times


class StepJvpRecording(DirectionalStep):
    """Along one direction: tangents of the `moving` arguments to those of q and v."""

    kind = "jvp"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        own = [x for x in self.inputs if x.name in moving]
        self.tangents = tuple(Argument(f"d_{x.name}", x.tangent) for x in own)
        self.arguments = (*self.inputs, *self.tangents)
        self.results = ("d_q", "d_v", "report")

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        own = {x.name: x for x in self.inputs}
        direction = {name: rate_of(c, own[name], c.given[f"d_{name}"]) for name in self.moving}
        dq, dv, known, linear = self.push(c, [direction], PIECE)
        return [("d_q", (c.nv,), flat(dq)), ("d_v", (c.nv,), flat(dv)), *self.report(known, linear)]


class StepVjpRecording(StepDerivative):
    """Backwards: weights of q (nv) and v (nv) to the gradients by the `moving` arguments."""

    kind = "vjp"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        n = self.model.cluster_tree.nv
        self.arguments = (*self.inputs, Argument("w_q", (n,)), Argument("w_v", (n,)))
        self.results = (*(f"g_{name}" for name in moving), "report")

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        recorder, (dt,), call = c.recorder, c.given["dt"], c.recorder.call
        known, linear = self.solve(c)
        M, J, answers, response, free = linear
        ended = self.end(known, PIECE).pull({"q": self._entries(known, c.given["w_q"]), "v": c.given["w_v"]})[1]
        of_end = [ended]
        if known.displacement is not None:
            both = known.displacement.weights([[x] for x in ended[DISPLACEMENT]], dt)
            of_end.append(self.recovery_equations(known, PIECE).pull(dict(zip("rc", map(flat, both), strict=True)))[1])
        weight = [[call(_total, x)] for x in zip(*(some["a"] for some in of_end), strict=True)]  # (nv, 1)
        p = negative(recorder, M.negative_solution(weight))
        weights: dict[str, Sequence[Any]] = {}
        if response is not None:
            shares = [
                list(row) for row in call(over, Mat(map(Vec, plus_product(recorder, None, J, p))), dt)
            ]  # J p / dt
            of_velocities, of_bounds = response.weights(shares)
            y = [[x] for x in of_velocities]
            back = [list(row) for row in call(times, Mat(map(Vec, plus_product(recorder, None, answers, y))), dt)]
            total = p if self.of.spec.soft else [[call(add, a, b)] for (a,), (b,) in zip(p, back, strict=True)]
            w_r = negative(recorder, total)
            weights |= {"c": flat(negative(recorder, y)), "bounds": of_bounds}
        else:
            w_r = negative(recorder, p)
        # Each on its own: without damping the accelerations of a soft law are the same values, whose weights would add.
        pulls = [{"r": flat(w_r)}, weights] if self.of.spec.soft else [{"r": flat(w_r), **weights}]
        gradients = [*of_end, *(self.equations(known, PIECE).pull(x)[1] for x in pulls if x)]
        if self.has_free:
            weight_of_free = free.negative_solution([[x] for x in gradients[-1][FREE]])
            gradients.append(self.free_equations(known, PIECE).pull({"r": flat(weight_of_free)})[1])
        own = {x.name: x for x in self.inputs}
        results = []
        for name in self.moving:
            total = [call(_total, x) for x in zip(*(some[name] for some in gradients), strict=True)]
            results.append((f"g_{name}", own[name].tangent, self._on_group(c, own[name], total)))
        return [*results, *self.report(known, linear)]

    def _entries(self, known: Known, weight: Sequence[Any]) -> list[Any]:
        """A weight of the tangent at the end as one of the coordinates there."""
        c = known.c
        parts = split(c.clusters, weight, "nv")
        both = zip(parts, self.displacement_slopes(known), strict=True)
        return [
            x
            for own, slopes in both
            for x in flat(plus_product(c.recorder, None, transpose(slopes), [[y] for y in own]))
        ]

    def _on_group(self, c: Context, argument: Argument, gradient: Sequence[Any]) -> Sequence[Any]:
        """A gradient by the entries of an argument as one by its tangent."""
        if not argument.is_configuration:
            return gradient
        parts = zip(c.clusters, c.by_cluster(argument.name), split(c.clusters, gradient, "nq"), strict=True)
        return flat([c.recorder.call(_pull_rate, x.embedding, q, own) for x, q, own in parts])


def _pull_rate(embedding: Any, q: Any, w: Any) -> Vec:
    """The transposed map of `rate`."""
    columns = []
    for j in range(embedding.nv):
        unit = [1.0 if i == j else 0.0 for i in range(embedding.nv)]
        columns.append(sum((a * b for a, b in zip(embedding.rate(q, unit), w, strict=True)), 0.0))
    return Vec(columns)


def _total(x: tuple[Any, ...]) -> Any:
    return sum(x[1:], x[0])


KINDS: dict[str, type[StepDerivative]] = {
    "jvp": StepJvpRecording,
    "vjp": StepVjpRecording,
    "jacobian": StepJacobianRecording,
}


def step_derivative(kind: str, of: StepInputs, moving: tuple[str, ...]) -> Any:
    """The compiled function of a derivative: "jvp", "vjp" or "jacobian"."""
    return make_derivative(KINDS[kind], of, moving)
