"""The textual form of programs."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourbar.expr import Block, Call, Input, Output, Program, Shared, Store, Unrolled, from_text, interpret, to_text
from fourbar.expr.text import block_digest

from .samples import all_texts
from .support import EXAMPLES, last, program_of, recipes

names = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=6)
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
places = st.integers(-9, 99)
operands = st.integers(0, 20) | st.floats()
instructions = st.one_of(
    st.tuples(st.just("load"), st.integers(0, 3), places),
    st.tuples(st.just("table"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["neg", "sin"]), operands),
    st.tuples(st.sampled_from(["add", "lt"]), operands, operands),
    st.tuples(st.just("select"), operands, operands, operands),
)
stores = st.builds(Store, st.integers(0, 3), places, operands)


@st.composite
def blocks(draw):
    code = tuple(draw(st.lists(instructions, max_size=5)))
    return Block(draw(st.integers(0, 3)), draw(st.integers(0, 2)), code, tuple(draw(st.lists(stores, max_size=3))))


@st.composite
def programs(draw):
    """Programs that are well formed, though they make no sense."""
    made = tuple(draw(st.lists(blocks(), max_size=3)))
    calls = []
    for number in draw(st.lists(st.integers(0, len(made) - 1), max_size=4)) if made else ():
        bases = draw(st.tuples(*[st.integers(0, 99)] * made[number].ports))
        calls.append(Call(number, bases, draw(st.tuples(*[st.floats()] * made[number].table))))
    inputs = tuple(draw(st.lists(st.builds(Input, names, shapes, st.integers(0, 99)), max_size=3)))
    slots = st.lists(st.integers(0, 99), max_size=6).map(tuple)
    outputs = tuple(draw(st.lists(st.builds(Output, names, shapes, slots), max_size=3)))
    preset = tuple(draw(st.lists(st.tuples(st.integers(0, 99), st.floats()), max_size=3)))
    return Program(draw(names), draw(st.integers(0, 999)), inputs, outputs, preset, made, tuple(calls))


@EXAMPLES
@given(programs())
def test_any_program_comes_back(program):
    """`repr` tells apart what == does not: 0.0 from -0.0; and finds equal what == does not: a NaN."""
    assert repr(from_text(to_text(program))) == repr(program)


@EXAMPLES
@given(recipes)
def test_programs_of_both_recorders_come_back(recipe):
    for recorder in (Unrolled(), Shared()):
        program = program_of(lambda x: last(recipe, x), 3, recorder)
        assert from_text(to_text(program)) == program


SPECIAL = [math.inf, -math.inf, math.nan, 5e-324, -1.7976931348623157e308, 0.1, 1e22]


@pytest.mark.parametrize("number", SPECIAL)
@pytest.mark.parametrize("make", [Unrolled, Shared])
def test_special_constants_survive_recording_and_text(make, number):
    """As a factor, where it becomes part of the code or of a table, and as a result."""
    recorder = make()
    (x,) = recorder.input("x", (1,))
    y = [*recorder.call(lambda x, c: (x + c,), x, number), number]
    program = recorder.finish("special", [("y", (2,), y)])
    again = from_text(to_text(program))
    assert repr(again) == repr(program)
    assert interpret(again, {"x": [0.0]})["y"].tolist() == pytest.approx([number] * 2, rel=0, abs=0, nan_ok=True)


def test_equal_results_0_and_minus_0_share_a_slot():
    """Constants are told apart by ==, so among constant results the sign of a zero is that of the first."""
    program = Unrolled().finish("zeros", [("y", (2,), (0.0, -0.0))])
    assert program.preset == ((0, 0.0),)
    assert program.outputs[0].slots.tolist() == [0, 0]


def test_what_a_text_looks_like():
    recorder = Unrolled()
    x = recorder.input("x", (2,))
    y = recorder.call(lambda a, b: (a * b + 0.5,), *x)
    assert to_text(recorder.finish("small", [("y", (3,), (*y, 2.0, x[0]))])).splitlines() == [
        "program small slots 4",
        "input x 2 at 0",
        "output y 3 at 2:4 0:1",
        "preset 3 2.0",
        "block 0 ports 1 table 0",
        "  %0 = load 0 0",
        "  %1 = load 0 1",
        "  %2 = mul %0 %1",
        "  %3 = add %2 0.5",
        "  store 0 2 %3",
        "call 0 0",
    ]


def test_blank_lines_do_not_matter():
    text = all_texts().split("program ")[1]
    assert from_text("program " + text.replace("\n", "\n\n")) == from_text("program " + text)


def test_text_does_not_depend_on_the_process():
    """Neither on the hashes of strings nor on addresses, on which the order of sets depends."""
    script = "import sys; from tests.expr.samples import all_texts; sys.stdout.write(all_texts())"
    path = os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])
    seed = "12345" if os.environ.get("PYTHONHASHSEED") != "12345" else "54321"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == all_texts()


def test_digests_distinguish_blocks():
    """By ports, constants to the last bit and sign, and whether a store takes a constant or an instruction."""
    code = (("load", 0, 0), ("add", 0, 1.0))
    given = [
        Block(1, 0, code, (Store(0, 1, 1),)),
        Block(2, 0, code, (Store(0, 1, 1),)),
        Block(1, 1, code, (Store(0, 1, 1),)),
        Block(1, 0, code, (Store(0, 1, 1.0),)),
        Block(1, 0, code, (Store(0, 2, 1),)),
        Block(1, 0, (("load", 0, 0), ("add", 0, 1.0 + 2.0**-52)), (Store(0, 1, 1),)),
        Block(1, 0, (("load", 0, 0), ("add", 0, 0)), (Store(0, 1, 1),)),
        Block(1, 0, (("load", 0, 0), ("add", 0, 0.0)), (Store(0, 1, 1),)),
        Block(1, 0, (("load", 0, 0), ("add", 0, -0.0)), (Store(0, 1, 1),)),
    ]
    assert len({block_digest(block) for block in given}) == len(given)
    copied = ("".join(["a", "dd"]), 0, float("1.0"))  # equal, but other objects
    assert block_digest(Block(1, 0, (code[0], copied), (Store(0, 1, 1),))) == block_digest(given[0])
