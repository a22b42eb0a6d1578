"""Calls that a friend would not make: odd arguments on every way through the machine code, odd strides, odd moments."""

import contextlib
import ctypes
import os
import sys
import threading
import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import callables
from fourbar.compile.kernel import Kernel
from fourbar.compile.transfer import CHUNK, LEAST_BYTES
from fourbar.compile.workers import default_threads

from .support import EVERY_WIDTH, enough, machine_code_only, pendulum, program_of, python, same_bits

pytestmark = machine_code_only
only_fast = pytest.mark.skipif(not callables.is_supported(), reason="there is no machine code for calls here")
Q = np.array([0.3, -0.7])
MANY = np.random.default_rng(0).uniform(-1.0, 1.0, (70, 2))
SHARED = np.random.default_rng(1).uniform(-1.0, 1.0, (enough(pendulum().gravity_force), 2))


class Subclass(np.ndarray):
    """An array, but not a plain one."""


def read_only(array):
    array.flags.writeable = False
    return array


def odd_outs(batch):
    """Objects given as out=: some are accepted, the others refused."""
    shape = (*batch, 2)
    return [
        None, np.empty(shape), np.empty(shape).view(Subclass), np.ma.masked_array(np.empty(shape), mask=True),
        read_only(np.empty(shape)), np.empty(shape, order="F"), np.empty(shape)[..., ::-1], np.empty(shape, np.float32),
        np.empty(shape, ">f8"), np.empty((1, *shape)), np.empty(1), np.broadcast_to(np.empty(2), shape), "out", 1, (),
        (np.empty(shape),), [np.empty(shape)], type, memoryview(np.empty(2)), np.float64(1.0), object(),
    ]  # fmt: skip


ODD_THREADS = [
    None,
    1,
    2,
    3,
    64,
    65,
    300,
    0,
    -1,
    True,
    False,
    1.0,
    "2",
    np.int64(2),
    np.array([1, 2]),
    object(),
    1 << 80,
]


def counts(objects):
    return [sys.getrefcount(x) for x in objects]


@only_fast
@pytest.mark.parametrize("q", [Q, MANY], ids=["one sample", "a batch"])
def test_every_way_out_gives_back_what_it_took(q):
    """Whatever is given as out= and threads=: no reference is kept or lost, the result is right or refused."""
    f = fb.robots.double_pendulum().inverse_dynamics
    wanted = f(q, q, q).copy()
    given = [{"out": out} for out in odd_outs(q.shape[:-1])] + [{"threads": n} for n in ODD_THREADS]
    given += [{"out": np.empty(q.shape), "threads": n} for n in ODD_THREADS]
    for options in given:
        watched = [q, *(x for x in options.values() if sys.getrefcount(x) < 100)]  # others belong to everybody
        for turn in range(40):
            if turn == 8:
                before = counts(watched)
            with contextlib.suppress(TypeError, ValueError):
                assert same_bits(np.asarray(f(q, q, q, **options)), wanted)
        assert [b - a for a, b in zip(before, counts(watched), strict=True)] == [0] * len(watched), options


@only_fast
def test_results_in_an_object_and_results_that_are_lost_keep_the_books():
    robot, one, lost = fb.robots.parallelogram(), np.ones(1), np.zeros(3)
    sound = np.array([1.0, -1.0, 1.0])
    f, J = robot.forward_dynamics, robot.forward_dynamics.jacobian
    shape = np.asarray(J(sound, one, one).array).shape
    vector, blocks = np.empty(1), np.empty(shape)
    watched = [one, lost, sound, vector, blocks, type(J(sound, one, one)), f, J]
    for turn in range(60):
        if turn == 10:
            before = counts(watched)
        for call in (lambda: f(lost, one, one), lambda: f(lost, one, one, out=vector), lambda: J(lost, one, one),
                     lambda: J(lost, one, one, out=blocks)):  # fmt: skip
            with pytest.raises(fb.SingularError):
                call()
        assert J(sound, one, one, out=blocks).array is blocks
        J(sound, one, one), f(sound, one, one, out=vector)
    assert [b - a for a, b in zip(before, counts(watched), strict=True)] == [0] * len(watched)


@pytest.mark.parametrize("threads", [None, 1, 2, 300])
def test_no_samples_at_all(threads):
    f, none = pendulum().inverse_dynamics, np.empty((0, 2))
    for _ in range(3):
        assert f(none, none, none, threads=threads).shape == (0, 2)
        out = np.empty((0, 2))
        assert f(none, none, none, out=out, threads=threads) is out


@pytest.mark.parametrize("threads", [64, 65, 300, 10**30])
def test_more_threads_than_anyone_has(threads):
    f = pendulum().gravity_force
    wanted = f(SHARED, threads=1)
    for _ in range(4):
        assert same_bits(f(SHARED, threads=threads), wanted)


