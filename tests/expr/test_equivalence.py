"""Random calculations: folding and common subexpressions must not change what is computed."""

import numpy as np
from hypothesis import given

from fourbar.expr import Expr, Graph, evaluate, reachable

from .support import EXAMPLES, assume_moderate, generic, interpreted, last, recipes, run, seeds


@EXAMPLES
@given(recipes, seeds)
def test_program_of_a_calculation_gives_its_numbers(recipe, seed):
    numbers = generic(seed, 3)
    direct = run(recipe, numbers)
    assume_moderate(direct)
    np.testing.assert_allclose(interpreted(lambda x: last(recipe, x), *numbers), direct[-3:], rtol=1e-7, atol=1e-7)


@EXAMPLES
@given(recipes, seeds)
def test_evaluating_a_trace_gives_its_numbers(recipe, seed):
    numbers = generic(seed, 3)
    direct = run(recipe, numbers)
    assume_moderate(direct)
    x = Graph().inputs("x", 3)
    again = evaluate(run(recipe, x), dict(zip(x, numbers, strict=True)))
    np.testing.assert_allclose(again, direct, rtol=1e-7, atol=1e-7)


@EXAMPLES
@given(recipes)
def test_tracing_again_makes_no_new_node(recipe):
    graph = Graph()
    x = graph.inputs("x", 3)
    first = run(recipe, x)
    count = len(graph.nodes)
    assert all(a is b or a == b for a, b in zip(first, run(recipe, x), strict=True))
    assert len(graph.nodes) == count


@EXAMPLES
@given(recipes)
def test_nodes_are_distinct_and_in_topological_order(recipe):
    graph = Graph()
    run(recipe, graph.inputs("x", 3))
    assert [node.id for node in graph.nodes] == list(range(len(graph.nodes)))
    assert len({(node.op, node.args) for node in graph.nodes}) == len(graph.nodes)
    for node in graph.nodes:
        assert all(a.id < node.id for a in node.args if isinstance(a, Expr))


@EXAMPLES
@given(recipes)
def test_no_structural_zero_one_or_doubled_sign_enters_the_graph(recipe):
    graph = Graph()
    run(recipe, graph.inputs("x", 3))
    for node in graph.nodes:
        if node.op in ("add", "mul", "div"):
            assert not any(a.__class__ is float and a == 0.0 for a in node.args)
            assert not any(isinstance(a, Expr) and a.op == "neg" for a in node.args)
        if node.op == "mul":
            assert not any(a.__class__ is float and (a < 0.0 or a == 1.0) for a in node.args)
        if node.op == "neg":
            assert node.args[0].op not in ("neg", "sub")


@EXAMPLES
@given(recipes)
def test_constants_in_the_graph_are_floats(recipe):
    graph = Graph()
    run(recipe, graph.inputs("x", 3))
    for node in graph.nodes:
        if node.op != "input":
            assert all(a.__class__ in (float, Expr) for a in node.args[node.op == "lookup" :])


@EXAMPLES
@given(recipes)
def test_reachable_is_what_a_walk_from_the_roots_meets(recipe):
    graph = Graph()
    roots = last(recipe, graph.inputs("x", 3))
    needed = {r.id for r in roots if isinstance(r, Expr)}
    for node in reversed(graph.nodes):
        if node.id in needed:
            needed.update(a.id for a in node.args if isinstance(a, Expr))
    assert [node.id for node in reachable(roots)] == sorted(needed)
