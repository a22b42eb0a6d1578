"""Traced expressions as SymPy expressions. SymPy is an optional extra, imported when it is used.

`SymbolicRecorder` keeps everything in one graph of expressions, for work with formulas instead of code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ..errors import FourbarError, extra
from .autodiff import reachable
from .node import Expr, Graph


class SymbolicRecorder:
    """Steps are called on expressions; the results are expressions of the arguments, to differentiate or to print."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()
        self.arguments: dict[str, tuple[Expr, ...]] = {}

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self.arguments.setdefault(name, self.graph.inputs(name, prod(shape)))

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The function, called."""
        return function(*args)


_FINEST = 64.0  # multiples of 1/64 are written as fractions, others as decimals


def load_sympy() -> Any:
    """The module sympy, or an error that says how to get it."""
    try:
        import sympy
    except ImportError:
        raise FourbarError("symbolic equations need SymPy, which is not installed: " + extra("sympy")) from None
    return sympy


def number(x: float) -> Any:
    """A float as a SymPy number: whole numbers and simple binary fractions exactly, others as decimals."""
    sympy = load_sympy()
    if x != x:
        return sympy.nan
    return sympy.Rational(x) if (x * _FINEST).is_integer() else sympy.Float(x)


def _meaning() -> dict[str, Callable[..., Any]]:
    sympy = load_sympy()
    return {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "neg": operator.neg,
        "lt": sympy.Lt,
        "le": sympy.Le,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "sqrt": sympy.sqrt,
        "atan2": sympy.atan2,
        "min": sympy.Min,
        "max": sympy.Max,
        "select": lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)),
    }


def to_sympy(roots: Sequence[Any], symbols: Mapping[Expr, Any]) -> list[Any]:
    """The roots as SymPy expressions, every input replaced by its symbol (or any other SymPy expression)."""
    meaning = _meaning()
    known: dict[int, Any] = {x.id: symbol for x, symbol in symbols.items()}

    def operand(x: Any) -> Any:
        return known[x.id] if x.__class__ is Expr else number(float(x))

    for node in reachable(roots):
        if node.id not in known:
            if node.op not in meaning:
                raise KeyError(f"no symbol was given for {node!r}")
            known[node.id] = meaning[node.op](*map(operand, node.args))
    return [operand(r) for r in roots]
