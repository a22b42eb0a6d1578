"""Python's and NumPy's operators on traced scalars."""

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fourbar.expr import Expr, Graph, atan2, cos, evaluate, maximum, minimum, select, sin, sqrt, tan

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]
TWO = [2, 2.0, np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.int8(2), np.uint8(2), Fraction(2)]


@pytest.fixture
def x():
    return Graph().inputs("x", 1)[0]


def kind_of(number):
    return f"{type(number).__name__}"


@pytest.mark.parametrize("number", TWO, ids=kind_of)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_any_real_number_on_the_right_counts_as_a_float(x, op, number):
    assert op(x, number) is op(x, 2.0)


@pytest.mark.parametrize("number", TWO, ids=kind_of)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_any_real_number_on_the_left_counts_as_a_float(x, op, number):
    assert op(number, x) is op(2.0, x)


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=kind_of)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparison_with_a_number_on_the_left(x, op, number):
    assert op(number, x) is op(2.0, x)


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic_with_an_array_without_axes_gives_a_scalar(x, op):
    assert op(x, np.array(2.0)) is op(x, 2.0)
    assert op(np.array(2.0), x) is op(2.0, x)


def test_single_precision_constants_keep_their_value(x):
    assert (x * np.float32(0.1)).args == (x, float(np.float32(0.1)))


@pytest.mark.parametrize("number", [2, np.float64(2), np.float32(2), np.int64(2), Fraction(2)], ids=kind_of)
@pytest.mark.parametrize("f", [minimum, maximum, atan2], ids=lambda f: f.__name__)
def test_functions_of_two_arguments_take_any_real_number(x, f, number):
    assert f(x, number) is f(x, 2.0)
    assert f(number, x) is f(2.0, x)
    assert all(a.__class__ in (float, Expr) for a in f(x, number).args)


@pytest.mark.parametrize("number", [2, True, np.float64(2), np.float32(2), np.int64(2)], ids=kind_of)
def test_select_takes_any_real_number(x, number):
    node = select(x < 1, number, 0)
    assert node is select(x < 1.0, float(number), 0.0)
    assert [a.__class__ for a in node.args[1:]] == [float, float]


@pytest.mark.parametrize("thing", [1j, "2", None, Decimal(2), [1.0]], ids=kind_of)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, operator.pow])
def test_what_is_no_real_number_is_refused(x, op, thing):
    with pytest.raises(TypeError):
        op(x, thing)


def test_expression_times_array_maps_over_the_array(x):
    product = x * np.array([[0.0, 1.0], [2.0, -1.0]])
    assert product.dtype == object
    assert product.tolist() == [[0.0, x], [x * 2.0, -x]]


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arrays_on_either_side(x, op):
    array = np.array([2.0, 3.0])
    assert op(x, array).tolist() == [op(x, 2.0), op(x, 3.0)]
    assert op(array, x).tolist() == [op(2.0, x), op(3.0, x)]


def test_matrix_product_with_an_array_of_expressions(x):
    vector = np.array([x, 1.0, -x])
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    assert (matrix @ vector).tolist() == [x + 2.0, 1.0 - x]


def test_comparison_with_an_array_maps_over_it(x):
    array = np.array([1.0, 2.0])
    assert operator.lt(x, array).tolist() == [x < 1.0, x < 2.0]
    assert operator.ge(array, x).tolist() == [x <= 1.0, x <= 2.0]
    with pytest.raises(TypeError, match=r"fourbar\.select"):
        bool((x < array).all())


@pytest.mark.parametrize(
    ("of_numpy", "ours"),
    [(np.sin, sin), (np.cos, cos), (np.tan, tan), (np.sqrt, sqrt), (np.abs, abs), (np.negative, operator.neg)],
)
def test_functions_of_numpy_on_an_array_of_expressions(x, of_numpy, ours):
    assert of_numpy(np.array([x, 2.0 * x])).tolist() == [ours(x), ours(2.0 * x)]


