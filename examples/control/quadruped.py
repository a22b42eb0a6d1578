"""A quadruped of twelve joints with position servos, for the examples beside it, and the joint angles of a trot."""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb

HIPS = {"FL": (0.2, 0.1), "FR": (0.2, -0.1), "HL": (-0.2, 0.1), "HR": (-0.2, -0.1)}  # m
LENGTH, HEIGHT, FOOT = 0.2, 0.3, 0.02  # m: thigh and shank, hips above the floor, radius of feet
STIFFNESS, DAMPING, TORQUE = 80.0, 2.0, 33.5  # N m/rad, N m s/rad, N m


def quadruped(servos: bool = True) -> fb.Scene:
    """Trunk, and four legs of abduction, hip and knee, on a floor."""
    b = fb.Builder("quadruped")
    b.body("trunk", joint=fb.joints.Free(), mass=8.0, inertia=(0.05, 0.14, 0.17))
    limits: dict[str, Any] = {"armature": 0.01, "max_force": TORQUE}
    for leg, (x, y) in HIPS.items():
        side = np.sign(y)
        b.body(f"{leg}_hip", parent="trunk", position=(x, y, 0), joint=fb.joints.Revolute("x"), mass=0.5,
               inertia=(4e-4,) * 3, **limits)  # fmt: skip
        b.body(f"{leg}_thigh", parent=f"{leg}_hip", position=(0, 0.06 * side, 0), joint=fb.joints.Revolute("y"),
               mass=0.6, com=(0, 0, -0.05), inertia=(2e-3, 2e-3, 4e-4), **limits)  # fmt: skip
        b.body(f"{leg}_shank", parent=f"{leg}_thigh", position=(0, 0, -LENGTH), joint=fb.joints.Revolute("y"),
               mass=0.15, com=(0, 0, -0.1), inertia=(5e-4, 5e-4, 2e-5), **limits)  # fmt: skip
        b.frame(f"{leg}_foot", f"{leg}_shank", position=(0, 0, -LENGTH))
        for part in ("hip", "thigh", "shank") if servos else ():
            joint = f"{leg}_{part}"
            b.position_servo(joint, drives=joint, kp=STIFFNESS, kd=DAMPING, force_range=(-TORQUE, TORQUE))
    feet = [fb.contact.Shape(f"{leg}_foot", "sphere", FOOT) for leg in HIPS]
    return fb.Scene(b.build(), fb.Plane(friction=0.8), contacts=feet, pairs="none", tolerance=1e-7)


def leg_angles(feet: np.ndarray) -> np.ndarray:
    """Joint angles (..., 12) that put feet (..., 4, 2) there, forwards of and below (m) their hips."""
    reach = np.hypot(feet[..., 0], feet[..., 1])
    bend = np.arccos(reach / (2.0 * LENGTH))
    hip = np.arctan2(-feet[..., 0], -feet[..., 1]) + bend
    return np.stack([0.0 * hip, hip, -2.0 * bend], axis=-1).reshape(*feet.shape[:-2], 12)


def standing(scene: fb.Scene) -> np.ndarray:
    """The configuration in which it stands."""
    q = scene.robot.neutral()
    q[7:] = leg_angles(np.tile([0.0, -(HEIGHT - FOOT)], (4, 1)))
    return scene.start(q)


def trot(t: np.ndarray, speed: float, period: float = 0.4, lift: float = 0.05) -> np.ndarray:
    """Joint angles (..., 12) at times (...): feet on diagonals in turn."""
    phase = (np.asarray(t)[..., None] / period + np.array([0.0, 0.5, 0.5, 0.0])) % 1.0
    swings = phase < 0.5
    along = np.where(swings, np.sin(np.pi * (2.0 * phase - 0.5)) * 0.5, 1.5 - 2.0 * phase)
    up = np.where(swings, lift * np.sin(2.0 * np.pi * phase) ** 2, 0.0)
    return leg_angles(np.stack([along * speed * period / 2.0, up - (HEIGHT - FOOT)], axis=-1))
