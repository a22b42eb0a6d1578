"""Derivatives of programs: the blocks are replayed into a new recording, each followed by its derivative.

Forward (`push`): along any number of directions at once; directions that a block does not depend on cost nothing, so
the columns of a sparse Jacobian cost what their entries cost. Reverse (`pull`): the calls backwards, each by its
transposed derivative: all gradients of one scalar for a few times the cost of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from ..errors import ArgumentError
from .directions import Entries, Patterns, is_zero, shared_patterns
from .node import Value
from .program import Call, Program
from .replay import BlockFunction, primal, pull_block, push_block, rates, run
from .shared import Shared
from .split import split

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
