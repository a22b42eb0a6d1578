"""From a program to a kernel: machine code plus the tables it runs on.

A block of a program is an LLVM function void @name(ptr workspace, ptr table). The workspace holds one vector of W
doubles a slot. A block with one port whose base is slot 0 addresses it directly; a block that is called with other
bases finds them in the table, as byte offsets, followed by its constants.
"""

from __future__ import annotations

import ctypes
import hashlib
import marshal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..expr import Block, Program
from ..expr.program import MEMORY, Repeat
from ..expr.text import block_digest
from ..once import once
from . import batch_loop as words
from . import lookups, signals
from .batch_loop import driver
from .cache import load_module
from .compilation_progress import report_progress
from .elementary import DECLARATIONS, Elementary
from .ir import Code, Lanes
from .llvm import Loaded
from .slot_moves import find_moves, moving_code

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole"}
_INTRINSIC = {"sqrt": "sqrt", "min": "minimum", "max": "maximum", "floor": "floor"}


def _fusable(block: Block) -> dict[int, int]:
    """For each sum the product that is fused into it: one that nothing else uses, the later one if there are two."""
    uses = Counter(x for op, *operands in block.code if op not in MEMORY for x in operands if x.__class__ is int)
    uses.update(s.value for s in block.stores if isinstance(s.value, int))
    fused: dict[int, int] = {}
    for number, (op, *operands) in enumerate(block.code):
        if op in ("add", "sub"):
            for x in sorted((x for x in operands if x.__class__ is int), reverse=True):
                if block.code[x][0] == "mul" and uses[x] == 1:
                    fused[number] = x  # type: ignore[assignment]
                    break
    return fused


