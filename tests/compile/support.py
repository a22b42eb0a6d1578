"""Small programs and robots, ways to run them, and what tests compare."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import callables
from fourbar.compile.callables import GeneralisedUfunc
from fourbar.compile.ir import Lanes
from fourbar.compile.kernel import Kernel
from fourbar.compile.llvm import single_lane
from fourbar.expr import Unrolled
from fourbar.functions.methods import METHODS
from fourbar.joints import Free, Prismatic, Revolute, Spherical

INTERPRETED = os.environ.get("FOURBAR_BACKEND") == "numpy"
machine_code_only = pytest.mark.skipif(INTERPRETED, reason="about machine code; FOURBAR_BACKEND=numpy has none")
fast_calls_only = pytest.mark.skipif(
    INTERPRETED or not callables.is_supported(),
    reason="about calls in machine code, which this interpreter does not allow",
)
EVERY_WIDTH = [Lanes(width, single_lane().fma) for width in (1, 2, 4, 8)]

ODD = (2 / 7, -3 / 7, 6 / 7)  # an axis along no other

# Options that choose the code of a method, for methods that need some.
OPTIONS = {
    "hybrid_dynamics": {"prescribed": ["slider"]},
    "pose": {"frame": "tip"},
    "osim_inverse": {"frames": ["tip"], "points": ["base"]},
    "osim": {"frames": ["tip"]},
    **{name: {"frame": "tip"} for name in ("velocity", "acceleration", "jacobian", "jacobian_rate")},
    **{name: {"cluster": "shank"} for name in ("cluster_subspace", "cluster_transform", "cluster_force_subspaces")},
    **{name: {"about": "com"} for name in ("momentum", "momentum_matrix")},
}


def enough(function):
    """Samples of a batch that is shared by threads."""
    required = tuple(a.name for a in function.state[0].arguments if not a.optional)
    return function.state[0].variant(required).sharing_from + 20_000


def program_of(function, count):
    """The program y = function(x) for a function from a tuple of `count` scalars to a tuple of scalars."""
    recorder = Unrolled()
    y = recorder.call(function, recorder.input("x", (count,)))
    return recorder.finish("sample", [("y", (len(y),), y)])


def run(program, *arrays, lanes=None):
    """The results of a program in machine code."""
    made = GeneralisedUfunc(Kernel(program, lanes or Lanes(4, single_lane().fma)))
    with np.errstate(all="ignore"):
        return made.ufunc(*arrays)


def mixed():
    """A floating base with two limbs: 7 + 4 + 1 + 1 coordinates, quaternions among them, one body without a joint."""
    b = fb.Builder("mixed")
    solid = {"mass": 1.2, "com": (0.02, -0.03, 0.1), "inertia": (0.02, 0.03, 0.04)}
    b.body("base", joint=Free(), mass=4.0, com=(0.01, 0.0, 0.02), inertia=(0.1, 0.2, 0.15))
    b.body("thigh", parent="base", joint=Spherical(), joint_name="hip", position=(0.1, 0.2, 0.0), **solid)
    b.body("shank", parent="thigh", joint=Revolute(ODD), joint_name="knee", rpy=(0.1, 0.2, 0.3), **solid)
    b.body("foot", parent="shank", position=(0.0, 0.0, -0.3), mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    b.body("head", parent="base", joint=Prismatic("y"), joint_name="slider", position=(0.0, 0.0, 0.4), **solid)
    b.frame("tip", "foot", position=(0.05, 0.0, 0.0), rpy=(0.0, 0.5, 0.0))
    b.actuator("ball", drives="hip", gear=(1.0, 2.0, -3.0), axes="parent")
    b.actuator("tendon", drives={"knee": 9.0, "slider": -2.0})
    return b.build()


def chain(n, seed=0):
    """n bodies one behind the other, on hinges about x, y, z in turn."""
    rng = np.random.default_rng(seed)
    b = fb.Builder(f"chain{n}")
    for i in range(n):
        b.body(
            f"body{i}",
            parent=f"body{i - 1}" if i else "world",
            joint=Revolute("xyz"[i % 3]),
            position=(0.05, 0.0, 0.1) + 0.05 * rng.random(3),
            mass=1.0,
            com=0.05 * rng.random(3),
            inertia=(0.01, 0.012, 0.013),
        )
    b.frame("tip", f"body{n - 1}")
    return b.build()


@cache
def robot():
    """One mixed robot for all tests that do not change it."""
    return mixed()


@cache
def pendulum():
    """One double pendulum likewise."""
    return fb.robots.double_pendulum()


def function(system, method):
    """A method as a function of arrays only."""
    made = getattr(system, method)
    return made.specialise(**OPTIONS.get(method, {})) if METHODS[method].static else made


def arguments(system, method, batch=(), seed=0, optional=False):
    """Random arrays for the arguments of a method."""
    rng = np.random.default_rng(seed)
    made = []
    for argument in METHODS[method].all_arguments(system.model):
        if argument.is_configuration:
            count = int(np.prod(batch, dtype=int))
            made.append(system.random(rng, count).reshape(*batch, system.nq))
        elif optional or not argument.optional:
            made.append(rng.uniform(-1.0, 1.0, (*batch, *argument.shape)))
    return made


def as_tuple(result):
    """The results of a call, one or several, as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def same_bits(a, b):
    """Whether two results are equal to the last bit; all NaN count as one."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all((np.ascontiguousarray(a).view(np.int64) == np.ascontiguousarray(b).view(np.int64)) | nan))


def digest(arrays):
    """A short name for the bits of some arrays."""
    found = hashlib.sha256()
    for a in arrays:
        found.update(np.ascontiguousarray(a, float).tobytes())
    return found.hexdigest()[:16]


def python(code, timeout=120, **environment):
    """Run code in a new interpreter and return what it printed. None removes a variable of the environment."""
    return finished(started(code, **environment), timeout)


def started(code, **environment):
    """The same, but do not wait for it."""
    here = Path(__file__).resolve().parent.parent
    path = os.pathsep.join([str(Path(fb.__file__).parent.parent), str(here), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, **environment}
    env = {name: value for name, value in env.items() if value is not None}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finished(process, timeout=120):
    """What a process printed, once it has ended well."""
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    assert not err, err
    return out.strip()


def eventually(condition):
    """Wait until something holds that another thread brings about, however busy the machine is."""
    last = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < last, "it did not happen within a minute"
        time.sleep(1e-4)
