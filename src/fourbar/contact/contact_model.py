"""A robot with what it may touch as a model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..algorithms.constrained.rows import ConstraintRows
from ..functions.arguments import DeclaredArgument
from ..functions.constraint_rows import group_rows
from ..functions.model import Changes, Model
from ..mechanism.mechanism import Mechanism
from ..once import cached_property
from ..tree.cluster_tree import ClusterTree, lower
from .candidates import Spec

LARGEST = 40_000  # operations in a step that is unrolled


class Impulse(DeclaredArgument):
    """An impulse for each row that a step solves for."""

    def shape(self, model: Any) -> tuple[int, ...]:
        return (rows(model),)


IMPULSE = Impulse("impulse")


@dataclass(frozen=True)
class ContactModel(Model):
    """A mechanism with candidates of contacts. `changing`: its numbers are entries of a recording."""

    spec: Spec = field(default_factory=lambda: Spec((), ()))
    changing: bool = False

    def with_changes(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        assert not more, f"these belong to nothing: {more}"
        return replace(self, cluster_tree=cluster_tree, changing=cluster_tree is not self.cluster_tree)

    @cached_property
    def bundles(self) -> tuple[ConstraintRows, ...]:
        """The rows of constraints that forces keep."""
        return tuple(group_rows(self.cluster_tree, x, self.changing) for x in self.spec.kept)

    @property
    def kept_rows(self) -> int:
        """Number of these rows."""
        return sum(x.traced.m for x in self.bundles)

    @staticmethod
    def with_contacts(mechanism: Mechanism, spec: Spec) -> ContactModel:
        """The model of a mechanism with what it may touch."""
        return ContactModel(mechanism, lower(mechanism), spec=spec)


def rows(model: ContactModel) -> int:
    """Number of rows that a step solves for: of contacts, joints and constraints."""
    return sum(1 + sum(x.discs) for x in model.spec.candidates) + len(model.spec.joints) + model.kept_rows