class _Body:
    def __init__(self, block: Block, lanes: Lanes, fixed: bool) -> None:
        self.block = block
        self.lanes = lanes
        self.code = Code()
        self.elementary = Elementary(self.code, lanes)
        self.fused = _fusable(block) if lanes.fma else {}
        self.absorbed = set(self.fused.values())
        self.values: list[str] = []
        self.conditions: dict[int, str] = {}  # comparisons: vectors of bits, turned into numbers where they are used so
        self.angles: dict[str, tuple[str, str]] = {}
        self.ports = {0: "%workspace"} if fixed else {}
        self.far: dict[int, str] = {}  # where slots point at
        self.lookups = {table: k for k, table in enumerate(block.lookups)}

    def _port(self, port: int) -> str:
        """Where a port points at, read just before it is first used."""
        if port not in self.ports:
            self.ports[port] = self._pointer(port)
        return self.ports[port]

    def _pointer(self, port: int) -> str:
        where = self.code.let(f"getelementptr inbounds i8, ptr %table, i64 {8 * port}")
        offset = self.code.let(f"load i64, ptr {where}, align 8, !invariant.load !0")
        return self.code.let(f"getelementptr inbounds i8, ptr %workspace, i64 {offset}")

    def _address(self, port: int, offset: int) -> str:
        return self.code.let(f"getelementptr inbounds i8, ptr {self._port(port)}, i64 {offset * self.lanes.bytes}")

    def _operand(self, x: Any) -> str:
        """A number; a comparison that is used as one is 1 or 0."""
        if x.__class__ is not int:
            return self.lanes.constant(x)
        if x in self.conditions:
            return self.elementary.choose(self.conditions[x], self.lanes.constant(1.0), self.lanes.constant(0.0))
        return self.values[x]

    def _condition(self, x: int | float) -> str:
        """A comparison; a number that is used as one holds unless it is zero."""
        if x.__class__ is int and x in self.conditions:
            return self.conditions[x]  # type: ignore[index]
        return self.elementary.compare("une", self._operand(x), self.lanes.constant(0.0))

    def _load(self, port: int, offset: int) -> str:
        address = self._address(port, offset)
        return self.code.let(f"load {self.lanes.double}, ptr {address}, align {self.lanes.bytes}")

    def _far(self, slot: int, offset: int) -> str:
        """An entry of the vectors that a slot points at."""
        if slot not in self.far:
            self.far[slot] = self.code.let(f"load ptr, ptr {self._address(0, slot)}, align 8")
        where = self.code.let(f"getelementptr inbounds i8, ptr {self.far[slot]}, i64 {offset * self.lanes.bytes}")
        return self.code.let(f"load {self.lanes.double}, ptr {where}, align {self.lanes.bytes}, !invariant.load !0")

    def _word(self, index: int, kind: str) -> str:
        """A word of the table of a call, behind the offsets of its ports."""
        where = self.code.let(f"getelementptr inbounds i8, ptr %table, i64 {8 * (self.block.ports + index)}")
        return self.code.let(f"load {kind}, ptr {where}, align 8, !invariant.load !0")

    def _constant(self, index: int) -> str:
        v, w = self.lanes.double, self.lanes.width
        scalar = self._word(index, "double")
        if self.lanes.scalar:
            return scalar
        first = self.code.let(f"insertelement {v} poison, double {scalar}, i64 0")
        return self.code.let(f"shufflevector {v} {first}, {v} poison, <{w} x i32> zeroinitializer")

    def _lookup(self, table: bytes, index: str) -> str:
        """Each lane's own entry of a table."""
        first = self.block.table + lookups.WORDS * self.lookups[table]
        entries, last = self._word(first, "ptr"), self._constant(first + 1)
        return lookups.own_entries(self.elementary, entries, last, index)

    def _angle(self, op: str, x: str) -> str:
        if x not in self.angles:
            self.angles[x] = self.elementary.sincos(x)
        return self.angles[x][op == "cos"]

    def _multiply_add(self, op: str, operands: list[int | float], product: int) -> str:
        """A sum with a product fused into it: ab + c, ab - c or c - ab."""
        a, b = (self._operand(x) for x in self.block.code[product][1:])  # type: ignore[arg-type]
        first = operands[0].__class__ is int and operands[0] == product  # a constant may equal its number
        c = self._operand(operands[1] if first else operands[0])
        if op == "sub" and first:
            c = self.elementary.negative(c)
        elif op == "sub":
            a = self.elementary.negative(a)
        return self.elementary.multiply_add(a, b, c)

    def instruction(self, number: int, op: str, operands: list[int | float]) -> str:
        if number in self.absorbed:
            return "absorbed"
        if number in self.fused:
            return self._multiply_add(op, operands, self.fused[number])
        if op == "load":
            return self._load(*operands)  # type: ignore[arg-type]
        if op == "far":
            return self._far(*operands)  # type: ignore[arg-type]
        if op == "table":
            return self._constant(*operands)  # type: ignore[arg-type]
        if op == "select":
            return self.elementary.choose(self._condition(operands[0]), *map(self._operand, operands[1:]))
        if op == "lookup":
            return self._lookup(operands[0], self._operand(operands[1]))  # type: ignore[arg-type]
        args = [self._operand(x) for x in operands]
        if op in _ARITHMETIC:
            return self.elementary.arithmetic(_ARITHMETIC[op], *args)
        if op == "neg":
            return self.elementary.negative(args[0])
        if op in ("sin", "cos"):
            return self._angle(op, args[0])
        if op in _COMPARE:
            self.conditions[number] = self.elementary.compare(_COMPARE[op], *args)
            return "condition"
        if op in _INTRINSIC:
            return self.elementary.intrinsic(_INTRINSIC[op], *args)
        if op == "atan2":
            return self.elementary.atan2(*args)
        raise ValueError(f"the LLVM backend has no code for operation {op!r}; add it to {__name__}")

    def store(self, port: int, offset: int, value: int | float) -> None:
        address = self._address(port, offset)
        self.code.do(f"store {self.lanes.double} {self._operand(value)}, ptr {address}, align {self.lanes.bytes}")


def emit_block(name: str, block: Block, lanes: Lanes, fixed: bool) -> str:
    """The function of one block. `fixed`: its only port always points at slot 0."""
    body = _Body(block, lanes, fixed)
    pending: dict[int, list[tuple[int, int]]] = {}
    for s in block.stores:
        if isinstance(s.value, int):
            pending.setdefault(s.value, []).append((s.port, s.offset))
    for number, (op, *operands) in enumerate(block.code):
        body.values.append(body.instruction(number, op, operands))  # type: ignore[arg-type]
        for port, offset in pending.get(number, ()):
            body.store(port, offset, number)
    for s in block.stores:
        if not isinstance(s.value, int):
            body.store(s.port, s.offset, s.value)
    head = f"define void @{name}(ptr noalias %workspace, ptr noalias readonly %table) #0 {{"
    return f"{head}\n{body.code.body()}\n  ret void\n}}\n"


def module(functions: list[str], lanes: Lanes) -> str:
    """A complete LLVM module from function texts."""
    declared = DECLARATIONS.format(v=lanes.double, suffix=lanes.suffix)
    return declared + "\n".join(functions) + lanes.attributes + "!0 = !{}\n"


