"""Robots written as SDF and read again, and how the coordinates of the two correspond."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import fourbar as fb
from fourbar.convert import quaternion_from_matrix
from fourbar.io.formats import FORMATS
from fourbar.joints import (
    Composite,
    Cylindrical,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Translation2,
    Translation3,
    Universal,
)  # fmt: skip
from fourbar.joints.registry import _ODD, _OTHER, _PLACED
from fourbar.mechanism.mechanism import PlacedJoint

KEPT = (Revolute, Prismatic, Helical, Spherical, Planar, Universal, Free)
JOINTS: dict[str, Joint] = {
    "revolute": Revolute(_ODD), "prismatic": Prismatic(_ODD), "screw": Helical(_ODD, pitch=0.3), "ball": Spherical(),
    "universal": Universal("z", "x"), "skew universal": Universal(_ODD, _OTHER), "planar": Planar("z"),
    "odd planar": Planar(_ODD), "cylindrical": Cylindrical(_OTHER), "euler": SphericalEuler("zyx"),
    "translation": Translation3(), "flat translation": Translation2(_ODD),
    "placed": Composite(Revolute(_ODD), _PLACED, Revolute("z"), _PLACED),
}  # fmt: skip


def written(robot: fb.System, *waive: str) -> tuple[str, fb.Report]:
    return FORMATS["sdf"].write(robot.mechanism, "robot.sdf", waive)


def again(robot: fb.System, *waive: str) -> fb.System:
    """What the reader makes of the written file; it has nothing to complain about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fb.loads(written(robot, *waive)[0], name="robot.sdf")


def one(joint: Joint, **more: Any) -> fb.System:
    """A joint between two links, turned and away from each other, and a hinge behind it."""
    b = fb.Builder("one")
    matter: dict[str, Any] = {
        "mass": 1.3,
        "com": (0.1, -0.05, 0.2),
        "inertia": (0.03, 0.002, -0.003, 0.04, 0.004, 0.05),
    }
    b.body("first", joint=Revolute("y"), joint_name="h", position=(0, 0, 1), rpy=(0.1, 0.2, 0.3), **matter)
    b.body("second", parent="first", joint=joint, joint_name="j", position=(0.5, 0.1, 0), rpy=(0.3, -0.2, 0.5),
           **matter, **more)  # fmt: skip
    b.body("third", parent="second", joint=Revolute("x"), joint_name="k", position=(0, 0.3, 0.1), **matter)
    b.frame("tool", "third", position=(0, 0, 0.2), rpy=(0.1, 0.2, 0.3))
    return b.build()


def stored(robot: fb.System) -> list[PlacedJoint]:
    """The joints in the order of q."""
    cluster_tree = robot.model.cluster_tree
    return [cluster_tree.moving[i] for group in cluster_tree.clusters for i in group.links]


def parts(robot: fb.System, at: str) -> list[str]:
    """What the joints of a robot are called in the file, once per coordinate ("nq") or velocity ("nv")."""
    found = []
    for c in stored(robot):
        n = getattr(c.joint, at)
        if isinstance(c.joint, KEPT) and not (isinstance(c.joint, Universal) and any(c.armature)):
            found += [c.child if isinstance(c.joint, Free) else c.name] * n
        else:
            found += [f"{c.name}_{i + 1}" for i in range(n)]
    return found


def order(robot: fb.System, other: fb.System, at: str) -> list[int]:
    """Which of the robot's coordinates ("nq") or velocities ("nv") those of what was read from its file are."""
    ours = parts(robot, at)
    theirs = [x for c in stored(other) for x in [c.name] * getattr(c.joint, at)]
    seen: dict[str, int] = {}
    found = []
    for name in theirs:
        places = [i for i, x in enumerate(ours) if x == name]
        found.append(places[seen.get(name, 0)])
        seen[name] = seen.get(name, 0) + 1
    assert sorted(found) == list(range(len(ours)))
    return found


def in_world(robot: fb.System, q: np.ndarray) -> np.ndarray:
    """q with the coordinates of free joints as poses in the world, not at the place of the joint."""
    found, at = q.copy(), 0
    for c in stored(robot):
        if isinstance(c.joint, Free):
            T = robot.pose(q, c.child)
            found[:, at : at + 3], found[:, at + 3 : at + 7] = T[:, :3, 3], quaternion_from_matrix(T[:, :3, :3])
        at += c.joint.nq
    return found


def assert_same(robot: fb.System, other: fb.System) -> None:
    """The same mass matrix, forces and poses, for trees."""
    assert (robot.nq, robot.nv) == (other.nq, other.nv)
    in_q, in_v = order(robot, other, "nq"), order(robot, other, "nv")
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, 4), *rng.normal(size=(2, 4, robot.nv))
    tau, poses = robot.inverse_dynamics(q, v, a), in_world(robot, q)[:, in_q]
    theirs = other.inverse_dynamics(poses, v[:, in_v], a[:, in_v])
    assert np.abs(theirs - tau[:, in_v]).max() <= 1e-12 * max(1.0, np.abs(tau).max())
    M = robot.mass_matrix(q)
    assert np.abs(other.mass_matrix(poses) - M[:, in_v][:, :, in_v]).max() <= 1e-12 * np.abs(M).max()
    for name in (*robot.names.frames, *(b.name for b in robot.mechanism.bodies if "/" not in b.name)):
        assert np.abs(other.pose(poses, name) - robot.pose(q, name)).max() < 1e-12


def named(robot: fb.System, name: str) -> PlacedJoint:
    return next(c for c in robot.mechanism.joints if c.name == name)


def chain(*loops: fb.loops.Loop) -> fb.System:
    b = fb.Builder("chain")
    parent = "world"
    for name in "abcd":
        b.body(name, parent=parent, joint=Revolute("y"), joint_name=f"j{name}", position=(0.3, 0, 0), mass=1,
               com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))  # fmt: skip
        parent = name
    for loop in loops:
        b.loop(loop)
    return b.build()
