"""Draw a circle with the tool of an arm: inverse kinematics along a path, and the torques it takes.

    python -m pip install ".[plot]"
    python examples/follow_path.py

The poses of a circle, tool downwards, become configurations; each search begins at the configuration before it, so that
the arm does not jump from one solution to another. Velocities and accelerations are differences in time, from which
inverse dynamics computes torques. Writes path.png (the motion) and circle.png (the arm).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

import fourbar as fb

DURATION, STEPS, RADIUS = 4.0, 400, 0.12


def circle(t: np.ndarray) -> np.ndarray:
    """Poses (n, 4, 4) of a tool that points downwards and goes once round."""
    angle = 2.0 * np.pi * t / DURATION
    T = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (len(t), 1, 1))
    T[:, :3, 3] = np.stack([0.45 + RADIUS * np.cos(angle), RADIUS * np.sin(angle), np.full(len(t), 0.2)], axis=-1)
    return T


def follow(robot: fb.System, T: np.ndarray) -> np.ndarray:
    """Configurations (n, nq) that reach poses, each near the one before."""
    q = [robot.inverse_kinematics({"tool": T[0]}).q]
    for pose in T[1:]:
        found = robot.inverse_kinematics({"tool": pose}, q[-1], restarts=0)
        assert found.converged, f"a pose of the path is missed: {found}"
        q.append(found.q)
    return np.array(q)


def main() -> None:
    """Compute the motion and draw it."""
    robot = fb.load(Path(__file__).with_name("robot.urdf"))
    t = np.linspace(0.0, DURATION, STEPS + 1)
    q = follow(robot, circle(t))
    v = np.gradient(q, t, axis=0)
    tau = robot.inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    step, away = np.abs(np.diff(q, axis=0)).max(), np.abs(robot.pose(q, "tool") - circle(t)).max()
    strained, fast = np.abs(tau) / robot.limits.effort, np.abs(v) / robot.limits.velocity
    print(f"largest step between neighbours: {step:.3f} rad; farthest from the path: {away:.1e}")
    print(f"up to {strained.max():.0%} of the torques and {fast.max():.0%} of the speeds that the joints allow")
    if find_spec("matplotlib") is not None:
        motion = fb.Run(t, q, v, robot, np.zeros(len(t)))
        motion.plot(["coordinates", "velocities", "torques"], tau=tau).savefig("path.png", dpi=120)
        robot.plot(q[:: STEPS // 8], frames=["tool"]).savefig("circle.png", dpi=120)


if __name__ == "__main__":
    main()
