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
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from ..errors import ArgumentError
from .node import Value
from .program import Call, Program
from .replay import BlockFunction, Pattern, primal, pull_block, push_block, rates, run
from .shared import Shared
from .split import split

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
    """For each piece the patterns that get no code of their own, and what stands in for them."""
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
