"""The folding table: what each rule returns, and that it makes no node on the way."""

import math
import operator

import pytest

from fourbar.expr import Expr, Graph, cos, floor, maximum, minimum, select, sin, sqrt, tan
from fourbar.expr.fold import FOLD, FOLD_SAME, FOLD_UNARY, binary, div, neg, sub
from fourbar.expr.fold import select as fold_select

add, minus, mul, over, power = operator.add, operator.sub, operator.mul, operator.truediv, operator.pow

# operation, its operands, what comes out: for traced scalars x and y.
ROWS = {
    "0 + x": (add, lambda x, y: (0.0, x), lambda x, y: x),
    "x + 0": (add, lambda x, y: (x, 0.0), lambda x, y: x),
    "x + -0.0": (add, lambda x, y: (x, -0.0), lambda x, y: x),
    "x + (-y)": (add, lambda x, y: (x, -y), lambda x, y: x - y),
    "(-x) + y": (add, lambda x, y: (-x, y), lambda x, y: y - x),
    "(-x) + (-y)": (add, lambda x, y: (-x, -y), lambda x, y: -(x + y)),
    "2 + (-x)": (add, lambda x, y: (2.0, -x), lambda x, y: 2.0 - x),
    "(-x) + 2": (add, lambda x, y: (-x, 2.0), lambda x, y: 2.0 - x),
    "x + (-x)": (add, lambda x, y: (x, -x), lambda x, y: 0.0),
    "x - 0": (minus, lambda x, y: (x, 0.0), lambda x, y: x),
    "0 - x": (minus, lambda x, y: (0.0, x), lambda x, y: -x),
    "x - 2": (minus, lambda x, y: (x, 2.0), lambda x, y: x + -2.0),
    "x - (-y)": (minus, lambda x, y: (x, -y), lambda x, y: x + y),
    "(-x) - y": (minus, lambda x, y: (-x, y), lambda x, y: -(x + y)),
    "(-x) - (-y)": (minus, lambda x, y: (-x, -y), lambda x, y: y - x),
    "(-x) - 2": (minus, lambda x, y: (-x, 2.0), lambda x, y: -2.0 - x),
    "2 - (-x)": (minus, lambda x, y: (2.0, -x), lambda x, y: x + 2.0),
    "x - x": (minus, lambda x, y: (x, x), lambda x, y: 0.0),
    "0 * x": (mul, lambda x, y: (0.0, x), lambda x, y: 0.0),
    "x * 0": (mul, lambda x, y: (x, 0.0), lambda x, y: 0.0),
    "1 * x": (mul, lambda x, y: (1.0, x), lambda x, y: x),
    "x * 1": (mul, lambda x, y: (x, 1.0), lambda x, y: x),
    "-1 * x": (mul, lambda x, y: (-1.0, x), lambda x, y: -x),
    "x * -1": (mul, lambda x, y: (x, -1.0), lambda x, y: -x),
    "-1 * (-x)": (mul, lambda x, y: (-1.0, -x), lambda x, y: x),
    "(x - y) * -1": (mul, lambda x, y: (x - y, -1.0), lambda x, y: y - x),
    "2 * x": (mul, lambda x, y: (2.0, x), lambda x, y: x * 2.0),
    "x * -2": (mul, lambda x, y: (x, -2.0), lambda x, y: -(x * 2.0)),
    "-2 * x": (mul, lambda x, y: (-2.0, x), lambda x, y: -(x * 2.0)),
    "(-x) * 2": (mul, lambda x, y: (-x, 2.0), lambda x, y: -(x * 2.0)),
    "(-x) * y": (mul, lambda x, y: (-x, y), lambda x, y: -(x * y)),
    "x * (-y)": (mul, lambda x, y: (x, -y), lambda x, y: -(x * y)),
    "(-x) * (-y)": (mul, lambda x, y: (-x, -y), lambda x, y: x * y),
    "x / 1": (over, lambda x, y: (x, 1.0), lambda x, y: x),
    "x / -1": (over, lambda x, y: (x, -1.0), lambda x, y: -x),
    "x / 4": (over, lambda x, y: (x, 4.0), lambda x, y: x * 0.25),
    "x / -4": (over, lambda x, y: (x, -4.0), lambda x, y: -(x * 0.25)),
    "x / inf": (over, lambda x, y: (x, math.inf), lambda x, y: 0.0),
    "0 / x": (over, lambda x, y: (0.0, x), lambda x, y: 0.0),
    "(-x) / y": (over, lambda x, y: (-x, y), lambda x, y: -(x / y)),
    "x / (-y)": (over, lambda x, y: (x, -y), lambda x, y: -(x / y)),
    "(-x) / (-y)": (over, lambda x, y: (-x, -y), lambda x, y: x / y),
    "x / x": (over, lambda x, y: (x, x), lambda x, y: 1.0),
    "(-x) / x": (over, lambda x, y: (-x, x), lambda x, y: -1.0),
    "-(-x)": (operator.neg, lambda x, y: (-x,), lambda x, y: x),
    "-(x - y)": (operator.neg, lambda x, y: (x - y,), lambda x, y: y - x),
    "-(2 - x)": (operator.neg, lambda x, y: (2.0 - x,), lambda x, y: x + -2.0),
    "+x": (operator.pos, lambda x, y: (x,), lambda x, y: x),
    "sin(-x)": (sin, lambda x, y: (-x,), lambda x, y: -sin(x)),
    "cos(-x)": (cos, lambda x, y: (-x,), lambda x, y: cos(x)),
    "x ** 0": (power, lambda x, y: (x, 0), lambda x, y: 1.0),
    "x ** 1": (power, lambda x, y: (x, 1), lambda x, y: x),
    "x ** 2": (power, lambda x, y: (x, 2), lambda x, y: x * x),
    "(-x) ** 2": (power, lambda x, y: (-x, 2), lambda x, y: x * x),
    "(-x) ** 3": (power, lambda x, y: (-x, 3), lambda x, y: -(x * x * x)),
    "x ** -2": (power, lambda x, y: (x, -2), lambda x, y: 1.0 / (x * x)),
    "min(x, x)": (minimum, lambda x, y: (x, x), lambda x, y: x),
    "max(x, x)": (maximum, lambda x, y: (x, x), lambda x, y: x),
    "select(c, x, x)": (select, lambda x, y: (x < y, x, x), lambda x, y: x),
    "select(c, 2, 2)": (select, lambda x, y: (x < y, 2.0, 2.0), lambda x, y: 2.0),
    "select(True, x, y)": (fold_select, lambda x, y: (True, x, y), lambda x, y: x),
    "select(False, x, y)": (fold_select, lambda x, y: (False, x, y), lambda x, y: y),
    "select(x < x, x, y)": (select, lambda x, y: (x < x, x, y), lambda x, y: y),
    "select(x <= x, x, y)": (select, lambda x, y: (x <= x, x, y), lambda x, y: x),
    "x < x": (operator.lt, lambda x, y: (x, x), lambda x, y: False),
    "x > x": (operator.gt, lambda x, y: (x, x), lambda x, y: False),
    "x <= x": (operator.le, lambda x, y: (x, x), lambda x, y: True),
    "x >= x": (operator.ge, lambda x, y: (x, x), lambda x, y: True),
    "y > x is x < y": (operator.gt, lambda x, y: (y, x), lambda x, y: x < y),
    "y >= x is x <= y": (operator.ge, lambda x, y: (y, x), lambda x, y: x <= y),
}
# These fold twice in a row, and the node in between stays behind unused.
ROWS_OF_TWO_STEPS = {
    "(-x) * -2": (mul, lambda x, y: (-x, -2.0), lambda x, y: x * 2.0),
    "(-x) / -4": (over, lambda x, y: (-x, -4.0), lambda x, y: x * 0.25),
    "tan(-x)": (tan, lambda x, y: (-x,), lambda x, y: -tan(x)),
}


