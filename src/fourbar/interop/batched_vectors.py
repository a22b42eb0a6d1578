"""Batches of small vectors: arrays (..., n) to the scalars that formulas take, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..spatial.linear import Mat, Vec


def read(what: str, x: Any, *core: int) -> np.ndarray:
    """A float array (..., *core); errors give the expected shape."""
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"{what} must be an array (..., {', '.join(map(str, core))}) of numbers, got {x!r}"
        ) from None
    if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
        listed = ", ".join(map(str, core))
        raise ArgumentError(f"{what} must have shape (..., {listed}), got {array.shape}")
    return array


def common_batch(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common leading axes of arguments, by name."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(f"the leading (batch) axes do not broadcast together: {listed}") from None


def entries(x: np.ndarray) -> Vec:
    """The entries along the last axis, each an array of the batch."""
    return Vec(np.moveaxis(x, -1, 0))


def rows(x: np.ndarray) -> Mat:
    """Matrices (..., m, n) as one matrix of arrays."""
    return Mat(entries(row) for row in np.moveaxis(x, -2, 0))


def stack(parts: Sequence[Any], batch: tuple[int, ...] = ()) -> np.ndarray:
    """Entries (arrays of the batch, or constants) as one array (..., n)."""
    shape = np.broadcast_shapes(batch, *(np.shape(x) for x in parts))
    array = np.empty((*shape, len(parts)))
    for i, x in enumerate(parts):
        array[..., i] = x
    return array


def stack_rows(m: Sequence[Sequence[Any]], batch: tuple[int, ...] = ()) -> np.ndarray:
    """A matrix of entries as one array (..., m, n)."""
    flat = stack([x for row in m for x in row], batch)
    return flat.reshape(*flat.shape[:-1], len(m), -1 if len(m) else 0)
