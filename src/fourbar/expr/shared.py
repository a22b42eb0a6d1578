"""The per-shape recorder: steps of equal shape share one block, so the code does not grow with the number of bodies.

The shape of a call is its function, the structure of its arguments, and for each leaf whether it is 0, 1 or -1 (folded
into the code), another constant (read from the call's table) or a value (loaded through a port). A call whose shape was
seen before is not traced again. The results of a call lie together in *records*, one record for the leaves that the
same later functions use, so that short-lived ones can be overwritten early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .derive import reachable
from .node import Expr, Graph, Value
from .program import Block, Call, Instruction, Program, Store
from .record import InputSlots, Presets, collect_outputs, linear_code
from .trees import flatten, unflatten

_FOLDED = (0.0, 1.0, -1.0)
_TABLE = "constant from the table"
Location = tuple[Any, int]  # (record, offset)


@dataclass
class _Shape:
    """A step traced once: where each leaf of its result comes from."""

    function: Callable[..., Any]
    structure: Any
    roots: list[Expr]  # what is stored, one entry a stored leaf
    positions: list[int]  # the leaf of the result that each root is
    results: list[Any]  # a float, ("argument", leaf) or ("root", number), one a leaf


@dataclass
class _Use:
    """One recorded call."""

    shape: _Shape
    arguments: list[Any]
    made: list[Value] = field(default_factory=list)


class Shared:
    """Per-shape layout."""

    def __init__(self) -> None:
        self._arguments = InputSlots()
        self._shapes: dict[Any, _Shape] = {}
        self._uses: list[_Use] = []

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
        use = _Use(shape, given)
        use.made = [Value(len(self._uses)) for _ in shape.roots]
        self._uses.append(use)
        return unflatten(shape.structure, iter([_result(r, use) for r in shape.results]))

    def finish(self, name: str, outputs: Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]) -> Program:
        """Close the recording. Every output is (name, shape, flat entries)."""
        results = [e for _, _, entries in outputs for e in entries if e.__class__ is Value]
        records = _Records(self._uses, results, self._arguments.size)
        presets = Presets(records.slots)
        written = collect_outputs(outputs, presets.slot)
        blocks: dict[Any, int] = {}
        made: list[Block] = []
        calls: list[Call] = []
        for number, use in enumerate(self._uses):
            layout = records.layout(number)
            if not layout.stores:
                continue
            key = (id(use.shape), layout.needs.roots, layout.loads, layout.stores)
            if key not in blocks:
                blocks[key] = len(made)
                made.append(_block(use.shape, layout))
            table = tuple(use.arguments[leaf] for leaf in layout.needs.table)
            calls.append(Call(blocks[key], layout.bases, table))
        slots = records.slots + len(presets.slot_of)
        inputs = tuple(self._arguments.inputs)
        return Program(name, slots, inputs, written, presets.items(), tuple(made), tuple(calls))


def _signature(given: list[Any]) -> Iterator[Any]:
    """For every leaf: its constant if folded, a mark if from the table, else the first leaf that is the same value."""
    first: dict[Value, int] = {}
    for i, leaf in enumerate(given):
        if leaf.__class__ is Value:
            yield first.setdefault(leaf, i)
        else:
            yield leaf if leaf in _FOLDED else _TABLE


def _trace(function: Callable[..., Any], structure: Any, signature: tuple[Any, ...]) -> _Shape:
    graph = Graph()

    def symbol(leaf: int, mark: Any) -> Any:
        if mark.__class__ is float:
            return mark
        return graph.node("table", leaf) if mark is _TABLE else graph.node("load", mark)

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
    return _Shape(function, result_structure, list(roots), positions, results)


def _result(source: Any, use: _Use) -> Any:
    if source.__class__ is not tuple:
        return source
    where, index = source
    return use.arguments[index] if where == "argument" else use.made[index]


@dataclass(frozen=True)
class _Needs:
    """What is left of a shape when only some of its roots are wanted."""

    roots: tuple[int, ...]
    loads: tuple[int, ...]  # argument leaves that are loaded
    table: tuple[int, ...]  # argument leaves that are read from the table, in its order


def _needs(shape: _Shape, roots: tuple[int, ...]) -> _Needs:
    nodes = reachable([shape.roots[r] for r in roots])
    loads = tuple(sorted(n.args[0] for n in nodes if n.op == "load"))
    return _Needs(roots, loads, tuple(n.args[0] for n in nodes if n.op == "table"))


@dataclass(frozen=True)
class _Layout:
    """Where one call finds its leaves and puts its results: (port, offset) each; ports are numbered as they appear."""

    needs: _Needs
    bases: tuple[int, ...]
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]


class _Records:
    """Places every value: the records of a call are allocated when it runs and recycled after their last use."""

    def __init__(self, uses: list[_Use], results: Sequence[Value], first_free: int) -> None:
        self._uses = uses
        self._kept = set(results)
        self._consumers: dict[Value, set[int]] = defaultdict(set)
        self._live = self._find_live()
        self._offsets = self._group()
        self._home: dict[Value, Location] = {}
        self.slots = self._allocate(first_free)

    def _find_live(self) -> list[_Needs]:
        """Walk the calls backwards; keep the roots somebody wants, and want what they load."""
        memo: dict[Any, _Needs] = {}
        live: list[_Needs] = []
        for number in reversed(range(len(self._uses))):
            use = self._uses[number]
            roots = tuple(r for r, value in enumerate(use.made) if value in self._kept or value in self._consumers)
            key = (id(use.shape), roots)
            if key not in memo:
                memo[key] = _needs(use.shape, roots)
            live.append(memo[key])
            for leaf in memo[key].loads:
                self._consumers[use.arguments[leaf]].add(number)
        return live[::-1]

    def _group(self) -> dict[Any, dict[int, tuple[Any, int]]]:
        """For every function: the leaves of its result, split by who uses them -> (record, offset)."""
        users: dict[Any, dict[int, set[Any]]] = defaultdict(lambda: defaultdict(set))
        for use, needs in zip(self._uses, self._live, strict=True):
            role = users[use.shape.function, use.shape.structure]
            for root in needs.roots:
                value = use.made[root]
                who = role[use.shape.positions[root]]
                who.update(self._uses[n].shape.function for n in self._consumers.get(value, ()))
                if value in self._kept:
                    who.add("output")
        groups: dict[Any, dict[int, tuple[Any, int]]] = {}
        for role, leaves in users.items():
            size: dict[Any, int] = defaultdict(int)
            groups[role] = {}
            for position in sorted(leaves):
                group = frozenset(leaves[position])
                groups[role][position] = (group, size[group])
                size[group] += 1
        return groups

    def _allocate(self, top: int) -> int:
        """Place the records of every call; returns the number of slots."""
        free: dict[int, list[int]] = defaultdict(list)
        expiring: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number in range(len(self._uses)):
            for record, values in self._records_of(number).items():
                size = 1 + max(offset for _, offset in values)
                if free[size]:
                    base = free[size].pop()
                else:
                    base, top = top, top + size
                for value, offset in values:
                    value.slot = base + offset
                    self._home[value] = ((number, record), base)
                if not any(value in self._kept for value, _ in values):
                    last = max(n for value, _ in values for n in self._consumers[value])
                    expiring[last].append((size, base))
            for size, base in expiring.pop(number, ()):
                free[size].append(base)
        return top

    def _records_of(self, number: int) -> dict[Any, list[tuple[Value, int]]]:
        """The records that a call writes: (value, offset) of each of their members."""
        use, needs = self._uses[number], self._live[number]
        records: dict[Any, list[tuple[Value, int]]] = defaultdict(list)
        for root in needs.roots:
            role = self._offsets[use.shape.function, use.shape.structure]
            record, offset = role[use.shape.positions[root]]
            records[record].append((use.made[root], offset))
        return records

    def layout(self, number: int) -> _Layout:
        """How call `number` addresses its leaves and results."""
        use, needs = self._uses[number], self._live[number]
        ports: dict[Any, int] = {}
        bases: list[int] = []

        def address(value: Value) -> tuple[int, int]:
            record, base = (value.argument, value.slot) if value.argument else self._home[value]
            if record not in ports:
                ports[record] = len(bases)
                bases.append(base)
            port = ports[record]
            return port, value.slot - bases[port]

        loads = tuple(address(use.arguments[leaf]) for leaf in needs.loads)
        stores = tuple(address(use.made[root]) for root in needs.roots)
        return _Layout(needs, tuple(bases), loads, stores)


def _block(shape: _Shape, layout: _Layout) -> Block:
    where = dict(zip(layout.needs.loads, layout.loads, strict=True))
    entry = {leaf: i for i, leaf in enumerate(layout.needs.table)}

    def read(node: Expr) -> Instruction:
        leaf = node.args[0]
        return ("load", *where[leaf]) if node.op == "load" else ("table", entry[leaf])

    roots = [shape.roots[r] for r in layout.needs.roots]
    code, number = linear_code(roots, read)
    stores = tuple(Store(*place, number[root.id]) for root, place in zip(roots, layout.stores, strict=True))
    return Block(len(layout.bases), len(entry), tuple(code), stores)
