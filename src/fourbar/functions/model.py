"""What a method of a robot works on: its mechanism, and the tree that this was cluster_tree to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..mechanism.mechanism import Mechanism
from ..tree.cluster_tree import ClusterTree

if TYPE_CHECKING:
    from ..tree.parameters import Parameter

Changes = tuple[tuple["Parameter", tuple[Any, ...]], ...]  # numbers, and the entries of their changes


@dataclass(frozen=True)
class Model:
    """A mechanism and what it was cluster_tree to."""

    mechanism: Mechanism
    cluster_tree: ClusterTree

    def shape(self, argument: str) -> tuple[int, ...]:
        """Core shape of an argument, by its name."""
        if argument in ("q", "q0", "q1"):
            return (self.cluster_tree.nq,)
        if argument == "f_ext":
            return (len(self.mechanism.bodies), 6)
        if argument == "u":
            return (len(self.mechanism.actuators),)
        return () if argument == "dt" else (self.cluster_tree.nv,)

    @property
    def numbers(self) -> list[Parameter]:
        """All numbers along which functions of the model can be differentiated."""
        from ..tree.parameters import numbers

        return numbers(self.mechanism)

    def changed(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        """The same with other numbers: of the mechanism (`cluster_tree`, which is another one then), and `more`."""
        assert not more, f"these belong to nothing: {more}"
        return replace(self, cluster_tree=cluster_tree)
