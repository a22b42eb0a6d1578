"""The outcome of a motion: errors that carry the states so far, reasons why it diverged, the memory of its records."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import ArgumentError, warn
from ..system.system import System
from .applied_forces import SimulationWarning

_BYTES = 8  # of a number
_ADDRESSES = 2.0**62  # bytes that arrays can have


def memory() -> float:
    """The memory of this machine in bytes; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return float("inf")


def check_room(caller: str, steps: int, every: int, numbers: int) -> None:
    """Refuse a motion whose records, of so many numbers each, are larger than the memory of this machine."""
    records, available = 2 + steps // every, memory()
    needed = float(records) * _BYTES * numbers
    if needed <= min(available, _ADDRESSES):
        return
    has = f"this machine has {_gigabytes(available)}" if available < needed else "no machine has that much"
    fitting = 0.1 * min(available, _ADDRESSES) / (_BYTES * numbers)
    exponent = max(1, math.ceil(math.log10(float(steps) / fitting)))
    raise ArgumentError(
        f"{caller}: {steps:.4g} steps with a record of every {_ordinal(every)} are {records:.4g} records, which need "
        f"{_gigabytes(needed)} of memory; {has}. Record fewer of them, such as every=10**{exponent}, or simulate a "
        "shorter time or fewer samples"
    )


def _gigabytes(x: float) -> str:
    return f"{x / 1e9:.3g} GB"


def _ordinal(every: int) -> str:
    return "one" if every == 1 else f"{every}th"


@contextmanager
def states_attached(caller: str, time: Callable[[], float], run: Callable[[BaseException], Any]) -> Iterator[None]:
    """Attach `run(error)`, the motion up to the time that was reached (s), to an error or interrupt that ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        error.run = run(error)  # type: ignore[attr-defined]
        error.add_note(f"{caller}: at t = {time():.6g} s; the states so far are in the error's attribute 'run'")
        raise


class NotFinite:
    """The first of the user's forces or controls that was not finite at a finite state."""

    def __init__(self) -> None:
        self._first: tuple[float, str] | None = None

    def look(self, name: str, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """x (..., size) at time t and state q, v (..., nq and nv), returned as it is."""
        if not np.isfinite(x).all():
            valid = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
            if np.any(valid & ~np.isfinite(x).all(axis=-1)):
                self._note(name, t)
        return x

    def look_at_rows(self, name: str, x: np.ndarray, period: float) -> None:
        """Controls x (..., rows, size), of which each row acts for a period (s)."""
        rows = x.shape[-2]
        whole = np.isfinite(x).all(axis=-1).reshape(-1, rows).all(axis=0)
        if not whole.all():
            self._note(name, int(np.argmin(whole)) * period)

    def _note(self, name: str, t: float) -> None:
        if self._first is None or t < self._first[0]:
            self._first = (t, name)

    def reason(self) -> str | None:
        """A message about what was not finite, and when; None if everything was finite."""
        if self._first is None:
            return None
        return f"{self._first[1]} was NaN or infinite at t = {self._first[0]:.6g} s, where q and v were finite"


def loop_hint(robot: System) -> str:
    """A sentence on loops, which a motion that diverged may have led to a toggle position; empty if there are none."""
    clusters = robot.model.cluster_tree.clusters
    names = [repr(name) for x in clusters if x.embedding.is_solved for name in x.loops]
    if not names:
        return ""
    which = f"loop {names[0]}" if len(names) == 1 else f"a loop ({', '.join(names[:4])}{', ...' * (len(names) > 4)})"
    return f". Near a toggle position of {which} velocities change quickly, and steps must be short"


def warn_of_divergence(robot: System, lost_at: np.ndarray, dt: float, not_finite: NotFinite) -> None:
    """Warn when samples (...) diverged, where the time is finite, how many did, and why if that is known."""
    lost = np.isfinite(lost_at)
    if lost.any():
        which = f"{lost.sum()} of {lost.size} samples diverged, the first" if lost.ndim else "the motion diverged"
        advice = (
            f"Try a shorter step than dt = {dt:g} s, and look for gains, stiffnesses or torques that are too large "
            f"for it{loop_hint(robot)}"
        )
        warn(f"simulate: {which} at t = {lost_at.min():.6g} s. {not_finite.reason() or advice}", SimulationWarning)


def warn_of_folds(caller: str, robot: System, since: np.ndarray) -> None:
    """Warn of samples (...) whose loops came so near to a singular position, where the time is finite, that steps lose
    most of their digits, and no smooth branch through it was found.
    """
    stuck = np.isfinite(since)
    if not stuck.any():
        return
    names = ", ".join(repr(x.name) for x in robot.mechanism.loops)
    which = f"{stuck.sum()} of {stuck.size} samples" if stuck.ndim else "the motion"
    warn(
        f"{caller}: {which} came to a singular position of loops ({names}), the first at t = {since.min():.6g} s: "
        "velocities do not determine the motion well there, and what follows may gain or lose energy. Try a shorter "
        "step, or other independent velocities (robot.with_independent(...))",
        SimulationWarning,
    )
