"""The derivatives of functions of a robot: recordings that are made from recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..arrays import Argument
from ..expr import Program, Replay, Shared, Unrolled
from ..expr.program_derivatives import MANY, PIECE, Entries
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import split
from .context import LARGEST_JACOBIAN, Context, record
from .methods import dynamics
from .methods.jacobians import JACOBIANS, accelerations_and_multipliers
from .recording import BLOCK, MethodRecording, Recording
from .registry import METHODS, flat


def _recorder(source: Program, block: int) -> Any:
    """A recorder in the layout of a program."""
    return Unrolled(block) if _is_unrolled(source) else Shared()


def _is_unrolled(program: Program) -> bool:
    """Whether its constants are in its code: steps that stand apart have ports in that layout too."""
    return not program.calls or any(call.bases == (0,) and not call.table for call in program.calls)


def _rate(embedding: Any, q: Any, v: Any) -> Any:
    return embedding.rate(q, v)


class ResultRates(NamedTuple):
    """Shapes of results by name, and their rates along each of some directions."""

    shapes: dict[str, tuple[int, ...]]
    along: Sequence[Entries]


class Forwards(NamedTuple):
    """A program being replayed, and the function of its values and rates that completes the results, if any."""

    replay: Replay
    rest: Callable[..., Any] | None = None

    def push(self, directions: Sequence[Entries]) -> ResultRates:
        """The rates of the results along directions."""
        values, rates = self.replay.push(directions)
        if self.rest is None:
            return ResultRates({y.name: y.shape for y in self.replay.program.outputs}, rates)
        found = self.rest(values, rates)
        return ResultRates({name: (len(entries),) for name, entries in found[0].items()}, found)


class DerivativeRecording(Recording):
    """A derivative of a recording."""

    kind: str

    def __init__(self, of: Recording) -> None:
        super().__init__()
        self.of = of
        self.model = of.model
        self.name = f"{of.name}.{self.kind}"

    @property
    def doc(self) -> str:
        return self.of.doc

    @property
    def nan(self) -> str:
        return self.of.nan

    @property
    def varies_inertia(self) -> bool:
        return self.of.varies_inertia

    @property
    def inverts_mass(self) -> bool:
        return self.of.inverts_mass

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        return self.of.tree_at(number)

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self._original.parts

    def pickle_recipe(self) -> tuple[Any, ...]:
        return unpickle_derivative, self.of.pickle_recipe(), self.kind

    @property
    def rebuild(self) -> tuple[Any, ...]:
        return unpickle_function, self.pickle_recipe()

    def _plain(self) -> MethodRecording | None:
        """The method that is differentiated, if it is one as registered: ways may have been written for it."""
        return self.of if isinstance(self.of, MethodRecording) and self.of.is_plain else None

    def _own(self, present: tuple[str, ...]) -> tuple[str, ...]:
        """The present arguments that the original function has."""
        return tuple(a.name for a in self.of.arguments if a.name in present)

    def _start(self, present: tuple[str, ...], block: int) -> Replay:
        source = self._source(present)
        recorder = _recorder(source, block)
        return Replay(source, recorder, self._inputs(source, recorder, {}), PIECE)

    @property
    def _original(self) -> Recording:
        """The function that is differentiated."""
        return self.of

    def _source(self, present: tuple[str, ...]) -> Program:
        """The program that is differentiated."""
        return self._original.program(self._own(present))

    def _forwards(self, present: tuple[str, ...], block: int, piece: int = PIECE) -> Forwards:
        """A replay of the differentiated program, or of its data where it has stages."""
        original, arguments = self._original, self._own(present)
        stages = original.stages if isinstance(original, MethodRecording) else None
        if stages is None or not isinstance(original, MethodRecording):
            source = self._source(present)
            recorder = _recorder(source, block)
            return Forwards(Replay(source, recorder, self._inputs(source, recorder, {}), piece))
        given = original.select_arguments(arguments)
        unknown = [x.on(self.model) for x in stages.unknown]
        source = original.record_algorithm(stages.data, [*given, *unknown])
        c = original.current_context(_recorder(source, block), given)
        static = original.options_in(c)
        solution = stages.solve(c, **static)
        known = {**c.given, **{a.name: entries for a, entries in zip(unknown, solution, strict=True)}}
        entries = self._inputs(source, c.recorder, known)
        return Forwards(Replay(source, c.recorder, entries, piece), partial(stages.rates, c, **static))

    def _inputs(self, source: Program, recorder: Any, known: Entries) -> Entries:
        """The inputs of the original function besides known ones; those left out are zero."""
        left = {x.name: x.shape for x in source.inputs if x.name not in known}
        return {**known, **{name: recorder.input(name, shape) for name, shape in left.items()}}

    def _tangent_rates(self, replay: Replay, argument: Argument, tangent: Sequence[Any]) -> Sequence[Any]:
        """The rates of an argument's entries for a tangent: along the group for a configuration."""
        return self._by_cluster(_rate, replay, argument, tangent, "nv")

    def _by_cluster(
        self, step: Callable[..., Any], replay: Replay, argument: Argument, entries: Sequence[Any], size: str
    ) -> Sequence[Any]:
        """The entries that belong to a configuration through step(embedding, q, entries), by cluster; others stay."""
        if not argument.is_configuration:
            return entries
        clusters, call = self.model.cluster_tree.clusters, replay.recorder.call
        q, x = split(clusters, replay.given[argument.name], "nq"), split(clusters, entries, size)
        parts = [call(step, g.embedding, own_q, own_x) for g, own_q, own_x in zip(clusters, q, x, strict=True)]
        return [x for part in parts for x in part]


