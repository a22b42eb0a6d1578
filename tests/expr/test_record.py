"""What recorders make of particular algorithms."""

from itertools import pairwise

import numpy as np
import pytest

from fourbar.expr import Direct, Shared, TooLarge, Unrolled, Value, cos, interpret, sin

MAKERS = {"unrolled": Unrolled, "small blocks": lambda: Unrolled(block_size=1), "shared": Shared}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def run(recorder, algorithm, *numbers):
    """The results of algorithm(recorder, x), a list of scalars, by way of a program."""
    return program_and_results(recorder, algorithm, *numbers)[1]


def program_and_results(recorder, algorithm, *numbers):
    y = algorithm(recorder, recorder.input("x", (len(numbers),)))
    program = recorder.finish("p", [("y", (len(y),), y)])
    return program, interpret(program, {"x": numbers})["y"].tolist()


def operations(program):
    """Names of all operations that are executed."""
    return [op for call in program.calls for op, *_ in program.blocks[call.block].code]


def affine(a, x):
    return (a * x + 1.0,)


def chain(length, step=affine, factor=0.5):
    def algorithm(recorder, x):
        y = x[0]
        for _ in range(length):
            (y,) = recorder.call(step, factor, y)
        return [y]

    return algorithm


def test_direct_just_calls():
    assert Direct().call(affine, 2.0, 3.0) == (7.0,)
    assert Direct().call(lambda: "anything") == "anything"


@EACH
def test_values_passed_through_are_the_same_values(make):
    recorder = make()
    x = recorder.input("x", (2,))
    assert recorder.call(lambda p: (p[1], p), x) == (x[1], x)
    made = recorder.call(affine, 2.0, x[0])
    assert recorder.call(lambda v: (v, 1.5), made) == (made, 1.5)


@EACH
def test_constants_in_results_are_plain_numbers(make):
    recorder = make()
    (x,) = recorder.input("x", (1,))
    result = recorder.call(lambda x, c: (0.0 * x, c, x + 1.0, c * 0.0), x, 4.5)
    assert (result[0], result[1], result[3]) == (0.0, 4.5, 0.0)
    assert isinstance(result[2], Value)


@EACH
def test_a_call_whose_results_are_all_constants_makes_no_code(make):
    program, found = program_and_results(make(), lambda r, x: r.call(lambda v: (v - v, 2.0, v * 0.0 + 1.0), x[0]), 5.0)
    assert found == [0.0, 2.0, 1.0]
    assert program.blocks == program.calls == ()


@EACH
def test_structure_of_a_result_is_kept(make):
    recorder = make()
    (x,) = recorder.input("x", (1,))
    name, (none, number), inner = recorder.call(lambda v: ("name", (None, 3), ((v + 1.0,),)), x)
    assert (name, none, number) == ("name", None, 3)
    assert isinstance(inner[0][0], Value)


@EACH
def test_whole_numbers_and_other_objects_are_structure(make):
    def power(n, options, v):
        return (v**n if options == "plain" else -(v**n),)

    def algorithm(r, x):
        return [r.call(power, n, how, x[0])[0] for n in (1, 2, 3) for how in ("plain", "negative")]

    assert run(make(), algorithm, 2.0) == [2.0, -2.0, 4.0, -4.0, 8.0, -8.0]


@EACH
def test_unused_results_are_not_computed(make):
    def step(v):
        return sin(v), cos(v), v * 2.0

    program, found = program_and_results(make(), lambda r, x: [r.call(step, x[0])[2]], 3.0)
    assert found == [6.0]
    assert operations(program) == ["load", "mul"]


@EACH
def test_calls_that_lead_nowhere_are_not_made(make):
    def algorithm(r, x):
        dead = x[0]
        for _ in range(5):
            (dead,) = r.call(lambda v: (sin(v),), dead)
        return r.call(affine, 2.0, x[0])

    program, found = program_and_results(make(), algorithm, 3.0)
    assert found == [7.0]
    assert "sin" not in operations(program)


@EACH
@pytest.mark.parametrize("equal_first", [True, False])
def test_the_same_value_twice_is_not_mistaken_for_two_values(make, equal_first):
    def difference(a, b):
        return (a - b,)

    def algorithm(r, x):
        pairs = [(x[0], x[0]), (x[0], x[1])]
        results = [r.call(difference, *pair)[0] for pair in (pairs if equal_first else pairs[::-1])]
        return results if equal_first else results[::-1]

    assert run(make(), algorithm, 5.0, 3.0) == [0.0, 2.0]


@EACH
def test_the_same_value_twice_is_known_to_be_the_same(make):
    recorder = make()
    (x,) = recorder.input("x", (1,))
    assert recorder.call(lambda a, b: (a - b, a / b), x, x) == (0.0, 1.0)


CONSTANT_OR_VALUE = [
    lambda x: [(x[0], 7.0), (0.0, 7.0)],
    lambda x: [(0.0, 7.0), (x[0], 7.0)],
    lambda x: [(x[0], x[1]), (x[0], 1.0)],
    lambda x: [(x[0], 1.0), (x[0], x[1])],
    lambda x: [(1.0, 2.0), (-1.0, 2.0), (0.5, 2.0), (x[0], 2.0)],
    lambda x: [(2.0, x[0]), (2.0, x[1]), (x[1], 2.0), (x[1], x[1])],
]


@EACH
@pytest.mark.parametrize("pairs", CONSTANT_OR_VALUE)
def test_constants_are_not_mistaken_for_values(make, pairs):
    """Calls of one function with other leaves constant: 0 and 1 are also the numbers of leaves."""

    def step(a, b):
        return (10.0 * a + b,)

    x = (3.0, 5.0)
    expected = [10.0 * a + b for a, b in pairs(x)]
    assert run(make(), lambda r, x: [r.call(step, *pair)[0] for pair in pairs(x)], *x) == expected


