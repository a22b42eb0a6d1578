"""Batches of small vectors: arrays (..., n) to the scalars that formulas take, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..spatial.linear import Mat, Vec


def read(what: str, x: Any, *core: int) -> np.ndarray:
    """A float array (..., *core), or an error that says what was expected."""
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


def entries(x: np.ndarray) -> Vec:
    """The entries along the last axis, each an array of the batch."""
    return Vec(np.moveaxis(x, -1, 0))


def rows(x: np.ndarray) -> Mat:
    """Matrices (..., m, n) as one matrix of arrays."""
    return Mat(entries(row) for row in np.moveaxis(x, -2, 0))


def stacked(parts: Sequence[Any], batch: tuple[int, ...] = ()) -> np.ndarray:
    """Entries (arrays of the batch, or constants) as one array (..., n)."""
    shape = np.broadcast_shapes(batch, *(np.shape(x) for x in parts))
    found = np.empty((*shape, len(parts)))
    for i, x in enumerate(parts):
        found[..., i] = x
    return found


def stacked_rows(m: Sequence[Sequence[Any]], batch: tuple[int, ...] = ()) -> np.ndarray:
    """A matrix of entries as one array (..., m, n)."""
    flat = stacked([x for row in m for x in row], batch)
    return flat.reshape(*flat.shape[:-1], len(m), -1 if len(m) else 0)
