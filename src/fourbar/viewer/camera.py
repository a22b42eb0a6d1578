"""From where a robot is looked at."""

from __future__ import annotations

import numpy as np

FIELD = 0.75  # angle of view, in rad
_FLAT = 0.2  # thickness of a box, of its diagonal, below which it is looked at across
FILLED = 0.84  # part of the picture that a box fills, across or upwards


def direction(bounds: np.ndarray) -> tuple[float, float]:
    """The angles at which a box (2, 3) is looked at: about z from the x axis, and upwards.

    From the front right and a little above; what is flat from its wide side.
    """
    edges = bounds[1] - bounds[0]
    thin = int(np.argmin(edges))
    if edges[thin] > _FLAT * float(np.linalg.norm(edges)):
        return -0.9, 0.42
    return ((-0.35, 0.3), (-np.pi / 2.0 + 0.35, 0.3), (-np.pi / 2.0, 1.15))[thin]


def looked_from(bounds: np.ndarray, size: tuple[int, int] = (1, 1)) -> tuple[np.ndarray, np.ndarray]:
    """The place of the eye from which a picture of such a size (width, height) shows a box, and its middle."""
    turn, rise = direction(bounds)
    way = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    middle = bounds.mean(axis=0)
    corners = np.stack(np.meshgrid(*bounds.T, indexing="ij"), axis=-1).reshape(-1, 3) - middle
    right, up, back = (corners @ stand(way, np.zeros(3)).T).T
    half = FILLED * float(np.tan(FIELD / 2.0))
    away = np.max(back + np.maximum(np.abs(right) * size[1] / size[0], np.abs(up)) / half)
    return middle + way * (float(away) or 1.0), middle


def stand(place: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The directions (3, 3) to the right, up and back of a camera at a place that looks at another, z upwards."""
    back = (place - middle) / np.linalg.norm(place - middle)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back])
