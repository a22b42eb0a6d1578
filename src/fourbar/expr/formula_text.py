"""Formulas as text, in the arithmetic of Python: read them into functions of any scalar, print traced expressions.

A text that was printed is read back into the same operations, so that no bit of a result changes.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from . import functions
from .autodiff import reachable
from .evaluate import MEANING
from .node import Expr

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {  # by name, with the number of their arguments
    **{name: (1, getattr(functions, name)) for name in ("sin", "cos", "tan", "asin", "acos", "sqrt", "exp", "tanh")},
    "atan2": (2, functions.atan2),
    "abs": (1, lambda x: functions.maximum(x, -x)),
    "min": (2, functions.minimum),
    "max": (2, functions.maximum),
    "select": (3, functions.select),
}
CONSTANTS = {"pi": math.pi, "inf": math.inf}
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_COMPARED: dict[type[ast.cmpop], tuple[str, bool]] = {  # the operation, and whether its operands are swapped
    ast.Lt: ("lt", False), ast.LtE: ("le", False), ast.Gt: ("lt", True), ast.GtE: ("le", True),
}  # fmt: skip
_LONGEST = 100_000  # characters
_DEEPEST = 150  # operations within each other
_LARGEST_POWER = 64


class FormulaError(ValueError):
    """A text that is not a formula."""


class ReadFormula:
    """A formula that was read: its result for values of its names."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._root = _parse(text)
        self._check(self._root, names, 0)

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """The result; `values` are scalars by name, or sequences of them that the formula indexes."""
        return _value(self._root, values)

    def _check(self, node: ast.expr, names: Collection[str], depth: int, condition: bool = False) -> None:
        if depth > _DEEPEST:
            raise FormulaError(f"more than {_DEEPEST} operations within each other; name a part of it")
        if isinstance(node, ast.Compare) != condition:
            raise FormulaError(
                f"{_node_text(node)!r}: select(a < b, x, y) takes one comparison first, and there is none elsewhere"
            )
        if isinstance(node, ast.Name) and node.id not in names and node.id not in CONSTANTS:
            known = ", ".join([*names, *CONSTANTS])
            raise FormulaError(f"unknown name {node.id!r}; expected one of {known}")
        parts = _parts(node)
        for i, part in enumerate(parts):
            chooses = isinstance(node, ast.Call) and len(parts) == FUNCTIONS["select"][0] and i == 0
            self._check(part, names, depth + 1, chooses)


def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise FormulaError(f"a formula has at most {_LONGEST} characters, got {len(text)}")
    try:
        return ast.parse(" ".join(text.split()), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"{_shorten(text)!r} is no formula: {error.msg}, at character {error.offset}") from None
    except (ValueError, RecursionError, MemoryError) as error:  # a null character; brackets without end
        raise FormulaError(f"{_shorten(text)!r} is no formula: {error or 'nested too deeply'}") from None


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _node_text(node: ast.expr) -> str:
    return _shorten(ast.unparse(node))


