"""The meaning of a program, in NumPy: the definition against which every backend is tested."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .functions import floor, lookup

if TYPE_CHECKING:
    from .program import Block, Call, Program, Repeat

MEANING: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": np.divide,
    "neg": operator.neg,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "atan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
    "lt": operator.lt,
    "le": operator.le,
    "select": np.where,
    "floor": floor,
    "lookup": lookup,
}


def _run_block(block: Block, call: Call, slots: list[Any]) -> None:
    results: list[Any] = []
    for op, *operands in block.code:
        if op == "load":
            port, offset = operands
            results.append(slots[call.bases[port] + offset])
        elif op == "table":
            results.append(call.table[operands[0]])
        else:
            results.append(MEANING[op](*[results[x] if x.__class__ is int else x for x in operands]))
    for store in block.stores:
        value = results[store.value] if isinstance(store.value, int) else store.value
        slots[call.bases[store.port] + store.offset] = value


def _run_calls(program: Program, first: int, end: int, repeats: list[Repeat], slots: list[Any]) -> None:
    """Run calls[first:end], where `repeats` are those among them, from the outside inwards."""
    at = first
    while at < end:
        outer = next((r for r in repeats if r.first == at), None)
        if outer is None:
            call = program.calls[at]
            _run_block(program.blocks[call.block], call, slots)
            at += 1
            continue
        inner = [r for r in repeats if r is not outer and outer.first <= r.first and r.end <= outer.end]
        passes = 0
        while passes < outer.most and np.any(slots[outer.going] > 0.0):
            _run_calls(program, outer.first, outer.end, inner, slots)
            passes += 1
        at = outer.end
        repeats = [r for r in repeats if r.first >= at]


def interpret(program: Program, arguments: Mapping[str, Any], dtype: Any = float) -> dict[str, np.ndarray]:
    """Run a program on arrays of shape (..., *input shape), in numbers of a type; leading axes broadcast."""
    arrays = {x.name: np.asarray(arguments[x.name], dtype) for x in program.inputs}
    batch = np.broadcast_shapes(*(arrays[x.name].shape[: arrays[x.name].ndim - len(x.shape)] for x in program.inputs))
    slots: list[Any] = [np.nan] * program.slots
    for argument in program.inputs:
        array = arrays[argument.name]
        flat = array.reshape(*array.shape[: array.ndim - len(argument.shape)], argument.size)
        for k in range(argument.size):
            slots[argument.first + k] = flat[..., k][()]
    for slot, value in program.preset:
        slots[slot] = value
    with np.errstate(all="ignore"):
        _run_calls(program, 0, len(program.calls), list(program.repeats), slots)
    results = {}
    for y in program.outputs:
        entries = np.empty((*batch, len(y.slots)), dtype)
        for k, slot in enumerate(y.slots):
            entries[..., k] = slots[slot]
        results[y.name] = entries.reshape((*batch, *y.shape))
    return results
