"""The meaning of a program, in NumPy."""

import numpy as np
import pytest

from fourbar.expr import Block, Call, Input, Output, Program, Shared, Store, Unrolled, interpret, maximum, sin
from fourbar.expr.interpret import MEANING

MAKERS = {"unrolled": Unrolled, "small blocks": lambda: Unrolled(block_size=1), "shared": Shared}
RECORDERS = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def product(a, b):
    return tuple(x * y for x, y in zip(a, b, strict=True)), maximum(a[0], b[0])


def two_results(recorder):
    """p = a * b entry by entry, m = max(a[0], b[0]), and the constants and inputs as they are."""
    a, b = recorder.input("a", (3,)), recorder.input("b", (3,))
    p, m = recorder.call(product, a, b)
    outputs = [("p", (3,), p), ("m", (), (m,)), ("same", (3,), a), ("mixed", (2, 2), (b[2], 7.0, m, 7.0))]
    return recorder.finish("two", outputs)


@RECORDERS
def test_several_results(make):
    a, b = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    found = interpret(two_results(make()), {"a": a, "b": b})
    assert list(found) == ["p", "m", "same", "mixed"]
    assert found["p"].tolist() == [4.0, 10.0, 18.0]
    assert found["m"].shape == ()
    assert found["m"] == 4.0
    assert found["same"].tolist() == a.tolist()
    assert found["mixed"].tolist() == [[6.0, 7.0], [4.0, 7.0]]


BATCHES = [((), ()), ((5,), ()), ((), (5,)), ((5,), (5,)), ((4, 1), (5,)), ((1, 1), (2, 3)), ((0,), ()), ((0,), (1,))]


@RECORDERS
@pytest.mark.parametrize(("first", "second"), BATCHES)
def test_leading_axes_broadcast(make, first, second):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(*first, 3)), rng.normal(size=(*second, 3))
    found = interpret(two_results(make()), {"a": a, "b": b})
    batch = np.broadcast_shapes(first, second)
    assert {name: array.shape for name, array in found.items()} == {
        "p": (*batch, 3), "m": batch, "same": (*batch, 3), "mixed": (*batch, 2, 2)
    }  # fmt: skip
    np.testing.assert_array_equal(found["p"], a * b)
    np.testing.assert_array_equal(found["m"], np.maximum(a[..., 0], b[..., 0]))
    np.testing.assert_array_equal(found["same"], np.broadcast_to(a, (*batch, 3)))
    np.testing.assert_array_equal(found["mixed"][..., 0, 1], np.full(batch, 7.0))


@RECORDERS
def test_scalars_in_scalars_out(make):
    recorder = make()
    [t] = recorder.input("t", ())
    [y] = recorder.call(lambda t: (sin(t) + 1.0,), t)
    program = recorder.finish("scalar", [("y", (), (y,))])
    assert interpret(program, {"t": 0.0})["y"].shape == ()
    assert interpret(program, {"t": 0.0})["y"] == 1.0
    assert interpret(program, {"t": [[0.0, 0.0]]})["y"].tolist() == [[1.0, 1.0]]


@RECORDERS
def test_matrices_are_row_major(make):
    recorder = make()
    m = recorder.input("m", (2, 3))
    transposed = [m[3 * i + j] for j in range(3) for i in range(2)]
    program = recorder.finish("transpose", [("t", (3, 2), transposed)])
    m = np.arange(24.0).reshape(4, 2, 3)
    np.testing.assert_array_equal(interpret(program, {"m": m})["t"], m.transpose(0, 2, 1))


@RECORDERS
def test_a_program_of_constants_alone(make):
    program = make().finish("constants", [("y", (3,), (1.0, 2, 1.0)), ("z", (), (0.0,))])
    assert program.blocks == program.calls == ()
    found = interpret(program, {})
    assert found["y"].tolist() == [1.0, 2.0, 1.0]
    assert found["z"] == 0.0


@RECORDERS
def test_equal_constants_share_a_slot(make):
    program = make().finish("constants", [("y", (4,), (2.0, 3.0, 2.0, 3.0))])
    assert program.preset == ((0, 2.0), (1, 3.0))
    assert program.slots == 2


