"""Many robots in one process: equal ones share their code, and all code stands in few mappings of memory."""

import ctypes
import gc
import sys
from itertools import pairwise

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import cache
from fourbar.compile import callables as gufunc
from fourbar.compile import llvm as machine
from fourbar.compile.llvm import Arena, Loaded, has_arena, image, to_object
from fourbar.joints import Revolute

from .support import machine_code_only, python

pytestmark = [machine_code_only, pytest.mark.usefixtures("only_new")]
LINUX = pytest.mark.skipif(not has_arena(), reason="about memory for code under Linux")
Q = np.array([0.3])


def hinge(length=1.0):
    """A small robot; another length makes another program."""
    b = fb.Builder("hinge")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -length))
    return b.build()


def kernel(function):
    required = tuple(a.name for a in function.state[0].arguments if not a.optional)
    return function.state[0].variant(required).ufunc(True).kernel


def collect():
    """Free what is no longer used: functions hold each other through objects that are not searched."""
    for _ in range(4):
        gc.collect()


def test_equal_robots_share_their_kernels():
    one, other = hinge(), hinge()
    assert one.gravity_force(Q) == other.gravity_force(Q)
    assert kernel(one.gravity_force) is kernel(other.gravity_force)
    assert one.gravity_force.program() is other.gravity_force.program()


def test_robots_that_differ_do_not():
    one, other = hinge(), hinge(2.0)
    assert 2.0 * one.gravity_force(Q) == pytest.approx(other.gravity_force(Q))
    assert kernel(one.gravity_force) is not kernel(other.gravity_force)


def test_a_kernel_stays_while_one_of_its_robots_does():
    one, other = hinge(3.0), hinge(3.0)
    wanted = one.gravity_force(Q).copy(), one.gravity_force.jacobian(Q).q.copy()
    other.gravity_force(Q), other.gravity_force.jacobian(Q)
    del one
    collect()
    for _ in range(3):
        hinge(4.0).gravity_force(Q)
        assert other.gravity_force(Q) == wanted[0]
        assert other.gravity_force.jacobian(Q).q == wanted[1]


@pytest.mark.slow
def test_code_of_dead_robots_is_freed():
    hinge().gravity_force(Q)
    collect()
    kernels, pieces = len(gufunc._compiled), len(cache._loaded)
    robots = [hinge(5.0 + k) for k in range(5)]
    for robot in robots:
        robot.gravity_force(Q), robot.gravity_force.jacobian(Q)
    assert len(gufunc._compiled) == kernels + 10
    del robots, robot
    collect()
    assert len(gufunc._compiled) == kernels
    assert len(cache._loaded) == pieces


_MAPPINGS = """
import numpy as np
import fourbar as fb
from fourbar.compile.callables import _compiled
from fourbar.joints import Revolute

def hinge(length):
    b = fb.Builder("hinge")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -length))
    return b.build()

def mappings():
    with open("/proc/self/maps") as file:
        return len(file.readlines())

q = np.array([0.3])
robots = [hinge(1.0) for _ in range(10)]
wanted = [r.gravity_force(q) for r in robots][0]
before = mappings()
for k in range({count}):
    robots.append(hinge(1.0 + {step} * k))
    assert abs(robots[-1].gravity_force(q) - wanted * (1.0 + {step} * k)) < 1e-9 * (k + 1)
assert len(_compiled) == ({count} if {step} else 1)
print(mappings() - before)
"""


@pytest.mark.slow  # hundreds of robots
@pytest.mark.slow_cases("300-0.0")
@LINUX
@pytest.mark.parametrize(
    ("count", "step"),
    [
        (300, 0.0),
        (150, 0.5),
        pytest.param(20_000, 0.0, marks=pytest.mark.slow),
        pytest.param(20_000, 0.5, marks=pytest.mark.slow),
    ],
)
def test_many_robots_need_few_mappings(count, step):
    """Each kernel once took five of them, and 65,530 end the process."""
    assert int(python(_MAPPINGS.format(count=count, step=step), timeout=3000, FOURBAR_CACHE="off")) < 20 + count // 20


_EXHAUSTED = """
import ctypes
from fourbar.compile.llvm import arena
kept = arena().put(b"x")
c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
limit = int(open("/proc/sys/vm/max_map_count").read())
start = c.mmap(None, 8192 * (limit + 1), 0, 0x4022, -1, 0)
k = 0
while c.mprotect(ctypes.c_void_p(start + 8192 * k), 4096, 1) == 0:
    k += 1
try:
    arena().put(b"y")
except MemoryError as error:
    c.mprotect(ctypes.c_void_p(start), 8192 * (limit + 1), 0)
    print(error)
arena().put(b"z")
"""


@LINUX
def test_no_more_mappings_is_a_memory_error_with_words():
    said = python(_EXHAUSTED)
    assert "machine code" in said
    assert "max_map_count" in said


@LINUX
def test_pages_of_code_are_given_out_once():
    """Pieces of all sizes come and go; none changes while it is held."""
    ours, rng, held = Arena(), np.random.default_rng(0), {}
    for k in range(2000):
        if held and rng.random() < 0.48:
            del held[list(held)[rng.integers(len(held))]]
        else:
            content = bytes([k % 251]) * int(rng.integers(1, 40_000))
            held[k] = ours.put(content), content
    assert all(ctypes.string_at(piece.start, len(content)) == content for piece, content in held.values())
    starts = sorted((piece.start, piece.start + len(content)) for piece, content in held.values())
    assert all(a[1] <= b[0] for a, b in pairwise(starts))
    held.clear()
    ours.put(b"x")
    assert len(ours._free) <= 2


@LINUX
@pytest.mark.skipif(sys.platform != "linux", reason="about objects of Linux")
def test_code_is_in_the_arena():
    code = to_object("define double @f(double %x) {\n %y = fmul double %x, 3.0\n ret double %y\n}")
    if code[18:20] != bytes([62, 0]):
        pytest.skip("written for x86-64")
    assert image(code) is not None
    kept = Loaded(code)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(kept.address("f"))(2.0) == 6.0
    with pytest.raises(RuntimeError, match="missing"):
        kept.address("g")


def test_code_that_refers_to_others_is_not_for_the_arena():
    lines = ["declare double @g(double)", "define double @f(double %x) {", "%y = call double @g(double %x)"]
    assert image(to_object("\n".join([*lines, "ret double %y", "}"]))) is None


def test_where_there_is_no_arena_llvm_loads_the_code(monkeypatch):
    monkeypatch.setattr(machine, "has_arena", lambda: False)
    code = to_object("define double @f(double %x) {\n %y = fmul double %x, 3.0\n ret double %y\n}")
    kept = Loaded(code)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(kept.address("f"))(2.0) == 6.0
