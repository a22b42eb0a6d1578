"""Whether rows that depend on each other go on doing so while numbers of the robot or of the constraints change.

A matrix keeps its rank to first order if its change takes nothing of what it holds still to what its rows leave open:
Uᵀ δA N = 0 for all U with Uᵀ A = 0 and all N with A N = 0. Where it does not, forces along the rows jump, and there is
no derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import warn
from ...linalg import count, factors, lengths, transpose
from ...tolerances import BROKEN
from ...tree.parameters import find
from .constrained_model import ConstrainedModel


def _breaks(A: np.ndarray, dA: np.ndarray) -> np.ndarray:
    """Whether the rank of A (..., m, n) changes with each of its changes dA (..., k, m, n): (..., k)."""
    A = np.nan_to_num(A)
    row_units = lengths(transpose(A))  # rows in their own units, as where ranks are taken
    U, s, Vt = factors(A / row_units[..., None], whole=True)
    rank = count(s)[..., None]
    left = np.where(np.arange(U.shape[-1]) >= rank, 1.0, 0.0)[..., None, :] * U
    right = np.where(np.arange(Vt.shape[-1]) >= rank, 1.0, 0.0)[..., :, None] * Vt
    change = np.nan_to_num(dA) / _finite(row_units)[..., None, :, None]
    change_beyond_rank = transpose(left)[..., None, :, :] @ change @ transpose(right)[..., None, :, :]
    size = np.abs(change).max(axis=(-2, -1), initial=0.0)
    return np.abs(change_beyond_rank).max(axis=(-2, -1), initial=0.0) > BROKEN * size


def _finite(size: np.ndarray) -> np.ndarray:
    """Lengths of rows (..., m); the longest for those that are nothing."""
    longest = np.where(np.isfinite(size), size, 0.0).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(np.isfinite(size), size, np.where(longest > 0.0, longest, 1.0))


class Broken(NamedTuple):
    """A mask (..., *shape) of the entries of a number that have no derivative."""

    lost: np.ndarray
    shape: tuple[int, ...]

    def among(self, x: np.ndarray, batch: int) -> np.ndarray:
        """The mask beside derivatives (..., *result, *shape) with `batch` leading axes."""
        own = self.lost.shape[: self.lost.ndim - len(self.shape)]
        return self.lost.reshape(*own, *(1,) * (x.ndim - batch - len(self.shape)), *self.shape)


class Dependent:
    """Rows A(q) of which some stand for others; `free` are the velocities that count."""

    def __init__(self, model: ConstrainedModel, rows: Any, free: Sequence[bool]) -> None:
        self._model, self._rows, self._free = model, rows, np.array(free, bool)

    def _relevant(self, names: Sequence[str]) -> list[str]:
        """The numbers that rows can depend on: not inertias, gravity and the like."""
        return [x.name for x in find(self._model.numbers, names) if x.moves_links]

    def broken_along(self, q: np.ndarray, dq: Any, rates: Mapping[str, Any]) -> np.ndarray:
        """The samples (...) in which rows stop to depend on each other along rates of numbers."""
        moving = {name: rates[name] for name in self._relevant([k for k, x in rates.items() if x is not None])}
        if not moving:
            return np.zeros(q.shape[:-1], bool)
        dA = self._rows.jvp(q, {} if dq is None else {"q": dq}, parameters=moving)
        A = np.broadcast_to(self._rows(q), dA.shape)
        return _breaks(A[..., self._free], dA[..., None, :, self._free])[..., 0]

    def broken_by(self, q: np.ndarray, names: Sequence[str]) -> dict[str, Broken]:
        """The entries of numbers with which rows stop to depend on each other; these are reported."""
        relevant = self._relevant(names)
        if not relevant:
            return {}
        A, by_name = self._rows(q), {}
        for name, block in self._rows.jacobian(q, parameters=relevant).parameters.items():
            shape = block.shape[A.ndim :]
            dA = np.moveaxis(block.reshape(*A.shape, -1), -1, -3)
            broken = _breaks(A[..., self._free], dA[..., self._free])
            by_name[name] = Broken(broken.reshape(*A.shape[:-2], *shape), shape)
        lost = [name for name, own in by_name.items() if own.lost.any()]
        if lost:
            warn(
                f"redundant rows would become independent if {', '.join(map(repr, lost))} changed, so that the forces "
                "have no derivative with respect to some of the entries; these are NaN",
                RuntimeWarning,
            )
        return by_name
