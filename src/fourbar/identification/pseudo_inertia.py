"""The ten parameters of a body as its 4 x 4 pseudo-inertia P = [[Σ, h], [hᵀ, m]], and back.

A body with these parameters can exist iff P is positive definite. Around a reference P₀ = C Cᵀ of every body the
coordinates of all that follows are x, with P = C (1 + X) Cᵀ and x the entries of the symmetric X: |x|² is the squared
distance in the metric tr(P₀⁻¹ dP P₀⁻¹ dP), the same in all frames and units; an x of size one is a change by a hundred
percent.
"""

from __future__ import annotations

import numpy as np

_UPPER = np.triu_indices(3)
_ROWS, _COLUMNS = np.tril_indices(4)
_FLAT = 1e-2  # of a body's extent: no body is taken to be thinner, when it serves as a reference


def pseudo_inertia(ten: np.ndarray) -> np.ndarray:
    """P (..., 4, 4) from (..., 10) parameters m, h, J."""
    ten = np.asarray(ten, float)
    J = np.empty((*ten.shape[:-1], 3, 3))
    J[..., _UPPER[0], _UPPER[1]] = ten[..., 4:]
    J[..., _UPPER[1], _UPPER[0]] = ten[..., 4:]
    P = np.empty((*ten.shape[:-1], 4, 4))
    P[..., :3, :3] = 0.5 * np.trace(J, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J
    P[..., :3, 3] = P[..., 3, :3] = ten[..., 1:4]
    P[..., 3, 3] = ten[..., 0]
    return P


def ten_parameters(P: np.ndarray) -> np.ndarray:
    """(..., 10) parameters m, h, J from P (..., 4, 4)."""
    Sigma = P[..., :3, :3]
    J = np.trace(Sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - Sigma
    return np.concatenate([P[..., 3:, 3], P[..., :3, 3], J[..., _UPPER[0], _UPPER[1]]], axis=-1)


def symmetric(x: np.ndarray) -> np.ndarray:
    """X (..., 4, 4) from its coordinates (..., 10), such that |x| is the Frobenius norm of X."""
    X = np.zeros((*x.shape[:-1], 4, 4))
    scaled = x * np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(0.5))
    X[..., _ROWS, _COLUMNS] = scaled
    X[..., _COLUMNS, _ROWS] = scaled
    return X


def coordinates(X: np.ndarray) -> np.ndarray:
    """The inverse of `symmetric`."""
    return X[..., _ROWS, _COLUMNS] * np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))


def reference(ten: np.ndarray, length: float) -> np.ndarray:
    """C (4 x 4, lower triangular) of a body with mass: P of its parameters, made thick enough to be inverted.

    `length` is the size of the robot, for bodies that are given as points.
    """
    m, h = ten[0], ten[1:4]
    c = h / m
    central = pseudo_inertia(ten)[:3, :3] - m * np.outer(c, c)
    values, axes = np.linalg.eigh(central)
    thick = _FLAT * max(values.sum() / 3.0, _FLAT * m * length**2)
    P = np.empty((4, 4))
    P[:3, :3] = axes @ np.diag(np.maximum(values, thick)) @ axes.T + m * np.outer(c, c)
    P[:3, 3] = P[3, :3] = h
    P[3, 3] = m
    return np.linalg.cholesky(P)


def frame_map(C: np.ndarray) -> np.ndarray:
    """T (10 x 10): the ten parameters of C X Cᵀ are T x."""
    return ten_parameters(C @ symmetric(np.eye(10)) @ C.T).T
