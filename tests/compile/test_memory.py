"""Nothing leaks: references are counted right, and what is no longer used is freed, machine code included."""

import ctypes
import gc
import os
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.compile.batch_loop import BYTES, MALLOC
from fourbar.joints import Revolute

from .support import INTERPRETED, enough, fast_calls_only, machine_code_only, python, same_bits

pytestmark = pytest.mark.usefixtures("only_new")
Q = np.array([0.3, -0.7])
OUT = np.empty(2)
MANY = np.random.default_rng(0).random((100, 2))


def resident():
    """Memory of this process in bytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def growths(work, times):
    """By how much the memory of Python grows each time that work is done so many times, after a first time."""
    work(times // 10)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            work(times)
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
            yield after - before
            before = after
    finally:
        tracemalloc.stop()


def leaks(work, times):
    """Whether memory grows each time: what another thread of pytest keeps comes once."""
    return all(growth >= 4_000 for growth in growths(work, times))


@pytest.fixture
def f():
    made = fb.robots.double_pendulum().inverse_dynamics
    made(Q, Q, Q), made(MANY, MANY, MANY)
    return made


def fails(f):
    with pytest.raises(ArgumentError):
        f(Q, Q, Q[:1])


CALLS = {
    "one sample": (lambda f: f(Q, Q, Q), 100_000),
    "into an array": (lambda f: f(Q, Q, Q, out=OUT), 100_000),
    "a batch": (lambda f: f(MANY, MANY, MANY), 20_000),
    "lists": (lambda f: f([1.0, 2.0], Q, Q), 3_000),
    "broadcast": (lambda f: f(MANY, Q, Q), 3_000),
    "names": (lambda f: f(Q, v=Q, a=Q), 3_000),
    "an error": (fails, 1_000),
}


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["function", "derivative"])
def test_weak_references_end_with_what_they_refer_to(kind):
    """Libraries that trace, such as JAX, keep what they know of a function by weak references to it."""
    f = fb.robots.double_pendulum().inverse_dynamics
    f = f.jacobian if kind == "derivative" else f
    told = []
    references = [weakref.ref(f, lambda _: told.append("gone")) for _ in range(2)]
    known = weakref.WeakKeyDictionary({f: 1})
    f(Q, Q, Q)
    assert references[0]() is f and known[f] == 1
    del f
    gc.collect()
    assert [x() for x in references] == [None, None] and told == ["gone"] * 2 and not known


@pytest.mark.default_cases("one sample", "a batch", "an error", "lists")
@pytest.mark.quick
@pytest.mark.parametrize("call", CALLS)
def test_no_call_leaks(f, call):
    work, times = CALLS[call]
    times = min(times, 1_000) if INTERPRETED else times

    def repeat(count):
        for _ in range(count):
            work(f)

    repeat(1)  # what is imported now holds references for ever
    counted = [Q, MANY, np.ndarray, None, f, *f.state]
    if not INTERPRETED:  # NumPy itself loses references to its number types, which live forever
        counted.append(np.dtype(float))
    before = [sys.getrefcount(x) for x in counted]
    assert not leaks(repeat, times)
    assert max(sys.getrefcount(x) - b for x, b in zip(counted, before, strict=True)) < times // 10


@machine_code_only
def test_references_to_results(f):
    """A result is held by the user, and perhaps once more as a spare array of the function."""
    alone = np.empty(2)
    once = sys.getrefcount(alone)  # 2, or 1 where the interpreter lends what it passes on (CPython 3.14)
    for _ in range(10):
        result = f(Q, Q, Q)
        assert once <= sys.getrefcount(result) <= once + 1
        out = np.empty(2)
        before = sys.getrefcount(out)
        assert f(Q, Q, Q, out=out) is out
        assert sys.getrefcount(out) == before
    batch = f(MANY, MANY, MANY)
    assert sys.getrefcount(batch) == once


def test_memory_of_the_process_is_bounded(f):
    """What tracemalloc does not see: memory of machine code."""
    big = np.zeros((3000, 2))
    for _ in range(300):
        f(big, big, big)
    before = resident()
    for _ in range(3000):
        f(big, big, big)
    assert resident() - before < 20e6


@pytest.mark.quick
def test_robots_are_freed():
    system = fb.robots.double_pendulum()
    system.inverse_dynamics(Q, Q, Q), system.inverse_dynamics(MANY, Q, Q), system.pose(Q, "tip"), system.names
    state = weakref.ref(system.inverse_dynamics.state[0])
    posed = weakref.ref(system.pose.specialise("tip").state[0])
    alive = weakref.ref(system)
    del system
    gc.collect()
    assert (alive(), state(), posed()) == (None, None, None)


@pytest.mark.quick
def test_a_function_keeps_what_it_needs():
    f = fb.robots.double_pendulum().inverse_dynamics
    gc.collect()
    first = f(Q, Q, Q).copy()
    state = weakref.ref(f.state[0])
    gc.collect()
    assert np.array_equal(f(Q, Q, Q), first)
    assert state() is not None
    del f
    gc.collect()
    assert state() is None


@fast_calls_only
def test_spare_results_are_freed_with_their_function():
    f = fb.robots.double_pendulum().inverse_dynamics
    f(Q, Q, Q)
    result = f(Q, Q, Q)
    held = sys.getrefcount(result)
    del f
    gc.collect()
    assert sys.getrefcount(result) == held - 1


def small_robot(length):
    b = fb.Builder("small")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -length))
    return b.build()


@pytest.mark.slow
@machine_code_only
def test_two_hundred_robots(monkeypatch):
    """Each has another program, so each is compiled."""
    monkeypatch.setenv("FOURBAR_CACHE", "off")
    q = np.zeros(1)
    memory = []
    for number in range(200):
        system = small_robot(1.0 + number / 1000)
        assert system.gravity_force(q) == 0.0
        if number in (60, 199):
            del system
            gc.collect()
            memory.append(resident())
    assert memory[1] - memory[0] < 20e6


def test_functions_in_reference_cycles():
    class Owner:
        pass

    alive = []
    for number in range(20):
        owner = Owner()
        owner.self, owner.robot = owner, small_robot(1.0 + number)
        owner.function = owner.robot.gravity_force
        owner.robot.gravity_force([0.1])
        alive.append(weakref.ref(owner.function.state[0]))
        del owner
    gc.collect(), gc.collect()  # the first frees the functions, the second what they held
    assert not any(a() for a in alive)


def test_the_interpreter_ends_in_peace():
    """Functions, spare results and helper threads alive at exit, some in globals, some in a cycle."""
    code = """
