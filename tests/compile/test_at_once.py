"""First calls from many threads at once, amid forks and signals, and when the interpreter ends: in new processes."""

import sys
import sysconfig
import threading
import time

import pytest

from fourbar.once import LAST, Standstill, Turn

from .support import finished, python, started

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="about signals and forks of POSIX systems")
CACHES = pytest.mark.parametrize("cache", ["warm", "off"])

_HEAD = """
import threading
import numpy as np
import fourbar as fb

Q = np.array([0.3, -0.7])
MANY = np.full((40_000, 2), 0.3)
CALLS = [
    lambda r: r.inverse_dynamics(Q, Q, Q),
    lambda r: r.mass_matrix(Q),
    lambda r: r.forward_dynamics.jacobian(Q, Q, Q).q,
    lambda r: r.inverse_dynamics(MANY, MANY, MANY, threads=2),
    lambda r: r.gravity_force(q=MANY, threads=3),
    lambda r: r.bias_force(Q, Q),
]

def at_once(jobs):
    '''The results of functions that threads begin at the same moment.'''
    gate, results = threading.Barrier(len(jobs)), [None] * len(jobs)
    def run(k):
        gate.wait()
        results[k] = jobs[k]()
    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(jobs))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return results

def same(results):
    return all(np.array_equal(results[0], x) for x in results)
"""

_SAME = """
r = fb.robots.double_pendulum()
for call in CALLS[{first}:]:
    found = at_once([lambda: call(r)] * {threads})
    assert same([*found, call(r), call(fb.robots.double_pendulum())])
print("good")
"""

_DIFFERENT = """
robots = [fb.robots.double_pendulum().with_gravity((0, 0, -1.0 - k % 3)) for k in range({threads})]
jobs = [lambda k=k: CALLS[k % len(CALLS)](robots[k]) for k in range({threads})]
found = at_once(jobs)
assert all(np.array_equal(a, job()) for a, job in zip(found, jobs))
for call in CALLS:
    assert same([call(r) for r in robots[::3]])
print("good")
"""


def environment(cache, tmp_path):
    return {"FOURBAR_CACHE": "off"} if cache == "off" else {"FOURBAR_CACHE": str(tmp_path)}


@pytest.mark.default_cases("warm-8")
@pytest.mark.parametrize(("cache", "threads"), [("warm", 8), ("off", 32)])
def test_first_calls_of_one_function(cache, threads, tmp_path):
    codes = [_HEAD + _SAME.format(first=first, threads=threads) for first in (0, 3)]
    processes = [started(code, **environment(cache, tmp_path)) for code in codes]
    assert [finished(p) for p in processes] == ["good"] * 2


@pytest.mark.slow_cases("off-24")
@pytest.mark.parametrize(("cache", "threads"), [("warm", 6), ("off", 24)])
def test_first_calls_of_different_functions_and_robots(cache, threads, tmp_path):
    code = _HEAD + _DIFFERENT.format(threads=threads)
    assert [finished(p) for p in [started(code, **environment(cache, tmp_path)) for _ in range(2)]] == ["good"] * 2


@pytest.mark.slow
@CACHES
def test_first_calls_again_and_again(cache, tmp_path):
    for _ in range(10):
        for threads in (2, 4, 16):
            test_first_calls_of_one_function(cache, threads, tmp_path)
            test_first_calls_of_different_functions_and_robots(cache, threads, tmp_path)
        for pause in (0.0, 0.01, 0.05):
            test_a_fork_while_another_thread_compiles(cache, pause, tmp_path)
    for delay in (0.003, 0.03, 0.06, 0.15, 0.25):
        test_a_signal_handler_calls_what_is_being_compiled(delay)
        test_threads_that_compile_when_the_interpreter_ends(delay)


@pytest.mark.slow  # first calls from threads are above
def test_a_robot_that_was_never_called_in_the_threads_of_dask():
    pytest.importorskip("dask.array")
    code = """
import dask.array
r = fb.robots.double_pendulum()
q = dask.array.from_array(np.random.default_rng(0).normal(size=(4000, 2)), chunks=(100, 2))
tau = r.inverse_dynamics(q, q, q).compute(scheduler="threads", num_workers=8)
x = q.compute(scheduler="synchronous")
assert np.array_equal(tau, r.inverse_dynamics(x, x, x))
print("good")
"""
    assert python(_HEAD + code) == "good"


_FORK = """
import gc, os, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # of Python 3.12 on: of what is tried here
r = fb.robots.double_pendulum()
begun = threading.Event()
def first():
    begun.set()
    for call in CALLS: call(r)
thread = threading.Thread(target=first)
thread.start()
begun.wait()
children = []
while thread.is_alive() and len(children) < 5:
    time.sleep({pause})
    pid = os.fork()
    if not pid:
        for call in CALLS[:3]: call(r)
        os._exit(0 if gc.isenabled() else 3)
    children.append(pid)
thread.join()
print(*[os.waitpid(pid, 0)[1] for pid in children])
"""


@POSIX
@pytest.mark.parametrize(("cache", "pause"), [("off", 0.03), ("warm", 0.02)])
def test_a_fork_while_another_thread_compiles(cache, pause, tmp_path):
    found = python(_HEAD + _FORK.format(pause=pause), **environment(cache, tmp_path))
    assert set(found.split()) == {"0"}


