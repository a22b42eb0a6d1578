"""The look of pages and pictures: sky, sun, floor. Colours are those of files and screens, from 0 to 1.

The camera fits a box that is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FIELD = 0.75  # angle of view, in rad
_FLAT = 0.2  # thickness of a box, of its diagonal, below which it is looked at across
_WIDE = 3.0  # sizes of the robot, beyond which a motion is wide
FILLED = 0.84  # part of the picture that a box fills, across or upwards


def direction(bounds: np.ndarray, robot: np.ndarray) -> tuple[float, float]:
    """The angles at which a box (2, 3) of a motion is looked at: about z from the x axis, and upwards.

    They are those for the box of the robot: from the front right and a little above, for a flat one from its wide side.
    Robots that are spread over the ground, or go far, are seen from higher up.
    """
    edges = robot[1] - robot[0]
    thin, size = int(np.argmin(edges)), float(np.linalg.norm(edges))
    if edges[thin] > _FLAT * size:
        return -0.9, 0.62 if np.linalg.norm(np.diff(bounds[:, :2], axis=0)) > _WIDE * size else 0.42
    return ((-0.35, 0.3), (-np.pi / 2.0 + 0.35, 0.3), (-np.pi / 2.0, 1.15))[thin]


def eye_and_middle(
    bounds: np.ndarray, robot: np.ndarray, size: tuple[int, int] = (1, 1)
) -> tuple[np.ndarray, np.ndarray]:
    """The place of the eye from which a picture of such a size (width, height) shows a box, and its middle.

    robot: the box of the robot, which decides on the direction.
    """
    turn, rise = direction(bounds, robot)
    sight = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    middle = bounds.mean(axis=0)
    corners = np.stack(np.meshgrid(*bounds.T, indexing="ij"), axis=-1).reshape(-1, 3) - middle
    right, up, back = (corners @ stand(sight, np.zeros(3)).T).T
    half = FILLED * float(np.tan(FIELD / 2.0))
    away = np.max(back + np.maximum(np.abs(right) * size[1] / size[0], np.abs(up)) / half)
    return middle + sight * (float(away) or 1.0), middle


def stand(place: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The directions (3, 3) to the right, up and back of a camera at a place that looks at another, z upwards."""
    back = (place - middle) / np.linalg.norm(place - middle)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back])


Shade = tuple[float, float, float]
SKY: Shade = (0.58, 0.71, 0.87)  # at the top of the picture
HORIZON: Shade = (0.92, 0.94, 0.965)  # from its middle downwards, where the floor ends
FLOOR: Shade = (0.71, 0.75, 0.80)
LINE: Shade = (0.55, 0.60, 0.67)  # of the grid on the floor
SUN = (-0.22, -0.68, 1.1)  # the direction from which it shines
AMBIENT, UPWARDS, DIRECT, BESIDE, GLOSS = (
    0.33,
    0.15,
    0.62,
    0.15,
    0.10,
)  # light: everywhere, from the sky, the sun's, ...
SHARP = 40.0  # exponent of the gloss
STRONG = 5  # tiles from one strong line to the next
FINE, BOLD = 0.45, 0.8  # opacity of fine and of strong lines
SHADE = 0.32  # opacity of a shadow where there is no floor
SOFT = 0.012  # width of the edge of a shadow, of the robot's size
RISE = 2.2  # of the sine of an elevation, above which the sky has the colour of its top: 1 / RISE
FADE = 0.35  # of the floor's radius: from where it fades


def tile(size: float) -> float:
    """The edge (m) of the tiles of a floor under a robot of such a size: 1, 2 or 5 times a power of ten."""
    wanted = size / 6.0
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted))


def below(bounds: np.ndarray) -> float:
    """The height (m) of the floor under a box (2, 3) that stands on nothing; a flat box floats a little above it."""
    edges = bounds[1] - bounds[0]
    size = float(np.linalg.norm(edges))
    return float(bounds[0, 2]) - (0.02 * size if edges[2] < 0.1 * size else 0.0)


def numbers() -> dict[str, Any]:
    """All numbers of the look, for a page."""
    return {
        "sky": SKY, "horizon": HORIZON, "floor": FLOOR, "line": LINE, "sun": SUN, "strong": STRONG, "fade": FADE,
        "light": (AMBIENT, UPWARDS, DIRECT, BESIDE), "gloss": (GLOSS, SHARP), "lines": (FINE, BOLD), "shade": SHADE,
        "soft": SOFT,
        "rise": RISE,
    }  # fmt: skip
