"""exp and tanh of traced expressions, in the operations that programs have.

eˣ - 1 at x / 2048 is a short series; doubling the argument is y (y + 2), eleven times. Each doubling keeps the relative
error of y as long as y is small and doubles it once y is large: in the end it is |x| roundings, as much as a rounding
of x changes eˣ. Arguments are taken positive: there is no cancellation.
"""

from __future__ import annotations

from math import factorial, inf
from typing import Any

from . import fold

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