import atexit, numpy as np, fourbar as fb
robot = fb.robots.double_pendulum()
f, q = robot.inverse_dynamics, np.array([0.1, 0.2])
kept = [f(q, q, q) for _ in range(5)]
big = np.ones((400_000, 2))
f(big, big, big, threads=2)
cycle = [robot, f]
cycle.append(cycle)
atexit.register(lambda: print(f(q, q, q).shape, f(big, big, big, threads=3).shape))
import builtins
builtins.kept = (f, kept)
print("done")
"""
    assert python(code) == "done\n(2,) (400000, 2)"


@machine_code_only
@pytest.mark.parametrize("form", ["single", "batch", "threads", "ordinary"])
def test_no_memory_for_a_workspace_is_an_error(form):
    """Whether machine code, NumPy or several threads call the kernel; and the next call is right."""
    system = fb.robots.double_pendulum()
    n = {"single": (), "threads": (enough(system.gravity_force),)}.get(form, (100,))
    q = np.random.default_rng(0).normal(size=(*n, 2))
    more = {"threads": 2} if form == "threads" else {}
    call = (lambda: system.gravity_force(q=q)) if form == "ordinary" else lambda: system.gravity_force(q, **more)
    wanted = call().copy()
    assert same_bits(call(), wanted)
    variant = system.gravity_force.state[0].variant(("q",))
    data = variant.ufunc(single=n == ()).kernel._tables.data
    before = data.copy()
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: None)
    data[BYTES], data[MALLOC] = 1 << 20, ctypes.cast(nothing, ctypes.c_void_p).value
    for _ in range(2):
        with pytest.raises(MemoryError, match="gravity_force: no memory for a workspace of 1048576 bytes"):
            call()
    data[MALLOC] = before[MALLOC]
    assert same_bits(call(), wanted)


_SMALL_STACKS = """
import threading
threading.stack_size(128 * 1024)
import numpy as np, fourbar as fb
b = fb.Builder("chain")
for k in range(55):
    b.body(f"link{k}", parent=f"link{k - 1}" if k else "world", joint=fb.joints.Revolute("xyz"[k % 3]), mass=1.0,
           com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15), position=(0.0, 0.0, 0.3))
robot = b.build()
q = robot.random(0, 4096)
wanted = robot.mass_matrix(q, threads=1).copy()
found = [robot.mass_matrix(q, threads=2)]
thread = threading.Thread(target=lambda: found.append(robot.mass_matrix(q, threads=1)))
thread.start()
thread.join()
print([np.array_equal(x, wanted) for x in found], robot.mass_matrix.program().slots > 2000)
"""


@pytest.mark.slow
@machine_code_only
def test_small_stacks_suffice():
    """For callers and for helpers: large workspaces are on the heap."""
    assert python(_SMALL_STACKS) == "[True, True] True"
