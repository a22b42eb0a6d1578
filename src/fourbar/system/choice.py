"""A choice of the options of a method, as something that can be looked up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from ..errors import ArgumentError


def read_choice(method: str, options: Mapping[str, Any]) -> dict[str, Hashable]:
    """Options by name, in order, so that equal choices are equal: what lists others is a tuple."""
    chosen = {name: _frozen(option) for name, option in sorted(options.items())}
    for name, option in chosen.items():
        if isinstance(option, Set | Mapping) or not _has_hash(option):
            raise ArgumentError(f"{method}: {name}={option!r}: expected a name, a number or a list of them")
    return chosen


def _frozen(option: Any) -> Any:
    if isinstance(option, np.ndarray):
        return _frozen(option.tolist())
    listed = isinstance(option, Iterable) and not isinstance(option, str | Set | Mapping)
    return tuple(map(_frozen, option)) if listed else option


def _has_hash(option: Any) -> bool:
    try:
        hash(option)
    except TypeError:
        return False
    return True
