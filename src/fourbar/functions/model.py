"""The model of a robot that methods work on: its mechanism, and the cluster tree of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..mechanism.mechanism import Mechanism
from ..tree.cluster_tree import ClusterTree, lower

if TYPE_CHECKING:
    from ..tree.parameters import Parameter

Changes = tuple[tuple["Parameter", tuple[Any, ...]], ...]  # numbers, and the entries of their changes


@dataclass(frozen=True)
class Model:
    """A mechanism and its cluster tree; why its mass matrix has no inverse, if somebody found that out."""

    mechanism: Mechanism
    cluster_tree: ClusterTree
    unsolvable: str = ""

    @staticmethod
    def of(mechanism: Mechanism, unsolvable: str = "") -> Model:
        """The model of a mechanism."""
        return Model(mechanism, lower(mechanism), unsolvable)

    @property
    def numbers(self) -> list[Parameter]:
        """All numbers along which functions of the model can be differentiated."""
        from ..tree.parameters import numbers  # when first needed: building a robot does without

        return numbers(self.mechanism)

    def changed(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        """The model with other numbers: of the mechanism (`cluster_tree`, which is another one then), and `more`."""
        assert not more, f"these belong to nothing: {more}"
        return replace(self, cluster_tree=cluster_tree)