def test_arctan2_of_numpy_on_an_array_of_expressions(x):
    assert np.arctan2(np.array([x, x]), np.array([1.0, x * x], object)).tolist() == [atan2(x, 1.0), atan2(x, x * x)]


@pytest.mark.parametrize("n", [*range(-5, 8), 64, -64, 3.0, np.int64(3), np.float32(2)])
def test_whole_powers(x, n):
    [value] = evaluate([x**n], {x: 1.1})
    assert value == pytest.approx(1.1 ** float(n), rel=1e-13)


@pytest.mark.parametrize("n", [0.5, 65, -65, -0.5, math.inf, -math.inf, math.nan, 1e300])
def test_other_powers_are_refused(x, n):
    with pytest.raises(TypeError, match=r"small integer powers.*use sqrt"):
        x**n


def test_power_with_a_traced_exponent_is_refused(x):
    with pytest.raises(TypeError, match="small integer powers"):
        x**x
    with pytest.raises(TypeError):
        2.0**x


@pytest.mark.parametrize("number", [-3.0, 3.0, 0.0])
def test_absolute_value(x, number):
    assert evaluate([abs(x), abs(-x)], {x: number}) == [abs(number)] * 2


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)])
def test_comparisons(op, a, b):
    x, y = Graph().inputs("x", 2)
    assert evaluate([op(x, y)], {x: a, y: b}) == [op(a, b)]
    assert evaluate([op(x, b)], {x: a}) == [op(a, b)]


def test_equality_is_identity(x):
    assert x == x
    assert x != x + 1.0
    assert len({x, x * 1.0, 2.0 * x}) == 2


QUESTIONS = {
    "bool": bool,
    "if": lambda x: 1.0 if x < 1.0 else 2.0,
    "and": lambda x: x and 1.0,
    "not": lambda x: not x,
    "chained comparison": lambda x: 0.0 < x < 1.0,
    "min": lambda x: min(x, 1.0),
    "sorted": lambda x: sorted([x, 1.0]),
}


@pytest.mark.parametrize("use", QUESTIONS.values(), ids=QUESTIONS)
def test_truth_of_a_trace_is_refused_with_advice(x, use):
    with pytest.raises(TypeError, match=r"unknown while tracing; write fourbar\.select\(condition"):
        use(x)


CONVERSIONS = {
    "float": float,
    "math.sin": math.sin,
    "math.sqrt": math.sqrt,
    "array of floats": lambda x: np.array([x], float),
    "entry of an array": lambda x: np.zeros(2).__setitem__(0, x),
}


@pytest.mark.parametrize("use", CONVERSIONS.values(), ids=CONVERSIONS)
def test_number_of_a_trace_is_refused_with_advice(x, use):
    with pytest.raises((TypeError, ValueError)) as caught:
        use(x)
    said = f"{caught.value} {caught.value.__cause__}"
    assert "has no numerical value yet; use fourbar's sin, cos" in said


@pytest.mark.parametrize("use", [int, operator.index, list, len, [1, 2].__getitem__, lambda x: x // 2, lambda x: x % 2])
def test_other_uses_as_a_number_are_refused(x, use):
    with pytest.raises(TypeError):
        use(x)


MIXTURES = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "lt": operator.lt,
    "ge": operator.ge,
    "min": minimum,
    "max": maximum,
    "atan2": atan2,
    "select's condition": lambda a, b: select(a < 1.0, b, 0.0),
    "select's branch": lambda a, b: select(a < 1.0, a, b),
    "after folding": lambda a, b: (-a) - b,
}


@pytest.mark.parametrize("mix", MIXTURES.values(), ids=MIXTURES)
def test_mixing_two_traces_is_refused(x, mix):
    other = Graph().inputs("z", 3)[2]
    for a, b in ((x, other), (other, x)):
        with pytest.raises(ValueError, match=r"two traces are mixed in one expression.*different graphs"):
            mix(a, b)
