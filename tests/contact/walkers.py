"""Small robots with servos and feet, for tests of scenes."""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb
from fourbar.contact import Shape


def hopper(**law: Any) -> tuple[fb.System, fb.Scene]:
    """A base on a vertical rail, a leg of two links with damping, dry friction, a limit, servos, and a foot."""
    b = fb.Builder("hopper")
    b.body("base", joint=fb.joints.Prismatic("z"), mass=3.0)
    b.frame("imu", "base", position=(0.1, 0.02, 0.05), rpy=(0.1, 0.2, 0.3))
    b.body("thigh", parent="base", joint=fb.joints.Revolute("y"), mass=0.5, com=(0, 0, -0.1), inertia=(2e-3,) * 3,
           damping=0.05)  # fmt: skip
    b.body("shin", parent="thigh", joint=fb.joints.Revolute("y"), position=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1),
           inertia=(1e-3,) * 3, friction=0.02)  # fmt: skip
    for name in ("thigh", "shin"):
        b.position_servo(f"{name}_servo", drives=name, kp=80.0, kd=1.0, force_range=(-30.0, 30.0))
    robot = b.build()
    return robot, standing(robot, **law)


def standing(robot: fb.System, **law: Any) -> fb.Scene:
    """A hopper on the floor."""
    foot = Shape("shin", "sphere", 0.02, position=(0, 0, -0.2))
    return fb.Scene(robot, fb.Plane(friction=0.6), contacts=[foot], **law)


def starts(robot: fb.System, n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """States above the floor, moving down, with a bent knee."""
    rng = np.random.default_rng(seed)
    q = np.array([0.36, 0.6, -1.2]) + 0.01 * rng.normal(size=(n, 3))
    return q, 0.3 * rng.normal(size=(n, 3)) - np.array([0.5, 0.0, 0.0])
