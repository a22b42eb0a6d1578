"""Motions as Fourier series that start and end at rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fourier:
    """y(t) = offset + Σ_k (coefficients[:, k, 0] sin k ω t + coefficients[:, k, 1] cos k ω t), ω = 2π / period."""

    offset: np.ndarray
    coefficients: np.ndarray
    period: float

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and accelerations (n, m) at times t (n), exactly."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.coefficients.shape[1] + 1)
        angles = np.multiply.outer(np.asarray(t, float), w)
        s, c = np.sin(angles), np.cos(angles)
        a, b = self.coefficients[..., 0].T, self.coefficients[..., 1].T
        y = self.offset + s @ a + c @ b
        return y, (w * c) @ a - (w * s) @ b, -(w**2 * s) @ a - (w**2 * c) @ b

    def scaled(self, factor: np.ndarray | float) -> Fourier:
        """The same shape around the same offset, larger or smaller: one factor, or m."""
        wide = np.broadcast_to(np.asarray(factor, float), self.offset.shape)[:, None, None]
        return replace(self, coefficients=wide * self.coefficients)

    def at_rest(self) -> Fourier:
        """The nearest series whose velocity and acceleration vanish at t = 0, hence after every period.

        There ẏ = ω Σ k a_k and ÿ = -ω² Σ k² b_k: two linear conditions on each coordinate.
        """
        k = np.arange(1.0, self.coefficients.shape[1] + 1.0)
        weights = np.stack([k, k**2], axis=1)
        sums = np.einsum("mki,ki->mi", self.coefficients, weights) / np.sum(weights**2, axis=0)
        return replace(self, coefficients=self.coefficients - sums[:, None, :] * weights)
