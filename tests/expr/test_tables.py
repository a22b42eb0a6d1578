"""Every table of operations knows the same operations; a new one must be entered everywhere."""

import pytest

from fourbar.expr import Block, Store
from fourbar.expr.autodiff import JVP, VJP
from fourbar.expr.evaluate import MEANING as EVALUATE
from fourbar.expr.fold import FOLD, FOLD_SAME, FOLD_UNARY
from fourbar.expr.interpret import MEANING

from .support import STEPS
from .test_derive import CASES

TABLES = {
    "jvp": JVP,
    "vjp": VJP,
    "evaluate": EVALUATE,
    "fold": {**FOLD, **FOLD_UNARY, "select": None, "lookup": None},
    "tests": CASES,
}
ARITY = dict.fromkeys(FOLD_UNARY, 1) | dict.fromkeys(FOLD, 2) | {"select": 3, "lookup": 1}
CONDITIONS = ("lt", "le")


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_same_operations_everywhere(table):
    assert set(table) == set(MEANING)


def test_rules_for_equal_operands_belong_to_binary_operations():
    assert set(FOLD_SAME) <= set(FOLD)


def test_random_calculations_use_every_operation():
    from fourbar.expr import Graph

    graph = Graph()
    x = graph.inputs("x", 3)
    for step in STEPS.values():
        step(*x)
    assert {node.op for node in graph.nodes} == {*MEANING, "input"}


def block_of(op):
    """One operation of loaded values. A condition cannot be stored, so it chooses between two numbers."""
    loads = [("load", 0, k) for k in range(ARITY[op])]
    if op == "select":
        code = [*loads, ("lt", 0, 1), ("select", 3, 1, 2)]
    elif op == "lookup":
        code = [*loads, ("lookup", bytes(16), 0)]
    elif op in CONDITIONS:
        code = [*loads, (op, 0, 1), ("select", 2, 1.0, 0.0)]
    else:
        code = [*loads, (op, *range(ARITY[op]))]
    return Block(1, 0, tuple(code), (Store(0, 9, len(code) - 1),))


@pytest.mark.parametrize("fma", [False, True])
@pytest.mark.parametrize("op", MEANING)
def test_machine_code_can_be_made_of_every_operation(op, fma):
    pytest.importorskip("llvmlite")
    from fourbar.compile.ir import Lanes
    from fourbar.compile.kernel import emit_block, module
    from fourbar.compile.llvm import to_object

    lanes = Lanes(2, fma)
    assert to_object(module([emit_block("f", block_of(op), lanes, fixed=True)], lanes))


def test_an_unknown_operation_is_refused_by_the_emitter():
    from fourbar.compile.ir import Lanes
    from fourbar.compile.kernel import emit_block

    block = Block(1, 0, (("load", 0, 0), ("gamma", 0)), (Store(0, 1, 1),))
    with pytest.raises(ValueError, match="no code for operation 'gamma'"):
        emit_block("f", block, Lanes(2, fma=False), fixed=True)
