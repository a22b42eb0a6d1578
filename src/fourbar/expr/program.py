"""`Program`: what is computed, as data. Its NumPy meaning in `interpret.py` is the definition against which every
backend is tested.

A program owns a row of numbered slots. Inputs lie in the first ones; a *block* is a straight line of operations that
loads from slots and stores to slots; a *call* runs a block with its ports pointing at given slots. A block may be
called many times with other ports and another table of constants, so the code need not grow with the robot.

Calls run one after the other. A *repeat* runs some of them again and again while a slot is positive in some sample.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

# An instruction is (op, operands...): an int is the number of an earlier instruction, a float is a constant, bytes are
# a table of doubles: ("lookup", table, index).
# Three operations read memory: ("load", port, offset), ("table", index) and, in kernels only, ("far", slot, offset):
# entry `offset` of the vectors that lie where the bits of a slot say (`compile/in_place_input.py`).
Instruction = tuple[Any, ...]
MEMORY = ("load", "table", "far")


@dataclass(frozen=True)
class Store:
    """Write `value` (an instruction's number, or a constant) to slot base[port] + offset."""

    port: int
    offset: int
    value: int | float


@dataclass(frozen=True)
class Block:
    """A straight line of operations over the slots its ports point at."""

    ports: int
    table: int
    code: tuple[Instruction, ...]
    stores: tuple[Store, ...]
    digest: str = field(default="", init=False, repr=False, compare=False)  # of its text, once computed

    @property
    def lookups(self) -> tuple[bytes, ...]:
        """The tables that it looks numbers up in, in the order of their first use."""
        return tuple(dict.fromkeys(table for op, *operands in self.code if op == "lookup" for table in operands[:1]))

    def with_digest(self, digest: str) -> Block:
        """The same block with a known digest."""
        object.__setattr__(self, "digest", digest)
        return self


@dataclass(frozen=True, slots=True)
class Call:
    """Run a block: one base slot per port, and the constants of its table."""

    block: int
    bases: tuple[int, ...]
    table: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run calls[first : first + count] while slot `going` is above zero in some sample, at most `most` times.

    The slot is looked at before every pass, so that there may be none. All samples of a batch that are computed
    together pass as often as the one that needs most: what a pass does to a sample whose own slot is not above zero
    must leave that sample as it is (`select`), so that its result is the same in any company. `recorder.repeat` writes
    such passes. Repeats may stand within others; those that begin at the same call are listed from the outside inwards.
    """

    first: int
    count: int
    going: int
    most: int

    @property
    def end(self) -> int:
        """The number of the call that follows."""
        return self.first + self.count


@dataclass(frozen=True)
class Input:
    """An argument: its entries lie, row-major, in the slots from `first` on."""

    name: str
    shape: tuple[int, ...]
    first: int

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, init=False)
class Output:
    """A result: entry k, row-major, is found in slot slots[k]. There may be millions: they are machine integers."""

    name: str
    shape: tuple[int, ...]
    slots: array[int] = field(hash=False)

    def __init__(self, name: str, shape: tuple[int, ...], slots: Iterable[int]) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "slots", slots if isinstance(slots, array) else array("i", slots))


@dataclass(frozen=True)
class Program:
    """Inputs, blocks, the calls that run them, outputs; `preset` slots hold constants from the start."""

    name: str
    slots: int
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    preset: tuple[tuple[int, float], ...]
    blocks: tuple[Block, ...]
    calls: tuple[Call, ...]
    repeats: tuple[Repeat, ...] = ()

    def passes(self) -> list[int]:
        """The largest number of times that each call may run."""
        often = [1] * len(self.calls)
        for repeat in self.repeats:
            for number in range(repeat.first, repeat.end):
                often[number] *= repeat.most
        return often

    @property
    def lookups(self) -> tuple[bytes, ...]:
        """The tables that it looks numbers up in."""
        return tuple(dict.fromkeys(table for block in self.blocks for table in block.lookups))

    @property
    def operations(self) -> int:
        """Arithmetic operations of one sample."""
        counted = [sum(op not in MEMORY for op, *_ in b.code) for b in self.blocks]
        return sum(counted[call.block] * often for call, often in zip(self.calls, self.passes(), strict=True))

    def at(self, values: Mapping[str, Sequence[float]]) -> Program:
        """The program with the named arguments set to values: they are no longer arguments."""
        known = [(x, values[x.name]) for x in self.inputs if x.name in values]
        preset = tuple((x.first + k, value) for x, own in known for k, value in enumerate(own))
        inputs = tuple(x for x in self.inputs if x.name not in values)
        return replace(self, inputs=inputs, preset=self.preset + preset)
