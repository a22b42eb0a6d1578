"""Parts of a program that run until they are done: in every layout, in the interpreter and in machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile.callables import compile_ufunc
from fourbar.compile.llvm import batch_lanes, single_lane
from fourbar.expr import Direct, Program, Replay, Shared, Unrolled, from_text, interpret, select, to_text
from fourbar.expr.program import Repeat
from fourbar.expr.standalone_steps import standalone
from fourbar.expr.text import pack, unpack

from .support import triangular

RECORDERS: dict[str, Callable[[], Any]] = {
    "unrolled": Unrolled,
    "small blocks": lambda: Unrolled(3),
    "shared": Shared,
}


def improve(x: Any, square: Any) -> Any:
    """A step of Newton's method towards a square root, and how far it still is above the tolerance."""
    y = 0.5 * (x + square / x)
    gap = y * y - square
    return (y,), select(gap < 0.0, -gap, gap) - 1e-12


def roots(recorder: Any) -> Program:
    """√(a² + b² + 1), and what uses values of before the repeat after it."""
    a, b = recorder.input("x", (2,))
    square, total = recorder.call(lambda a, b: (a * a + b * b + 1.0, a + b), a, b)
    (root,) = recorder.repeat(lambda s: recorder.call(improve, *s, square), (square,), 50)
    found = recorder.call(lambda r, t, a: (r * t, r + a), root, total, a)
    return recorder.finish("roots", [("y", (2,), found), ("root", (), [root])])


def machine(program: Program, lanes: Any, x: np.ndarray) -> tuple[np.ndarray, ...]:
    made = compile_ufunc(program, lanes, {})
    with np.errstate(all="ignore"):
        found = made.ufunc(x)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("layout", RECORDERS)
