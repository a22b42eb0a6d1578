"""Blocks that only move numbers between slots, as a loop over a table instead of code of their own.

A repeat copies its state and chooses, sample by sample, between a new one and the old one: thousands of loads and
stores without arithmetic, which would take a third of the time to compile. Their machine code is two functions, the
same for all programs; the table of a call says which slots it moves:

    copy      number of turns of the loop; from and to, byte offsets, of each move
    choose    the same; whether the left and the right side of the condition are constants, and both sides (a byte
              offset, or the constant); the slot that is taken where left < right, the other one, and to, of each
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..expr import Block
from ..once import once
from .cache import load_module
from .ir import Code, Lanes, word
from .llvm import Loaded
from .transfer import open_loop

_FEWEST = 128  # moves from which on a loop takes hardly longer than code of its own
_COPIED, _CHOSEN = 1, 6  # words before the moves
_AT_ONCE = 4  # moves of a turn of the loop; the last one is repeated where some are missing

Place = tuple[int, int]  # port and offset


class SlotMoves(NamedTuple):
    """The moves of a block: sources, then the target of each; `condition`: both sides, places or constants, or None."""

    condition: tuple[Place | float, Place | float] | None
    moves: tuple[tuple[Place, ...], ...]

    @property
    def function(self) -> str:
        """The function that makes them."""
        return "copy" if self.condition is None else "choose"

    def table(self, bases: Sequence[int], size: int) -> np.ndarray:
        """The table of a call, for slots of some bytes."""

        def offset(place: Any) -> int:
            return (bases[place[0]] + place[1]) * size

        whole = [*self.moves, *[self.moves[-1]] * (-len(self.moves) % _AT_ONCE)]
        moves, turns = [offset(place) for move in whole for place in move], len(whole) // _AT_ONCE
        if self.condition is None:
            return np.array([turns, *moves], np.int64)
        sides = [_bits(x) if isinstance(x, float) else offset(x) for x in self.condition]
        return np.array([turns, *(isinstance(x, float) for x in self.condition), *sides, 0, *moves], np.int64)


def _bits(x: float) -> int:
    """The bits of a number."""
    return int(np.array([x]).view(np.int64)[0])


def find_moves(block: Block) -> SlotMoves | None:
    """The moves of a block that does nothing else."""
    if len(block.stores) < _FEWEST or block.table:
        return None
    places: dict[int, Place] = {}
    copies: dict[int, tuple[Place, ...]] = {}
    conditions: dict[int, tuple[Any, Any]] = {}
    chosen: set[int] = set()
    for number, (op, *operands) in enumerate(block.code):
        if op == "load":
            places[number] = (operands[0], operands[1])
        elif op == "add" and operands[0] in places and operands[1].__class__ is float and str(operands[1]) == "-0.0":
            copies[number] = (places[operands[0]],)
        elif op == "lt" and all(x.__class__ is float or x in places for x in operands):
            left, right = (x if x.__class__ is float else places[x] for x in operands)
            conditions[number] = (left, right)
        elif op == "select" and operands[0] in conditions and all(x in places for x in operands[1:]):
            copies[number] = (places[operands[1]], places[operands[2]])
            chosen.add(operands[0])
        else:
            return None
    stored = [store.value for store in block.stores]
    if any(value.__class__ is float or value not in copies for value in stored) or len(conditions) > 1:
        return None
    if len({len(copies[value]) for value in stored}) > 1 or (conditions and not chosen):  # type: ignore[index]
        return None
    moves = tuple((*copies[store.value], (store.port, store.offset)) for store in block.stores)  # type: ignore[index]
    return SlotMoves(next(iter(conditions.values()), None), moves)


@once
def moving_code(lanes: Lanes) -> Loaded:
    """The machine code of both functions."""
    plain = lanes.plain()
    return load_module(f"slot moves {plain}", partial(_moving_module, plain))


def _moving_module(lanes: Lanes) -> str:
    return _copy(lanes) + _choose(lanes) + lanes.attributes


def _function(name: str, c: Code) -> str:
    return f"define void @{name}(ptr %ws, ptr noalias readonly %table) #0 {{\n{c.body()}\n}}\n"


def _slot(c: Code, lanes: Lanes, offset: str) -> str:
    return c.let(f"load {lanes.double}, ptr {c.let(f'getelementptr i8, ptr %ws, i64 {offset}')}, align {lanes.bytes}")


def _put(c: Code, lanes: Lanes, value: str, offset: str) -> None:
    c.do(f"store {lanes.double} {value}, ptr {c.let(f'getelementptr i8, ptr %ws, i64 {offset}')}, align {lanes.bytes}")


def _copy(lanes: Lanes) -> str:
    c = Code()
    c.label("entry")
    count = word(c, "%table", 0)
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", count, 1, "done")
    first = c.let(f"getelementptr i64, ptr %table, i64 {_COPIED}")
    moves = c.let(f"getelementptr [{2 * _AT_ONCE} x i64], ptr {first}, i64 {k}")
    for i in range(0, 2 * _AT_ONCE, 2):
        _put(c, lanes, _slot(c, lanes, word(c, moves, i)), word(c, moves, i + 1))
    c.do(close)
    c.label("done")
    c.do("ret void")
    return _function("copy", c)


def _side(c: Code, lanes: Lanes, number: int) -> str:
    """A side of the condition."""
    is_constant = c.let(f"icmp ne i64 {word(c, '%table', 1 + number)}, 0")
    content = word(c, "%table", 3 + number)
    offset = c.let(f"select i1 {is_constant}, i64 0, i64 {content}")
    slot = _slot(c, lanes, offset)
    number_ = c.let(f"bitcast i64 {content} to double")
    if lanes.scalar:
        return c.let(f"select i1 {is_constant}, double {number_}, double {slot}")
    one = c.let(f"insertelement {lanes.double} poison, double {number_}, i64 0")
    every = c.let(f"shufflevector {lanes.double} {one}, {lanes.double} poison, <{lanes.width} x i32> zeroinitializer")
    return c.let(f"select i1 {is_constant}, {lanes.double} {every}, {lanes.double} {slot}")


def _choose(lanes: Lanes) -> str:
    c = Code()
    c.label("entry")
    count = word(c, "%table", 0)
    left, right = _side(c, lanes, 0), _side(c, lanes, 1)
    first = c.let(f"fcmp olt {lanes.double} {left}, {right}")
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", count, 1, "done")
    begin = c.let(f"getelementptr i64, ptr %table, i64 {_CHOSEN}")
    moves = c.let(f"getelementptr [{3 * _AT_ONCE} x i64], ptr {begin}, i64 {k}")
    for i in range(0, 3 * _AT_ONCE, 3):
        a, b = _slot(c, lanes, word(c, moves, i)), _slot(c, lanes, word(c, moves, i + 1))
        chosen = c.let(f"select {lanes.boolean} {first}, {lanes.double} {a}, {lanes.double} {b}")
        _put(c, lanes, chosen, word(c, moves, i + 2))
    c.do(close)
    c.label("done")
    c.do("ret void")
    return _function("choose", c)
