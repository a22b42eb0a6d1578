"""Recordings in which some parameters of the model are inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..arrays import Argument
from ..mechanism.actuators import Actuator
from ..spatial.inertia import Inertia
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import every_body, is_compensated
from ..tree.parameter_changes import (
    VariedTree,
    varied_bodies,
    varied_compensation,
    varied_tree,
    with_laws,
    with_varied,
)
from ..tree.parameters import GRAVITY, Parameter
from ..tree.spanning_tree import SpanningTree
from .context import Context, inputs
from .model import Model


def argument_names(which: Sequence[Parameter]) -> tuple[str, ...]:
    """Parameters as names of arguments: "hand.mass" is hand_mass."""
    names: list[str] = []
    for x in which:
        name = base = re.sub(r"\W", "_", x.name) if x != GRAVITY else x.name
        name = base = f"_{base}" if base[:1].isdigit() else base
        k = 1
        while name in names:
            k += 1
            name = f"{base}_{k}"
        names.append(name)
    return tuple(names)


def as_arguments(which: Sequence[Parameter]) -> tuple[Argument, ...]:
    """Parameters as arguments."""
    return tuple(Argument(called, x.shape) for called, x in zip(argument_names(which), which, strict=True))


class VariedContext(Context):
    """A recording in which some parameters of the model are inputs, called as `argument_names` says, or by `names`."""

    def __init__(
        self,
        model: Model,
        recorder: Any,
        present: Sequence[Argument],
        which: tuple[Parameter, ...],
        given: dict[str, tuple[Any, ...]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        values = inputs(recorder, present) if given is None else given
        entries = dict(zip(which, (values[name] for name in names or argument_names(which)), strict=True))
        self._origin, self._which = model.mechanism, tuple(x for x in which if x.is_mechanisms)
        self._values = Vec([entry for x in self._which for entry in entries[x]])
        other_changes = tuple((x, own) for x, own in entries.items() if not x.is_mechanisms)
        cluster_tree, varied = model.cluster_tree, None
        if self._which:
            varied = recorder.call(varied_tree, self._origin, self._which, self._values)
            recorder.begin_block()  # values of parameters alone are a block of their own (`expr/partial_evaluation`)
            cluster_tree = with_varied(self._origin, cluster_tree, self._which, self._values, varied)
        super().__init__(model.with_changes(cluster_tree, other_changes), recorder, present, values)
        self.origin = model
        if varied is not None:
            self.gravity = varied.gravity
            self.actuators = self._actuators_with_laws(varied)

    @classmethod
    def with_parameters(
        cls, model: Model, recorder: Any, given: Mapping[str, tuple[Any, ...]], which: tuple[Parameter, ...]
    ) -> Context:
        """A recording at values that a larger recording has, as `Context.at`; parameters are called as
        `argument_names` says.
        """
        if not which:
            return Context.at(model, recorder, given)
        made = cls(model, recorder, (), which, dict(given))
        made._configurations = frozenset({"q"})
        return made

    def _actuators_with_laws(self, varied: VariedTree) -> tuple[Actuator, ...]:
        """The actuators, with the laws that are given."""
        every = list(self._origin.actuators)
        for place, (gain, bias) in zip(with_laws(self._which), varied.laws, strict=True):
            numbers = (("gain", tuple(gain)), ("bias", tuple(bias)))
            every[place] = replace(every[place], kind="affine", parameters=numbers)
        return tuple(every)

    def every_body(self) -> tuple[SpanningTree, tuple[Transform, ...]]:
        if not self._which:
            return super().every_body()
        links, poses = self.recorder.call(varied_bodies, self._origin, self._which, self._values)
        return SpanningTree(every_body(self._origin)[0].parents, links), poses

    def compensated_inertias(self) -> Sequence[Inertia]:
        if not self._which or not is_compensated(self._origin):
            return super().compensated_inertias()
        return self.recorder.call(varied_compensation, self._origin, self._which, self._values)
