"""From a program to a kernel: machine code plus the tables it runs on."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..expr import Block, Program
from ..expr.text import block_text
from . import driver as words
from .cache import cached_object
from .driver import driver
from .emit import emit_block, module
from .ir import Lanes
from .machine import Loaded

_MODULE_SIZE = 4000  # instructions an LLVM module may have before another one is started


def block_is_fixed(program: Program, number: int) -> bool:
    """Whether a block runs once, on absolute slots."""
    block = program.blocks[number]
    return block.ports == 1 and block.table == 0 and all(c.bases == (0,) for c in program.calls if c.block == number)


def _block_name(block: Block, fixed: bool) -> str:
    """Blocks are named by what they do, so that equal ones can be shared between robots."""
    import hashlib

    return ("f" if fixed else "s") + hashlib.sha256(block_text(block).encode()).hexdigest()[:24]


def assemblies(program: Program, lanes: Lanes) -> tuple[list[str], list[str]]:
    """LLVM modules of a program, and the function name of each of its blocks.

    Blocks on absolute slots belong to this program alone and are compiled together; a block with ports may serve other
    robots too, so each is a module, and thereby a cache entry, of its own.
    """
    names: list[str] = []
    modules: list[str] = []
    together: list[str] = []
    size = 0
    for number, block in enumerate(program.blocks):
        fixed = block_is_fixed(program, number)
        name = f"b{number}" if fixed else _block_name(block, fixed)
        names.append(name)
        text = emit_block(name, block, lanes, fixed)
        if not fixed:
            modules.append(module([text], lanes))
            continue
        together.append(text)
        size += len(block.code)
        if size > _MODULE_SIZE:
            modules.append(module(together, lanes))
            together, size = [], 0
    if together:
        modules.append(module(together, lanes))
    return modules, names


class Kernel:
    """A compiled program. `address` is the inner loop of a generalised ufunc, `share` its variant for several threads."""

    def __init__(self, program: Program, lanes: Lanes) -> None:
        self.program = program
        self.lanes = lanes
        modules, names = assemblies(program, self.lanes)
        objects = [cached_object(text) for text in dict.fromkeys(modules)]
        self._code = Loaded([cached_object(driver(self.lanes)), *objects])
        self._tables = Tables(program, self.lanes, [self._code.address(n) for n in names])
        self.address = self._code.address("kernel")
        self.share = self._code.address("share")

    @property
    def data(self) -> int:
        """Address of the data table."""
        return self._tables.data.ctypes.data


class Tables:
    """The tables that the driver reads, for one program."""

    def __init__(self, program: Program, lanes: Lanes, blocks: list[int]) -> None:
        self._keep: list[Any] = []
        data = np.zeros(words.DATA_WORDS, np.int64)
        data[words.BYTES] = (program.slots + lanes.width) * lanes.bytes
        data[words.ARGUMENTS] = len(program.inputs) + len(program.outputs)
        data[words.INPUTS] = len(program.inputs)
        data[words.ARGUMENT_TABLE] = self._arguments(program, lanes)
        data[words.CALL_TABLE] = self._calls(program, lanes, blocks)
        data[words.CALLS] = len(program.calls)
        data[words.PRESET_TABLE] = self._presets(program, lanes)
        data[words.PRESETS] = len(program.preset)
        libc = ctypes.CDLL(None)
        data[words.MALLOC] = ctypes.cast(libc.malloc, ctypes.c_void_p).value or 0
        data[words.FREE] = ctypes.cast(libc.free, ctypes.c_void_p).value or 0
        self.data = data

    def _held(self, array: np.ndarray) -> int:
        self._keep.append(array)
        return array.ctypes.data

    def _arguments(self, program: Program, lanes: Lanes) -> int:
        arguments = [*program.inputs, *program.outputs]
        table = np.zeros((len(arguments), words.ARGUMENT_WORDS), np.int64)
        step = len(arguments)
        for row, argument in zip(table, arguments, strict=True):
            missing = 3 - len(argument.shape)
            if missing < 0:
                raise ValueError(f"{argument.name!r} has shape {argument.shape}; at most three core dimensions are known")
            row[:3] = (1,) * missing + argument.shape
            row[3:6] = [-1] * missing + list(range(step, step + len(argument.shape)))
            step += len(argument.shape)
        for row, x in zip(table, program.inputs, strict=False):
            row[7] = x.first * lanes.bytes
        for row, y in zip(table[len(program.inputs) :], program.outputs, strict=True):
            row[6] = self._held(np.array(y.slots, np.int32))
        return self._held(table)

    def _calls(self, program: Program, lanes: Lanes, blocks: list[int]) -> int:
        table = np.zeros((len(program.calls), 2), np.int64)
        for row, call in zip(table, program.calls, strict=True):
            entries = np.empty(len(call.bases) + len(call.table))
            entries[: len(call.bases)].view(np.int64)[:] = [base * lanes.bytes for base in call.bases]
            entries[len(call.bases) :] = call.table
            row[:] = blocks[call.block], self._held(entries)
        return self._held(table)

    def _presets(self, program: Program, lanes: Lanes) -> int:
        table = np.zeros((len(program.preset), 2), np.int64)
        for row, (slot, value) in zip(table, program.preset, strict=True):
            row[0] = slot * lanes.bytes
            row[1:].view(np.float64)[:] = value
        return self._held(table)
