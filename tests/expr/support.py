"""Random calculations that run on any kind of scalar, a number type as a user would write it, and conveniences."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from fourbar.expr import (
    Program,
    Unrolled,
    atan2,
    cos,
    exp,
    floor,
    interpret,
    lookup,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    tanh,
)

# Few examples, so that the tests run often; FOURBAR_TEST_EXAMPLES=5000 searches longer.
_COUNT = int(os.environ.get("FOURBAR_TEST_EXAMPLES", "60"))
EXAMPLES = settings(max_examples=_COUNT, deadline=None, suppress_health_check=[HealthCheck.too_slow])

CONSTANTS = (0.0, 1.0, -1.0, 2.0, -0.5, 3.0)

_TABLE = np.array([0.5, -1.0, 2.0, 0.25]).tobytes()


def _between(a: Any) -> Any:
    """Entries of a table, with straight lines between them."""
    inside = minimum(maximum(a, 0.0), 3.0)
    first = minimum(floor(inside), 2.0)
    part = inside - first
    return lookup(_TABLE, first) * (1.0 - part) + lookup(_TABLE, first + 1.0) * part


# Steps of a random calculation. All are defined for all reals and continuous, so that a last bit never matters.
STEPS = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / (b * b + 1.0),
    "inverse": lambda a, b, c: 1.0 / (a * a + 0.5),
    "neg": lambda a, b, c: -a,
    "square": lambda a, b, c: a**2,
    "abs": lambda a, b, c: abs(a),
    "sin": lambda a, b, c: sin(a),
    "cos": lambda a, b, c: cos(a),
    "sqrt": lambda a, b, c: sqrt(a * a + 1.0),
    "atan2": lambda a, b, c: atan2(a, b * b + 0.5),
    "min": lambda a, b, c: minimum(a, b),
    "max": lambda a, b, c: maximum(a, b),
    "ramp": lambda a, b, c: select(a < b, c * (b - a), 0.0),
    "stairs": lambda a, b, c: _between(a),
    "valley": lambda a, b, c: select(a >= b, a - b, b - a),
}

_step = st.tuples(st.sampled_from(sorted(STEPS)), *[st.integers(0, 50)] * 3)
recipes = st.lists(_step, min_size=1, max_size=14)
seeds = st.integers(0, 2**32 - 1)


def run(recipe, inputs):
    """All values of a calculation: the constants, the inputs, then one per step."""
    pool = [*CONSTANTS, *inputs]
    for name, *picks in recipe:
        a, b, c = (pool[-1 - pick % len(pool)] for pick in picks)
        pool.append(STEPS[name](a, b, c))
    return pool


def last(recipe, inputs, count=3):
    """The results of a calculation."""
    return tuple(run(recipe, inputs)[-count:])


def generic(seed, count):
    """Numbers without special relations between them."""
    rng = random.Random(seed)
    return [rng.uniform(-2.0, 2.0) for _ in range(count)]


def assume_moderate(values, limit=100.0):
    """Leave out calculations whose numbers explode: they say nothing but rounding."""
    assume(all(abs(v) < limit for v in values))


def program_of(function, count, recorder=None):
    """The program y = function(x) for a function from a tuple of `count` scalars to a tuple of scalars."""
    recorder = recorder or Unrolled()
    x = recorder.input("x", (count,))
    y = recorder.call(function, x)
    return recorder.finish("sample", [("y", (len(y),), y)])


def interpreted(function, *numbers):
    """The values of a function of a tuple, by way of a program."""
    return interpret(program_of(function, len(numbers)), {"x": numbers})["y"]


class Dual:
    """value + slope ε with ε² = 0: a user's own number type, and an independent forward derivative."""

    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    @staticmethod
    def of(x):
        return x if isinstance(x, Dual) else Dual(x)

    def __add__(self, other):
        other = Dual.of(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = Dual.of(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other):
        other = Dual.of(other)
        top = self.slope * other.value - self.value * other.slope
        return Dual(self.value / other.value, top / (other.value * other.value))

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        return self + (-Dual.of(other))

    def __rsub__(self, other):
        return Dual.of(other) - self

    def __rtruediv__(self, other):
        return Dual.of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return self.value < Dual.of(other).value

    def __le__(self, other):
        return self.value <= Dual.of(other).value

    def __gt__(self, other):
        return Dual.of(other) < self

    def __ge__(self, other):
        return Dual.of(other) <= self

    def sin(self):
        return Dual(sin(self.value), cos(self.value) * self.slope)

    def cos(self):
        return Dual(cos(self.value), -sin(self.value) * self.slope)

    def floor(self):
        return Dual(floor(self.value))

    def lookup(self, table):
        return Dual(lookup(table, self.value))

    def tan(self):
        return self.sin() / self.cos()

    def sqrt(self):
        root = sqrt(self.value)
        return Dual(root, self.slope / (2.0 * root))

    def exp(self):
        value = exp(self.value)
        return Dual(value, value * self.slope)

    def tanh(self):
        value = tanh(self.value)
        return Dual(value, (1.0 - value * value) * self.slope)

    def arctan2(self, other):
        other = Dual.of(other)
        top = other.value * self.slope - self.value * other.slope
        return Dual(atan2(self.value, other.value), top / (other.value * other.value + self.value * self.value))


# Central difference of order six: weights of f(±h), f(±2h), f(±3h).
_STENCIL = (3 / 4, -3 / 20, 1 / 60)


def difference(f, point, direction, h=1e-3):
    """The directional derivative of f, a function of several numbers, by differences. Good to about 1e-11."""
    total = 0.0
    for k, weight in enumerate(_STENCIL, start=1):
        ahead = f(*(p + k * h * d for p, d in zip(point, direction, strict=True)))
        behind = f(*(p - k * h * d for p, d in zip(point, direction, strict=True)))
        total += weight * (float(ahead) - float(behind))
    return total / h


def triangular(recorder: Any) -> Program:
    """Σ_{m ≤ n} m (m + 1) / 2 by a repeat within another."""
    (n,) = recorder.input("n", (1,))

    def outer(state: Any) -> Any:
        m, total = state
        inner = recorder.repeat(
            lambda s: recorder.call(lambda k, t: ((k - 1.0, t + k), k - 1.0), *s), (m, total), 20, m
        )
        return recorder.call(lambda m, t: ((m - 1.0, t), m - 1.0), m, inner[1])

    _, total = recorder.repeat(outer, (n, 0.0), 30, n)
    return recorder.finish("triangular", [("y", (), [total])])