def test_no_more_threads_are_started_than_the_machine_can_use():
    f = pendulum().gravity_force
    f(SHARED, threads=10**30)
    helpers = [thread for thread in threading.enumerate() if thread.name.startswith("fourbar-")]
    assert len(helpers) < max(8, os.cpu_count() or 1, default_threads())


@only_fast
def test_nobody_can_take_from_a_function_what_it_needs():
    f = fb.robots.double_pendulum().inverse_dynamics
    wanted = f(Q, Q, Q).copy()
    assert not hasattr(f, "__del__")
    for spoil in (
        lambda: object.__setattr__(f, "held", None),
        lambda: object.__delattr__(f, "held"),
        lambda: type(f).held.__set__(f, None),
        lambda: type(f).held.__delete__(f),
    ):
        with pytest.raises(AttributeError):
            spoil()
    assert same_bits(f(Q, Q, Q), wanted)
    with pytest.raises(TypeError):
        type(f)()(Q)


def run_raw(kernel, x, first, outer, inner, n):
    """The kernel itself, on n rows of the memory of x and of an output that lies where it is told."""
    args = (ctypes.c_int64 * 2)(x.ctypes.data, first)
    steps = (ctypes.c_int64 * 4)(8, outer, 8, inner)
    dims = (ctypes.c_int64 * 1)(n)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    prototype(kernel.address)(ctypes.addressof(args), ctypes.addressof(dims), ctypes.addressof(steps), kernel.data)


@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
@pytest.mark.parametrize("direction", ["forwards", "backwards", "all the same", "entries backwards", "entries apart"])
def test_large_results_stay_within_their_rows(lanes, direction):
    """Rows that follow each other, go backwards, or are one; entries next to each other, backwards or apart."""
    n, count = 2 * lanes.width + 3, 2 * CHUNK + 5
    kernel = Kernel(program_of(lambda x: tuple((k + 1.0) * x[0] for k in range(count)), 1), lanes)
    x = np.random.default_rng(0).normal(size=n)
    pitch = (LEAST_BYTES // (8 * n) | 1) + 3 * count
    room = np.full((n, pitch), np.pi)
    view = {
        "forwards": room[:, 7 : 7 + count],
        "backwards": room[::-1, 7 : 7 + count],
        "all the same": np.lib.stride_tricks.as_strided(room[0, 7:], (n, count), (0, 8)),
        "entries backwards": room[:, 7 : 7 + count][:, ::-1],
        "entries apart": room[:, 7 : 7 + 2 * count : 2],
    }[direction]
    run_raw(kernel, x, view.ctypes.data, *view.strides, n)
    wanted = x[:, None] * np.arange(1.0, count + 1.0)
    np.testing.assert_array_equal(view, wanted if view.strides[0] else np.tile(wanted[-1], (n, 1)))
    view[:] = np.pi
    assert np.all(room == np.pi)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_forks_while_helpers_are_at_work():
    f = pendulum().gravity_force
    wanted, stop = f(SHARED, threads=1), threading.Event()

    def work():
        while not stop.is_set():
            f(SHARED, threads=2)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                good = all(same_bits(f(SHARED, threads=2), wanted) for _ in range(3))
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        worker.join()


@pytest.mark.slow  # many interpreters; test_endings has some
def test_calls_while_the_interpreter_ends():
    """From a daemon thread, from what is done at exit after the helpers were sent home, and from a finalizer."""
    code = """
import atexit, threading, numpy as np
late = []
atexit.register(lambda: [call() for call in late])  # runs last, after what fourbar itself registers
import fourbar as fb
f = fb.robots.double_pendulum().gravity_force
q = np.ones((400_000, 2))
wanted = f(q, threads=1)
f(q, threads=2)

class Last:
    def __init__(self, f):
        self.f, self.q, self.wanted = f, q, wanted

    def __del__(self):
        assert (self.f(self.q[0]) == self.wanted[0]).all() and (self.f(self.q) == self.wanted).all()

def work():
    while True:
        f(q, threads=2)

last = Last(f)
late.append(lambda: [np.testing.assert_array_equal(f(q, threads=2), wanted) for _ in range(20)])
threading.Thread(target=work, daemon=True).start()
print("end")
"""
    for _ in range(3):
        assert python(code).strip() == "end"


def test_a_warning_as_an_error_comes_through_the_machine_code():
    robot = fb.robots.parallelogram()
    q, v = np.zeros((5, 3)), np.ones((5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            with pytest.raises(RuntimeWarning, match="toggle position"):
                robot.forward_dynamics(q, v, v)
