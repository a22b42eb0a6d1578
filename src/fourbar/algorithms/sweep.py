"""The two loops of the library: from the root to the leaves, and from the leaves to the root.

A step is a pure function of one link. `outward` hands it what its parent returned; `inward` hands it the sum of what
its children sent. Neither knows whether the step runs on numbers or is being traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr.node import Value
from ..expr.pytree import leaves
from ..tree.links import Link
from ..tree.spanning_tree import SpanningTree

if TYPE_CHECKING:
    from ..expr import Recorder


def _first_step(step: Callable[..., Any], link: Link, q: Any, v: Any, *args: Any) -> tuple[Any, Any]:
    k = link.at(q, v)
    return k, step(k, *args)


class Sweeps:
    """Runs steps over a tree at one state. The kinematics k = (X, S, c_J, I) of a link is made when first used."""

    def __init__(
        self, tree: SpanningTree, recorder: Recorder, q: Sequence[Any], v: Sequence[Any] | None = None
    ) -> None:
        self.tree = tree
        self.recorder = recorder
        self._q = tree.split_q(q)
        self._v = [None] * len(tree.links) if v is None else tree.split_v(v)
        self.k: list[Any] = [None] * len(tree.links)

    def known(self, function: Callable[..., Any], *args: Any) -> Any:
        """function(*args), recorded only if it depends on what is: of constants it stays a constant."""
        recorded = any(x.__class__ is Value for x in leaves(args))
        return self.recorder.call(function, *args) if recorded else function(*args)

    def step(self, i: int, step: Callable[..., Any], *args: Any) -> Any:
        """step(k_i, *args)."""
        if self.k[i] is not None:
            return self.recorder.call(step, self.k[i], *args)
        self.k[i], result = self.recorder.call(_first_step, step, self.tree.links[i], self._q[i], self._v[i], *args)
        return result

    def outward(self, step: Callable[..., Any], ground: Any, *inputs: Sequence[Any]) -> list[Any]:
        """result_i = step(k_i, result of the parent (or ground), inputs_i...)."""
        results: list[Any] = []
        for i, parent in enumerate(self.tree.parents):
            above = ground if parent < 0 else results[parent]
            results.append(self.step(i, step, above, *(x[i] for x in inputs)))
        return results

    def inward(self, step: Callable[..., Any], *inputs: Sequence[Any]) -> list[Any]:
        """result_i, message to the parent = step(k_i, messages of the children, inputs_i...)."""
        n = len(self.tree.parents)
        messages: list[list[Any]] = [[] for _ in range(n)]
        results: list[Any] = [None] * n
        for i in reversed(range(n)):
            results[i], message = self.step(i, step, tuple(messages[i]), *(x[i] for x in inputs))
            if self.tree.parents[i] >= 0:
                messages[self.tree.parents[i]].insert(0, message)
        return results


class Outcome(NamedTuple):
    """What a step of an inward sweep returns: its own result, and what it sends to the parent."""

    result: Any
    message: Any
