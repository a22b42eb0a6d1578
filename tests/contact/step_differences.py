"""Central differences of steps, to compare their derivatives with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fourbar as fb

STEP_Q, STEP_V, STEP_TAU = 2e-8, 1e-6, 1e-4


def differences(
    scene: fb.Scene, q: np.ndarray, v: np.ndarray, dt: float, tau: np.ndarray, u: np.ndarray | None = None,
    numbers: Any = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """A (n, 2 nv, 2 nv) and B (n, 2 nv, nu or nv) of steps by central differences; q (n, nq), v (n, nv)."""
    robot = scene.robot
    cold = np.zeros(scene.n_impulses)  # also where constraints are not met
    base = scene.step(q, v, tau, dt=dt, u=u, numbers=numbers, impulse=cold)

    def end(q: np.ndarray, v: np.ndarray, tau: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        after = scene.step(q, v, tau, dt=dt, u=u, numbers=numbers, impulse=base.impulse)
        return np.concatenate([robot.difference(base.q, after.q), after.v], axis=-1)

    def columns(width: int, h: float, move: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        return [(move(h * unit) - move(-h * unit)) / (2 * h) for unit in np.eye(width)]

    n = robot.nv
    by_q = columns(n, STEP_Q, lambda d: end(robot.integrate(q, np.broadcast_to(d, v.shape), 1.0), v, tau, u))
    by_v = columns(n, STEP_V, lambda d: end(q, v + d, tau, u))
    if u is None:
        by_u = columns(n, STEP_TAU, lambda d: end(q, v, tau + d, u))
    else:
        by_u = columns(u.shape[-1], STEP_TAU, lambda d: end(q, v, tau, u + d))
    return np.stack(by_q + by_v, axis=-1), np.stack(by_u, axis=-1)


def largest_error(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The largest difference of each sample, relative to the largest entry of all blocks of (q, v) by (q, v)."""
    return np.abs(found - wanted).max(axis=(-2, -1)) / np.maximum(np.abs(wanted).max(axis=(-2, -1)), 1e-9)


def strict(J: Any, dt: float) -> np.ndarray:
    """The samples away from all corners: of modes, of the gaps of what is pressed, and where v⁺ is unique."""
    margins = J.margins.min(axis=-1) if J.margins.shape[-1] else np.full(J.condition.shape, np.inf)
    corner = (np.abs(J.step.gap) < 1e-5 * (2e-3 / dt)).any(axis=-1)
    return (margins > 1e-2) & ~corner & (J.condition < 30.0)
