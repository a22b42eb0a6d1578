"""Recorders: they run an algorithm's steps on symbols and record a `Program`.

An algorithm is Python code that calls small pure functions on nested tuples of scalars through `recorder.call`. It does
not know which recorder runs it:

- `Direct` just calls the function: the algorithm then computes with the numbers it is given;
- `Unrolled` (here) folds every constant and fuses several steps into a block: the *per model* layout;
- `Shared` (shared.py) writes a block once for all steps of equal shape: the *per shape* layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from .autodiff import reachable
from .block_reuse import Reuse
from .node import Expr, Graph, Value
from .program import MEMORY, Block, Call, Input, Instruction, Output, Program, Repeat, Store
from .pytree import flatten, tree_map, unflatten
from .repeat import Body, OpenRepeats, repeat, repeat_numbers, update, variables
from .split import split
from .standalone_steps import Constants, is_standalone

if TYPE_CHECKING:
    from .shared_tasks import TracedStep, Use

_LONGEST = 2000  # instructions in a block


class Recorder(Protocol):
    """The interface that algorithms need: it calls a pure function on nested tuples, and repeats such calls."""

    def call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def repeat(self, body: Body, state: Any, most: int, going: Any = 1.0) -> Any: ...

    def variables(self, state: Any) -> Any: ...

    def update(self, state: Any, going: Any, function: Callable[..., Any], *args: Any) -> Any: ...


class Direct:
    """No recording: the function is called on the numbers themselves."""

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def repeat(self, body: Body, state: Any, most: int, going: Any = 1.0) -> Any:
        """Run `body(state) -> (state, going)` while `going` is above zero, at most `most` times."""
        return repeat_numbers(body, state, most, going)

    def variables(self, state: Any) -> Any:
        """The state itself."""
        return state

    def update(self, state: Any, going: Any, function: Callable[..., Any], *args: Any) -> Any:
        """function(*args), or the state as it was where `going` is not above zero for any sample."""
        return repeat_numbers(lambda _: (function(*args), None), state, 1, going)


class InputSlots:
    """The arguments of a program and the slots they lie in."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.size = 0

    def add(self, name: str, shape: tuple[int, ...]) -> tuple[Value, ...]:
        """A new argument, as its flat entries."""
        argument = Input(name, shape, self.size)
        self.inputs.append(argument)
        self.size += argument.size
        return tuple(Value(slot=argument.first + k, argument=name) for k in range(argument.size))


def linear_code(roots: Iterable[Any], read: Callable[[Expr], Instruction]) -> tuple[list[Instruction], dict[int, int]]:
    """Instructions for all nodes the roots depend on, and where each node went. `read` writes the memory operations.

    A value is read just before its first use: that keeps fewer of them in registers.
    """
    number: dict[int, int] = {}
    code: list[Instruction] = []
    for node in reachable(roots):
        if node.op in MEMORY:
            continue
        for a in node.args:
            if a.__class__ is Expr and a.id not in number:
                number[a.id] = len(code)
                code.append(read(a))
        number[node.id] = len(code)
        code.append((node.op, *(number[a.id] if a.__class__ is Expr else a for a in node.args)))
    return code, number


def collect_outputs(
    named: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]], constant_slot: Callable[[float], int]
) -> tuple[Output, ...]:
    """Outputs from (name, shape, flat entries); entries are placed values or constants."""
    outputs = []
    for name, shape, entries in named:
        if len(entries) != prod(shape):
            raise ValueError(f"output {name!r} has {len(entries)} entries, its shape {shape} needs {prod(shape)}")
        constants = dict.fromkeys(e for e in entries if e.__class__ is not Value)
        place = {e: constant_slot(float(e)) for e in constants}
        outputs.append(Output(name, shape, (e.slot if e.__class__ is Value else place[e] for e in entries)))
    return tuple(outputs)


