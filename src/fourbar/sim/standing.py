"""Worlds whose arrays stay where they are: steps of all of them again and again, with little to do around each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compile.rollout import Request
from ..functions.rollout import ALWAYS, Rollout


class Standing:
    """n worlds of a scene: q, v, impulses, counts of steps (n, ...), friction and parameters in the caller's arrays.

    After `advance`, `after` has what the first four have become, `worst` the largest residual, `status` what became of
    each world (0: it moves on), and `records` what the last step computed, by name.
    """

    def __init__(
        self, rollout: Rollout, n: int, dt: float, state: Sequence[np.ndarray], numbers: Sequence[np.ndarray]
    ) -> None:
        step = rollout.step
        self._rollout, self._n = rollout, n
        self._held = (*state, *numbers)
        self._state, self._numbers = ([np.asarray(x, float) for x in some] for some in (state, numbers))
        q, v, impulse, count = self._state
        started = [q, v, impulse, np.zeros(n), np.full(n, -1.0), count]
        if list(step.state) != ["q", "v", "impulse", "worst", "late", "count"]:
            raise ValueError(f"{step.name}: worlds have no state {list(step.state)}")
        given = [np.full(n, dt), *self._numbers]
        fate = [np.zeros(n), np.zeros(n)]
        self._controls = {name: np.zeros((n, 1, *shape)) for name, shape in step.controls.items()}
        self._after = [np.empty_like(x, order="C") for x in (*started, *fate)]
        rows = {name: np.empty((n, 1, *shape)) for name, shape in step.records.items()}
        self.records = {name: x[:, 0] for name, x in rows.items()}
        self._arrays = ([*started, *given, *fate], [*self._controls.values()], self._after, [*rows.values()])
        self._runner = rollout.runner(n == 1, tuple(rows))
        placed = getattr(self._runner, "placed", None)
        self._placed: Any = None if placed is None else placed(*self._arrays)

    def holds(self, rollout: Rollout, state: Sequence[np.ndarray], numbers: Sequence[np.ndarray]) -> bool:
        """Whether it is about these arrays."""
        given = (*state, *numbers)
        same = len(given) == len(self._held) and all(x is y for x, y in zip(given, self._held, strict=True))
        return same and rollout is self._rollout

    def advance(self, controls: Mapping[str, np.ndarray], steps: int, threads: int | None) -> None:
        """Make steps with controls (size) or (n, size) that are held."""
        for name, x in self._controls.items():
            x[:, 0] = controls[name]
        count = self._rollout.threads_for(self._n, steps, threads)
        request = Request(steps, 0, ALWAYS, steps, 0)
        if self._placed is not None:
            self._placed.run(request, count)
        else:
            self._runner.run(request, *self._arrays, count)

    @property
    def after(self) -> list[np.ndarray]:
        """q, v, impulses and counts of steps after the last call."""
        return [self._after[k] for k in (0, 1, 2, 5)]

    @property
    def worst(self) -> np.ndarray:
        """The largest residual of the steps of the last call."""
        return self._after[3]

    @property
    def status(self) -> np.ndarray:
        """What became of each world."""
        return self._after[-2]
