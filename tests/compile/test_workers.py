"""Worker threads: they sleep, wake, are shared by callers, survive forks and never hold up a caller that is alone."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from fourbar.compile import workers

from .support import enough, eventually, machine_code_only, pendulum, same_bits

Q = np.random.default_rng(0).normal(size=(enough(pendulum().gravity_force), pendulum().nq))


def _both():
    """By the machine code's own way to the workers, and on one thread."""
    f = pendulum().gravity_force
    return f(Q, threads=3), f(Q, threads=1)


def _slowly():
    """The same by way of Python: lists are read there."""
    f = pendulum().gravity_force
    return f(Q.tolist(), threads=3), f(Q, threads=1)


@pytest.fixture
def ours(monkeypatch):
    """Workers of a test's own, which Python finds; machine code finds none, and leaves it to Python."""
    found, table = workers.Workers(), workers.workers().table
    monkeypatch.setattr(workers, "_workers", found)
    count = table[workers.COUNT]
    table[workers.COUNT] = 0
    yield found
    table[workers.COUNT] = count


def _awake():
    """Whether each of two workers is awake."""
    return workers.workers().table[workers.AWAKE : workers.AWAKE + 2] != 0


WAYS = pytest.mark.parametrize("both", [_both, _slowly])


@WAYS
def test_a_worker_that_fell_asleep_is_woken(both):
    assert same_bits(*both())
    eventually(lambda: not _awake().any())
    assert same_bits(*both())


@machine_code_only
def test_sleeping_workers_are_marked_in_the_table_and_woken_by_tasks():
    """By a task for two of them both, by a task for one only the first."""
    _slowly()
    eventually(lambda: not _awake().any())
    f, seen = pendulum().gravity_force, np.zeros(2, bool)

    def seen_awake(threads):
        nonlocal seen
        f(Q, threads=threads)
        seen |= _awake()
        return seen.sum() == threads - 1

    for threads in (2, 3):
        eventually(lambda: not _awake().any())
        seen[:] = False
        eventually(lambda threads=threads: seen_awake(threads))


@machine_code_only
def test_a_worker_sleeps_and_wakes_again_and_again():
    """Without ever missing a task that comes while it falls asleep: tasks come after any time."""
    f = pendulum().gravity_force
    wanted = f(Q, threads=1)
    rng = np.random.default_rng(0)
    for pause in rng.uniform(0.0, 4e-4, 300):
        end = time.perf_counter() + pause
        while time.perf_counter() < end:
            pass
        assert same_bits(f(Q, threads=3), wanted)
    eventually(lambda: not _awake().any())


@machine_code_only
def test_a_task_that_nobody_begins_is_withdrawn(ours):
    ours.start(2)
    for worker in ours._workers:
        worker.close()
    assert same_bits(*_slowly())  # would wait for ever
    assert ours.table[workers.BUSY] == 0


@WAYS
def test_while_workers_are_busy_others_work_alone(both):
    table = workers.workers().table
    table[workers.BUSY] = 1
    try:
        assert same_bits(*both())
        assert table[workers.BUSY] == 1
    finally:
        table[workers.BUSY] = 0


def test_many_callers_share_the_workers():
    wanted = pendulum().gravity_force(Q, threads=1)
    found = []

    def work():
        for _ in range(10):
            found.append(same_bits(pendulum().gravity_force(Q, threads=2), wanted))

    callers = [threading.Thread(target=work) for _ in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert found == [True] * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_has_workers_of_its_own():
    _both()
    child = os.fork()
    if child == 0:
        good = not workers.workers().table[workers.COUNT] and same_bits(*_both()) and same_bits(*_slowly())
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_without_workers_the_caller_does_it_all(ours, monkeypatch):
    def refuse(worker):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers.Worker, "start", refuse)
    assert same_bits(*_slowly())
    assert not ours._workers


@pytest.mark.parametrize("begun", [True, False])
@machine_code_only
def test_a_worker_whose_start_is_interrupted_is_ended_too(ours, monkeypatch, begun):
    start = workers.Worker.start

    def interrupted(worker):
        if begun:
            start(worker)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers.Worker, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _slowly()
    monkeypatch.setattr(workers.Worker, "start", start)
    assert same_bits(*_slowly())
    threads = [worker._thread for worker in ours._workers]
    assert len(threads) == ours.table[workers.COUNT] > 0
    ours.close()
    assert not any(thread.is_alive() for thread in threads)


@machine_code_only
def test_once_closed_no_worker_is_started_again(ours):
    """What is called at exit, after the workers were ended, is computed by the caller alone."""
    assert same_bits(*_slowly())
    assert ours._workers
    ours.close()
    assert same_bits(*_slowly())
    assert not ours._workers and ours.table[workers.COUNT] == 0
