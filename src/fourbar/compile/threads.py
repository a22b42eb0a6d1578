"""One batch on several threads. Each takes chunks from a shared counter, so a thread that starts late takes fewer."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

import numpy as np

from .kernel import Kernel

_SHARE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)
_CHUNKS_A_THREAD = 8


def default_threads() -> int:
    """FOURBAR_THREADS, or the number of CPUs this process may use."""
    asked = os.environ.get("FOURBAR_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdigit() or int(asked) < 1:
        raise ValueError(f"FOURBAR_THREADS={asked!r}: expected a whole number of threads, at least 1")
    return int(asked)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Workers of this process; a forked child makes its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="fourbar")


def run_shared(kernel: Kernel, arrays: list[np.ndarray], n: int, threads: int) -> None:
    """Run a kernel on n samples. Every array, outputs last, is (n, *core) or (*core): the same for all samples."""
    arguments = [*kernel.program.inputs, *kernel.program.outputs]
    batched = [a.ndim > len(x.shape) for a, x in zip(arrays, arguments, strict=True)]
    outer = [a.strides[0] if b else 0 for a, b in zip(arrays, batched, strict=True)]
    core = [s for a, b in zip(arrays, batched, strict=True) for s in a.strides[1 if b else 0 :]]
    addresses = np.array([a.ctypes.data for a in arrays], np.int64)
    dims, steps, counter = np.array([n], np.int64), np.array(outer + core, np.int64), np.zeros(1, np.int64)
    width = kernel.lanes.width
    chunk = max(1, n // (threads * _CHUNKS_A_THREAD * width)) * width
    share = _SHARE(kernel.share)

    def work(held: list[np.ndarray] = arrays) -> None:  # a helper may outlive an interrupted caller
        share(addresses.ctypes.data, dims.ctypes.data, steps.ctypes.data, kernel.data, counter.ctypes.data, chunk)

    helpers = []
    try:
        for _ in range(threads - 1):
            helpers.append(_pool(os.getpid(), threads - 1).submit(work))
    except RuntimeError:  # no threads to be had, or the interpreter is shutting down: this one does it all
        pass
    work()
    wait(helpers)
