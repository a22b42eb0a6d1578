"""Derivatives along the numbers of a robot (masses, places, ratios, ...): along rates of them, backwards, by each.

The numbers are inputs of the program that is differentiated (`Changing`), at the values that the robot has.

Loops cannot follow some changes of numbers, which would open them or take a freedom from the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from ..arrays import Argument
from ..errors import ArgumentError
from ..expr import Program, Replay
from ..expr.program_derivatives import MANY, Entries
from ..linalg import lengths, null_space, transpose
from ..once import cached_property
from ..tolerances import OPENING
from ..tree.cluster_tree import ClusterTree
from ..tree.parameter_changes import opening_rates
from ..tree.parameters import Parameter
from ..tree.sampling import cluster_random
from .context import Context, inputs, record_program
from .derivative_recordings import DerivativeRecording, Jvp, Vjp
from .methods import dynamics
from .model import Model
from .recording import BLOCK, MethodRecording, ParameterRecording, Recording
from .varied_context import VariedContext, argument_names

_SAMPLES = 4
_ROUNDING = 1e-14  # of entries of a projection
_SYMMETRIC = 1e-9  # how far entries may be from those across, beside the largest


def read_rate(number: Parameter, rate: Any) -> np.ndarray | None:
    """A rate as an array (..., *shape); None if it is no array of numbers of that shape, which a call says better."""
    try:
        array = np.asarray(rate, float)
    except (TypeError, ValueError, OverflowError):
        return None
    core = len(number.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != number.shape:
        return None
    if number.is_symmetric and not _is_symmetric(array):
        raise ArgumentError(f"the rate of parameter {number.name!r} must be a symmetric matrix, got {array.tolist()}")
    return array


def _is_symmetric(M: np.ndarray) -> bool:
    """Whether matrices (..., n, n) are, up to rounding of their largest entries."""
    largest = np.abs(M).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return bool(np.all(np.abs(M - np.swapaxes(M, -1, -2)) <= _SYMMETRIC * largest))


@dataclass(frozen=True)
class IncompatibleChange:
    """The rates at which rows of the loops of one link open (rows, entries of all changes)."""

    loops: tuple[str, ...]
    which: tuple[Parameter, ...]
    opening: np.ndarray

    def check(self, rates: Mapping[str, np.ndarray | None]) -> None:
        """Refuse rates along which the loops open, whatever the rates of other numbers or in other samples are."""
        total: Any = 0.0
        size: Any = 0.0  # what total could be for rates of the numbers as large as their largest entries
        first = 0
        for number in self.which:
            opening = self.opening[:, first : first + number.size].T
            first += number.size
            rate = rates[number.name]
            if rate is None:
                return
            flat = rate.reshape(*rate.shape[: rate.ndim - len(number.shape)], number.size)
            largest = np.abs(flat).max(axis=-1, keepdims=True)
            total, size = total + flat @ opening, size + largest * np.abs(opening).sum(axis=0)
        opened = np.abs(total) > OPENING * size
        if np.any(opened):
            gap = np.abs(total)[opened].max()
            names = ", ".join(repr(x.name) for x in self.which)
            raise ArgumentError(
                f"loop {', '.join(map(repr, self.loops))} would not stay closed in all its configurations if {names} "
                f"changed like this (a gap opens with rate {gap:.3g}), so that there is no derivative; change "
                "other numbers with them, or close the loop by a joint that holds less"
            )


def incompatible_changes(model: Model, which: tuple[Parameter, ...]) -> list[IncompatibleChange]:
    """Changes of numbers of a model that its loops cannot follow, by link."""
    changes = []
    rng = np.random.default_rng(0)
    for cluster in model.cluster_tree.clusters:
        tie = cluster.tie
        if tie is None:
            continue
        samples = cluster_random(model.cluster_tree, cluster, rng, (_SAMPLES,)).tolist()
        q = np.array([tie.coordinates(x) for x in samples], float)
        opening = np.concatenate(opening_rates(model.mechanism, model.cluster_tree, cluster, which, q))
        if np.any(opening):
            changes.append(IncompatibleChange(cluster.loops, which, opening))
    return changes


Sparse = tuple[tuple[tuple[int, float], ...], ...]  # the rows of a matrix, as places and entries that are not zero


def allowed_projection(model: Model, which: tuple[Parameter, ...]) -> Sparse:
    """The projection of rates of numbers, entries one after the other, on those that are allowed: matrices stay
    symmetric, and loops closed. A gradient is given within these, where alone it means something."""
    projection, at = [{k: 1.0} for k in range(sum(x.size for x in which))], 0
    for parameter in which:
        if parameter.is_symmetric:
            n = parameter.shape[0]
            for i, j in combinations(range(n), 2):
                projection[at + n * i + j] = projection[at + n * j + i] = {at + n * i + j: 0.5, at + n * j + i: 0.5}
        at += parameter.size
    opening = [x.opening for x in incompatible_changes(model, which)]
    if opening:
        rows = np.concatenate(opening)
        (held,) = np.nonzero(np.any(rows, axis=0))
        free = null_space(rows[:, held] / lengths(transpose(rows[:, held]))[:, None])
        P = free @ free.T
        for i, row in zip(held.tolist(), P, strict=True):
            projection[i] = {j: x for j, x in zip(held.tolist(), row.tolist(), strict=True) if abs(x) > _ROUNDING}
    return tuple(tuple(row.items()) for row in projection)


Which = tuple[Parameter, ...]


class Changing(ParameterRecording):
    """A method with parameters of the model as inputs of its program after the arguments, called by their names."""

    def __init__(self, of: MethodRecording, which: tuple[Parameter, ...]) -> None:
        super().__init__(of.model, of.name, of.method, of.read, of.pickle_recipe(), of.more)
        self._of, self._varied = of, of.which if isinstance(of, ParameterRecording) else ()
        doubled = tuple(x for x in which if x in self._varied)
        if doubled:
            raise ArgumentError(
                f"{of.name}: {doubled[0].name!r} is an argument of this function, {argument_names(doubled)[0]}; its "
                "derivative is among those by the arguments, so leave it out of parameters="
            )
        self.which = (*self._varied, *which)
        self._changing = which

    def context(self, recorder: Any, present: Sequence[Argument]) -> VariedContext:
        return parameter_context(self.model, recorder, present, self._changing, self._varied)

    def current_context(self, recorder: Any, present: Sequence[Argument]) -> Context:
        return self._of.context(recorder, present)

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        return self._of.tree_at(number)


def parameter_context(
    model: Model, recorder: Any, present: Sequence[Argument], which: Which, varied: Which = ()
) -> VariedContext:
    """A recording with parameters as inputs that are called by their names; those `varied` are arguments already."""
    given = inputs(recorder, [*present, *(Argument(x.name, x.shape) for x in which)])
    names = [*argument_names(varied), *(x.name for x in which)]
    return VariedContext(model, recorder, present, (*varied, *which), given, names)


def changing(of: Recording, which: tuple[Parameter, ...]) -> Recording:
    """The same function with changes of numbers of the model as inputs besides its arguments."""
    if isinstance(of, MethodRecording):
        return Changing(of, which)
    if isinstance(of, ChangeJvp | _Along) or not isinstance(of, DerivativeRecording):
        raise ArgumentError(f"{of.name}: second derivatives along parameters are not available")
    return type(of)(changing(of.of, which))


class ChangeJvp(Jvp):
    """Along one direction in which numbers of the model change too, at their own values."""

    def __init__(self, of: Recording, which: tuple[Parameter, ...]) -> None:
        super().__init__(changing(of, which))
        self._origin = of
        self.which = which
        self.changes = tuple(Argument(f"d_{x.name}", x.shape) for x in which)
        self.arguments = (*self.arguments, *self.changes)

    def _inputs(self, source: Program, recorder: Any, known: Entries) -> Entries:
        return super()._inputs(source, recorder, {**known, **current_values(self.model, self.which)})

    def _direction(self, replay: Replay, present: tuple[str, ...]) -> dict[str, Sequence[Any]]:
        direction = super()._direction(replay, present)
        for x, given in zip(self.which, self.changes, strict=True):
            direction[x.name] = replay.recorder.input(given.name, given.shape)
        return direction

    def pickle_recipe(self) -> tuple[Any, ...]:
        return unpickle_parameter_derivative, self._origin.pickle_recipe(), self.kind, tuple(x.name for x in self.which)


class _Along(DerivativeRecording):
    """A derivative by numbers of the model: within the changes that are allowed."""

    def __init__(self, of: Recording, which: tuple[Parameter, ...]) -> None:
        super().__init__(of)
        self.which = which
        self._changing = changing(of, which)
        self._allowed = allowed_projection(of.model, which)

    @property
    def _original(self) -> Recording:
        return self._changing

    def pickle_recipe(self) -> tuple[Any, ...]:
        return unpickle_parameter_derivative, self.of.pickle_recipe(), self.kind, tuple(x.name for x in self.which)


class ChangeVjp(_Along, Vjp):
    """Backwards: the gradients by the arguments, and by each of the numbers."""

    def __init__(self, of: Recording, which: tuple[Parameter, ...]) -> None:
        super().__init__(of, which)
        self.results = (*self.results, *(x.name for x in which))

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return super().write(present, block).at(current_values(self.model, self.which))

    def _inverse_dynamics(self, given: Sequence[Argument], largest: int) -> Program:
        def run(recorder: Any) -> Any:
            return dynamics.inverse_dynamics(parameter_context(self.model, recorder, given, self.which))

        return record_program("inverse_dynamics", run, largest=largest)

    def _gradients(
        self, replay: Replay, present: tuple[str, ...], found: Mapping[str, Sequence[Any]]
    ) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        entries = tuple(w for x in self.which for w in found[x.name])
        projected, at = replay.recorder.call(_project, self._allowed, entries), 0
        results = super()._gradients(replay, present, found)
        for x in self.which:
            results.append((f"g_{x.name}", x.shape, projected[at : at + x.size]))
            at += x.size
        return results


def _project(P: Sparse, x: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sum((k * x[j] for j, k in row), 0.0) for row in P)


class ChangeJacobian(_Along):
    """By each of the numbers: for every result and number a block, written one after the other."""

    kind = "jacobian"

    def __init__(self, of: Recording, which: tuple[Parameter, ...]) -> None:
        super().__init__(of, which)
        self.arguments = of.arguments
        self.results = ("blocks",)

    def _inputs(self, source: Program, recorder: Any, known: Entries) -> Entries:
        return super()._inputs(source, recorder, {**known, **current_values(self.model, self.which)})

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        forwards = self._forwards(present, block, MANY)
        shapes, rates = forwards.push([self._direction(row) for row in self._allowed])
        entries = []
        for name in shapes:
            first = 0
            for x in self.which:
                columns = [rate[name] for rate in rates[first : first + x.size]]
                first += x.size
                entries += [e for row in zip(*columns, strict=True) for e in row]
        return forwards.replay.recorder.finish(self.name, [("blocks", (len(entries),), entries)])

    def _direction(self, row: tuple[tuple[int, float], ...]) -> dict[str, Sequence[Any]]:
        """Unit rate of one entry, as far as it is allowed (the projection is symmetric)."""
        flat, at, direction = dict(row), 0, {}
        for x in self.which:
            direction[x.name] = [flat.get(at + k, 0.0) for k in range(x.size)]
            at += x.size
        return direction

    def split_blocks(self, array: Any) -> list[dict[str, Any]]:
        """The blocks (..., *result, *number) by result and name, from what the program writes."""
        batch, at, blocks = array.shape[:-1], 0, []
        for shape in self._shapes:
            by_name = {}
            for x in self.which:
                size = prod(shape) * x.size
                by_name[x.name] = array[..., at : at + size].reshape((*batch, *shape, *x.shape))
                at += size
            blocks.append(by_name)
        return blocks

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the results, which do not depend on what arguments are given."""
        return [y.shape for y in self.of.program(self.required_names).outputs]


def current_values(model: Model, which: tuple[Parameter, ...]) -> Entries:
    """The parameters as they are."""
    return {x.name: tuple(model.values(x)) for x in which}


def unpickle_parameter_derivative(of: tuple[Any, ...], kind: str, names: tuple[str, ...]) -> Any:
    """A derivative along numbers from what makes its original: how it travels to other processes."""
    make, *args = of
    return getattr(make(*args), kind).along(names)
