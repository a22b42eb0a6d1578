"""Ranks, null spaces and independent columns of small dense matrices: one of each, for the whole library.

A numerical rank depends on the units of rows and columns. `balance` finds units in which the entries of a matrix are as
near to one as possible; ranks are taken of matrices in such units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .tolerances import DOUBTFUL, FAIR, NOTHING, PREFERRED, RANK, ROUNDING


def balance(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units of rows (m) and columns (n) in which the entries of `sizes` (m, n) are as near to one as possible.

    Least squares of the logarithms of the entries that are not zero. A row or column times a number changes its own
    unit by that number, and no other. The unit of an empty row or column is one.
    """
    m = len(sizes)
    known = sizes > 0.0
    logs = np.log(np.where(known, sizes, 1.0))
    counts = known.astype(float)
    laplacian = np.block([[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]])
    found = np.linalg.lstsq(laplacian, np.concatenate([logs.sum(axis=1), logs.sum(axis=0)]), rcond=None)[0]
    with np.errstate(over="ignore"):
        return np.exp(found[:m]), np.exp(found[m:])


def apply(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M x, sample by sample."""
    return (M @ x[..., None])[..., 0]


def transpose(M: np.ndarray) -> np.ndarray:
    """Mᵀ, sample by sample."""
    return np.swapaxes(M, -1, -2)


def finite(A: np.ndarray) -> np.ndarray:
    """A with zeros in place of NaN and infinity; A itself where there are none."""
    valid = np.isfinite(A)
    return A if valid.all() else np.where(valid, A, 0.0)


def singular_values(A: np.ndarray) -> np.ndarray:
    """The singular values (..., k) of A (..., m, n), the largest first; of an empty matrix none."""
    return np.linalg.svd(A, compute_uv=False) if A.size else np.zeros((*A.shape[:-2], 0))


class Factors(NamedTuple):
    """U (..., m, k), s (..., k) and Vᵀ (..., k, n) of A = U diag(s) Vᵀ, the largest singular values first."""

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray


def factors(A: np.ndarray, whole: bool = False) -> Factors:
    """The singular value decomposition of A (..., m, n), with k = min(m, n); the `whole` one has square U and Vᵀ."""
    return Factors(*np.linalg.svd(A, full_matrices=whole))


def is_symmetric(A: np.ndarray, sizes: np.ndarray, rounding: float) -> bool:
    """Whether A (n, n) is symmetric but for rounding, relative to its entries and to `sizes` (n) of its diagonal."""
    unit = np.sqrt(sizes)
    return bool((np.abs(A - A.T) <= rounding * np.maximum(np.abs(A), np.outer(unit, unit))).all())


def is_semidefinite(A: np.ndarray, rounding: float) -> np.ndarray:
    """Whether (...) no eigenvalue of a symmetric A (..., n, n) is negative but for rounding, in units that make its
    diagonal one: those of rows and columns do not matter. Where the diagonal is zero, the row has to be.
    """
    diagonal = np.diagonal(A, axis1=-2, axis2=-1)
    positive = diagonal > 0.0
    unit = 1.0 / np.sqrt(np.where(positive, diagonal, np.inf))
    scaled = A * unit[..., :, None] * unit[..., None, :]
    least = np.linalg.eigvalsh(scaled).min(axis=-1, initial=0.0)
    massless = (A != 0.0).any(axis=-1) & ~positive
    return (least > -rounding * A.shape[-1]) & ~massless.any(axis=-1)


def condition(A: np.ndarray) -> np.ndarray:
    """The condition number (...) of A (..., m, n); infinite where it is singular."""
    s = singular_values(A)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(s[..., -1] > 0.0, s[..., 0] / s[..., -1], np.inf)


def count(values: np.ndarray, tolerance: float = RANK) -> np.ndarray:
    """The number of singular values (..., k) that are not rounding."""
    return (values > tolerance * values.max(axis=-1, keepdims=True, initial=0.0)).sum(axis=-1)


def rank(A: np.ndarray, tolerance: float = RANK) -> int:
    """Number of independent rows of one matrix in balanced units."""
    return int(count(singular_values(A), tolerance))


def smallest(A: np.ndarray) -> np.ndarray:
    """The smallest singular value (...) of A (..., m, n); infinite where there is none."""
    return singular_values(A).min(axis=-1, initial=np.inf)


def is_clear(A: np.ndarray) -> bool:
    """Whether every singular value is clearly zero or clearly not: no doubt about the rank."""
    values = singular_values(A)
    largest = values.max(initial=0.0)
    return not np.any((values > ROUNDING * largest) & (values < DOUBTFUL * largest))


def null_space(A: np.ndarray) -> np.ndarray:
    """An orthonormal basis (n, k) of the null space of A (m, n)."""
    if not A.size:
        return np.eye(A.shape[-1])
    _, s, Vt = np.linalg.svd(A)
    return Vt[int(count(s)) :].T


def pseudo_inverse(A: np.ndarray, tolerance: float = RANK) -> np.ndarray:
    """A⁺ (..., n, m) of a matrix in balanced units: the least-norm solution, in the least-squares sense where there is
    none.
    """
    return np.linalg.pinv(A, rcond=tolerance)


def inverse_in_units(A: np.ndarray) -> np.ndarray:
    """A⁺ (..., n, m), least norm and least squares in the given units, of the rank that A has in units of its own.

    So a slide in metres beside hinges in radians is neither lost in a robot of microns nor alone in one of kilometres.
    """
    if not A.size:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    U, s, Vt = factors(A)
    significant = np.arange(s.shape[-1]) < count(singular_values(in_own_units(A)))[..., None]
    return transpose(Vt) @ (np.where(significant, 1.0 / np.where(significant, s, 1.0), 0.0)[..., None] * transpose(U))


def in_own_units(A: np.ndarray) -> np.ndarray:
    """A (..., m, n) with columns, rows and columns again divided by their norms; zero where these are rounding."""
    B = A / lengths(A)[..., None, :]
    B = B / lengths(transpose(B))[..., None]
    return B / lengths(B)[..., None, :]


def least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n, ...) with least |A x - b|, for A (m, n) with independent columns in units of their norms."""
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    return (np.linalg.lstsq(A / size, b, rcond=None)[0].T / size).T


def lengths(A: np.ndarray) -> np.ndarray:
    """The norms (..., n) of the columns of A (..., m, n); infinite for those that are only rounding."""
    size = np.linalg.norm(A, axis=-2)
    return np.where(size > NOTHING * size.max(axis=-1, keepdims=True, initial=0.0), size, np.inf)


def ranks(A: np.ndarray) -> np.ndarray:
    """Rank (...) of A (..., m, n), each column in units of its norm."""
    return count(singular_values(A / lengths(A)[..., None, :]))


def pick(A: np.ndarray, number: int, order: Sequence[int] = (), rather: Sequence[int] = ()) -> list[int]:
    """`number` independent columns of A: those of `order`, then those of `rather` that are not small, then the
    largest.
    """
    left = A.astype(float).copy()
    scale = np.abs(A).max(initial=0.0)
    chosen: list[int] = []
    while len(chosen) < number:
        norms = np.sqrt(np.add.reduce(left * left, axis=0))
        norms[chosen] = 0.0
        largest = int(np.argmax(norms))
        j = next((j for j in order if norms[j] > PREFERRED * scale), None)
        j = next((j for j in rather if norms[j] > FAIR * norms[largest]), largest) if j is None else j
        if norms[j] <= RANK * scale:
            break
        direction = left[:, j] / norms[j]
        left -= direction[:, None] * (direction @ left)
        chosen.append(j)
    return chosen


def pivot_order(A: np.ndarray, rows: Sequence[int]) -> list[int]:
    """The rows in the order in which column-by-column elimination finds the largest pivots."""
    left, order, remaining = A.copy(), [], list(rows)
    for j in range(len(rows)):
        best = max(remaining, key=lambda i: abs(left[i, j]))
        remaining.remove(best)
        order.append(best)
        for i in remaining:
            left[i] = left[i] - left[best] * (left[i, j] / left[best, j])
    return order
