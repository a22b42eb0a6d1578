"""Give `Expr` its Python operators. They answer NotImplemented to arrays, so that `expr * array` maps over these."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from . import exponential, fold
from .node import Expr
from .numpy_functions import METHODS, apply_function, apply_ufunc, unsupported_error

_UNSUPPORTED = (
    "log",
    "log2",
    "log10",
    "log1p",
    "exp2",
    "expm1",
    "sinh",
    "cosh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
)


def _number(x: Any) -> Any:
    """x as a float, or NotImplemented where x is not a real number."""
    return float(x) if isinstance(x, numbers.Real) else NotImplemented


def _forward(f: Callable[[Any, Any], Any]) -> Callable[[Expr, Any], Any]:
    def method(self: Expr, other: Any) -> Any:
        if other.__class__ is not Expr and other.__class__ is not float:
            other = _number(other)
            if other is NotImplemented:
                return NotImplemented
        return f(self, other)

    return method


def _reflect(f: Callable[[Any, Any], Any]) -> Callable[[Expr, Any], Any]:
    return _forward(lambda a, b: f(b, a))


def _power(a: Expr, n: Any) -> Any:
    if n.__class__ is Expr or not (abs(n) <= 64 and n == int(n)):
        raise TypeError(f"a traced expression can only be raised to small integer powers, got {n!r}; use sqrt")
    result: Any = 1.0
    for _ in range(abs(int(n))):
        result = fold.mul(result, a)
    return result if n >= 0 else fold.div(1.0, result)


def _refuse(name: str) -> Callable[[Expr], Any]:
    def method(self: Expr) -> Any:
        raise unsupported_error(name)

    return method


def _compare(op: str, swap: bool) -> Callable[[Any, Any], Any]:
    return lambda a, b: fold.binary(op, b, a) if swap else fold.binary(op, a, b)


_METHODS: dict[str, Callable[..., Any]] = {
    "__add__": _forward(fold.add),
    "__radd__": _reflect(fold.add),
    "__sub__": _forward(fold.sub),
    "__rsub__": _reflect(fold.sub),
    "__mul__": _forward(fold.mul),
    "__rmul__": _reflect(fold.mul),
    "__truediv__": _forward(fold.div),
    "__rtruediv__": _reflect(fold.div),
    "__pow__": _forward(_power),
    "__neg__": lambda self: fold.unary("neg", self),
    "__pos__": lambda self: self,
    "__abs__": lambda self: fold.binary("max", self, fold.neg(self)),
    "__lt__": _forward(_compare("lt", swap=False)),
    "__le__": _forward(_compare("le", swap=False)),
    "__gt__": _forward(_compare("lt", swap=True)),
    "__ge__": _forward(_compare("le", swap=True)),
    # NumPy calls these when one of its functions meets an object array.
    "sin": lambda self: fold.unary("sin", self),
    "cos": lambda self: fold.unary("cos", self),
    "tan": lambda self: fold.div(fold.unary("sin", self), fold.unary("cos", self)),
    "sqrt": lambda self: fold.unary("sqrt", self),
    "arctan": lambda self: fold.binary("atan2", self, 1.0),
    "exp": exponential.exp,
    "tanh": exponential.tanh,
    "arctan2": _forward(lambda a, b: fold.binary("atan2", a, fold.scalar(b))),
    **METHODS,
    **{name: _refuse(name) for name in _UNSUPPORTED},
    "__array_ufunc__": apply_ufunc,
    "__array_function__": apply_function,
}

for _name, _method in _METHODS.items():
    setattr(Expr, _name, _method)
