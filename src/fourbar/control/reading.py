"""Arguments of problems: numbers, references and batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown

Shape = tuple[int, ...]


def read_numbers(known: Mapping[str, np.ndarray], given: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """Numbers by name, those of the problem where none are given."""
    return _read("number", known, given)


def read_references(
    known: Mapping[str, np.ndarray], given: Mapping[str, Any] | None, steps: int
) -> dict[str, np.ndarray]:
    """References by name, likewise: a row for each knot."""
    return _read("reference", known, given)


def _read(kind: str, known: Mapping[str, np.ndarray], given: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    for name in given or {}:
        if name not in known:
            raise unknown(f"{kind} of the problem", name, known)
    values = {**known, **(given or {})}
    arrays = {}
    for name, array in values.items():
        try:
            arrays[name] = np.asarray(array, float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{kind} {name!r}: expected numbers, got {array!r}") from None
    return arrays


def read_batch(
    caller: str, shapes: Mapping[str, Shape], given: Mapping[str, Any]
) -> tuple[Shape, dict[str, np.ndarray]]:
    """The leading axes of arrays (..., *shape) together, and the arrays as (n, *shape), to be written into."""
    arrays, leading = {}, []
    for name, shape in shapes.items():
        array = np.asarray(given[name], float)
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            expected = ", ".join(["...", *map(str, shape)])
            raise ArgumentError(f"{caller}: {name} must have shape ({expected}), got {array.shape}")
        arrays[name] = array
        leading.append(array.shape[: array.ndim - len(shape)])
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError:
        pairs = ", ".join(f"{name} {axes}" for name, axes in zip(shapes, leading, strict=True) if axes)
        raise ArgumentError(f"{caller}: leading axes do not fit together: {pairs}") from None
    n = math.prod(batch)
    return batch, {
        name: np.broadcast_to(x, (*batch, *shapes[name])).reshape(n, *shapes[name]).copy() for name, x in arrays.items()
    }
