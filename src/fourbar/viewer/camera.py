"""From where a robot is looked at."""

from __future__ import annotations

import numpy as np

FIELD = 0.75  # angle of view, in rad
_FLAT = 0.2  # thickness of a box, of its diagonal, below which it is looked at across
AWAY = 1.45  # distance, of the diagonal


def direction(bounds: np.ndarray) -> tuple[float, float]:
    """The angles at which a box (2, 3) is looked at: about z from the x axis, and upwards.

    From the front right and a little above; what is flat from its wide side.
    """
    edges = bounds[1] - bounds[0]
    thin = int(np.argmin(edges))
    if edges[thin] > _FLAT * float(np.linalg.norm(edges)):
        return -0.9, 0.42
    return ((-0.35, 0.3), (-np.pi / 2.0 + 0.35, 0.3), (-np.pi / 2.0, 1.15))[thin]


def looked_from(bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of the eye, and what it looks at."""
    turn, rise = direction(bounds)
    way = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    middle = bounds.mean(axis=0)
    return middle + way * (AWAY * float(np.linalg.norm(bounds[1] - bounds[0]))), middle
