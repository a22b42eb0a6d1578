"""How long a call takes on a machine that does other things too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

_LONG = 2e-3  # calls of so many seconds are not left alone on a busy machine


def steady(*functions: Callable[[], Any], turns: int, seconds: float) -> list[float]:
    """Seconds of each function, measured in turns: the least of short calls, the median of CPU time of long ones.

    The least CPU time would not do: it is counted coarsely, and now and then too short.
    """
    walls: list[list[float]] = [[] for _ in functions]
    cpus: list[list[float]] = [[] for _ in functions]
    for _ in range(turns):
        for k, f in enumerate(functions):
            end = time.perf_counter() + seconds
            while not walls[k] or time.perf_counter() < end:
                cpu, wall = time.process_time(), time.perf_counter()
                f()
                walls[k].append(time.perf_counter() - wall)
                cpus[k].append(time.process_time() - cpu)
    least = [min(x) for x in walls]
    return [wall if wall < _LONG else min(wall, float(np.median(cpu))) for wall, cpu in zip(least, cpus, strict=True)]