def _parts(node: ast.expr) -> list[ast.expr]:
    """The operands of a node that may be in a formula."""
    match node:
        case ast.Name() | ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int())):
            return [node.value] if isinstance(node, ast.Subscript) else []
        case ast.Constant(value=float() | int()) if not isinstance(node.value, bool):
            return []
        case ast.BinOp(op=ast.Pow()) if _power(node.right) is not None:
            return [node.left]
        case ast.BinOp() if type(node.op) in _BINARY:
            return [node.left, node.right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return [node.operand]
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return [node.left, right]
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            if len(node.args) != FUNCTIONS[name][0]:
                raise FormulaError(
                    f"{_node_text(node)!r}: {name} takes {FUNCTIONS[name][0]} arguments, got {len(node.args)}"
                )
            return node.args
    raise FormulaError(
        f"{_node_text(node)!r} is not allowed; a formula has numbers, names, + - * /, powers by whole numbers up to "
        f"{_LARGEST_POWER}, and {', '.join(FUNCTIONS)}"
    )


def _power(node: ast.expr) -> int | None:
    """A whole number as an exponent."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    whole = isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _LARGEST_POWER
    return sign * node.value if whole else None  # type: ignore[union-attr, operator]


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return CONSTANTS[name] if name in CONSTANTS and name not in values else values[name]
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(i))):
            if not hasattr(values[name], "__getitem__"):
                raise TypeError(f"{name} is one number")
            return values[name][i]
        case ast.Constant(value=number):
            return float(number)  # type: ignore[arg-type]
        case ast.BinOp(op=ast.Pow()):
            return _value(node.left, values) ** _power(node.right)
        case ast.BinOp():
            return MEANING[_BINARY[type(node.op)]](_value(node.left, values), _value(node.right, values))
        case ast.UnaryOp():
            operand = _value(node.operand, values)
            return -operand if isinstance(node.op, ast.USub) else operand
        case ast.Compare():
            op, swapped = _COMPARED[type(node.ops[0])]
            a, b = _value(node.left, values), _value(node.comparators[0], values)
            return MEANING[op](b, a) if swapped else MEANING[op](a, b)
        case ast.Call(func=ast.Name(id=name)):
            return FUNCTIONS[name][1](*(_value(x, values) for x in node.args))
    raise AssertionError(node)  # `_parts` has refused it


# How a traced operation is written: its text, and how tightly it binds. Operands that bind less are put in brackets.
_SUM, _PRODUCT, _SIGN, _WHOLE = range(4)
_WRITTEN: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "add": ("{} + {}", _SUM, (_SUM, _PRODUCT)),
    "sub": ("{} - {}", _SUM, (_SUM, _PRODUCT)),
    "mul": ("{} * {}", _PRODUCT, (_PRODUCT, _SIGN)),
    "div": ("{} / {}", _PRODUCT, (_PRODUCT, _SIGN)),
    "neg": ("-{}", _SIGN, (_WHOLE,)),
    "lt": ("{} < {}", _SUM, (_SUM, _SUM)),
    "le": ("{} <= {}", _SUM, (_SUM, _SUM)),
    **{name: (f"{name}({{}})", _WHOLE, (_SUM,)) for name in ("sin", "cos", "sqrt")},
    **{name: (f"{name}({{}}, {{}})", _WHOLE, (_SUM, _SUM)) for name in ("atan2", "min", "max")},
    "select": ("select({}, {}, {})", _WHOLE, (_SUM, _SUM, _SUM)),
}
_NESTED = 30  # operations within each other that are printed in one formula


def print_formulas(
    roots: Sequence[Any], names: Mapping[Expr, str], fresh: str = "x"
) -> tuple[list[tuple[str, str]], list[str]]:
    """Traced expressions as formulas: named parts of them, each of which may use those before it, and the results.

    `names` are those of the inputs. Parts that are used several times are called `fresh`1, `fresh`2, ...
    """
    nodes = reachable(roots)
    uses = Counter(a.id for node in nodes for a in node.args if a.__class__ is Expr)
    parts: list[tuple[str, str]] = []
    written: dict[int, tuple[str, int, int]] = {}  # text, how tightly it binds, how deeply it is nested

    def operand(x: Any, least: int) -> tuple[str, int]:
        text, binds, depth = written[x.id] if x.__class__ is Expr else _constant(x)
        return (text, depth) if binds >= least else (f"({text})", depth)

    for node in nodes:
        if node in names:
            written[node.id] = (names[node], _WHOLE, 0)
            continue
        op, arguments = _without_sign(node)
        form, binds, least = _WRITTEN[op]
        operands = [operand(x, tight) for x, tight in zip(arguments, least, strict=True)]
        text, depth = form.format(*(x for x, _ in operands)), 1 + max(d for _, d in operands)
        if node.op not in ("lt", "le", "neg") and (uses[node.id] > 1 or depth >= _NESTED):
            parts.append((f"{fresh}{len(parts) + 1}", text))
            text, binds, depth = parts[-1][0], _WHOLE, 0
        written[node.id] = (text, binds, depth)
    return parts, [operand(x, _SUM)[0] for x in roots]


def _without_sign(node: Expr) -> tuple[str, tuple[Any, ...]]:
    """An operation and its operands; a sum with a negative constant is a difference."""
    constant = node.args[-1]
    if node.op == "add" and constant.__class__ is not Expr and constant < 0.0:
        return "sub", (node.args[0], -constant)
    return node.op, node.args


def _constant(x: Any) -> tuple[str, int, int]:
    x = float(x)
    return repr(x), _WHOLE if math.copysign(1.0, x) > 0.0 else _SIGN, 0