@RECORDERS
def test_results_that_are_inputs_need_no_code(make):
    recorder = make()
    x = recorder.input("x", (2,))
    program = recorder.finish("same", [("y", (3,), (x[1], x[0], x[1]))])
    assert program.blocks == ()
    assert program.outputs[0].slots.tolist() == [1, 0, 1]


@RECORDERS
def test_inputs_and_outputs_without_entries(make):
    recorder = make()
    nothing, x = recorder.input("nothing", (0,)), recorder.input("x", (1,))
    program = recorder.finish("p", [("none", (0, 3), nothing), ("x", (1,), x)])
    found = interpret(program, {"nothing": np.zeros((2, 0)), "x": [1.0]})
    assert found["none"].shape == (2, 0, 3)
    assert found["x"].tolist() == [[1.0], [1.0]]


@RECORDERS
def test_wrong_number_of_entries_is_refused(make):
    recorder = make()
    x = recorder.input("x", (2,))
    with pytest.raises(ValueError, match=r"output 'y' has 2 entries, its shape \(3,\) needs 3"):
        recorder.finish("wrong", [("y", (3,), x)])


def test_arguments_are_not_changed():
    a, b = np.ones(3), np.full(3, 2.0)
    interpret(two_results(Unrolled()), {"a": a, "b": b})["same"][:] = 5.0
    assert a.tolist() == [1.0] * 3
    assert b.tolist() == [2.0] * 3


def test_lists_and_whole_numbers_are_taken():
    assert interpret(two_results(Unrolled()), {"a": [1, 2, 3], "b": (4, 5, 6)})["p"].tolist() == [4.0, 10.0, 18.0]


def test_a_block_called_twice_with_other_ports_and_another_table():
    code = (("load", 0, 1), ("table", 0), ("mul", 0, 1), ("add", 2, 0.5))
    block = Block(2, 1, code, (Store(1, 0, 3), Store(1, 1, -1.0)))
    calls = (Call(0, (0, 3), (10.0,)), Call(0, (2, 5), (2.0,)))
    program = Program("p", 7, (Input("x", (3,), 0),), (Output("y", (4,), (3, 4, 5, 6)),), (), (block,), calls)
    # The first call stores 10.5 + 10 x[1] in slot 3, where the second one finds it.
    assert interpret(program, {"x": [1.0, 2.0, 3.0]})["y"].tolist() == [20.5, -1.0, 41.5, -1.0]


def test_a_slot_nobody_wrote_is_not_a_number():
    program = Program("p", 1, (), (Output("y", (), (0,)),), (), (), ())
    assert np.isnan(interpret(program, {})["y"])


def test_division_by_zero_and_the_like_are_silent():
    block = Block(1, 0, (("load", 0, 0), ("div", 1.0, 0), ("neg", 0), ("sqrt", 2)), (Store(0, 1, 1), Store(0, 2, 3)))
    program = Program("p", 3, (Input("x", (), 0),), (Output("y", (2,), (1, 2)),), (), (block,), (Call(0, (0,)),))
    with np.errstate(all="raise"):
        assert interpret(program, {"x": 0.0})["y"][0] == np.inf
        assert np.isnan(interpret(program, {"x": 1.0})["y"][1])


@pytest.mark.parametrize("op", MEANING)
def test_operations_take_constants_for_any_operand(op):
    count = {"neg": 1, "sin": 1, "cos": 1, "sqrt": 1, "select": 3, "floor": 1, "lookup": 1}.get(op, 2)
    table = [bytes(8)] if op == "lookup" else []
    for constant in range(count):
        operands = [0.25 if i == constant else 0 for i in range(count)]
        block = Block(1, 0, (("load", 0, 0), (op, *table, *operands)), (Store(0, 1, 1),))
        program = Program("p", 2, (Input("x", (), 0),), (Output("y", (), (1,)),), (), (block,), (Call(0, (0,)),))
        assert interpret(program, {"x": 0.5})["y"] == MEANING[op](*table, *(x or 0.5 for x in operands))
