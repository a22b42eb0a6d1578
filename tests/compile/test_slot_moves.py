"""Blocks that only move numbers, as loops over tables: the same numbers as code of their own."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.compile import slot_moves
from fourbar.compile.callables import compile_ufunc
from fourbar.compile.llvm import batch_lanes, single_lane
from fourbar.expr import Program, Shared, Unrolled, interpret
from fourbar.expr.program import Block, Store

N = 150


def halve_while_large(x: tuple[object, ...]) -> tuple[tuple[object, ...], object]:
    """A state halved while its first entry is above one."""
    return tuple(0.5 * y for y in x), 0.5 * x[0] - 1.0  # type: ignore[operator]


@pytest.fixture(params=[Shared, Unrolled])
def program(request: pytest.FixtureRequest) -> Program:
    """A repeat of a state of many numbers, of which some begin as constants."""
    recorder = request.param()
    x = recorder.input("x", (N - 20,))
    state = recorder.repeat(
        lambda state: recorder.call(halve_while_large, state),
        (*x, *[3.0] * 20),
        50,
        recorder.call(lambda a: a - 1.0, x[0]),
    )
    return recorder.finish("halving", [("y", (N,), list(state))])


def test_moves_are_found(program: Program) -> None:
    kinds = [x.function for block in program.blocks if (x := slot_moves.find_moves(block)) is not None]
    assert "copy" in kinds
    assert "choose" in kinds or len(program.blocks) < 6


@pytest.mark.parametrize("lanes", [batch_lanes(), single_lane()])
def test_loops_give_the_same_bits(program: Program, lanes: object) -> None:
    x = np.random.default_rng(0).uniform(0.1, 100.0, (37, N - 20))
    made = compile_ufunc(program, lanes, {})  # type: ignore[arg-type]
    assert np.array_equal(made.ufunc(x), interpret(program, {"x": x})["y"])


def test_what_computes_is_left_alone() -> None:
    loads = tuple(("load", 0, k) for k in range(N))
    copies = tuple(("add", k, -0.0) for k in range(N))
    stores = tuple(Store(0, 1000 + k, N + k) for k in range(N))
    assert slot_moves.find_moves(Block(1, 0, (*loads, *copies), stores)) is not None
    for op in (("add", 3, 0.0), ("add", 3, 4), ("mul", 3, 1.0)):
        some = (*copies[:3], op, *copies[4:])
        assert slot_moves.find_moves(Block(1, 0, (*loads, *some), stores)) is None
    assert slot_moves.find_moves(Block(1, 0, (*loads, *copies), stores[:20])) is None  # too few
    choices = (("lt", 0.0, 0), *(("select", N, k, k) for k in range(1, N)))
    chosen = tuple(Store(0, 1000 + k, N + k) for k in range(1, N))
    moves = slot_moves.find_moves(Block(1, 0, (*loads, *choices), chosen))
    assert moves is not None and moves.condition == (0.0, (0, 0))
    two = (("lt", 0.0, 0), ("lt", 0.0, 1), *(("select", N, k, k) for k in range(2, N)))
    assert slot_moves.find_moves(Block(1, 0, (*loads, *two), chosen[1:])) is None
