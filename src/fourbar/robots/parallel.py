"""Parallel robots: platforms carried by several legs, and a wrist driven by bevel gears."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from ..constraints import Closure, Differential, Distance
from ..joints import Free, Prismatic, Revolute, Spherical, Universal
from ..system.system import Builder, System
from .robot_data import disc, rod

DELTA = (0.2, 0.25, 0.06, 0.5, 0.05)  # radius of the base, arms, radius of the platform, rods, half the rods' spacing
STEWART = (0.5, 0.3, 0.6)  # radius of the base, of the platform, height at q = 0


def delta() -> System:
    """The Delta: three arms on a frame above, joined to a platform by three pairs of parallel rods; three freedoms.

    The rods have balls at both ends and no mass (half of it is added to the arm, half to the platform): six distances
    between points. The platform is a free body whose six velocities the rods determine; assembled as at q = 0, with the
    arms horizontal and the rods of each pair parallel, it never turns. The independent velocities are the arms'.
    Springs on these bear most of the weight: where all rods are vertical the platform is no longer held.
    """
    base, arm, platform, length, half = DELTA
    height = sqrt(length**2 - (base + arm - platform) ** 2)
    b = Builder("delta")
    for i in range(3):
        turned = (0.0, 0.0, 2.0 * pi * i / 3.0)
        b.body(f"motor{i + 1}", rpy=turned, position=(base * cos(turned[2]), base * sin(turned[2]), 0.0))
        b.body(
            f"arm{i + 1}", parent=f"motor{i + 1}", joint=Revolute("y"), limits=(-0.4, 0.9), stiffness=3.0,
            damping=0.05, **rod(0.3, (arm, 0.0, 0.0), 0.015),
        )  # fmt: skip
    b.body("platform", joint=Free(), position=(0.0, 0.0, -height), limits=_within(0.1), **disc(0.4, 0.08, 0.02))
    for i in range(3):
        out = np.array([cos(2.0 * pi * i / 3.0), sin(2.0 * pi * i / 3.0), 0.0])
        across = np.array([-out[1], out[0], 0.0])
        for letter, side in (("a", half), ("b", -half)):
            x, y, z = (platform * out + side * across).tolist()
            held = Distance(f"arm{i + 1}", "platform", (arm, side, 0.0), (x, y, z), length)
            b.loop(held, name=f"rod{i + 1}{letter}", independent=[f"arm{i + 1}"])
    b.frame("tool", "platform", position=(0.0, 0.0, -0.05))
    return b.build()


def _within(size: float) -> tuple[list[float], list[float]]:
    """Limits of a free joint: a box for the position, none for the quaternion."""
    infinite = [np.inf] * 4
    return [-size] * 3 + [-x for x in infinite], [size] * 3 + infinite


def stewart_platform() -> System:
    """The Stewart (Gough) platform: six legs, each a universal joint, a slide and a ball; six degrees of freedom.

    The independent velocities are those of the slides, the actuators of the machine. The platform is a free body: its
    pose is among the coordinates, so that it is known without solving the forward kinematics.
    """
    base, platform, height = STEWART
    b = Builder("stewart_platform")
    below, above = _corners(base, 0.2), _corners(platform, pi / 3.0 - 0.25)
    tops = above + np.array([0.0, 0.0, height])
    for i, (foot, top) in enumerate(zip(below, tops, strict=True), 1):
        length = float(np.linalg.norm(top - foot))
        b.body(
            f"cylinder{i}", joint=Universal("x", "y"), joint_name=f"cardan{i}", position=foot,
            rotation=_along((top - foot) / length), limits=(-0.4, 0.4), **rod(1.2, (0.0, 0.0, 0.4), 0.03),
        )  # fmt: skip
        b.body(
            f"piston{i}", parent=f"cylinder{i}", joint=Prismatic("z"), joint_name=f"slide{i}",
            position=(0.0, 0.0, length), limits=(-0.1, 0.1), **rod(0.6, (0.0, 0.0, -0.35), 0.015),
        )  # fmt: skip
    b.body("platform", joint=Free(), position=(0.0, 0.0, height), limits=_within(0.1), **disc(6.0, platform, 0.03))
    for i, point in enumerate(above, 1):
        ball = Closure(Spherical(), f"piston{i}", "platform", at_successor=point)
        b.loop(ball, name=f"ball{i}", independent=[f"slide{i}"])
    b.frame("top", "platform", position=(0.0, 0.0, 0.015))
    return b.build()


def _corners(radius: float, half: float) -> np.ndarray:
    """Six points (6, 3) on a circle, in pairs about three directions, each `half` from its direction."""
    angles = [2.0 * pi * k / 3.0 + side * half for k in range(3) for side in (-1.0, 1.0)]
    return np.array([[radius * cos(a), radius * sin(a), 0.0] for a in angles])


def _along(axis: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is the given one, with x horizontal."""
    x = np.cross([0.0, 0.0, 1.0], axis)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def differential_wrist() -> System:
    """A yoke (pitch) carries the hand (roll); two bevel gears on the pitch axis mesh with one on the hand.

    Half the sum of the gears' speeds is the pitch, half their difference the roll. All four bodies are one cluster with
    constant G; the independent velocities are pitch and roll. With `with_independent("left_gear", "right_gear")` the
    same robot has the gears' velocities instead, and forces that are the motors' torques.
    """
    b = Builder("differential_wrist")
    b.body(
        "yoke", joint=Revolute("y"), joint_name="pitch", mass=0.25, com=(0.02, 0.0, 0.0), inertia=(2e-4, 1.5e-4, 2e-4)
    )
    for side, y in (("left", 0.03), ("right", -0.03)):
        b.body(f"{side}_gear", joint=Revolute("y"), position=(0.0, y, 0.0), mass=0.06, inertia=(6e-6, 1.1e-5, 6e-6))
    b.body(
        "hand", parent="yoke", joint=Revolute("x"), joint_name="roll", position=(0.03, 0.0, 0.0), mass=0.4,
        com=(0.06, 0.0, 0.005), inertia=(3e-4, 6e-4, 5e-4),
    )  # fmt: skip
    gears = Differential(["pitch", "roll"], ["left_gear", "right_gear"], [[1.0, 1.0], [1.0, -1.0]])
    b.loop(gears, name="bevels", independent=["pitch", "roll"])
    b.frame("palm", "hand", position=(0.1, 0.0, 0.0))
    return b.build()
