"""Many geometries of one structure as one whose numbers are arrays, so that all of them are computed together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..expr.pytree import rebuild


def structure(x: Any) -> Hashable:
    """What things must have in common to be stacked: all but numbers."""
    if is_dataclass(x):
        return (type(x), *(structure(getattr(x, part.name)) for part in fields(x)))
    if isinstance(x, tuple):
        return (type(x), *map(structure, x))
    return "number" if isinstance(x, float | np.floating) else x


def stack(items: Sequence[Any]) -> Any:
    """Things of one structure as one, with an array (n) for each of their numbers."""
    x = items[0]
    if is_dataclass(x):
        return type(x)(*(stack([getattr(y, part.name) for y in items]) for part in fields(x)))  # type: ignore[operator]
    if isinstance(x, tuple):
        return rebuild(x.__class__, [stack(parts) for parts in zip(*items, strict=True)])
    return np.array(items) if isinstance(x, float | np.floating) else x
