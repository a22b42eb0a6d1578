"""A trace run again on other scalars."""

import cmath

import numpy as np
import pytest
from hypothesis import given

from fourbar.expr import Graph, atan2, cos, evaluate, maximum, select, sin, sqrt

from .support import EXAMPLES, Dual, generic, last, recipes, run, seeds


def formulas(x, y):
    return [x * y - 2.0, sin(x) / y, select(x < y, x, y), maximum(x, y), atan2(y, x), sqrt(y * y)]


@pytest.fixture
def traced():
    x, y = Graph().inputs("x", 2)
    return x, y, formulas(x, y)


def test_on_floats(traced):
    x, y, roots = traced
    assert evaluate(roots, {x: 0.5, y: 2.0}) == pytest.approx(formulas(0.5, 2.0), rel=1e-15)


def test_on_arrays(traced):
    x, y, roots = traced
    p, q = np.array([0.5, 1.5, -2.0]), np.array([[2.0], [-1.0]])
    for got, expected in zip(evaluate(roots, {x: p, y: q}), formulas(p, q), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_on_a_mixture_of_floats_and_arrays(traced):
    x, y, roots = traced
    p = np.array([0.5, 3.0])
    for got, expected in zip(evaluate(roots, {x: p, y: 2.0}), formulas(p, 2.0), strict=True):
        np.testing.assert_allclose(np.broadcast_to(got, 2), expected, rtol=1e-15)


def test_on_complex_numbers():
    x, y = Graph().inputs("x", 2)
    z = 0.3 + 0.1j
    [value] = evaluate([sin(x) * sqrt(y) - x / y + cos(y)], {x: z, y: 2.0 * z})
    assert value == pytest.approx(cmath.sin(z) * cmath.sqrt(2.0 * z) - 0.5 + cmath.cos(2.0 * z))


def test_on_a_users_number_type(traced):
    x, y, roots = traced
    slopes = [r.slope for r in evaluate(roots, {x: Dual(0.5, 1.0), y: Dual(2.0)})]
    assert slopes == pytest.approx([2.0, np.cos(0.5) / 2.0, 1.0, 0.0, -2.0 / 4.25, 0.0])


def test_on_another_graph_gives_the_nodes_a_fresh_trace_would(traced):
    x, y, roots = traced
    p, q = Graph().inputs("p", 2)
    assert evaluate(roots, {x: p, y: q}) == formulas(p, q)


def test_on_constants_folds_everything(traced):
    x, y, roots = traced
    p = Graph().inputs("p", 1)[0]
    product, quotient, *_ = evaluate(roots, {x: 0.0, y: p})
    assert (product, quotient) == (-2.0, 0.0)
    assert evaluate([select(x < y, x, y)], {x: p, y: p}) == [p]


def test_on_its_own_graph_substitutes(traced):
    x, y, _ = traced
    assert evaluate([sin(x) + y], {x: y * y, y: x}) == [sin(y * y) + x]


def test_constants_among_the_roots_come_back():
    x = Graph().inputs("x", 1)[0]
    assert evaluate([1.5, x, 0.0], {x: 2.0}) == [1.5, 2.0, 0.0]
    assert evaluate([], {}) == []


def test_a_value_given_for_an_inner_node_is_taken(traced):
    x, y, _ = traced
    inner = x * y
    assert evaluate([inner + 1.0], {x: 2.0, y: 3.0, inner: 100.0}) == [101.0]


def test_missing_input_is_named(traced):
    x, _, roots = traced
    with pytest.raises(KeyError, match=r"no value was given for x\[1\]"):
        evaluate(roots, {x: 1.0})


def test_inputs_that_are_not_needed_may_be_missing(traced):
    x, _, _ = traced
    assert evaluate([x * 2.0], {x: 1.0}) == [2.0]


@EXAMPLES
@given(recipes)
def test_random_traces_move_to_another_graph(recipe):
    x, z = Graph().inputs("x", 3), Graph().inputs("z", 3)
    moved = evaluate(run(recipe, x), dict(zip(x, z, strict=True)))
    assert all(a is b or a == b for a, b in zip(moved, run(recipe, z), strict=True))


@EXAMPLES
@given(recipes, seeds)
def test_random_traces_on_arrays_agree_with_floats(recipe, seed):
    x = Graph().inputs("x", 2)
    roots = last(recipe, x)
    p, q = np.array(generic(seed, 3)), np.array(generic(seed + 1, 3))
    together = evaluate(roots, {x[0]: p, x[1]: q})
    for k in range(3):
        alone = evaluate(roots, {x[0]: p[k], x[1]: q[k]})
        np.testing.assert_allclose([np.broadcast_to(r, 3)[k] for r in together], alone, rtol=1e-7, atol=1e-7)
