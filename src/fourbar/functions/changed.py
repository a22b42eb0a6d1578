"""Recording an algorithm on a model whose numbers change: by entries of inputs, each called as the number is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import every_body
from ..tree.parameter_changes import changed_bodies, changed_numbers, with_numbers
from ..tree.parameters import Parameter
from ..tree.spanning_tree import SpanningTree
from .context import Context, Model


class ChangedContext(Context):
    """A recording in which some numbers of the model are what they were plus an input."""

    def __init__(self, model: Model, recorder: Any, present: Sequence[str], which: tuple[Parameter, ...]) -> None:
        given = {name: recorder.input(name, model.shape(name)) for name in present}
        entries = {x: recorder.input(x.name, x.shape) for x in which}
        self._origin, self._which = model.mechanism, tuple(x for x in which if x.is_mechanisms)
        self._changes = Vec([entry for x in self._which for entry in entries[x]])
        cluster_tree, gravity = model.cluster_tree, model.mechanism.gravity
        if self._which:
            found = recorder.call(changed_numbers, self._origin, self._which, self._changes)
            cluster_tree = with_numbers(self._origin, cluster_tree, self._which, self._changes, found)
            gravity = found.gravity
        more = tuple((x, own) for x, own in entries.items() if not x.is_mechanisms)
        super().__init__(model.changed(cluster_tree, more), recorder, ())
        self.given = given
        self.gravity = gravity

    def every_body(self) -> tuple[SpanningTree, tuple[Transform, ...]]:
        if not self._which:
            return super().every_body()
        links, poses = self.recorder.call(changed_bodies, self._origin, self._which, self._changes)
        return SpanningTree(every_body(self._origin)[0].parents, links), poses
