"""How the interpreter ends while there are functions: never called or called, held by anything, in any order.

Each case is a process of its own, which must end with the code that it asked for and print no complaint.
"""

import multiprocessing

import numpy as np
import pytest

import fourbar as fb

from .support import fast_calls_only, finished, python, started

MAKE = """
import atexit, builtins, codecs, contextvars, gc, os, sys, threading
import numpy as np
import fourbar as fb

def made(count=4):
    functions = []
    for number in range(count):
        b = fb.Builder("one")
        b.body("rod", joint=fb.joints.Revolute("z"), mass=1.0 + number, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
        robot = b.build()
        for name in ("inverse_dynamics", "forward_dynamics", "gravity_force", "mass_matrix"):
            f = getattr(robot, name)
            functions += [robot, f, f.jvp, f.vjp, f.jacobian]
    return functions

def call(functions):
    one, many = np.ones(1), np.ones((3000, 1))
    for f in functions:
        if "inverse_dynamics(" in repr(f) and type(f).__name__ == "Function":
            f(one, one, one), f(many, many, many), f(many, many, many, threads=2)
            f.jacobian(one, one, one)

class Holder:
    def __init__(self, *held):
        self.held = held
    def __call__(self, name):
        return None

def full():
    # from here on, small arrays that are freed give their memory back, and it is written to
    many = [np.zeros(n) for n in range(1, 9) for _ in range(50)]

functions = made()
"""
CALLED = "call(functions)\n"
HOLDERS = {
    "globals": "",
    "none": "del functions",
    "builtins": "builtins.kept = functions; del functions",
    "another module": "np.kept = functions; del functions",
    "the library": "fb.kept = functions; del functions",
    "a class": "Holder.kept = functions; del functions",
    "a cycle": "h = Holder(functions); h.own = h; del h, functions",
    "a freed cycle": "h = Holder(functions); h.own = h; del h, functions; gc.collect(); gc.collect()",
    "a generator": "g = (f for f in functions); next(g); del functions",
    "a context": "v = contextvars.ContextVar('v'); v.set(functions); del functions",
    "a thread's own": "own = threading.local(); own.kept = functions; del functions",
    "the interpreter": "codecs.register(Holder(functions)); del functions",
    "an exit handler": "atexit.register(call, functions); del functions",
    "a leak": "import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(functions)); del functions",
}


@pytest.mark.default_cases("globals", "a cycle", "an exit handler")
@pytest.mark.parametrize("holder", HOLDERS)
def test_functions_may_be_held_by_anything_when_the_interpreter_ends(holder):
    assert python(MAKE + CALLED + HOLDERS[holder] + "\nfull()\nprint('done')") == "done"


@pytest.mark.slow_cases("a cycle")
@pytest.mark.parametrize("holder", ["globals", "a cycle", "the interpreter"])
def test_functions_that_were_never_called(holder):
    assert python(MAKE + HOLDERS[holder] + "\nfull()\nprint('done')") == "done"


ENDS = {
    "sys.exit()": ("sys.exit()", 0, ""),
    "sys.exit(3)": ("sys.exit(3)", 3, ""),
    "SystemExit in a function": ("def end(f):\n    raise SystemExit(4)\nend(functions)", 4, ""),
    "an error": ("def end(f):\n    raise ValueError('meant')\nend(functions)", 1, "ValueError: meant"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_way_to_end(end):
    text, code, error = ENDS[end]
    process = started(MAKE + CALLED + "codecs.register(Holder(functions))\nfull()\n" + text)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code, said
    assert said.strip().split("\n")[-1] == error


@fast_calls_only
def test_calls_when_all_modules_are_gone():
    """Machine code still serves them; what needs Python code of the library raises an ordinary error."""
    code = """
class Last(Holder):
    def __del__(self, write=os.write, error=Exception):
        f, one, few, many = self.held
        for _ in (1, 2, 3):
            got = f(one, one, one), f(few, few, few)
        for named in ({}, {"threads": 1}, {"threads": 2}):
            try:
                f(many, many, many, **named)
            except error:
                pass
        write(1, b"%d %d\\n" % (got[0].size, got[1].size))

f, one, few, many = functions[1], np.ones(1), np.ones((5, 1)), np.ones((200_000, 1))
f(one, one, one), f(few, few, few), f(many, many, many), f(many, many, many, threads=2)
codecs.register(Last(f, one, few, many))
del f, functions
full()
"""
    assert python(MAKE + code) == "1 5"


def test_threads_that_make_functions():
    code = """
kept = []
def work():
    mine = made(2)
    call(mine)
    mine.append(mine)
    kept.append(mine)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
codecs.register(Holder(kept))
full()
print("done")
"""
    assert python(MAKE + code) == "done"


def test_a_daemon_thread_that_goes_on():
    code = """
def work():
    while True:
        call(functions)
        made(1)
threading.Thread(target=work, daemon=True).start()
call(functions)
print("done", flush=True)
"""
    processes = [started(MAKE + code) for _ in range(3)]
    assert [finished(process) for process in processes] == ["done"] * 3


@pytest.mark.slow  # test_dask has tasks too
def test_tasks_of_dask():
    pytest.importorskip("dask")
    code = """
import dask
f, many = functions[1], np.ones((3000, 1))
tasks = [dask.delayed(lambda f=f: f(many, many, many).sum())() for f in functions[1::20]]
print(len(dask.compute(*tasks, scheduler="threads")))
full()
"""
    assert python(MAKE + code) == "4"


_kept = []


def _in_a_worker(number):
    """Make functions and keep them in the globals of the worker."""
    robot = fb.robots.double_pendulum()
    f, q = robot.inverse_dynamics, np.full(2, 0.1 * number)
    _kept.extend([robot, f, f.jvp, f.vjp, f.jacobian, robot.forward_dynamics.jacobian])
    return f(q, q, q).shape


def _worker(number, results):
    results.put(_in_a_worker(number))


@pytest.mark.slow  # test_processes has workers too
def test_workers_of_multiprocessing():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=_worker, args=(number, results)) for number in range(2)]
    for worker in workers:
        worker.start()
    assert [results.get(timeout=100) for _ in workers] == [(2,)] * 2
    for worker in workers:
        worker.join(timeout=100)
    assert [worker.exitcode for worker in workers] == [0, 0]
