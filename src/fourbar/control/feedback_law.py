"""The feedback law of a plan as a compiled function, which other languages may have too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.tiles import plus_product
from ..arrays import Argument
from ..expr import Program, maximum, minimum
from ..functions.context import record_program
from ..functions.function import make
from ..functions.recording import BLOCK, Recording
from ..spatial.linear import Vec
from ..tree.clusters import split

_DOC = """Controls of a plan with feedback, u + K (x ⊖ x̄), within bounds.

Parameters
----------
q : array_like, shape (..., nq)
    Configuration.
v : array_like, shape (..., nv)
    Velocity (rad/s, m/s).
q_plan : array_like, shape (..., nq)
    Configuration of the plan.
v_plan : array_like, shape (..., nv)
    Velocity of the plan (rad/s, m/s).
u_plan : array_like, shape (..., nu)
    Controls of the plan.
K : array_like, shape (..., nu, 2 nv)
    Gains of the plan.

Returns
-------
u : ndarray, shape (..., nu)
    Controls.
"""


class FeedbackLaw(Recording):
    """The recording of the law of a robot, with constant bounds (nu)."""

    name = "feedback"

    def __init__(self, model: Any, low: np.ndarray, high: np.ndarray) -> None:
        super().__init__()
        self.model, self._low, self._high = model, tuple(low.tolist()), tuple(high.tolist())
        tree, m = model.cluster_tree, len(low)
        self.arguments = (
            Argument("q", (tree.nq,), False, (tree.nv,)), Argument("v", (tree.nv,)),
            Argument("q_plan", (tree.nq,), False, (tree.nv,)), Argument("v_plan", (tree.nv,)), Argument("u_plan", (m,)),
            Argument("K", (m, 2 * tree.nv)),
        )  # fmt: skip
        self.results = ("u",)

    @property
    def doc(self) -> str:
        return _DOC

    @property
    def nan(self) -> str:
        return ""

    @property
    def parts(self) -> tuple[Any, ...]:
        return "feedback law", self.model.mechanism, self._low, self._high

    def pickle_recipe(self) -> tuple[Any, ...]:
        return compile_feedback, self.model, np.array(self._low), np.array(self._high)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return record_program(self.name, self._record, block)

    def _record(self, recorder: Any) -> list[Any]:
        inputs = {x.name: recorder.input(x.name, x.shape) for x in self.arguments}
        clusters, call = self.model.cluster_tree.clusters, recorder.call
        parts = [split(clusters, Vec(inputs[name]), "nq") for name in ("q_plan", "q")]
        away = [x for c, *both in zip(clusters, *parts, strict=True) for x in call(_difference, c.embedding, *both)]
        away += call(_less, Vec(inputs["v"]), Vec(inputs["v_plan"]))
        n = len(away)
        K = [list(inputs["K"][i : i + n]) for i in range(0, len(inputs["K"]), n)]
        fed = plus_product(recorder, [[x] for x in inputs["u_plan"]], K, [[x] for x in away])
        u = call(_clip, Vec([x for (x,) in fed]), self._low, self._high)
        return [("u", (len(u),), list(u))]


def compile_feedback(model: Any, low: np.ndarray, high: np.ndarray) -> Any:
    """The compiled function."""
    return make(FeedbackLaw(model, low, high))


def _difference(embedding: Any, a: Vec, b: Vec) -> Any:
    return embedding.difference(a, b)


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def _clip(u: Vec, low: tuple[float, ...], high: tuple[float, ...]) -> Vec:
    limited = []
    for x, a, b in zip(u, low, high, strict=True):
        above = maximum(x, a) if np.isfinite(a) else x
        limited.append(minimum(above, b) if np.isfinite(b) else above)
    return Vec(limited)
