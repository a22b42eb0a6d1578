"""What an earlier block has computed is not computed again."""

import math

import numpy as np

from fourbar.expr import Unrolled, cos, sin, sqrt
from fourbar.expr.standalone_steps import standalone

from .test_record import operations, program_and_results


def turned(angle, x, y):
    c, s = cos(angle), sin(angle)
    return (c * x - s * y, s * x + c * y)


def turn_often(recorder, x):
    """Points turned by the same angle, in steps of their own."""
    angle, *entries = x
    points = list(zip(entries[::2], entries[1::2], strict=True))
    return [entry for point in points for entry in recorder.call(turned, angle, *point)]


NUMBERS = [0.3, 1.0, 2.0, -0.5, 0.7, 4.0, 3.0]


def test_slow_operations_are_done_once_wherever_blocks_end():
    whole, expected = program_and_results(Unrolled(), turn_often, *NUMBERS)
    parts, found = program_and_results(Unrolled(block_size=1), turn_often, *NUMBERS)
    assert (len(whole.blocks), len(parts.blocks)) == (1, 3)
    assert found == expected
    for op in ("sin", "cos"):
        assert operations(whole).count(op) == operations(parts).count(op) == 1


def test_whole_subexpressions_are_loaded():
    def shared_sum(recorder, x):
        def step(x, factor):
            a, b, c, d = x
            return ((a * b + c * d) * factor,)

        return [recorder.call(step, x, factor)[0] for factor in (2.0, 3.0, 5.0)]

    program, found = program_and_results(Unrolled(block_size=1), shared_sum, 1.0, 2.0, 3.0, 4.0)
    assert found == [28.0, 42.0, 70.0]
    assert [len(block.code) for block in program.blocks] == [8, 2, 2]


def test_operands_may_be_exchanged():
    def algorithm(recorder, x):
        (first,) = recorder.call(lambda a, b: (sqrt(a * b + 1.0),), x[0], x[1])
        (second,) = recorder.call(lambda b, a: (sqrt(b * a + 1.0) + b,), x[1], x[0])
        return [first, second]

    program, found = program_and_results(Unrolled(block_size=1), algorithm, 3.0, 5.0)
    assert found == [4.0, 9.0]
    assert operations(program).count("sqrt") == 1


def test_cheap_operations_on_loaded_values_are_done_again():
    def algorithm(recorder, x):
        (first,) = recorder.call(lambda a, b: (sin(a + b),), x[0], x[1])
        (second,) = recorder.call(lambda a, b: ((a + b) * a - b,), x[0], x[1])  # a and b are loaded anyway
        return [first, second]

    program, _ = program_and_results(Unrolled(block_size=1), algorithm, 1.0, 2.0)
    assert operations(program).count("add") == 2


def test_equal_results_are_stored_once():
    def algorithm(recorder, x):
        return [recorder.call(lambda a: (sin(a) * 2.0,), x[0])[0] for _ in range(3)]

    program, found = program_and_results(Unrolled(block_size=1), algorithm, 0.5)
    assert found == [2.0 * math.sin(0.5)] * 3
    assert len(program.blocks) == 1
    assert len(set(program.outputs[0].slots)) == 1


def test_what_follows_from_reused_values_is_reused():
    def algorithm(recorder, x):
        found = []
        for factor in (2.0, 3.0):
            (a,) = recorder.call(lambda x: (sin(x),), x[0])
            (b,) = recorder.call(lambda a: (cos(a),), a)
            found += recorder.call(lambda b, factor: (sqrt(b) * factor,), b, factor)
        return found

    program, found = program_and_results(Unrolled(block_size=1), algorithm, 0.5)
    root = math.sqrt(math.cos(math.sin(0.5)))
    np.testing.assert_allclose(found, [2.0 * root, 3.0 * root], rtol=1e-15)
    assert [operations(program).count(op) for op in ("sin", "cos", "sqrt")] == [1, 1, 1]


@standalone
def squared(x):
    return (x * x,)


def test_standalone_steps_read_what_is_reused():
    def algorithm(recorder, x):
        found = []
        for _ in range(2):
            (y,) = recorder.call(lambda x: (sin(x),), x[0])
            found += recorder.call(squared, y)
        return found

    program, found = program_and_results(Unrolled(), algorithm, 0.5)
    np.testing.assert_allclose(found, [math.sin(0.5) ** 2] * 2, rtol=1e-15)
    assert operations(program).count("sin") == 1


def test_what_changes_from_pass_to_pass_is_not_reused():
    """A value that a repeat carries is another one after every pass."""

    def algorithm(recorder, x):
        def body(state):
            (y,) = state
            (slope,) = recorder.call(lambda y: (cos(y),), y)
            return recorder.call(lambda y, slope: ((y + slope,), slope), y, slope)

        (y,) = recorder.repeat(body, (x[0],), most=3)
        return recorder.call(lambda y: (cos(y), y), y)

    _, (cosine, y) = program_and_results(Unrolled(block_size=1), algorithm, 0.1)
    expected = 0.1
    for _ in range(3):
        expected += math.cos(expected)
    np.testing.assert_allclose((cosine, y), (math.cos(expected), expected), rtol=1e-14)
