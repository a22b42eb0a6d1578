"""The per-shape recorder: steps of equal shape share one block, so the code does not grow with the number of bodies.

The shape of a call is its function, the structure of its arguments, and for each leaf whether it is 0, 1 or -1 (folded
into the code), another constant (read from the call's table) or a value (loaded through a port). A call whose shape was
seen before is not traced again. `shared_tasks.py` then fuses calls.

The results of a task lie together in *records*, one record for the leaves that the same later tasks use, so that
short-lived ones can be overwritten early. A block finds each record through a port.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .node import Value
from .program import Block, Call, Program, Store
from .pytree import flatten, unflatten
from .repeat import CARRIED, Body, CarriedState, OpenRepeats, RepeatRange, repeat, update, variables
from .shared_tasks import (
    KEPT,
    TABLE,
    FusedTask,
    TracedStep,
    Use,
    copied_leaves,
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

_RESULT = -1  # the role of the caller of the program
_last_use = attrgetter("last_use")


@dataclass(frozen=True)
class PortLayout:
    """Where one task finds its loads and puts its exports: (port, offset) each; ports are numbered as they appear."""

    bases: tuple[int, ...]
    loads: tuple[tuple[int, int], ...]
    exports: tuple[tuple[int, int], ...]

    def places(self) -> tuple[tuple[int, int], ...]:
        """Where everything is: loads, then exports."""
        return self.loads + self.exports


@dataclass(frozen=True)
class Ports:
    """The addresses of loads and exports in one block, for all of its calls, wherever these have them.

    `anchors` are the numbers of the values that the ports point at; `addresses` are (port, offset) of every value.
    """

    anchors: tuple[int, ...]
    addresses: tuple[tuple[int, int], ...]

    @staticmethod
    def common(layouts: Sequence[PortLayout]) -> Ports:
        """Values share a port if they lie equally far apart in all layouts: the fewest ports that serve every call."""
        numbers: dict[Any, list[int]] = {}
        given = [layout.places() for layout in layouts]
        (_, first), *others = [list(zip(*places, strict=True)) if places else [(), ()] for places in given]
        for i, (port, _) in enumerate(given[0] if given else ()):
            moved = tuple((ports[i], offsets[i] - first[i]) for ports, offsets in others)
            numbers.setdefault((port, moved), []).append(i)
        anchors: list[int] = []
        addresses: dict[int, tuple[int, int]] = {}
        for port, members in enumerate(numbers.values()):
            least = min(members, key=lambda i: first[i])
            anchors.append(least)
            addresses.update((i, (port, first[i] - first[least])) for i in members)
        return Ports(tuple(anchors), tuple(addresses[i] for i in range(len(addresses))))

    @staticmethod
    def of_slots(slots: np.ndarray) -> Ports:
        """The ports of values that lie in slots (calls, values): values share a port if they are always equally far."""
        groups: dict[bytes, list[int]] = {}
        for i, column in enumerate(slots.T):
            groups.setdefault((column - column[0]).tobytes(), []).append(i)
        anchors = [min(members, key=lambda i: slots[0, i]) for members in groups.values()]
        found = {i: port for port, members in enumerate(groups.values()) for i in members}
        distances = [(found[i], int(slots[0, i] - slots[0, anchors[found[i]]])) for i in range(slots.shape[1])]
        return Ports(tuple(anchors), tuple(distances))

    def bases(self, layout: PortLayout) -> tuple[int, ...]:
        """The slots that the ports of a call point at."""
        places = layout.places()
        return tuple(layout.bases[places[i][0]] + places[i][1] for i in self.anchors)


class FreeSlots:
    """Slots from `top` on that are free, and runs of free ones below it, never adjacent.

    A workspace of many samples is larger than a processor's caches, so a run is split where none has the size wanted,
    and joined with its neighbours when it is given back.
    """

    def __init__(self, top: int) -> None:
        self.top = top
        self._runs: list[tuple[int, int]] = []  # size and first slot, ordered
        self._ends: dict[int, int] = {}  # the size of a run by the slot after it
        self._sizes: dict[int, int] = {}  # the size of a run by its first slot

    def take(self, size: int) -> int:
        """The first of some adjacent slots, in the smallest run that has room for them."""
        k = bisect_left(self._runs, (size, -1))
        if k == len(self._runs):
            self.top += size
            return self.top - size
        room, first = self._runs[k]
        self._remove(room, first)
        if room > size:
            self._add(room - size, first + size)
        return first

    def give_back(self, first: int, size: int) -> None:
        """Free adjacent slots."""
        if (before := self._ends.get(first)) is not None:
            self._remove(before, first - before)
            first, size = first - before, size + before
        if (after := self._sizes.get(first + size)) is not None:
            self._remove(after, first + size)
            size += after
        self._add(size, first)

    def _add(self, size: int, first: int) -> None:
        insort(self._runs, (size, first))
        self._sizes[first] = self._ends[first + size] = size

    def _remove(self, size: int, first: int) -> None:
        del self._runs[bisect_left(self._runs, (size, first))], self._sizes[first], self._ends[first + size]


class CarriedStates(NamedTuple):
    """The states that repeats carry, where repeats are among the tasks, and the values that are results."""

    states: Sequence[CarriedState]
    ranges: Sequence[RepeatRange]
    results: frozenset[Value] | set[Value]

    def lifetimes(self, tasks: Sequence[FusedTask]) -> list[tuple[int, int]]:
        """The first and the last task that a state is needed for; those that are results outlast all tasks."""
        number = {id(task.members[0][0]): n for n, task in enumerate(tasks) if task.is_standalone}
        owner = {value: k for k, state in enumerate(self.states) for value in state.values}
        uses: list[list[int]] = [[number.get(id(state.enter), 0)] for state in self.states]
        for n, task in enumerate(tasks):
            for k in {owner[value] for value in chain(task.loads, task.exports) if value in owner}:
                uses[k].append(n)
        for first, end, loop in self.ranges:
            uses[owner[loop.going]] += [first, end - 1]
        outlasting = {owner[value] for value in self.results if value in owner}
        return [(own[0], len(tasks) if k in outlasting else self._last(own)) for k, own in enumerate(uses)]

    def _last(self, uses: list[int]) -> int:
        """The last use of a state; what is used in a repeat and was entered before it is needed in all passes."""
        around = [(first, end) for first, end, _ in self.ranges if not first <= uses[0] < end]
        return max([*uses, *(end - 1 for first, end in around if any(first <= n < end for n in uses))])


class Records:
    """Places every value: the records of a task are allocated when it runs and recycled after their last use.

    The results of a standalone step are one record, whoever uses them, and so is the state that a repeat carries.
    """

    def __init__(self, tasks: Sequence[FusedTask], first_free: int, carried: CarriedStates | None = None) -> None:
        self._tasks, self._carried = tasks, carried or CarriedStates([], [], frozenset())
        self._roles = _number_roles(task.role for task in tasks)
        self._ends = [task.last for task in tasks]
        self._users = self._find_users()
        self._addressed = {value for task in tasks if not task.is_standalone for value in task.loads}  # by record
        self._outlasting: dict[Value, int] = {}
        for first, end, _ in self._carried.ranges:
            self._outlast(first, end)
        self._offsets = self._group()
        self._home: dict[Value, tuple[Any, int]] = {}
        self.slots = self._allocate(first_free)

    def _find_users(self) -> dict[Value, frozenset[int]]:
        """The roles that use each value which is not the result of a standalone step."""
        users: dict[Value, frozenset[int]] = {}
        nobody: frozenset[int] = frozenset()
        joined: dict[tuple[frozenset[int], int], frozenset[int]] = {}  # few are different, and a set takes 216 bytes
        made = {value for task in self._tasks if not task.is_standalone for value in task.exports}
        for task, role in zip(self._tasks, self._roles, strict=True):
            for value in made.intersection(task.loads):
                before = users.get(value, nobody)
                if role not in before:
                    if (before, role) not in joined:
                        joined[before, role] = before | {role}
                    users[value] = joined[before, role]
        return users

    def _outlast(self, first: int, end: int) -> None:
        """Keep the values that tasks[first:end], which are repeated, read from earlier ones, until the last of them."""
        made = {value for task in self._tasks[first:end] for value in task.exports}
        for task in self._tasks[first:end]:
            for value in task.loads:
                if value not in made:
                    self._outlasting[value] = max(self._outlasting.get(value, 0), end - 1)

    def _last(self, values: Sequence[Value], made: int) -> int:
        """The task that is the last to use one of some values, which task `made` has made."""
        last = max(made, bisect_left(self._ends, max(map(_last_use, values))))
        return max([last, *(self._outlasting.get(value, 0) for value in values)]) if self._outlasting else last

    def _group(self) -> dict[int, dict[Any, tuple[Any, int]]]:
        """For every role: its results, split by the roles that use them -> (record, offset in it)."""
        users: dict[int, dict[Any, set[int]]] = defaultdict(lambda: defaultdict(set))
        for task, number in zip(self._tasks, self._roles, strict=True):
            role = users[number]
            for value, tag in zip(() if task.is_standalone else task.exports, task.tags, strict=True):
                role[tag].update(self._users.get(value, ()))
                if value.last_use == KEPT:
                    role[tag].add(_RESULT)
        groups: dict[int, dict[Any, tuple[Any, int]]] = {}
        for number, results in users.items():
            size: dict[Any, int] = defaultdict(int)
            groups[number] = {}
            for tag in sorted(results):
                record = frozenset(results[tag])
                groups[number][tag] = (record, size[record])
                size[record] += 1
        return groups

    def _allocate(self, top: int) -> int:
        """Place the records of every task; returns the number of slots."""
        free = FreeSlots(top)
        expiring: dict[int, list[tuple[int, int]]] = defaultdict(list)
        entered: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by task: numbers of states, and their last use
        for k, (first, last) in enumerate(self._carried.lifetimes(self._tasks)):
            entered[first].append((k, last))
        for number, task in enumerate(self._tasks):
            for k, last in entered.pop(number, ()):
                values = self._carried.states[k].values
                base = free.take(len(values))
                for slot, value in enumerate(values, base):
                    value.slot = slot
                    self._home[value] = ((CARRIED, k), base)
                if last < len(self._tasks):
                    expiring[last].append((base, len(values)))
            for record, size, values, offsets in self._records_of(number):
                base = free.take(size)
                home = ((number, record), base)
                for value, offset in zip(values, offsets, strict=True):
                    value.slot = base + offset
                for value in self._addressed.intersection(values) if task.is_standalone else values:
                    self._home[value] = home
                if max(map(_last_use, values)) != KEPT:
                    expiring[self._last(values, number)].append((base, size))
            for base, size in expiring.pop(number, ()):
                free.give_back(base, size)
        return free.top

    def _records_of(self, number: int) -> list[tuple[Any, int, Sequence[Value], Sequence[int]]]:
        """The records that a task writes: what each is, its size, its members, and the offsets of these."""
        task = self._tasks[number]
        if task.is_standalone:
            own = bool(task.exports[0].argument)  # a copy into values that have slots of their own
            return [] if own else [("all", len(task.exports), task.exports, range(len(task.exports)))]
        records: dict[Any, tuple[list[Value], list[int]]] = defaultdict(lambda: ([], []))
        places = self._offsets.get(self._roles[number], {})
        for value, tag in zip(task.exports, task.tags, strict=True):
            record, offset = places[tag]
            records[record][0].append(value)
            records[record][1].append(offset)
        return [(record, 1 + max(offsets), values, offsets) for record, (values, offsets) in records.items()]

    def layout(self, task: FusedTask) -> PortLayout:
        """The addresses of a task's loads and exports."""
        ports: dict[Any, int] = {}
        bases: list[int] = []

        def address(value: Value) -> tuple[int, int]:
            record, base = self._home.get(value, (value.argument, value.slot))
            if record not in ports:
                ports[record] = len(bases)
                bases.append(base)
            port = ports[record]
            return port, value.slot - bases[port]

        loads = tuple(address(value) for value in task.loads)
        exports = tuple(address(value) for value in task.exports)
        return PortLayout(tuple(bases), loads, exports)


