"""How code grows with a robot: counted in blocks, instructions and LLVM modules, not in seconds."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.algorithms.tiles import plus_product
from fourbar.compile.kernel import units
from fourbar.expr import Direct, Program, Unrolled, interpret, program_derivatives
from fourbar.functions import context
from fourbar.functions.recording import MethodRecording
from fourbar.joints import Revolute
from fourbar.loops import Gear
from tests.loops.test_wide import ring

_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


@cache
def robot(n: int, branching: bool) -> Any:
    """A chain, or a tree in which each body hangs on one drawn at random."""
    b, rng = fb.Builder(f"robot{n}"), np.random.default_rng(0)
    for i in range(n):
        above = int(rng.integers(0, i)) if branching and i else i - 1
        place, com = 0.1 + 0.05 * rng.random(3), 0.05 * rng.random(3)
        joint, parent = fb.joints.Revolute(_AXES[i % 3]), f"body{above}" if i else "world"
        b.body(f"body{i}", parent=parent, joint=joint, position=place, mass=1.0, com=com, inertia=(0.01, 0.012, 0.013))
    return b.build()


def written(program: Program) -> int:
    """Instructions that are compiled."""
    return sum(len(block.code) for block in program.blocks)


def test_the_mass_matrix_of_a_long_chain_shares_its_code() -> None:
    """n² entries, but the code of a few bodies: twice the bodies take the same blocks, and four times the calls."""
    short, long = (robot(n, False).mass_matrix.program() for n in (160, 320))
    assert written(long) <= 1.1 * written(short) < 8000
    assert len(units(long)[0]) <= len(units(short)[0]) + 1 < 40
    assert len(long.calls) <= 3.5 * len(short.calls) < 320**2 / 16


@pytest.mark.slow
def test_jacobians_of_large_trees_grow_less_than_the_tree() -> None:
    """Of forward dynamics: the products of matrices are tiles of a few sizes."""
    small, large = (robot(n, True).forward_dynamics.jacobian.function.program() for n in (60, 120))
    assert len(large.blocks) <= 1.9 * len(small.blocks)
    assert written(large) <= 1.9 * written(small) < 100_000
    assert len(units(large)[0]) < 60
    assert len(large.calls) < 10_000  # of tiles with twelve sums each, however many rows they have


def test_products_of_a_humanoid_share_their_code() -> None:
    """Its Jacobian of forward dynamics runs three times the instructions that are compiled, in few modules."""
    program = fb.robots.jvrc1().forward_dynamics.jacobian.function.program()
    run = sum(len(program.blocks[call.block].code) for call in program.calls)
    assert run > 2 * written(program) and written(program) < 80_000
    assert len(units(program)[0]) < 64


def test_the_code_of_one_long_loop_grows_in_proportion() -> None:
    """Its forward dynamics solves for all its velocities at once: n³ operations, but in tiles of a few sizes."""
    short, long = (ring(n).forward_dynamics.program() for n in (24, 48))
    assert written(long) <= 2.2 * written(short) < 40_000
    assert len(units(long)[0]) <= 60


@pytest.mark.parametrize("n", [70, pytest.param(83, marks=pytest.mark.slow)])
def test_mass_matrices_by_tiles(n: int) -> None:
    """Parts of the mass matrix in tiles, rows and columns left over too, agree with columns of inverse dynamics."""
    r = robot(n, n % 2 == 1)
    q, zero = r.random(3), np.zeros(n)
    M = r.mass_matrix(q)
    columns = r.inverse_dynamics(q, zero, np.eye(n)) - r.inverse_dynamics(q, zero, zero)
    assert np.array_equal(M, M.T)
    assert np.abs(M - columns.T).max() < 1e-11 * np.abs(M).max()


def test_many_shared_blocks_are_compiled_together() -> None:
    program = robot(24, True).christoffel.program()
    moved = {call.block for call in program.calls if call.bases != (0,)}
    names = {name for unit in units(program)[0] for name, _ in unit.blocks}
    assert names == set(units(program)[1])
    assert len(moved) <= 64 or len(units(program)[0]) < len(moved) / 2


def _calls_to_trace(n: int, method: str) -> int:
    """How many functions of Python are called while a method of n gears on one shaft is traced."""
    b = fb.Builder("gears")
    b.body("shaft", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    for i in range(n):
        b.body(f"wheel{i}", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
        b.loop(Gear("shaft", f"wheel{i}", 1.0 + 0.01 * i))
    function = getattr(b.build(), method)
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        function.program()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("method", ["mass_matrix", "forward_dynamics"])
def test_tracing_many_gears_of_one_shaft_grows_with_their_number(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOURBAR_CACHE", "off")
    small, large = (_calls_to_trace(n, method) for n in (50, 200))
    assert large < 4.5 * small


class _Counted(Direct):
    """Computes at once, and counts the steps."""

    def __init__(self) -> None:
        self.steps = 0

    def call(self, function: Any, *args: Any) -> Any:
        self.steps += 1
        return super().call(function, *args)


@pytest.mark.parametrize("rows, columns, steps", [(1, 48, 8), (2, 12, 4), (3, 9, 6), (5, 7, 10)])
def test_products_of_few_rows_take_many_columns_at_once(rows: int, columns: int, steps: int) -> None:
    """Twelve sums in a step where there is one row as where there are four: depth 20 takes two steps for each tile."""
    rng, recorder = np.random.default_rng(0), _Counted()
    A, B, C = (rng.normal(size=size) for size in ((rows, 20), (20, columns), (rows, columns)))
    B[:, 1] = 0.0  # a column of zeros costs nothing
    B_columns = [0.0 if j == 1 else 1.0 for j in range(columns)]
    given = [[float(x) * keep if keep else 0.0 for x, keep in zip(row, B_columns, strict=True)] for row in B]
    found = plus_product(recorder, C.tolist(), A.tolist(), given, large=True)
    assert np.abs(np.array(found) - (C + A @ B)).max() < 1e-12
    assert recorder.steps <= steps + 8  # what is left over comes in smaller tiles


def test_a_jacobian_with_sweeps_of_its_own_does_not_trace_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is differentiated is only asked for the shapes of its results, which are known."""
    monkeypatch.setenv("FOURBAR_CACHE", "off")
    traced: list[str] = []
    write = MethodRecording.write

    def noted(self: MethodRecording, *args: Any) -> Program:
        traced.append(self.name)
        return write(self, *args)

    monkeypatch.setattr(MethodRecording, "write", noted)
    r = robot(5, True)
    q = r.random(0)
    assert r.forward_dynamics.jacobian(q, q, q).tau.shape == (5, 5)
    assert r.hybrid_dynamics.jacobian(q, q, q, q, prescribed=["body1"]).tau.q.shape == (5, 5)
    assert traced == []


def test_directions_of_few_samples_share_code_for_a_little_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns that few directions have get no code of their own; the work grows by what was allowed, at most."""
    short = 1000  # so that the steps of a small robot are shared too
    monkeypatch.setattr(context, "Unrolled", lambda block, largest: Unrolled(block, largest=min(short, largest)))
    recording = robot(13, True).coriolis_matrix.jacobian.function.held[0].recording
    programs = []
    for more in (0.0, 0.01, 0.2):
        monkeypatch.setattr(program_derivatives, "_MORE", more)
        programs.append(recording.write(("q", "v")))
    apart, usual, together = programs
    assert written(together) < written(usual) < 0.95 * written(apart)
    work = [sum(len(p.blocks[call.block].code) for call in p.calls) for p in programs]
    assert work[1] <= 1.03 * work[0] and work[2] <= 1.4 * work[0]  # with what is loaded for it
    x = {"q": robot(13, True).random(1), "v": np.linspace(-1.0, 1.0, 13)}
    expected, *others = (interpret(p, x)["blocks"] for p in programs)
    for found in others:
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
