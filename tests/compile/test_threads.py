"""One batch on several threads, and threads, forks and interrupts around it."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.compile.callables import is_supported
from fourbar.compile.workers import AWAKE, MOST_WORKERS, default_threads, run_shared, workers

from .support import arguments, chain, enough, eventually, machine_code_only, pendulum, python, robot, same_bits

Q = np.array([0.3, -0.7])
BIG = np.random.default_rng(0).uniform(-3.0, 3.0, (enough(pendulum().gravity_force), 2))


@pytest.mark.quick
@pytest.mark.parametrize("wrong", [0, -1, "2", 1.5, 2.0, [2], np.nan, np.array(2.0), np.array([2, 2])], ids=repr)
def test_wrong_numbers_of_threads(wrong):
    with pytest.raises(ArgumentError, match="inverse_dynamics: threads must be a whole number of at least 1, got"):
        pendulum().inverse_dynamics(Q, Q, Q, threads=wrong)


def test_whole_numbers_of_any_type():
    wanted = pendulum().gravity_force(BIG, threads=1)
    for threads in (np.int64(2), np.uint8(3), np.array(2), True, 10**30):
        assert same_bits(pendulum().gravity_force(BIG, threads=threads), wanted)


def test_wrong_numbers_of_threads_are_seen_before_any_work(monkeypatch):
    system = fb.robots.double_pendulum()
    monkeypatch.setattr("fourbar.functions.recording.record_program", lambda *a: pytest.fail("traced"))
    with pytest.raises(ArgumentError, match="threads"):
        system.inverse_dynamics(Q, Q, Q, threads=0)


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5", " ", "2 3", "²", "00"])
def test_a_wrong_environment_is_refused(wrong, monkeypatch):
    monkeypatch.setenv("FOURBAR_THREADS", wrong)
    with pytest.raises(ValueError, match=r"FOURBAR_THREADS.*whole number"):
        fb.robots.double_pendulum().inverse_dynamics(Q, Q, Q)


def test_the_environment_sets_the_default(monkeypatch):
    for many in ("1" + 30 * "0", 5000 * "9"):
        monkeypatch.setenv("FOURBAR_THREADS", many)
        assert default_threads() == MOST_WORKERS + 1
    monkeypatch.setenv("FOURBAR_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.delenv("FOURBAR_THREADS")
    assert 1 <= default_threads() <= (os.cpu_count() or 1)


@machine_code_only
def test_large_batches_are_shared_and_small_ones_are_not(monkeypatch):
    used = []
    monkeypatch.setattr("fourbar.functions.function.run_shared", lambda *a: used.append(a[3]) or run_shared(*a))
    system = fb.robots.double_pendulum()
    given = dict.fromkeys("qva", BIG)
    system.inverse_dynamics(**given, threads=2)
    assert used == [2]
    system.inverse_dynamics(**given, threads=1)
    system.inverse_dynamics(**{name: x[:5] for name, x in given.items()}, threads=2)
    assert used == [2]
    monkeypatch.setenv("FOURBAR_THREADS", "3")
    system.inverse_dynamics(**given)
    assert used == [2, 3]


@machine_code_only
@pytest.mark.skipif(not is_supported(), reason="there is no machine code for calls here")
def test_python_has_no_part_in_sharing_with_workers_that_are_there(monkeypatch):
    """Whether they are awake or not: who had to ask for the interpreter lock to wake would make the caller wait."""
    system = fb.robots.double_pendulum()
    wanted = system.inverse_dynamics(BIG, BIG, BIG, threads=2).copy()
    used = []
    monkeypatch.setattr("fourbar.functions.function.run_shared", lambda *a: used.append(a[3]) or run_shared(*a))
    some = BIG[: enough(system.inverse_dynamics)]
    out = np.empty(some.shape)
    awake = workers().table[AWAKE : AWAKE + 1]
    for _ in range(3):
        eventually(lambda: awake[0] == 0)
        for _ in range(2):
            system.inverse_dynamics(some, some, some, out=out, threads=2)
            assert same_bits(out, wanted[: len(some)])
    assert used == []


@machine_code_only
@pytest.mark.parametrize("threads", [1, 2])
def test_a_result_over_the_arguments(threads):
    """Memory that is both read and written is buffered; other parts of one array are not the same memory."""
    system = fb.robots.double_pendulum()
    wanted = system.inverse_dynamics(BIG, BIG, BIG)
    for start in (0, 1, 1000, len(BIG) - 1, len(BIG)):
        both = np.concatenate([BIG, BIG])
        for _ in range(2):
            both[: len(BIG)] = BIG
            out = both[start : start + len(BIG)]
            assert system.inverse_dynamics(both[: len(BIG)], BIG, BIG, out=out, threads=threads) is out
            assert same_bits(out, wanted)


@pytest.mark.parametrize("threads", [2, 3, 8, 33])
def test_awkward_sizes(threads):
    """Sizes around multiples of vectors and chunks."""
    wanted = pendulum().gravity_force(BIG, threads=1)
    for n in (len(BIG) - k for k in (0, 1, 2, 7, 9, 4096)):
        assert same_bits(pendulum().gravity_force(BIG[:n], threads=threads), wanted[:n])


def test_many_threads_that_use_threads():
    arrays = arguments(robot(), "forward_dynamics", (6_000,))
    wanted = robot().forward_dynamics(*arrays, threads=1)
    good = []

    def work():
        good.extend(same_bits(robot().forward_dynamics(*arrays, threads=2), wanted) for _ in range(5))

    workers = [threading.Thread(target=work) for _ in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert good == [True] * 30


@machine_code_only
@pytest.mark.parametrize("form", ["fast", "ordinary"])
def test_the_interpreter_lock_is_released(form, monkeypatch):
    """Another thread goes on while a batch is computed on this one."""
    monkeypatch.setenv("FOURBAR_THREADS", "1")
    system = chain(60)
    arrays = arguments(system, "inverse_dynamics", (10_000,))
    more = {} if form == "fast" else {"threads": 1}
    system.inverse_dynamics(*arrays, threads=1)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            time.sleep(0.0002)  # `stop.wait` takes far longer in Python 3.14.0 without the GIL
            counted[0] += 1

    def seen():
        before = counted[0]
        system.inverse_dynamics(*arrays, **more)
        return counted[0] - before

    other = threading.Thread(target=count)
    other.start()
    try:
        assert any(seen() > 5 for _ in range(20))
    finally:
        stop.set()
        other.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes():
    """Also on several threads, although those of the parent do not exist in it."""
    system = fb.robots.double_pendulum()
    one, many = system.gravity_force(Q).copy(), system.gravity_force(BIG, threads=3)
    child = os.fork()
    if child == 0:
        good = same_bits(system.gravity_force(Q), one)
        good = good and same_bits(system.gravity_force(BIG, threads=3), many)
        good = good and np.all(np.isfinite(system.mass_matrix(BIG[:100])))
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert same_bits(system.gravity_force(BIG, threads=3), many)


@machine_code_only
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent with os.kill")
def test_an_interrupted_call_leaves_no_worker_on_freed_memory():
    """Arrays must live until the last worker is done, even if the caller gave up waiting."""
    code = """
import os, signal, threading, time, numpy as np, fourbar as fb
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have
robot = fb.robots.double_pendulum()
q = np.ones((400_000, 2))
wanted = robot.mass_matrix(q[:1])
interrupted = 0
for turn in range(25):
    timer = threading.Timer(0.001 * (1 + turn % 8), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        robot.mass_matrix(q, threads=4)
        for _ in range(6000):
            time.sleep(0.01)  # one that begins just after the signal is not cut short by it
    except KeyboardInterrupt:
        interrupted += 1
    timer.join()
    junk = [np.empty(1_600_000) for _ in range(2)]
assert (robot.mass_matrix(q[:1]) == wanted).all()
print(interrupted)
"""
    assert int(python(code)) == 25
