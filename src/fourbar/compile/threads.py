"""One batch on several threads. Each takes chunks from a shared counter, so a thread that starts late takes fewer."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Any

import numpy as np

from .crew import crew
from .kernel import Kernel

_SHARE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)
_CHUNKS_A_THREAD = 4


def default_threads() -> int:
    """FOURBAR_THREADS, or the number of CPUs this process may use."""
    asked = os.environ.get("FOURBAR_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdigit() or int(asked) < 1:
        raise ValueError(f"FOURBAR_THREADS={asked!r}: expected a whole number of threads, at least 1")
    return int(asked)


def _address(array: np.ndarray) -> int:
    """Where an array's data lie; `array.ctypes.data` takes three times as long to say so."""
    return array.__array_interface__["data"][0]


def run_shared(kernel: Kernel, arrays: list[np.ndarray], n: int, threads: int) -> None:
    """Run a kernel on n samples. Every array, outputs last, is (n, *core) or (*core): the same for all samples."""
    addresses, outer, core = [], [], []
    for array, dimensions in zip(arrays, kernel.cores, strict=True):
        strides = array.strides
        batched = len(strides) > dimensions
        addresses.append(_address(array))
        outer.append(strides[0] if batched else 0)
        core += strides[batched:]
    words = np.array([0, n, *addresses, *outer, *core], np.int64)
    counter = _address(words)
    dims, first = counter + 8, counter + 16
    steps = first + 8 * len(arrays)
    width = kernel.lanes.width
    chunk = max(1, n // (threads * _CHUNKS_A_THREAD * width)) * width
    _together((kernel.share, first, dims, steps, kernel.data, counter, chunk), threads - 1, (words, kernel, arrays))


@lru_cache(maxsize=256)
def _callable(address: int) -> Any:
    return _SHARE(address)


def _together(task: tuple[int, ...], helpers: int, held: Any) -> None:
    """Do a task here and, where the helpers are free, there too."""
    function, *arguments = task
    ours = crew()
    if not ours.lock.acquire(blocking=False):
        _callable(function)(*arguments)
        return
    hired = ours.helpers(helpers)
    try:
        for helper in hired:
            helper.post(task, held)
        _callable(function)(*arguments)
    finally:
        for helper in hired:
            helper.settle()
        ours.lock.release()
