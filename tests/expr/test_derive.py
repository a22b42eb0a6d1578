"""Derivatives of every operation. The tests walk through the tables, so an operation without a case here fails."""

import math

import numpy as np
import pytest

from fourbar.expr import (
    Expr,
    Graph,
    acos,
    asin,
    atan2,
    cos,
    evaluate,
    floor,
    jvp,
    lookup,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    tan,
    vjp,
)
from fourbar.expr.autodiff import JVP, VJP

from .support import difference

# What makes the operation (of generic scalars), and points on every side of it.
CASES = {
    "add": (lambda a, b: a + b, [(0.3, -0.7)]),
    "sub": (lambda a, b: a - b, [(0.3, -0.7)]),
    "mul": (lambda a, b: a * b, [(0.3, -0.7), (0.0, 2.0)]),
    "div": (lambda a, b: a / b, [(0.3, -0.7), (0.0, 2.0)]),
    "neg": (lambda a: -a, [(0.3,)]),
    "sin": (sin, [(0.3,), (-2.5,)]),
    "cos": (cos, [(0.3,), (-2.5,)]),
    "sqrt": (sqrt, [(0.3,), (9.0,)]),
    "atan2": (atan2, [(0.3, 0.7), (0.3, -0.7), (-0.3, -0.7), (-0.3, 0.7), (0.5, 0.0), (0.0, 0.5)]),
    "min": (minimum, [(0.3, 0.7), (0.7, 0.3)]),
    "max": (maximum, [(0.3, 0.7), (0.7, 0.3)]),
    "select": (lambda a, b, c, d: select(a < b, c, d), [(0.3, 0.7, 1.0, 2.0), (0.7, 0.3, 1.0, 2.0)]),
    "lt": (lambda a, b: a < b, [(0.3, 0.7), (0.7, 0.3)]),
    "le": (lambda a, b: a <= b, [(0.3, 0.7), (0.7, 0.3)]),
    "floor": (floor, [(0.3,), (-1.7,)]),
    "lookup": (lambda a: lookup(np.array([2.0, -3.0, 5.0]).tobytes(), a), [(-0.4,), (1.6,), (7.3,)]),
}
OPS = [(op, point) for op in JVP for point in CASES.get(op, (None, [None]))[1]]
EACH = pytest.mark.parametrize(("op", "point"), OPS)


def traced(op, point):
    f, _ = CASES[op]
    x = Graph().inputs("x", len(point))
    return f, x, f(*x), dict(zip(x, point, strict=True))


def directions(count):
    """Along every axis, and one across."""
    return [*np.eye(count).tolist(), [0.9 - 0.4 * k for k in range(count)]]


def test_every_operation_has_a_case():
    assert set(CASES) == set(JVP) == set(VJP)


@pytest.mark.parametrize("op", CASES)
def test_the_case_makes_the_operation(op):
    _, _, root, _ = traced(op, CASES[op][1][0])
    assert root.op == op


@EACH
def test_forward_derivative_against_differences(op, point):
    f, x, root, at = traced(op, point)
    for direction in directions(len(point)):
        [slope] = evaluate(jvp([root], dict(zip(x, direction, strict=True))), at)
        assert slope == pytest.approx(difference(f, point, direction), rel=1e-9, abs=1e-9)


@EACH
def test_reverse_derivative_against_differences(op, point):
    f, x, root, at = traced(op, point)
    slopes = evaluate(vjp([root], [2.5], x), at)
    expected = [2.5 * difference(f, point, axis) for axis in np.eye(len(point)).tolist()]
    assert slopes == pytest.approx(expected, rel=1e-9, abs=1e-9)


@EACH
def test_forward_derivative_with_a_constant_operand(op, point):
    f, _, _, _ = traced(op, point)
    for k in range(len(point)):
        x = Graph().inputs("x", 1)[0]
        others = [x if i == k else p for i, p in enumerate(point)]
        [slope] = evaluate(jvp([f(*others)], {x: 1.0}), {x: point[k]})
        axis = [float(i == k) for i in range(len(point))]
        assert slope == pytest.approx(difference(f, point, axis), rel=1e-9, abs=1e-9)


