"""A and B of robots and scenes beside differences of their motions."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError


def floating() -> fb.System:
    """A free trunk with a sprung hinge, a ball joint and a servo."""
    b = fb.Builder("floating")
    b.body("trunk", joint=fb.joints.Free(), mass=3.0, inertia=(0.03, 0.02, 0.04), com=(0.02, 0.0, 0.01))
    b.body("thigh", parent="trunk", joint=fb.joints.Revolute("y"), position=(0.1, 0.05, 0.0), mass=0.7,
           com=(0, 0, -0.1), inertia=(0.004, 0.004, 0.001), damping=0.1, stiffness=2.0)  # fmt: skip
    b.body("head", parent="trunk", joint=fb.joints.Spherical(), position=(-0.1, 0.0, 0.1), mass=0.5,
           inertia=(0.003, 0.002, 0.003))  # fmt: skip
    return b.position_servo("servo", drives="thigh", kp=20.0, kd=1.0).build()


ROBOTS = {
    "double pendulum": fb.robots.double_pendulum,
    "floating": floating,
    "five bar": fb.robots.five_bar,
    "cassie leg": fb.robots.cassie_leg,
}


def states(robot: fb.System, count: int = 3) -> tuple[np.ndarray, ...]:
    """q, v, tau and u, the latter two with a row for one step."""
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng, count), rng.normal(size=(count, robot.nv)), rng.normal(size=(count, 1, robot.nv))
    return q, v, tau, rng.normal(size=(count, 1, robot.nu))


@pytest.mark.parametrize("name", ROBOTS)
def test_runge_kutta_steps_are_those_of_rollouts(name: str) -> None:
    robot, dt, h = ROBOTS[name](), 2e-3, 1e-6
    q, v, tau, u = states(robot)
    u = u if robot.nu else None
    n = robot.nv

    def run(q=q, v=v, tau=tau, u=u) -> fb.Run:
        return fb.rollout(robot, q, v, tau, u=u, steps=1, dt=dt)

    base = run()

    def end(**changed: np.ndarray) -> np.ndarray:
        after = run(**changed)
        return np.concatenate([robot.difference(base.q[-1], after.q[-1]), after.v[-1]], axis=-1)

    found = fb.linearize(robot, q, v, tau[:, 0], u=None if u is None else u[:, 0], dt=dt)
    assert np.allclose(found.q, base.q[-1], atol=1e-14) and np.allclose(found.v, base.v[-1], atol=1e-12)
    units = h * np.eye(n)
    moved = [[robot.integrate(q, np.broadcast_to(s * d, v.shape), 1.0) for s in (1.0, -1.0)] for d in units]
    A = [(end(q=a) - end(q=b)) / (2 * h) for a, b in moved] + [(end(v=v + d) - end(v=v - d)) / (2 * h) for d in units]
    A = np.stack(A, axis=-1)
    assert np.abs(found.A - A).max() < 1e-8 * np.abs(A).max()
    if u is None:
        B = np.stack([(end(tau=tau + d) - end(tau=tau - d)) / (2 * h) for d in units], axis=-1)
    else:
        B = np.stack([(end(u=u + d) - end(u=u - d)) / (2 * h) for d in h * np.eye(robot.nu)], axis=-1)
    assert np.abs(found.B - B).max() < 1e-8 * np.abs(B).max()


@pytest.mark.parametrize("name", ROBOTS)
def test_the_continuous_model_is_the_limit_of_short_steps(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, tau, u = states(robot)
    given = {"u": u[:, 0]} if robot.nu else {}
    found = fb.linearize(robot, q, v, tau[:, 0], **given)
    rates = []
    for dt in (1e-5, 2e-5, 4e-5):
        A, B = fb.linearize(robot, q, v, tau[:, 0], dt=dt, **given)
        rates.append(np.concatenate([(A - np.eye(2 * robot.nv)) / dt, B / dt], axis=-1))
    limit = (8.0 * rates[0] - 6.0 * rates[1] + rates[2]) / 3.0  # of a series in dt, to second order
    whole = np.concatenate([found.A, found.B], axis=-1)
    assert np.abs(whole - limit).max() < 1e-6 * np.abs(limit).max()
    assert found.dt is None and np.array_equal(found.q, v)


def test_all_steps_of_a_run_at_once() -> None:
    robot = floating()
    q, v, _, u = states(robot, 2)
    run = fb.rollout(robot, q, v, u=np.repeat(u, 5, axis=1), dt=1e-3)
    A, B = fb.linearize(robot, run)
    assert A.shape == (5, 2, 20, 20) and B.shape == (5, 2, 20, 1)
    one = fb.linearize(robot, run.q[3, 1], run.v[3, 1], u=u[1, 0], dt=1e-3)
    assert np.array_equal(one.A, A[3, 1])
    with pytest.raises(ArgumentError, match="tau="):
        fb.linearize(robot, fb.rollout(robot, q, v, 5.0 * np.ones((2, 5, 10)), dt=1e-3))
    with pytest.raises(ArgumentError, match="those of the run"):
        fb.linearize(robot, run, v)


def test_steps_of_a_scene() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    v = np.array([0, 0, 0, 1.0, 0, 0])
    run = scene.simulate(scene.start(), v, duration=0.02)
    found = fb.linearize(scene, run)
    assert found.A.shape == (10, 12, 12) and found.dt == pytest.approx(2e-3) and found.step is not None
    alone = scene.step.jacobian(run.q[4], run.v[4], dt=found.dt)
    assert np.allclose(alone.A, found.A[4], rtol=0, atol=1e-9 * np.abs(alone.A).max())


def test_an_inverted_pendulum_is_held_by_its_riccati_gain() -> None:
    b = fb.Builder("cart and pole")
    b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0)
    b.body("pole", parent="cart", joint=fb.joints.Revolute("y"), mass=0.2, com=(0, 0, 0.4), inertia=(0.01, 0.01, 1e-4))
    robot = b.actuator("motor", drives="cart").build()
    A, B = fb.linearize(robot, np.zeros(2), u=[0.0], dt=0.01)
    Q, R = np.diag([1.0, 10.0, 0.1, 0.1]), 0.01 * np.eye(1)
    P = Q
    for _ in range(3000):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    run = fb.simulate(robot, [0.0, 0.2], duration=5.0, dt=0.01, u=lambda t, q, v: -K @ np.concatenate([q, v]))
    assert np.abs(run.q[-1]).max() < 1e-3


def test_what_is_not_linearized_is_refused() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(ArgumentError, match="method"):
        fb.linearize(robot, np.zeros(2), method="euler")
    with pytest.raises(ArgumentError, match="dt="):
        fb.linearize(robot, np.zeros(2), method="rk4")
    with pytest.raises(ArgumentError, match="method"):
        fb.linearize(fb.Scene(robot), np.zeros(2), method="rk4")
    with pytest.raises(ArgumentError, match="no actuators"):
        fb.linearize(robot, np.zeros(2), u=np.zeros(1))
    with pytest.raises(ArgumentError, match="robot or a scene"):
        fb.linearize("arm", np.zeros(2))
