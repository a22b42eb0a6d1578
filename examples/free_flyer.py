"""A satellite that turns itself by moving an arm: no outside force, momentum stays zero, yet the attitude changes."""

import numpy as np

import fourbar as fb
from fourbar.joints import Free, Revolute

b = fb.Builder("satellite", gravity=(0, 0, 0))
b.body("bus", joint=Free(), mass=20.0, inertia=(2.0, 3.0, 4.0))
b.body(
    "upper",
    parent="bus",
    joint=Revolute("z"),
    position=(0.5, 0, 0),
    mass=2.0,
    com=(0.5, 0, 0),
    inertia=(0.01, 0.2, 0.2),
)
b.body(
    "fore", parent="upper", joint=Revolute("y"), position=(1, 0, 0), mass=2.0, com=(0.4, 0, 0), inertia=(0.01, 0.1, 0.1)
)
robot = b.build()
arm = [robot.names.velocities.index(name) for name in ("upper", "fore")]


def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Motors move the arm in a circle; nothing acts on the bus."""
    tau = np.zeros(robot.nv)
    tau[arm] = 0.5 * np.cos(2 * np.pi * t), 0.5 * np.sin(2 * np.pi * t)
    return tau


run = fb.simulate(robot, robot.neutral(), duration=5.0, dt=2e-3, tau=push, every=50)
momentum = robot.momentum(run.q, run.v)
turned = 2 * np.arccos(abs(run.q[-1, 3]))
length = np.linalg.norm(run.q[:, 3:7], axis=1)
print(f"the bus turned by {np.degrees(turned):.1f}°; largest momentum {np.abs(momentum).max():.0e}")
print(f"the quaternion kept its length to {np.abs(length - 1).max():.0e}")
assert np.abs(momentum).max() < 1e-9
