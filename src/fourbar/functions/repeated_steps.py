"""A few steps of a motion at a time, again and again, with little to do around a call: arrays stay where they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..compile.rollout_kernel import Request
from .rollout import ALWAYS, Now, RolloutRun


class RepeatedSteps:
    """Steps of a motion with controls that are held for a call, recorded every few steps in the same arrays.

    `controls` (..., *shape) by name are to be written before each call, `rows` are the same as a motion takes them.
    States go from one set of arrays to another and back: what interrupts a step leaves the motion as it was before, but
    who wants to keep a state copies it.
    """

    def __init__(self, motion: RolloutRun, records: Mapping[str, np.ndarray], every: int, threads: int | None) -> None:
        self.motion, self._records, self._every, self._threads = motion, records, every, threads
        n, batch = motion.n, motion.batch
        shapes = motion.control_shapes
        self.rows = [np.zeros((n, 1, *shape)) for shape in shapes.values()]
        both = zip(shapes.items(), self.rows, strict=True)
        self.controls = {name: x.reshape((*batch, *shape)) for (name, shape), x in both}
        self._sets = [self._room(), self._room()]
        self._there = [motion.bind_arrays(a, self.rows, b, records) for a, b in (self._sets, self._sets[::-1])]
        self._last: Now | None = None
        self._turn = 0

    def is_for(self, motion: RolloutRun, records: Mapping[str, np.ndarray], every: int) -> bool:
        """Whether it makes the steps of a motion, and records them in these arrays."""
        return self.motion is motion and self._records is records and self._every == every

    def _room(self) -> list[np.ndarray]:
        """Arrays for the states of all samples, what became of them, and how many steps they have made."""
        state, status, made, _ = self.motion.now
        return [np.empty_like(x, order="C", subok=False) for x in (*state, status, made)]

    def advance(self, steps: int) -> None:
        """Make some steps."""
        motion, there = self.motion, self._there[self._turn]
        if there is None:
            motion.advance(
                steps, self.rows, self._records, hold=ALWAYS, every=self._every, threads=self._threads
            )  # interpreted
            return
        now = motion.now
        if now is not self._last:
            self._turn, there = 0, self._there[0]
            for mine, x in zip(self._sets[0], (*now.state, now.status, now.made), strict=True):
                mine[...] = x
        there.run(Request(steps, now.steps, ALWAYS, self._every, 0), motion.threads_for(steps, self._threads))
        self._turn = 1 - self._turn
        *state, status, made = self._sets[self._turn]
        motion.now = self._last = Now(state, status, made, now.steps + steps)
