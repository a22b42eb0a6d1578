"""A URDF file read by us and by Pinocchio, and the states of the two."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import fourbar as fb
from fourbar.bridges.pinocchio import Peer

WAIVED = ("inertia*", "massless*", "mimic*", "limit*")


def load_ours(path: Path, floating: bool) -> fb.System:
    """Our robot; what is wrong with its numbers is accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.FileWarning)
        return fb.load(path, floating=floating, waive=WAIVED)


class Twins:
    """A file in both libraries. `tree` is our robot without its mimics, in the order of the file."""

    def __init__(self, path: Path, floating: bool) -> None:
        self.robot = load_ours(path, floating)
        self.tree = self.robot.spanning() if self.robot.mechanism.loops else self.robot
        roots = [pin.JointModelFreeFlyer()] if floating else []
        self.peer = Peer(pin.buildModelFromUrdf(str(path), *roots))
        theirs = self.peer.robot.names
        self.v_order = [self.tree.names.velocities.index(name) for name in theirs.velocities]
        self.q_order = [self.tree.names.coordinates.index(name) for name in theirs.coordinates]
        self.v_back = np.argsort(self.v_order)

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        """Our configurations as Pinocchio's."""
        return self.peer.q_to_peer(q[..., self.q_order])

    def v_to_peer(self, v: np.ndarray) -> np.ndarray:
        """Our velocities as Pinocchio's."""
        return self.peer.v_to_peer(v[..., self.v_order])

    def v_from_peer(self, v: np.ndarray) -> np.ndarray:
        """Pinocchio's velocities as ours."""
        return self.peer.v_from_peer(v)[..., self.v_back]

    def matrix_from_peer(self, m: Any) -> np.ndarray:
        """Pinocchio's matrices as ours."""
        return self.peer.matrix_from_peer(m)[..., self.v_back[:, None], self.v_back]