class Presets:
    """Slots that hold constants: one slot per distinct value, numbered from `first` on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.slot_of: dict[float, int] = {}

    def slot(self, value: float) -> int:
        return self.slot_of.setdefault(value, self.first + len(self.slot_of))

    def items(self) -> tuple[tuple[int, float], ...]:
        return tuple((slot, value) for value, slot in self.slot_of.items())


class TooLarge(Exception):
    """An unrolled program outgrew its limit."""


class Unrolled:
    """Per-model layout: constants are folded, and steps are fused until a block holds about `block_size` nodes.

    With `largest`, more nodes than that in all raise `TooLarge`. A standalone step (`standalone_steps.py`) is a
    separate block, which all of its calls share.
    """

    def __init__(self, block_size: int = 1000, largest: int | None = None) -> None:
        self._block_size = block_size
        self._left = largest
        self._arguments = InputSlots()
        self._graphs: list[Graph] = [Graph()]
        self._values: list[dict[Expr, Value]] = [{}]
        self._constants = Constants()
        self._shapes: dict[Any, TracedStep] = {}
        self._standalone: dict[int, Use] = {}  # by block
        self._loops = OpenRepeats()

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Value, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self._arguments.add(name, shape)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Trace a step into the current block."""
        if is_standalone(function):
            return self._call_standalone(function, args)
        result = tree_map(self._keep, function(*tree_map(self._load, args)))
        size = len(self._graphs[-1].nodes)
        self._check(size)
        if size >= self._block_size:
            self._close(size)
        return result

    def begin_block(self) -> None:
        """Begin another block here, so that the instructions that follow lie together."""
        if self._graphs[-1].nodes:
            self._close(len(self._graphs[-1].nodes))

    def _check(self, size: int) -> None:
        if self._left is not None and size > self._left:
            raise TooLarge

    def _close(self, size: int) -> None:
        """Begin another block, after one of `size` nodes."""
        self._graphs.append(Graph())
        self._values.append({})
        if self._left is not None:
            self._left -= size

    def _call_standalone(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """A block of its own, traced once for each structure of its arguments."""
        values, structure = flatten(args)
        use = self._use(function, values, structure, None)
        return unflatten(use.shape.structure, iter(use.shape.leaves(values, use.made)))

    def _use(
        self, function: Callable[..., Any], values: Sequence[Any], structure: Any, into: Sequence[Value] | None
    ) -> Use:
        from .shared_tasks import Use, standalone_shape  # when first needed: few programs have such steps

        key, size = (function, structure), 0
        if key not in self._shapes:
            self._shapes[key] = standalone_shape(function, structure, len(values))
            size = len(reachable(self._shapes[key].roots))
            self._check(size)
        shape = self._shapes[key]
        read = self._constants.place_constants([values[leaf] for leaf in shape.reads])
        use = Use(shape, read, [Value() for _ in shape.roots] if into is None else shape.stored_leaves(into))
        self._close_standalone(use, size)
        return use

    def call_into(self, function: Callable[..., Any], args: Any, into: Sequence[Value]) -> tuple[Use, list[Any]]:
        """Record a standalone step whose results go into values with slots of their own; and the leaves of these."""
        values, structure = flatten(args)
        use = self._use(function, values, structure, into)
        return use, use.shape.leaves(values, use.made)

    def _close_standalone(self, use: Use, size: int) -> None:
        """Make a call a block of its own, which adds `size` nodes to the program."""
        self.begin_block()
        self._standalone[len(self._graphs) - 1] = use
        self._close(size)

    def repeat(self, body: Body, state: Any, most: int, going: Any = 1.0) -> Any:
        """Record a part that runs again and again; see `repeat.py`."""
        return repeat(self, self._loops, body, state, most, going)

    def variables(self, state: Any) -> Any:
        """Values that `update` writes anew; see `repeat.py`."""
        return variables(self, self._loops, state)

    def update(self, state: Any, going: Any, function: Callable[..., Any], *args: Any) -> Any:
        """Record a step that is left out where no sample needs it; see `repeat.py`."""
        return update(self, self._loops, state, going, function, args)

    def copy(self, leaves: Sequence[Any], into: Sequence[Value]) -> Use:
        """Record that leaves are copied into values that have slots of their own."""
        from .shared_tasks import Use, copied_leaves, shape_of_copy

        values, numbers = copied_leaves(self._constants.place_constants(leaves))
        key = (shape_of_copy, numbers)
        if key not in self._shapes:
            self._shapes[key] = shape_of_copy(numbers)
        use = Use(self._shapes[key], values, list(into))
        self._close_standalone(use, len(into))
        return use

    def _load(self, leaf: Any) -> Any:
        if leaf.__class__ is not Value:
            return leaf
        current = len(self._graphs) - 1
        if leaf.expr is not None and leaf.expr.graph is self._graphs[current]:
            return leaf.expr
        return self._graphs[current].node("load", leaf)

    def _keep(self, leaf: Any) -> Any:
        if leaf.__class__ is not Expr:
            return leaf
        if leaf.op == "load":
            return leaf.args[0]
        values = self._values[-1]
        if leaf not in values:
            values[leaf] = Value(leaf)
        return values[leaf]

    def finish(self, name: str, outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Program:
        """Close the recording. Every output is (name, shape, flat entries)."""
        results = [e for _, _, entries in outputs for e in entries if e.__class__ is Value]
        live = self._find_live(set(results))
        if len(self._graphs) > 1 and not self._loops.found:
            reuse = self._reuse(live)
            if reuse.changed:
                outputs = [(label, shape, [reuse.of(e) for e in entries]) for label, shape, entries in outputs]
                results = [reuse.of(e) for e in results]
                live = self._find_live_again(set(results))
        slots = self._place(results, live)
        constants = self._constants.place(slots)
        presets = Presets(slots + len(constants))
        written = collect_outputs(outputs, presets.slot)
        blocks, calls, repeats = self._blocks(live)
        inputs = tuple(self._arguments.inputs)
        size = slots + len(constants) + len(presets.slot_of)
        whole = Program(name, size, inputs, written, constants + presets.items(), blocks, calls, repeats)
        for graph in self._graphs:  # whose nodes refer to it: without this the garbage collector has to find them all
            graph.nodes.clear()
            graph.table.clear()
        return split(whole, max(_LONGEST, 2 * self._block_size), early=True)  # a step may be as large as a robot

    def _blocks(self, live: list[list[Value]]) -> tuple[tuple[Block, ...], tuple[Call, ...], tuple[Repeat, ...]]:
        blocks: list[Block] = []
        calls: list[Call] = []
        known: dict[int, int] = {}
        place: dict[int, int] = {}  # of calls that stand apart
        for number, values in enumerate(live):
            use = self._standalone.get(number)
            if not values:
                continue
            if use is None:
                calls.append(Call(len(blocks), (0,)))
                blocks.append(_block(values))
                continue
            if use.shape.is_copy:
                place[id(use)] = len(calls)
                calls.append(Call(len(blocks), (0,)))
                blocks.append(_copy(use))
                continue
            if id(use.shape) not in known:
                known[id(use.shape)] = len(blocks)
                blocks.append(standalone_block(use))
            place[id(use)] = len(calls)
            bases = tuple(value.slot for value in (*use.arguments, *use.made))
            calls.append(Call(known[id(use.shape)], bases))
        return tuple(blocks), tuple(calls), self._loops.repeats(place)

    def _reuse(self, live: list[list[Value]]) -> Reuse:
        """Let blocks reuse values of earlier ones."""
        reuse = Reuse(self._values)
        for block, values in enumerate(live):
            use = self._standalone.get(block)
            if use is None:
                reuse.take(block, values)
            else:
                use.arguments = [reuse.of(value) for value in use.arguments]
        return reuse

    def _find_live_again(self, wanted: set[Value]) -> list[list[Value]]:
        for block, values in enumerate(self._values):
            for value in self._standalone[block].made if block in self._standalone else values.values():
                value.last_use = -1
        return self._find_live(wanted)

    def _find_live(self, wanted: set[Value]) -> list[list[Value]]:
        """For every block the values that a later block or the caller uses; and when each is used last."""
        live: list[list[Value]] = []
        for block in reversed(range(len(self._graphs))):
            if block in self._standalone:
                live.append(self._live_standalone(block, wanted))
                continue
            live.append([v for v in self._values[block].values() if v in wanted or v.last_use > block])
            for node in reachable(v.expr for v in live[-1]):
                if node.op == "load":
                    node.args[0].last_use = max(node.args[0].last_use, block)
        live.reverse()
        number = {id(use): block for block, use in self._standalone.items()}
        for loop in self._loops.found:
            if loop.enter is not None:
                self._outlast(number[id(loop.enter)], number[id(loop.turn)], live)
        return live

    def _outlast(self, enter: int, turn: int, live: list[list[Value]]) -> None:
        """Keep the values that a repeat reads from before it until its last pass has ended in block `turn`."""
        inside = range(enter + 1, turn + 1)
        made = {value for block in inside for value in live[block]}
        for block in inside:
            for value in self._loaded_values(block, live[block]):
                if value not in made:
                    value.last_use = max(value.last_use, turn)

    def _loaded_values(self, block: int, live: list[Value]) -> list[Value]:
        if block in self._standalone:
            return self._standalone[block].arguments if live else []
        return [node.args[0] for node in reachable(v.expr for v in live) if node.op == "load"]

    def _live_standalone(self, block: int, wanted: set[Value]) -> list[Value]:
        """All values of a standalone block, if any is used: it stores all of them."""
        use = self._standalone[block]
        if not any(v in wanted or v.last_use > block for v in use.made):
            return []
        for value in (*use.arguments, *use.made):
            value.last_use = max(value.last_use, block)
        return use.made

    def _place(self, results: Iterable[Value], live: list[list[Value]]) -> int:
        """Give every kept value a slot; results keep theirs, others are recycled. Returns the number of slots."""
        top = self._loops.place(self._arguments.size)
        for value in results:
            if value.slot < 0:
                value.slot = top
                top += 1
        free: list[int] = []
        expiring: dict[int, list[int]] = {}
        for block, values in enumerate(live):
            for value in values:
                if value.slot >= 0:
                    continue
                if free:
                    value.slot = free.pop()
                else:
                    value.slot = top
                    top += 1
                expiring.setdefault(value.last_use, []).append(value.slot)
            free.extend(expiring.pop(block, ()))
        return top


def _block(live: list[Value]) -> Block:
    code, number = linear_code((v.expr for v in live), lambda load: ("load", 0, load.args[0].slot))
    stores = tuple(Store(0, v.slot, number[v.expr.id]) for v in live if v.expr is not None)
    return Block(1, 0, tuple(code), stores)


def _copy(use: Use) -> Block:
    """A copy on absolute slots: it is that of one place only, and short."""
    loads = [("load", 0, value.slot) for value in use.arguments]
    copies = [("add", i, -0.0) for i in range(len(loads))]  # which is x, whatever x is
    numbers = [root.args[0].args[0] for root in use.shape.roots]
    stores = tuple(Store(0, value.slot, len(loads) + i) for i, value in zip(numbers, use.made, strict=True))
    return Block(1, 0, (*loads, *copies), stores)


def standalone_block(use: Use) -> Block:
    """A port for every argument that a standalone step reads, then one for every result."""
    shape, arguments = use.shape, len(use.arguments)
    place = {leaf: i for i, leaf in enumerate(shape.reads)}
    code, number = linear_code(shape.roots, lambda load: ("load", place[load.args[0]], 0))
    stores = tuple(Store(arguments + r, 0, number[root.id]) for r, root in enumerate(shape.roots))
    return Block(arguments + len(stores), 0, tuple(code), stores)
