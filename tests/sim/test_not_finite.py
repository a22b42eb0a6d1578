"""Forces and controls that are NaN or infinite: what ends the motion is said, and since when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free
from fourbar.sim.motions.outcome import SimulationWarning

LATE = 0.05


def nan_later(t: float, q: Any, v: Any) -> Any:
    return np.full(np.shape(v), np.nan if t > LATE else 0.0)


def listed(t: float, q: Any, v: Any) -> list[float]:
    return [float("inf") if t > LATE else 0.0, 0.0]


def rows(steps: int) -> np.ndarray:
    found = np.zeros((steps, 2))
    found[steps // 2 :] = np.nan
    return found


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("tau", {"tau": nan_later, "period": 0}), ("tau", {"tau": listed, "period": 0}),
        ("tau", {"tau": nan_later, "period": 0.01}), ("tau", {"tau": rows(10), "period": 0.01}),
        ("tau", {"tau": fb.traced(lambda t, q, v: [fb.sqrt(LATE - t), 0.0]), "period": 0}),
        ("tau", {"tau": fb.traced(lambda t, q, v: [fb.sqrt(LATE - t), 0.0]), "period": 0.01}),
    ],
    ids=["function", "list", "control", "array", "traced", "traced_control"],
)  # fmt: skip
def test_a_force_that_is_not_finite_is_named(name: str, given: dict[str, Any]) -> None:
    robot = fb.robots.double_pendulum()
    with pytest.warns(SimulationWarning, match=rf"\b{name} was NaN or infinite at t = 0\.0[5-6]") as said:
        motion = fb.simulate(robot, [0.3, 0.1], duration=0.1, dt=0.01, **given)
    assert "shorter step" not in str(said[0].message)
    assert np.isfinite(motion.q).all() and 0.04 <= motion.t[-1] <= 0.06


def test_one_sample_of_many() -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found = np.zeros_like(v)
        found[1] = np.nan if t > LATE else 0.0
        return found

    robot = fb.robots.double_pendulum()
    with pytest.warns(SimulationWarning, match=r"1 of 3 samples.* tau was NaN or infinite at t = 0\.05"):
        motion = fb.simulate(robot, np.full((3, 2), 0.1), duration=0.1, dt=0.01, period=0, tau=torque)
    assert np.isfinite(motion.q[:, [0, 2]]).all() and np.isnan(motion.q[-1, 1]).all()


def test_a_motion_that_diverges_by_itself_says_nothing_of_forces() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.warns(SimulationWarning, match="shorter step"):
        fb.simulate(robot, [0.3, 0.1], duration=1.0, dt=0.01, period=0, tau=lambda t, q, v: 1e9 * v)


@pytest.mark.parametrize(
    "given", [nan_later, np.r_[np.zeros((25, 6)), np.full((25, 6), np.nan)]], ids=["asked", "rows"]
)
def test_in_a_scene(given: Any) -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    with pytest.warns(SimulationWarning, match=r"tau was NaN or infinite at t = 0\.05"):
        fb.Scene(robot).simulate(robot.neutral(), duration=0.1, dt=2e-3, tau=given)
