"""Worlds whose arrays stay where they are: steps of all of them again and again, with little to do around each call."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from ...compile.rollout_kernel import Request, advance_patiently, redo_patiently
from ...functions.rollout import ALWAYS, PATIENCE, Rollout

STATE = ["q", "v", "impulse", "act", "worst", "late", "count"]


class InPlaceWorlds:
    """n worlds of a scene in arrays (n, ...) of the caller, in which steps are made.

    `state` are q, v, impulses, states of actuators, the largest residual of a call, and counts of steps; `reported`, by
    name, what else the last step writes (together they are `written`); `numbers` friction and parameters. `controls`
    (n, size) by name are held. After `advance`, `status` is 0 for each world that moves on, and `made` how many steps
    it has made.
    """

    def __init__(
        self,
        rollout: Rollout,
        dt: float,
        state: Sequence[np.ndarray],
        reported: dict[str, np.ndarray],
        numbers: Sequence[np.ndarray],
    ) -> None:
        step = rollout.step
        if [name for name in step.state if name != PATIENCE] != STATE:
            raise ValueError(f"{step.name}: expected a step with the state {STATE}, got {list(step.state)}")
        q, v, impulse, act, worst, count = state
        n = len(q)
        self._rollout, self._n, self.written = rollout, n, (*state, *reported.values())
        self._held = (*self.written, *numbers)
        never, nothing = np.full(n, -1.0), np.zeros(n)
        rows = {name: np.zeros((n, 1, *shape)) for name, shape in step.controls.items()}
        self.controls = {name: x[:, 0] for name, x in rows.items()}
        self.status, self.made = np.zeros(n), np.zeros(n)
        self._levels = levels = rollout.levels(n) or step.patience[-1:]
        patience = [np.full(n, x) for x in levels[:1]]
        brought = [q, v, impulse, act, nothing, never, count, *patience, np.full(n, dt), *numbers, nothing, nothing]
        taken = [q, v, impulse, act, worst, np.empty(n), count, *map(np.empty_like, patience), self.status, self.made]
        self._is_tried = len(levels) > 1
        self._before = brought[len(STATE) + len(patience) : -2], [nothing, nothing]
        self._arrays = (brought, [*rows.values()], taken, [x[:, None] for x in reported.values()])
        self._runner = rollout.runner(n == 1, tuple(reported))
        self._request = _request(1)
        placed = getattr(self._runner, "bind_arrays", None)
        self._placed: Any = None if placed is None else placed(*self._arrays)

    def holds(self, arrays: tuple[np.ndarray, ...]) -> bool:
        """Whether it is about these arrays: state, reports, numbers."""
        return all(map(is_, arrays, self._held))

    def advance(self, steps: int, threads: int | None) -> bool:
        """Make steps with `controls` (n, size) that are held; whether all worlds move on."""
        count = self._rollout.threads_for(self._n, steps, threads)
        if steps != self._request.steps:
            self._request = _request(steps)
        if steps > 1 and self._is_tried:
            advance_patiently(self._runner, self._levels, self._request, *self._arrays, count)
            return not self.status.dot(self.status)  # faster than `any`
        if self._placed is not None:
            self._placed.run(self._request, count)
        else:
            self._runner.run(self._request, *self._arrays, count)
        if self._is_tried and self.status.dot(self.status):
            redo_patiently(self._runner, self._levels, self._request, self._before, *self._arrays[1:], count)
        return not self.status.dot(self.status)


def _request(steps: int) -> Request:
    return Request(steps, 0, ALWAYS, steps, 0)
