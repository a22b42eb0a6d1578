"""Robots made of what other formats can say, and rotations that are hard to write as angles."""

from __future__ import annotations

from functools import cache

import numpy as np

import fourbar as fb
from fourbar.joints import (
    Composite,
    Cylindrical,
    Free,
    Helical,
    Joint,
    Prismatic,
    Revolute,
    SphericalEuler,
    Translation2,
    Translation3,
    Universal,
)
from fourbar.joints.registry import _ODD, _OTHER, _PLACED
from tests.algorithms.mechanisms import random_mechanism

PLAIN: tuple[Joint, ...] = (
    Revolute("x"), Revolute("-y"), Revolute(_ODD), Prismatic("z"), Prismatic(_ODD), Cylindrical("x"),
    Cylindrical(_OTHER),
    Universal("z", "x"), Universal(_ODD, _OTHER), SphericalEuler("zyx"), Translation2(_ODD), Translation3(),
    Composite(Revolute("x"), Prismatic("x")),
)  # fmt: skip
PLACED: tuple[Joint, ...] = (
    Composite(Revolute(_ODD), _PLACED, Revolute("z")),
    Composite(Prismatic("y"), Composite(_PLACED, Universal("y", "z")), _PLACED),
)


@cache
def tree(seed: int, placed: bool = False, floating: bool = False) -> fb.System:
    """A random tree of such joints."""
    kinds = (*PLAIN, *PLACED) if placed else PLAIN
    for attempt in range(100):
        rng = np.random.default_rng((seed, attempt))
        joints = [kinds[i] for i in rng.choice(len(kinds), 7, replace=False)]
        made = random_mechanism(rng, joints, f"tree{seed}", floating=floating)
        if not any(isinstance(c.joint, Helical) for c in made.mechanism.joints):
            return made
    raise AssertionError


@cache
def arm() -> fb.System:
    """Hinges at odd angles, pitches of exactly and almost a quarter turn, limits, drives, dampers, shapes, a motor."""
    b = fb.Builder("arm")
    parent = "world"
    for i, pitch in enumerate((np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.2, -np.pi / 2 + 3e-8)):
        b.body(
            f"link{i}", parent=parent, joint=Revolute(_ODD if i % 2 else "y"), joint_name=f"j{i}",
            position=(0.1, 0.2, -0.3), rpy=(0.3 * i, pitch, -0.5 * i), mass=1.0 + i, com=(0.1, 0.0, 0.2),
            inertia=(0.1, 0.01, -0.02, 0.12, 0.005, 0.09), damping=0.1 * i, friction=0.2, max_force=30.0,
            max_velocity=4.0, limits=(-1.0 - i, 2.0) if i < 3 else None,
        )  # fmt: skip
        parent = f"link{i}"
    b.frame("tool", parent, position=(0, 0, 0.2), rpy=(0.1, 0.2, 0.3))
    return b.build()


@cache
def floating_arm() -> fb.System:
    """The same on a floating base."""
    base = fb.Builder("base").body("trunk", joint=Free(), mass=5.0, com=(0.1, 0, 0), inertia=(0.3, 0.2, 0.4)).build()
    return base.attach(arm(), "trunk", position=(0, 0, 0.1))


@cache
def geared_arm() -> fb.System:
    """With motors and a mimicking finger."""
    b = fb.Builder("geared")
    b.body("upper", joint=Revolute("y"), joint_name="shoulder", mass=2.0, com=(0.2, 0, 0), inertia=(0.01, 0.05, 0.05))
    b.rotor("rotor", drives="shoulder", ratio=9.0, axis="y", mass=0.2, inertia=(1e-4, 2e-4, 1e-4))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        b.body(
            side, parent="upper", joint=Prismatic("y"), position=(0.4, 0.05 * sign, 0), mass=0.1, inertia=(1e-4,) * 3
        )
    b.loop(fb.loops.Coupling({"left": 1.0, "right": 1.0}, offset=0.01), name="fingers")
    return b.build()
