"""Steps that are made in parts, where loops are so near to a singular position that a whole step moves too far.

Controls are held for all parts, and what is reported is that of the whole step: the gaps at its start, the largest
residuals, mean forces, and the state at its end. A traced control that is asked for in every step is asked for in
every part.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

State = dict[str, np.ndarray]
_COUNTS = ("count",)  # of the steps since the start
_PHASES = ("since",)  # of the steps since controls were asked for
_FIRST, _LARGEST, _MEAN = ("gap",), ("residual", "residuals"), ("force", "kept")


def begin(state: Mapping[str, np.ndarray], count: int) -> State:
    """The state (n, ...) by name at the start of the parts of a step."""
    found = dict(state)
    for name in _COUNTS:
        if name in found:
            found[name] = found[name] * count
    if "impulse" in found:
        found["impulse"] = found["impulse"] / count
    return found


def asks_in_periods(state: Mapping[str, np.ndarray]) -> bool:
    """Whether traced controls are asked for every so many steps."""
    return any(name in state for name in _PHASES)


def hold(state: Mapping[str, np.ndarray]) -> State:
    """The state before a later part, in which traced controls are held."""
    return {name: np.ones_like(x) if name in _PHASES else x for name, x in state.items()}


def end(before: Mapping[str, np.ndarray], first: Mapping[str, np.ndarray], last: State, count: int) -> State:
    """The state after a step, of those `before` it, after the `first` of its parts and after the `last`."""
    found = dict(last)
    for name in _COUNTS:
        if name in found:
            found[name] = before[name] + 1.0
    for name in _PHASES:
        if name in found:
            found[name] = first[name]
    if "late" in found:
        is_new = (before["late"] < 0.0) & (found["late"] >= 0.0)
        found["late"] = np.where(is_new, before["count"], found["late"])
    if "impulse" in found:
        found["impulse"] = found["impulse"] * count
    return found


def report(name: str, parts: np.ndarray) -> np.ndarray:
    """The record (n, ...) of a step, from those of its parts (n, count, ...)."""
    if name in _FIRST:
        return parts[:, 0]
    if name in _LARGEST:
        return parts.max(axis=1)
    return parts.mean(axis=1) if name in _MEAN else parts[:, -1]
