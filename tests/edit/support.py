"""Robots and states for the tests of editing, and maps between the coordinates of all joints by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from fourbar import System
from fourbar.edit.coordinates import gather, gather_velocity
from tests.algorithms import mechanisms
from tests.loops import looped


def robot(name: str) -> System:
    """One of the fixed mechanisms: with loops by name, trees by number."""
    return mechanisms.mechanism(int(name)) if name.isdigit() else looped.mechanism(name)


def state(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A few states (q, v, a, tau)."""
    s = mechanisms.state(robot(name), n=3) if name.isdigit() else looped.state(name, n=3)
    return s.q, s.v, s.a, s.tau


def by_joint(robot: System, full: np.ndarray, size: str) -> dict[str, np.ndarray]:
    """Coordinates ("nq") or velocities ("nv") of all moving joints, by name."""
    moving = robot.model.cluster_tree.moving
    parts = np.split(full, np.cumsum([getattr(c.joint, size) for c in moving])[:-1], axis=-1) if moving else []
    return {c.name: part for c, part in zip(moving, parts, strict=True)}


def q_of(robot: System, parts: dict[str, Any]) -> np.ndarray:
    """The configuration of a robot from the coordinates of its joints."""
    return gather(
        robot.model.cluster_tree, np.concatenate([parts[c.name] for c in robot.model.cluster_tree.moving], axis=-1)
    )


def v_of(robot: System, parts: dict[str, Any]) -> np.ndarray:
    """The independent velocities (or accelerations) of a robot from those of its joints."""
    full = np.concatenate([parts[c.name] for c in robot.model.cluster_tree.moving], axis=-1)
    return gather_velocity(robot.model.cluster_tree, full)


def close(actual: Any, expected: Any, tol: float = 1e-11) -> None:
    """Equal up to tol times the largest entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    worst = float(np.abs(actual - expected).max(initial=0.0)) / size
    assert worst <= tol, f"off by {worst:.3g}"
