"""Robots that Pinocchio can load, for comparison: models of example-robot-data, and their timing."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FourbarError, extra, unknown
from ..interop.pinocchio import Peer

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


def peer_calls(peer: Peer, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, dict[str, Callable[[], Any]]]:
    """Pinocchio's evaluations of the same states, by our method's name: {"batch": ..., "one": ...}.

    The batch functions loop in C++, here on one thread; Pinocchio has none for the mass matrix.
    """
    pin = import_module("pinocchio")
    model, data = peer.model, peer.data
    at = peer.q_to_peer(q), peer.v_to_peer(v), peer.v_to_peer(a)
    rows = [np.ascontiguousarray(x[0]) for x in at]
    calls: dict[str, dict[str, Callable[[], Any]]] = {
        "inverse_dynamics": {"one": lambda: pin.rnea(model, data, *rows)},
        "forward_dynamics": {"one": lambda: pin.aba(model, data, *rows)},
        "mass_matrix": {"one": lambda: pin.crba(model, data, rows[0])},
        "inverse_mass_matrix": {"one": lambda: pin.computeMinverse(model, data, rows[0])},
    }
    if hasattr(pin, "rneaInParallel"):
        many = [np.asfortranarray(x.T) for x in at]
        pool, result = pin.ModelPool(model, 1), np.zeros((model.nv, len(q)), order="F")
        calls["inverse_dynamics"]["batch"] = lambda: pin.rneaInParallel(1, pool, *many, result)
        calls["forward_dynamics"]["batch"] = lambda: pin.abaInParallel(1, pool, *many, result)
    return calls
