"""A robot with what it may touch as a model, and the compiled function of one step of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ..arrays import Argument
from ..compile.program_cache import cached_program
from ..expr import Program, select
from ..functions.arguments import DT, F_EXT, TAU, Input, Q, V
from ..functions.context import Context, Record, record, recorded
from ..functions.fingerprint import fingerprint
from ..functions.function import make
from ..functions.model import Model
from ..functions.recording import BLOCK, MethodRecording
from ..functions.registry import Method, Option
from ..functions.rollout import Rollout, Step
from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Vec
from ..tree.cluster_tree import ClusterTree, lower
from .candidates import Spec
from .step import contact_step, rolling_step

_LARGEST = 40_000  # operations in a step that is unrolled
RESULTS = ("q", "v", "impulse", "told")  # of more than four a call takes the slow way


class Impulse(Input):
    """An impulse for each row that a step solves for."""

    def shape(self, model: Any) -> tuple[int, ...]:
        return (rows(model.spec),)


class PerContact(Input):
    """A number for each contact."""

    def shape(self, model: Any) -> tuple[int, ...]:
        return (len(model.spec.candidates),)


IMPULSE, FRICTION = Impulse("impulse"), PerContact("friction")
METHOD = Method(
    contact_step,
    (Q, V, TAU, DT, IMPULSE),
    RESULTS,
    (F_EXT, FRICTION),
    (Option("spec"),),
    doc=contact_step.__doc__ or "",
)


@dataclass(frozen=True)
class ContactModel(Model):
    """A mechanism with candidates of contacts."""

    spec: Spec = field(default_factory=lambda: Spec((), ()))

    @staticmethod
    def with_contacts(mechanism: Mechanism, spec: Spec) -> ContactModel:
        """The model of a mechanism with what it may touch."""
        return ContactModel(mechanism, lower(mechanism), spec=spec)


def rows(spec: Spec) -> int:
    """How many rows a step solves for."""
    return sum(1 + sum(x.discs) for x in spec.candidates) + len(spec.joints)


class StepRecording(MethodRecording):
    """The recording of a step."""

    def recorded(self, algorithm: Record, present: Sequence[Argument], block: int = BLOCK) -> Program:
        return record(self.name, self.model, algorithm, present, self.static, block, _LARGEST)


def _static(cluster_tree: ClusterTree, spec: Spec) -> dict[str, Any]:
    return {"spec": spec}


def recording(mechanism: Mechanism, spec: Spec) -> StepRecording:
    """The recording of a step of a mechanism."""
    model = ContactModel.with_contacts(mechanism, spec)
    return StepRecording(model, "contact_step", METHOD, partial(_static, spec=spec), (compiled_step, mechanism, spec))


def compiled_step(mechanism: Mechanism, spec: Spec) -> Any:
    """The function (q, v, tau, dt, impulse) -> q, v, impulse, told: residual, gaps, forces."""
    return make(recording(mechanism, spec))


class RollingStep(Step):
    """The step of a rollout, unrolled up to a size of its own."""

    def program(self) -> Program:
        """The program of one step: as it was written before, maybe by another process, or anew."""
        write = partial(recorded, self.name, self._record, largest=_LARGEST)
        return cached_program(partial(fingerprint, ("contact rollout", self.key)), write)


class Force(NamedTuple):
    """Joint forces that are part of the step: a function (t, q, v) -> Vec of scalars, asked every `period` steps."""

    function: Callable[[Any, Vec, Vec], Vec]
    period: int = 1


def _asked(function: Any, count: Any, dt: Any, q: Vec, v: Vec) -> Vec:
    return function(count * dt, q, v)


def _held(phase: Any, period: float, new: Vec, old: Vec) -> tuple[Vec, Any]:
    """The forces of a step, and the steps since they were asked for."""
    fresh = phase < 0.5
    left = select(phase + 1.0 > period - 0.5, 0.0, phase + 1.0)
    return Vec([select(fresh, x, y) for x, y in zip(new, old, strict=True)]), left


class Rolling:
    """The steps of rollouts of a mechanism: how they are recorded."""

    def __init__(self, mechanism: Mechanism, spec: Spec, friction: bool, force: Force | None) -> None:
        self.model, self.spec, self.force = ContactModel.with_contacts(mechanism, spec), spec, force
        self.holds = force is not None and force.period > 1
        n, tau = len(spec.candidates), TAU.shape(self.model)
        self.state = {x.name: x.shape(self.model) for x in (Q, V, IMPULSE)} | {"worst": (), "late": (), "count": ()}
        if self.holds:
            self.state |= {"held": tau, "phase": ()}
        self.controls = {"tau": tau} if force is None else {}
        self.numbers: dict[str, tuple[int, ...]] = {"dt": (), "friction": (n,)} if friction else {"dt": ()}
        self.records = {"residual": (), "gap": (n,), "force": (n, 3)}

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Record one step."""
        more: dict[str, Any] = {}
        if self.force is not None:
            (count,), (dt,) = given["count"], given["dt"]
            tau = recorder.call(_asked, self.force.function, count, dt, Vec(given["q"]), Vec(given["v"]))
            if self.holds:
                (phase,) = given["phase"]
                tau, left = recorder.call(_held, phase, float(self.force.period), tau, Vec(given["held"]))
                more = {"held": tau, "phase": (left,)}
            given = {**given, "tau": tuple(tau)}
        return {**rolling_step(Context.at(self.model, recorder, given), self.spec), **more}


def rolled(mechanism: Mechanism, spec: Spec, friction: bool, force: Force | None = None) -> Rollout:
    """Rollouts of a mechanism: state q, v, impulse, worst, late, count; controls tau, unless a `force` is part of the
    step; numbers dt and, if asked for, the friction of every contact; records residual, gap, force."""
    x = Rolling(mechanism, spec, friction, force)
    key = (mechanism, spec, friction, force)
    return Rollout(RollingStep("contact_rollout", x.write, x.state, x.controls, x.numbers, x.records, key=key))
