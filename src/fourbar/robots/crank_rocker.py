"""A four-bar linkage that swings in gravity, with its closed-form equation of motion beside it."""

from __future__ import annotations

import numpy as np

from ..constraints import Closure
from ..joints import Revolute
from ..system.system import Builder, System
from .simple_inertias import rod

LENGTHS = (0.5, 0.2, 0.45, 0.35)  # ground, crank, coupler, rocker
MASSES = (0.4, 0.9, 0.7)  # crank, coupler, rocker


def crank_rocker() -> System:
    """A four-bar of uniform slender rods in the x-y plane, gravity along -y; the independent velocity is the crank's.

    The crank, the shortest of the four links, can turn all the way round while the rocker swings (shortest and longest
    link together are shorter than the other two). So it never reaches a toggle position.
    """
    (ground, crank, coupler, rocker), (m1, m2, m3) = LENGTHS, MASSES
    b = Builder("crank_rocker", gravity=(0.0, -9.81, 0.0))
    b.body("crank", joint=Revolute("z"), **rod(m1, (crank, 0.0, 0.0)))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(crank, 0.0, 0.0), **rod(m2, (coupler, 0.0, 0.0)))
    b.body("rocker", joint=Revolute("z"), position=(ground, 0.0, 0.0), **rod(m3, (rocker, 0.0, 0.0)))
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(coupler, 0, 0), at_successor=(rocker, 0, 0))
    b.loop(pin, name="pin", independent=["crank"])
    b.frame("pen", "coupler", position=(0.5 * coupler, 0.4 * coupler, 0.0))
    return System(b.mechanism())  # drawn in line, of which `build` would warn


def closed_form(q: np.ndarray, v: np.ndarray, gravity: float = 9.81) -> np.ndarray:
    """Accelerations (..., 1) of the free crank-rocker, from Lagrange's equation in the crank's angle x.

    ½ M(x) ẋ² + V(x) is constant, so M ẍ = -½ M' ẋ² - V'. A prime is a derivative with respect to x; those of the angles
    y of the coupler and z of the rocker, against the ground, come from a eⁱˣ + b eⁱʸ = d + c eⁱᶻ differentiated twice.
    """
    (_, a, b, c), (m1, m2, m3) = LENGTHS, MASSES
    x, y, z = q[..., 0], q[..., 0] + q[..., 1], q[..., 2]
    apart = np.sin(y - z)
    y1, z1 = -a * np.sin(x - z) / (b * apart), -a * np.sin(x - y) / (c * apart)
    y2 = (c * z1**2 - a * np.cos(x - z) - b * y1**2 * np.cos(y - z)) / (b * apart)
    z2 = (c * z1**2 * np.cos(y - z) - a * np.cos(x - y) - b * y1**2) / (c * apart)
    M = m1 * a**2 / 3 + m2 * (a**2 + a * b * y1 * np.cos(x - y) + b**2 * y1**2 / 3) + m3 * c**2 * z1**2 / 3
    turning = y2 * np.cos(x - y) - y1 * (1 - y1) * np.sin(x - y)
    half_M1 = m2 * (a * b * turning / 2 + b**2 * y1 * y2 / 3) + m3 * c**2 * z1 * z2 / 3
    heights = (m1 / 2 + m2) * a * np.cos(x) + m2 * b / 2 * y1 * np.cos(y) + m3 * c / 2 * z1 * np.cos(z)
    return (-(half_M1 * v[..., 0] ** 2 + gravity * heights) / M)[..., None]
