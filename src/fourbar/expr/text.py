"""The textual form of a program: readable, it round-trips, and its hash is the key of the cache.

A program as bytes is faster to read than text; only the Python version that wrote them can read them.
"""

from __future__ import annotations

import hashlib
import marshal
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .program import MEMORY, Block, Call, Input, Instruction, Output, Program, Repeat, Store


def _operand(x: object) -> str:
    if x.__class__ is bytes:
        return f"#{x.hex()}"  # type: ignore[attr-defined]
    return f"%{x}" if x.__class__ is int else repr(x)


def _instruction(number: int, instruction: Instruction) -> str:
    op, *operands = instruction
    shown = map(str, operands) if op in MEMORY else map(_operand, operands)
    return f"  %{number} = {op} {' '.join(shown)}"


def block_text(block: Block) -> str:
    """One block, without its number."""
    lines = [_instruction(i, instruction) for i, instruction in enumerate(block.code)]
    lines += [f"  store {s.port} {s.offset} {_operand(s.value)}" for s in block.stores]
    return "\n".join(lines)


def block_digest(block: Block) -> str:
    """A hash of all that the code of a block is, which identifies that. It is stored with it, for large ones take long.

    Of the tables that it looks up only which is which: blocks that do the same with others share their code.
    """
    if not block.digest:
        numbers = {table: f"#{k}" for k, table in enumerate(block.lookups)}
        code = block.code
        if numbers:
            code = tuple(tuple(numbers[x] if x.__class__ is bytes else x for x in instruction) for instruction in code)
        parts = (block.ports, block.table, code, [(s.port, s.offset, s.value) for s in block.stores])
        block.with_digest(hashlib.sha256(marshal.dumps(parts, 2)).hexdigest())  # 2: as in `kernel.digest`
    return block.digest


def _ranges(slots: Iterable[int]) -> str:
    """Slots as runs: 3:6 stands for 3 4 5."""
    runs: list[list[int]] = []
    for s in slots:
        if runs and runs[-1][1] == s:
            runs[-1][1] = s + 1
        else:
            runs.append([s, s + 1])
    return " ".join(f"{a}:{b}" for a, b in runs)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def to_text(program: Program) -> str:
    """The program as text."""
    lines = [f"program {program.name} slots {program.slots}"]
    lines += [f"input {x.name} {_shape(x.shape)} at {x.first}" for x in program.inputs]
    lines += [f"output {y.name} {_shape(y.shape)} at {_ranges(y.slots)}" for y in program.outputs]
    lines += [f"preset {slot} {value!r}" for slot, value in program.preset]
    for i, block in enumerate(program.blocks):
        lines += [f"block {i} ports {block.ports} table {block.table}", block_text(block)]
    for call in program.calls:
        lines.append(" ".join(["call", str(call.block), *map(str, call.bases), *map(repr, call.table)]))
    lines += [f"repeat {r.first}:{r.end} while {r.going} most {r.most}" for r in program.repeats]
    return "\n".join(lines) + "\n"


def _parse_shape(text: str) -> tuple[int, ...]:
    return () if text == "scalar" else tuple(map(int, text.split("x")))


def _parse_operand(text: str) -> Any:
    if text.startswith("#"):
        return bytes.fromhex(text[1:])
    return int(text[1:]) if text.startswith("%") else float(text)


def _parse_block(head: list[str], body: list[list[str]]) -> Block:
    code: list[Instruction] = []
    stores: list[Store] = []
    for words in body:
        if words[0] == "store":
            stores.append(Store(int(words[1]), int(words[2]), _parse_operand(words[3])))
        else:
            read = int if words[2] in MEMORY else _parse_operand
            code.append((words[2], *map(read, words[3:])))
    return Block(int(head[3]), int(head[5]), tuple(code), tuple(stores))


def from_text(text: str) -> Program:
    """The program that `to_text` wrote."""
    written = [line for line in text.splitlines() if line.strip()]
    lines = [line.split() for line in written]
    indented = [line.startswith(" ") for line in written]
    inputs: list[Input] = []
    outputs: list[Output] = []
    preset: list[tuple[int, float]] = []
    blocks: list[Block] = []
    calls: list[Call] = []
    repeats: list[Repeat] = []
    for i, words in enumerate(lines):
        if indented[i]:
            continue
        if words[0] == "input":
            inputs.append(Input(words[1], _parse_shape(words[2]), int(words[4])))
        elif words[0] == "output":
            runs = [tuple(map(int, run.split(":"))) for run in words[4:]]
            slots = (s for a, b in runs for s in range(a, b))
            outputs.append(Output(words[1], _parse_shape(words[2]), slots))
        elif words[0] == "preset":
            preset.append((int(words[1]), float(words[2])))
        elif words[0] == "block":
            end = next((j for j in range(i + 1, len(lines)) if not indented[j]), len(lines))
            blocks.append(_parse_block(words, lines[i + 1 : end]))
        elif words[0] == "call":
            ports = blocks[int(words[1])].ports
            bases, table = words[2 : 2 + ports], words[2 + ports :]
            calls.append(Call(int(words[1]), tuple(map(int, bases)), tuple(map(float, table))))
        elif words[0] == "repeat":
            first, end = map(int, words[1].split(":"))
            repeats.append(Repeat(first, end - first, int(words[3]), int(words[5])))
    arguments, code = (tuple(inputs), tuple(outputs), tuple(preset)), (tuple(blocks), tuple(calls), tuple(repeats))
    return Program(lines[0][1], int(lines[0][3]), *arguments, *code)


_LENGTH = 8  # bytes that say where the slots of the outputs begin: these are written as they lie in memory
_LONG = 100_000
_KNOWN = {str, int, float, bytes}  # marshal writes similar types (NumPy's numbers) as something else


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
