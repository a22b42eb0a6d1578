"""Routes to the accelerations of a mechanism with loops that share nothing but the matrices of the spanning tree.

H q̈ + c = τ + Kᵀλ and K q̈ = k, for the joints of the spanning tree; one sample at a time, plain NumPy and SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse

from fourbar import System, baselines

from .looped import State, spanning

_RANK = 1e-9


@dataclass(frozen=True)
class Problem:
    """One sample: mass matrix, applied force less bias, and the rows of the loops, each needed once."""

    H: np.ndarray
    force: np.ndarray
    K: np.ndarray
    k: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        m = len(self.K)
        return np.block([[self.H, self.K.T], [self.K, np.zeros((m, m))]])

    def condition(self) -> float:
        """Condition number of the whole system with every velocity and every row in units of its own."""
        M = self.matrix
        size = np.sqrt(np.maximum(np.abs(M).max(axis=0), 1e-300))
        return float(np.linalg.cond(M / size / size[:, None]))


def problems(robot: System, s: State) -> list[Problem]:
    """The samples of a batch."""
    tree, q = spanning(robot), robot.expand(s.q)
    H = tree.mass_matrix(q)
    force = baselines.spanning_forces(robot, s.tau) - tree.bias_force(q, robot.expand_velocity(s.q, s.v), f_ext=s.f_ext)
    K, k = baselines.loop_constraints(robot, s.q, s.v)
    return [Problem(H[i], force[i], *_needed(K[i], k[i])) for i in range(len(H))]


def _needed(K: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that no others imply, by QR with pivoting; that the rest agrees with them is asserted."""
    _, R, order = scipy.linalg.qr(K.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    r = int(np.sum(sizes > _RANK * sizes.max(initial=0.0)))
    chosen = np.sort(order[:r])
    implied = np.linalg.lstsq(K[chosen].T, K.T, rcond=None)[0].T
    assert np.allclose(implied @ k[chosen], k, atol=1e-9 * (1.0 + np.abs(k).max(initial=0.0)))
    return K[chosen], k[chosen]


def by_sparse_factors(p: Problem) -> np.ndarray:
    """q̈ from a sparse factorisation of the whole system."""
    solved = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(p.matrix)).solve(np.concatenate([p.force, p.k]))
    return solved[: len(p.force)]


def by_gauss(p: Problem) -> np.ndarray:
    """q̈ by Gauss's principle: of all accelerations that the loops allow, the nearest to the free ones, measured by H.

    min |W q̈ - W⁻ᵀ force| with WᵀW = H, over q̈ = any solution of the loops + their null space.
    """
    particular = np.linalg.lstsq(p.K, p.k, rcond=None)[0] if len(p.K) else np.zeros(len(p.force))
    allowed = scipy.linalg.null_space(p.K, rcond=_RANK) if len(p.K) else np.eye(len(p.force))
    values, vectors = np.linalg.eigh(p.H)
    if values[0] < 1e-12 * values[-1]:  # bodies without mass that only loops hold: the same function, in normal form
        M = allowed.T @ p.H @ allowed
        return particular + allowed @ scipy.linalg.solve(M, allowed.T @ (p.force - p.H @ particular), assume_a="pos")
    W = np.sqrt(values)[:, None] * vectors.T
    target = vectors.T @ p.force / np.sqrt(values)
    return particular + allowed @ np.linalg.lstsq(W @ allowed, target - W @ particular, rcond=None)[0]


def independent_of(robot: System, accelerations: np.ndarray) -> np.ndarray:
    """Independent accelerations (..., nv) from those of the spanning tree."""
    where = baselines.independent(robot)
    return accelerations[..., where.places] / where.scales
