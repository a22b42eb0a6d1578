"""Run a traced expression again on other scalars: numbers, arrays, or the symbols of another trace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import functions
from .autodiff import reachable
from .node import Expr

MEANING: dict[str, Callable[..., Any]] = {
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
    "floor": functions.floor,
    "lookup": functions.lookup,
}


def evaluate(roots: Sequence[Any], values: Mapping[Expr, Any]) -> list[Any]:
    """The roots with every input replaced by its value."""
    known: dict[int, Any] = {}
    for node in reachable(roots):
        if node in values:  # many may be given of which few are asked for
            known[node.id] = values[node]
        else:
            if node.op not in MEANING:
                raise KeyError(f"no value was given for {node!r}")
            known[node.id] = MEANING[node.op](*[known[a.id] if a.__class__ is Expr else a for a in node.args])
    return [known[r.id] if r.__class__ is Expr else r for r in roots]


def prepare(roots: Sequence[Any], inputs: Sequence[Expr]) -> Callable[[Iterable[Any]], list[Any]]:
    """`evaluate` for many runs: a function of the values of the inputs."""
    given = {x.id for x in inputs}
    nodes = [node for node in reachable(roots) if node.id not in given]
    operands = [a for node in nodes for a in node.args] + list(roots)
    constants = list(dict.fromkeys(a for a in operands if a.__class__ is not Expr))
    place = {x.id: i for i, x in enumerate([*inputs, *nodes])}
    place.update({node.id: place[node.id] + len(constants) for node in nodes})
    slot_of = {c: len(inputs) + i for i, c in enumerate(constants)}

    def slots(operands: Sequence[Any]) -> list[int]:
        return [place[a.id] if a.__class__ is Expr else slot_of[a] for a in operands]

    steps = [(MEANING[node.op], *_two(slots(node.args))) for node in nodes]
    ends = slots(roots)

    def run(values: Iterable[Any]) -> list[Any]:
        known = [*values, *constants]
        append = known.append
        for meaning, first, second, others in steps:
            if others is None:
                append(meaning(known[first], known[second]))
            else:
                append(meaning(*[known[i] for i in others]))
        return [known[i] for i in ends]

    return run


def _two(slots: list[int]) -> tuple[int, int, list[int] | None]:
    """The slots of two operands, as most operations have; or those of any other number of them."""
    return (slots[0], slots[1], None) if len(slots) == 2 else (-1, -1, slots)
