"""Exact derivatives by another route: programs run on complex numbers, x + i h ẋ, whose imaginary part is h ḟ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fourbar import System
from fourbar.expr import Program
from fourbar.expr.interpret import _run_block
from fourbar.model.groups import split

STEP = 1e-30


def run(program: Program, arguments: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A program on complex numbers: the arguments are (*input shape)."""
    slots: list[Any] = [np.nan] * program.slots
    for x in program.inputs:
        for k, entry in enumerate(np.asarray(arguments[x.name], complex).ravel()):
            slots[x.first + k] = entry
    slots = [s if isinstance(s, complex | np.complexfloating) else s for s in slots]
    for slot, value in program.preset:
        slots[slot] = value
    with np.errstate(all="ignore"):
        for call in program.calls:
            _run_block(program.blocks[call.block], call, slots)
    return {y.name: np.array([slots[s] for s in y.slots], complex).reshape(y.shape) for y in program.outputs}


def rate(robot: System, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """q̇ when the robot moves with velocity dq."""
    groups = robot.model.lowered.groups
    parts = zip(groups, split(groups, q.tolist(), "nq"), split(groups, dq.tolist(), "nv"), strict=True)
    return np.array([x for group, own_q, own_v in parts for x in group.embedding.rate(own_q, own_v)], float)


def directional(
    robot: System, function: Any, args: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The rates of the results of a function along tangents, by a complex step."""
    program = function.state[0].program(tuple(args))
    moved = {}
    for name, x in args.items():
        dx = tangents.get(name)
        if dx is not None and name in ("q", "q0", "q1"):
            dx = rate(robot, x, dx)
        moved[name] = x if dx is None else x + 1j * STEP * np.asarray(dx)
    return [y.imag / STEP for y in run(program, moved).values()]