class Jvp(DerivativeRecording):
    """Along one direction: arguments and their tangents (left out: zero) to the rates of the results."""

    kind = "jvp"

    def __init__(self, of: Recording) -> None:
        super().__init__(of)
        self.tangents = tuple(Argument(f"d_{a.name}", a.tangent, True, rows=a.rows) for a in of.arguments)
        self.arguments = (*of.arguments, *self.tangents)
        self.results = tuple(f"d_{r}" for r in of.results)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        forwards = self._forwards(present, block)
        shapes, (rates,) = forwards.push([self._direction(forwards.replay, present)])
        outputs = [(f"d_{name}", shape, rates[name]) for name, shape in shapes.items()]
        return forwards.replay.recorder.finish(self.name, outputs)

    def _direction(self, replay: Replay, present: tuple[str, ...]) -> dict[str, Sequence[Any]]:
        """The rates of the inputs of the original function."""
        direction = {}
        for argument, tangent in zip(self.of.arguments, self.tangents, strict=True):
            if tangent.name in present:
                entries = replay.recorder.input(tangent.name, tangent.shape)
                direction[argument.name] = self._tangent_rates(replay, argument, entries)
        return direction


class Vjp(DerivativeRecording):
    """Backwards: arguments and a weight for every result to the gradient of the weighted sum, by argument."""

    kind = "vjp"

    def __init__(self, of: Recording) -> None:
        super().__init__(of)
        outputs = of.program(of.required_names).outputs
        named = zip(of.results, outputs, strict=True)
        self.weights = tuple(Argument(f"w_{name}", y.shape) for name, y in named)
        self.arguments = (*of.arguments, *self.weights)
        self.results = tuple(a.name for a in of.arguments)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        plain = self._plain()
        solves = plain is not None and plain.method.record is dynamics.forward_dynamics
        replay, found = (self._multiplier_gradients if solves else self._replay_gradients)(present, block)
        results = self._gradients(replay, present, found)
        return replay.recorder.finish(self.name, results)

    def _gradients(
        self, replay: Replay, present: tuple[str, ...], found: Mapping[str, Sequence[Any]]
    ) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """The results: a gradient by each argument, from those by its entries."""
        own = [a for a in self.of.arguments if a.name in present]
        return [(f"g_{a.name}", a.tangent, self._group_gradient(replay, a, found[a.name])) for a in own]

    def _replay_gradients(self, present: tuple[str, ...], block: int) -> tuple[Replay, Mapping[str, Sequence[Any]]]:
        """The program backwards: gradients by the entries of the arguments."""
        replay = self._start(present, block)
        entries = [replay.recorder.input(w.name, w.shape) for w in self.weights]
        outputs = replay.program.outputs
        return replay, replay.pull({y.name: w for y, w in zip(outputs, entries, strict=True)})[1]

    def _multiplier_gradients(self, present: tuple[str, ...], block: int) -> tuple[Replay, Mapping[str, Sequence[Any]]]:
        """Forward dynamics by way of inverse dynamics: with M λ = w the gradients are those of -λᵀ ID(q, v, a), and λ.

        Going back through the articulated bodies would take more operations and twice the memory.
        """
        declared = [
            x for x in METHODS["inverse_dynamics"].all_arguments(self.model) if x.name in present or x.name == "a"
        ]
        names = [x.name for x in declared]
        layout = self.of.program(self._own(present))
        source = self._inverse_dynamics(declared, len(layout.blocks) * BLOCK * 2 if _is_unrolled(layout) else 0)
        c = Context(self.model, _recorder(source, block), [x for x in self.arguments if x.name in present])
        a, multiplier, weight = accelerations_and_multipliers(c)
        others = {x.name: c.recorder.input(x.name, x.shape) for x in source.inputs if x.name not in names}
        given = {name: flat(a) if name == "a" else c.given[name] for name in names} | others
        replay = Replay(source, c.recorder, given, PIECE)
        _, found = replay.pull({"tau": flat(weight)})
        return replay, {**found, "tau": flat(multiplier)}

    def _inverse_dynamics(self, given: Sequence[Argument], largest: int) -> Program:
        """The program of inverse dynamics, unrolled up to a size."""
        return record("inverse_dynamics", self.model, dynamics.inverse_dynamics, given, {}, largest=largest)

    def _group_gradient(self, replay: Replay, argument: Argument, gradient: Sequence[Any]) -> Sequence[Any]:
        """A gradient in the entries of a configuration as one along the group."""
        return self._by_cluster(_rate_vjp, replay, argument, gradient, "nq")


