"""Coordinates x of the parameters, φ = origin + T x, in which the given robot is near zero and steps have no units.

A joint parameter is divided by its typical size. Massless bodies stay as they are. The ten parameters of another body
make up its 4 x 4 pseudo-inertia P = [[Σ, h], [hᵀ, m]]. A body with these parameters can exist iff P is positive
definite. Around a reference P₀ = C Cᵀ of every body the coordinates of all that follows are x, with P = C (1 + X) Cᵀ
and x the entries of the symmetric X: |x|² is the squared distance in the metric tr(P₀⁻¹ dP P₀⁻¹ dP), the same in all
frames and units; an x of size one is a change by a hundred percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..mechanism.inertial_parameters import block_places
from ..system.system import System
from .base_parameters import mean_length

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
    """The entries of X (4, 4), the inverse of `symmetric`."""
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


_SIGNED = ("preload",)  # joint parameters that may be negative


class EstimatedBody(NamedTuple):
    """A body that is estimated: its name, and the positions of its ten coordinates."""

    body: str
    at: slice


@dataclass(frozen=True)
class EstimatedCoordinates:
    """`estimated` holds the numbers (m) of the parameters that x (m) represents, `known` those of armature blocks,
    which are taken from the robot; all others are of massless bodies.
    """

    names: tuple[str, ...]
    estimated: np.ndarray
    values: np.ndarray  # (p,), of all parameters of the given robot
    origin: np.ndarray  # (m,)
    T: np.ndarray  # (m, m)
    bodies: tuple[EstimatedBody, ...]
    positive: np.ndarray  # coordinates of joint parameters that must be non-negative
    known: frozenset[int] = frozenset()

    @property
    def prior(self) -> np.ndarray:
        """x of the given robot."""
        return np.linalg.solve(self.T, self.values[self.estimated] - self.origin)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """φ (p) of all parameters."""
        phi = self.values.copy()
        phi[self.estimated] = self.origin + self.T @ x
        return phi

    def shapes(self, x: np.ndarray) -> np.ndarray:
        """1 + X (bodies, 4, 4) of every estimated body: positive definite iff its parameters are physically
        consistent.
        """
        if not self.bodies:
            return np.zeros((0, 4, 4))
        return np.eye(4) + symmetric(np.stack([x[place.at] for place in self.bodies]))

    def joint_values(self, x: np.ndarray) -> np.ndarray:
        """The joint parameters that must be non-negative, relative to their sizes."""
        return self._joint_origin + x[self.positive]

    @property
    def _joint_origin(self) -> np.ndarray:
        return self.origin[self.positive] / np.diag(self.T)[self.positive]

    def is_consistent(self, x: np.ndarray, margin: float = 0.0) -> bool:
        """Whether these parameters are physically consistent, and no friction is negative."""
        least = np.linalg.eigvalsh(self.shapes(x)).min(initial=np.inf)
        return bool(least > margin and self.joint_values(x).min(initial=np.inf) >= 0.0)

    def inconsistent(self, x: np.ndarray) -> list[str]:
        """Names of the bodies and joint parameters that are physically inconsistent."""
        least = np.linalg.eigvalsh(self.shapes(x)).min(axis=-1, initial=np.inf)
        wrong = [place.body for place, value in zip(self.bodies, least, strict=True) if value <= 0.0]
        named = [self.names[self.estimated[j]] for j in self.positive[self.joint_values(x) < 0.0]]
        return wrong + named


def make_coordinates(robot: System, columns: tuple[str, ...], sizes: np.ndarray) -> EstimatedCoordinates:
    """Coordinates around a robot; `sizes` (p) scale the joint parameters that are zero in the robot."""
    names, values = robot.parameter_names(columns), robot.inertial_parameters(columns)
    bodies = robot.mechanism.bodies if "inertia" in columns else ()
    heavy = [b for b, body in enumerate(bodies) if body.mass > 0.0]
    coupled = block_places(robot.mechanism, columns)  # taken from the robot: their signs are not those of inertias
    joints = np.setdiff1d(np.arange(10 * len(bodies), len(names)), coupled)
    estimated = np.concatenate([*(np.arange(10 * b, 10 * b + 10) for b in heavy), joints]).astype(int)
    origin, T = values[estimated].copy(), np.zeros((len(estimated), len(estimated)))
    places = tuple(EstimatedBody(bodies[b].name, slice(10 * n, 10 * n + 10)) for n, b in enumerate(heavy))
    for place in places:
        C = reference(origin[place.at], mean_length(robot))
        T[place.at, place.at] = frame_map(C)
        X = np.linalg.solve(C, np.linalg.solve(C, pseudo_inertia(origin[place.at])).T) - np.eye(4)
        origin[place.at] -= T[place.at, place.at] @ coordinates(X)
    for at in range(10 * len(heavy), len(estimated)):
        T[at, at] = values[estimated[at]] or sizes[estimated[at]] or 1.0
    signed = [names[j].rsplit(".", 1)[1] in _SIGNED for j in joints]
    positive = 10 * len(heavy) + np.flatnonzero(~np.array(signed, bool))
    return EstimatedCoordinates(names, estimated, values, origin, T, places, positive, frozenset(map(int, coupled)))
