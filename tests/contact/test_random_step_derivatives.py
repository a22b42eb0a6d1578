"""Derivatives of steps of six robots beside central differences, in random states near what they touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.joints import Free, Revolute

from .step_differences import differences, largest_error, strict

DT = 2e-3
FEW, MANY = 40, 1700
SETTLING = 2


def tree() -> fb.Scene:
    """A fixed arm that scratches the floor, with dry friction and a limit."""
    b = fb.Builder("arm")
    for k, axis in enumerate("zyyxy"):
        more: dict[str, Any] = {} if k == 0 else {"parent": f"l{k - 1}"}
        more |= {"limits": (-2.0, 1.3)} if k == 1 else {}
        b.body(f"l{k}", joint=Revolute(axis), position=(0, 0, 0.3 if k else 0.4), mass=1.5 - 0.2 * k,
               com=(0.01, 0, 0.15), inertia=(0.012, 0.011, 0.002), friction=0.05 * k, damping=0.02, **more)  # fmt: skip
    ends = [Shape("l4", "capsule", (0.04, 0.2), position=(0, 0, 0.15)), Shape("l2", "sphere", 0.05)]
    return fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=ends, pairs="none")


def floating() -> fb.Scene:
    robot = fb.robots.mini_cheetah()
    feet = [
        Shape(x.name, "sphere", 0.02, position=(0, 0, -0.18)) for x in robot.mechanism.bodies if "knee_link" in x.name
    ]
    return fb.Scene(robot, fb.Plane(friction=0.6), contacts=feet, pairs="none", limits=False)


def cassie() -> fb.Scene:
    b = fb.Builder("cassie")
    b.body("pelvis", joint=Free(), mass=10.3, inertia=(0.09, 0.08, 0.06))
    leg = fb.robots.cassie_leg()
    robot = b.build().attach(leg, "pelvis", position=(0.0, 0.13, 0.0), prefix="left_")
    robot = robot.attach(leg.mirrored("y"), "pelvis", position=(0.0, -0.13, 0.0), prefix="right_")
    feet = [Shape(f"{side}_foot", "sphere", 0.02, (x, 0, -0.02)) for side in ("left", "right") for x in (-0.06, 0.12)]
    return fb.Scene(robot, fb.Plane(friction=0.7), contacts=feet, limits=False, joint_friction=False)


def tello() -> fb.Scene:
    robot = fb.robots.tello()
    names = [x.name for x in robot.mechanism.bodies if "foot" in x.name]
    feet = [Shape(x, "sphere", 0.02, (at, 0, -0.03)) for x in names for at in (-0.05, 0.1)]
    return fb.Scene(robot, fb.Plane(friction=0.7), contacts=feet, pairs="none", limits=False, joint_friction=False)


def hand() -> fb.Scene:
    """Three fingers of two links with servos around a loose ball."""
    b = fb.Builder("hand")
    for k in range(3):
        angle = 2 * np.pi * k / 3
        at = (0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.1)
        b.body(f"low{k}", joint=Revolute((-np.sin(angle), np.cos(angle), 0)), position=at, mass=0.1, com=(0, 0, 0.04),
               inertia=(2e-4, 2e-4, 5e-5), damping=0.01, armature=1e-3)  # fmt: skip
        b.body(f"tip{k}", parent=f"low{k}", joint=Revolute((-np.sin(angle), np.cos(angle), 0)), position=(0, 0, 0.08),
               mass=0.05, com=(0, 0, 0.03), inertia=(5e-5, 5e-5, 2e-5), damping=0.01, armature=1e-3)  # fmt: skip
        b.position_servo(f"bend{k}", drives=f"low{k}", kp=0.5, kd=0.05)
    b.body("ball", joint=Free(), mass=0.2, inertia=(2e-4, 2.2e-4, 2.4e-4))
    tips = [Shape(f"tip{k}", "capsule", (0.015, 0.04), position=(0, 0, 0.03)) for k in range(3)]
    ball = Shape("ball", "sphere", 0.065, torsion=0.005)
    return fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=[*tips, ball], pairs="all", limits=False)


def boxes() -> fb.Scene:
    """Two loose boxes on the floor and on each other."""
    b = fb.Builder("boxes")
    for k in range(2):
        b.body(f"box{k}", joint=Free(), mass=1.0 + k, inertia=(0.004, 0.005, 0.006), com=(0.01 * k, 0, 0))
    shapes = [Shape(f"box{k}", "box", (0.2, 0.15, 0.1)) for k in range(2)]
    return fb.Scene(b.build(), fb.Plane(friction=0.4), contacts=shapes, pairs="all")


ROBOTS: dict[str, Callable[[], fb.Scene]] = {
    "tree": tree, "floating": floating, "cassie": cassie, "tello": tello, "hand": hand, "boxes": boxes,
}  # fmt: skip


def candidates(name: str, robot: fb.System, count: int, rng: np.random.Generator) -> np.ndarray:
    """Configurations of which some touch something."""
    q = np.repeat(robot.neutral()[None], count, 0)
    if name == "tree":
        q = np.array([0.0, 1.1, 0.9, 0.0, 0.4]) + 0.3 * rng.normal(size=(count, 5))
        q[:, 1] = np.minimum(q[:, 1], 1.3)  # its limit
        return q
    if name == "hand":
        q[:, :6] = np.array([-0.35, 0.5] * 3) + 0.15 * rng.normal(size=(count, 6))
        q[:, 6:9] = np.array([0.0, 0.0, 0.17]) + 0.02 * rng.normal(size=(count, 3))
        return q
    if name == "boxes":
        q[:, 2], q[:, 9] = 0.05, 0.149
        tilt = rng.normal(size=(count, 12)) * np.tile([0.1, 0.1, 0.3, 0.03, 0.03, 0.003], 2)
        return robot.integrate(q, tilt, 1.0)
    turn = np.concatenate([0.2 * rng.normal(size=(count, 3)), np.zeros((count, robot.nv - 3))], axis=-1)
    q = robot.integrate(q, turn, 1.0)
    if not robot.mechanism.loops:
        q[:, 7:] += 0.4 * rng.normal(size=(count, robot.nq - 7))
    return q


def states(name: str, scene: fb.Scene, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """States that touch something, or are about to, after a few steps, with forces."""
    robot = scene.robot
    q = candidates(name, robot, 30 * count if name in ("tree", "hand") else count, rng)
    still = np.zeros(robot.nv)
    if name in ("floating", "cassie", "tello"):  # lowered onto the floor
        for _ in range(20):
            q[:, 2] -= 0.9 * (scene.step(q, still, dt=DT).gap.min(axis=-1) + 1e-4)
    else:
        gaps = scene.step(q, still, dt=DT).gap
        q = q[np.argsort(np.abs(gaps + 1e-3).min(axis=-1), kind="stable")[:count]]
    v = 0.5 * rng.normal(size=(count, robot.nv))
    if robot.mechanism.loops:
        v[:, 6:] *= 0.2
    tau = rng.normal(size=v.shape) * (0.05 if name == "hand" else 1.0)
    u = np.array(-0.45) + 0.1 * rng.normal(size=(count, robot.nu)) if name == "hand" else None
    for _ in range(SETTLING):
        after = scene.step(q, v, tau, u=u, dt=DT)
        q, v = after.q, after.v
    return {"q": q, "v": v, "tau": tau, "u": u}


# Where shapes overlap slightly, and joints stand at limits, the law that takes penetrations back has corners not
# among the margins of a step: one state of 1,501 of the floating robot is wrong by 21 %; and fewer states are strict.
PENETRATING = ("tree", "floating", "hand", "boxes")
MISSED = pytest.mark.xfail(reason="corners of the recovery of penetrations are not flagged", strict=False)


@pytest.mark.default_cases("tree-few")
@pytest.mark.parametrize("count", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [pytest.param(x, marks=MISSED) if x in PENETRATING else x for x in ROBOTS])
def test_derivatives_are_those_of_central_differences(name: str, count: int) -> None:
    scene, rng = ROBOTS[name](), np.random.default_rng(0)
    scene.spec = scene.spec._replace(tolerance=1e-13)
    x = states(name, scene, count, rng)
    J = scene.step.jacobian(**x, dt=DT)
    A, B = differences(scene, x["q"], x["v"], DT, x["tau"], x["u"])
    away = strict(J, DT) & (J.step.residual < 1e-11)
    pressed = (J.step.force != 0.0).any(axis=(-2, -1))
    errors = np.maximum(largest_error(J.A, A), largest_error(J.B, B))
    assert (away & pressed).sum() > 0.15 * count
    assert errors[away].max() < 1e-6
