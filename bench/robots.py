"""The robots of the benchmarks: those that Pinocchio knows too, and chains."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from fourbar.bridges.pinocchio import Peer
from peer_robots import PEERS as ROBOTS
from peer_robots import load_peer, load_urdf, robot_folder

__all__ = ["ROBOTS", "chain", "load", "load_urdf", "robot_folder"]


def load(name: str) -> Peer:
    """One of the benchmark robots, or a chain: "chain64"."""
    return chain(int(name.removeprefix("chain"))) if name.startswith("chain") else load_peer(name)


def chain(n: int, seed: int = 0) -> Peer:
    """A chain of n revolute joints about x, y, z in turn, with random places and inertias."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    parent = 0
    for i in range(n):
        kind = [pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ][i % 3]()
        place = pin.SE3(np.eye(3), np.array([0.05, 0.0, 0.1]) + 0.05 * rng.random(3))
        parent = model.addJoint(parent, kind, place, f"joint{i}")
        inertia = pin.Inertia(1.0, 0.05 * rng.random(3), np.diag([0.01, 0.012, 0.013]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return Peer(model, f"chain{n}")
