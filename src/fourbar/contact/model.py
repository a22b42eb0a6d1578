"""A robot with what it may touch as a model, and the compiled function of one step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..compile.program_cache import cached_program
from ..expr import Program, select
from ..functions.context import Context, Record, record, recorded
from ..functions.fingerprint import fingerprint
from ..functions.model import Model
from ..functions.recording import BLOCK, MethodRecording
from ..functions.registry import Method
from ..functions.rollout import Rollout, Step
from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Vec
from ..tree.cluster_tree import ClusterTree, lower
from .candidates import Spec
from .step import contact_step, rolling_step

_LARGEST = 40_000  # operations in a step that is unrolled
RESULTS = ("q", "v", "impulse", "told")  # of more than four a call takes the slow way
METHOD = Method(
    contact_step,
    ("q", "v", "tau", "dt", "impulse"),
    RESULTS,
    ("f_ext", "friction"),
    ("spec",),
    contact_step.__doc__ or "",
)


@dataclass(frozen=True)
class ContactModel(Model):
    """A mechanism with candidates of contacts."""

    spec: Spec

    def shape(self, argument: str) -> tuple[int, ...]:
        if argument == "impulse":
            return (rows(self.spec),)
        return (len(self.spec.candidates),) if argument == "friction" else super().shape(argument)


def rows(spec: Spec) -> int:
    """How many rows a step solves for."""
    return sum(1 + sum(x.discs) for x in spec.candidates) + len(spec.joints)


class StepRecording(MethodRecording):
    """The recording of a step."""

    def recorded(self, algorithm: Record, present: tuple[str, ...], block: int = BLOCK) -> Any:
        return record(self.name, self.model, algorithm, present, self._static, block, _LARGEST)


def _static(cluster_tree: ClusterTree, spec: Spec) -> dict[str, Any]:
    return {"spec": spec}


def recording(mechanism: Mechanism, spec: Spec) -> StepRecording:
    """The recording of a step of a mechanism."""
    model = ContactModel(mechanism, lower(mechanism), spec)
    return StepRecording(model, "contact_step", METHOD, partial(_static, spec=spec), (compiled_step, mechanism, spec))


def compiled_step(mechanism: Mechanism, spec: Spec) -> Any:
    """The function (q, v, tau, dt, impulse) -> q, v, impulse, told: residual, gaps, forces."""
    from ..functions.make import make

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
        self.model, self.spec, self.force = ContactModel(mechanism, lower(mechanism), spec), spec, force
        self.holds = force is not None and force.period > 1
        n, shape = len(spec.candidates), self.model.shape
        self.state = {name: shape(name) for name in ("q", "v", "impulse")} | {"worst": (), "late": (), "count": ()}
        if self.holds:
            self.state |= {"held": shape("tau"), "phase": ()}
        self.controls = {"tau": shape("tau")} if force is None else {}
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