def _rate_vjp(embedding: Any, q: Any, w: Any) -> tuple[Any, ...]:
    """The transposed map of `rate`, column by column."""
    columns = []
    for j in range(embedding.nv):
        unit = [1.0 if i == j else 0.0 for i in range(embedding.nv)]
        columns.append(sum((a * b for a, b in zip(embedding.rate(q, unit), w, strict=True)), 0.0))
    return tuple(columns)


class Jacobian(DerivativeRecording):
    """All first derivatives: for every result and argument a block, written one after the other."""

    kind = "jacobian"

    def __init__(self, of: Recording) -> None:
        super().__init__(of)
        self.arguments = of.arguments
        self.results = ("blocks",)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        plain = self._plain()
        if plain is not None and plain.method.record in JACOBIANS:
            write, given = JACOBIANS[plain.method.record], plain.select_arguments(present)
            return record(self.name, self.model, write, given, plain.static, block, LARGEST_JACOBIAN)
        forwards = self._forwards(present, block, MANY)
        moving = [a for a in self.of.arguments if a.name in present]
        directions = []
        for a in moving:
            for j in range(a.width):
                unit = [1.0 if i == j else 0.0 for i in range(a.width)]
                directions.append({a.name: self._tangent_rates(forwards.replay, a, unit)})
        shapes, rates = forwards.push(directions)
        entries = []
        for name in shapes:
            first = 0
            for a in moving:
                columns = [rate[name] for rate in rates[first : first + a.width]]
                first += a.width
                entries += [x for row in zip(*columns, strict=True) for x in row]
        shape = self.shape(present, list(shapes.values()))
        return forwards.replay.recorder.finish(self.name, [("blocks", shape, entries)])

    def result_shapes(self, present: tuple[str, ...]) -> list[tuple[int, ...]]:
        """The shapes of what is differentiated."""
        plain = self._plain()
        if plain is not None and plain.method.record in JACOBIANS:  # forces or accelerations
            return [(self.model.cluster_tree.nv,)] * len(plain.results)
        return [y.shape for y in self.of.program(self._own(present)).outputs]

    def shape(self, present: tuple[str, ...], results: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """(blocks, rows, columns) if all blocks are of one size, else flat."""
        widths = [a.width for a in self.of.arguments if a.name in present]
        sizes = {(prod(r), w) for r in results for w in widths}
        if len(sizes) == 1:
            return (len(results) * len(widths), *sizes.pop())
        return (sum(prod(r) * w for r in results for w in widths),)


KINDS: dict[str, type[Jvp] | type[Vjp] | type[Jacobian]] = {"jvp": Jvp, "vjp": Vjp, "jacobian": Jacobian}


def unpickle_derivative(of: tuple[Any, ...], kind: str) -> Any:
    """A derivative from what makes its original: how it travels to other processes."""
    make, *args = of
    return getattr(make(*args), kind)


def unpickle_function(derivative: tuple[Any, ...]) -> Any:
    """The compiled function of a derivative, from what makes that: how it travels to other processes."""
    make, *args = derivative
    return make(*args).function
