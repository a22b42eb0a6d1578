"""Constant poses while a file is read: rotation matrices and positions, and how SDF writes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..element import Element


class Pose(NamedTuple):
    """R and p of a frame in another."""

    R: np.ndarray
    p: np.ndarray

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame placed by `inner` in this one."""
        return Pose(self.R @ inner.R, self.R @ inner.p + self.p)

    def inverse(self) -> Pose:
        """The outer frame in this one."""
        return Pose(self.R.T, -self.R.T @ self.p)


IDENTITY = Pose(np.eye(3), np.zeros(3))


def _turn(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def _from_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def read_pose(element: Element | None) -> Pose:
    """The pose in a <pose> element: x y z roll pitch yaw, with degrees="true", or with a quaternion; else none."""
    if element is None:
        return IDENTITY
    if element.get("frame"):
        element.fail("the attribute frame exists only in SDF up to 1.6", "write relative_to")
    text, form = element.words(), element.get("rotation_format") or "euler_rpy"
    degrees = element.flag("degrees", False)
    if not text:
        return IDENTITY
    if form == "quat_xyzw":
        x, y, z, *q = element.text_numbers(7)
        length = float(np.linalg.norm(q))
        if degrees or abs(length - 1.0) > 1e-6:
            element.fail(f"the quaternion (x, y, z, w) = {q} has length {length:.9g}, expected 1")
        return Pose(_from_quaternion(*(np.array(q) / length)), np.array([x, y, z]))
    if form != "euler_rpy":
        element.fail(f"rotation_format={form[:60]!r}: expected euler_rpy or quat_xyzw")
    x, y, z, *rpy = element.text_numbers(6)
    roll, pitch, yaw = np.deg2rad(rpy) if degrees else rpy
    return Pose(_turn(2, yaw) @ _turn(1, pitch) @ _turn(0, roll), np.array([x, y, z]))
