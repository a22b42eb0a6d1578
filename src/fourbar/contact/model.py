"""A robot with what it may touch as a model, and the compiled function of one step of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ..compile.program_cache import cached_program
from ..expr import Program
from ..functions.context import Context, Record, record, recorded
from ..functions.fingerprint import fingerprint
from ..functions.model import Model
from ..functions.recording import BLOCK, MethodRecording
from ..functions.registry import Method
from ..functions.rollout import Rollout, Step
from ..mechanism.mechanism import Mechanism
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


def rolled(mechanism: Mechanism, spec: Spec, friction: bool) -> Rollout:
    """Rollouts of a mechanism: state q, v, impulse, worst, late, count; controls tau; numbers dt and, if asked for, the
    friction of every contact; records residual, gap, force."""
    model = ContactModel(mechanism, lower(mechanism), spec)
    n = len(spec.candidates)

    def write(recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
        return rolling_step(Context.at(model, recorder, given), spec)

    state = {name: model.shape(name) for name in ("q", "v", "impulse")} | {"worst": (), "late": (), "count": ()}
    numbers: dict[str, tuple[int, ...]] = {"dt": (), "friction": (n,)} if friction else {"dt": ()}
    records = {"residual": (), "gap": (n,), "force": (n, 3)}
    step = RollingStep(
        "contact_rollout", write, state, {"tau": model.shape("tau")}, numbers, records, key=(mechanism, spec, friction)
    )
    return Rollout(step)
