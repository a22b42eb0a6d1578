"""The derivatives of functions of a robot: recipes that are made from recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..expr import Program, Replay, Shared, Unrolled
from ..expr.program_derivatives import MANY, PIECE, Entries
from ..tree.clusters import split
from ..tree.parameters import Parameter
from .changed import ChangedContext
from .context import Context, Record, record, recorded
from .methods import METHODS, Method
from .methods.jacobians import accelerations_and_multipliers
from .model import Model
from .recording import BLOCK, Given, MethodRecording, Recording, Static
from .registry import flat


class Changing(MethodRecording):
    """A method that depends on changes of the model's numbers too: inputs of the program after the arguments."""

    def __init__(
        self,
        model: Model,
        name: str,
        method: Method,
        static: Static,
        rebuild: tuple[Any, ...],
        which: tuple[Parameter, ...],
    ) -> None:
        super().__init__(model, name, method, static, rebuild)
        self._which = which

    @property
    def parts(self) -> tuple[Any, ...]:
        return *super().parts, tuple(x.name for x in self._which)

    def recorded(self, algorithm: Record, present: tuple[str, ...], block: int = BLOCK) -> Program:
        def run(recorder: Any) -> Any:
            context = ChangedContext(self.model, recorder, present, self._which)
            return algorithm(context, **self._read(context.model.cluster_tree))

        return recorded(self.name, run, block)

    @property
    def is_forward_dynamics(self) -> bool:
        return False  # what is written for it knows nothing of changes

    def written_jacobian(self, present: tuple[str, ...], block: int) -> Program | None:
        return None


def _recorder(source: Program, block: int) -> Any:
    """A recorder in the layout of a program."""
    return Unrolled(block) if _is_unrolled(source) else Shared()


def _is_unrolled(program: Program) -> bool:
    """Whether its constants are in its code: steps that stand apart have ports in that layout too."""
    return not program.calls or any(call.bases == (0,) and not call.table for call in program.calls)


def _rate(embedding: Any, q: Any, v: Any) -> Any:
    return embedding.rate(q, v)


class Rates(NamedTuple):
    """Shapes of results by name, and their rates along each of some directions."""

    shapes: dict[str, tuple[int, ...]]
    along: Sequence[Entries]


class Forwards(NamedTuple):
    """A program being replayed, and what follows from its values and their rates, if that is not all."""

    replay: Replay
    rest: Callable[..., Any] | None = None

    def push(self, directions: Sequence[Entries]) -> Rates:
        """The rates of the results along directions."""
        values, rates = self.replay.push(directions)
        if self.rest is None:
            return Rates({y.name: y.shape for y in self.replay.program.outputs}, rates)
        found = self.rest(values, rates)
        return Rates({name: (len(entries),) for name, entries in found[0].items()}, found)


