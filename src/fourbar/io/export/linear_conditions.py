"""Loops that are linear conditions between joint coordinates."""

from __future__ import annotations

from ...constraints import Coupling, Differential, Gear, Loop, Polynomial
from .written_numbers import Unsaid

Condition = tuple[list[tuple[str, float]], float]  # Σ factor · q = offset, the driven joint last


def conditions(loop: Loop) -> list[Condition] | None:
    """The linear conditions that a loop consists of; None if it is not linear."""
    if isinstance(loop, Gear):
        return [([(loop.driver, -loop.ratio), (loop.driven, 1.0)], loop.offset)]
    if isinstance(loop, Polynomial) and not any(loop.coefficients[2:]):
        offset, ratio = (*loop.coefficients, 0.0, 0.0)[:2]
        return [([(loop.driver, -ratio), (loop.driven, 1.0)], offset)]
    if isinstance(loop, Coupling):
        used = [(joint, x) for joint, x in loop.factors if x]
        return [(used, loop.offset)] if len(used) > 1 else None
    if isinstance(loop, Differential):
        rows = zip(loop.outputs, loop.matrix, strict=True)
        return [
            ([*((j, -x) for j, x in zip(loop.inputs, row, strict=True) if x), (out, 1.0)], 0.0) for out, row in rows
        ]
    return None


def leave_name(unsaid: Unsaid, loop: str, driven: str) -> None:
    """Report that a loop is written as a mimic of its driven joint, after which it is called when it is read."""
    if loop != f"{driven}_mimic":
        unsaid.leave(f"loop {loop!r} is written as a mimic, which has no name: it is read as {f'{driven}_mimic'!r}")
