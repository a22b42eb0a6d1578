"""Derivatives of random calculations: against dual numbers, against each other."""

import numpy as np
import pytest
from hypothesis import given

from fourbar.expr import Graph, evaluate, jvp, vjp

from .support import EXAMPLES, Dual, assume_moderate, generic, last, recipes, seeds


def setting(recipe, seed):
    """Inputs, roots, a point and a direction; none of the numbers on the way is large."""
    x = Graph().inputs("x", 3)
    roots = last(recipe, x)
    point, direction = generic(seed, 3), generic(seed + 1, 3)
    duals = {a: Dual(p, d) for a, p, d in zip(x, point, direction, strict=True)}
    known = [Dual.of(v) for v in evaluate([*x[0].graph.nodes, *roots], duals)]
    assume_moderate([v.value for v in known])
    assume_moderate([v.slope for v in known], limit=1e4)
    return x, roots, dict(zip(x, point, strict=True)), direction, [v.slope for v in known[-len(roots) :]]


def near(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)


@EXAMPLES
@given(recipes, seeds)
def test_forward_derivative_is_that_of_dual_numbers(recipe, seed):
    x, roots, at, direction, slopes = setting(recipe, seed)
    near(evaluate(jvp(roots, dict(zip(x, direction, strict=True))), at), slopes)


@EXAMPLES
@given(recipes, seeds)
def test_reverse_is_the_adjoint_of_forward(recipe, seed):
    """<w, J t> = <Jᵀ w, t>."""
    x, roots, at, t, slopes = setting(recipe, seed)
    w = generic(seed + 2, len(roots))
    gradient = evaluate(vjp(roots, w, x), at)
    near(np.dot(gradient, t), np.dot(w, slopes))


@EXAMPLES
@given(recipes, seeds)
def test_second_derivatives_are_symmetric(recipe, seed):
    x, roots, at, t, _ = setting(recipe, seed)
    s = generic(seed + 3, len(x))
    one, other = (dict(zip(x, v, strict=True)) for v in (s, t))
    ahead = evaluate(jvp(jvp(roots, one), other), at)
    assume_moderate(ahead, limit=1e4)
    near(ahead, evaluate(jvp(jvp(roots, other), one), at))


@EXAMPLES
@given(recipes, seeds)
def test_forward_of_reverse_is_reverse_of_forward(recipe, seed):
    x, roots, at, t, _ = setting(recipe, seed)
    w = generic(seed + 2, len(roots))
    tangents = dict(zip(x, t, strict=True))
    one = evaluate(jvp(vjp(roots, w, x), tangents), at)
    assume_moderate(one, limit=1e4)
    near(one, evaluate(vjp(jvp(roots, tangents), w, x), at))


@EXAMPLES
@given(recipes, seeds)
def test_derivative_is_linear_in_the_tangent(recipe, seed):
    x, roots, at, t, slopes = setting(recipe, seed)
    s = generic(seed + 3, len(x))
    along_s = evaluate(jvp(roots, dict(zip(x, s, strict=True))), at)
    both = {a: 2.0 * p - 3.0 * q for a, p, q in zip(x, t, s, strict=True)}
    near(evaluate(jvp(roots, both), at), 2.0 * np.array(slopes) - 3.0 * np.array(along_s))


@EXAMPLES
@given(recipes, seeds)
def test_roots_keep_their_nodes(recipe, seed):
    """Differentiating only adds to a graph."""
    graph = Graph()
    x = graph.inputs("x", 3)
    roots = last(recipe, x)
    before = list(graph.nodes)
    vjp(roots, [1.0] * len(roots), x)
    jvp(roots, {x[0]: 1.0})
    assert graph.nodes[: len(before)] == before


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_a_gradient_costs_a_few_times_the_function(count):
    """The number of nodes of a gradient does not grow with the number of inputs."""
    graph = Graph()
    x = graph.inputs("x", count)
    total = 0.0
    for a in x:
        total = total * a + a * a
    cost = len(graph.nodes)
    vjp([total], [1.0], x)
    assert len(graph.nodes) <= 6 * cost