@EACH
def test_signs_of_zero_do_not_depend_on_earlier_calls(make):
    def step(a, v):
        return a, a + v

    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        assert run(make(), lambda r, x, zeros=zeros: [r.call(step, z, x[0])[1] for z in zeros], 3.0) == [3.0, 3.0]


@EACH
def test_a_value_used_much_later_is_still_there(make):
    def algorithm(r, x):
        (kept,) = r.call(affine, 3.0, x[0])
        [y] = chain(300)(r, x)
        return [*r.call(lambda a, b: (a * 100.0 + b * 0.0 + b - b,), kept, y), kept]

    assert run(make(), algorithm, 2.0) == [700.0, 7.0]


@EACH
def test_a_result_that_is_also_used_inside_survives(make):
    def algorithm(r, x):
        trail = [x[0]]
        for _ in range(50):
            trail.append(r.call(affine, 1.0, trail[-1])[0])
        return [trail[3], trail[50], trail[0], trail[3], trail[49]]

    assert run(make(), algorithm, 0.0) == [3.0, 50.0, 0.0, 3.0, 49.0]


@EACH
def test_reuse_in_the_shape_of_a_tree(make):
    """Every value is used by two later calls, and all meet again at the end."""

    def join(a, b):
        return (0.5 * (a + b),)

    def algorithm(r, x):
        level = list(x)
        while len(level) > 1:
            level = [r.call(join, level[i], level[i + 1])[0] for i in range(len(level) - 1)]
        return level

    numbers = [float(k * k) for k in range(12)]
    level = numbers
    while len(level) > 1:
        level = [0.5 * (a + b) for a, b in pairwise(level)]
    assert run(make(), algorithm, *numbers) == level


@EACH
def test_deep_chains(make):
    assert run(make(), chain(3000, factor=1.0), 0.0) == [3000.0]


@EACH
def test_many_results_of_one_call(make):
    def spread(x):
        return tuple(x * float(k) for k in range(200))

    assert run(make(), lambda r, x: r.call(spread, x[0]), 2.0) == [2.0 * k for k in range(200)]


@EACH
def test_arguments_in_any_order_and_across_inputs(make):
    def step(a, b, c):
        return (a + 10.0 * b + 100.0 * c,)

    recorder = make()
    p, q = recorder.input("p", (3,)), recorder.input("q", (2,))
    triples = [(p[2], p[0], q[1]), (q[0], q[1], p[0]), (p[0], p[1], p[2]), (q[1], p[2], p[1])]
    y = [recorder.call(step, *t)[0] for t in triples]
    found = interpret(recorder.finish("p", [("y", (4,), y)]), {"p": [1.0, 2.0, 3.0], "q": [4.0, 5.0]})
    assert found["y"].tolist() == [513.0, 154.0, 321.0, 235.0]


@EACH
def test_errors_of_a_step_reach_the_caller(make):
    recorder = make()
    (x,) = recorder.input("x", (1,))
    with pytest.raises(TypeError, match=r"fourbar\.select"):
        recorder.call(lambda v: (v if v > 0.0 else -v,), x)


@pytest.mark.parametrize(("block_size", "blocks"), [(1, 30), (20, 3), (10**6, 1)])
def test_unrolled_fuses_steps_up_to_the_block_size(block_size, blocks):
    program, _ = program_and_results(Unrolled(block_size), chain(30, lambda a, v: (sin(v * a),), factor=2.0), 1.0)
    counted = [sum(op[0] not in ("load",) for op in block.code) for block in program.blocks]
    assert sum(counted) == 60
    assert len(program.blocks) == blocks


def test_unrolled_folds_constants_across_steps():
    def algorithm(r, x):
        (seven,) = r.call(affine, 2.0, 3.0)
        return r.call(affine, seven, x[0])

    program, found = program_and_results(Unrolled(), algorithm, 5.0)
    assert found == [36.0]
    assert program.blocks[0].code[1] == ("mul", 0, 7.0)


def test_unrolled_computes_common_subexpressions_of_a_block_once():
    def algorithm(r, x):
        return [r.call(lambda v: (sin(v),), x[0])[0] for _ in range(9)]

    program, _ = program_and_results(Unrolled(), algorithm, 1.0)
    assert operations(program).count("sin") == 1
    assert len(set(program.outputs[0].slots)) == 1


def test_unrolled_chains_recycle_their_slots():
    few, _ = program_and_results(Unrolled(block_size=1), chain(10), 1.0)
    many, _ = program_and_results(Unrolled(block_size=1), chain(1000), 1.0)
    assert many.slots == few.slots


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_unrolled_programs_may_not_outgrow_their_limit(block_size):
    """Loads count too, so that the number of nodes grows with the number of blocks."""

    def nodes(program):
        return sum(len(block.code) for block in program.blocks)

    size = nodes(program_and_results(Unrolled(block_size), chain(10), 1.0)[0])
    assert nodes(program_and_results(Unrolled(block_size, largest=size), chain(10), 1.0)[0]) == size
    with pytest.raises(TooLarge):
        run(Unrolled(block_size, largest=size - 1), chain(10), 1.0)


def test_unrolled_steps_may_be_larger_than_a_block():
    def long(x):
        for _ in range(100):
            x = sin(x)
        return (x,)

    program, [found] = program_and_results(Unrolled(block_size=10), lambda r, x: r.call(long, *r.call(long, x[0])), 1.0)
    assert [len(block.code) for block in program.blocks] == [101, 101]
    expected = 1.0
    for _ in range(200):
        expected = np.sin(expected)
    assert found == expected
