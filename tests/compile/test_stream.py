"""Results that go past the caches: entries are where they belong, wherever rows begin; nothing else is touched."""

from itertools import product

import numpy as np
import pytest

from fourbar.compile.callables import GeneralisedUfunc
from fourbar.compile.kernel import Kernel
from fourbar.compile.transfer import CHUNK, LEAST_BYTES

from .support import EVERY_WIDTH, arguments, machine_code_only, program_of, robot, run

pytestmark = machine_code_only
UNTOUCHED = -7.0


def multiples(count):
    """x -> (1, 2, ... count) x, with a zero among them."""
    return lambda x: tuple(0.0 if k == 5 else (k + 1.0) * x[0] for k in range(count))


def far_apart(n, count, shift):
    """Room for n rows, so far apart that they count as large, each aligned differently; all shifted by some places."""
    pitch = (LEAST_BYTES // (8 * n) | 1) + 2 * count
    room = np.full(n * pitch + shift, UNTOUCHED)
    return room, room[shift:].reshape(n, pitch)[:, count : 2 * count]


@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 13])
def test_rows_that_begin_anywhere(lanes, count):
    n = 19
    x = np.random.default_rng(count).normal(size=(n, 1))
    made = GeneralisedUfunc(Kernel(program_of(multiples(count), 1), lanes))
    expected = run(program_of(multiples(count), 1), x)
    for shift in (0, 3):
        room, out = far_apart(n, count, shift)
        made.ufunc(x, out=out)
        np.testing.assert_array_equal(out, expected)
        out[:] = UNTOUCHED
        assert np.all(room == UNTOUCHED)


@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
@pytest.mark.parametrize("count", [CHUNK, CHUNK + 5, 2 * CHUNK + 8])
def test_rows_that_are_aligned_together(lanes, count):
    n = 19
    x = np.random.default_rng(count).normal(size=(n, 1))
    made = GeneralisedUfunc(Kernel(program_of(multiples(count), 1), lanes))
    expected = np.where(np.arange(count) == 5, 0.0, np.arange(1.0, count + 1.0) * x)
    for unit, shift in product((4, 8), range(8)):
        pitch = (LEAST_BYTES // (8 * n * unit) | 1) * unit + 4 * CHUNK
        room = np.full(n * pitch + 16, UNTOUCHED)
        first = -(room.ctypes.data // 8) % 8 + shift
        out = room[first : first + n * pitch].reshape(n, pitch)[:, :count]
        made.ufunc(x, out=out)
        np.testing.assert_array_equal(out, expected)
        out[:] = UNTOUCHED
        assert np.all(room == UNTOUCHED)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_jacobian_is_that_of_small_batches(threads):
    f = robot().inverse_dynamics.jacobian
    entries = 3 * robot().nv ** 2
    n = LEAST_BYTES // (8 * entries) + 5
    arrays = arguments(robot(), "inverse_dynamics", (n,))
    out = np.empty((n, 3, robot().nv, robot().nv))
    f(*arrays, out=out, threads=threads)
    for first in range(0, n, n // 7):
        few = slice(first, first + 40)
        np.testing.assert_array_equal(out[few], np.stack(f(*(x[few] for x in arrays)), axis=1))


def test_columns_of_a_larger_array():
    n, count = 11, 2 * CHUNK
    x = np.random.default_rng(0).normal(size=(n, 1))
    room = np.full((n, count, 2, LEAST_BYTES // (16 * n * count) + 1), UNTOUCHED)
    made = GeneralisedUfunc(Kernel(program_of(multiples(count), 1), EVERY_WIDTH[-1]))
    made.ufunc(x, out=room[:, :, 1, 0])
    np.testing.assert_array_equal(room[:, :, 1, 0], run(program_of(multiples(count), 1), x))
    room[:, :, 1, 0] = UNTOUCHED
    assert np.all(room == UNTOUCHED)
