"""A choice of the options of a method, as something that can be looked up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set
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


class Choices:
    """What was made for a choice of options, found again by the options as they were given.

    `make` takes options by place and by name. Names and points are looked up; other options it gets every time.
    """

    def __init__(self, names: Iterable[str], make: Callable[..., Any]) -> None:
        self._names = frozenset(names)
        self._make = make
        self._placed: dict[Any, Any] = {}
        self._named: dict[Any, Any] = {}

    def placed(self, given: tuple[Any, ...]) -> Any:
        """What belongs to options by place."""
        try:
            found = self._placed.get(given)
        except TypeError:  # a list, an array
            return self._make(*given)
        if found is None:
            found = self._make(*given)
            if all(map(_is_plain, given)):
                self._placed[given] = found
        return found

    def named(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What belongs to options by place and by name; these are taken out of `named`, where other things may be."""
        try:
            found = self._named[given, *named.items()]
        except (KeyError, TypeError):  # there are others too, or a list
            return self._separated(given, named)
        named.clear()
        return found

    def _separated(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What belongs to options among other things."""
        options = {name: named.pop(name) for name in [*named] if name in self._names}
        key = (given, *[(name, tuple(x) if type(x) is list else x) for name, x in options.items()])
        try:
            found = self._named.get(key)
        except TypeError:
            return self._make(*given, **options)
        if found is None:
            found = self._make(*given, **options)
            if all(map(_is_plain, given)) and all(_is_plain(x) for _, x in key[1:]):
                self._named[key] = found
        return found


def _is_plain(option: Any) -> bool:
    """Whether what equals this option means the same: not so for 1, which equals True."""
    return type(option) is str or (type(option) is tuple and all(type(x) in (str, float, int) for x in option))
