"""Actuators in the steps of a scene: their laws, their ranges, and gains that act implicitly."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

pytestmark = pytest.mark.usefixtures("no_warnings")

G = 9.81


def lift(kp: float = 0.0, kd: float = 0.0, gear: float = 1.0, **more) -> fb.System:
    """A mass on a vertical rail, with a servo."""
    b = fb.Builder("lift")
    b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0)
    return b.position_servo("servo", drives="mass", kp=kp, kd=kd, gear=gear, **more).build()


@pytest.mark.parametrize(("kp", "kd", "dt"), [(400.0, 30.0, 2e-3), (1e6, 1e3, 5e-3), (1e8, 0.0, 5e-3)])
def test_a_servo_is_implicit_euler(kp: float, kd: float, dt: float) -> None:
    """(m + dt d + dt² k) Δv = dt (k (u - x) - d v - m g - dt k v), with k and d through the gear."""
    m, gear, u, n = 2.0, 3.0, 0.4, 200
    run = fb.Scene(lift(kp, kd, gear)).rollout([0.05], [0.3], u=np.full((n, 1), u), dt=dt)
    x, v, k, d = 0.05, 0.3, kp * gear**2, kd * gear**2
    for i in range(1, n + 1):
        force = gear * (kp * (u - gear * x) - kd * gear * v) - m * G - dt * k * v
        v += dt * force / (m + dt * d + dt * dt * k)
        x += dt * v
        assert abs(run.q[i, 0] - x) < 1e-12 and abs(run.v[i, 0] - v) < 1e-9
    assert np.isnan(run.u[0]).all() and (run.u[1:] == u).all()


def differential(kp: float, kd: float) -> fb.System:
    """Two arms, one on the other, and one that is free of them; a tendon over all three, and a velocity servo."""
    b = fb.Builder("differential")
    for name, parent, at in (("upper", "world", 0.0), ("lower", "upper", -0.4), ("other", "world", 0.2)):
        b.body(name, parent=parent, joint=fb.joints.Revolute("y"), position=(0, at * (name == "other"), at),
               mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.002), damping=0.05)  # fmt: skip
    b.position_servo("tendon", drives={"upper": 1.0, "lower": -0.7, "other": 0.5}, kp=kp, kd=kd)
    return b.velocity_servo("wheel", drives="other", kv=2.0).build()


def test_a_tendon_gives_way_implicitly() -> None:
    """One step against (M + dt D + dt² K) Δv = dt (τ - h - dt K v) with dense matrices."""
    robot = differential(3e4, 50.0)
    scene, dt = fb.Scene(robot, limits=False), 4e-3
    q, v, u = np.array([0.3, -0.2, 0.5]), np.array([0.4, -1.0, 0.3]), np.array([0.2, 1.0])
    K, D = robot.control_gains(q, v, u)
    tau = robot.control_force(q, v, u) + robot.passive_forces(q, v)
    A = robot.mass_matrix(q) + dt * (D + 0.05 * np.eye(3)) + dt * dt * K
    expected = v + np.linalg.solve(A, dt * (tau - robot.bias_force(q, v) - dt * K @ v))
    found = scene.step(q, v, u=u, dt=dt)
    assert np.abs(found.v - expected).max() < 1e-12
    assert np.abs(scene.rollout(q, v, u=u[None], dt=dt).v[1] - expected).max() < 1e-12


def test_a_tendon_holds_limits_and_contacts_apart() -> None:
    """A stiff tendon pulls joints against a limit: what is solved is what the dense problem says."""
    robot = differential(3e4, 50.0).with_parameters(joints={"lower": {"limits": (-0.25, 0.25)}})
    scene, dt = fb.Scene(robot), 4e-3
    q, v, u = np.array([0.3, -0.249, 0.5]), np.array([0.4, -1.0, 0.3]), np.array([2.0, 1.0])
    K, D = robot.control_gains(q, v, u)
    A = robot.mass_matrix(q) + dt * (D + 0.05 * np.eye(3)) + dt * dt * K
    tau = robot.control_force(q, v, u) + robot.passive_forces(q, v)
    free = v + np.linalg.solve(A, dt * (tau - robot.bias_force(q, v) - dt * K @ v))
    row = np.array([0.0, 1.0, 0.0])
    least = (-0.25 - q[1]) / dt
    assert free[1] < least  # so that the limit acts
    impulse = (least - free[1]) / (row @ np.linalg.solve(A, row))
    expected = free + np.linalg.solve(A, row) * impulse
    assert np.abs(scene.step(q, v, u=u, dt=dt).v - expected).max() < 1e-11


def test_a_servo_on_a_joint_that_a_loop_holds() -> None:
    """One step of a geared arm, with a stiff servo on the motor's side, against dense matrices; and forces that act."""
    b = fb.Builder("geared")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=2.0, com=(0.0, 0.0, -0.3), inertia=(0.1, 0.1, 0.01))
    b.body("rotor", joint=fb.joints.Revolute("y"), mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
    b.position_servo("servo", drives="rotor", kp=2e3, kd=5.0)
    robot = b.loop(fb.loops.Gear("arm", "rotor", 6.0), name="gear").build()
    q, v, u, dt = robot.neutral() + 0.1, np.array([0.7]), np.array([0.2]), 5e-3
    K, D = robot.control_gains(q, v, u)
    A = robot.mass_matrix(q) + dt * D + dt * dt * K
    force = robot.control_force(q, v, u) - robot.bias_force(q, v) - dt * K @ v
    run = fb.Scene(robot).rollout(q, v, u=u[None], dt=dt, observe={"force": fb.observe.joint_force()})
    a = np.linalg.solve(A, force)
    assert np.abs(run.v[1] - (v + dt * a)).max() < 1e-12
    needed = robot.inverse_dynamics(q, v, a)
    assert np.abs(run.observations["force"][1] - needed).max() < 1e-9 * np.abs(needed).max()


def test_what_grows_by_itself_is_left_explicit() -> None:
    """A law that pushes away, and one whose gain depends on the velocity: finite, and right to first order."""
    b = fb.Builder("pusher", gravity=(0, 0, 0))
    b.body("mass", joint=fb.joints.Prismatic("x"), mass=2.0)
    b.actuator("away", drives="mass", kind="affine", parameters={"gain": (1.0,), "bias": (0.0, 8.0)})
    b.damper("brake", drives="mass", kv=3.0)
    robot = b.build()
    run = fb.Scene(robot).rollout([0.1], None, u=np.tile([0.0, 0.0], (1000, 1)), dt=1e-3)
    assert np.isclose(run.q[-1, 0], 0.1 * np.cosh(2.0), rtol=5e-3)
    braked = fb.Scene(robot).rollout([0.0], [1.0], u=np.tile([0.0, 1000.0], (100, 1)), dt=5e-3)
    assert np.isclose(braked.v[1, 0], 2.0 / (2.0 + 5e-3 * 3000.0)) and 0.0 < braked.v[-1, 0] < 1e-5


def test_stiff_servos_follow_what_fine_explicit_steps_do() -> None:
    """An arm with stiff servos, 2 ms implicit against Runge-Kutta steps of 20 µs; errors halve with the step."""
    robot = differential(4e3, 40.0)
    u, q = np.array([0.3, -0.5]), np.zeros(3)
    exact = fb.simulate(robot, q, u=np.tile(u, (1, 1)), period=0.2, duration=0.2, dt=2e-5, every=10**6).q[-1]
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        run = fb.Scene(robot).rollout(q, None, u=u[None], period=0.2, dt=dt, every=10**6)
        errors.append(np.abs(run.q[-1] - exact).max())
    assert errors[0] < 2e-4 and errors[1] < 0.65 * errors[0] and errors[2] < 0.6 * errors[1]


def test_ranges_bound_what_acts() -> None:
    robot = lift(1e5, 10.0, force_range=(-5.0, 60.0), control_range=(-1.0, 0.5))
    run = fb.Scene(robot).rollout([0.0], None, u=np.full((50, 1), 3.0), dt=2e-3,
                                  observe={"force": fb.observe.actuator_force()})  # fmt: skip
    assert np.isclose(run.v[1, 0], 2e-3 * (60.0 / 2.0 - G)) and run.observations["force"][1, 0] == 60.0
    settled = fb.Scene(robot).rollout([0.45], None, u=np.full((2000, 1), 3.0), dt=2e-3)
    assert abs(settled.q[-1, 0] - (0.5 - 2.0 * G / 1e5)) < 1e-3  # the control is held at 0.5


def test_controls_of_all_kinds_are_the_same() -> None:
    robot = differential(400.0, 8.0)
    scene, q = fb.Scene(robot), np.array([0.2, 0.1, -0.1])
    n, dt = 40, 2e-3

    def law(t: float, q: np.ndarray, v: np.ndarray) -> list:
        return [0.3 - 0.1 * q[..., 0] + t, 0.2 * v[..., 1]]

    asked = scene.simulate(q, duration=n * dt, dt=dt, period=2 * dt, u=law)
    inside = scene.simulate(q, duration=n * dt, dt=dt, period=2 * dt, u=fb.traced(law))
    given = scene.rollout(q, None, u=asked.u[1::2], dt=dt, period=2 * dt)
    assert np.array_equal(given.q, asked.q) and np.abs(inside.q - asked.q).max() < 1e-13
    assert np.allclose(inside.u[1:], asked.u[1:]) and (asked.u[1::2] == asked.u[2::2]).all()
    push = np.array([1.0, 0.0, -0.5])  # joint forces act besides
    both = scene.rollout(q, None, np.tile(push, (20, 1)), u=asked.u[1::2], dt=dt, period=2 * dt)
    one = scene.step(q, np.zeros(3), push, u=asked.u[1], dt=dt)
    assert np.abs(both.q[1] - one.q).max() < 1e-15 and not np.allclose(both.q, given.q)
    worlds = scene.batch(2, dt=dt)
    worlds.reset(q=q)
    for row in asked.u[1::2]:
        worlds.step(u=row, steps=2)
    assert np.array_equal(worlds.q[0], given.q[-1]) and np.allclose(worlds.t, n * dt)


def test_controls_are_never_guessed() -> None:
    robot = differential(400.0, 8.0)
    scene = fb.Scene(robot)
    with pytest.raises(fb.ArgumentError, match=r"rows, 2\) of controls of actuators"):
        scene.rollout(np.zeros(3), u=np.zeros((5, 3)))
    with pytest.raises(fb.ArgumentError, match=r"rows, 3\) of forces"):
        scene.rollout(np.zeros(3), None, np.zeros((5, 2)))
    with pytest.raises(fb.ArgumentError, match="must give 2 controls, got 3"):
        scene.simulate(np.zeros(3), duration=0.1, u=fb.traced(lambda t, q, v: q))
    with pytest.raises(fb.ArgumentError, match="no actuators"):
        fb.Scene(fb.robots.double_pendulum()).rollout(np.zeros(2), u=np.zeros((5, 2)))
    muscle = robot.with_parameters(actuators={"wheel": {"kind": "muscle", "parameters": {}}})
    with pytest.raises(fb.ArgumentError, match="'wheel' is of kind 'muscle'"):
        fb.Scene(muscle).rollout(np.zeros(3), u=np.zeros((5, 2)))


def test_a_stiff_leg_stands_on_the_floor() -> None:
    """Servos of 5000 N m/rad at 5 ms, with contacts: it comes to rest, and the floor carries its weight."""
    b = fb.Builder("hopper")
    b.body("base", joint=fb.joints.Prismatic("z"), mass=3.0)
    b.body("thigh", parent="base", joint=fb.joints.Revolute("y"), mass=0.5, com=(0, 0, -0.1), inertia=(2e-3,) * 3)
    b.body("shin", parent="thigh", joint=fb.joints.Revolute("y"), position=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1),
           inertia=(1e-3,) * 3)  # fmt: skip
    for name in ("thigh", "shin"):
        b.position_servo(f"{name}_servo", drives=name, kp=5e3, kd=20.0)
    robot = b.build()
    scene = fb.Scene(robot, fb.Plane(friction=0.8), contacts=[Shape("shin", "sphere", 0.02, position=(0, 0, -0.2))])
    stance = np.array([0.6, -1.2])
    run = scene.simulate([0.36, *stance], duration=3.0, dt=5e-3, u=stance[None], period=3.0, every=100)
    assert run.converged.all() and np.abs(run.v[-1]).max() < 1e-8
    assert np.isclose(run.contacts.force[-1, 0, 2], 3.8 * G, rtol=1e-8)
