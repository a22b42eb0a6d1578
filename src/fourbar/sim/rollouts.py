"""`rollout`: many motions in one call, as arrays with the samples first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..system.system import System
from .simulate import Asked, check_times, reached, read_counts, read_period


@dataclass(frozen=True)
class Rollouts:
    """States after every so many steps: t (rows), q (..., rows, nq), v (..., rows, nv), the energy lost (..., rows).

    `steps` (...) is the number of steps that each sample made with a finite state, and `diverged` (...) says where that
    is fewer than asked for: these are NaN from there on.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    lost: np.ndarray
    steps: np.ndarray
    diverged: np.ndarray


def rollout(
    robot: System,
    q: Any,
    v: Any = None,
    control: Any = None,
    *,
    dt: float,
    steps: int | None = None,
    period: float | None = None,
    every: int = 1,
    passive: bool = True,
    threads: int | None = None,
) -> Rollouts:
    """Motions from states q (..., nq) and v (..., nv) under controls (..., rows, nv), in one call of machine code.

    Each row of `control` is held for a `period` (a multiple of dt, by default dt); it may also be a function or
    `fb.traced(function)`, as in `simulate`, or None. `steps` is by default what the rows last. Leading axes broadcast.
    Row k of the results is the state after (k + 1) `every` steps. Nothing is said of limits, contacts or divergence:
    see `diverged`. Ctrl-C raises KeyboardInterrupt.
    """
    check_times(dt, dt)
    read_counts(every, passive)
    if steps is None:
        if control is None or callable(control) or np.ndim(control) < 2:
            raise ArgumentError("rollout: give steps=, or an array control (..., rows, nv) that says how many")
        steps = int(np.shape(control)[-2]) * read_period(period, dt)
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 1:
        raise ArgumentError(f"steps={steps!r}: expected a whole number of steps, at least 1")
    asked = Asked(robot, q, v, float(dt), int(steps), None, control, period, int(every), bool(passive), threads)
    run = reached(asked, (int(steps) - 1,))
    found = run.trajectory
    rows = slice(1, 1 + int(steps) // int(every))
    missing = rows.stop - 1 - len(found.t[rows])
    arrays = [np.moveaxis(x[rows], 0, asked.start.q.ndim - 1) for x in (found.q, found.v, found.lost)]
    if missing > 0:  # all samples diverged before
        axis = asked.start.q.ndim - 1
        ends = [np.full((*x.shape[:axis], missing, *x.shape[axis + 1 :]), np.nan) for x in arrays]
        arrays = [np.concatenate(both, axis=axis) for both in zip(arrays, ends, strict=True)]
    made = run.made
    moved, speeds, lost = arrays
    return Rollouts(np.arange(1, rows.stop) * (every * dt), moved, speeds, lost, made, made < steps)
