"""Integrals of sampled rates over windows of samples, by cubics through four neighbours: exact to the third power."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

_POINTS = 4
_LARGEST = 1.0  # weight beside the step: where samples are so uneven that a cubic would swing, a line is used
_AT_ONCE = 2**22  # numbers of a rate that are held at once


def step_weights(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each step between times t (n): the first (n - 1) of the m samples that it is made of, and their weights."""
    n = len(t)
    m = min(_POINTS, n)
    step = np.arange(n - 1)
    first = np.clip(step - (m - 2) // 2, 0, n - m)
    h = np.diff(t)
    near = t[first[:, None] + np.arange(m)]
    powers = ((near - t[:-1, None]) / h[:, None])[:, :, None] ** np.arange(m)
    moments = np.broadcast_to(1.0 / np.arange(1, m + 1), (n - 1, m))
    weights = np.linalg.solve(powers.swapaxes(1, 2), moments[..., None])[..., 0]
    line = np.zeros_like(weights)
    line[step, step - first] = line[step, step - first + 1] = 0.5
    uneven = np.abs(weights).max(axis=1, keepdims=True) > _LARGEST
    return first, np.where(uneven, line, weights) * h[:, None]


class Windows:
    """Windows of equal numbers of samples, without those left over at the end. `edges` (k + 1) are their samples."""

    def __init__(self, t: np.ndarray, window: int) -> None:
        self._n, self._window = len(t), window
        self.edges = np.arange(0, len(t), window)
        self._first, self._weights = step_weights(t)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def integrals(self, rate: Callable[[slice], np.ndarray], size: int) -> Iterator[tuple[slice, np.ndarray]]:
        """∫ rate dt (k, ...) over some windows at a time; rate(samples) has `size` numbers for each sample."""
        at_once = max(1, _AT_ONCE // max(1, size * self._window))
        for start in range(0, len(self), at_once):
            some = slice(start, min(start + at_once, len(self)))
            steps = slice(self.edges[some.start], self.edges[some.stop])
            lowest, highest = self._first[steps].min(), self._first[steps].max() + self._weights.shape[1]
            values = rate(slice(lowest, highest))
            total = np.zeros((steps.stop - steps.start, *values.shape[1:]))
            for k, w in enumerate(self._weights[steps].T):
                total += w.reshape(-1, *(1,) * (values.ndim - 1)) * values[self._first[steps] - lowest + k]
            yield some, np.add.reduceat(total, np.arange(0, len(total), self._window), axis=0)

    def integral(self, rate: np.ndarray) -> np.ndarray:
        """∫ rate dt (k, ...) of sampled rates (n, ...)."""
        parts = [x for _, x in self.integrals(lambda samples: rate[samples], rate[0].size)]
        return np.concatenate(parts)
