"""States of a robot and of its Pinocchio twin, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 5


@dataclass(frozen=True)
class States:
    """Our states, and the same as Pinocchio wants them, one per row."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    their_q: np.ndarray
    their_v: np.ndarray
    their_a: np.ndarray
    their_tau: np.ndarray


def states(peer: Any, seed: int = 0, n: int = SAMPLES) -> States:
    """Random states at moderate speed."""
    rng = np.random.default_rng(seed)
    q = peer.robot.random(rng, n)
    v, a, tau = (rng.normal(size=(n, peer.robot.nv)) for _ in range(3))
    return States(q, v, a, tau, peer.q_to_peer(q), *(peer.v_to_peer(x) for x in (v, a, tau)))


def each(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Their function, sample by sample; results are copied, since Pinocchio hands out its scratch space."""
    return np.array([np.array(function(*rows), float) for rows in zip(*arrays, strict=True)])


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, in units of the largest entry of each sample."""
    assert actual.shape == expected.shape
    assert np.all(np.isfinite(actual))
    axes = tuple(range(1, actual.ndim))
    size = np.abs(expected).max(axis=axes)
    return float((np.abs(actual - expected).max(axis=axes) / np.where(size > 0.0, size, 1.0)).max())


def near(actual: np.ndarray, expected: np.ndarray, tol: float = 1e-13) -> None:
    """Equal up to tol times the largest entry of each sample."""
    found = error(actual, expected)
    assert found <= tol, f"off by {found:.3g} of the largest entry, allowed are {tol:.3g}"
