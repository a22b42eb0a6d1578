"""The Python operators of `Expr`, and NumPy's functions on it. Operators answer NotImplemented to arrays, so that `expr
* array` maps over these.

exp and tanh of traced expressions, in the operations that programs have.

eˣ - 1 at x / 2048 is a short series; doubling the argument is y (y + 2), eleven times. Each doubling keeps the relative
error of y as long as y is small and doubles it once y is large: in the end it is |x| roundings, as much as a rounding
of x changes eˣ. Arguments are taken positive: there is no cancellation.

NumPy's functions that it computes by operators and methods of the entries (+, sin, dot, ...) work on any array of
objects. The others ask for a truth value or a number: here they record what fourbar's functions do, entry by entry,
wherever an `Expr` or a `TracedArray` is among their arguments.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from math import factorial, inf
from typing import Any

import numpy as np

from . import fold
from .functions import acos, asin, atan2, maximum, minimum, select, sqrt
from .node import Expr


def _sign(x: Any) -> Any:
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0))


def _clip(x: Any, low: Any, high: Any) -> Any:
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def _refuse_equality(a: Any, b: Any) -> Any:
    raise TypeError(
        "whether traced expressions are equal is unknown while tracing; write a difference, or <= and >= in "
        "fourbar.select(condition, if_true, if_false)"
    )


_ENTRIES: dict[str, tuple[int, Callable[..., Any]]] = {  # ufuncs by name: number of arguments, and the function
    "minimum": (2, minimum),
    "fmin": (2, minimum),
    "maximum": (2, maximum),
    "fmax": (2, maximum),
    "clip": (3, _clip),
    "sign": (1, _sign),
    "arctan2": (2, atan2),
    "hypot": (2, lambda a, b: sqrt(a * a + b * b)),
    "less": (2, operator.lt),
    "less_equal": (2, operator.le),
    "greater": (2, operator.gt),
    "greater_equal": (2, operator.ge),
    "equal": (2, _refuse_equality),
    "not_equal": (2, _refuse_equality),
}
METHODS: dict[str, Callable[[Any], Any]] = {  # of expressions, which NumPy calls on the entries of any array
    "arcsin": asin,
    "arccos": acos,
    "fabs": abs,
    "floor": lambda x: fold.unary("floor", x),
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
}
_ENTRIES |= {name: (1, function) for name, function in METHODS.items()}
_UFUNCS: dict[str, Any] = {name: np.frompyfunc(function, count, 1) for name, (count, function) in _ENTRIES.items()}
_SELECT: Any = np.frompyfunc(select, 3, 1)


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise TypeError("np.where of traced expressions takes a condition and two choices")
    return _SELECT(condition, *choices)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(x, object)
    vectors = x.ndim == 1 if axis is None else not isinstance(axis, tuple)
    if not (ord is None or (ord == 2 and vectors)):
        raise TypeError(f"np.linalg.norm of traced expressions is the Euclidean one, got ord={ord!r}")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: lambda x, a_min=None, a_max=None, out=None, min=None, max=None: _UFUNCS["clip"](
        x, a_min if min is None else min, a_max if max is None else max
    ),
    np.linalg.norm: _norm,
}


class TracedArray(np.ndarray):
    """An array of traced expressions, on which NumPy's clip, where, minimum, ... record."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply_ufunc(self, ufunc, method, *inputs, **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(self, func, types, args, kwargs)


_EMPTY = np.empty(0, object).view(TracedArray)


def traced_array(entries: Any) -> np.ndarray:
    """Expressions and numbers as an array on which NumPy's functions record."""
    return np.array(entries, dtype=object).view(TracedArray)


def _plain(x: Any) -> Any:
    """An argument of a ufunc: arrays of objects without rules of their own."""
    return _with_axes(x).view(np.ndarray) if isinstance(x, Expr | TracedArray) else x


def _with_axes(x: Any) -> Any:
    """An argument with expressions as traced arrays without axes, also in lists and tuples."""
    if isinstance(x, Expr):
        array = np.empty((), object)
        array[()] = x
        return array.view(TracedArray)
    return type(x)(map(_with_axes, x)) if type(x) in (list, tuple) else x


def _as_traced(x: Any) -> Any:
    """A result of NumPy: arrays of objects as traced ones, those without axes as what they hold."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return x.view(TracedArray) if x.ndim else x.item()
    return tuple(map(_as_traced, x)) if type(x) is tuple else x


def apply_ufunc(_: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """A ufunc, or one of its methods, where traced expressions are among its arguments."""
    out = options.get("out")
    if out is not None:
        options["out"] = tuple(map(_plain, out))
    function = getattr(_UFUNCS.get(ufunc.__name__, ufunc), method)
    found = _call_numpy(ufunc.__name__, function, *map(_plain, inputs), **options)
    return _as_traced(found) if out is None else out[0]


def apply_function(_: Any, function: Any, types: Any, args: Any, options: Any) -> Any:
    """A function of NumPy that is no ufunc, in the same place."""
    args, options = tuple(map(_with_axes, args)), {name: _with_axes(x) for name, x in options.items()}
    if function in _FUNCTIONS:
        return _as_traced(_call_numpy(function.__name__, _FUNCTIONS[function], *args, **options))
    as_of_arrays = np.ndarray.__array_function__
    return _as_traced(_call_numpy(function.__name__, as_of_arrays, _EMPTY, function, (TracedArray,), args, options))


def _call_numpy(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return function(*args, **options)
    except TypeError as error:
        if "traced expression" in str(error):
            raise
        raise unsupported_error(name) from error


def unsupported_error(name: str) -> TypeError:
    """The error for a function of NumPy that cannot be recorded."""
    return TypeError(
        f"np.{name} of traced expressions is not recorded; there are + - * /, sin, cos, tan, asin, acos, atan2, sqrt, "
        "exp, tanh, floor, minimum, maximum and select of fourbar, and NumPy's functions that are made of these"
    )


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
    "lookup": lambda self, table: self.graph.node("lookup", table, self),
    "arctan2": _forward(lambda a, b: fold.binary("atan2", a, fold.scalar(b))),
    **METHODS,
    **{name: _refuse(name) for name in _UNSUPPORTED},
    "__array_ufunc__": apply_ufunc,
    "__array_function__": apply_function,
}

for _name, _method in _METHODS.items():
    setattr(Expr, _name, _method)
