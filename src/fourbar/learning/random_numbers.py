"""Random numbers for many worlds: each world draws from a generator of its own, so that its numbers do not depend on
which worlds draw together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Draws:
    """Random numbers (n, *shape) for n worlds, a row from the generator of each."""

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        self._generators = generators

    def uniform(self, low: Any = 0.0, high: Any = 1.0, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Between low and high, which broadcast with (n, *shape)."""
        drawn = np.array([g.random(shape) for g in self._generators]).reshape(-1, *shape)
        return low + (np.asarray(high, float) - low) * drawn

    def normal(self, deviation: Any = 1.0, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Normal, with mean zero and a standard deviation that broadcasts with (n, *shape)."""
        return deviation * np.array([g.standard_normal(shape) for g in self._generators]).reshape(-1, *shape)

    def integers(self, low: int, high: int, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Whole numbers from low to high - 1."""
        return np.array([g.integers(low, high, shape) for g in self._generators], dtype=int).reshape(-1, *shape)
