"""The per-shape layout: code that does not grow with the number of steps."""

import math
from typing import NamedTuple

import pytest

from fourbar.expr import Shared, Unrolled, Value, cos, interpret, sin
from fourbar.expr import shared_tasks as tasks
from fourbar.expr.standalone_steps import standalone


class Link(NamedTuple):
    length: float
    mass: float


def forward(link, state):
    x, y, angle = state
    return x + link.length * cos(angle), y + link.length * sin(angle), angle


def backward(link, state, force):
    return force[0] + link.mass * state[0], force[1] - link.mass * state[1]


def sweeps(count, link=lambda k: Link(0.5 + k, 2.0 + k)):
    """Out along a chain and back again: the states of the way out are used on the way back, long after."""
    recorder = Shared()
    angles = recorder.input("angles", (count,))
    states = [(0.0, 0.0, angles[0])]
    for k in range(count):
        states.append((*recorder.call(forward, link(k), states[-1])[:2], angles[k]))
    force = (0.0, 0.0)
    for k in reversed(range(count)):
        force = recorder.call(backward, link(k), states[k + 1], force)
    return recorder.finish("sweeps", [("force", (2,), force)])


def expected(angles, link=lambda k: Link(0.5 + k, 2.0 + k)):
    states = [(0.0, 0.0, angles[0])]
    for k in range(len(angles)):
        states.append((*forward(link(k), states[-1])[:2], angles[k]))
    force = (0.0, 0.0)
    for k in reversed(range(len(angles))):
        force = backward(link(k), states[k + 1], force)
    return force


@pytest.mark.parametrize("count", [1, 2, 3, 10, 40])
def test_numbers(count):
    angles = [0.1 * k for k in range(count)]
    found = interpret(sweeps(count), {"angles": angles})["force"]
    assert found.tolist() == pytest.approx(expected(angles), rel=1e-12)


def test_code_does_not_grow_with_the_length_of_the_chain():
    assert sweeps(40).blocks == sweeps(80).blocks == sweeps(400).blocks


def test_lengths_that_do_not_divide_evenly_need_few_blocks_more():
    assert max(len(sweeps(count).blocks) for count in range(40, 48)) <= len(sweeps(40).blocks) + 4


def test_calls_and_slots_grow_linearly():
    one, two, three = sweeps(40), sweeps(80), sweeps(120)
    assert len(three.calls) - len(two.calls) == len(two.calls) - len(one.calls)
    assert three.slots - two.slots == two.slots - one.slots


def test_other_constants_share_the_block_and_differ_in_the_table():
    program = sweeps(80)
    for number in range(len(program.blocks)):
        tables = [call.table for call in program.calls if call.block == number]
        assert len(set(tables)) == len(tables)
    assert len(program.calls) > 2 * len(program.blocks)


def test_programs_too_large_for_fusing_take_one_call_a_block(monkeypatch):
    fused = sweeps(40)
    monkeypatch.setattr(tasks, "_MOST_INSTRUCTIONS", 0)
    monkeypatch.setattr(tasks, "_ALIKE", 1)
    apart = sweeps(40)
    angles = [0.1 * k for k in range(40)]
    assert len(apart.calls) == 80 > len(fused.calls)
    assert interpret(apart, {"angles": angles})["force"].tolist() == pytest.approx(expected(angles), rel=1e-12)


@pytest.mark.parametrize("special", [0.0, 1.0, -1.0])
def test_zero_one_and_minus_one_are_folded_and_need_a_block_of_their_own(special):
    def link(k):
        return Link(special if k == 5 else 0.5 + k, 2.0 + k)

    program = sweeps(10, link)
    angles = [0.1 * k for k in range(10)]
    assert len(program.blocks) > len(sweeps(10).blocks)
    assert interpret(program, {"angles": angles})["force"].tolist() == pytest.approx(expected(angles, link), rel=1e-12)


def test_a_shape_seen_before_is_not_traced_again():
    traced = []

    def step(a, x):
        traced.append(a)
        return (a * x,)

    recorder = Shared()
    (y,) = recorder.input("x", (1,))
    for k in range(10):
        (y,) = recorder.call(step, 2.0 + k, y)
    assert len(traced) == 1


def test_functions_are_distinguished():
    recorder = Shared()
    (x,) = recorder.input("x", (1,))
    y = [recorder.call(f, x)[0] for f in (lambda v: (v + 1.0,), lambda v: (v + 2.0,))]
    assert interpret(recorder.finish("p", [("y", (2,), y)]), {"x": [0.0]})["y"].tolist() == [1.0, 2.0]


def test_chains_use_few_slots():
    def step(a, x):
        return (a * x + 1.0,)

    def program(count):
        recorder = Shared()
        (y,) = recorder.input("x", (1,))
        for _ in range(count):
            (y,) = recorder.call(step, 0.5, y)
        return recorder.finish("p", [("y", (), (y,))])

    assert program(1000).slots == program(10).slots


def test_entries_of_an_input_are_reached_through_one_port():
    def step(v):
        return (v[0] * v[1] + v[2],)

    recorder = Shared()
    x = recorder.input("x", (48,))
    y = [recorder.call(step, x[3 * k : 3 * k + 3])[0] for k in range(16)]
    program = recorder.finish("p", [("y", (16,), y)])
    assert [block.ports for block in program.blocks] == [2]
    apart = program.calls[1].bases[0] - program.calls[0].bases[0]
    assert [call.bases[0] for call in program.calls] == list(range(0, 48, apart))


def test_results_of_one_call_lie_together():
    def step(v):
        return sin(v), cos(v), v * v

    recorder = Shared()
    (x,) = recorder.input("x", (1,))
    y = recorder.call(step, x)
    assert all(isinstance(v, Value) for v in y)
    [output] = recorder.finish("p", [("y", (3,), y)]).outputs
    assert list(output.slots) == list(range(output.slots[0], output.slots[0] + 3))


def test_part_of_a_result_wanted_from_some_calls_only():
    """The same function, whose results are used in full, in part or not at all."""

    def step(v):
        return v + 1.0, v * 2.0, sin(v)

    recorder = Shared()
    (x,) = recorder.input("x", (1,))
    first = recorder.call(step, x)
    second = recorder.call(step, first[1])
    recorder.call(step, second[0])
    third = recorder.call(step, second[1])
    y = [first[0], third[0], third[2], second[0]]
    found = interpret(recorder.finish("p", [("y", (4,), y)]), {"x": [0.75]})["y"].tolist()
    assert found == pytest.approx([1.75, 4.0, math.sin(3.0), 2.5])


@standalone
def _first_and_third(x, unused, scale):
    return x[0] * scale, x[2], x[2] * x[2]


@pytest.mark.parametrize("make", [Shared, Unrolled])
def test_standalone_steps_load_only_what_they_read(make):
    """Arguments that they do not read take no port, and those that they return as they are stay what they are."""
    recorder = make()
    x = recorder.input("x", (5,))
    found = recorder.call(_first_and_third, x[:3], x[3:], 2.0)
    again = recorder.call(_first_and_third, (found[0], 0.0, 4.0), x[1:3], found[2])
    assert again[1] == 4.0
    program = recorder.finish("p", [("y", (5,), [*found, again[0], again[2]])])
    assert len(program.blocks) == 1 and program.blocks[0].ports <= 5
    y = interpret(program, {"x": [3.0, 5.0, 7.0, 11.0, 13.0]})["y"].tolist()
    assert y == [6.0, 7.0, 49.0, 6.0 * 49.0, 16.0]
