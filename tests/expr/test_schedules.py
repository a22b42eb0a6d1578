"""Random algorithms through every recorder: all must compute the same.

`Unrolled` folds the same constants whatever its block size, so its numbers agree to the last bit (but for the sign of
a zero). `Shared` reads most constants from a table, so that x / c stays a division where `Unrolled` multiplies by 1/c:
its numbers may differ in the last bits.
"""

import random

import numpy as np
import pytest
from hypothesis import given

from fourbar.expr import Shared, Unrolled, from_text, interpret, to_text

from .schedules import STEPS, SharedBy, directly, record, schedules, wishes
from .support import EXAMPLES, generic, seeds

BLOCK_SIZES = (1, 2, 5, 20, 1000)
RECORDERS = {f"blocks of {n}": lambda n=n: Unrolled(block_size=n) for n in BLOCK_SIZES}
RECORDERS |= {"shared": Shared} | {f"shared by {n}": lambda n=n: SharedBy(n) for n in (1, 2)}


def numbers(seed):
    x, y = generic(seed, 6), generic(seed + 1, 3)
    return x, y, {"x": np.reshape(x, (2, 3)), "y": y}


def random_schedule(seed, length):
    """A long schedule that now and then reaches far back."""
    rng = random.Random(seed)
    reach = rng.choice([3, 10, 1000])
    schedule = [(rng.choice(sorted(STEPS)), rng.randrange(reach), rng.randrange(1000)) for _ in range(length)]
    return schedule, [rng.randrange(1000) for _ in range(4)]


def check_addresses(program):
    """What backends rely on: slots are written before they are read, and no call overwrites what it reads."""
    given_slots = {x.first + k for x in program.inputs for k in range(x.size)} | {slot for slot, _ in program.preset}
    written = set(given_slots)
    for call in program.calls:
        block = program.blocks[call.block]
        assert len(call.bases) == block.ports
        assert len(call.table) == block.table
        loaded = {call.bases[port] + offset for op, port, *rest in block.code if op == "load" for offset in rest}
        stored = [call.bases[s.port] + s.offset for s in block.stores]
        assert loaded <= written
        assert len(set(stored)) == len(stored)
        assert not set(stored) & (loaded | given_slots)
        written.update(stored)
    assert {slot for y in program.outputs for slot in y.slots} <= written
    assert written <= set(range(program.slots))


@EXAMPLES
@given(schedules, wishes, seeds)
def test_every_recorder_computes_what_direct_calls_compute(schedule, wanted, seed):
    x, y, arguments = numbers(seed)
    expected = np.reshape(directly(schedule, wanted, x, y), (-1, 3))
    for make in RECORDERS.values():
        found = interpret(record(schedule, wanted, make()), arguments)["z"]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@EXAMPLES
@given(schedules, wishes, seeds)
def test_unrolled_programs_agree_bit_for_bit_whatever_the_block_size(schedule, wanted, seed):
    _, _, arguments = numbers(seed)
    found = [interpret(record(schedule, wanted, Unrolled(block_size=n)), arguments)["z"] for n in BLOCK_SIZES]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@EXAMPLES
@given(schedules, wishes)
def test_addresses_are_sound(schedule, wanted):
    for make in RECORDERS.values():
        check_addresses(record(schedule, wanted, make()))


@EXAMPLES
@given(schedules, wishes)
def test_text_gives_the_program_back_and_recording_twice_the_same_text(schedule, wanted):
    for make in (lambda: Unrolled(block_size=5), Shared):
        program = record(schedule, wanted, make())
        text = to_text(program)
        assert from_text(text) == program
        assert to_text(record(schedule, wanted, make())) == text


@pytest.mark.parametrize("make", RECORDERS.values(), ids=RECORDERS)
@pytest.mark.parametrize("seed", range(6))
def test_long_schedules(make, seed):
    """Hundreds of steps, with values that live long beside many that die soon: recycled slots must not clobber them."""
    schedule, wanted = random_schedule(seed, 250)
    x, y, arguments = numbers(seed)
    program = record(schedule, wanted, make())
    check_addresses(program)
    expected = np.reshape(directly(schedule, wanted, x, y), (-1, 3))
    np.testing.assert_allclose(interpret(program, arguments)["z"], expected, rtol=1e-7, atol=1e-7)


def test_long_schedules_do_recycle_slots():
    """The fuzz above is worth something only if slots are used again."""
    schedule, wanted = random_schedule(3, 250)
    for make in (lambda: Unrolled(block_size=1), Shared, lambda: SharedBy(1)):
        program = record(schedule, wanted, make())
        stored = [call.bases[s.port] + s.offset for call in program.calls for s in program.blocks[call.block].stores]
        assert len(set(stored)) < len(stored)
