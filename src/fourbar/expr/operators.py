"""Give `Expr` its Python operators. They answer NotImplemented to arrays, so that `expr * array` maps over these.

exp and tanh of traced expressions, in the operations that programs have.

eˣ - 1 at x / 2048 is a short series; doubling the argument is y (y + 2), eleven times. Each doubling keeps the relative
error of y as long as y is small and doubles it once y is large: in the end it is |x| roundings, as much as a rounding
of x changes eˣ. Arguments are taken positive: there is no cancellation.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from math import factorial, inf
from typing import Any

from . import fold
from .node import Expr
from .numpy_functions import METHODS, apply_function, apply_ufunc, unsupported_error

_LARGEST = 709.7  # of which the exponential is finite
_DOUBLINGS = 11
_DEGREE = 13
_ALMOST_ONE = 20.0  # where tanh is 1


def _expm1(x: Any) -> Any:
    """eˣ - 1 for 0 ≤ x ≤ 709.7."""
    small = fold.mul(x, 0.5**_DOUBLINGS)
    series: Any = 1.0 / factorial(_DEGREE)
    for k in reversed(range(1, _DEGREE)):
        series = fold.add(fold.mul(series, small), 1.0 / factorial(k))
    y = fold.mul(series, small)
    for _ in range(_DOUBLINGS):
        y = fold.mul(y, fold.add(y, 2.0))
    return y


def exp(x: Any) -> Any:
    """eˣ."""
    size = fold.binary("max", x, fold.neg(x))
    whole = fold.add(_expm1(fold.binary("min", size, _LARGEST)), 1.0)
    whole = fold.select(fold.binary("lt", _LARGEST, size), inf, whole)
    return fold.select(fold.binary("lt", x, 0.0), fold.div(1.0, whole), whole)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent of x."""
    size = fold.binary("min", fold.binary("max", x, fold.neg(x)), _ALMOST_ONE)
    y = _expm1(fold.add(size, size))
    found = fold.div(y, fold.add(y, 2.0))
    return fold.select(fold.binary("lt", x, 0.0), fold.neg(found), found)


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
    "exp": exp,
    "tanh": tanh,
    "arctan2": _forward(lambda a, b: fold.binary("atan2", a, fold.scalar(b))),
    **METHODS,
    **{name: _refuse(name) for name in _UNSUPPORTED},
    "__array_ufunc__": apply_ufunc,
    "__array_function__": apply_function,
}

for _name, _method in _METHODS.items():
    setattr(Expr, _name, _method)
