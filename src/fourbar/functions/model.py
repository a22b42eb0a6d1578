"""The model of a robot that methods work on: its mechanism, and the cluster tree of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanism.mechanism import Mechanism
from ..tree.assembly import cluster_neutral
from ..tree.cluster_tree import ClusterTree, lower

if TYPE_CHECKING:
    from ..tree.parameters import Parameter

Changes = tuple[tuple["Parameter", tuple[Any, ...]], ...]  # numbers and their entries


@dataclass(frozen=True)
class Model:
    """A mechanism and its cluster tree; the reason why the mass matrix is singular, once known."""

    mechanism: Mechanism
    cluster_tree: ClusterTree
    unsolvable: str = ""

    @staticmethod
    def of(mechanism: Mechanism, unsolvable: str = "") -> Model:
        """The model of a mechanism."""
        return Model(mechanism, lower(mechanism), unsolvable)

    def neutral(self) -> np.ndarray:
        """The neutral configuration (nq), with its loops closed; joints may be outside their limits."""
        parts = [cluster_neutral(self.cluster_tree, cluster) for cluster in self.cluster_tree.clusters]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def numbers(self) -> tuple[Parameter, ...]:
        """All numbers by which functions of the model can be differentiated."""
        from ..tree.parameters import parameters  # when first needed: building a robot does without

        return parameters(self.mechanism)

    def values(self, x: Parameter) -> list[float]:
        """The entries of one of them."""
        return x.values(self.mechanism)

    def with_changes(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        """The model with other numbers: of the mechanism (`cluster_tree`, which is another one then), and `more`."""
        assert not more, f"these belong to nothing: {more}"
        return replace(self, cluster_tree=cluster_tree)
