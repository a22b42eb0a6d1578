"""The per-shape recorder: steps of equal shape share one block, so the code does not grow with the number of bodies.

The shape of a call is its function, the structure of its arguments, and for each leaf whether it is 0, 1 or -1 (folded
into the code), another constant (read from the call's table) or a value (loaded through a port). A call whose shape was
seen before is not traced again. `tasks.py` then fuses calls, and `records.py` places their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .node import Expr, Graph, Value
from .program import Block, Call, Program, Store
from .record import InputSlots, Presets, collect_outputs
from .records import Layout, Records
from .split import split
from .tasks import Shape, Task, Use, find_live, fuse, task_code
from .trees import flatten, unflatten

_FOLDED = (0.0, 1.0, -1.0)
_LONGEST = 4000  # instructions in a block: compiling takes more than linearly long
_TABLE = "constant from the table"


class Shared:
    """Per-shape layout."""

    def __init__(self) -> None:
        self._arguments = InputSlots()
        self._shapes: dict[Any, Shape] = {}
        self._uses: list[Use] = []

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Value, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self._arguments.add(name, shape)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Record a step; trace it only if its shape is new."""
        given, structure = flatten(args)
        signature = tuple(_signature(given))
        key = (function, structure, signature)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _trace(function, structure, signature)
        use = Use(shape, given)
        use.made = [Value(len(self._uses)) for _ in shape.roots]
        self._uses.append(use)
        return unflatten(shape.structure, iter([_result(r, use) for r in shape.results]))

    def finish(self, name: str, outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Program:
        """Close the recording. Every output is (name, shape, flat entries)."""
        kept = {e for _, _, entries in outputs for e in entries if e.__class__ is Value and not e.argument}
        tasks = fuse(find_live(self._uses, kept), kept)
        records = Records(tasks, kept, self._arguments.size)
        presets = Presets(records.slots)
        written = collect_outputs(outputs, presets.slot)
        numbers: dict[Any, int] = {}
        blocks: list[Block] = []
        calls: list[Call] = []
        for task in tasks:
            layout = records.layout(task)
            key = (task.code, layout.loads, layout.exports)
            if key not in numbers:
                numbers[key] = len(blocks)
                blocks.append(_block(task, layout))
            calls.append(Call(numbers[key], layout.bases, task.table))
        slots = records.slots + len(presets.slot_of)
        inputs = tuple(self._arguments.inputs)
        whole = Program(name, slots, inputs, written, presets.items(), tuple(blocks), tuple(calls))
        return split(whole, _LONGEST)


def _signature(given: list[Any]) -> Iterator[Any]:
    """For every leaf: its constant if folded, a mark if from the table, else the first leaf that is the same value."""
    first: dict[Value, int] = {}
    for i, leaf in enumerate(given):
        if leaf.__class__ is Value:
            yield "load", first.setdefault(leaf, i)  # not the bare number: 1 would equal the constant 1.0
        else:
            yield leaf + 0.0 if leaf in _FOLDED else _TABLE


def _trace(function: Callable[..., Any], structure: Any, signature: tuple[Any, ...]) -> Shape:
    graph = Graph()

    def symbol(leaf: int, mark: Any) -> Any:
        if mark.__class__ is float:
            return mark
        return graph.node("table", leaf) if mark is _TABLE else graph.node(*mark)

    args = unflatten(structure, iter([symbol(i, mark) for i, mark in enumerate(signature)]))
    found, result_structure = flatten(function(*args))
    roots: dict[Expr, int] = {}
    positions: list[int] = []
    results: list[Any] = []
    for position, leaf in enumerate(found):
        if leaf.__class__ is not Expr:
            results.append(leaf)
        elif leaf.op in ("load", "table"):
            results.append(("argument", leaf.args[0]))
        else:
            if leaf not in roots:
                roots[leaf] = len(roots)
                positions.append(position)
            results.append(("root", roots[leaf]))
    return Shape(function, result_structure, list(roots), positions, results)


def _result(source: Any, use: Use) -> Any:
    if source.__class__ is not tuple:
        return source
    where, index = source
    return use.arguments[index] if where == "argument" else use.made[index]


def _block(task: Task, layout: Layout) -> Block:
    code, exported, constants = task_code(task, lambda index: layout.loads[index])
    stores = tuple(Store(*place, number) for place, number in zip(layout.exports, exported, strict=True))
    return Block(len(layout.bases), constants, tuple(code), stores)
