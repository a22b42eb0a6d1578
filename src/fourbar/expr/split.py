"""Splitting the blocks of a program into shorter ones, which compile and differentiate better.

`BlockPart`, some instructions of a block as a block of their own, also separates programs (`partial_evaluation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .program import MEMORY, Block, Call, Instruction, Program, Repeat, Store


class BlockPart:
    """Instructions of a block, taken over one by one; `made` are those that compute something."""

    def __init__(self, block: Block) -> None:
        self._whole = block
        self._code: list[Instruction] = []
        self.numbers: dict[int, int] = {}  # of an instruction of the whole block, here
        self.made: list[int] = []
        self.stores: list[Store] = []

    def add(self, instruction: Instruction) -> int:
        """The number of one more instruction."""
        self._code.append(instruction)
        return len(self._code) - 1

    def read(self, i: int) -> Instruction:
        """The instruction that reads what instruction i has, if that is not computed here: as it stands."""
        return self._whole.code[i]

    def place(self, i: int) -> int:
        """The number of instruction i here: computed, or read."""
        if i not in self.numbers:
            self.numbers[i] = self.add(self.read(i))
        return self.numbers[i]

    def compute(self, i: int) -> None:
        """Take over an operation whose operands are here, or are read."""
        op, *operands = self._whole.code[i]
        placed = [self.place(a) if a.__class__ is int else a for a in operands]
        self.numbers[i] = self.add((op, *placed))
        self.made.append(i)

    def store(self, store: Store) -> None:
        """Take over a store."""
        value = self.place(store.value) if isinstance(store.value, int) else store.value
        self.stores.append(Store(store.port, store.offset, value))

    def block(self, ports: int, table: int) -> Block:
        """All that was taken over."""
        return Block(ports, table, tuple(self._code), tuple(self.stores))


def split(program: Program, size: int, early: bool = False) -> Program:
    """The same program in blocks of at most `size` instructions, splitting where necessary.

    If `early`, a part of a block on absolute slots stores what it has computed; otherwise the last part does.
    Values that a part passes to a later part of its block lie in slots behind those of the program. A block on absolute
    slots keeps its port; others get one more.
    """
    blocks: list[Block] = []
    parts: list[list[int]] = []
    most = 0
    moved = {call.block for call in program.calls if call.bases != (0,)}
    for number, block in enumerate(program.blocks):
        port, first = (block.ports, 0) if number in moved else (0, program.slots)
        at_once = early and number not in moved
        cut, stored = ([block], 0) if len(block.code) <= size else _cut(block, size, port, first, at_once)
        parts.append(list(range(len(blocks), len(blocks) + len(cut))))
        blocks.extend(cut)
        most = max(most, stored)
    calls: list[Call] = []
    starts = []  # where each call, in parts, begins
    for call in program.calls:
        starts.append(len(calls))
        whole = len(parts[call.block]) == 1
        bases = call.bases if whole or call.block not in moved else (*call.bases, program.slots)
        calls += [Call(part, bases, call.table) for part in parts[call.block]]
    starts.append(len(calls))
    repeats = tuple(Repeat(starts[r.first], starts[r.end] - starts[r.first], r.going, r.most) for r in program.repeats)
    return replace(program, slots=program.slots + most, blocks=tuple(blocks), calls=tuple(calls), repeats=repeats)


def _at_once(block: Block) -> frozenset[Store]:
    """The stores of a block on absolute slots that may be made as soon as there is a value: nothing is read there."""
    read = {tuple(place) for op, *place in block.code if op == "load"}
    computed = (s for s in block.stores if isinstance(s.value, int) and block.code[s.value][0] not in MEMORY)
    return frozenset(s for s in computed if (s.port, s.offset) not in read)


def _cut(block: Block, size: int, port: int, first: int, early: bool) -> tuple[list[Block], int]:
    """The parts of a block, and how many slots they need between them, from `first` of a port on.

    If `early`, a part stores what it has computed where nothing is read; the last one makes all other stores.
    """
    at_once = _at_once(block) if early else frozenset()
    part_of = [i // size for i in range(len(block.code))]
    last = part_of[-1]
    places: dict[int, list[tuple[int, int]]] = {}  # by instruction where its value is put: later parts read the first
    for s in block.stores:
        if s in at_once and isinstance(s.value, int):
            places.setdefault(s.value, []).append((s.port, s.offset))
    late = tuple(s for s in block.stores if s not in at_once)
    used: list[tuple[Any, int]] = [(s.value, last) for s in late]
    for i, (op, *operands) in enumerate(block.code):
        used += [(a, part_of[i]) for a in operands] if op not in MEMORY else ()
    stored = 0
    for a, part in used:
        if a.__class__ is int and part_of[a] != part and block.code[a][0] not in MEMORY and a not in places:
            places[a] = [(port, first + stored)]
            stored += 1
    parts = [_SplitPart(block, places) for _ in range(last + 1)]
    for i, (op, *_) in enumerate(block.code):
        if op not in MEMORY:
            parts[part_of[i]].compute(i)
    finished = [part.finish(late if number == last else ()) for number, part in enumerate(parts)]
    return [part for part in finished if part.stores], stored


class _SplitPart(BlockPart):
    """A part of a block that is split: it reads what earlier parts have computed where these have put it."""

    def __init__(self, block: Block, places: Mapping[int, list[tuple[int, int]]]) -> None:
        super().__init__(block)
        self._places = places

    def read(self, i: int) -> Instruction:
        read = super().read(i)
        return read if read[0] in MEMORY else ("load", *self._places[i][0])

    def finish(self, late: Iterable[Store]) -> Block:
        """The part, with stores of values that other parts read, and with those that are left to it."""
        self.stores += [Store(*place, self.numbers[i]) for i in self.made for place in self._places.get(i, ())]
        for store in late:
            self.store(store)
        ports = max([self._whole.ports, *(port + 1 for places in self._places.values() for port, _ in places)])
        return self.block(ports, self._whole.table)