_MODULE_SIZE = 4000  # instructions an LLVM module may have before another one is started
_NEVER = 1 << 62  # samples: more than there are
_MANY_BLOCKS = 64  # shared blocks beyond which several are compiled together: each module takes milliseconds


def _relocated_blocks(program: Program) -> set[int]:
    """The blocks that do not run on absolute slots: they are called with other bases, or with constants."""
    moved = {call.block for call in program.calls if call.bases != (0,)}
    return moved | {number for number, block in enumerate(program.blocks) if block.table or block.ports != 1}


@dataclass(frozen=True)
class Unit:
    """Blocks that are compiled together: (function name, block) each. `key` names what they compute."""

    blocks: tuple[tuple[str, Block], ...]
    fixed: bool
    key: str

    def assembly(self, lanes: Lanes) -> str:
        """The LLVM module."""
        plain = lanes.plain()
        return module([emit_block(name, block, plain, self.fixed) for name, block in self.blocks], plain)


def units(program: Program) -> tuple[list[Unit], list[str]]:
    """The units to compile for a program, and the function name of each of its blocks. Those that only move numbers
    (`slot_moves`) are in none of the units.

    Blocks on absolute slots belong to this program alone and are compiled together; a block with ports may serve other
    robots too, so it is named by what it does and is a unit, and thereby a cache entry, of its own, unless there are
    very many of them.
    """
    moved = _relocated_blocks(program)
    names = ["s" + block_digest(b)[:24] if i in moved else f"b{i}" for i, b in enumerate(program.blocks)]
    listed = [(i, name, block) for i, (name, block) in enumerate(zip(names, program.blocks, strict=True))]
    listed = [x for x in listed if find_moves(x[2]) is None]
    shared = list({name: (name, block) for i, name, block in listed if i in moved}.values())
    size = _MODULE_SIZE // 2 if len(shared) > _MANY_BLOCKS else 0
    own = [(name, block) for i, name, block in listed if i not in moved]
    return _lots(shared, size, False) + _lots(own, _MODULE_SIZE, True), names


def _lots(blocks: list[tuple[str, Block]], size: int, fixed: bool) -> list[Unit]:
    """Units of a little more than `size` instructions each."""
    units: list[Unit] = []
    together: list[tuple[str, Block]] = []
    for name, block in blocks:
        together.append((name, block))
        if sum(len(b.code) for _, b in together) > size or not size:
            units.append(_together(together, fixed))
            together = []
    return units + ([_together(together, fixed)] if together else [])


def _together(blocks: list[tuple[str, Block]], fixed: bool) -> Unit:
    return Unit(tuple(blocks), fixed, "\n".join(f"{name} {block_digest(block)}" for name, block in blocks))


@once
def _driver(lanes: Lanes) -> Loaded:
    """The driver, which all kernels share."""
    return load_module(f"driver {lanes}", partial(driver, lanes))


class WatchedEntries(NamedTuple):
    """The entries of an argument that are angles, and those at which quaternions begin: both are watched."""

    angles: tuple[int, ...] = ()
    quaternions: tuple[int, ...] = ()


Watch = Mapping[str, WatchedEntries]  # by argument


def digest(program: Program, lanes: Lanes, watch: Watch) -> bytes:
    """A digest that two programs share if, and only if, they share a kernel."""
    parts = (
        program.name,
        program.slots,
        tuple((x.name, x.shape, x.first) for x in program.inputs),
        tuple((y.name, y.shape, len(y.slots)) for y in program.outputs),
        program.preset,
        tuple((block.ports, block.table, block_digest(block)) for block in program.blocks),
        tuple((call.block, call.bases, call.table) for call in program.calls),
        tuple((r.first, r.count, r.going, r.most) for r in program.repeats),
        (lanes.width, lanes.fma),
        tuple((name, tuple(own.angles), tuple(own.quaternions)) for name, own in watch.items()),
        tuple(hashlib.sha256(table).digest() for block in program.blocks for table in block.lookups),
    )
    found = hashlib.sha256(marshal.dumps(parts, 2))  # later versions of the format distinguish shared objects
    for y in program.outputs:
        found.update(y.slots)
    return found.digest()


