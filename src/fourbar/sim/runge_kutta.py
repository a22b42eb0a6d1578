"""Fixed-step fourth-order Runge-Kutta on the configuration group (Runge-Kutta-Munthe-Kaas).

Within a step the configuration is written as q(t) = q₀ ⊕ θ(t) with θ in the tangent space, where the classic scheme
applies; quaternions therefore stay of unit length without being renormalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, SingularError
from ..system.robot import System
from .charts import Charts, chart_rate

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
_OPEN = 1e-6  # the gap of a loop that is no rounding of what somebody wrote down
Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Trajectory:
    """States at the recorded times: t (n), q (n, ..., nq), v (n, ..., nv)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def _rates(
    robot: System, t: float, q0: np.ndarray, theta: np.ndarray, v: np.ndarray, torque: Torque
) -> tuple[np.ndarray, np.ndarray]:
    q = robot.integrate(q0, theta, _UNIT_TIME)
    return chart_rate(robot, q0, q, theta, v), robot.forward_dynamics(q, v, torque(t, q, v))


def step(
    robot: System, t: float, q: np.ndarray, v: np.ndarray, dt: float, torque: Torque
) -> tuple[np.ndarray, np.ndarray]:
    """One step of length dt from (q, v) at time t."""
    at_rest = np.zeros_like(v)
    k1, a1 = _rates(robot, t, q, at_rest, v, torque)
    k2, a2 = _rates(robot, t + dt / 2, q, dt / 2 * k1, v + dt / 2 * a1, torque)
    k3, a3 = _rates(robot, t + dt / 2, q, dt / 2 * k2, v + dt / 2 * a2, torque)
    k4, a4 = _rates(robot, t + dt, q, dt * k3, v + dt * a3, torque)
    theta = dt / 6 * (k1 + 2 * (k2 + k3) + k4)
    return robot.integrate(q, theta, _UNIT_TIME), v + dt / 6 * (a1 + 2 * (a2 + a3) + a4)


def _followed(charts: Charts, t: float, q: np.ndarray, w: np.ndarray, dt: float, torque: Torque | None) -> Any:
    """One step in the velocities w that are followed now."""

    def force(t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w) if torque is None else charts.force(q, torque(t, q, charts.seen(q, w)))

    return step(charts.now, t, q, w, dt, force)


def _advanced(charts: Charts, i: int, q: np.ndarray, w: np.ndarray, dt: float, torque: Torque | None) -> Any:
    """Step i, in other velocities where those of now do not tell how the loops move."""
    w = charts.looked_at(q, w)
    try:
        return _followed(charts, i * dt, q, w, dt, torque)
    except SingularError:
        changed = charts.better(q, w, poor=1.0)
        if changed is None:
            raise
        return _followed(charts, i * dt, q, changed, dt, torque)


def _check_closed(robot: System, q: np.ndarray) -> None:
    gap = np.nanmax(robot.loop_gap(q), initial=0.0)
    if gap > _OPEN:
        raise ArgumentError(
            f"q: the loops of {robot.name!r} are not closed where the motion starts, a gap of {gap:.3g} is left; "
            "start from robot.assemble(q)"
        )


def simulate(
    robot: System,
    q: Any,
    v: Any = None,
    *,
    duration: float,
    dt: float = 1e-3,
    torque: Torque | None = None,
    every: int = 1,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Trajectory:
    """Simulate a robot (or a batch of states) for a time, rounded to whole steps, recording every so many of them.

    q (..., nq), v (..., nv; zero if None); torque(t, q, v) -> (..., nv), none by default. `progress` wraps the range of
    steps, e.g. tqdm.tqdm. The last step is recorded too. Where the independent velocities of a loop do not tell how it
    moves, because their joints turn back, those of others are followed; q, v and torque stay as they are. torque is
    asked four times a step, and again where a step is repeated: its result must depend on t, q and v only.
    """
    if not (duration > 0.0 and dt > 0.0 and np.isfinite(duration / dt)):
        raise ArgumentError(f"duration and dt must be positive and finite, got duration={duration}, dt={dt}")
    if not isinstance(every, int | np.integer) or every < 1:
        raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
    q = np.array(q, float)
    _check_closed(robot, q)
    v = np.zeros((*q.shape[:-1], robot.nv)) if v is None else np.array(v, float)
    steps = max(1, round(duration / dt))
    times, configurations, velocities = [0.0], [q], [v]
    charts, w = Charts(robot), v
    for i in progress(range(steps)) if progress is not None else range(steps):
        q, w = _advanced(charts, i, q, w, dt, torque)
        if (i + 1) % every == 0 or i + 1 == steps:
            times.append((i + 1) * dt)
            configurations.append(q)
            velocities.append(charts.seen(q, w))
    return Trajectory(np.array(times), np.array(configurations), np.array(velocities))
