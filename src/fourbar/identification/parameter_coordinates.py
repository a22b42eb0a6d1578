"""Coordinates x of the parameters, φ = origin + T x, in which the given robot is near zero and steps have no units.

For bodies see `pseudo`. A joint parameter is divided by its typical size. Massless bodies stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..mechanism.inertial_parameters import block_places
from ..system.system import System
from .base_parameters import mean_length
from .pseudo_inertia import coordinates, frame_map, pseudo_inertia, reference, symmetric

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
    values: np.ndarray  # of all parameters of the given robot
    origin: np.ndarray
    T: np.ndarray
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