def loaded_blocks(program: Program, lanes: Lanes) -> tuple[list[Loaded], list[int]]:
    """The machine code of a program's blocks, and the address of each block's function in it."""
    found, names = units(program)
    code: dict[str, Loaded] = {}  # by the name of the function
    distinct = {unit.key: unit for unit in found}
    for unit in report_progress(program.name, distinct.values(), len(distinct)):
        made = load_module(f"{lanes} {unit.fixed}\n{unit.key}", partial(unit.assembly, lanes))
        code.update((name, made) for name, _ in unit.blocks)
    addresses = []
    for name, block in zip(names, program.blocks, strict=True):
        moves = None if name in code else find_moves(block)
        if moves is not None:
            code["slot moves"] = moving_code(lanes)
            addresses.append(code["slot moves"].address(moves.function))
        else:
            addresses.append(code[name].address(name))
    return list(code.values()), addresses


class Kernel:
    """A compiled program. `address` is the inner loop of a generalised ufunc, `share` that for several threads, `data`
    the table that both read, `cores` how many core dimensions each argument has.

    Where it `pauses`, it lets Python's signal handlers run amid long batches.
    """

    def __init__(self, program: Program, lanes: Lanes, watch: Watch | None = None, pauses: bool = True) -> None:
        self.program = program
        self.lanes = lanes
        self._driver = _driver(lanes)
        self._code, blocks = loaded_blocks(program, lanes)
        self._tables = Tables(program, lanes, blocks, watch or {})
        if not pauses:
            self._tables.data[words.PIECE] = _NEVER
        self.address = self._driver.address("kernel")
        self.share = self._driver.address("share")
        self.data = self._tables.data.ctypes.data
        self.piece = int(self._tables.data[words.PIECE])
        self.cores = [len(x.shape) for x in (*program.inputs, *program.outputs)]

    @property
    def failures(self) -> int:
        """The number of times that there was no memory for a workspace."""
        return int(self._tables.data[words.FAILURES])

    def check_memory(self, failures: int) -> None:
        """After a run, given the number of failures before it: an error if there are more, for want of results."""
        if self.failures != failures:
            size = self._tables.data[words.BYTES]
            raise MemoryError(f"{self.program.name}: no memory for a workspace of {size} bytes")


