"""Signals amid long batches: handlers run, and an error that one raises ends the batch."""

import sys
import threading

import pytest

from .support import machine_code_only, python

pytestmark = [
    machine_code_only,
    pytest.mark.skipif(sys.platform == "win32", reason="about signals of POSIX systems"),
]

# A thread sends the signal when the first result is there, and the last is looked at afterwards.
_CODE = """
import os, signal, threading
import numpy as np
from fourbar.compile import signals
signals.BETWEEN = 1_000_000
import fourbar as fb

class Stop(Exception):
    pass

runs = []
def handler(*_):
    runs.append(1)
    if {raises}:
        raise Stop

def send():
    while np.isnan(out[0, 0]): pass
    os.kill(os.getpid(), signal.SIGUSR1)

signal.signal(signal.SIGUSR1, handler)
q = np.random.default_rng(0).normal(size=({count}, 2))
f = fb.robots.double_pendulum().inverse_dynamics
wanted = np.asarray(f(q[:100], q[:100], q[:100]))
f(q[:100], q[:100], q[:100])
out = np.full((len(q), *wanted.shape[1:]), np.nan)
sender = threading.Thread(target=send)
sender.start()
try:
    f({call})
    stopped = False
except Stop:
    stopped = True
sender.join()
while not runs: pass
assert np.array_equal(out[:100], wanted)
assert np.array_equal(f(q[:100], q[:100], q[:100]), wanted)
print(stopped, np.isnan(out[-1]).all())
"""
_WAYS = {
    "alone": "q, q, q, out=out, threads=1",
    "together": "q, q, q, out=out, threads=2",
    "by name": "q=q, v=q, a=q, out=out, threads=1",
    "by name, together": "q=q, v=q, a=q, out=out, threads=2",
}


def run(way, raises):
    return python(_CODE.format(call=_WAYS[way], raises=raises, count=6_000_000))


@pytest.mark.default_cases("alone")
@pytest.mark.parametrize("way", _WAYS)
def test_an_error_in_a_handler_ends_a_batch(way):
    assert run(way, True) == "True True"


@pytest.mark.slow_cases("together")
@pytest.mark.parametrize("way", ["together", "by name"])
def test_a_handler_that_returns_changes_nothing(way):
    assert run(way, False) == "False False"


def test_the_main_thread_is_known():
    from fourbar.compile import signals

    assert signals.table[signals.MAIN] == threading.main_thread().ident
    signals.raise_error()  # nothing to raise
