"""Forces of the motors of closed mechanisms, wherever the motors are: a five-bar, a Delta, a Stewart platform."""

import numpy as np

import fourbar as fb
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Closure

HINGES = ["left", "left_elbow", "tip", "right_elbow", "right"]


def five_hinges() -> fb.System:
    """A planar five-bar whose five hinges can all carry a motor: a chain whose last link is fixed to the ground."""
    b = fb.Builder("five_hinges", gravity=(0.0, -9.81, 0.0))
    parent, place = "world", (-0.15, 0.0, 0.0)
    for name, length in zip(HINGES, (0.25, 0.35, 0.35, 0.25, 0.05), strict=True):
        rod = {"mass": 0.4, "com": (length / 2.0, 0.0, 0.0), "inertia": (1e-4, 2e-3, 2e-3)}
        b.body(name, parent=parent, joint=Revolute("z"), position=place, **rod)
        parent, place = name, (length, 0.0, 0.0)
    b.loop(Closure(Fixed(), "world", "right", at_predecessor=(0.15, 0.0, 0.0)), independent=["left", "right"])
    return b.build()


def show(robot: fb.System, q: np.ndarray, motors: list[str]) -> np.ndarray:
    """The forces that make the robot move with random accelerations, and whether they do."""
    v, a = np.random.default_rng(0).normal(size=(2, *q.shape[:-1], robot.nv))
    drives = robot.actuated(motors)
    tau = drives.inverse_dynamics(q, v, a)
    size = float(np.sqrt((tau**2).sum(axis=-1).mean()))
    print(f"{robot.name:16s} {len(motors)} motors: forces of {size:8.3f} together ({', '.join(motors)})")
    assert np.allclose(drives.forward_dynamics(q, v, tau), a)
    return tau


robot = five_hinges()
start = robot.assemble([1.9, -0.9, -1.9, -0.9, 1.8])
q = robot.integrate(start, 0.2 * np.random.default_rng(1).normal(size=(100, 2)), 1.0)
two = show(robot, q, ["left", "right"])
three = show(robot, q, ["left", "tip", "right"])
five = show(robot, q, HINGES)
sizes = [np.sqrt((tau**2).sum(axis=-1)) for tau in (two, three, five)]
assert np.all(sizes[0] >= sizes[1] - 1e-9) and np.all(sizes[1] >= sizes[2] - 1e-9)  # more motors share the load

delta = fb.robots.delta()
show(delta, delta.random(0, 100), ["arm1", "arm2", "arm3"])
stewart = fb.robots.stewart_platform()
show(stewart, stewart.random(0, 10), [f"slide{i}" for i in range(1, 7)])
