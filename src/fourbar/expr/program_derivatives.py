"""Derivatives of programs: the blocks are replayed into a new recording, each followed by its derivative.

Forward (`push`): along any number of directions at once; directions that a block does not depend on cost nothing, so
the columns of a sparse Jacobian cost what their entries cost. Reverse (`pull`): the calls backwards, each by its
transposed derivative: all gradients of one scalar for a few times the cost of the program.

Directions of a Jacobian that share their code.

Along a direction only some of the values that a block loads move: its *pattern*. Code is written for a few patterns,
and a direction is pushed by that of a larger one, where the rest of the rates are zeros. What this adds to the work
matters where there are many such directions; where there are few, their own code would take far longer to compile than
it ever saves. So the patterns of all blocks are found first, and those that save the most code for the work that they
add are given up until that has grown by `_MORE`.

A `BlockFunction` is what one block does: from the values it loads and the constants of its table to the values it
stores. Its directional derivative (push) and the transposed one (pull) are differentiated once, then run on the symbols
of a new recording, where zeros fold away.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..once import cached_property
from .autodiff import jvp, reachable, vjp
from .evaluate import MEANING
from .node import Expr, Graph, Value
from .program import Block, Call, Program
from .shared import Shared
from .split import split
from .standalone_steps import standalone

_MORE_WORK = 1.6  # extra work, relative to what a direction needs, that is accepted to save code


class NodeCode:
    """Nodes to be computed from others that are known: straight-line code over a list of values."""

    def __init__(self, roots: Sequence[Any], known: Sequence[Expr]) -> None:
        self._place = {x.id: i for i, x in enumerate(known)}
        self._steps: list[tuple[Callable[..., Any], tuple[tuple[bool, Any], ...]]] = []
        for node in reachable(roots):
            if node.id not in self._place:
                operands = tuple(self._operand(a) for a in node.args)
                self._place[node.id] = len(self._place)
                self._steps.append((MEANING[node.op], operands))
        self._ends = [self._operand(r) for r in roots]
        self._read = [tuple([x for placed, x in operands if placed]) for _, operands in self._steps]

    def _operand(self, x: Any) -> tuple[bool, Any]:
        return (True, self._place[x.id]) if x.__class__ is Expr else (False, x)

    def reach(self, first: int, moving: Collection[int]) -> tuple[int, tuple[bool, ...]]:
        """The number of steps, and the roots, that depend on some of the known values, numbered from `first` on."""
        reached = {first + i for i in moving}
        known, size = len(self._place) - len(self._steps), len(reached)
        for number, read in enumerate(self._read, known):
            if not reached.isdisjoint(read):
                reached.add(number)
        return len(reached) - size, tuple(placed and x in reached for placed, x in self._ends)

    def run(self, known: Iterable[Any]) -> list[Any]:
        """The roots."""
        values = list(known)
        for meaning, operands in self._steps:
            values.append(meaning(*[values[x] if placed else x for placed, x in operands]))
        return [values[x] if placed else x for placed, x in self._ends]


Pattern = tuple[int, ...]  # which of the values that a block loads move


class Reach(NamedTuple):
    """The work of a direction, and which of the stored values change with it."""

    size: int
    stored: tuple[bool, ...]


class BlockFunction:
    """A block as a function of its loads x and its table c. Compared by identity: it is made once per block."""

    def __init__(self, block: Block) -> None:
        self._graph = Graph()
        self.loads: list[tuple[int, int]] = []  # (port, offset) of each x
        numbered: list[Any] = []
        for op, *operands in block.code:
            numbered.append(self._node(op, operands, numbered))
        self.stores = [(s.port, s.offset) for s in block.stores]
        self._roots = [numbered[s.value] if isinstance(s.value, int) else s.value for s in block.stores]
        self._x = [self._input("x", i) for i in range(len(self.loads))]
        self._c = [self._input("c", i) for i in range(block.table)]
        self._sources = [*self._x, *self._c]
        self._reached: dict[Pattern, Reach] = {}
        self._chosen: list[Pattern] = []

    def _input(self, name: str, number: int) -> Expr:
        return self._graph.node("input", name, number)

    def _node(self, op: str, operands: list[Any], numbered: list[Any]) -> Expr:
        if op == "table":
            return self._input("c", operands[0])
        if op == "load":
            place = (operands[0], operands[1])
            if place not in self.loads:
                self.loads.append(place)
            return self._input("x", self.loads.index(place))
        return self._graph.node(op, *(numbered[a] if a.__class__ is int else a for a in operands))

    @cached_property
    def values(self) -> NodeCode:
        """x, c -> the stored values."""
        return NodeCode(self._roots, self._sources)

    @cached_property
    def _primal(self) -> list[Expr]:
        """All values that the block computes: what the derivatives may refer to."""
        return [node for node in reachable(self._roots) if node.op != "input"]

    @cached_property
    def primal(self) -> NodeCode:
        """x, c -> every intermediate value, and then the stored ones."""
        return NodeCode([*self._primal, *self._roots], self._sources)

    @cached_property
    def push(self) -> NodeCode:
        """x, c, intermediate values, ẋ -> the rates of the stored values."""
        known = [*self._sources, *self._primal]
        rates = [self._input("dx", i) for i in range(len(self._x))]
        return NodeCode(jvp(self._roots, dict(zip(self._x, rates, strict=True))), [*known, *rates])

    def reach(self, moving: Pattern) -> Reach:
        """The work of pushing a direction."""
        if moving not in self._reached:
            self._reached[moving] = Reach(*self.push.reach(len(self._sources) + len(self._primal), moving))
        return self._reached[moving]

    def patterns(self, wanted: Iterable[Pattern]) -> dict[Pattern, Pattern]:
        """For each pattern a larger one at little extra work: few of them, so that many directions share code."""
        served_by: dict[Pattern, Pattern] = {}
        left = sorted(set(wanted), key=lambda p: (-self.reach(p).size, p))
        while left:
            known = [p for p in self._chosen if self._serves(p, left[0])]
            chosen = min(known, key=lambda p: self.reach(p).size) if known else self._widen(left)
            if not known:
                self._chosen.append(chosen)
            served_by.update((p, chosen) for p in left if self._serves(chosen, p))
            left = [p for p in left if p not in served_by]
        return served_by

    def _widen(self, patterns: Sequence[Pattern]) -> Pattern:
        """The first pattern, merged with as many of the others as fit."""
        first = wide = patterns[0]
        for pattern in patterns[1:]:
            both = tuple(sorted({*wide, *pattern}))
            wide = both if self._serves(both, first) else wide
        return wide

    def _serves(self, larger: Pattern, pattern: Pattern) -> bool:
        return set(pattern) <= set(larger) and self.reach(larger).size <= _MORE_WORK * self.reach(pattern).size

    @cached_property
    def pull(self) -> NodeCode:
        """x, c, cotangents of the stored values -> those of x."""
        weights = [self._input("w", i) for i in range(len(self._roots))]
        return NodeCode(vjp(self._roots, weights, self._x), [*self._sources, *weights])

    @property
    def intermediate(self) -> int:
        """The number of intermediate values."""
        return len(self._primal)


def run(piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that a block stores."""
    return tuple(piece.values.run([*x, *c]))


