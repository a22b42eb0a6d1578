"""A program as bytes, for a file: faster to read than text. Only the Python version that wrote them can read them."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from .program import Block, Call, Input, Output, Program, Repeat, Store
from .text import block_digest

_LENGTH = 8  # bytes that say where the slots of the outputs begin: these are written as they lie in memory
_LONG = 100_000
_KNOWN = {str, int, float}  # marshal writes similar types (NumPy's numbers) as something else


def pack(program: Program) -> bytes:
    """The bytes that `unpack` reads."""
    parts = (
        program.name,
        program.slots,
        tuple((x.name, x.shape, x.first) for x in program.inputs),
        tuple((y.name, y.shape, len(y.slots)) for y in program.outputs),
        program.preset,
        tuple(_pack_block(block) for block in program.blocks),
        tuple((call.block, call.bases, call.table) for call in program.calls),
        tuple((r.first, r.count, r.going, r.most) for r in program.repeats),
    )
    strange = _types(parts) - _KNOWN
    if strange:
        raise TypeError(
            f"a program contains numbers that are not Python's own: {', '.join(t.__name__ for t in strange)}"
        )
    head = marshal.dumps(parts)
    return b"".join((len(head).to_bytes(_LENGTH, "little"), head, *(y.slots for y in program.outputs)))


def _pack_block(block: Block) -> tuple[Any, ...]:
    stores = tuple((s.port, s.offset, s.value) for s in block.stores)
    return block.ports, block.table, block.code, stores, block_digest(block)


def _types(parts: Sequence[Any]) -> set[type]:
    """The types of all entries of nested tuples: short ones are checked together, long ones one by one."""
    types = set(map(type, parts))
    if tuple not in types:
        return types
    inner = [part for part in parts if type(part) is tuple]
    together = list(chain.from_iterable(part for part in inner if len(part) < _LONG))
    return set().union(types - {tuple}, _types(together), *(_types(part) for part in inner if len(part) >= _LONG))


def unpack(data: bytes) -> Program:
    """The program that `pack` wrote, with the digests of its blocks."""
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    name, slots, inputs, outputs, preset, blocks, calls, repeats = marshal.loads(memoryview(data)[_LENGTH:end])
    return Program(
        name,
        slots,
        tuple(Input(*x) for x in inputs),
        tuple(_outputs(outputs, memoryview(data)[end:])),
        preset,
        tuple(_unpack_block(*block) for block in blocks),
        tuple(Call(*call) for call in calls),
        tuple(Repeat(*r) for r in repeats),
    )


def _outputs(listed: Sequence[tuple[str, tuple[int, ...], int]], data: memoryview) -> Iterator[Output]:
    first = 0
    for name, shape, count in listed:
        slots = array("i")
        slots.frombytes(data[first : first + count * slots.itemsize])
        first += count * slots.itemsize
        yield Output(name, shape, slots)


def _unpack_block(ports: int, table: int, code: Any, stores: Any, digest: str) -> Block:
    return Block(ports, table, code, tuple(Store(*s) for s in stores)).with_digest(digest)
