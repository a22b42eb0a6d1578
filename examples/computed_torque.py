"""A damped double pendulum that follows a prescribed motion by computed torque: inverse dynamics plus feedback."""

import numpy as np

import fourbar as fb

robot = fb.robots.double_pendulum().with_parameters(joints={"shoulder": {"damping": 0.3}, "elbow": {"damping": 0.1}})
AMPLITUDE, FREQUENCY = np.array([0.8, 1.2]), np.array([2.0, 3.0])
STIFFNESS, DAMPING = 100.0, 20.0


def wanted(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the motion to follow."""
    phase = FREQUENCY * t
    position = AMPLITUDE * np.sin(phase)
    return position, AMPLITUDE * FREQUENCY * np.cos(phase), -(FREQUENCY**2) * position


def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The drive forces that make the error die out like a damped oscillator, against the damping of the joints."""
    q_wanted, v_wanted, a_wanted = wanted(t)
    a = a_wanted + STIFFNESS * robot.difference(q, q_wanted) + DAMPING * (v_wanted - v)
    return robot.inverse_passive_dynamics(q, v, a)


run = fb.simulate(robot, [0.5, -0.5], duration=2.0, dt=1e-3, tau=torque, period=0, every=10)
error = np.abs(run.q - [wanted(t)[0] for t in run.t]).max(axis=1)
print(f"tracking error: {error[0]:.2g} rad at the start, {error[-1]:.1e} rad after {run.t[-1]:g} s")
assert error[-1] < 1e-6
