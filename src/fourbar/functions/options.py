"""Options of methods: a choice of them as something that can be looked up, and frames by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown
from ..tree.cluster_tree import ClusterTree, Location
from .registry import Option


def read_frame(cluster_tree: ClusterTree, name: Any) -> Location:
    """A frame or body by name."""
    found = cluster_tree.frames.get(name) or cluster_tree.bodies.get(name) if isinstance(name, str) else None
    if found is None:
        raise unknown("frame or body", name, [*cluster_tree.frames, *cluster_tree.bodies])
    return found


def read_choice(method: str, options: Sequence[Option], given: Mapping[str, Any]) -> dict[str, Hashable]:
    """Options by name, in order, so that equal choices are equal: what lists others is a tuple."""
    keep = {x.name: x.keep for x in options}
    chosen = {name: _freeze(keep[name](option)) for name, option in sorted(given.items())}
    for name, option in chosen.items():
        if isinstance(option, Set | Mapping) or not _has_hash(option):
            raise ArgumentError(f"{method}: {name}={option!r}: expected a name, a number or a list of them")
    return chosen


def _freeze(option: Any) -> Any:
    if isinstance(option, np.ndarray):
        return _freeze(option.tolist())
    listed = isinstance(option, Iterable) and not isinstance(option, str | Set | Mapping)
    return tuple(map(_freeze, option)) if listed else option


def _has_hash(option: Any) -> bool:
    try:
        hash(option)
    except TypeError:
        return False
    return True


class Choices:
    """Functions made for choices of options, found again by the options as they were given.

    `make` takes options by place and by name. Names and points are looked up; other options it gets every time.
    """

    def __init__(self, names: Iterable[str], make: Callable[..., Any]) -> None:
        self._names = frozenset(names)
        self._make = make
        self._placed: dict[Any, Any] = {}
        self._named: dict[Any, Any] = {}

    def by_position(self, given: tuple[Any, ...]) -> Any:
        """The function for options by place."""
        try:
            function = self._placed.get(given)
        except TypeError:  # a list, an array
            return self._make(*given)
        if function is None:
            function = self._make(*given)
            if all(map(_is_plain, given)):
                self._placed[given] = function
        return function

    def by_name(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The function for options by place and by name; these are taken out of `named`, where other things may be."""
        try:
            function = self._named[given, *named.items()]
        except (KeyError, TypeError):  # there are others too, or a list
            return self._extract_options(given, named)
        named.clear()
        return function

    def _extract_options(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The function for options that stand among other things."""
        options = {name: named.pop(name) for name in [*named] if name in self._names}
        key = (given, *[(name, tuple(x) if type(x) is list else x) for name, x in options.items()])
        try:
            function = self._named.get(key)
        except TypeError:
            return self._make(*given, **options)
        if function is None:
            function = self._make(*given, **options)
            if all(map(_is_plain, given)) and all(_is_plain(x) for _, x in key[1:]):
                self._named[key] = function
        return function


def _is_plain(option: Any) -> bool:
    """Whether all values equal to this option mean the same; not so for 1, which equals True."""
    return type(option) is str or (type(option) is tuple and all(type(x) in (str, float, int) for x in option))
