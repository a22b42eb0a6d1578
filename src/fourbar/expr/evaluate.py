"""Run a traced expression again on other scalars: numbers, arrays, or the symbols of another trace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import functions
from .derive import reachable
from .node import Expr

_MEANING: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "lt": operator.lt,
    "le": operator.le,
    "sin": functions.sin,
    "cos": functions.cos,
    "sqrt": functions.sqrt,
    "atan2": functions.atan2,
    "min": functions.minimum,
    "max": functions.maximum,
    "select": functions.select,
}


def evaluate(roots: Sequence[Any], values: Mapping[Expr, Any]) -> list[Any]:
    """The roots with every input replaced by its value."""
    known: dict[int, Any] = {x.id: value for x, value in values.items()}
    for node in reachable(roots):
        if node.id not in known:
            if node.op not in _MEANING:
                raise KeyError(f"no value was given for {node!r}")
            known[node.id] = _MEANING[node.op](*(known[a.id] if a.__class__ is Expr else a for a in node.args))
    return [known[r.id] if r.__class__ is Expr else r for r in roots]
