"""The elementary functions on every kind of scalar they promise to take."""

import cmath
import math

import numpy as np
import pytest

from fourbar.expr import (
    Graph,
    acos,
    asin,
    atan2,
    cos,
    evaluate,
    exp,
    jvp,
    maximum,
    minimum,
    prepare,
    select,
    sin,
    sqrt,
    tan,
    tanh,
)

from .support import Dual, difference, interpreted

ONE_ARGUMENT = {
    "sin": (sin, math.sin, cmath.sin, np.sin),
    "cos": (cos, math.cos, cmath.cos, np.cos),
    "tan": (tan, math.tan, cmath.tan, np.tan),
    "sqrt": (sqrt, math.sqrt, cmath.sqrt, np.sqrt),
    "exp": (exp, math.exp, cmath.exp, np.exp),
    "tanh": (tanh, math.tanh, cmath.tanh, np.tanh),
    "asin": (asin, math.asin, None, np.arcsin),
    "acos": (acos, math.acos, None, np.arccos),
}
EACH = pytest.mark.parametrize("row", ONE_ARGUMENT.values(), ids=ONE_ARGUMENT)
POINTS = [0.0, 0.3, 0.7, 0.999]
QUADRANTS = [(0.3, 0.8), (0.3, -0.8), (-0.3, -0.8), (-0.3, 0.8)]
AXES = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.0, 0.0)]
PAIRS = [(1.0, 2.0), (2.0, 1.0), (-1.0, -1.0)]


@EACH
@pytest.mark.parametrize("p", POINTS)
def test_of_a_float(row, p):
    result = row[0](p)
    assert isinstance(result, float)
    assert result == pytest.approx(row[1](p), rel=1e-14, abs=1e-15)


@EACH
@pytest.mark.parametrize("kind", [int, np.float64, np.float32, np.int64])
def test_of_other_real_numbers(row, kind):
    assert row[0](kind(1)) == pytest.approx(row[1](1.0), rel=1e-6, abs=1e-15)


