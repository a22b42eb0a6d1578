"""From recorded calls to tasks: dead results are dropped, and a few calls in a row are fused into one block.

Fusing keeps what a body hands to the next in registers. Equal sequences of shapes share one block, so the code still
does not grow with the number of bodies; how many calls are fused is chosen so that all blocks together stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..once import cached_property
from .autodiff import reachable
from .node import Expr, Graph, Value
from .program import MEMORY, Instruction
from .pytree import flatten, unflatten
from .repeat import ALWAYS_USED

_FUSED = (4, 2, 1)  # how many calls a block may take, best first
_MOST_INSTRUCTIONS = 16_000  # of all blocks together
_ALIKE, _SMALL = 8, 200  # calls of a shape that are fused however much there is, and the nodes that they may have
TABLE = "constant from the table"  # what a leaf of the arguments of a step may be
KEPT = ALWAYS_USED  # when a result of the program is used last


@dataclass
class TracedStep:
    """A step traced once: where each leaf of its result comes from."""

    function: Callable[..., Any]
    structure: Any
    roots: list[Expr]  # what is stored, one entry per stored leaf
    positions: list[int]  # the leaf of the result that each root is
    results: list[Any]  # a float, ("argument", leaf) or ("root", number), one per leaf
    is_standalone: bool = False
    reads: list[int] = field(default_factory=list)  # the leaves of its arguments that a standalone step loads

    def leaves(self, given: Sequence[Any], made: list[Value]) -> list[Any]:
        """The leaves of its result, from those of its arguments and the values that it stores."""
        if self._only_roots:
            return made
        sources = self.results
        return [x if x.__class__ is not tuple else (given if x[0] == "argument" else made)[x[1]] for x in sources]

    @property
    def is_copy(self) -> bool:
        """Whether it copies values."""
        return self.function is shape_of_copy

    def stored_leaves(self, into: Sequence[Value]) -> list[Value]:
        """Of values for the leaves of its result those that it stores."""
        return [into[position] for position in self.positions]

    @cached_property
    def _only_roots(self) -> bool:
        return self.results == [("root", i) for i in range(len(self.roots))]


def trace_step(function: Callable[..., Any], structure: Any, signature: tuple[Any, ...]) -> TracedStep:
    """The shape of a step, from what each leaf of its arguments is: a constant, one from the table, or a load."""
    graph = Graph()

    def symbol(leaf: int, mark: Any) -> Any:
        if mark.__class__ is float:
            return mark
        return graph.node("table", leaf) if mark is TABLE else graph.node(*mark)

    args = unflatten(structure, iter([symbol(i, mark) for i, mark in enumerate(signature)]))
    result_leaves, result_structure = flatten(function(*args))
    roots: dict[Expr, int] = {}
    positions: list[int] = []
    results: list[Any] = []
    for position, leaf in enumerate(result_leaves):
        if leaf.__class__ is not Expr:
            results.append(leaf)
        elif leaf.op in MEMORY:
            results.append(("argument", leaf.args[0]))
        else:
            if leaf not in roots:
                roots[leaf] = len(roots)
                positions.append(position)
            results.append(("root", roots[leaf]))
    return TracedStep(function, result_structure, list(roots), positions, results)


def standalone_shape(function: Callable[..., Any], structure: Any, leaves: int) -> TracedStep:
    """The shape of a standalone step: constants, too, are loaded."""
    shape = trace_step(function, structure, tuple(("load", i) for i in range(leaves)))
    shape.is_standalone = True
    shape.reads = sorted(node.args[0] for node in reachable(shape.roots) if node.op == "load")
    return shape


def copied_leaves(values: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """The different values among some, and for each its number among these: zeros are loaded once."""
    different: dict[Any, int] = {}
    numbers = tuple([different.setdefault(value, len(different)) for value in values])
    return list(different), numbers


def shape_of_copy(numbers: tuple[int, ...]) -> TracedStep:
    """The shape of a standalone step that copies values by number: x + (-0.0) is x for every x."""
    graph = Graph()
    nodes = [graph.node("add", graph.node("load", i), -0.0) for i in range(1 + max(numbers, default=-1))]
    roots = [nodes[i] for i in numbers]
    places = list(range(len(numbers)))
    results = [("root", i) for i in places]
    return TracedStep(shape_of_copy, None, roots, places, results, is_standalone=True, reads=list(range(len(nodes))))


@dataclass(slots=True)
class Use:
    """One recorded call; the arguments of a standalone step are those that it reads."""

    shape: TracedStep
    arguments: list[Any]
    made: list[Value] = field(default_factory=list)


@dataclass(frozen=True)
class Needs:
    """The part of a shape that some of its roots need, in the order of computation."""

    roots: tuple[int, ...]
    nodes: tuple[Expr, ...]
    loads: tuple[int, ...]  # argument leaves that are loaded
    table: tuple[int, ...]  # argument leaves that are read from the table


def _needs(shape: TracedStep, roots: tuple[int, ...]) -> Needs:
    nodes = reachable([shape.roots[r] for r in roots])
    loads = tuple(n.args[0] for n in nodes if n.op == "load")
    return Needs(roots, tuple(nodes), loads, tuple(n.args[0] for n in nodes if n.op == "table"))


@dataclass
class Live:
    """The calls whose results are used, their numbers among all, and the results that each of them has to compute."""

    uses: list[Use]
    numbers: list[int]
    needs: list[Needs]


def find_live(recorded: Sequence[Use], outputs: Iterable[Value]) -> Live:
    """Walk the calls backwards: keep the roots that are used, and mark what they load as used.

    Every value records the number of the call that uses it last, or `KEPT` if it is a result of the program.
    """
    memo: dict[tuple[int, tuple[int, ...]], Needs] = {}
    live: list[tuple[Use, int, Needs]] = []
    for value in outputs:
        value.last_use = KEPT
    for number in reversed(range(len(recorded))):
        use = recorded[number]
        roots = tuple([r for r, value in enumerate(use.made) if value.last_use >= 0])
        if not roots:
            continue
        if use.shape.is_standalone:
            key, loads = (id(use.shape), ()), use.arguments
            if key not in memo:
                memo[key] = _needs(use.shape, tuple(range(len(use.made))))
        else:
            key = (id(use.shape), roots)
            if key not in memo:
                memo[key] = _needs(use.shape, roots)
            loads = [use.arguments[leaf] for leaf in memo[key].loads]
        live.append((use, number, memo[key]))
        for value in loads:
            if value.last_use < 0:
                value.last_use = number
    live.reverse()
    return Live([u for u, _, _ in live], [i for _, i, _ in live], [n for _, _, n in live])


@dataclass(slots=True)
class FusedTask:
    """Calls that run as one block: what they load from outside, what they leave behind, their constants.

    `code` describes what the block does except for addresses; `role` and `tags` what the results are.
    """

    members: list[tuple[Use, Needs]]
    loads: list[Value]
    exports: list[Value]
    tags: list[tuple[int, int]]  # for each export: member, leaf of its result
    role: tuple[Any, ...]
    code: tuple[Any, ...]
    last: int  # the number of its last call among all that were recorded

    @property
    def is_standalone(self) -> bool:
        """Whether this is a standalone step."""
        return self.members[0][0].shape.is_standalone

    @property
    def table(self) -> tuple[float, ...]:
        return tuple(use.arguments[leaf] for use, needs in self.members for leaf in needs.table)


def _task(live: Live, first: int, count: int) -> FusedTask:
    members = list(zip(live.uses[first : first + count], live.needs[first : first + count], strict=True))
    last = live.numbers[first + count - 1]
    loads: dict[Value, int] = {}
    inside: dict[Value, tuple[int, int]] = {}
    exports: list[Value] = []
    tags: list[tuple[int, int]] = []
    code: list[Any] = []
    for member, (use, needs) in enumerate(members):
        links = []
        for leaf in needs.loads:
            value = use.arguments[leaf]
            links.append(inside[value] if value in inside else loads.setdefault(value, len(loads)))
        stored = []
        for root in needs.roots:
            value = use.made[root]
            inside[value] = (member, root)
            if value.last_use > last:
                stored.append(root)
                exports.append(value)
                tags.append((member, use.shape.positions[root]))
        code.append((id(use.shape), needs.roots, tuple(links), tuple(stored)))
    role = tuple((use.shape.function, use.shape.structure) for use, _ in members)
    return FusedTask(members, list(loads), exports, tags, role, tuple(code), last)


def _standalone_task(use: Use, needs: Needs, number: int) -> FusedTask:
    """A standalone step: it loads and stores whatever its shape does."""
    key = (id(use.shape),)
    return FusedTask([(use, needs)], use.arguments, use.made, [], key, key, number)


def _size(tasks: Sequence[FusedTask]) -> int:
    """Instructions of all distinct blocks."""
    distinct = {task.code: task for task in tasks}
    return sum(len(needs.nodes) for task in distinct.values() for _, needs in task.members)


def _runs(live: Live, count: int) -> list[tuple[int, int]]:
    """(first, count) of the calls of each task: at most `count`, of small ones of the same shape more, and standalone
    steps alone."""
    runs: list[tuple[int, int]] = []
    alike = -1  # the call from which on all are small and of the same shape
    for number, use in enumerate(live.uses):
        alone = use.shape.is_standalone or number == 0 or live.uses[number - 1].shape.is_standalone
        if number == 0 or not _is_again(live, number):
            alike = number
        most = _ALIKE if runs and alike <= runs[-1][0] else count
        if alone or runs[-1][1] >= most:
            runs.append((number, 1))
        else:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
    return runs


def _is_again(live: Live, number: int) -> bool:
    """Whether a call is small and computes the same as the one before it."""
    needs, before = live.needs[number], live.needs[number - 1]
    return needs is before and len(needs.nodes) <= _SMALL


def fuse(live: Live) -> list[FusedTask]:
    """Tasks of as many calls each as keep the code small."""
    tasks: list[FusedTask] = []
    listed = enumerate(zip(live.uses, live.needs, live.numbers, strict=True))
    alone = {i: _standalone_task(use, needs, number) for i, (use, needs, number) in listed if use.shape.is_standalone}
    for count in _FUSED:
        tasks = [alone[first] if first in alone else _task(live, first, some) for first, some in _runs(live, count)]
        if _size(tasks) <= _MOST_INSTRUCTIONS:
            break
    return tasks


def task_code(task: FusedTask, address: Callable[[int], tuple[int, int]]) -> tuple[list[Instruction], list[int], int]:
    """Instructions of a task, where each export is found in them, and the size of its table.

    `address` gives port and offset of a load. A value is read just before its first use.
    """
    code: list[Instruction] = []
    loaded: dict[int, int] = {}
    external = {value: i for i, value in enumerate(task.loads)}
    computed: dict[Value, int] = {}
    exported: list[int] = []
    constants = 0
    for use, needs in task.members:
        number: dict[int, int] = {}
        entry = {leaf: constants + i for i, leaf in enumerate(needs.table)}
        constants += len(needs.table)

        def read(node: Expr, use: Use = use, number: dict[int, int] = number, entry: dict[int, int] = entry) -> None:
            value = use.arguments[node.args[0]]
            if node.op == "table":
                number[node.id] = len(code)
                code.append(("table", entry[node.args[0]]))
            elif value in computed:
                number[node.id] = computed[value]
            else:
                index = external[value]
                if index not in loaded:
                    loaded[index] = len(code)
                    code.append(("load", *address(index)))
                number[node.id] = loaded[index]

        for node in needs.nodes:
            if node.op in MEMORY:
                continue
            for a in node.args:
                if a.__class__ is Expr and a.id not in number:
                    read(a)
            number[node.id] = len(code)
            code.append((node.op, *(number[a.id] if a.__class__ is Expr else a for a in node.args)))
        for root in needs.roots:
            computed[use.made[root]] = number[use.shape.roots[root].id]
    exported = [computed[value] for value in task.exports]
    return code, exported, constants