def same(got, expected):
    """The same node, or the same constant of the same type."""
    if isinstance(expected, Expr):
        return got is expected
    return got.__class__ is expected.__class__ and got == expected


@pytest.fixture
def xy():
    return Graph().inputs("x", 2)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_rule_returns_what_it_says_and_makes_no_other_node(row, xy):
    operation, operands, expected = row
    wanted = expected(*xy)
    given = operands(*xy)
    before = len(xy[0].graph.nodes)
    assert same(operation(*given), wanted)
    assert len(xy[0].graph.nodes) == before


@pytest.mark.parametrize("row", ROWS_OF_TWO_STEPS.values(), ids=ROWS_OF_TWO_STEPS)
def test_rule_that_folds_twice(row, xy):
    operation, operands, expected = row
    assert operation(*operands(*xy)) is expected(*xy)


CONSTANT_FOLDING = {
    "add": 5.0, "sub": 1.0, "mul": 6.0, "div": 1.5, "atan2": math.atan2(3.0, 2.0), "min": 2.0, "max": 3.0, "lt": False,
    "le": False,
}  # fmt: skip


@pytest.mark.parametrize("op", FOLD)
def test_constants_fold_to_a_constant(op):
    assert binary(op, 3.0, 2.0) == CONSTANT_FOLDING[op]