def piece(program: Program, lanes: Lanes) -> int:
    """The number of samples between looks for signals, a multiple of the width."""
    instructions = [len(block.code) for block in program.blocks]
    cost = sum(instructions[call.block] * often for call, often in zip(program.calls, program.passes(), strict=True))
    return max(1, signals.BETWEEN // (max(1, cost) * lanes.width)) * lanes.width


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs: (first, how many)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs


def is_conditional(repeat: Repeat) -> bool:
    """Whether it makes one call or none."""
    return repeat.most == 1 and repeat.count == 1


def workspace_slots(program: Program) -> int:
    """The slots of a program, and behind them one for each repeat, which counts its passes."""
    return program.slots + len(program.repeats)


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of each range, one after the other."""
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - before, sizes)


class Tables:
    """The tables that the driver reads, for one program."""

    def __init__(self, program: Program, lanes: Lanes, blocks: list[int], watch: Watch) -> None:
        self._keep: list[Any] = []
        data = np.zeros(words.DATA_WORDS, np.int64)
        data[words.BYTES] = (workspace_slots(program) + lanes.width) * lanes.bytes
        data[words.ARGUMENTS] = len(program.inputs) + len(program.outputs)
        data[words.INPUTS] = len(program.inputs)
        data[words.ARGUMENT_TABLE] = self._arguments(program, lanes)
        calls = self._calls(program, lanes, blocks)
        data[words.CALL_TABLE], data[words.CALLS] = self.keep_alive(calls), len(calls)
        data[words.PRESET_TABLE] = self._presets(program, lanes)
        data[words.PRESETS] = len(program.preset) + len(program.repeats)
        # CPython's raw allocator: portable, and it may be called without the interpreter lock.
        data[words.MALLOC] = ctypes.cast(ctypes.pythonapi.PyMem_RawMalloc, ctypes.c_void_p).value or 0
        data[words.FREE] = ctypes.cast(ctypes.pythonapi.PyMem_RawFree, ctypes.c_void_p).value or 0
        data[words.PIECE] = piece(program, lanes)
        data[words.SIGNALS] = self.keep_alive(signals.table)
        first = {x.name: x.first for x in program.inputs if x.name in watch}
        angles = [(first[name] + k) for name in first for k in watch[name].angles]
        rows = np.array(_runs(angles), np.int64).reshape(-1, 2) * (lanes.bytes, 1)
        quaternions = np.array([first[name] + k for name in first for k in watch[name].quaternions], np.int64)
        data[words.ANGLE_TABLE], data[words.ANGLES] = self.keep_alive(rows), len(rows)
        data[words.QUATERNION_TABLE] = self.keep_alive(quaternions * lanes.bytes)
        data[words.QUATERNIONS] = len(quaternions)
        self.data = data

    def keep_alive(self, array: np.ndarray) -> int:
        """Where an array lies, which is kept from now on."""
        self._keep.append(array)
        return array.ctypes.data

    def _arguments(self, program: Program, lanes: Lanes) -> int:
        arguments = [*program.inputs, *program.outputs]
        table = np.zeros((len(arguments), words.ARGUMENT_WORDS), np.int64)
        step = len(arguments)
        for row, argument in zip(table, arguments, strict=True):
            missing = 3 - len(argument.shape)
            if missing < 0:
                raise ValueError(
                    f"{argument.name!r} has shape {argument.shape}; at most three core dimensions are supported"
                )
            row[:3] = (1,) * missing + argument.shape
            row[3:6] = [-1] * missing + list(range(step, step + len(argument.shape)))
            step += len(argument.shape)
        for row, x in zip(table, program.inputs, strict=False):
            row[7] = x.first * lanes.bytes
        for row, y in zip(table[len(program.inputs) :], program.outputs, strict=True):
            row[6] = self.keep_alive(np.frombuffer(y.slots, np.intc))
        return self.keep_alive(table)

    def _calls(self, program: Program, lanes: Lanes, blocks: list[int]) -> np.ndarray:
        rows: list[tuple[int, int, int]] = []
        places = self._entries(program, lanes)
        moves = [find_moves(block) for block in program.blocks]
        for number, call in enumerate(program.calls):
            if (own := moves[call.block]) is not None:
                places[number] = self.keep_alive(own.table(call.bases, lanes.bytes))
        skipped = {r.first: r.going for r in program.repeats if is_conditional(r)}
        begin: dict[int, list[Repeat]] = {}
        end: dict[int, list[Repeat]] = {}
        for r in program.repeats:
            if not is_conditional(r):
                begin.setdefault(r.first, []).append(r)
                end.setdefault(r.end, []).insert(0, r)
        heads: dict[Repeat, int] = {}
        jumps: dict[Repeat, np.ndarray] = {}
        counters = {r: program.slots + k for k, r in enumerate(program.repeats)}
        for number, call in enumerate(program.calls):
            for r in begin.get(number, ()):
                heads[r] = len(rows)
                jumps[r] = np.array([r.going * lanes.bytes, counters[r] * lanes.bytes, r.most, 0], np.int64)
                rows.append((0, self.keep_alive(jumps[r]), -1))
            going = skipped[number] * lanes.bytes if number in skipped else -1
            rows.append((blocks[call.block], places[number], going))
            for r in end.get(number + 1, ()):
                rows.append((0, self.keep_alive(np.array([-1, 0, 0, heads[r]], np.int64)), -1))
                jumps[r][words.TARGET] = len(rows)
        return np.array(rows, np.int64).reshape(-1, words.CALL_WORDS)

    def _entries(self, program: Program, lanes: Lanes) -> list[int]:
        """Where the bases of each call, followed by its constants and the tables that it looks up, lie."""
        calls, tables = program.calls, lookups.lookup_words(program, self.keep_alive)
        bases = np.array([len(call.bases) for call in calls], np.int64)
        constants = np.array([len(call.table) for call in calls], np.int64)
        words_of_lookups = np.array([len(tables[call.block]) for call in calls], np.int64)
        ends = np.cumsum(bases + constants + words_of_lookups)
        starts = ends - bases - constants - words_of_lookups
        entries = np.empty(ends[-1] if len(calls) else 0, np.int64)
        listed = chain.from_iterable(call.bases for call in calls)
        entries[_ranges(starts, bases)] = np.fromiter(listed, np.int64, bases.sum()) * lanes.bytes
        listed = chain.from_iterable(call.table for call in calls)
        entries.view(float)[_ranges(starts + bases, constants)] = np.fromiter(listed, float, constants.sum())
        for call, start, end in zip(calls, ends - words_of_lookups, ends, strict=True):
            if start < end:
                entries[start:end] = tables[call.block]
        return (self.keep_alive(entries) + 8 * starts).tolist()

    def _presets(self, program: Program, lanes: Lanes) -> int:
        counters = [
            (program.slots + k, 0.0) for k in range(len(program.repeats))
        ]  # whose bits are those of the number 0
        table = np.zeros((len(program.preset) + len(counters), 2), np.int64)
        for row, (slot, value) in zip(table, [*program.preset, *counters], strict=True):
            row[0] = slot * lanes.bytes
            row[1:].view(np.float64)[:] = value
        return self.keep_alive(table)
