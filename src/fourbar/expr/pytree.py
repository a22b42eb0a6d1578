"""Nested tuples of scalars, and how to flatten them.

Every value that a step function takes or returns is a tuple (or a subclass: NamedTuple, Vec, ...) of tuples of scalars.
A leaf is a number or a symbol; ints, strings, None and other objects are structure, not data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from .node import Expr, Value

LEAF_TYPES = frozenset({float, Expr, Value})


class _Slot:
    """Marks the place of a leaf inside a structure."""

    def __repr__(self) -> str:
        return "*"


SLOT = _Slot()


class _Row:
    """Marks the place of a long tuple of leaves inside a structure. There is one of a kind: compared by identity."""

    __slots__ = ("cls", "size")

    def __init__(self, cls: type, size: int) -> None:
        self.cls = cls
        self.size = size

    def __repr__(self) -> str:
        return f"{self.cls.__name__} of {self.size}"


_LONG = 12  # leaves from which on a tuple is looked at as a whole, which takes a tenth of the time
_rows: dict[tuple[type, int], _Row] = {}


def _row(cls: type, size: int) -> _Row:
    found = _rows.get((cls, size))
    return _rows.setdefault((cls, size), _Row(cls, size)) if found is None else found


def rebuild(cls: type, children: list[Any]) -> Any:
    """A tuple of class `cls` from its items."""
    if cls is tuple:
        return tuple(children)
    make = getattr(cls, "_make", None)
    return make(children) if make is not None else tuple.__new__(cls, children)


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same nested tuples with f applied to every leaf."""
    if tree.__class__ in LEAF_TYPES:
        return f(tree)
    return _map_tree(f, tree) if isinstance(tree, tuple) else tree


# Leaves are handled by the tuple that holds them: a call for each takes twice the time, and a trace has 100 000s.


def _map_tree(f: Callable[[Any], Any], tree: tuple[Any, ...]) -> Any:
    parts = []
    for part in tree:
        if part.__class__ in LEAF_TYPES:
            parts.append(f(part))
        else:
            parts.append(_map_tree(f, part) if isinstance(part, tuple) else part)
    return rebuild(tree.__class__, parts)


def leaves(tree: Any) -> list[Any]:
    """All leaves, left to right."""
    return flatten(tree)[0]


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, and a hashable structure that `unflatten` turns back into the tree."""
    if tree.__class__ in LEAF_TYPES:
        return [tree], SLOT
    found: list[Any] = []
    return found, _structure(tree, found) if isinstance(tree, tuple) else tree


def _structure(tree: tuple[Any, ...], leaves_out: list[Any]) -> Any:
    if len(tree) > _LONG and LEAF_TYPES.issuperset(map(type, tree)):
        leaves_out += tree
        return _row(tree.__class__, len(tree))
    parts: list[Any] = [tree.__class__]
    for part in tree:
        if part.__class__ in LEAF_TYPES:
            leaves_out.append(part)
            parts.append(SLOT)
        else:
            parts.append(_structure(part, leaves_out) if isinstance(part, tuple) else part)
    return tuple(parts)


def unflatten(structure: Any, items: Iterator[Any]) -> Any:
    """Put leaves back into a structure made by `flatten`."""
    if structure is SLOT:
        return next(items)
    kind = structure.__class__
    return _fill(structure, items) if kind is tuple or kind is _Row else structure


def _fill(structure: Any, items: Iterator[Any]) -> Any:
    if structure.__class__ is _Row:
        return rebuild(structure.cls, list(islice(items, structure.size)))
    parts = []
    for s in structure[1:]:
        if s is SLOT:
            parts.append(next(items))
        else:
            parts.append(_fill(s, items) if s.__class__ is tuple or s.__class__ is _Row else s)
    return rebuild(structure[0], parts)
