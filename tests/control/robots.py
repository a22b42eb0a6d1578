"""Small robots and problems for tests of control."""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb


def cart_pole() -> fb.System:
    b = fb.Builder("cartpole")
    b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0)
    b.body("pole", parent="cart", joint=fb.joints.Revolute("y"), mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    return b.build()


def flyer() -> fb.System:
    """A floating base with a servo on a damped arm."""
    rod: dict[str, Any] = {"mass": 1.0, "com": (0, 0.1, -0.5), "inertia": (0.1, 0.2, 0.1)}
    b = fb.Builder("flyer")
    b.body("base", joint=fb.joints.Free(), **rod)
    b.body("arm", parent="base", position=(0, 0, -1), joint=fb.joints.Revolute("x"), damping=0.3, **rod)
    b.position_servo("servo", drives="arm", kp=10.0, kd=1.0)
    return b.build()


def reach(arm: fb.System, **options: Any) -> fb.control.Problem:
    """A double pendulum that goes to a place."""
    return fb.control.Problem(
        arm, cost=lambda x, u: {"effort": 0.3 * u, "speed": 0.3 * x.v},
        end=lambda x, goal: {"there": 10.0 * (x.pose("tip")[:3, 3] - goal), "still": x.v},
        dt=0.05, steps=12, numbers={"goal": [0.5, 0.0, -0.5]}, **options,
    )  # fmt: skip


def scattered(robot: fb.System, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A state near the neutral one."""
    q = robot.integrate(robot.neutral(), 0.2 * rng.normal(size=robot.nv), 1.0)
    return q, rng.normal(size=robot.nv)


def columns(robot: fb.System, q: np.ndarray, v: np.ndarray, u: np.ndarray, f: Any, h: float = 1e-5) -> np.ndarray:
    """Central differences of f(q, v, u) -> (...) along all tangents, (..., 2 nv + nu)."""
    n = robot.nv
    found = []
    for k in range(2 * n + len(u)):
        e = np.zeros(2 * n + len(u))
        e[k] = h
        ends = [f(robot.integrate(q, s * e[:n], 1.0), v + s * e[n : 2 * n], u + s * e[2 * n :]) for s in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * h))
    return np.stack(found, axis=-1)