@EACH
def test_reverse_derivative_with_a_constant_operand(op, point):
    f, _, _, _ = traced(op, point)
    for k in range(len(point)):
        x = Graph().inputs("x", 1)[0]
        others = [x if i == k else p for i, p in enumerate(point)]
        [slope] = evaluate(vjp([f(*others)], [1.0], [x]), {x: point[k]})
        axis = [float(i == k) for i in range(len(point))]
        assert slope == pytest.approx(difference(f, point, axis), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt"])
def test_forward_derivative_against_the_complex_step(op):
    _, x, root, at = traced(op, CASES[op][1][0])
    for k in range(len(x)):
        [slope] = evaluate(jvp([root], {x[k]: 1.0}), at)
        [stepped] = evaluate([root], {**at, x[k]: complex(at[x[k]], 1e-30)})
        assert slope == pytest.approx(stepped.imag / 1e-30, rel=1e-14, abs=1e-14)


@EACH
def test_second_derivatives_against_differences_of_the_first(op, point):
    _, x, root, at = traced(op, point)
    for k in range(len(x)):
        first = jvp([root], {x[k]: 1.0})
        for direction in directions(len(point)):
            [second] = evaluate(jvp(first, dict(zip(x, direction, strict=True))), at)

            def slope(*p, first=first):
                return evaluate(first, dict(zip(x, p, strict=True)))[0]

            assert second == pytest.approx(difference(slope, point, direction), rel=1e-8, abs=1e-8)


@EACH
def test_reverse_derivative_of_the_reverse_derivative_agrees_with_forward_of_forward(op, point):
    _, x, root, at = traced(op, point)
    gradient = vjp([root], [1.0], x)
    for k in range(len(x)):
        for j in range(len(x)):
            by_reverse = evaluate(vjp([gradient[k]], [1.0], [x[j]]), at)
            by_forward = evaluate(jvp(jvp([root], {x[k]: 1.0}), {x[j]: 1.0}), at)
            assert by_reverse == pytest.approx(by_forward, rel=1e-12, abs=1e-12)


@EACH
def test_no_tangent_no_derivative_and_no_new_node(op, point):
    _, x, root, _ = traced(op, point)
    count = len(root.graph.nodes)
    assert jvp([root], {}) == [0.0]
    assert vjp([root], [0.0], x) == [0.0] * len(x)
    assert len(root.graph.nodes) == count


@pytest.mark.parametrize("f", [minimum, maximum])
def test_at_a_tie_one_side_is_taken_whole(f):
    x, y = Graph().inputs("x", 2)
    at = {x: 1.0, y: 1.0}
    gradient = evaluate(vjp([f(x, y)], [1.0], [x, y]), at)
    assert sorted(gradient) == [0.0, 1.0]
    assert evaluate(jvp([f(x, y)], {x: 2.0, y: 3.0}), at) == [gradient[0] * 2.0 + gradient[1] * 3.0]


def test_an_expression_used_twice_counts_twice():
    x = Graph().inputs("x", 1)[0]
    square = x * x
    assert evaluate(vjp([square + square * square], [1.0], [x]), {x: 3.0}) == [2 * 3.0 + 4 * 27.0]


def test_several_roots_add_their_cotangents():
    x, y = Graph().inputs("x", 2)
    assert evaluate(vjp([x * y, x, y], [2.0, 10.0, y], [x, y]), {x: 3.0, y: 5.0}) == [2 * 5.0 + 10.0, 2 * 3.0 + 5.0]


def test_the_same_root_twice_counts_twice():
    x = Graph().inputs("x", 1)[0]
    assert vjp([x, x], [2.0, 3.0], [x]) == [5.0]


def test_constant_roots_and_unused_inputs_have_derivative_zero():
    x, y = Graph().inputs("x", 2)
    assert jvp([3.0, x], {y: 1.0}) == [0.0, 0.0]
    assert vjp([3.0, x], [1.0, 1.0], [y]) == [0.0]


def test_a_root_that_is_an_input_has_the_tangent_given():
    x = Graph().inputs("x", 1)[0]
    assert jvp([x], {x: 4.0}) == [4.0]
    assert vjp([x], [4.0], [x]) == [4.0]


def test_tangents_may_be_expressions():
    x, dx = Graph().inputs("x", 2)
    assert jvp([sin(x)], {x: dx}) == [cos(x) * dx]
    assert vjp([sin(x)], [dx], [x]) == [cos(x) * dx]


@pytest.mark.parametrize("one", [2, np.float64(2), np.float32(2), np.int64(2)])
def test_tangents_may_be_any_real_number(one):
    x, y = Graph().inputs("x", 2)
    for [slope] in (jvp([x * y], {x: one}), vjp([x * y], [one], [x])):
        assert slope is y * 2.0
        assert [a.__class__ for a in slope.args] == [Expr, float]


def test_tangent_of_an_inner_node_stops_there():
    x = Graph().inputs("x", 1)[0]
    inner = sin(x)
    assert jvp([inner * 3.0], {inner: 1.0, x: 100.0}) == [3.0]


def test_lists_of_different_length_are_refused():
    x = Graph().inputs("x", 1)[0]
    with pytest.raises(ValueError, match="zip"):
        vjp([x], [1.0, 2.0], [x])


def test_derivative_of_a_polynomial_is_folded():
    x = Graph().inputs("x", 1)[0]
    assert jvp([x * 3.0 + 2.0], {x: 1.0}) == [3.0]
    assert jvp(jvp([x * x], {x: 1.0}), {x: 1.0}) == [2.0]


def test_slope_of_arcs_and_tan():
    x = Graph().inputs("x", 1)[0]
    slopes = evaluate(jvp([asin(x), acos(x), tan(x)], {x: 1.0}), {x: 0.3})
    arc = 1.0 / math.sqrt(1.0 - 0.09)
    assert slopes == pytest.approx([arc, -arc, 1.0 + math.tan(0.3) ** 2])
