"""An input that stays where it is: a kernel reads it in place, instead of bringing it into the workspace.

What is known of parameters that are given once (`functions/varying.py`) is the same in every call. Brought into the
workspace each time, some hundred numbers per sample cost as much as a third of the arithmetic, and take the room of
other slots in the first cache. Here they are laid out once as the workspace is, for W samples side by side; what a
kernel takes is one number per sample, whose bits are the address of the vectors of its W samples. Samples W k to
W k + W - 1 of a batch then have to be computed together, as they are in batches with one leading axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..expr.program import Block, Call, Input, Instruction, Output, Program, Store

_LINE = 64  # bytes: vectors are aligned to lines of the cache


def with_far_input(program: Program, name: str) -> Program:
    """A program that takes addresses, one number per sample, instead of an input of one axis that has the last slots.

    Only calls on absolute slots may read the input, none may write its slots.
    """
    far_input = next(x for x in program.inputs if x.name == name)
    blocks, calls = [_reading(block, far_input) for block in program.blocks], [*program.calls]
    result_slots = {slot for y in program.outputs for slot in y.slots if _holds(far_input, slot)}
    copied = {
        slot: far_input.first + 1 + i for i, slot in enumerate(sorted(result_slots))
    }  # results are taken from the workspace
    if copied:
        blocks.append(_copying(far_input, copied))
        calls.append(Call(len(blocks) - 1, (0,)))
    return replace(
        program,
        slots=far_input.first + 1 + len(copied),
        inputs=tuple(replace(x, shape=()) if x is far_input else x for x in program.inputs),
        outputs=tuple(Output(y.name, y.shape, [copied.get(k, k) for k in y.slots]) for y in program.outputs),
        blocks=tuple(blocks),
        calls=tuple(calls),
    )


def _holds(given: Input, slot: int) -> bool:
    return given.first <= slot < given.first + given.size


def _far(given: Input, slot: int) -> Instruction:
    """The entry of the input that would be in a slot; the address is in the first of its slots."""
    return "far", given.first, slot - given.first


def _reading(block: Block, given: Input) -> Block:
    code = tuple(_far(given, x[2]) if x[0] == "load" and _holds(given, x[2]) else x for x in block.code)
    return block if code == block.code else Block(block.ports, block.table, code, block.stores)


def _copying(given: Input, copied: Mapping[int, int]) -> Block:
    """A block that puts the entries that would be in some slots into others."""
    code = tuple(_far(given, slot) for slot in copied)
    return Block(1, 0, code, tuple(Store(0, slot, i) for i, slot in enumerate(copied.values())))


def interleave(values: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, k) as vectors of `width` samples, and the addresses (n) that a kernel takes instead of them.

    The addresses hold as long as the vectors (groups, k, width) live. The last sample fills up the last group.
    """
    n, k = values.shape
    groups = -(-n // width)
    room = np.empty(groups * k * width + _LINE // 8)
    skipped = -room.ctypes.data % _LINE // 8
    vectors = room[skipped : skipped + groups * k * width].reshape(groups, k, width)
    whole = n // width
    vectors[:whole] = values[: whole * width].reshape(whole, width, k).swapaxes(1, 2)
    if whole < groups:
        left = np.minimum(np.arange(whole * width, groups * width), n - 1)
        vectors[whole] = values[left].T
    places = vectors.ctypes.data + np.arange(n) // width * vectors.strides[0]
    return vectors, places.astype(np.int64).view(float)
