"""Least squares for the coordinates x of the parameters: min |A x - z|² + μ |x - x₀|², and how well x is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..linalg import factors
from ..once import cached_property
from ..tolerances import UNSEEN
from .evidence import Evidence
from .parameter_coordinates import EstimatedCoordinates

_ROUNDS = 10
_FAR = (
    30.0  # relative change of a body that counts as one deviation, where consistency is enforced and no prior was given
)
_FAINT = 1e-16  # fraction of the largest squared singular value: the smallest weight of a prior that survives rounding


@dataclass(frozen=True)
class LeastSquares:
    """A (m', m) and z of unit weight, the prior x₀ and its weight μ (zero: only to choose among equal fits)."""

    A: np.ndarray
    z: np.ndarray
    prior: np.ndarray
    weight: float

    @cached_property
    def svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, s, Vᵀ of A, with singular values that are mere rounding set to zero."""
        U, s, Vt = factors(self.A)
        return U, np.where(s > UNSEEN * s.max(initial=0.0), s, 0.0), Vt

    @property
    def rank(self) -> int:
        """The number of combinations that the data determine."""
        return int(np.count_nonzero(self.svd[1]))

    def solution(self) -> np.ndarray:
        """The best fit; what the data do not determine stays at the prior."""
        U, s, Vt = self.svd
        total = s**2 + self.weight
        gain = np.divide(s, total, out=np.zeros_like(s), where=total > 0.0)
        return self.prior + Vt.T @ (gain * (U.T @ (self.z - self.A @ self.prior)))

    def deviations(self, maps: np.ndarray) -> np.ndarray:
        """Standard deviations of combinations `maps` (k, m) of x, infinite for those that are undetermined."""
        _, s, Vt = self.svd
        total = s**2 + self.weight
        informed = total > 0.0
        parts = maps @ Vt.T
        known = np.sqrt(np.sum(parts[:, informed] ** 2 / total[informed], axis=1))
        return np.where(self.unknown(maps), np.inf, known) if self.weight == 0.0 else known

    def unknown(self, maps: np.ndarray) -> np.ndarray:
        """The combinations (k, m) that the data do not determine."""
        _, s, Vt = self.svd
        informed = Vt[s > 0.0]
        left = maps - (maps @ informed.T) @ informed
        return np.linalg.norm(left, axis=1) > 1e-6 * np.linalg.norm(maps, axis=1)

    def with_weak_prior(self) -> LeastSquares:
        """The problem with a prior of 3000 percent at least.

        With physical consistency the best fit may lie at infinity, in directions that the data do not determine: a body
        a thousand times as heavy for the last digit of the residual. This excludes it.
        """
        largest = self.svd[1].max(initial=1e-300)
        return replace(self, weight=max(self.weight, _FAR**-2, _FAINT * largest**2))

    def cost(self, x: np.ndarray) -> float:
        """|A x - z|² + μ |x - x₀|²."""
        return float(np.sum((self.A @ x - self.z) ** 2) + self.weight * np.sum((x - self.prior) ** 2))


def make_problem(evidence: Evidence, c: EstimatedCoordinates, noise: np.ndarray, weight: float) -> LeastSquares:
    """The problem with equations divided by their noise (kinds)."""
    R = evidence.weighted_triangle(1.0 / noise)
    held = np.delete(np.arange(evidence.width), c.estimated)
    z = R[:, -1] - R[:, c.estimated] @ c.origin - R[:, held] @ c.values[held]
    return LeastSquares(R[:, c.estimated] @ c.T, z, c.prior, weight)


def estimate_noise(evidence: Evidence, c: EstimatedCoordinates, weight: float, common: bool) -> np.ndarray:
    """Standard deviation of each kind of equation, from the residuals of a fit weighted by it; or one for all."""
    sizes = evidence.sizes()
    floor = 1e-13 * max(sizes.max(initial=0.0), 1e-300)
    noise = np.maximum(sizes, floor) if not common else np.full(len(sizes), max(sizes.max(initial=0.0), floor))
    for _ in range(_ROUNDS):
        problem = make_problem(evidence, c, noise, weight)
        residuals = evidence.residuals(c.parameters(problem.solution()))
        freedom = max(1.0 - problem.rank / evidence.equations, 1.0 / evidence.equations)
        counts = np.array(evidence.counts)
        if common:
            residuals = np.full(len(counts), np.sqrt(np.sum(counts * residuals**2) / counts.sum()))
        updated = np.maximum(residuals / np.sqrt(freedom), floor)
        done = np.all(np.abs(updated - noise) < 1e-3 * noise)
        noise = updated
        if done:
            break
    return noise