@EACH
def test_of_an_array(row):
    points = np.array([POINTS, POINTS[::-1]])
    result = row[0](points)
    assert result.shape == points.shape
    np.testing.assert_allclose(result, row[3](points), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sqrt", "exp", "tanh"])
@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_of_a_complex_number_where_analytic(name, kind):
    f, _, of_complex, _ = ONE_ARGUMENT[name]
    z = 0.3 + 0.4j
    assert f(kind(z)) == pytest.approx(of_complex(z), rel=1e-14)


@pytest.mark.parametrize("f", [asin, acos, lambda z: atan2(z, 1.0)])
def test_angles_of_a_complex_number_are_refused(f):
    with pytest.raises(TypeError):
        f(0.1 + 0.2j)


@EACH
@pytest.mark.parametrize("p", POINTS)
def test_of_a_trace(row, p):
    [by_program] = interpreted(lambda x: (row[0](x[0]),), p)
    assert by_program == pytest.approx(row[1](p), rel=1e-14, abs=1e-15)


@EACH
@pytest.mark.parametrize("p", [0.3, 0.7])
def test_of_a_users_number_type(row, p):
    result = row[0](Dual(p, 2.0))
    assert result.value == pytest.approx(row[1](p), rel=1e-14)
    assert result.slope == pytest.approx(2.0 * difference(row[1], [p], [1.0]), rel=1e-9)


@EACH
def test_name_and_documentation(row):
    assert row[0].__name__ in ONE_ARGUMENT
    assert row[0].__doc__


@pytest.mark.parametrize(("y", "x"), QUADRANTS + AXES)
def test_atan2_in_every_quadrant_and_on_the_axes(y, x):
    expected = math.atan2(y, x)
    assert atan2(y, x) == expected
    assert atan2(np.array([y]), x).tolist() == [expected]
    assert interpreted(lambda p: (atan2(p[0], p[1]), atan2(y, p[1]), atan2(p[0], x)), y, x) == pytest.approx(expected)


def test_atan2_of_a_users_number_on_either_side():
    for angle in (atan2(Dual(1.0, 1.0), Dual(2.0)), atan2(Dual(1.0, 1.0), 2.0)):
        assert (angle.value, angle.slope) == pytest.approx((math.atan2(1.0, 2.0), 0.4))
    angle = atan2(1.0, Dual(2.0, 1.0))
    assert (angle.value, angle.slope) == pytest.approx((math.atan2(1.0, 2.0), -0.2))


def test_atan2_takes_a_constant_zero_as_positive_whichever_came_first():
    """Equal constants are one constant to a graph; so the sign of a zero must not decide what the other one means."""
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        x = Graph().inputs("x", 1)[0]
        assert evaluate([atan2(zero, x) for zero in zeros], {x: -1.0}) == [math.pi] * 2
        assert evaluate([x.arctan2(zero) for zero in zeros], {x: 0.0}) == [0.0] * 2


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_minimum_and_maximum(a, b):
    assert (minimum(a, b), maximum(a, b)) == (min(a, b), max(a, b))
    array = np.array([a, b])
    assert minimum(array, b).tolist() == np.minimum(array, b).tolist()
    assert maximum(a, array).tolist() == np.maximum(a, array).tolist()
    assert minimum(Dual(a), Dual(b)).value == min(a, b)
    assert Dual.of(maximum(Dual(a), b)).value == max(a, b)
    expected = [min(a, b), max(a, b)] * 2
    both = interpreted(lambda x: (minimum(*x), maximum(*x), minimum(x[0], b), maximum(a, x[1])), a, b)
    assert both.tolist() == expected


@pytest.mark.parametrize("condition", [True, False, np.True_, np.False_, np.array(True), np.array(False)])
def test_select_by_a_truth_value_returns_a_branch_untouched(condition):
    yes, no = object(), object()
    assert select(condition, yes, no) is (yes if condition else no)


def test_select_by_an_array_chooses_entry_by_entry():
    condition = np.array([[True, False]])
    assert select(condition, 1.0, np.array([[2.0, 3.0]])).tolist() == [[1.0, 3.0]]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_select_in_a_trace(a, b):
    result = interpreted(lambda x: (select(x[0] < x[1], 10.0, x[1]), select(x[0] <= x[1], x[0], -7)), a, b)
    assert result.tolist() == [10.0 if a < b else b, a if a <= b else -7.0]


def test_select_in_a_trace_refuses_what_is_no_scalar():
    x = Graph().inputs("x", 1)[0]
    for branch in (np.array([1.0, 2.0]), (1.0, 2.0), None):
        with pytest.raises(TypeError):
            select(x < 1.0, branch, 0.0)


@pytest.mark.parametrize("f", [sin, cos, tan, sqrt, asin, acos], ids=lambda f: f.__name__)
def test_of_an_array_of_expressions(f):
    x, y = Graph().inputs("x", 2)
    if f in (asin, acos):
        array = np.array([x, y])
        values = evaluate(f(array).tolist(), {x: 0.1, y: 0.2})
        assert values == pytest.approx([f(0.1), f(0.2)])
    else:
        assert f(np.array([x, y])).tolist() == [f(x), f(y)]


@pytest.mark.parametrize("p", [1e-9, 0.5, 1.0 - 1e-12])
def test_arcs_are_accurate_near_the_ends_of_their_range(p):
    assert asin(p) == pytest.approx(math.asin(p), rel=1e-15)
    assert acos(p) == pytest.approx(math.acos(p), rel=1e-14)


@pytest.mark.parametrize("f", [exp, tanh])
def test_of_traced_expressions_to_rounding(f):
    """Relative to what a rounding of x changes; over the whole range, and at its ends."""
    (x,) = Graph().inputs("x", 1)
    points = np.concatenate([np.linspace(-750, 750, 3001), [-1e-12, 1e-300, 0.0, -0.0, 1e-3, 709.7, -709.7, np.inf]])
    (found,) = prepare([f(x)], (x,))((points,))
    with np.errstate(over="ignore"):
        expected = getattr(np, f.__name__)(points)
    near = np.abs(points) < 709.0
    error = np.abs(found[near] - expected[near]) / np.maximum(np.abs(expected[near]), 1e-308)
    assert (error <= 4e-16 * (4.0 + np.abs(points[near]))).all()
    for far in (points > 710.0, points < -746.0):
        assert np.array_equal(found[far], expected[far])


@pytest.mark.parametrize("f", [exp, tanh])
@pytest.mark.parametrize("p", [-3.0, -0.2, 0.0, 0.4, 2.5])
def test_derivatives_of_what_is_made_of_several_operations(f, p):
    (x,) = Graph().inputs("x", 1)
    (slope,) = prepare(jvp([f(x)], {x: 1.0}), (x,))((np.array(p),))
    assert slope == pytest.approx(math.exp(p) if f is exp else 1.0 - math.tanh(p) ** 2, rel=1e-14)


def test_functions_of_numpy_on_arrays_of_expressions():
    x = np.array(Graph().inputs("x", 2), dtype=object)
    values = np.array([0.3, -0.7])
    for f in (np.exp, np.tanh, np.arctan):
        found = prepare(list(f(x)), tuple(x))(values)
        assert np.allclose(found, f(values), rtol=1e-15)
    with pytest.raises(TypeError, match=r"np\.log of traced expressions is not recorded.*sqrt, exp, tanh"):
        np.log(x)
