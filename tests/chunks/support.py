"""Robots, scenes and arrays of the tests of chunks, and functions that other processes can import."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

import fourbar as fb

N, CHUNK = 60, 7


@cache
def pendulum() -> fb.System:
    """Two velocities, quick to compile."""
    return fb.robots.double_pendulum()


@cache
def linkage() -> fb.System:
    """A robot with a loop."""
    return fb.robots.four_bar()


@cache
def ball_on_floor() -> fb.Scene:
    """A ball above a plane."""
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    return fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])


def states(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Random states of the pendulum."""
    q, v = np.random.default_rng(3).normal(size=(2, n, 2))
    return q, v


def chunked(x: np.ndarray, size: int = CHUNK) -> Any:
    """As a dask array with chunks of samples."""
    import dask.array as da

    return da.from_array(x, chunks=(size, *x.shape[1:]))


def same_bits(found: Any, wanted: Any) -> bool:
    """Equal in type, shape and every bit."""
    same = found.dtype == wanted.dtype and found.shape == wanted.shape
    return same and found.tobytes() == np.ascontiguousarray(wanted).tobytes()


class Integrating:
    """A control that keeps state: an integral of each sample's configuration."""

    def __init__(self) -> None:
        self.total: Any = 0.0

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces."""
        self.total = self.total + q
        return -0.1 * self.total


class Interrupted:
    """A control that is interrupted after a while, as by Ctrl-C; it sends the signal, or raises what that raises."""

    def __init__(self, at: float, by_signal: bool = False) -> None:
        self._at, self._by_signal = at, by_signal

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces."""
        if t >= self._at:
            if not self._by_signal:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros_like(v)


class Counted:
    """A function of samples with two results that leaves a file each time it is called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The samples, and twice the samples beside them."""
        (self._folder / uuid4().hex).touch()
        return {"x": x, "twice": np.stack([2.0 * x, x], axis=1)}


class Dying:
    """A function of samples that kills its process the first time it meets sample number `at`."""

    def __init__(self, mark: Path, at: int) -> None:
        self._mark, self._at = mark, at

    def __call__(self, number: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Where the pendulums are after a while."""
        if (number == self._at).any() and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return fb.rollout(pendulum(), q, v, dt=0.01, steps=5).q[-1]
