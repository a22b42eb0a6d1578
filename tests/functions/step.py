"""Exact derivatives by another route: programs run on complex numbers, x + i h ẋ, whose imaginary part is h ḟ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fourbar import System
from fourbar.expr import Program
from fourbar.expr.interpret import MEANING
from fourbar.tree.clusters import split

STEP = 1e-30


def _atan2(y: Any, x: Any) -> Any:
    """Which NumPy has for real numbers only."""
    slope = (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / (np.real(x) ** 2 + np.real(y) ** 2)
    return np.arctan2(np.real(y), np.real(x)) + 1j * slope


_COMPLEX = {**MEANING, "atan2": _atan2}


def _run_block(program: Program, call: Any, slots: list[Any]) -> None:
    block, results = program.blocks[call.block], []
    for op, *operands in block.code:
        if op == "load":
            results.append(slots[call.bases[operands[0]] + operands[1]])
        elif op == "table":
            results.append(call.table[operands[0]])
        else:
            results.append(_COMPLEX[op](*(results[x] if x.__class__ is int else x for x in operands)))
    for store in block.stores:
        value = results[store.value] if isinstance(store.value, int) else store.value
        slots[call.bases[store.port] + store.offset] = value


def run(program: Program, arguments: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """A program on complex numbers; arguments are (*batch, *input shape)."""
    slots: list[Any] = [np.nan] * program.slots
    batch: tuple[int, ...] = ()
    for x in program.inputs:
        given = np.asarray(arguments[x.name], complex)
        batch = given.shape[: given.ndim - len(x.shape)]
        for k in range(x.size):
            slots[x.first + k] = given.reshape(*batch, x.size)[..., k]
    for slot, value in program.preset:
        slots[slot] = value
    with np.errstate(all="ignore"):
        for call in program.calls:
            _run_block(program, call, slots)
    found = []
    for y in program.outputs:
        entries = [np.broadcast_to(slots[s], batch) for s in y.slots]
        found.append(np.stack(entries, axis=-1) if entries else np.zeros((*batch, 0), complex))
    return [entries.reshape((*batch, *y.shape)) for entries, y in zip(found, program.outputs, strict=True)]


def rate(robot: System, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """q̇ (batch, nq) when the robot moves with velocity dq."""
    groups = robot.model.cluster_tree.clusters
    found = []
    for one_q, one_v in zip(q.tolist(), dq.tolist(), strict=True):
        parts = zip(groups, split(groups, one_q, "nq"), split(groups, one_v, "nv"), strict=True)
        found.append([x for group, own_q, own_v in parts for x in group.embedding.rate(own_q, own_v)])
    return np.array(found, float)


def directional(
    robot: System, function: Any, args: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The rates of the results of a function along tangents, by a complex step; everything has one batch axis."""
    program = function.state[0].program(tuple(args))
    moved, configurations = {}, {a.name for a in function.state[0].arguments if a.is_configuration}
    for name, x in args.items():
        dx = tangents.get(name)
        if dx is not None and name in configurations:
            dx = rate(robot, x, dx)
        moved[name] = x if dx is None else x + 1j * STEP * np.asarray(dx)
    return [y.imag / STEP for y in run(program, moved)]
