"""Robots that Pinocchio can load, for comparison: models of example-robot-data."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fourbar.bridges.pinocchio import Peer
from fourbar.errors import FourbarError, extra, unknown

# File below the robots of example-robot-data, floating base, substrings of the names of joints to lock.
PEERS = {
    "panda": ("panda_description/urdf/panda.urdf", False, "finger"),
    "anymal_b": ("anymal_b_simple_description/robots/anymal.urdf", True, None),
    "talos_reduced": ("talos_data/robots/talos_reduced.urdf", True, None),
}


def robot_folder() -> Path:
    """Where example-robot-data keeps its robots."""
    found = find_spec("cmeel")  # located, not imported: importing fails where `importlib_metadata` was imported before
    if found is None or found.origin is None:
        raise ModuleNotFoundError("cmeel, which carries example-robot-data, is not installed", name="cmeel")
    return Path(found.origin).resolve().parent.parent / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def load_urdf(path: str, floating: bool, lock: str | None = None) -> Any:
    """A Pinocchio model from a file below `robot_folder`; joints whose name contains `lock` are locked."""
    pin, file = import_module("pinocchio"), str(robot_folder() / path)
    model = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(file)
    locked = [i for i in range(1, model.njoints) if lock and lock in model.names[i]]
    return pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def load_peer(name: str) -> Peer:
    """A robot, for both libraries."""
    if name not in PEERS:
        raise unknown("robot to compare with", name, PEERS)
    try:
        folder = robot_folder()
        import_module("pinocchio")
    except ImportError:
        raise FourbarError(f"a comparison needs Pinocchio and its robots: {extra('bench')}") from None
    if not (folder / PEERS[name][0]).is_file():
        raise FourbarError(f"{PEERS[name][0]} was not found below {folder}: {extra('bench')}")
    return Peer(load_urdf(*PEERS[name]), name)
