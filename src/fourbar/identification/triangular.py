"""QR factors of matrices too tall for memory: rows come in chunks, a triangle stays."""

from __future__ import annotations

import numpy as np


class Triangle:
    """R of the QR factorisation of all rows so far, which gives every sum of squares: |A x|² = |R x|²."""

    def __init__(self, width: int) -> None:
        self.R: np.ndarray = np.zeros((0, width))
        self.rows = 0

    def add(self, A: np.ndarray) -> None:
        """Add rows (n, width)."""
        self.rows += len(A)
        self.R = np.asarray(np.linalg.qr(np.concatenate([self.R, A]), mode="r"))


def stack(parts: list[tuple[np.ndarray, np.ndarray, float]], width: int) -> np.ndarray:
    """R of several triangles stacked: each with its own columns, and a weight."""
    whole = Triangle(width)
    for R, columns, weight in parts:
        wide = np.zeros((len(R), width))
        wide[:, columns] = weight * R
        whole.add(wide)
    return whole.R
