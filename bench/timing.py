"""How long a call takes on a machine that does other things too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

_LONG = 2e-3  # calls of so many seconds are not left alone on a busy machine


class Seconds(float):
    """A time in seconds, with the samples that it was chosen from."""

    samples: tuple[float, ...]

    def __new__(cls, value: float, samples: Iterable[float]) -> Self:
        made = super().__new__(cls, value)
        made.samples = tuple(samples)
        return made

    @classmethod
    def least(cls, samples: Iterable[float]) -> Self:
        """The least of some samples."""
        kept = tuple(samples)
        return cls(min(kept), kept)


def fastest(*functions: Callable[[], Any], turns: int = 12, seconds: float = 0.06) -> list[Seconds]:
    """The shortest time of each function, measured in turns of several calls in a row: a sample is the least of one."""
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(turns):
        for k, f in enumerate(functions):
            best, start = float("inf"), time.perf_counter()
            t = start
            while t - start < seconds:
                f()
                now = time.perf_counter()
                best = min(best, now - t)
                t = now
            samples[k].append(best)
    return [Seconds.least(x) for x in samples]


def steady(*functions: Callable[[], Any], turns: int, seconds: float) -> list[Seconds]:
    """Seconds of each function, measured in turns: the least of short calls, the median of CPU time of long ones.

    The least CPU time would not do: it is counted coarsely, and now and then too short. A sample is that of one turn.
    """
    walls: list[list[float]] = [[] for _ in functions]
    cpus: list[list[float]] = [[] for _ in functions]
    turns_of: list[list[float]] = [[] for _ in functions]
    for _ in range(turns):
        for k, f in enumerate(functions):
            end, begin = time.perf_counter() + seconds, len(walls[k])
            while len(walls[k]) == begin or time.perf_counter() < end:
                cpu, wall = time.process_time(), time.perf_counter()
                f()
                walls[k].append(time.perf_counter() - wall)
                cpus[k].append(time.process_time() - cpu)
            turns_of[k].append(_steady(walls[k][begin:], cpus[k][begin:]))
    return [Seconds(_steady(*x), own) for *x, own in zip(walls, cpus, turns_of, strict=True)]


def _steady(walls: list[float], cpus: list[float]) -> float:
    """The least wall time if it is short, else the median of CPU times if that is less."""
    wall = min(walls)
    return wall if wall < _LONG else min(wall, float(np.median(cpus)))


def least_cpu(functions: dict[str, Callable[[], Any]], turns: int) -> dict[str, Seconds]:
    """CPU seconds of each function, the least of some turns."""
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(turns):
        for name, f in functions.items():
            start = time.process_time()
            f()
            samples[name].append(time.process_time() - start)
    return {name: Seconds.least(x) for name, x in samples.items()}