_SIGNAL = """
import signal
r = fb.robots.double_pendulum()
seen = []
def handler(*_):
    seen.append([call(r) for call in CALLS])
signal.signal(signal.SIGALRM, handler)
for k in range(5):
    signal.setitimer(signal.ITIMER_REAL, {delay} / (1 + 4 * (k > 0)))
    found = [call(r) for call in CALLS]
    while not seen: pass
    assert all(np.array_equal(a, b) for a, b in zip(found, seen.pop()))
    r = r.with_gravity((0, 0, -k))
print("good")
"""


@pytest.mark.default_cases("0.001")
@POSIX
@pytest.mark.parametrize("delay", [0.001, 0.1])
def test_a_signal_handler_calls_what_is_being_compiled(delay):
    assert python(_HEAD + _SIGNAL.format(delay=delay), FOURBAR_CACHE="off") == "good"


_EXIT = """
import time
def forever(r, k):
    while True:
        k += 1
        r.with_gravity((0, 0, 0.1 * k)).forward_dynamics.jacobian(Q, Q, Q)
r = fb.robots.double_pendulum()
for k in range(3):
    threading.Thread(target=forever, args=(r, 1000 * k), daemon=True).start()
time.sleep({delay})
print("good")
"""


@pytest.mark.default_cases("0.1")
@pytest.mark.parametrize("delay", [0.1, 0.4])
def test_threads_that_compile_when_the_interpreter_ends(delay):
    code = _HEAD + _EXIT.format(delay=delay)
    processes = [started(code, FOURBAR_CACHE="off") for _ in range(2)]
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out.strip() == "good"


def test_a_fork_takes_turns_that_are_added_while_it_waits():
    """As LLVM's is, by a thread that imports it while another forks: a child must not find that turn taken."""
    still, first, second = Standstill(), Turn(LAST), Turn(LAST)
    still.add(first)
    inside, log = threading.Event(), []

    def import_and_compile():
        with first.take():
            inside.set()
            time.sleep(0.05)  # the fork waits
            still.add(second)
        with second.take():
            log.append("begin")
            time.sleep(0.05)
            log.append("end")

    thread = threading.Thread(target=import_and_compile)
    thread.start()
    inside.wait()
    still.begin()
    assert log in ([], ["begin", "end"])  # not half way
    before = list(log)
    time.sleep(0.1)
    assert log == before
    still.end()
    thread.join()
    assert log == ["begin", "end"]


_FORK_IN_IMPORT = """
import importlib.util, os, sys, threading, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
import fourbar as fb

class Slowly:
    '''Executes a module of the library in two halves.'''
    def find_spec(self, name, path=None, target=None):
        if name != "fourbar.late": return None
        return importlib.util.spec_from_loader(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module):
        begun.set()
        time.sleep(0.3)
        with {turn}: module.found = 7

begun = threading.Event()
sys.meta_path.insert(0, Slowly())
def use():
    from fourbar.late import found
    return found
thread = threading.Thread(target=use)
thread.start()
begun.wait()
{before}
pid = os.fork()
if not pid: os._exit(use())
thread.join()
assert use() == 7
import colorsys  # imports are possible
for _ in range(100):  # a child that hangs is not waited for, for ever
    gone, status = os.waitpid(pid, os.WNOHANG)
    if gone: break
    time.sleep(0.1)
else:
    os.kill(pid, 9)
    status = "hangs"
print(os.waitstatus_to_exitcode(status) if gone else status)
"""


@POSIX
@pytest.mark.parametrize("turn", ["threading.Lock()", "fb.once._importing.take()"])
def test_a_fork_waits_for_imports_of_other_threads(turn):
    """A child could not import what another thread of its parent was importing."""
    assert python(_FORK_IN_IMPORT.format(turn=turn, before="")) == "7"


@POSIX
def test_a_child_imports_what_its_parent_had_begun_to_import():
    """Where a fork did not wait: the import began after it had looked."""
    before = """
me, found = os.getpid(), fb.once._imports_of_other_threads
fb.once._imports_of_other_threads = lambda: set() if os.getpid() == me else found()
"""
    assert python(_FORK_IN_IMPORT.format(turn="threading.Lock()", before=before)) == "7"


@POSIX
@pytest.mark.skipif(not hasattr(sysconfig, "_CONFIG_VARS_LOCK"), reason="about a lock of Python 3.12 and later")
def test_a_fork_needs_no_other_modules_locks():
    """The first call of a child takes no lock of the standard library that another thread may have had."""
    code = """
import os, sys, sysconfig, threading, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
r = fb.robots.double_pendulum()
taken = threading.Event()
def keep():
    with sysconfig._CONFIG_VARS_LOCK:
        taken.set()
        time.sleep(1.0)
sysconfig._CONFIG_VARS_INITIALIZED = False
thread = threading.Thread(target=keep)
thread.start()
taken.wait()
pid = os.fork()
if not pid:
    import signal
    signal.alarm(20)
    r.inverse_dynamics(Q, Q, Q)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
thread.join()
"""
    assert python(_HEAD + code) == "0"
