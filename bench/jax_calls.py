"""What a JAX function of a robot costs beside the machine code that it calls.

    python bench/jax_calls.py [--strict]

For each robot: µs of a call of forward dynamics inside `lax.scan`, one state, beyond the kernel's own time (the same
kernel over as many states in a row) and beyond a step of a scan that only adds; and a batch of 1024 states in a jitted
function, as a multiple of the NumPy call, called from Python ("ratio"), where nothing is jitted ("eager") and inside
`lax.scan` ("in scan"). The NumPy call shares large batches with workers, which may have to be woken, so there are two
times for it, with and without ("1 thread"), of which the multiples are those of the shorter one. "JAX" is a jitted call
of the same arrays and results through the same interface that computes nothing: what JAX takes to call anything from
Python. "less" is the ratio without it.

`--strict` ends with an error if a bar is missed, also where JAX alone exceeds it. Then a line says so: what a jitted
call comes to, JAX's empty call and the NumPy one; and what it would come to without XLA, on the memory of the arrays:
those that are given are read (Python's buffer protocol, which waits for their values), and the one that is returned is
made (on memory that is there, by the function of jaxlib that all ways of JAX lead to).
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import numpy as np

import fourbar.jax as to_jax
import fourbar.targets.jax as targets
from bridge_robots import bridge_robots
from fourbar.compile.kernel import Kernel
from fourbar.compile.llvm import batch_lanes, single_lane
from fourbar.targets.xla_handler import KERNEL, Handler
from report import Report, add_options

OVER_KERNEL, OVER_NUMPY = 0.5, 1.2
STEPS, BATCH, ROUNDS = 5000, 1024, 20
_kept: list[Handler] = []  # which XLA may call


def least(*calls: Callable[[], Any], turns: int = 200) -> list[float]:
    """µs of each call: the least of some turns, which they take one after the other."""
    found = [[] for _ in calls]
    for call in calls:
        call(), call()
    for _ in range(turns):
        for times, call in zip(found, calls, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [1e6 * min(times) for times in found]


def in_a_row(robot: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Callable[[], None]:
    """Forward dynamics of one state after the other by the kernel for single states, called once."""
    kernel = Kernel(robot.forward_dynamics.program(), single_lane())
    arrays = [np.tile(x, (STEPS, 1)) for x in (q, v, tau)] + [np.empty((STEPS, robot.nv))]
    args = np.array([x.ctypes.data for x in arrays])
    dims, steps = np.array([STEPS]), np.array([x.strides[0] for x in arrays] + [8] * 4)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(kernel.address)

    def call() -> None:
        run(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, kernel.data)

    call.arrays = arrays  # type: ignore[attr-defined]  # which must stay
    return call


def scans(robot: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[Callable[[], Any]]:
    """A scan whose steps call forward dynamics, and one whose steps only add."""
    dynamics = to_jax.function(robot.forward_dynamics)

    def scanned(step: Callable[[Any], Any]) -> Callable[[], Any]:
        run = jax.jit(lambda x: jax.lax.scan(lambda x, _: (step(x), None), x, length=STEPS)[0])
        return lambda: run(tau).block_until_ready()

    return [scanned(lambda x: dynamics(q, v, x) * 1e-3 + tau), scanned(lambda x: x * 1e-3 + tau)]


def calling(robot: Any) -> Callable[..., Any]:
    """A jitted function of the same arrays, called in the same way, that computes nothing."""
    handler = Handler(Kernel(robot.forward_dynamics.program(), batch_lanes()), targets._MINOR, np.iinfo(np.int64).max)
    handler._plan[KERNEL] = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value  # which does nothing
    name = f"nothing_{robot.nv}"
    targets.register(name, handler.address)
    _kept.append(handler)
    return jax.jit(jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((BATCH, robot.nv), np.dtype(float))))


def batches(robot: Any) -> list[Callable[[], Any]]:
    """A batch by JAX, jitted and not; by NumPy, also on one thread; an empty call; batches in a row by JAX."""
    rng = np.random.default_rng(0)
    q = np.stack([robot.random(i) for i in range(BATCH)])
    v, tau = rng.normal(size=(2, BATCH, robot.nv))
    eager, given = to_jax.function(robot.forward_dynamics), [jax.numpy.asarray(x) for x in (q, v, tau)]
    run = jax.jit(eager)
    nothing = calling(robot)
    in_scan = jax.jit(lambda q, v, tau: jax.lax.scan(lambda x, _: (run(q, v, x), None), tau, length=ROUNDS)[0])
    return [
        lambda: run(*given).block_until_ready(),
        lambda: eager(*given).block_until_ready(),
        lambda: robot.forward_dynamics(q, v, tau),
        lambda: robot.forward_dynamics(q, v, tau, threads=1),
        lambda: nothing(*given).block_until_ready(),
        lambda: in_scan(*given).block_until_ready(),
    ]


def without_xla(robot: Any) -> list[float]:
    """µs to read three arrays, and to make one on memory that is there: what a way around XLA would take."""
    given = [jax.numpy.zeros((BATCH, n)) for n in (robot.nq, robot.nv, robot.nv)]
    like = jax.numpy.zeros((BATCH, robot.nv))
    room = np.empty(like.nbytes + 64, np.uint8)
    memory = room[-room.ctypes.data % 64 :][: like.nbytes].view(float).reshape(like.shape)  # else JAX copies it
    make: Any = import_module("jaxlib._jax").batched_device_put
    parts = like.aval, like.sharding, [memory], [like.device], False
    assert make(*parts).unsafe_buffer_pointer() == memory.ctypes.data
    often = 100
    calls = (lambda: [memoryview(x) for x in given]), (lambda: make(*parts))
    return [x / often for x in least(*(lambda f=f: [f() for _ in range(often)] for f in calls))]


def explained(robot: Any, numpy_batch: float, call: float) -> str:
    """Why a bar is missed from Python, if JAX alone exceeds it; nothing otherwise."""
    floor = 1 + call / numpy_batch
    if floor <= OVER_NUMPY:
        return ""
    read, make = without_xla(robot)
    direct = 1 + (read + make) / numpy_batch
    return (
        f"    from Python: missed. NumPy's call and JAX's empty one come to {floor:.2f}x; without XLA it would be "
        f"{direct:.2f}x,\n    since three arrays are read in {read:.1f} µs, and one is made in {make:.1f} µs"
    )


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.parse_args()
    report = Report("jax_calls")
    jax.config.update("jax_enable_x64", True)
    columns = (
        "kernel µs",
        "in scan µs",
        "over",
        "bar",
        "NumPy µs",
        "1 thread µs",
        "batch µs",
        "JAX µs",
        "ratio",
        "less",
        "eager",
        "in scan",
        "bar",
    )
    print(f"{'forward dynamics':18}", *(f"{x:>11}" for x in columns))
    for name, robot in bridge_robots():
        state = robot.random(0), *np.random.default_rng(0).normal(size=(2, robot.nv))
        kernel, scan, empty = (x / STEPS for x in least(in_a_row(robot, *state), *scans(robot, *state)))
        jitted, eager, numpy_batch, alone, call, rounds = least(*batches(robot))
        shorter = min(numpy_batch, alone)
        over, inside = scan - empty - kernel, rounds / ROUNDS / shorter
        ratio, less, unjitted = (x / shorter for x in (jitted, jitted - call, eager))
        from_python = max(ratio, unjitted) > OVER_NUMPY
        report.missed += [name] if over > OVER_KERNEL or inside > OVER_NUMPY or from_python else []
        report.record("one state in a scan, beyond the machine code", name, over, "µs")
        report.record("a jitted batch, times NumPy's call", name, ratio, "x")
        report.record("a batch in a scan, times NumPy's call", name, inside, "x")
        numbers = (kernel, scan, over, OVER_KERNEL, numpy_batch, alone, jitted, call, ratio, less, unjitted, inside)
        print(f"{name:18}", *(f"{x:11.2f}" for x in (*numbers, OVER_NUMPY)))
        reason = explained(robot, shorter, call) if from_python else ""
        if reason:
            print(reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
