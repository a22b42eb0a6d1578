"""One batch on several threads. Each takes chunks from a shared counter, so a thread that starts late takes fewer."""

from __future__ import annotations

import os

import numpy as np

from .crew import MOST_HELPERS, code, crew
from .kernel import Kernel

_LEAST_LIMIT = 8  # threads that are started if they are asked for, however few CPUs there are
CHUNKS_A_THREAD = 16  # with 4, two threads had 5 and 3 where one core was a little slower: 1.6 times as fast, not 1.9


def default_threads() -> int:
    """FOURBAR_THREADS, or the number of CPUs this process may use; a function asks when it computes its first batch."""
    asked = os.environ.get("FOURBAR_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdigit() or int(asked) < 1:
        raise ValueError(f"FOURBAR_THREADS={asked!r}: expected a whole number of threads, at least 1")
    return int(asked)


def most_threads() -> int:
    """On how many threads a batch is computed at most: more than the machine has CPUs only take turns on them.

    Small machines still start a few more, so that what is computed by several threads is so everywhere.
    """
    return min(max(_LEAST_LIMIT, default_threads(), os.cpu_count() or 1), MOST_HELPERS + 1)


def chunk_size(n: int, threads: int, width: int, most: int) -> int:
    """How many samples a thread takes at a time: `most`, a multiple of the width, or less."""
    return min(max(1, n // (threads * CHUNKS_A_THREAD * width)) * width, most)


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
    table = np.array([n, *addresses, *outer, *core], np.int64)
    dims = _address(table)
    first = dims + 8
    steps = first + 8 * len(arrays)
    threads = min(threads, most_threads())
    ours = crew()
    ours.hire(threads - 1)
    board = _address(ours.board)
    chunk = chunk_size(n, threads, kernel.lanes.width, kernel.piece)
    code().together(board, kernel.share, first, dims, steps, kernel.data, chunk, threads - 1)
