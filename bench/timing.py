"""Minima of CPU time: for calls that take longer than a busy machine leaves a process alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def cpu_fastest(*functions: Callable[[], Any], turns: int, seconds: float) -> list[float]:
    """The least CPU time of each function, measured in turns of several calls in a row (at least two)."""
    best = [float("inf")] * len(functions)
    for _ in range(turns):
        for k, f in enumerate(functions):
            end, calls = time.perf_counter() + seconds, 0
            while calls < 2 or time.perf_counter() < end:
                start = time.process_time()
                f()
                best[k] = min(best[k], time.process_time() - start)
                calls += 1
    return best
