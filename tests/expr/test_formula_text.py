"""Formulas as text: what is read and printed is the same function; what is none is refused with words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourbar.expr import Expr, Graph, atan2, cos, evaluate, exp, maximum, minimum, select, sin, sqrt
from fourbar.expr.formula_text import FormulaError, ReadFormula, print_formulas

pytestmark = pytest.mark.quick


def read(text: str, **values: Any) -> Any:
    return ReadFormula(text, values)(values)


def test_read() -> None:
    x, y = 0.3, -1.7
    assert read("x - 2*y", x=x, y=y) == x - 2 * y
    assert read("-x**2 / (1 + y)", x=x, y=y) == -(x**2) / (1 + y)
    assert read("x**-3", x=x) == pytest.approx(x**-3, rel=1e-15)
    assert read("atan2(sin(x), cos(x)) + pi", x=x) == pytest.approx(x + math.pi, rel=1e-15)
    assert read("select(x < y, 1, 2) + select(x >= y, 10, 20)", x=x, y=y) == 12.0
    assert read("abs(y) + min(x, y) + max(x, y)", x=x, y=y) == abs(y) + y + x
    assert read("tan(x) - asin(x) + acos(x) - sqrt(x) + exp(x) - tanh(x)", x=x) == pytest.approx(
        math.tan(x) - math.asin(x) + math.acos(x) - math.sqrt(x) + math.exp(x) - math.tanh(x), rel=1e-14
    )
    assert read("q[1] - q[0]", q=(1.0, 5.0)) == 4.0
    assert read("  1e-3 * x\n", x=x) == 1e-3 * x


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x +", "no formula"),
        ("x y", "no formula"),
        ("z - 1", "unknown name 'z'; expected one of x, pi, inf"),
        ("__import__('os')", "not allowed"),
        ("x.real", "not allowed"),
        ("[x for x in y]", "not allowed"),
        ("lambda: x", "not allowed"),
        ("log(x)", "not allowed"),
        ("sin(x, x)", "sin takes 1 arguments, got 2"),
        ("x ** x", "not allowed"),
        ("x ** 65", "not allowed"),
        ("x ** 0.5", "not allowed"),
        ("x == 1", "takes one comparison"),
        ("x < 1", "takes one comparison"),
        ("select(x, 1, 2)", "takes one comparison"),
        ("select(0 < x < 1, 1, 2)", "not allowed"),
        ("'x'", "not allowed"),
        ("True", "not allowed"),
        ("x if x else 1", "not allowed"),
        ("1j * x", "not allowed"),
        ("", "no formula"),
        ("x\0", "no formula"),
        ("(" * 5000 + "x" + ")" * 5000, "no formula"),
        ("-" * 5000 + "x", "within each other|no formula"),
        ("x" + " + x" * 5000, "within each other|no formula"),
        ("x" * 200_000, "at most 100000 characters"),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words):
        ReadFormula(text, ["x"])


_LEAVES = st.one_of(
    st.sampled_from(["x", "y"]), st.floats(-3, 3, allow_subnormal=False), st.sampled_from([0.1, -0.5, 1e-300, 7.0])
)
_UNARY = {"neg": lambda a: -a, "sin": sin, "cos": cos, "root": lambda a: sqrt(a * a), "exp": lambda a: exp(sin(a))}
_BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b * b + 1.0), "atan2": atan2, "min": minimum, "max": maximum,
    "choose": lambda a, b: select(a < b, a * b, a - b),
    "same": lambda a, b: (a + b) * (a + b) - sin(a + b),
}  # fmt: skip
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(list(_UNARY)), inner), st.tuples(st.sampled_from(list(_BINARY)), inner, inner)
    ),
    max_leaves=12,
)


def _value(tree: Any, values: dict[str, Any]) -> Any:
    if not isinstance(tree, tuple):
        return values.get(tree, tree) if isinstance(tree, str) else tree
    op, *operands = tree
    return {**_UNARY, **_BINARY}[op](*(_value(x, values) for x in operands))


@settings(deadline=None, max_examples=200)
@given(_TREES, st.floats(-2, 2), st.floats(-2, 2))
def test_printed_formulas_read_back_to_the_same_operations(tree: Any, x: float, y: float) -> None:
    graph = Graph()
    symbols = {name: graph.inputs(name, 1)[0] for name in "xy"}
    root = _value(tree, symbols)
    parts, (text,) = print_formulas([root], {node: name for name, node in symbols.items()}, fresh="part")
    values: dict[str, Any] = dict(symbols)
    for name, part in parts:
        values[name] = ReadFormula(part, values)(values)
    again = ReadFormula(text, values)(values)
    if isinstance(root, Expr):
        assert again is root or _close(again, root, symbols, x, y)
    else:
        assert again == root or (math.isnan(again) and math.isnan(root))


def _close(a: Any, b: Any, symbols: dict[str, Expr], x: float, y: float) -> bool:
    """Whether two expressions have the same bits: operands of a sum or product may be in another order."""
    at = {symbols["x"]: x, symbols["y"]: y}
    with np.errstate(all="ignore"):
        first, second = evaluate([a, b], at)
    return first == second or (first != first and second != second)


def test_long_expressions_are_cut_into_parts() -> None:
    (x,) = Graph().inputs("x", 1)
    total: Any = x
    for i in range(1000):
        total = sin(total) * 0.5 + i
    parts, (text,) = print_formulas([total], {x: "x"})
    assert len(parts) > 50 and max(len(part) for _, part in parts) < 1000
    values: dict[str, Any] = {"x": x}
    for name, part in parts:
        values[name] = ReadFormula(part, values)(values)
    assert ReadFormula(text, values)(values) is total