class DerivativeRecording(Recording):
    """A derivative of a recipe."""

    kind: str

    def __init__(self, of: Recording) -> None:
        self.of = of
        self.model = of.model
        self.name = f"{of.name}.{self.kind}"
        self.doc = of.doc
        self.nan = of.nan

    def changed(self, which: tuple[Parameter, ...]) -> Recording:
        return type(self)(self.of.changed(which))

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self._original.parts

    def recall(self) -> tuple[Any, ...]:
        return derivative_again, self.of.recall(), self.kind

    def _own(self, present: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the present arguments that the original function has."""
        return tuple(a.name for a in self.of.arguments if a.name in present)

    def _start(self, present: tuple[str, ...], block: int) -> Replay:
        source = self._source(present)
        recorder = _recorder(source, block)
        return Replay(source, recorder, self._inputs(source, recorder, {}), PIECE)

    @property
    def _original(self) -> Recording:
        """What is differentiated."""
        return self.of

    def _source(self, present: tuple[str, ...]) -> Program:
        """The program that is differentiated."""
        return self._original.program(self._own(present))

    def _forwards(self, present: tuple[str, ...], block: int, piece: int = PIECE) -> Forwards:
        """A replay of what is differentiated, or of its data where it has stages."""
        original, own = self._original, self._own(present)
        stages = original.stages if isinstance(original, MethodRecording) else None
        if stages is None or not isinstance(original, MethodRecording):
            source = self._source(present)
            recorder = _recorder(source, block)
            return Forwards(Replay(source, recorder, self._inputs(source, recorder, {}), piece))
        source = original.recorded(stages.data, (*own, *stages.unknown))
        c = Context(self.model, _recorder(source, block), own)
        known = {**c.given, **dict(zip(stages.unknown, stages.solve(c), strict=True))}
        given = self._inputs(source, c.recorder, known)
        return Forwards(Replay(source, c.recorder, given, piece), partial(stages.rates, c))

    def _inputs(self, source: Program, recorder: Any, known: Entries) -> Entries:
        """What the original function is given, beside what is known; what is left out is zero."""
        left = {x.name: x.shape for x in source.inputs if x.name not in known}
        return {**known, **{name: recorder.input(name, shape) for name, shape in left.items()}}

    def _moved(self, replay: Replay, argument: Given, tangent: Sequence[Any]) -> Sequence[Any]:
        """The rates of an argument's entries for a tangent: along the group for a configuration."""
        return self._by_group(_rate, replay, argument, tangent, "nv")

    def _by_group(
        self, step: Callable[..., Any], replay: Replay, argument: Given, entries: Sequence[Any], size: str
    ) -> Sequence[Any]:
        """What belongs to a configuration through step(embedding, q, entries), by cluster; other entries stay."""
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
        self.tangents = tuple(Given(f"d_{a.name}", a.tangent, True, False, a.tangent) for a in of.arguments)
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
                direction[argument.name] = self._moved(replay, argument, entries)
        return direction


class Vjp(DerivativeRecording):
    """Backwards: arguments and a weight for every result to the gradient of the weighted sum, by argument."""

    kind = "vjp"

    def __init__(self, of: Recording) -> None:
        super().__init__(of)
        outputs = of.program(tuple(a.name for a in of.arguments if not a.optional)).outputs
        named = zip(of.results, outputs, strict=True)
        self.weights = tuple(Given(f"w_{name}", y.shape, False, False, y.shape) for name, y in named)
        self.arguments = (*of.arguments, *self.weights)
        self.results = tuple(a.name for a in of.arguments)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        implicit = isinstance(self.of, MethodRecording) and self.of.is_forward_dynamics
        replay, found = (self._solved if implicit else self._replayed)(present, block)
        results = self._gradients(replay, present, found)
        return replay.recorder.finish(self.name, results)

    def _gradients(
        self, replay: Replay, present: tuple[str, ...], found: Mapping[str, Sequence[Any]]
    ) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """The results: a gradient by each argument, from those by its entries."""
        own = [a for a in self.of.arguments if a.name in present]
        return [(f"g_{a.name}", a.tangent, self._pulled(replay, a, found[a.name])) for a in own]

    def _replayed(self, present: tuple[str, ...], block: int) -> tuple[Replay, Mapping[str, Sequence[Any]]]:
        """The program backwards: gradients by the entries of the arguments."""
        replay = self._start(present, block)
        entries = [replay.recorder.input(w.name, w.shape) for w in self.weights]
        outputs = replay.program.outputs
        return replay, replay.pull({y.name: w for y, w in zip(outputs, entries, strict=True)})[1]

    def _solved(self, present: tuple[str, ...], block: int) -> tuple[Replay, Mapping[str, Sequence[Any]]]:
        """Forward dynamics by way of inverse dynamics: with M λ = w the gradients are those of -λᵀ ID(q, v, a), and λ.

        Going back through the articulated bodies would take more operations and twice the memory.
        """
        names = tuple(name for name in ("q", "v", "a", "f_ext") if name in present or name == "a")
        layout = self.of.program(self._own(present))
        source = self._inverse_dynamics(names, len(layout.blocks) * BLOCK * 2 if _is_unrolled(layout) else 0)
        c = Context(self.model, _recorder(source, block), present)
        a, multiplier, weight = accelerations_and_multipliers(c)
        others = {x.name: c.recorder.input(x.name, x.shape) for x in source.inputs if x.name not in names}
        given = {name: flat(a) if name == "a" else c.given[name] for name in names} | others
        replay = Replay(source, c.recorder, given, PIECE)
        _, found = replay.pull({"tau": flat(weight)})
        return replay, {**found, "tau": flat(multiplier)}

    def _inverse_dynamics(self, names: tuple[str, ...], largest: int) -> Program:
        """The program of inverse dynamics, unrolled up to a size."""
        return record(
            "inverse_dynamics", self.model, METHODS["inverse_dynamics"].record, names, {}, largest=largest
        )  # fmt: skip

    def _pulled(self, replay: Replay, argument: Given, gradient: Sequence[Any]) -> Sequence[Any]:
        """A gradient in the entries of a configuration as one along the group."""
        return self._by_group(_rate_pulled, replay, argument, gradient, "nq")


def _rate_pulled(embedding: Any, q: Any, w: Any) -> tuple[Any, ...]:
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
        if isinstance(self.of, MethodRecording):
            written = self.of.written_jacobian(present, block)
            if written is not None:
                return written
        forwards = self._forwards(present, block, MANY)
        moving = [a for a in self.of.arguments if a.name in present]
        directions = []
        for a in moving:
            for j in range(a.width):
                unit = [1.0 if i == j else 0.0 for i in range(a.width)]
                directions.append({a.name: self._moved(forwards.replay, a, unit)})
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

    def shape(self, present: tuple[str, ...], results: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """(blocks, rows, columns) if all blocks are of one size, else flat."""
        widths = [a.width for a in self.of.arguments if a.name in present]
        sizes = {(prod(r), w) for r in results for w in widths}
        if len(sizes) == 1:
            return (len(results) * len(widths), *sizes.pop())
        return (sum(prod(r) * w for r in results for w in widths),)


KINDS: dict[str, type[Jvp] | type[Vjp] | type[Jacobian]] = {"jvp": Jvp, "vjp": Vjp, "jacobian": Jacobian}


def derivative_again(of: tuple[Any, ...], kind: str) -> Any:
    """A derivative from the recipe of its original: how it travels to other processes."""
    make, *args = of
    return getattr(make(*args), kind)
