"""Elementary functions of any scalar: float, complex, NumPy array, traced expression, or a type with such methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import fold
from .node import Expr


def _elementary(
    name: str, word: str, of_float: Callable[[float], float], of_array: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if x.__class__ is float:
            return of_float(x)
        method = getattr(x, name, None)
        return method() if method is not None and not isinstance(x, np.ndarray) else of_array(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{word} of any scalar."
    return function


sin = _elementary("sin", "Sine", math.sin, np.sin)
cos = _elementary("cos", "Cosine", math.cos, np.cos)
tan = _elementary("tan", "Tangent", math.tan, np.tan)
sqrt = _elementary("sqrt", "Square root", math.sqrt, np.sqrt)
exp = _elementary("exp", "Exponential", lambda x: float(np.exp(x)), np.exp)
tanh = _elementary("tanh", "Hyperbolic tangent", math.tanh, np.tanh)
floor = _elementary("floor", "The whole number below", lambda x: float(np.floor(x)), lambda x: np.floor(np.real(x)))


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in (-π, π]."""
    if y.__class__ is float and x.__class__ is float:
        return math.atan2(y, x)
    if y.__class__ is Expr or x.__class__ is Expr:
        return fold.binary("atan2", fold.scalar(y), fold.scalar(x))
    for v, other in ((y, x), (x, y)):
        method = getattr(v, "arctan2", None)
        if method is not None and not isinstance(v, np.ndarray | np.generic):
            return method(other) if v is y else type(v).arctan2(type(v)(y), x)
    return np.arctan2(y, x)


def asin(x: Any) -> Any:
    """Arc sine, in [-π/2, π/2]."""
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))


def acos(x: Any) -> Any:
    """Arc cosine, in [0, π]."""
    return atan2(sqrt((1.0 - x) * (1.0 + x)), x)


def lookup(table: bytes, index: Any) -> Any:
    """The entry of a table at an index, of which the whole part counts.

    `table` is the bytes of doubles, at least one. An index below zero, and NaN, is that of the first entry, one beyond
    the table that of the last.
    """
    method = getattr(index, "lookup", None)
    if method is not None:
        return method(table)
    entries, place = np.frombuffer(table, float), np.real(index)
    found = entries[np.where(place >= 0.0, np.minimum(place, len(entries) - 1.0), 0.0).astype(np.int64)]
    return found if isinstance(index, np.ndarray) else float(found)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Choose a where the condition holds, else b. In a trace both are computed."""
    if condition.__class__ is Expr:
        return fold.select(condition, fold.scalar(a), fold.scalar(b))
    if isinstance(condition, np.ndarray) and condition.ndim:
        return np.where(condition, a, b)
    return a if condition else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two scalars."""
    if a.__class__ is Expr or b.__class__ is Expr:
        return fold.binary("min", fold.scalar(a), fold.scalar(b))
    return select(a < b, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two scalars."""
    if a.__class__ is Expr or b.__class__ is Expr:
        return fold.binary("max", fold.scalar(a), fold.scalar(b))
    return select(b < a, a, b)