def push_block(
    piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...], rates: tuple[tuple[Any, ...], ...]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]]:
    """The values that a block stores, and their rates along several directions at once."""
    found = piece.primal.run([*x, *c])
    n = piece.intermediate
    known = [*x, *c, *found[:n]]
    return tuple(found[n:]), tuple(tuple(piece.push.run([*known, *dx])) for dx in rates)


def primal(piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The values that a block stores, and all intermediate ones."""
    found = piece.primal.run([*x, *c])
    return tuple(found[piece.intermediate :]), tuple(found[: piece.intermediate])


@standalone
def rates(
    piece: BlockFunction,
    moving: Pattern,
    x: tuple[Any, ...],
    c: tuple[Any, ...],
    intermediate: tuple[Any, ...],
    dx: tuple[Any, ...],
) -> tuple[Any, ...]:
    """The rates of the values that a block stores, along one direction in which only some of x move.

    From what `primal` has found; dx are the rates of those that move.
    """
    every = [0.0] * len(x)
    for i, rate in zip(moving, dx, strict=True):
        every[i] = rate
    return tuple(piece.push.run([*x, *c, *intermediate, *every]))


def pull_block(
    piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...], weights: tuple[Any, ...], before: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Cotangents of the values that a block loads, added to those from later blocks."""
    own = piece.pull.run([*x, *c, *weights])
    return tuple(a + b for a, b in zip(before, own, strict=True))


_MORE = 0.01  # of the work, for all directions together

Entries = Mapping[str, Sequence[Any]]  # the flat entries of arguments or results, by name
Patterns = dict[Pattern, Pattern]  # the pattern whose code is used, by the pattern of a direction


def is_zero(x: Any) -> bool:
    """Whether a rate is zero whatever the arguments are."""
    return x.__class__ is float and x == 0.0


def shared_patterns(program: Program, pieces: Sequence[BlockFunction], directions: Sequence[Entries]) -> list[Patterns]:
    """For each piece, the pattern whose code each of the patterns that occur uses."""
    counts = _count_directions(program, pieces, directions)
    patterns_by_piece = [piece.patterns(count) for piece, count in zip(pieces, counts, strict=True)]
    used = [_sum_by_code(patterns, count) for patterns, count in zip(patterns_by_piece, counts, strict=True)]
    instead = _drop_patterns(pieces, used)
    for patterns, moved in zip(patterns_by_piece, instead, strict=True):
        for pattern, chosen in patterns.items():
            while chosen in moved:
                chosen = moved[chosen]
            patterns[pattern] = chosen
    return patterns_by_piece


def _count_directions(
    program: Program, pieces: Sequence[BlockFunction], directions: Sequence[Entries]
) -> list[Counter[Pattern]]:
    """The number of directions of each pattern, in all calls of each piece. Directions are the bits of a number."""
    moving: dict[int, int] = {}  # the directions along which a slot moves
    for k, direction in enumerate(directions):
        for argument in program.inputs:
            for slot, rate in enumerate(direction.get(argument.name, ()), argument.first):
                moving[slot] = moving.get(slot, 0) | (not is_zero(rate)) << k
    moving.update((slot, 0) for slot, _ in program.preset)
    counts: list[Counter[Pattern]] = [Counter() for _ in pieces]
    for call in program.calls:
        piece = pieces[call.block]
        groups = _groups(call, piece, moving)
        after = [0] * len(piece.stores)
        for pattern, mask in groups:
            for k, moves in enumerate(piece.reach(pattern).stored):
                after[k] |= mask if moves else 0
        moving.update(zip(_slots(call, piece.stores), after, strict=True))
        if sum(mask.bit_count() for _, mask in groups) > 1:
            counts[call.block].update({pattern: mask.bit_count() for pattern, mask in groups})
    return counts


def _slots(call: Call, places: Sequence[tuple[int, int]]) -> Iterator[int]:
    return (call.bases[port] + offset for port, offset in places)


def _groups(call: Call, piece: BlockFunction, moving: Mapping[int, int]) -> list[tuple[Pattern, int]]:
    """The patterns in a call, and the directions of each."""
    masks = [moving.get(slot, 0) for slot in _slots(call, piece.loads)]
    every = 0
    for mask in masks:
        every |= mask
    groups: list[tuple[Pattern, int]] = [((), every)]
    for i, mask in enumerate(masks):
        split = [((*p, i), g & mask) for p, g in groups] + [(p, g & ~mask) for p, g in groups]
        groups = [(p, g) for p, g in split if g]
    return groups


def _sum_by_code(patterns: Patterns, count: Counter[Pattern]) -> dict[Pattern, int]:
    """The number of directions that use the code of each pattern."""
    used: Counter[Pattern] = Counter()
    for pattern, chosen in patterns.items():
        used[chosen] += count[pattern]
    return dict(used)


def _drop_patterns(pieces: Sequence[BlockFunction], used: list[dict[Pattern, int]]) -> list[Patterns]:
    """For each piece the patterns without code of their own, and the patterns used in their place."""
    moved: list[Patterns] = [{} for _ in pieces]
    work = sum(n * piece.reach(p).size for piece, own in zip(pieces, used, strict=True) for p, n in own.items())
    left = _MORE * work

    def offers(number: int, pattern: Pattern) -> Iterator[tuple[float, int, Pattern, Pattern, int]]:
        """The cost of giving up a pattern per instruction saved, by the least of those that include it."""
        piece, counts = pieces[number], used[number]
        larger = [p for p in counts if p != pattern and set(pattern) <= set(p)]
        if larger:
            best = min(larger, key=lambda p: (piece.reach(p).size, p))
            size = piece.reach(pattern).size
            yield (
                (piece.reach(best).size - size) * counts[pattern] / max(1, size),
                number,
                pattern,
                best,
                counts[pattern],
            )

    waiting = [offer for number, own in enumerate(used) for pattern in own for offer in offers(number, pattern)]
    heapq.heapify(waiting)
    while waiting:
        _, number, pattern, best, count = heapq.heappop(waiting)
        counts, reach = used[number], pieces[number].reach
        if best not in counts or counts[pattern] != count:  # it has changed since it was offered
            for offer in offers(number, pattern):
                heapq.heappush(waiting, offer)
            continue
        added = (reach(best).size - reach(pattern).size) * count
        if added <= left:
            left -= added
            counts[best] += counts.pop(pattern)
            moved[number][pattern] = best
    return moved


PIECE = 400  # instructions that are differentiated together
MANY = 120  # the same where there are many directions
_AT_ONCE = 1200  # operations that the rates of one piece may take in one step


def _sum(a: Any, b: Any) -> Any:
    return a + b


class _Memory:
    """The content of the slots of a program while it is replayed."""

    def __init__(self, program: Program, given: Entries) -> None:
        self.slots: dict[int, Any] = dict(program.preset)
        for argument in program.inputs:
            self.write(argument.first, given.get(argument.name, (0.0,) * argument.size))

    def write(self, first: int, values: Sequence[Any]) -> None:
        self.slots.update(enumerate(values, first))

    def read(self, bases: Sequence[int], places: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
        return self.at([bases[port] + offset for port, offset in places])

    def at(self, slots: Sequence[int]) -> tuple[Any, ...]:
        get = self.slots.get
        return tuple([get(slot, 0.0) for slot in slots])

    def store(self, bases: Sequence[int], places: Sequence[tuple[int, int]], values: Sequence[Any]) -> None:
        for (port, offset), value in zip(places, values, strict=True):
            self.slots[bases[port] + offset] = value

    def results(self, program: Program) -> dict[str, list[Any]]:
        return {y.name: list(map(self.slots.get, y.slots, repeat(0.0))) for y in program.outputs}


class Replay:
    """A program being replayed into a recorder, with the given entries of its arguments.

    Its blocks are taken in pieces of at most `piece` instructions.
    """

    def __init__(self, program: Program, recorder: Any, given: Entries, piece: int = PIECE) -> None:
        if program.repeats:
            raise ArgumentError(
                f"{program.name}: its program repeats a part until that is solved, and derivatives of such programs "
                "are not available; use finite differences of its results"
            )
        self.program = program = split(program, piece)
        self.recorder = recorder
        self.given = given
        self.pieces = [BlockFunction(block) for block in program.blocks]
        self._shared = recorder.__class__ is Shared
        self._patterns: list[Patterns] = []

    def push(self, directions: Sequence[Entries]) -> tuple[dict[str, list[Any]], list[dict[str, list[Any]]]]:
        """The results, and their rates along each direction (rates of arguments by name; others are constant)."""
        memory = _Memory(self.program, self.given)
        moved = [_Memory(self.program, direction) for direction in directions]
        for moving in moved:  # the presets are constants
            for slot, _ in self.program.preset:
                moving.slots[slot] = 0.0
        if self._shared and len(directions) > 1:
            self._patterns = shared_patterns(self.program, self.pieces, directions)
        for call in self.program.calls:
            self._push(call, memory, moved)
        return memory.results(self.program), [moving.results(self.program) for moving in moved]

    def _push(self, call: Call, memory: _Memory, moved: list[_Memory]) -> None:
        piece = self.pieces[call.block]
        loaded = memory.read(call.bases, piece.loads)
        slots = [call.bases[port] + offset for port, offset in piece.loads]
        still, unmoved = (0.0,) * len(slots), {call.bases[port] + offset: 0.0 for port, offset in piece.stores}
        active = []
        for m in moved:
            dx = m.at(slots)
            if dx == still:
                m.slots.update(unmoved)
            else:
                active.append((m, dx))
        if not active:
            stored = self.recorder.call(run, piece, loaded, call.table)
        elif self._shared and len(active) > 1:
            stored = self._push_alike(call, loaded, active)
        else:
            stored = ()
            some = max(1, _AT_ONCE // (2 * piece.intermediate + 1))
            for first in range(0, len(active), some):
                now = active[first : first + some]
                stored, rates = self.recorder.call(push_block, piece, loaded, call.table, tuple(dx for _, dx in now))
                for (m, _), dy in zip(now, rates, strict=True):
                    m.store(call.bases, piece.stores, dy)
        memory.store(call.bases, piece.stores, stored)

    def _push_alike(self, call: Call, x: tuple[Any, ...], active: list[tuple[_Memory, Any]]) -> tuple[Any, ...]:
        """Push directions one by one: most are alike, and then they share their code."""
        piece = self.pieces[call.block]
        stored, known = self.recorder.call(primal, piece, x, call.table)
        own = [tuple(i for i, rate in enumerate(dx) if not is_zero(rate)) for _, dx in active]
        chosen = self._patterns[call.block]
        for (m, dx), pattern in zip(active, own, strict=True):
            if pattern not in chosen:  # some rates have vanished
                chosen[pattern] = piece.patterns([pattern])[pattern]
            wide = chosen[pattern]
            found = self.recorder.call(rates, piece, wide, x, call.table, known, tuple(dx[i] for i in wide))
            moves = piece.reach(pattern).stored
            m.store(call.bases, piece.stores, [dy if on else 0.0 for dy, on in zip(found, moves, strict=True)])
        return stored

    def pull(self, weights: Entries) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """The results, and for every argument Σ weight · ∂result/∂argument."""
        memory = _Memory(self.program, self.given)
        tape: list[tuple[Call, tuple[Any, ...], tuple[Any, ...]]] = []
        for call in self.program.calls:
            piece = self.pieces[call.block]
            loaded = memory.read(call.bases, piece.loads)
            y = self.recorder.call(run, piece, loaded, call.table)
            memory.store(call.bases, piece.stores, y)
            tape.append((call, loaded, y))
        results = memory.results(self.program)
        cotangents = _Cotangents(self.recorder)
        for name, entries in results.items():
            for y, w in zip(entries, weights.get(name, (0.0,) * len(entries)), strict=True):
                cotangents.add(y, w)
        for call, loaded, y in reversed(tape):
            self._pull(call, loaded, y, cotangents)
        return results, {n: [cotangents.of(x) for x in entries] for n, entries in self.given.items()}

    def _pull(self, call: Call, x: tuple[Any, ...], y: tuple[Any, ...], cotangents: _Cotangents) -> None:
        w = tuple(
            0.0 if value in x else cotangents.take(value) for value in y
        )  # a value that is passed on keeps its own
        if all(map(is_zero, w)):
            return
        first = [value.__class__ is Value and x.index(value) == i for i, value in enumerate(x)]
        before = tuple(cotangents.of(value) if new else 0.0 for value, new in zip(x, first, strict=True))
        found = self.recorder.call(pull_block, self.pieces[call.block], x, call.table, w, before)
        for value, new, total in zip(x, first, found, strict=True):
            if new:
                cotangents.total[value] = total
            elif value.__class__ is Value:
                cotangents.add(value, total)


class _Cotangents:
    """Cotangents of values, summed where a value is used several times."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.total: dict[Value, Any] = {}

    def of(self, value: Any) -> Any:
        return self.total.get(value, 0.0) if value.__class__ is Value else 0.0

    def take(self, value: Any) -> Any:
        """The cotangent, removed: two calls may have computed the same value, and only one propagates it."""
        return self.total.pop(value, 0.0) if value.__class__ is Value else 0.0

    def add(self, value: Any, weight: Any) -> None:
        if value.__class__ is not Value or is_zero(weight):
            return
        known = self.total.get(value, 0.0)
        self.total[value] = weight if is_zero(known) else self.recorder.call(_sum, known, weight)