def _number_roles(roles: Iterable[Any]) -> list[int]:
    """Equal roles by equal numbers, which are compared faster."""
    known: dict[Any, int] = {}
    return [known.setdefault(role, len(known)) for role in roles]


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
            shape = self._standalone(function, structure, len(values))
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

    def _standalone(self, function: Callable[..., Any], structure: Any, leaves: int) -> TracedStep:
        shape = self._shapes.get((function, structure))
        if shape is None:
            shape = self._shapes[function, structure] = standalone_shape(function, structure, leaves)
        return shape

    def call_into(self, function: Callable[..., Any], args: Any, into: Sequence[Value]) -> tuple[Use, list[Any]]:
        """Record a standalone step whose results go into values with slots of their own; and the leaves of these."""
        values, structure = flatten(args)
        shape = self._standalone(function, structure, len(values))
        read = self._constants.place_constants([values[leaf] for leaf in shape.reads])
        self._uses.append(Use(shape, read, shape.stored_leaves(into)))
        return self._uses[-1], shape.leaves(values, self._uses[-1].made)

    def begin_block(self) -> None:
        """Nothing: steps are blocks of their own."""

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
        values, numbers = copied_leaves(self._constants.place_constants(leaves))
        key = (shape_of_copy, numbers)
        if key not in self._shapes:
            self._shapes[key] = shape_of_copy(numbers)
        self._uses.append(Use(self._shapes[key], values, list(into)))
        return self._uses[-1]

    def finish(self, name: str, outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Program:
        """Close the recording. Every output is (name, shape, flat entries)."""
        tasks = fuse(find_live(self._uses, _values(outputs)))
        self._uses = []  # in a large program it pays to free what is no longer needed
        number = {id(task.members[0][0]): n for n, task in enumerate(tasks) if task.is_standalone}
        constants = self._constants.place(self._arguments.size)
        first = self._arguments.size + len(constants)
        carried = CarriedStates(self._loops.states, self._loops.ranges(number), set(_values(outputs)))
        records = Records(tasks, first, carried)
        repeats = self._loops.repeats(number)
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
