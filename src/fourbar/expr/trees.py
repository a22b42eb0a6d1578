"""Nested tuples of scalars, and how to take them apart.

Every value that a step function takes or returns is a tuple (or a subclass: NamedTuple, Vec, ...) of tuples of scalars.
A leaf is a number or a symbol; ints, strings, None and other objects are structure, not data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .node import Expr, Value

LEAF_TYPES = frozenset({float, Expr, Value})


class _Slot:
    """Marks the place of a leaf inside a structure."""

    def __repr__(self) -> str:
        return "*"


SLOT = _Slot()


def rebuild(cls: type, children: list[Any]) -> Any:
    """A tuple of class `cls` from its items."""
    if cls is tuple:
        return tuple(children)
    make = getattr(cls, "_make", None)
    return make(children) if make is not None else tuple.__new__(cls, children)


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same nested tuples with f applied to every leaf."""
    cls = tree.__class__
    if cls in LEAF_TYPES:
        return f(tree)
    if isinstance(tree, tuple):
        return rebuild(cls, [tree_map(f, x) for x in tree])
    return tree


def leaves(tree: Any) -> list[Any]:
    """All leaves, left to right."""
    found: list[Any] = []
    tree_map(found.append, tree)
    return found


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, and a hashable structure that `unflatten` turns back into the tree."""
    found: list[Any] = []
    return found, _structure(tree, found)


def _structure(tree: Any, found: list[Any]) -> Any:
    cls = tree.__class__
    if cls in LEAF_TYPES:
        found.append(tree)
        return SLOT
    if isinstance(tree, tuple):
        return (cls, *(_structure(x, found) for x in tree))
    return tree


def unflatten(structure: Any, items: Iterator[Any]) -> Any:
    """Put leaves back into a structure made by `flatten`."""
    if structure is SLOT:
        return next(items)
    if structure.__class__ is tuple:
        return rebuild(structure[0], [unflatten(s, items) for s in structure[1:]])
    return structure
