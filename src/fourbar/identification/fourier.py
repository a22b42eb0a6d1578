"""Motions as Fourier series that start and end at rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..representation import quantity


@dataclass(frozen=True)
class Fourier:
    """A motion as a Fourier series.

    y(t) = offset + Σ_k (coefficients[:, k, 0] sin k ω t + coefficients[:, k, 1] cos k ω t), with ω = 2π / period.

    Parameters
    ----------
    offset : ndarray, shape (m,)
        Mean of each coordinate (rad, m).
    coefficients : ndarray, shape (m, harmonics, 2)
        Amplitudes of sines and cosines (rad, m).
    period : float
        Period (s).

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar.identification import Fourier
    >>> y, v, a = Fourier(np.zeros(1), np.array([[[1.0, 0.0]]]), 2 * np.pi).at([0.0])
    >>> y, v
    (array([[0.]]), array([[1.]]))
    """

    offset: np.ndarray
    coefficients: np.ndarray
    period: float

    def __repr__(self) -> str:
        m, harmonics, _ = self.coefficients.shape
        coordinates = quantity(m, "coordinate")
        return f"<fourbar Fourier: {coordinates}, {quantity(harmonics, 'harmonic')} of {self.period:g} s>"

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and accelerations at given times, exactly.

        Parameters
        ----------
        t : array_like, shape (n,)
            Times (s).

        Returns
        -------
        y : ndarray, shape (n, m)
            Coordinates (rad, m).
        v : ndarray, shape (n, m)
            Velocities (rad/s, m/s).
        a : ndarray, shape (n, m)
            Accelerations (rad/s², m/s²).
        """
        w = 2.0 * np.pi / self.period * np.arange(1, self.coefficients.shape[1] + 1)
        angles = np.multiply.outer(np.asarray(t, float), w)
        s, c = np.sin(angles), np.cos(angles)
        a, b = self.coefficients[..., 0].T, self.coefficients[..., 1].T
        y = self.offset + s @ a + c @ b
        return y, (w * c) @ a - (w * s) @ b, -(w**2 * s) @ a - (w**2 * c) @ b

    def scaled(self, factor: np.ndarray | float) -> Fourier:
        """The same shape around the same offset, larger or smaller.

        Parameters
        ----------
        factor : array_like, shape () or (m,)
            One factor, or one per coordinate.

        Returns
        -------
        Fourier
            The scaled motion.
        """
        wide = np.broadcast_to(np.asarray(factor, float), self.offset.shape)[:, None, None]
        return replace(self, coefficients=wide * self.coefficients)

    def at_rest(self) -> Fourier:
        """The nearest series that is at rest at t = 0, hence after every period.

        Returns
        -------
        Fourier
            The motion whose velocity and acceleration vanish there.

        Notes
        -----
        At t = 0, ẏ = ω Σ k a_k and ÿ = -ω² Σ k² b_k: two linear conditions per coordinate.
        """
        k = np.arange(1.0, self.coefficients.shape[1] + 1.0)
        weights = np.stack([k, k**2], axis=1)
        sums = np.einsum("mki,ki->mi", self.coefficients, weights) / np.sum(weights**2, axis=0)
        return replace(self, coefficients=self.coefficients - sums[:, None, :] * weights)
