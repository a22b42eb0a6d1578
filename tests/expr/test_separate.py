"""What depends on some arguments alone, computed first: the same results, to the last bit, in every layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourbar.compile.callables import compile_ufunc
from fourbar.compile.llvm import batch_lanes
from fourbar.expr import Program, Shared, Unrolled, interpret, select, sin
from fourbar.expr.partial_evaluation import KNOWN, separate

from .samples import GOLDEN
from .schedules import record, schedules, wishes
from .support import EXAMPLES, generic, seeds
from .test_split import inputs, layouts, recorder

LAYOUTS = {"unrolled": Unrolled, "small blocks": lambda: Unrolled(3), "shared": Shared}


def operations(program: Program) -> int:
    return sum(op not in ("load", "table") for call in program.calls for op, *_ in program.blocks[call.block].code)


def same(program: Program, names: tuple[str, ...], values: dict[str, Any]) -> None:
    expected = interpret(program, values)
    for least_values in (False, True):
        before, rest, _ = separate(program, names, least_values)
        assert {x.name for x in before.inputs} == set(names)
        assert {x.name for x in rest.inputs} == {x.name for x in program.inputs} - set(names) | {KNOWN}
        found = interpret(rest, {**values, **interpret(before, values)})
        assert list(found) == list(expected)
        for name, x in expected.items():
            np.testing.assert_array_equal(*np.broadcast_arrays(found[name], x))


@EXAMPLES
@given(schedules, wishes, layouts, st.sampled_from((("x",), ("y",))), seeds)
def test_random_programs(schedule, wanted, layout, names, seed):
    program = record(schedule, wanted, recorder(layout))
    same(program, names, {"x": np.reshape(generic(seed, 6), (2, 3)), "y": generic(seed + 1, 3)})


@pytest.mark.parametrize("name", GOLDEN)
def test_samples(name):
    program = GOLDEN[name]()
    for x in program.inputs:
        same(program, (x.name,), inputs(program, 3))


def weighed(k: Any) -> Any:
    """What two numbers decide."""
    a, b = k
    return (sin(a) * b + a, a * b, select(a < b, a, b))


def closer(x: Any, w: Any) -> Any:
    """A step towards w₁ + w₂, and how far it still is above the tolerance; w₀ w₁ is the same in all of them."""
    gap = w[1] + w[2] - x
    y = x + 0.5 * gap + 1e-3 * (w[0] * w[1]) * gap
    return (y,), select(gap < 0.0, -gap, gap) - 1e-9


def searched(recorder: Any) -> Program:
    """A repeat that uses what numbers decide, begins with some of it, and is followed by more of it."""
    x, k = recorder.input("x", (2,)), recorder.input("k", (2,))
    w = recorder.call(weighed, k)
    (end,) = recorder.repeat(lambda s: recorder.call(closer, *s, w), (w[0],), 60)
    found = recorder.call(lambda e, x, w: (e * x[0] + w[0] * w[2], x[1] - w[1] * w[1] * x[0], w[2]), end, x, w)
    return recorder.finish("searched", [("y", (3,), found), ("end", (), [end])])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_repeats(layout):
    program = searched(LAYOUTS[layout]())
    assert program.repeats
    for names in (("k",), ("x",)):
        same(program, names, inputs(program, 5))


@pytest.mark.parametrize("least_values", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bits_of_machine_code(layout, least_values):
    """Sums of products are rounded once or twice, in both programs alike."""
    program = searched(LAYOUTS[layout]())
    before, rest, _ = separate(program, ("k",), least_values)
    rng = np.random.default_rng(2)
    x, k = rng.normal(size=(2, 100, 2))
    first, second, whole = (compile_ufunc(p, batch_lanes(), {}) for p in (before, rest, program))
    for found, expected in zip(second.ufunc(x, first.ufunc(k)), whole.ufunc(x, k), strict=True):
        assert np.array_equal(found, expected) and np.isfinite(found).all()


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 100])
def test_arguments_that_are_brought_later_leave_what_is_known_alone(width, n):
    """What is known stands behind all other slots, but is brought where the first argument was that decides it."""
    recorder = Unrolled()
    x, y = recorder.input("x", (2,)), recorder.input("y", (3,))
    found = recorder.call(lambda x, y: (x[0] * x[1] + x[0]) * (y[0] + y[1] + y[2]), x, y)
    program = recorder.finish("product", [("z", (), [found])])
    before, rest, _ = separate(program, ("x",))
    assert [own.name for own in rest.inputs] == [KNOWN, "y"] and rest.inputs[0].first > rest.inputs[1].first
    lanes, rng = replace(batch_lanes(), width=width), np.random.default_rng(2)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    first, second, whole = (compile_ufunc(p, lanes, {}) for p in (before, rest, program))
    assert np.array_equal(second.ufunc(first.ufunc(x), y), whole.ufunc(x, y))


def test_what_is_moved_is_gone():
    program = searched(Unrolled())
    before, rest, moved = separate(program, ("k",))
    assert moved > 4 and operations(before) == moved
    assert operations(rest) == operations(program) - moved


def test_sums_of_what_is_known_are_not_known_too():
    recorder = Unrolled()
    x, k = recorder.input("x", (1,)), recorder.input("k", (2,))
    p = recorder.call(lambda k: (k[0] * k[0], k[1] * k[1], k[0] * k[0] + k[1] * k[1], -(k[1] * k[1])), k)
    recorder.begin_block()
    found = recorder.call(lambda x, p: x[0] * p[0] + sin(x[0] * p[1]) + sin(x[0] * p[2]) + sin(x[0] * p[3]), x, p)
    program = recorder.finish("sums", [("y", (), [found])])
    values = {"x": np.array([0.3]), "k": np.array([1.5, 0.7])}
    same(program, ("k",), values)
    every, least = (separate(program, ("k",), wanted).before.outputs[0].shape for wanted in (False, True))
    assert least == (2,) and every[0] > 2


def test_what_depends_on_nothing_else_needs_no_number():
    program = searched(Unrolled())
    before, rest, moved = separate(program, ("x",))
    assert moved == 0 and operations(rest) == operations(program)
    assert before.outputs[0].shape[0] >= 1
