"""The robots of the benchmarks: Pinocchio models from example-robot-data, and chains."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from fourbar.bridges.pinocchio import Peer

# File below the robots of example-robot-data, floating base, part of the names of joints to lock.
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", False, "finger"),
    "anymal_b": ("anymal_b_simple_description/robots/anymal.urdf", True, None),
    "talos_reduced": ("talos_data/robots/talos_reduced.urdf", True, None),
}


def robot_folder() -> Path:
    """Where example-robot-data keeps its robots."""
    found = find_spec("cmeel")  # the package that carries the data; it need not be imported
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the robots come from example-robot-data: pip install example-robot-data")
    packages = Path(found.origin).resolve().parent.parent
    return packages / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def load_urdf(path: str, floating: bool, lock: str | None = None) -> Any:
    """A Pinocchio model of a file below `robot_folder`; joints whose name contains `lock` are locked."""
    file = str(robot_folder() / path)
    model = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(file)
    locked = [i for i in range(1, model.njoints) if lock and lock in model.names[i]]
    return pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def load(name: str) -> Peer:
    """One of the benchmark robots, or a chain: "chain64"."""
    if name.startswith("chain"):
        return chain(int(name.removeprefix("chain")))
    return Peer(load_urdf(*ROBOTS[name]), name)


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
