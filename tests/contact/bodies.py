"""Bodies that tests drop, push and roll."""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb
from fourbar.mechanism.geometry import Geometry

G = 9.81
ANGLES, ANGLE = 3, 0.3


def free_body(kind: str, size: Any, mass: float, inertia: Any, gravity: float = G, name: str = "body") -> fb.System:
    """One body that moves freely, with one shape."""
    b = fb.Builder(name, gravity=(0.0, 0.0, -gravity))
    shape = Geometry(kind, size, role="collision")  # type: ignore[arg-type]
    b.body(name, joint=fb.joints.Free(), mass=mass, inertia=inertia, geometry=[shape])
    return b.build()


def box(edges: tuple[float, float, float] = (0.2, 0.2, 0.1), mass: float = 1.0, gravity: float = G) -> fb.System:
    x, y, z = (e * e for e in edges)
    return free_body("box", edges, mass, mass / 12.0 * np.array([y + z, x + z, x + y]), gravity)


def ball(radius: float = 0.1, mass: float = 1.0, gravity: float = G) -> fb.System:
    return free_body("sphere", (radius,), mass, 0.4 * mass * radius**2 * np.ones(3), gravity)


def placed(position: Any, axis: Any = (0.0, 0.0, 1.0), angle: float = 0.0) -> np.ndarray:
    """Coordinates of a free body."""
    half = 0.5 * angle
    return np.array([*position, np.cos(half), *(np.sin(half) * np.asarray(axis, float))])


def slope(angle: float, direction: float = 0.0) -> np.ndarray:
    """The normal of a slope that falls by an angle towards a direction in the plane."""
    return np.array([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), np.cos(angle)])


def on_slope(height: float, angle: float, direction: float = 0.0) -> np.ndarray:
    """A body turned with the slope, at a height above it along the normal."""
    return placed(height * slope(angle, direction), (-np.sin(direction), np.cos(direction), 0.0), angle)


def world_velocity(robot: fb.System, q: np.ndarray, v: np.ndarray, name: str = "body") -> np.ndarray:
    """Angular and linear velocity of a body's origin, in world axes."""
    return robot.velocity(q, v, name)
