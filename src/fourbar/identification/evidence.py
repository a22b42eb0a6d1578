"""The information in the data about the parameters: sums of squared residuals per kind of equation, as triangles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .base_parameters import Triangle, stack
from .data import Chunk
from .equation_rows import RowMaker

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
        kept = self._levels[level]
        kept.append(part)
        if len(kept) == FAN:
            self._levels[level] = []
            self.add(merge(kept), level + 1)

    def whole(self) -> Evidence | None:
        """All of it; None if there were no parts."""
        level = 0
        while level < len(self._levels):
            kept, self._levels[level] = self._levels[level], []
            is_last = not any(self._levels)
            if kept and is_last:
                return merge(kept)
            if kept:
                self.add(merge(kept), level + 1)
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
