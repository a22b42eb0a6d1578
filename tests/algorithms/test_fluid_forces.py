"""Drag and currents: forces of a body, beside closed forms, an independent integration, and Galilei's principle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute
from tests.loops import looped

from . import immersed
from .immersed import coadjoint, immerse, inertia, with_fluids
from .test_fluid_inertia import error


def drifting() -> fb.System:
    return immersed.vehicle(forces=True)


def state(robot: fb.System, n: int = 3) -> tuple[np.ndarray, ...]:
    return robot.random(2, n), *np.random.default_rng(3).normal(size=(2, n, robot.nv))


@pytest.mark.parametrize("name", ["vehicle", "four_bar"])
def test_forces_of_each_body(name: str) -> None:
    """Passive forces are Σ Jᵀ F; damping_power is what they take; passive and inverse passive dynamics have them."""
    robot = drifting() if name == "vehicle" else immerse(looped.mechanism(name), forces=True)
    q, v, tau = state(robot) if name == "vehicle" else (looped.state(name, n=3).q, *state(robot)[1:])
    forces = np.array([immersed.passive_forces(robot, *x) for x in zip(q, v, strict=True)])
    assert error(robot.passive_forces(q, v), forces) < 1e-12
    assert error(robot.damping_power(q, v), -np.sum(forces * v, axis=-1)) < 1e-12
    a = robot.forward_dynamics(q, v, tau + forces)
    assert error(robot.passive_dynamics(q, v, tau), a) < 1e-11
    assert error(robot.inverse_passive_dynamics(q, v, a), tau) < 1e-10


def test_current_is_relative_motion() -> None:
    """In a current, moving with it, a robot moves as in still fluid (Galilei)."""
    u = np.array([0.4, -0.3, 0.2])
    still, flowing = (with_fluids(drifting(), current=x) for x in (np.zeros(3), u))
    q, v, _ = (x[0] for x in state(still))
    R = still.pose(q, "hull")[:3, :3]
    carried = v + np.concatenate([np.zeros(3), R.T @ u, np.zeros(still.nv - 6)])
    one = fb.simulate(still, q, v, duration=0.5, dt=0.001)
    other = fb.simulate(flowing, q, carried, duration=0.5, dt=0.001)
    moved = other.q - np.concatenate([0.5 * u, np.zeros(still.nq - 3)])
    assert error(moved[-1], one.q[-1]) < 1e-10
    assert error(other.v[-1, 6:], one.v[-1, 6:]) < 1e-9


@pytest.mark.quick
def test_energy_falls_by_drag() -> None:
    """By what `damping_power` takes, and never rises in still fluid."""
    robot = with_fluids(immersed.vehicle(forces=True), current=np.zeros(3))
    run = fb.simulate(robot, robot.neutral(), np.full(robot.nv, 0.7), duration=1.0, dt=0.002)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.all(np.diff(energy) < 0.0)
    power = robot.damping_power(run.q, run.v)
    taken = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * 0.002)])
    assert np.abs(energy - energy[0] + taken).max() < 1e-4 * taken[-1]


@pytest.mark.quick
def test_terminal_velocity() -> None:
    """(m - ρV) g = d v + d₂ v², with and without a current that carries the ball."""
    m, volume, d, d2 = 3.0, 1e-3, 4.0, 20.0
    weight = 9.81 * (m - 1000.0 * volume)
    expected = (-d + np.sqrt(d * d + 4.0 * d2 * weight)) / (2.0 * d2)
    for current in (0.0, 0.5):
        fluid = fb.Fluid(
            added_mass=[0.01, 0.01, 0.01, 1.0, 1.0, 1.0], volume=volume, linear_drag=[1, 1, 1, d, d, d],
            quadratic_drag=[0, 0, 0, d2, d2, d2], current=(0.0, 0.0, current),
        )  # fmt: skip
        b = fb.Builder("ball").body("b", joint=Free(), mass=m, inertia=(0.01,) * 3, fluid=fluid)
        robot = b.build()
        run = fb.simulate(robot, robot.neutral(), np.zeros(6), duration=6.0, dt=0.01)
        assert np.allclose(run.v[-1], [0, 0, 0, 0, 0, current - expected], atol=1e-8)


def test_one_dimensional_drag() -> None:
    """A piston with quadratic drag alone: 1/v grows by d t / m; with linear drag v falls as exp(-d t / m)."""
    for kind in ("linear_drag", "quadratic_drag"):
        fluid = fb.Fluid(added_mass=[0, 0, 0, 0, 0, 1.0], **{kind: [0, 0, 0, 0, 0, 5.0]})
        robot = fb.Builder("piston", gravity=(0, 0, 0)).body("b", joint=Prismatic("z"), mass=2.0, fluid=fluid).build()
        run = fb.simulate(robot, [0.0], [2.0], duration=1.0, dt=0.005)
        closed = 2.0 * np.exp(-5.0 / 3.0) if kind == "linear_drag" else 1.0 / (0.5 + 5.0 / 3.0)
        assert np.allclose(run.v[-1], closed, rtol=1e-9)


@pytest.mark.quick
def test_kirchhoff_equations_with_drag_and_current() -> None:
    """A tumbling body beside an independent integration of the equations for the relative velocity."""
    fluid = immersed.any_fluid(np.random.default_rng(11), forces=True)
    b = fb.Builder("one").body("b", joint=Free(), mass=2.0, com=(0.1, -0.05, 0.2), inertia=(0.3, 0.4, 0.2), fluid=fluid)
    robot = b.build()
    (body,), V = robot.mechanism.bodies, np.array([0.5, -1.0, 2.0, 1.0, 0.3, -0.5])
    M, I, g = inertia(body), immersed.rigid_inertia(body), np.array([0.0, 0.0, -9.81])
    added, u = M - I, np.array(fluid.current)

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        V, R = x[:6], x[9:].reshape(3, 3)
        U = np.concatenate([np.zeros(3), R.T @ u])
        relative, turning = V - U, np.concatenate([np.zeros(3), -np.cross(V[:3], R.T @ u)])
        drag = np.array(fluid.linear_drag) @ relative + np.array(fluid.quadratic_drag) @ (np.abs(relative) * relative)
        forces = immersed.weight(body, R.T @ g) - drag - coadjoint(V, I @ V) - coadjoint(relative, added @ relative)
        A = np.linalg.solve(M, forces + added @ turning)
        return np.concatenate([A, R @ V[3:], (R @ immersed.hat(V[:3])).ravel()])

    start = np.concatenate([V, np.zeros(3), np.eye(3).ravel()])
    end = solve_ivp(rate, (0.0, 1.0), start, rtol=1e-11, atol=1e-12).y[:, -1]
    run = fb.simulate(robot, robot.neutral(), V, duration=1.0, dt=0.001)
    assert error(run.v[-1], end[:6]) < 1e-8
    assert error(robot.pose(run.q[-1], "b")[:3, 3], end[6:9]) < 1e-8


def test_derivatives() -> None:
    """By the state and by numbers of the fluid, beside differences; varying them is building another robot."""
    rng = np.random.default_rng(1)
    b = fb.Builder("two").body("hull", joint=Free(), mass=2.0, inertia=(0.1,) * 3, fluid=immersed.any_fluid(rng, True))
    arm = {"position": (0.1, 0.2, 0.3), "mass": 0.5, "com": (0.1, 0.0, 0.2), "inertia": (0.01,) * 3}
    b.body("arm", parent="hull", joint=Revolute("y"), fluid=immersed.any_fluid(rng, True), **arm)
    robot, h = b.build(), 1e-5
    q, v, tau = (x[0] for x in state(robot))
    f = robot.passive_dynamics
    d = rng.normal(size=(3, robot.nv))
    ends = [f(robot.integrate(q, s * d[0]), v + s * d[1], tau + s * d[2]) for s in (h, -h)]
    assert error(f.jvp((q, v, tau), tuple(d)), (ends[0] - ends[1]) / (2 * h)) < 1e-7
    fields = ("added_mass", "volume", "linear_drag", "quadratic_drag", "current", "center_of_buoyancy", "density")
    names = [f"arm.{field}" for field in fields]
    varied, fluid = robot.varying(*names).passive_dynamics, robot.mechanism.bodies[1].fluid
    assert fluid is not None
    values = [np.array(getattr(fluid, field)) for field in fields]
    changes = [rng.normal(size=x.shape) for x in values]
    changes[0] += changes[0].T
    J = f.jacobian(q, v, tau, parameters=names)
    for n, change in enumerate(changes):
        ends = [varied(q, v, tau, *values[:n], values[n] + s * change, *values[n + 1 :]) for s in (h, -h)]
        slope = np.tensordot(J.parameters[names[n]], change, change.ndim)
        assert error(slope, (ends[0] - ends[1]) / (2 * h)) < 1e-6, names[n]
    twice = {field: 2.0 * x for field, x in zip(fields, values, strict=True)}
    other = robot.with_parameters(bodies={"arm": {"fluid": replace(fluid, **twice)}})
    assert error(varied(q, v, tau, *twice.values()), other.passive_dynamics(q, v, tau)) < 1e-12


def test_rollouts_of_varied_currents() -> None:
    """A batch in which the current differs from run to run, beside one simulation each."""
    robot = drifting()
    currents = np.random.default_rng(0).normal(size=(3, 3))
    runs = fb.rollout(robot, robot.neutral(), np.zeros(robot.nv), dt=0.01, steps=20, numbers={"hull.current": currents})
    for n, current in enumerate(currents):
        fluid = robot.mechanism.bodies[0].fluid
        assert fluid is not None
        one = robot.with_parameters(bodies={"hull": {"fluid": replace(fluid, current=current)}})
        alone = fb.simulate(one, robot.neutral(), np.zeros(robot.nv), duration=0.2, dt=0.01)
        assert error(runs.q[-1, n], alone.q[-1]) < 1e-12


def test_scene_has_the_same_motion() -> None:
    """A ball that sinks in a scene reaches the same terminal velocity, and rests on the ground with its weight less
    the buoyancy."""
    fluid = fb.Fluid(added_mass=[0, 0, 0, 1, 1, 1], volume=1e-3, quadratic_drag=[0, 0, 0, 20, 20, 20])
    b = fb.Builder("ball").body("b", joint=Free(), mass=3.0, inertia=(0.01,) * 3, fluid=fluid)
    robot = b.build()
    scene = fb.Scene(robot, fb.Plane(), contacts=[fb.contact.Shape("b", "sphere", 0.1)])
    start = robot.neutral()
    start[2] = 3.0
    run = fb.simulate(scene, start, np.zeros(6), duration=2.0, dt=0.002)
    assert np.allclose(run.v[-1, 5], -np.sqrt(9.81 * 2.0 / 20.0), rtol=1e-3)
    rest = fb.simulate(scene, [0, 0, 0.1, 1, 0, 0, 0], np.zeros(6), duration=1.0, dt=0.002)
    assert abs(rest.q[-1, 2] - 0.1) < 1e-3 and np.abs(rest.v[-1]).max() < 1e-6


@pytest.mark.parametrize("quadratic", [False, True])
def test_steps_of_a_scene_in_drag_are_stable_up_to_a_bound(quadratic: bool) -> None:
    """Drag F is taken at the start of each step, which leaves 1 - dt F / (m v) of the velocity, with m with the added
    mass: it grows beyond dt F = 2 m v."""
    speed, m = 3.0, 4.0
    drag = {"quadratic_drag" if quadratic else "linear_drag": [0, 0, 0, 20, 20, 20]}
    fluid = fb.Fluid(added_mass=[0, 0, 0, 1, 1, 1], **drag)
    b = fb.Builder("ball", gravity=(0, 0, 0)).body("b", joint=Free(), mass=3.0, inertia=(0.01,) * 3, fluid=fluid)
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("b", "sphere", 0.1)])
    d = 20.0 * speed if quadratic else 20.0  # F / v
    for share, grows in ((0.9, False), (1.9, False), (2.1, True)):
        dt = share * m / d
        run = fb.simulate(scene, [0, 0, 5.0, 1, 0, 0, 0], [0, 0, 0, speed, 0, 0], duration=3 * dt, dt=dt)
        size = np.abs(run.v[:, 3])
        assert np.isclose(run.v[1, 3], speed * (1.0 - share))
        assert (size[-1] > speed) == grows


def test_constrained_robot() -> None:
    """The gripper held at a point: M a + C v + g = τ + Jᵀ f, and the point stays."""
    robot = immersed.vehicle()
    held = robot.constrained(fb.constraints.Contact("gripper", "point"))
    q, v, tau = (x[0] for x in state(robot))
    J = robot.jacobian(q, "gripper", expressed_in="world")[3:]
    v = v - np.linalg.pinv(J) @ (J @ v)
    a, force = held.forward_dynamics(q, v, tau)
    assert error(robot.mass_matrix(q) @ a + robot.bias_force(q, v), tau + held.jacobian(q).T @ force) < 1e-10


def test_currents_on_a_pendulum() -> None:
    """A hinge in a current: linear drag at the bob, D L² ω - D L u cos q by hand."""
    L, D, u = 0.7, 3.0, 0.8
    fluid = fb.Fluid(linear_drag=[0, 0, 0, D, D, D], current=(u, 0.0, 0.0))
    b = fb.Builder("pendulum").body("arm", joint=Revolute("y"), mass=1.0, com=(0, 0, -L), inertia=(0.1,) * 3)
    robot = b.body("bob", parent="arm", position=(0, 0, -L), mass=0.5, fluid=fluid).build()
    q, v = np.array([0.4]), np.array([1.5])
    assert np.allclose(robot.passive_forces(q, v), -D * L * L * v - D * L * u * np.cos(q), rtol=1e-14)
