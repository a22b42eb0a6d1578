"""Helper threads: they sleep, wake, are shared by callers, survive forks and never hold up a caller that is alone."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from fourbar.compile import crew

from .support import pendulum, same_bits

Q = np.random.default_rng(0).normal(size=(200_000, pendulum().nq))


def _both():
    f = pendulum().gravity_force
    return f(Q, threads=3), f(Q, threads=1)


def test_a_helper_that_fell_asleep_is_woken():
    assert same_bits(*_both())
    time.sleep(0.05)
    assert same_bits(*_both())


def test_a_task_that_nobody_began_is_withdrawn():
    helper = crew.Helper("idle")
    helper.close()
    helper.post((0,) * 7, held=None)
    helper.settle()  # would wait for ever, or jump to address 0


def test_a_busy_crew_lets_others_work_alone():
    ours = crew.crew()
    with ours.lock:
        assert same_bits(*_both())


def test_many_callers_share_one_crew():
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
def test_a_forked_child_has_helpers_of_its_own():
    _both()
    parent = crew.crew()
    child = os.fork()
    if child == 0:
        good = crew.crew() is not parent and same_bits(*_both())
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_without_helpers_the_caller_does_it_all(monkeypatch):
    monkeypatch.setattr(crew, "_crew", crew.Crew())

    def refuse(name):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crew, "Helper", refuse)
    assert same_bits(*_both())
