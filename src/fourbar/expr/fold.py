"""Algebraic folding as a table: (operation, kind of a, kind of b) -> what to return instead of a new node.

A rule is a function (a, b) -> scalar. `None` in the table means: make the node. The rules drop 0*x, x*1, x+0, fold
constants, and move negations outwards until they become a subtraction, where they cost nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from .node import CONSTANT, DIFFERENCE, MINUS_ONE, NEGATED, ONE, PLAIN, ZERO, Expr

Rule = Callable[[Any, Any], Any]
CONSTANTS = (ZERO, ONE, MINUS_ONE, CONSTANT)
SYMBOLS = (NEGATED, DIFFERENCE, PLAIN)
ANY = CONSTANTS + SYMBOLS
_KINDS = len(ANY)


def kind(x: Any) -> int:
    """The column of the folding table an operand belongs to."""
    if x.__class__ is Expr:
        return x.kind
    if x == 0.0:
        return ZERO
    if x == 1.0:
        return ONE
    if x == -1.0:
        return MINUS_ONE
    return CONSTANT


def scalar(x: Any) -> Any:
    """x as an operand: Expr or float. -0.0 becomes 0.0: the graph, which shares equal constants, drops its sign. NaN is
    one object, since it is equal to nothing else.
    """
    if x.__class__ is Expr:
        return x
    x = float(x) + 0.0
    return x if x == x else math.nan


def _table(rows: Iterable[tuple[Iterable[int], Iterable[int], Rule]]) -> list[Rule | None]:
    """Expand rows (kinds of a, kinds of b, rule) into a flat table; the first row that matches wins."""
    table: list[Rule | None] = [None] * (_KINDS * _KINDS)
    for kinds_a, kinds_b, rule in rows:
        for a in kinds_a:
            for b in kinds_b:
                if table[a * _KINDS + b] is None:
                    table[a * _KINDS + b] = rule
    return table


def _first(a: Any, b: Any) -> Any:
    return a


def _second(a: Any, b: Any) -> Any:
    return b


def _zero(a: Any, b: Any) -> Any:
    return 0.0


def _inner(x: Expr) -> Any:
    """x for -x."""
    return x.args[0]


def _divide_by_constant(a: Any, b: float) -> Any:
    if b == 0.0:
        raise ZeroDivisionError(f"division of a traced expression by the constant zero: ({a!r}) / 0")
    return mul(a, 1.0 / b)


def _scale(a: Any, c: float) -> Any:
    """a * c with the sign of c outside, so that x*c and x*(-c) share their product."""
    return neg(_order_operands("mul", a, -c)) if c < 0.0 else _order_operands("mul", a, c)


FOLD: dict[str, list[Rule | None]] = {
    "add": _table(
        [
            (CONSTANTS, CONSTANTS, operator.add),
            ([ZERO], ANY, _second),
            (ANY, [ZERO], _first),
            (ANY, [NEGATED], lambda a, b: sub(a, _inner(b))),
            ([NEGATED], ANY, lambda a, b: sub(b, _inner(a))),
        ]
    ),
    "sub": _table(
        [
            (CONSTANTS, CONSTANTS, operator.sub),
            (ANY, [ZERO], _first),
            ([ZERO], ANY, lambda a, b: neg(b)),
            (ANY, CONSTANTS, lambda a, b: add(a, -b)),
            (ANY, [NEGATED], lambda a, b: add(a, _inner(b))),
            ([NEGATED], ANY, lambda a, b: neg(add(_inner(a), b))),
        ]
    ),
    "mul": _table(
        [
            (CONSTANTS, CONSTANTS, operator.mul),
            ([ZERO], ANY, _zero),
            (ANY, [ZERO], _zero),
            ([ONE], ANY, _second),
            (ANY, [ONE], _first),
            ([MINUS_ONE], ANY, lambda a, b: neg(b)),
            (ANY, [MINUS_ONE], lambda a, b: neg(a)),
            ([NEGATED], [NEGATED], lambda a, b: mul(_inner(a), _inner(b))),
            ([NEGATED], ANY, lambda a, b: neg(mul(_inner(a), b))),
            (ANY, [NEGATED], lambda a, b: neg(mul(a, _inner(b)))),
            (ANY, [CONSTANT], _scale),
            ([CONSTANT], ANY, lambda a, b: _scale(b, a)),
        ]
    ),
    "div": _table(
        [
            (ANY, CONSTANTS, _divide_by_constant),
            ([ZERO], ANY, _zero),
            ([NEGATED], [NEGATED], lambda a, b: div(_inner(a), _inner(b))),
            ([NEGATED], ANY, lambda a, b: neg(div(_inner(a), b))),
            (ANY, [NEGATED], lambda a, b: neg(div(a, _inner(b)))),
        ]
    ),
    "atan2": _table([(CONSTANTS, CONSTANTS, math.atan2)]),
    "min": _table([(CONSTANTS, CONSTANTS, min)]),
    "max": _table([(CONSTANTS, CONSTANTS, max)]),
    "lt": _table([(CONSTANTS, CONSTANTS, operator.lt)]),
    "le": _table([(CONSTANTS, CONSTANTS, operator.le)]),
}

FOLD_UNARY: dict[str, dict[int, Callable[[Expr], Any]]] = {
    "neg": {NEGATED: _inner, DIFFERENCE: lambda a: sub(a.args[1], a.args[0])},
    "sin": {NEGATED: lambda a: neg(unary("sin", _inner(a)))},
    "cos": {NEGATED: lambda a: unary("cos", _inner(a))},
    "sqrt": {},
    "floor": {},
}

# What f(a, a) is, where it is not a new node.
FOLD_SAME: dict[str, Callable[[Any], Any]] = {
    "sub": lambda a: 0.0,
    "div": lambda a: 1.0,
    "min": lambda a: a,
    "max": lambda a: a,
    "lt": lambda a: False,
    "le": lambda a: True,
}


def _order_operands(op: str, a: Any, b: Any) -> Expr:
    """A commutative node with its operands in a fixed order: constant last, else the older one first."""
    if a.__class__ is not Expr or (b.__class__ is Expr and a.id > b.id):
        a, b = b, a
    return a.graph.node(op, a, b)


def binary(op: str, a: Any, b: Any) -> Any:
    """a op b, folded. At least one operand is an Expr."""
    rule = FOLD[op][kind(a) * _KINDS + kind(b)]
    if rule is not None:
        return rule(a, b)
    if a is b and op in FOLD_SAME:
        return FOLD_SAME[op](a)
    return (a if a.__class__ is Expr else b).graph.node(op, a, b)


_ADD, _SUB, _MUL = FOLD["add"], FOLD["sub"], FOLD["mul"]


# Of these there are thousands in every trace: where an operand is an Expr, its kind is taken without a call.
def add(a: Any, b: Any) -> Any:
    """a + b for scalars of which any may be an Expr."""
    row = a.kind if a.__class__ is Expr else kind(a)
    rule = _ADD[row * _KINDS + (b.kind if b.__class__ is Expr else kind(b))]
    return rule(a, b) if rule is not None else _order_operands("add", a, b)


def sub(a: Any, b: Any) -> Any:
    """a - b for scalars of which any may be an Expr."""
    if a is b:
        return 0.0
    row = a.kind if a.__class__ is Expr else kind(a)
    rule = _SUB[row * _KINDS + (b.kind if b.__class__ is Expr else kind(b))]
    if rule is not None:
        return rule(a, b)
    return (a if a.__class__ is Expr else b).graph.node("sub", a, b)


def mul(a: Any, b: Any) -> Any:
    """a * b for scalars of which any may be an Expr."""
    row = a.kind if a.__class__ is Expr else kind(a)
    rule = _MUL[row * _KINDS + (b.kind if b.__class__ is Expr else kind(b))]
    return rule(a, b) if rule is not None else _order_operands("mul", a, b)


def div(a: Any, b: Any) -> Any:
    """a / b for scalars of which any may be an Expr."""
    return binary("div", a, b)


def unary(op: str, a: Any) -> Any:
    """op(a), folded, for an Expr a."""
    rule = FOLD_UNARY[op].get(a.kind)
    return rule(a) if rule is not None else a.graph.node(op, a)


def neg(a: Any) -> Any:
    """-a for a scalar that may be an Expr."""
    return unary("neg", a) if a.__class__ is Expr else -a


def select(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition (an Expr or a bool) holds, else b."""
    if a is b or (a.__class__ is float and b.__class__ is float and a == b):
        return a
    if condition.__class__ is not Expr:
        return a if condition else b
    return condition.graph.node("select", condition, a, b)