def test_negated_constant_is_a_constant():
    assert neg(2.0) == -2.0


@pytest.mark.parametrize("op", [op for op in FOLD if op not in ("add", "mul")])
def test_operations_without_a_rule_keep_the_order_of_their_operands(op, xy):
    x, y = xy
    node = binary(op, y, x)
    assert (node.op, node.args) == (op, (y, x))


@pytest.mark.parametrize("op", ["add", "mul"])
def test_commutative_operands_are_ordered_by_age(op, xy):
    x, y = xy
    swapped = getattr(operator, op)(y, x)
    assert swapped.args == (x, y)
    assert swapped is getattr(operator, op)(x, y)


@pytest.mark.parametrize("op", ["add", "mul"])
def test_commutative_constant_comes_last(op, xy):
    x, _ = xy
    assert getattr(operator, op)(3.0, x).args == (x, 3.0)


@pytest.mark.parametrize("op", [op for op in FOLD_UNARY if op != "neg"])
def test_unary_operations_of_equal_operands_are_one_node(op, xy):
    x, y = xy
    f = {"sin": sin, "cos": cos, "sqrt": sqrt, "floor": floor}[op]
    assert f(x * y) is f(y * x)
    assert f(x) is not f(y)


@pytest.mark.parametrize("op", [op for op in FOLD if op not in FOLD_SAME])
def test_an_operand_used_twice_makes_a_node_where_no_rule_says_otherwise(op, xy):
    x, _ = xy
    assert (x + x if op == "add" else x * x if op == "mul" else binary(op, x, x)).args == (x, x)


def test_products_with_c_and_minus_c_share_their_product(xy):
    x, _ = xy
    assert (x * -3.0).args == (x * 3.0,)


def test_equal_subexpressions_of_a_long_formula_are_made_once(xy):
    x, y = xy
    first = sin(x * y + 1.0) / (cos(x) - y)
    count = len(x.graph.nodes)
    assert sin(1.0 + y * x) / (cos(x) - y) is first
    assert len(x.graph.nodes) == count


def test_different_constants_are_different_nodes(xy):
    x, _ = xy
    assert x + 2.0 is not x + 3.0


def test_select_of_different_branches_is_a_node(xy):
    x, y = xy
    assert select(x < y, 1.0, x).args == (x < y, 1.0, x)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_division_by_the_constant_zero_is_refused(xy, zero):
    with pytest.raises(ZeroDivisionError, match=r"constant zero: \(x\[0\]\) / 0"):
        xy[0] / zero


def test_infinite_and_undefined_constants_are_kept(xy):
    x, _ = xy
    assert (x * math.inf).args == (x, math.inf)
    assert math.isnan((x + math.nan).args[1])


def test_difference_and_quotient_of_one_constant(xy):
    assert sub(2.5, 2.5) == 0.0
    assert div(2.5, 2.5) == 1.0


def test_repr_names_inputs_and_numbers_the_rest(xy):
    x, y = xy
    assert repr(x) == "x[0]"
    assert repr(x * y) == "%2 = mul(%0, %1)"
    assert repr(x + 2.0) == "%3 = add(%0, 2.0)"
