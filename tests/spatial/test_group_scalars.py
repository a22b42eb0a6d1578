"""The groups over every kind of scalar: traced, arrays, dual numbers; and what they are as values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fourbar.expr import Graph, flatten, interpret, jvp, leaves, vjp
from fourbar.expr.unrolled import Unrolled
from fourbar.spatial.groups import GROUPS, Group, Rn
from fourbar.spatial.linear import Vec, vec

from .support import (
    EACH,
    REGION,
    TOL,
    body_velocity,
    evaluate,
    near,
    samples,
    selection,
)  # fmt: skip

# --- scalars of every kind -------------------------------------------------------------------------------------------

OF_ELEMENT = ("inverse", "log", "rotation", "translation", "Ad")
OF_VELOCITY = ("exp", "ad", "dexp", "dexp_inv", "right_dexp", "right_dexp_inv", "coadjoint_coriolis")


def calls(group: Group, region: str) -> list[tuple[Callable[[Any], Any], list[Vec]]]:
    """Every function of one argument, with arguments for it."""
    v = samples(group, region)
    return [(getattr(group, name), [group.exp(x) for x in v]) for name in OF_ELEMENT] + [
        (getattr(group, name), v) for name in OF_VELOCITY
    ]


def flat(tree: Any) -> list[Any]:
    return [x for row in tree for x in (row if isinstance(row, tuple) else (row,))]


@EACH
@REGION
def test_traced_equals_direct(group: Group, region: str) -> None:
    for function, arguments in calls(group, region):
        inputs = Graph().inputs("x", len(arguments[0]))
        traced = flat(function(Vec(inputs)))
        for x in arguments:
            near(evaluate(traced, dict(zip(inputs, x, strict=True))), flat(function(x)), 2e-15)


@EACH
def test_recorded_program_equals_direct(group: Group) -> None:
    recorder = Unrolled()
    a, v = recorder.input("a", (group.nq,)), recorder.input("v", (group.nv,))
    moved = recorder.call(lambda a, v: group.plus(Vec(a), Vec(v)), a, v)
    program = recorder.finish("plus", [("moved", (group.nq,), leaves(moved))])
    assert flatten(moved)[1][0] is Vec
    for v_number in samples(group, "moderate"):
        start = group.exp(v_number * 0.5)
        got = interpret(program, {"a": np.array(start), "v": np.array(v_number)})["moved"]
        near(got, group.plus(start, v_number), 2e-15)


@EACH
def test_derivative_of_traced_exp_at_zero(group: Group) -> None:
    """jvp and vjp at exactly zero: no NaN, and the body velocity is the tangent itself."""
    graph = Graph()
    v, dv = graph.inputs("v", group.nv), graph.inputs("dv", group.nv)
    roots = [*flat(group.rotation(group.exp(v))), *group.translation(group.exp(v))]
    tangents = jvp(roots, dict(zip(v, dv, strict=True)))
    gradient = vjp(roots, [float(k) for k in range(12)], list(v))
    direction = [0.3, -1.2, 0.7, 2.0, 0.1, -0.4][: group.nv]
    numbers = {**dict.fromkeys(v, 0.0), **dict(zip(dv, direction, strict=True))}
    got = np.array(evaluate([*roots, *tangents], numbers))
    r, p, dr, dp = got[:9].reshape(3, 3), got[9:12], got[12:21].reshape(3, 3), got[21:]
    near(body_velocity(r, p, dr, dp), selection(group) @ direction, 1e-16)
    near(np.dot(evaluate(gradient, numbers), direction), np.dot(np.arange(12.0), got[12:]))


@EACH
def test_derivative_of_traced_log_at_identity(group: Group) -> None:
    """d log(exp(v)) = dv at v = 0, and at a rotation by almost π."""
    v = Graph().inputs("v", group.nv)
    got = group.log(group.exp(Vec(v)))
    for number in (*samples(group, "zero"), *samples(group, "near_pi")):
        for j in range(group.nv):
            tangent = evaluate(jvp(got, {v[j]: 1.0}), dict(zip(v, number, strict=True)))
            near(tangent, np.eye(group.nv)[j], 5e-14)


@EACH
def test_arrays_equal_floats(group: Group) -> None:
    regions = ("zero", "tiny", "border", "moderate", "pi", "beyond_pi")
    for index, (function, _) in enumerate(calls(group, "zero")):
        arguments = [x for region in regions for x in calls(group, region)[index][1]]
        batch = flat(function(Vec(np.array(arguments).T)))
        for k, x in enumerate(arguments):
            near([entry[k] if isinstance(entry, np.ndarray) else entry for entry in batch], flat(function(x)), 2e-15)


class Dual:
    """a + b ε with ε² = 0, the way a user might write it: arithmetic, comparisons and four methods."""

    def __init__(self, a: float, b: float = 0.0) -> None:
        self.a, self.b = float(a), float(b)

    @staticmethod
    def of(x: Any) -> Dual:
        return x if isinstance(x, Dual) else Dual(x)

    def __add__(self, y: Any) -> Dual:
        y = Dual.of(y)
        return Dual(self.a + y.a, self.b + y.b)

    def __neg__(self) -> Dual:
        return Dual(-self.a, -self.b)

    def __sub__(self, y: Any) -> Dual:
        return self + -Dual.of(y)

    def __rsub__(self, y: Any) -> Dual:
        return Dual.of(y) - self

    def __mul__(self, y: Any) -> Dual:
        y = Dual.of(y)
        return Dual(self.a * y.a, self.a * y.b + self.b * y.a)

    def __truediv__(self, y: Any) -> Dual:
        y = Dual.of(y)
        return Dual(self.a / y.a, (self.b - self.a / y.a * y.b) / y.a)

    def __rtruediv__(self, y: Any) -> Dual:
        return Dual.of(y) / self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, y: Any) -> bool:
        return self.a < Dual.of(y).a

    def __gt__(self, y: Any) -> bool:
        return self.a > Dual.of(y).a

    def sin(self) -> Dual:
        return Dual(math.sin(self.a), math.cos(self.a) * self.b)

    def cos(self) -> Dual:
        return Dual(math.cos(self.a), -math.sin(self.a) * self.b)

    def sqrt(self) -> Dual:
        root = math.sqrt(self.a)
        return Dual(root, self.b / (2.0 * root))

    def arctan2(self, x: Any) -> Dual:
        x = Dual.of(x)
        return Dual(math.atan2(self.a, x.a), (x.a * self.b - self.a * x.b) / (x.a * x.a + self.a * self.a))


@EACH
@REGION
def test_dual_numbers(group: Group, region: str) -> None:
    """Every function of one argument: the ε part of a dual result is the jvp of the trace."""
    for function, arguments in calls(group, region):
        n = len(arguments[0])
        inputs = Graph().inputs("x", n)
        direction = [math.cos(k + 1.0) for k in range(n)]
        roots = flat(function(Vec(inputs)))
        tangents = jvp(roots, dict(zip(inputs, direction, strict=True)))
        for x in arguments:
            got = [Dual.of(e) for e in flat(function(Vec([Dual(a, b) for a, b in zip(x, direction, strict=True)])))]
            expected = evaluate([*roots, *tangents], dict(zip(inputs, x, strict=True)))
            near([e.a for e in got], expected[: len(got)], 2e-15)
            near([e.b for e in got], expected[len(got) :], TOL, floor=1.0)


# --- descriptions ----------------------------------------------------------------------------------------------------


def test_rows_and_sizes() -> None:
    assert {g.name: (g.nq, g.nv, g.rows) for g in GROUPS} == {
        "SO2": (1, 1, (2,)), "SO3": (4, 3, (0, 1, 2)), "SE2": (3, 3, (2, 3, 4)), "SE3": (7, 6, (0, 1, 2, 3, 4, 5)),
        "Schoenflies": (4, 4, (2, 3, 4, 5)), "R1": (1, 1, (5,)), "R2": (2, 2, (3, 4)), "R3": (3, 3, (3, 4, 5)),
    }  # fmt: skip


@EACH
def test_groups_are_values(group: Group) -> None:
    twin = Rn(group.n) if isinstance(group, Rn) else type(group)()
    assert twin == group
    assert hash(twin) == hash(group)
    assert len(set(GROUPS)) == len(GROUPS)
    with pytest.raises(AttributeError):
        setattr(group, "name", "other")  # noqa: B010


def test_large_rn_places_nothing() -> None:
    group = Rn(5)
    assert (group.nq, group.nv, group.rows) == (5, 5, ())
    assert group.plus(group.identity(), vec(range(5))) == vec(range(5))
    with pytest.raises(ValueError, match="3-space"):
        group.translation(group.identity())
    with pytest.raises(ValueError, match="n >= 1"):
        Rn(0)
