"""Cutting blocks keeps what a program computes, to the last bit, whatever its layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourbar.expr import Unrolled, interpret
from fourbar.expr.split import split

from .samples import GOLDEN, long_schedule
from .schedules import SharedBy, record, schedules, wishes
from .support import EXAMPLES, generic, seeds

sizes = st.integers(1, 9)
layouts = st.sampled_from((1, 3, 10, 1000, -1, -2, -5))  # operations of a block; negative: calls of a shared block


def recorder(layout):
    return Unrolled(layout) if layout > 0 else SharedBy(-layout)


def inputs(program, seed):
    """Numbers for all arguments; a batch of two."""
    rng = np.random.default_rng(seed)
    return {x.name: rng.uniform(0.2, 2.0, (2, *x.shape)) for x in program.inputs}


def computed(block):
    return sum(op not in ("load", "table") for op, *_ in block.code)


def same(program, cut, values):
    whole, parts = interpret(program, values), interpret(cut, values)
    assert list(whole) == list(parts)
    for name, expected in whole.items():
        np.testing.assert_array_equal(parts[name], expected)


@EXAMPLES
@given(schedules, wishes, layouts, sizes, st.booleans(), seeds)
def test_random_programs(schedule, wanted, layout, size, early, seed):
    program = record(schedule, wanted, recorder(layout))
    cut = split(program, size, early)
    values = {"x": np.reshape(generic(seed, 6), (2, 3)), "y": generic(seed + 1, 3)}
    same(program, cut, values)
    assert all(computed(block) <= size for block in cut.blocks)


@pytest.mark.parametrize("size", [1, 2, 7, 50])
@pytest.mark.parametrize("name", GOLDEN)
def test_samples(name, size):
    program = GOLDEN[name]()
    same(program, split(program, size), inputs(program, 3))
    same(program, split(program, size, early=True), inputs(program, 3))


@pytest.mark.parametrize("layout", [1000, -1, -2])
def test_cutting_twice(layout):
    program = long_schedule(recorder(layout))
    cut = split(split(program, 20), 3)
    same(program, cut, inputs(program, 4))
    assert all(computed(block) <= 3 for block in cut.blocks)


def test_short_blocks_stay():
    program = long_schedule(Unrolled(5))
    longest = max(len(block.code) for block in program.blocks)
    assert split(program, longest) == program


def test_shared_blocks_stay_shared():
    """Every part is one block, however often the whole was called."""
    program = long_schedule(SharedBy(1))
    cut = split(program, 2)
    assert len(cut.calls) / len(cut.blocks) > 1.0
    assert len(cut.calls) > len(program.calls)
    parts = {block: -(-len(program.blocks[block].code) // 2) for block in range(len(program.blocks))}
    assert len(cut.blocks) <= sum(parts.values())
