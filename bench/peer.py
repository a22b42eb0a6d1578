"""Pinocchio as a peer: its robots as ours, its states as ours. For benchmarks and tests only.

Pinocchio orders spatial vectors [linear; angular] and quaternions (x, y, z, w), and stores a continuous joint as
(cos, sin); here a robot is rebuilt from its numbers, and `Peer` converts states both ways.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import fourbar as fb
from fourbar import joints

_AXES = {"X": "x", "Y": "y", "Z": "z"}
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", False, "finger"),
    "anymal_b": ("anymal_b_simple_description/robots/anymal.urdf", True, None),
    "talos_reduced": ("talos_data/robots/talos_reduced.urdf", True, None),
}


def robot_folder() -> Path:
    """Where example-robot-data keeps its robots."""
    import cmeel

    root = Path(cmeel.__file__).resolve().parent.parent
    return root / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def load_urdf(path: str, floating: bool, lock: str | None = None) -> Any:
    """A Pinocchio model of a file below `robot_folder`; joints whose name contains `lock` are locked."""
    file = str(robot_folder() / path)
    model = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(file)
    locked = [i for i in range(1, model.njoints) if lock and lock in model.names[i]]
    return pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def _joint(model: Any, i: int) -> Any:
    kind = model.joints[i].shortname().removeprefix("JointModel")
    if kind == "FreeFlyer":
        return joints.Free()
    if kind in ("Spherical", "Translation", "Planar"):
        return {"Spherical": joints.Spherical, "Translation": joints.Translation3, "Planar": joints.Planar}[kind]()
    if kind in ("RevoluteUnaligned", "RevoluteUnboundedUnalignedTpl", "RevoluteUnboundedUnaligned"):
        return joints.Revolute(model.joints[i].extract().axis)
    if kind == "PrismaticUnaligned":
        return joints.Prismatic(model.joints[i].extract().axis)
    if kind[-1] in _AXES and kind[:-1] in ("R", "RUB"):
        return joints.Revolute(_AXES[kind[-1]])
    if kind[-1] in _AXES and kind[:-1] == "P":
        return joints.Prismatic(_AXES[kind[-1]])
    raise ValueError(f"joint {model.names[i]!r} is a {kind}, which this peer does not translate")


def to_robot(model: Any, name: str = "robot") -> fb.System:
    """The same robot, from the numbers of a Pinocchio model."""
    b = fb.Builder(name, gravity=model.gravity.linear)
    for i in range(1, model.njoints):
        parent, placement, inertia = model.parents[i], model.jointPlacements[i], model.inertias[i]
        first, count = model.joints[i].idx_v, model.joints[i].nv
        b.body(
            model.names[i],
            parent="world" if parent == 0 else model.names[parent],
            joint=_joint(model, i),
            position=placement.translation,
            rotation=placement.rotation,
            mass=inertia.mass,
            com=inertia.lever,
            inertia=inertia.inertia,
            armature=model.armature[first : first + count],
            allow_unphysical=True,
        )
    return b.build()


class Peer:
    """A Pinocchio model beside ours, with the conversions of states."""

    def __init__(self, model: Any, name: str = "robot") -> None:
        self.model = model
        self.data = model.createData()
        self.robot = to_robot(model, name)
        self.v_order = np.arange(model.nv)
        for joint in model.joints.tolist()[1:] if hasattr(model.joints, "tolist") else list(model.joints)[1:]:
            if joint.nv == 6:
                self.v_order[joint.idx_v : joint.idx_v + 6] = joint.idx_v + np.array([3, 4, 5, 0, 1, 2])

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        """Our configurations (..., nq) as Pinocchio's."""
        parts, at = [], 0
        for joint in list(self.model.joints)[1:]:
            kind = joint.shortname()
            n = joint.nq - (1 if "RUB" in kind or "Unbounded" in kind else 0)
            own = q[..., at : at + n]
            at += n
            if joint.nq == 7:
                own = own[..., [0, 1, 2, 4, 5, 6, 3]]
            elif kind == "JointModelSpherical":
                own = own[..., [1, 2, 3, 0]]
            elif n != joint.nq:
                own = np.concatenate([np.cos(own), np.sin(own)], axis=-1)
            elif kind == "JointModelPlanar":
                own = np.concatenate([own[..., :2], np.cos(own[..., 2:]), np.sin(own[..., 2:])], axis=-1)
            parts.append(own)
        return np.concatenate(parts, axis=-1)

    def v_to_peer(self, v: np.ndarray) -> np.ndarray:
        """Our velocities, accelerations or joint forces (..., nv) as Pinocchio's; its own inverse."""
        return v[..., self.v_order]

    def matrix_from_peer(self, m: np.ndarray) -> np.ndarray:
        """A matrix on velocities (nv, nv) in our order."""
        return m[np.ix_(self.v_order, self.v_order)]


def load(name: str) -> Peer:
    """One of the benchmark robots."""
    return Peer(load_urdf(*ROBOTS[name]), name)


def chain(n: int, seed: int = 0) -> Peer:
    """A chain of n revolute joints with random axes, places and inertias."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    parent = 0
    for i in range(n):
        kind = [pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ][i % 3]()
        place = pin.SE3(np.eye(3), np.array([0.05, 0.0, 0.1]) + 0.05 * rng.random(3))
        parent = model.addJoint(parent, kind, place, f"joint{i}")
        model.appendBodyToJoint(parent, pin.Inertia(1.0, 0.05 * rng.random(3), np.diag([0.01, 0.012, 0.013])), pin.SE3.Identity())
    return Peer(model, f"chain{n}")
