"""A robot with what it may touch as a model, and the compiled function of one step of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..algorithms.constrained.rows import ConstraintRows
from ..arrays import Argument
from ..functions.arguments import DT, F_EXT, TAU, DeclaredArgument, Q, U, V
from ..functions.constraint_rows import bundle
from ..functions.context import Context
from ..functions.function import make
from ..functions.model import Changes, Model
from ..functions.recording import MethodRecording
from ..functions.registry import Method, Option
from ..functions.varied_context import VariedContext, argument_names
from ..mechanism.mechanism import Mechanism
from ..once import cached_property
from ..tree.cluster_tree import ClusterTree, lower
from ..tree.parameters import Parameter
from .candidates import Spec
from .step_recording import contact_step

LARGEST = 40_000  # operations in a step that is unrolled
RESULTS = ("q", "v", "impulse", "report")  # of more than four a call takes the slow way


class Impulse(DeclaredArgument):
    """An impulse for each row that a step solves for."""

    def shape(self, model: Any) -> tuple[int, ...]:
        return (rows(model),)


class PerContact(DeclaredArgument):
    """A number for each contact."""

    def shape(self, model: Any) -> tuple[int, ...]:
        return (len(model.spec.candidates),)


IMPULSE, FRICTION = Impulse("impulse"), PerContact("friction")
METHOD = Method(
    contact_step,
    (Q, V, TAU, DT, IMPULSE),
    RESULTS,
    (F_EXT, FRICTION, U),
    (Option("spec"),),
    text=contact_step.__doc__ or "",
)


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
        return tuple(bundle(self.cluster_tree, x, self.changing) for x in self.spec.kept)

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


class StepRecording(MethodRecording):
    """The recording of a step, with some parameters of the model, and numbers of terrain, as arguments."""

    largest = LARGEST

    def __init__(self, mechanism: Mechanism, spec: Spec, which: tuple[Parameter, ...] = ()) -> None:
        model = ContactModel.with_contacts(mechanism, spec)
        again = (compiled_step, mechanism, spec, which)
        every = [(which, argument_names(which)), (spec.numbers, argument_names(spec.numbers))]
        more = tuple(Argument(name, x.shape) for some, names in every for x, name in zip(some, names, strict=True))
        super().__init__(model, "step", METHOD, partial(_static, spec=spec), again, more)
        self._which = which

    def context(self, recorder: Any, present: Sequence[Argument]) -> Context:
        which = self._which
        c = VariedContext(self.model, recorder, present, which) if which else Context(self.model, recorder, present)
        return c.in_steps()


def _static(cluster_tree: ClusterTree, spec: Spec) -> dict[str, Any]:
    return {"spec": spec}


def compiled_step(mechanism: Mechanism, spec: Spec, which: tuple[Parameter, ...] = ()) -> Any:
    """The function (q, v, tau, dt, impulse, parameters..., numbers of terrain...) -> q, v, impulse, report: residual,
    gaps, forces."""
    return make(StepRecording(mechanism, spec, which))
