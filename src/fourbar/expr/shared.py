"""The per-shape recorder: steps of equal shape share one block, so the code does not grow with the number of bodies.

The shape of a call is its function, the structure of its arguments, and for each leaf whether it is 0, 1 or -1 (folded
into the code), another constant (read from the call's table) or a value (loaded through a port). A call whose shape was
seen before is not traced again. `shared_tasks.py` then fuses calls, and `shared_slots.py` places their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from .node import Value
from .program import Block, Call, Program, Store
from .pytree import flatten, unflatten
from .repeat import CARRIED, Body, OpenRepeats, repeat
from .shared_slots import Ports, Records
from .shared_tasks import (
    TABLE,
    FusedTask,
    TracedStep,
    Use,
    find_live,
    fuse,
    shape_of_copy,
    standalone_shape,
    task_code,
    trace_step,
)
from .split import split
from .standalone_steps import Constants, is_standalone
from .unrolled import InputSlots, Presets, collect_outputs, standalone_block

_FOLDED = (0.0, 1.0, -1.0)
_LONGEST = 4000  # instructions in a block: compile time grows more than linearly


class Shared:
    """Per-shape layout."""

    def __init__(self) -> None:
        self._arguments = InputSlots()
        self._constants = Constants()
        self._shapes: dict[Any, TracedStep] = {}
        self._uses: list[Use] = []
        self._loops = OpenRepeats()

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Value, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self._arguments.add(name, shape)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Record a step; trace it only if its shape is new."""
        values, structure = flatten(args)
        if is_standalone(function):
            shape = self._shapes.get((function, structure))
            if shape is None:
                shape = self._shapes[function, structure] = standalone_shape(function, structure, len(values))
            read = self._constants.place_constants([values[leaf] for leaf in shape.reads])
        else:
            signature = tuple(_signature(values))
            shape = self._shapes.get((function, structure, signature))
            if shape is None:
                shape = self._shapes[function, structure, signature] = trace_step(function, structure, signature)
            read = values
        use = Use(shape, read, [Value() for _ in shape.roots])
        self._uses.append(use)
        return unflatten(shape.structure, iter(shape.leaves(values, use.made)))

    def begin_block(self) -> None:
        """Nothing: steps are blocks of their own."""

    def repeat(self, body: Body, state: Any, most: int, going: Any = 1.0) -> Any:
        """Record a part that runs again and again; see `repeat.py`."""
        return repeat(self, self._loops, body, state, most, going)

    def copy(self, leaves: Sequence[Any], into: Sequence[Value]) -> Use:
        """Record that leaves are copied into values that have slots of their own."""
        key = (shape_of_copy, len(into))
        if key not in self._shapes:
            self._shapes[key] = shape_of_copy(len(into))
        self._uses.append(Use(self._shapes[key], self._constants.place_constants(leaves), list(into)))
        return self._uses[-1]

    def finish(self, name: str, outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Program:
        """Close the recording. Every output is (name, shape, flat entries)."""
        tasks = fuse(find_live(self._uses, _values(outputs)))
        self._uses = []  # in a large program it pays to free what is no longer needed
        number = {id(task.members[0][0]): n for n, task in enumerate(tasks) if task.is_standalone}
        first = self._loops.place(self._arguments.size)
        constants = self._constants.place(first)
        repeats = self._loops.repeats(number)
        records = Records(tasks, first + len(constants), [(r.first, r.end) for r in repeats])
        blocks, calls = _blocks(tasks, records)
        presets = Presets(records.slots)
        del tasks, records
        written = collect_outputs(outputs, presets.slot)
        del outputs
        slots = presets.first + len(presets.slot_of)
        inputs = tuple(self._arguments.inputs)
        whole = Program(name, slots, inputs, written, constants + presets.items(), blocks, calls, repeats)
        return split(whole, _LONGEST)


def _values(outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Iterator[Value]:
    """The results that blocks compute."""
    made = ("", CARRIED)
    return (e for _, _, entries in outputs for e in entries if e.__class__ is Value and e.argument in made)


def _blocks(tasks: Sequence[FusedTask], records: Records) -> tuple[tuple[Block, ...], tuple[Call, ...]]:
    """One block per code, however its calls lay out their values; and the calls."""
    alike: dict[Any, list[int]] = {}
    for number, task in enumerate(tasks):
        alike.setdefault(task.code, []).append(number)
    blocks: list[Block] = []
    calls: dict[int, Call] = {}
    for members in alike.values():
        same_code = [tasks[number] for number in members]
        ports, bases = _standalone_ports(same_code) if same_code[0].is_standalone else _ports(same_code, records)
        for number, task, base in zip(members, same_code, bases, strict=True):
            calls[number] = Call(len(blocks), tuple(base), task.table)
        blocks.append(
            _standalone_block(same_code[0], ports) if same_code[0].is_standalone else _block(same_code[0], ports)
        )
    return tuple(blocks), tuple(calls[number] for number in range(len(tasks)))


def _ports(tasks: Sequence[FusedTask], records: Records) -> tuple[Ports, list[tuple[int, ...]]]:
    """The ports of the block of some tasks, and what they point at in each call."""
    layouts = [records.layout(task) for task in tasks]
    ports = Ports.common(list({layout.places(): layout for layout in layouts}.values()))
    return ports, [ports.bases(layout) for layout in layouts]


def _standalone_ports(tasks: Sequence[FusedTask]) -> tuple[Ports, list[list[int]]]:
    """`_ports` of a standalone step."""
    size = len(tasks[0].loads) + len(tasks[0].exports)
    values = chain.from_iterable(part for task in tasks for part in (task.loads, task.exports))
    slots = np.fromiter(map(attrgetter("slot"), values), np.int32, len(tasks) * size).reshape(-1, size)
    ports = Ports.of_slots(slots)
    return ports, slots[:, ports.anchors].tolist()


def _standalone_block(task: FusedTask, ports: Ports) -> Block:
    """A block with ports of its own, on those that these calls need."""
    block, place = standalone_block(task.members[0][0]), ports.addresses
    code = tuple(("load", *place[x[1]]) if x[0] == "load" else x for x in block.code)
    stores = tuple(Store(*place[s.port], s.value) for s in block.stores)
    return Block(len(ports.anchors), 0, code, stores)


def _signature(given: list[Any]) -> Iterator[Any]:
    """For every leaf: its constant if folded, a mark if from the table, else the first leaf that is the same value."""
    first: dict[Value, int] = {}
    for i, leaf in enumerate(given):
        if leaf.__class__ is Value:
            yield "load", first.setdefault(leaf, i)  # not the bare number: 1 would equal the constant 1.0
        else:
            yield leaf + 0.0 if leaf in _FOLDED else TABLE


def _block(task: FusedTask, ports: Ports) -> Block:
    loads, exports = ports.addresses[: len(task.loads)], ports.addresses[len(task.loads) :]
    code, exported, constants = task_code(task, lambda index: loads[index])
    stores = tuple(Store(*place, number) for place, number in zip(exports, exported, strict=True))
    return Block(len(ports.anchors), constants, tuple(code), stores)