def test_every_backend_finds_the_roots(layout: str) -> None:
    program = roots(RECORDERS[layout]())
    assert len(program.repeats) == 1
    x = 10 * np.random.default_rng(0).normal(size=(37, 2))
    wanted = np.sqrt((x * x).sum(axis=-1) + 1.0)
    meant = interpret(program, {"x": x})
    assert np.abs(meant["root"] - wanted).max() < 1e-12
    assert np.abs(meant["y"] - np.stack([wanted * x.sum(axis=-1), wanted + x[:, 0]], axis=-1)).max() < 1e-10
    for lanes in (batch_lanes(), single_lane()):
        assert np.allclose(machine(program, lanes, x)[0], meant["y"], rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("layout", RECORDERS)
def test_a_sample_does_not_feel_how_long_its_neighbours_take(layout: str) -> None:
    program = roots(RECORDERS[layout]())
    x = np.array([[0.0, 0.0], [1e6, 3.0], [0.1, 0.2], [np.nan, 1.0], [1e-3, 7.0], [1e8, 1e8], [1.0, 1.0]])
    together = machine(program, batch_lanes(), x)
    meant = interpret(program, {"x": x})["root"]
    for i, one in enumerate(x):
        alone = machine(program, single_lane(), one)
        assert all(np.array_equal(a, b[i], equal_nan=True) for a, b in zip(alone, together, strict=True))
        assert np.array_equal(interpret(program, {"x": one})["root"], meant[i], equal_nan=True)


@pytest.mark.parametrize("layout", RECORDERS)
def test_repeats_within_repeats(layout: str) -> None:
    program = triangular(RECORDERS[layout]())
    assert len(program.repeats) == 2
    n = np.arange(37.0) % 13
    wanted = [sum(m * (m + 1) / 2 for m in range(int(k) + 1)) for k in n]
    assert interpret(program, {"n": n[:, None]})["y"].tolist() == wanted
    for lanes in (batch_lanes(), single_lane()):
        assert machine(program, lanes, n[:, None])[0].tolist() == wanted


def test_no_more_passes_than_allowed_and_none_where_nothing_is_to_be_done() -> None:
    for make in RECORDERS.values():
        recorder = make()
        (x,) = recorder.input("x", (1,))
        (y,) = recorder.repeat(lambda s, r=recorder: r.call(lambda a: ((a + 1.0,), 1.0), *s), (x,), 7, x)
        program = recorder.finish("counted", [("y", (), [y])])
        x = np.array([[1.0], [0.0], [-3.0], [0.5]])
        assert interpret(program, {"x": x})["y"].tolist() == [8.0, 0.0, -3.0, 7.5]
        assert machine(program, batch_lanes(), x)[0].tolist() == [8.0, 0.0, -3.0, 7.5]
        assert machine(program, single_lane(), x[2])[0] == -3.0


def test_states_may_change_places() -> None:
    for make in RECORDERS.values():
        recorder = make()
        a, b = recorder.input("x", (2,))
        turned = recorder.repeat(lambda s: ((s[1], s[0]), 1.0), (a, b), 3)
        program = recorder.finish("turned", [("y", (2,), turned)])
        assert interpret(program, {"x": np.array([1.0, 2.0])})["y"].tolist() == [2.0, 1.0]
        assert machine(program, single_lane(), np.array([1.0, 2.0]))[0].tolist() == [2.0, 1.0]


def test_numbers_repeat_at_once() -> None:
    square = np.array([1.0, 2.0, 100.0])
    (found,) = Direct().repeat(lambda s: improve(s[0], square), (square,), 50)
    assert np.allclose(found, np.sqrt(square))
    assert Direct().repeat(lambda s: ((s[0] + 1.0,), 3.0 - s[0]), (0.0,), 50) == (4.0,)


@pytest.mark.parametrize("layout", RECORDERS)
def test_text_and_bytes_hold_repeats(layout: str) -> None:
    for write in (roots, triangular):
        program = write(RECORDERS[layout]())
        assert from_text(to_text(program)) == program and unpack(pack(program)) == program


def test_what_nobody_wants_is_not_repeated() -> None:
    for make in RECORDERS.values():
        recorder = make()
        (x,) = recorder.input("x", (1,))
        recorder.repeat(lambda s, r=recorder, x=x: r.call(improve, *s, x), (x,), 9)
        program = recorder.finish("idle", [("y", (), [recorder.call(lambda x: x + 1.0, x)])])
        assert program.repeats == () and len(program.calls) == 1


def test_passes_are_counted() -> None:
    program = triangular(Unrolled())
    outer, inner = program.repeats
    assert inner.first > outer.first and inner.end < outer.end
    assert program.passes()[inner.first] == outer.most * inner.most == 600
    assert Repeat(3, 4, 0, 2).end == 7


def test_derivatives_are_refused() -> None:
    with pytest.raises(fb.ArgumentError, match=r"roots.*derivatives.*not available"):
        Replay(roots(Unrolled()), Unrolled(), {})


def test_bodies_that_lose_their_state() -> None:
    for recorder in (Unrolled(), Shared()):
        (x,) = recorder.input("x", (1,))
        with pytest.raises(ValueError, match="given 1 numbers and returned 2"):
            recorder.repeat(lambda s: ((s[0], 1.0), 1.0), (x,), 5)
        with pytest.raises(ValueError, match="most=0"):
            recorder.repeat(lambda s: (s, 1.0), (x,), 0)


@pytest.mark.parametrize("layout", RECORDERS)
def test_a_step_is_left_out_where_no_sample_needs_it(layout: str) -> None:
    """A variable keeps what it had; in a repeat, too, and of a step some of whose results are equal or constant."""
    recorder = RECORDERS[layout]()
    a, b = recorder.input("x", (2,))
    found = recorder.variables((0.0, 0.0, (0.0, 5.0)))
    found = recorder.update(found, a, twice, a, b)
    kept = recorder.variables((0.0, 0.0, (0.0, 5.0)))

    def count(state: Any) -> tuple[Any, Any]:
        n, total = state
        n = recorder.call(lambda n: n - 1.0, n)
        more = recorder.update(kept, a, twice, a, b)
        return recorder.call(lambda n, total, x: (n, total + x), n, total, more[0]), n

    _, total = recorder.repeat(count, (3.0, 0.0), 9)
    program = recorder.finish("left out", [("y", (4,), [found[0], found[1], *found[2]]), ("total", (), [total])])
    x = np.array([[1.0, 2.0], [-1.0, 3.0], [0.5, -4.0]])
    wanted = np.array([[4.0, 4.0, 3.0, 5.0], [0.0, 0.0, 0.0, 5.0], [-8.0, -8.0, -3.5, 5.0]])
    totals = np.array([12.0, 0.0, -24.0])
    meant = interpret(program, {"x": x})
    assert np.array_equal(meant["y"], wanted) and np.array_equal(meant["total"], totals)
    for lanes in (batch_lanes(), single_lane()):
        y, sums = machine(program, lanes, x)
        assert np.array_equal(y, wanted) and np.array_equal(sums, totals)
        assert np.array_equal(machine(program, lanes, x[1:2])[0], wanted[1:2])
    y = Direct().update((0.0, 0.0, (0.0, 5.0)), -1.0, twice, -1.0, 3.0)
    assert y == (0.0, 0.0, (0.0, 5.0))


@standalone
def twice(a: Any, b: Any) -> Any:
    """2 b twice, a + b, and a constant; all as they were first where a is not above zero."""
    acts = a > 0.0
    y = select(acts, 2.0 * b, 0.0)
    return y, y, (select(acts, a + b, 0.0), 5.0)
