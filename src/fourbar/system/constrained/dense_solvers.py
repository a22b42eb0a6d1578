"""Small dense problems in NumPy, batched: least-norm forces where rows depend on each other, and actuator forces.

Rows that depend on each other may stop doing so where numbers of the robot or of the constraints change. A matrix keeps
its rank to first order if its change takes nothing of what it holds still to what its rows leave open:
Uᵀ δA N = 0 for all U with Uᵀ A = 0 and all N with A N = 0. Where it does not, forces along the rows jump, and there is
no derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.constrained.multipliers import IndependentRows
from ...errors import warn
from ...linalg import apply, count, factors, inverse_in_units, lengths, ranks, transpose
from ...tolerances import BROKEN, NOTHING, RANK
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

    def breaks_along(self, q: np.ndarray, dq: Any, rates: Mapping[str, Any]) -> np.ndarray:
        """The samples (...) in which rows stop to depend on each other along rates of numbers."""
        moving = {name: rates[name] for name in self._relevant([k for k, x in rates.items() if x is not None])}
        if not moving:
            return np.zeros(q.shape[:-1], bool)
        dA = self._rows.jvp(q, {} if dq is None else {"q": dq}, parameters=moving)
        A = np.broadcast_to(self._rows(q), dA.shape)
        return _breaks(A[..., self._free], dA[..., None, :, self._free])[..., 0]

    def breaks_by_number(self, q: np.ndarray, names: Sequence[str]) -> dict[str, Broken]:
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


class Least(NamedTuple):
    """λ (..., m), and by how much b is out of reach, relative: see `_out_of_reach`."""

    force: np.ndarray
    gap: np.ndarray


def least_force(Y: np.ndarray, b: np.ndarray, quiet: np.ndarray) -> Least:
    """The least λ with YᵀY λ = -b, for Y (..., n, m): exact also where rows depend on each other.

    `quiet` (m): accelerations of the rows that are small.
    """
    r = ranks(Y)[..., None]
    _, s, Vt = factors(Y)
    kept = np.arange(s.shape[-1]) < r
    along = np.where(kept, apply(Vt, b), 0.0)
    force = -apply(transpose(Vt), along / np.where(kept, s, 1.0) ** 2)
    return Least(force, _out_of_reach(Y, b, quiet))


def _out_of_reach(Y: np.ndarray, b: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """The part of b (..., m) that rows Y cannot reach: of each row what is left, beside `quiet` and what it and
    others say of it. All in units of the rows' own lengths, so that metres and radians do not meet."""
    size = lengths(Y)
    _, s, Vt = factors(Y / size[..., None, :])
    kept = np.where(np.arange(s.shape[-1]) < count(s)[..., None], 1.0, 0.0)
    P = transpose(Vt) @ (kept[..., None] * Vt)
    unit = np.where(np.isfinite(size), size, 1.0)
    along = np.where(np.isfinite(size), b / unit, 0.0)  # a row that is nothing depends on no other
    left = np.abs(b - unit * apply(P, along))
    said = quiet + np.abs(b) + unit * apply(np.abs(P), np.abs(along))
    return (left / said).max(axis=-1, initial=0.0)


def choose(samples: np.ndarray, units: np.ndarray | float = 1.0) -> IndependentRows:
    """Columns that stand for all, from samples (k, n, m) of Y: as many as its rank is anywhere, with its rows in
    `units` (n).
    """
    if 0 in samples.shape:
        return IndependentRows((), ())
    scaled = samples / np.reshape(units, (-1, 1))
    sample_ranks = ranks(scaled)
    best_sample = int(sample_ranks.argmax())
    size = np.linalg.norm(samples[best_sample], axis=0)
    Y = scaled[best_sample] / lengths(scaled[best_sample])
    chosen: list[int] = []
    for _ in range(int(sample_ranks.max())):
        left = np.linalg.norm(Y, axis=0)
        left[chosen] = -1.0
        best = int((left > 0.5 * left.max()).argmax())  # the first of the good ones: rows given first lead
        chosen.append(best)
        direction = Y[:, best] / left[best]
        Y = Y - np.outer(direction, direction @ Y)
    usual = np.where(size > NOTHING * size.max(), size, size.max())
    return IndependentRows(tuple(sorted(chosen)), tuple((usual**2).tolist()))


def _beside(E: np.ndarray, A: np.ndarray) -> np.ndarray:
    """E (..., m, n) without the rows that are rounding beside the same rows of A (..., m, n)."""
    size, whole = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (E, A))
    return np.where(size > RANK * whole, E, 0.0)


class SharedForces(NamedTuple):
    """Forces of actuators and of constraints, and by how much the passive joints' forces are out of reach, relative."""

    tau: np.ndarray
    force: np.ndarray
    gap: np.ndarray


def drive(
    tau: np.ndarray, rows: np.ndarray, active: np.ndarray, weight: np.ndarray | None, least_torque: bool, quiet: float
) -> SharedForces:
    """τ_active and λ with τ = S_aᵀ τ_active + rowsᵀ λ (Kim eq. 57-66).

    tau (..., n), rows (..., k, n); `active` (n) says which velocities are driven. Of many solutions: the one
    with least λᵀ W λ, or with least τᵀ W τ (and of several of these the one with least λ). The gap is relative to
    `quiet`, a small force, + the largest |τ|.
    """
    passive = ~active
    A_p, A_a = transpose(rows[..., passive]), transpose(rows[..., active])
    L = np.eye(1) if weight is None else np.linalg.cholesky(weight)
    turn = np.eye(rows.shape[-2]) if weight is None or least_torque else np.linalg.inv(L).T
    A_p, A_a = A_p @ turn, A_a @ turn  # λ = L⁻ᵀ μ: least |μ|
    inverse = inverse_in_units(A_p)
    force = apply(inverse, tau[..., passive])
    if least_torque:
        P = np.eye(rows.shape[-2]) - inverse @ A_p
        E, left = _beside(A_a @ P, A_a), tau[..., active] - apply(A_a, force)
        if weight is not None:
            E, left = L.T @ E, apply(L.T, left)
        force = force + apply(P, apply(inverse_in_units(E), left))
    left = np.abs(tau[..., passive] - apply(A_p, force)).max(axis=-1, initial=0.0)
    found = tau[..., active] - apply(A_a, force)
    return SharedForces(found, apply(turn, force), left / (quiet + np.abs(tau).max(axis=-1, initial=0.0)))
