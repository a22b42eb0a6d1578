"""The information in the data about the parameters: sums of squared residuals per kind of equation, as triangles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .data import Chunk
from .rows import Equations
from .triangular import Triangle, stack

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

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """The triangle (·, width + 1) of all rows [Y | b], each kind with its weight."""
        parts = [
            (R, np.append(columns, self.width), float(w))
            for R, columns, w in zip(self.triangles, self.columns, weights, strict=True)
        ]
        return stack(parts, self.width + 1)

    def residuals(self, phi: np.ndarray) -> np.ndarray:
        """Root mean square of the residuals Y φ - b of each kind."""
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


def gather(equations: Equations, chunks: Iterable[Chunk], width: int, progress: Progress | None = None) -> Evidence:
    """Read all data once, chunk by chunk."""
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress={progress!r}: expected a function that wraps an iterable, such as tqdm.tqdm")
    found: dict[int, tuple[np.ndarray, Triangle]] = {}
    for chunk in progress(chunks) if progress is not None else chunks:
        for kind, columns, values in equations.of(chunk):
            if kind not in found:
                found[kind] = columns, Triangle(len(columns) + 1)
            found[kind][1].add(values)
    if not found:
        raise ArgumentError("data: there are no samples, or too few for a single equation")
    order = sorted(found)
    return Evidence(
        tuple(equations.kinds[k] for k in order),
        width,
        tuple(found[k][0] for k in order),
        tuple(found[k][1].R for k in order),
        tuple(found[k][1].rows for k in order),
    )
