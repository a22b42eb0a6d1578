"""What recording an algorithm needs: the model, a recorder, and the arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..algorithms.sweep import Sweeps
from ..expr import Program, Shared, TooLarge, Unrolled
from ..model.lower import GROUND, Lowered
from ..model.mechanism import Mechanism
from ..spatial.linear import Vec
from ..spatial.vectors import Wrench

# Above so many traced operations a program takes long to compile when unrolled; its steps then share their code.
_LARGEST_UNROLLED = 16_000


@dataclass(frozen=True)
class Model:
    """A mechanism and what it was lowered to."""

    mechanism: Mechanism
    lowered: Lowered

    def shape(self, argument: str) -> tuple[int, ...]:
        """Core shape of an argument, by its name."""
        if argument in ("q", "q0", "q1"):
            return (self.mechanism.nq,)
        if argument == "f_ext":
            return (len(self.mechanism.bodies), 6)
        return () if argument == "dt" else (self.mechanism.nv,)


class Context:
    """One recording: arguments as symbols, and ways to hand them to the algorithms."""

    def __init__(self, model: Model, recorder: Any, present: Sequence[str]) -> None:
        self.model = model
        self.recorder = recorder
        self.tree = model.lowered.tree
        self.gravity = model.mechanism.gravity
        self.given: dict[str, tuple[Any, ...]] = {name: recorder.input(name, model.shape(name)) for name in present}

    def sweeps(self) -> Sweeps:
        """Sweeps at the given q, and v if there is one."""
        return Sweeps(self.tree, self.recorder, self.given["q"], self.given.get("v"))

    def equations(self) -> Sweeps:
        """The same on the equivalent tree: right for all that follows from the equations of motion."""
        return Sweeps(self.model.lowered.equivalent, self.recorder, self.given["q"], self.given.get("v"))

    def by_cluster(self, name: str) -> list[Vec]:
        """An argument with one entry a velocity, by cluster; zeros if it is not given."""
        return self.tree.split_v(self.given.get(name, (0.0,) * self.tree.nv))

    def F_ext(self) -> list[Wrench]:
        """External wrench on each cluster: those on its bodies, carried to its frame and summed."""
        total = [Wrench.zero()] * len(self.tree.clusters)
        if "f_ext" not in self.given:
            return total
        for b, body in enumerate(self.model.mechanism.bodies):
            home = self.model.lowered.bodies[body.name]
            if home.cluster != GROUND:
                six = Vec(self.given["f_ext"][6 * b : 6 * b + 6])
                total[home.cluster] = self.recorder.call(_carried, home.pose, six, total[home.cluster])
        return total


def _carried(pose: Any, six: Vec, total: Wrench) -> Wrench:
    return pose.force_to_parent(Wrench.of(six)) + total


Record = Callable[..., Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]]


def record(name: str, model: Model, algorithm: Record, present: tuple[str, ...], static: dict[str, Any]) -> Program:
    """The program of an algorithm: unrolled for this very model if that is small enough, else with shared steps."""
    try:
        recorder: Any = Unrolled(largest=_LARGEST_UNROLLED)
        outputs = algorithm(Context(model, recorder, present), **static)
    except TooLarge:
        recorder = Shared()
        outputs = algorithm(Context(model, recorder, present), **static)
    return recorder.finish(name, outputs)
