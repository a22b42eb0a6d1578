"""Least squares for the coordinates x of the parameters: min |A x - z|² + μ |x - x₀|², and the information in the data:
sums of squared residuals per kind of equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..linalg import factors
from ..once import cached_property
from ..tolerances import UNSEEN
from .base_parameters import Triangle, stack
from .data import Chunk, RowMaker
from .parameter_coordinates import EstimatedCoordinates

FAN = 8  # parts that are merged at a time
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Evidence:
    """For each kind of equation a triangle of its rows [Y | b], over its columns; `width` columns in all.

    It determines every weighted sum of squared residuals, for any weights and parameters: the data are read once. Its
    size does not depend on theirs.
    """

    kinds: tuple[str, ...]
    width: int
    columns: tuple[np.ndarray, ...]
    triangles: tuple[np.ndarray, ...]
    counts: tuple[int, ...]

    def weighted_triangle(self, weights: np.ndarray) -> np.ndarray:
        """The triangle (·, width + 1) of all rows [Y | b], each kind with its weight."""
        parts = [
            (R, np.append(columns, self.width), float(w))
            for R, columns, w in zip(self.triangles, self.columns, weights, strict=True)
        ]
        return stack(parts, self.width + 1)

    def residuals(self, phi: np.ndarray) -> np.ndarray:
        """Root mean square (kinds,) of the residuals Y φ - b of each kind, with φ (p,)."""
        parts = zip(self.triangles, self.columns, strict=True)
        squares = [np.sum((R @ np.append(phi[columns], -1.0)) ** 2) for R, columns in parts]
        return np.sqrt(np.array(squares) / np.maximum(1, self.counts))

    def sizes(self) -> np.ndarray:
        """Root mean square of b of each kind."""
        return self.residuals(np.zeros(self.width))

    @property
    def equations(self) -> int:
        """Number of equations."""
        return sum(self.counts)


def evidence_of(equations: RowMaker, chunk: Chunk, width: int) -> Evidence:
    """The information in one chunk."""
    rows: list[tuple[int, np.ndarray, np.ndarray, int]] = []
    for kind, columns, values in equations.of(chunk):
        triangle = Triangle(len(columns) + 1)
        triangle.add(values)
        rows.append((kind, columns, triangle.R, triangle.rows))
    kinds, columns, triangles, counts = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Evidence(tuple(equations.kinds[k] for k in kinds), width, columns, triangles, counts)


def merge(parts: Sequence[Evidence]) -> Evidence:
    """The information in several parts of the data; those without any equation add nothing."""
    known = [part for part in parts if part.kinds]
    if len(known) < 2:
        return known[0] if known else parts[0]
    triangles, first = [], known[0]
    for k in range(len(first.kinds)):
        triangle = Triangle(len(first.columns[k]) + 1)
        triangle.add(np.concatenate([part.triangles[k] for part in known]))
        triangles.append(triangle.R)
    counts = tuple(sum(part.counts[k] for part in known) for k in range(len(first.kinds)))
    return Evidence(first.kinds, first.width, first.columns, tuple(triangles), counts)


class Gathered:
    """The information in a stream of parts, merged by eights, then these by eights, and so on.

    The order in which numbers are added depends on the parts only: it is the same where they are computed in parallel
    (`gather_lazily`). No more than eight of each size are kept.
    """

    def __init__(self) -> None:
        self._levels: list[list[Evidence]] = []

    def add(self, part: Evidence, level: int = 0) -> None:
        """Add a part, behind all others."""
        if level == len(self._levels):
            self._levels.append([])
        blocks = self._levels[level]
        blocks.append(part)
        if len(blocks) == FAN:
            self._levels[level] = []
            self.add(merge(blocks), level + 1)

    def whole(self) -> Evidence | None:
        """The evidence of all parts together; None if there were none."""
        level = 0
        while level < len(self._levels):
            blocks, self._levels[level] = self._levels[level], []
            is_last = not any(self._levels)
            if blocks and is_last:
                return merge(blocks)
            if blocks:
                self.add(merge(blocks), level + 1)
            level += 1
        return None


def gather(equations: RowMaker, chunks: Iterable[Chunk], width: int, progress: Progress | None = None) -> Evidence:
    """Read all data once, chunk by chunk."""
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress={progress!r}: expected a function that wraps an iterable, such as tqdm.tqdm")
    gathered = Gathered()
    for chunk in progress(chunks) if progress is not None else chunks:
        gathered.add(evidence_of(equations, chunk, width))
    return require_equations(gathered.whole())


def require_equations(found: Evidence | None) -> Evidence:
    """The evidence; an error if there is none."""
    if found is None or not found.kinds:
        raise ArgumentError("data: there are no samples, or too few for a single equation")
    return found


_ROUNDS = 10
_FAR = (
    30.0  # relative change of a body that counts as one deviation, where consistency is enforced and no prior was given
)
_FAINT = 1e-16  # fraction of the largest squared singular value: the smallest weight of a prior that survives rounding


@dataclass(frozen=True)
class LeastSquares:
    """A (m', m) and z of unit weight, the prior x₀ and its weight μ (zero: only to choose among equal fits)."""

    A: np.ndarray  # (m', m)
    z: np.ndarray  # (m',)
    prior: np.ndarray  # (m,)
    weight: float

    @cached_property
    def svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U (m', k), s (k,), Vᵀ (k, m) of A, with singular values that are mere rounding set to zero."""
        U, s, Vt = factors(self.A)
        return U, np.where(s > UNSEEN * s.max(initial=0.0), s, 0.0), Vt

    @property
    def rank(self) -> int:
        """The number of combinations that the data determine."""
        return int(np.count_nonzero(self.svd[1]))

    def solution(self) -> np.ndarray:
        """The best fit (m,); what the data do not determine stays at the prior."""
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
