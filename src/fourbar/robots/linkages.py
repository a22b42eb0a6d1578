"""Planar linkages: four-, five- and six-bars, a slider-crank, a leg. Hinges about z, closed by one more hinge.

The crank-rocker swings in gravity, with its closed-form equation of motion beside it.
"""

from __future__ import annotations

from math import acos, cos, pi

import numpy as np

from ..constraints import Closure
from ..joints import Prismatic, Revolute
from ..system.system import Builder, System
from .robot_data import build_facts, read_facts, rod

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


DOWN = (0.0, -9.81, 0.0)  # the plane is x-y, and y points up
PARALLELOGRAM = (1.0, 0.5, 1.0)  # ground, cranks, coupler
FIVE_BAR = (0.3, 0.25, 0.35)  # between the motors, cranks, forearms
SLIDER_CRANK = (0.05, 0.15)  # crank, rod


def _hinge(first: str, x_first: float, second: str, x_second: float) -> Closure:
    """A hinge about z between points on the x axes of two bodies."""
    return Closure(Revolute("z"), first, second, at_predecessor=(x_first, 0.0, 0.0), at_successor=(x_second, 0.0, 0.0))


def four_bar() -> System:
    """A four-bar of three equal links as in Chignoli's examples: the smallest robot with a loop. Gravity is along z."""
    return build_facts(read_facts("four_bar"))


def six_bar() -> System:
    """Five moving links in one loop, three degrees of freedom, as in Chignoli's examples. Gravity is along z."""
    return build_facts(read_facts("six_bar"))


def planar_leg_linkage() -> System:
    """A thigh that carries a four-bar as shank, as in Chignoli's examples: a loop in the middle of a chain."""
    return build_facts(read_facts("planar_leg_linkage"))


def parallelogram() -> System:
    """Two equal cranks joined by a coupler as long as the ground: slender rods of 1 kg, gravity along -y.

    It has a closed form: both cranks turn alike and the coupler does not turn. At q = 0 all is in line, a toggle
    position in which it may also become an anti-parallelogram. The independent velocity is that of the first crank.
    """
    ground, crank, coupler = PARALLELOGRAM
    b = Builder("parallelogram", gravity=DOWN)
    b.body("crank", joint=Revolute("z"), **rod(1.0, (crank, 0.0, 0.0)))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(crank, 0.0, 0.0), **rod(1.0, (coupler, 0.0, 0.0)))
    b.body("follower", joint=Revolute("z"), position=(ground, 0.0, 0.0), **rod(1.0, (crank, 0.0, 0.0)))
    b.loop(_hinge("coupler", coupler, "follower", crank), name="closing", independent=["crank"])
    b.frame("middle", "coupler", position=(coupler / 2.0, 0.0, 0.0))
    return System(b.mechanism())  # drawn in line, of which `build` would warn


def five_bar() -> System:
    """Two motors on the ground move one point in the plane: the parallel SCARA, two degrees of freedom.

    At q = 0 it stands upright and symmetric, elbows outside. The independent velocities are the motors'; the frame
    "tip" is where the forearms meet.
    """
    ground, crank, forearm = FIVE_BAR
    leaning = 0.6 * pi  # direction of the left crank; the right one mirrors it
    elbow = crank * cos(leaning) - ground / 2.0
    b = Builder("five_bar", gravity=DOWN)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        turned = leaning if sign > 0 else pi - leaning
        inner = acos(-elbow / forearm) if sign > 0 else pi - acos(-elbow / forearm)
        start = (-sign * ground / 2.0, 0.0, 0.0)
        b.body(
            f"{side}_crank", joint=Revolute("z"), position=start, rpy=(0.0, 0.0, turned), **rod(0.4, (crank, 0.0, 0.0))
        )
        b.body(
            f"{side}_forearm", parent=f"{side}_crank", joint=Revolute("z"), position=(crank, 0.0, 0.0),
            rpy=(0.0, 0.0, inner - turned), limits=(-1.2, 1.2), **rod(0.3, (forearm, 0.0, 0.0)),
        )  # fmt: skip
    cranks = ["left_crank", "right_crank"]
    b.loop(_hinge("left_forearm", forearm, "right_forearm", forearm), name="closing", independent=cranks)
    b.frame("tip", "left_forearm", position=(forearm, 0.0, 0.0))
    return b.build()


def slider_crank() -> System:
    """Crank, connecting rod and piston: rotation to translation, a loop with two types of joints.

    At crank angle θ the piston has moved by r cos θ + √(l² - r² sin² θ) - (r + l). It reverses where crank and rod are
    in line, so that the crank's velocity is the independent one.
    """
    crank, length = SLIDER_CRANK
    b = Builder("slider_crank", gravity=DOWN)
    b.body("crank", joint=Revolute("z"), **rod(0.6, (crank, 0.0, 0.0), 0.01))
    b.body(
        "rod", parent="crank", joint=Revolute("z"), position=(crank, 0.0, 0.0), **rod(0.4, (length, 0.0, 0.0), 0.008)
    )
    b.body(
        "piston", joint=Prismatic("x"), position=(crank + length, 0.0, 0.0), limits=(-2.0 * crank, 0.0), mass=0.5,
        inertia=(2e-4, 3e-4, 3e-4),
    )  # fmt: skip
    b.loop(_hinge("rod", length, "piston", 0.0), name="pin", independent=["crank"])
    return b.build()
