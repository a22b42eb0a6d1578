"""Mass, centre and inertia of simple shapes, as arguments of `Builder.body`."""

from __future__ import annotations

from typing import Any

import numpy as np


def rod(mass: float, end: Any, radius: float = 0.0) -> dict[str, Any]:
    """A uniform cylinder from the origin of its body to `end`; without a radius a slender rod."""
    d = np.asarray(end, float)
    axis = d / np.sqrt(d @ d)
    along = np.outer(axis, axis)
    inertia = mass * ((d @ d / 12.0 + radius**2 / 4.0) * (np.eye(3) - along) + radius**2 / 2.0 * along)
    return {"mass": mass, "com": d / 2.0, "inertia": inertia}


def disc(mass: float, radius: float, thickness: float) -> dict[str, Any]:
    """A uniform disc about the z axis, with its centre at the origin."""
    across = mass * (radius**2 / 4.0 + thickness**2 / 12.0)
    return {"mass": mass, "inertia": (across, across, mass * radius**2 / 2.0)}
