"""Motions of robots with constraints that are enforced by forces, and of robots driven at chosen joints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.sim.robot.constrained import VaryingFollower
from fourbar.tree.parameters import change_parameters, find, parameters


def opened(robot: fb.System) -> Any:
    """A robot whose loops are enforced by forces instead of being embedded."""
    m = robot.mechanism
    return fb.System(replace(m, loops=(), configurations=())).constrained(*(x.loop for x in m.loops))


def test_a_loop_kept_by_forces_moves_as_the_embedded_one_and_stays_closed() -> None:
    robot = fb.robots.crank_rocker()
    held = opened(robot)
    q = robot.assemble(robot.neutral())
    v = np.full(robot.nv, 4.0)
    start = (robot.expand(q), robot.expand_velocity(q, v))
    exact = robot.expand(fb.simulate(robot, q, v, duration=0.8, dt=2e-4, every=400).q)
    errors = []
    for dt in (8e-3, 4e-3):
        found = fb.simulate(held, *start, duration=0.8, dt=dt, every=round(0.08 / dt))
        errors.append(np.abs(found.q - exact).max())
        assert np.abs(held.residual(found.q)).max() < 1e-11 and np.abs(held.rate(found.q, found.v)).max() < 1e-10
    assert errors[1] < 1e-5 and errors[1] < 0.1 * errors[0]  # of fourth order
    energy = held.system.kinetic_energy(found.q, found.v) + held.system.potential_energy(found.q)
    assert np.ptp(energy) < 1e-6 * np.ptp(held.system.kinetic_energy(found.q, found.v))


def test_samples_of_a_batch_move_alone_and_controls_act() -> None:
    robot = fb.robots.double_pendulum()
    held = robot.constrained(fb.constraints.Contact("tip", "point"))
    pinned = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    q, v = pinned.project(np.array([[0.3, 0.1], [0.6, -0.4], [0.1, 0.2]]), np.ones((3, 2)))
    tau = np.random.default_rng(1).normal(size=(3, 20, 2))
    runs = fb.rollout(pinned, q, v, tau, dt=2e-3, every=4, observe={"imu": fb.observe.imu("tip")})
    assert np.abs(pinned.residual(runs.q)).max() < 1e-12 and runs.q.shape == (6, 3, 2)
    for k in range(3):
        alone = fb.simulate(pinned, q[k], v[k], tau=tau[k], duration=0.04, dt=2e-3, every=4)
        assert np.abs(alone.q - runs.q[:, k]).max() < 1e-13
    a = pinned.forward_dynamics(runs.q[-1], runs.v[-1], tau[:, -1])[0]
    linear = robot.acceleration(runs.q[-1], runs.v[-1], a, "tip")[:, 3:] + np.array([0.0, 0.0, 9.81])
    R = robot.pose(runs.q[-1], "tip")[:, :3, :3]
    assert np.abs(runs.observations["imu"][-1, :, 3:] - np.einsum("kji,kj->ki", R, linear)).max() < 1e-8
    still = fb.simulate(held, [0.4, -0.9], duration=0.2, dt=2e-3)  # three rows: it cannot move
    assert np.abs(still.q - [0.4, -0.9]).max() < 1e-12


def test_a_start_that_breaks_a_constraint_is_refused() -> None:
    pinned = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    with pytest.raises(fb.ArgumentError, match="open by"):
        fb.simulate(pinned, [0.3, 0.1], duration=0.1)
    with pytest.raises(fb.ArgumentError, match="moves by"):
        fb.simulate(pinned, pinned.project([0.3, 0.1]), [1.0, 1.0], duration=0.1)
    with pytest.raises(fb.ArgumentError, match="compiled steps"):
        q = pinned.project([0.3, 0.1])
        fb.simulate(pinned, q, duration=0.1, numbers={"lower.mass": 1.0}, period=0, tau=nothing)


def test_controls_that_are_not_finite_are_named() -> None:
    pinned = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    control = np.zeros((20, 2))
    control[5:] = np.nan
    with pytest.warns(fb.SimulationWarning, match=r"tau was NaN or infinite at t = 0\.01 s"):
        run = fb.simulate(pinned, pinned.project([0.3, 0.1]), duration=0.04, dt=2e-3, tau=control)
    assert len(run.t) == 6


def nothing(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """No forces, but asked from Python, where steps are solved by the functions of the robot."""
    return np.zeros_like(v)


def skate() -> Any:
    """A plate on a plane with a blade that does not slip sideways, and an arm."""
    b = fb.Builder("skate")
    b.body("plate", joint=fb.joints.Planar(), mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.2))
    b.body("arm", parent="plate", joint=fb.joints.Revolute("z"), mass=0.5, com=(0.3, 0, 0), inertia=(0.01, 0.01, 0.02))
    return b.build().constrained(fb.constraints.Rows(lambda q: [0.0, 0.0, 1.0], ["plate"]))


def parallelogram() -> Any:
    """Two equal cranks and a coupler, closed by forces: flat, its rows depend on each other."""
    b = fb.Builder("parallelogram")
    rod = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (1e-3, 0.02, 0.02)}
    b.body("crank", joint=fb.joints.Revolute("z"), **rod)
    b.body("rocker", joint=fb.joints.Revolute("z"), position=(0.8, 0, 0), **rod)
    b.body("coupler", parent="crank", joint=fb.joints.Revolute("z"), position=(0.5, 0, 0), **rod)
    pin = fb.loops.Closure(
        fb.joints.Spherical(), "coupler", "rocker", at_predecessor=(0.8, 0, 0), at_successor=(0.5, 0, 0)
    )
    return b.build().constrained(pin)


def test_steps_in_machine_code_are_those_of_the_functions() -> None:
    rng = np.random.default_rng(5)
    linkage = opened(fb.robots.crank_rocker())
    start = fb.robots.crank_rocker()
    q0 = start.assemble(start.neutral())
    sliding = skate()
    cases = [
        (linkage, start.expand(q0), start.expand_velocity(q0, np.full(start.nv, 3.0))),
        (sliding, sliding.system.neutral(), sliding.project(sliding.system.neutral(), rng.normal(size=4))[1]),
    ]
    for held, q, v in cases:
        by_functions = fb.simulate(held, q, v, duration=0.2, dt=2e-3, period=0, tau=nothing)
        compiled = fb.simulate(held, q, v, duration=0.2, dt=2e-3)
        assert np.abs(compiled.q - by_functions.q).max() < 1e-11 and np.abs(compiled.v - by_functions.v).max() < 1e-10
        assert (
            np.abs(held.residual(compiled.q)).max() < 1e-11 and np.abs(held.rate(compiled.q, compiled.v)).max() < 1e-11
        )
        many = fb.simulate(held, np.tile(q, (9, 1)), np.tile(v, (9, 1)), duration=0.2, dt=2e-3)
        assert np.array_equal(many.q[:, 4], compiled.q)


def test_rows_that_depend_on_each_other_for_a_moment() -> None:
    """From the flat position, where the rank is less than elsewhere: the first step is solved by singular values."""
    held = parallelogram()
    q, v = np.zeros(3), np.array([2.0, 2.0, -2.0])
    assert held.rank(q) < held.rank(held.project([0.4, 0.4, -0.4]))
    turned = fb.simulate(held, q, v, duration=0.3, dt=1e-3)
    expected = fb.simulate(held, q, v, duration=0.3, dt=1e-3, period=0, tau=nothing)
    assert len(turned.t) == 301 and np.abs(turned.q - expected.q).max() < 1e-9
    both = fb.rollout(held, [q, held.project([0.4, 0.4, -0.4])], [v, v], dt=1e-3, steps=300)
    assert not both.diverged.any() and np.abs(both.q[-1, 0] - turned.q[-1]).max() < 1e-12


def with_numbers(held: Any, values: dict[str, Any]) -> Any:
    """The constrained robot built with other parameters."""
    robot = held.system
    which = find(parameters(robot.mechanism), values)
    flat = [float(x) for v in values.values() for x in np.ravel(v)]
    other = fb.System(replace(change_parameters(robot.mechanism, which, flat), configurations=()))
    return other.constrained(*held._model.conditions)


def driven_pendulum() -> Any:
    """Two links geared to each other, with damping and a servo."""
    b = fb.Builder("driven")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.002), damping=0.1)
    b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0, 0, -0.4), mass=0.7, com=(0, 0, -0.2),
           inertia=(0.02, 0.02, 0.002))  # fmt: skip
    b.position_servo("servo", drives={"upper": 1.0}, kp=20.0, kd=0.5)
    return b.build().constrained(fb.loops.Gear("upper", "lower", -2.0))


def test_parameters_of_samples_are_those_of_robots_built_with_them() -> None:
    held, n, rng = driven_pendulum(), 3, np.random.default_rng(7)
    values = {
        "gravity": np.array([0.0, 0.0, -9.81]) + rng.normal(size=(n, 3)),
        "lower.mass": rng.uniform(0.4, 1.0, n),
        "upper.com": np.array([0.0, 0.0, -0.2]) + 0.02 * rng.normal(size=(n, 3)),
        "lower.damping": rng.uniform(0.0, 0.2, n),
        "lower.armature": rng.uniform(0.0, 0.02, n),
        "servo.kp": rng.uniform(10.0, 30.0, n),
    }
    q, v = held.project(np.array([[0.3, 0.1], [0.6, -0.4], [0.1, 0.2]]), np.ones((n, 2)))
    u = rng.normal(size=(n, 20, 1))
    watch = {"energy": fb.observe.energy()}
    runs = fb.rollout(held, q, v, u=u, dt=2e-3, every=4, numbers=values, observe=watch)
    for k in range(n):
        other = with_numbers(held, {name: x[k] for name, x in values.items()})
        alone = fb.rollout(other, q[k], v[k], u=u[k], dt=2e-3, every=4, observe=watch)
        assert np.abs(alone.q - runs.q[:, k]).max() < 1e-12 and np.abs(alone.v - runs.v[:, k]).max() < 1e-12
        assert np.abs(alone.observations["energy"] - runs.observations["energy"][:, k]).max() < 1e-11
        one = fb.rollout(held, q[k], v[k], u=u[k], dt=2e-3, every=4, numbers={name: x[k] for name, x in values.items()})
        assert np.array_equal(one.q, runs.q[:, k])
    assert len(np.unique(runs.q[-1, :, 0])) == n and np.abs(held.residual(runs.q)).max() < 1e-12


def test_parameters_of_samples_whose_rows_depend_on_each_other_for_a_moment() -> None:
    """Flat, a parallelogram is stepped by singular values, with the parameters of each sample."""
    held, n = parallelogram(), 3
    q, v = held.project(np.tile([0.3, 0.3, -0.3], (n, 1)), np.tile([-3.0, -3.0, 3.0], (n, 1)))
    values = {
        "coupler.mass": np.array([0.5, 1.0, 2.0]),
        "crank.com": np.array([[0.25, 0, 0], [0.2, 0, 0], [0.3, 0, 0]]),
    }
    steps = []
    step = VaryingFollower.step

    def counted(self: Any, *given: Any) -> Any:
        steps.append(1)
        return step(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VaryingFollower, "step", counted)
        runs = fb.rollout(held, q, v, dt=2e-3, steps=200, numbers=values)
        assert steps
    assert runs.q[:, :, 0].min() < -0.1 and np.abs(held.residual(runs.q)).max() < 1e-11
    for k in range(n):
        other = with_numbers(held, {name: x[k] for name, x in values.items()})
        alone = fb.rollout(other, q[k], v[k], dt=2e-3, steps=200)
        assert np.abs(alone.q - runs.q[:, k]).max() < 1e-9


def test_traced_forces_of_a_constrained_robot_are_compiled() -> None:
    held = fb.robots.double_pendulum().constrained(fb.loops.Gear("shoulder", "elbow", -2.0))
    q = held.project([0.3, 0.1])

    def spring(t: Any, q: Any, v: Any) -> Any:
        return [-3.0 * q[0] - 0.1 * v[0], 0.2]

    for period in (0, None):
        given: dict[str, Any] = {"duration": 0.3, "dt": 2e-3, "period": period}
        traced = fb.simulate(held, q, tau=fb.traced(spring), **given)
        asked = fb.simulate(held, q, tau=lambda t, q, v: np.array(spring(t, q, v)), **given)
        assert np.abs(traced.q - asked.q).max() < 1e-12


def test_an_actuated_robot_moves_by_the_forces_of_its_drives() -> None:
    robot = fb.robots.five_bar()
    driven = robot.actuated([j for j in robot.names.joints if j.startswith(("left", "right"))][-2:])
    q = robot.assemble(robot.neutral())
    f = np.random.default_rng(2).normal(size=(4, 50, len(driven.joints)))
    runs = fb.rollout(driven, q, None, f, dt=1e-3, every=10)
    assert runs.q.shape == (6, 4, robot.nq) and np.array_equal(runs.u[1:], np.swapaxes(f[:, 9::10], 0, 1))

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.einsum("kij,ki->kj", driven.actuator_map(q), f[:, 0])

    start = np.tile(q, (4, 1))
    held = fb.simulate(driven, start, tau=f[:, :1], period=0.05, duration=0.05, dt=1e-3)
    assert np.abs(held.q - fb.simulate(robot, start, period=0, tau=force, duration=0.05, dt=1e-3).q).max() < 1e-12
    law = lambda t, q, v: driven.inverse_dynamics(q, v, 0.0 * v)  # noqa: E731
    still = fb.simulate(driven, q, period=0, tau=law, duration=0.1, dt=1e-3)
    assert np.abs(still.q - q).max() < 1e-9
    with pytest.raises(fb.ArgumentError, match="as tau="):
        fb.simulate(driven, q, u=f, duration=0.05)
    with pytest.raises(fb.ArgumentError, match="traced forces with a period"):
        fb.simulate(driven, q, period=0, tau=fb.traced(lambda t, q, v: [0.0, 0.0]), duration=0.05)


@pytest.mark.parametrize("given", ["tau", "u", "law"])
def test_observations_of_samples_are_those_of_robots_built_with_their_parameters(given: str) -> None:
    """Accelerations of a constrained robot too, with masses and gains that differ."""
    masses, gains = np.array([1.0, 2.0, 3.5]), np.array([5.0, 10.0, 20.0])

    def robot(mass: float, gain: float) -> Any:
        b = fb.Builder("arm")
        b.body("upper", joint=fb.joints.Revolute("y"), mass=mass, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
        b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0.4, 0, 0), mass=0.5, com=(0.1, 0, 0))
        built = b.position_servo("servo", drives="lower", kp=gain, kd=0.1).build()
        return built.constrained(fb.loops.Gear("upper", "lower", -2.0))

    rng = np.random.default_rng(0)
    acting = {"tau": rng.normal(size=(30, 2)), "u": rng.normal(size=(30, 1)),
              "law": fb.traced(lambda t, q, v: -0.3 * v)}[given]  # fmt: skip
    seen = {"a": fb.observe.acceleration("lower"), "imu": fb.observe.imu("upper"), "E": fb.observe.energy()}
    more = {"duration": 0.03, "dt": 1e-3, "observe": seen}
    more |= {"tau": acting, "period": 0} if given == "law" else {given: acting}
    runs = fb.simulate(robot(1.0, 5.0), [0.3, -0.6], numbers={"upper.mass": masses, "servo.kp": gains}, **more)
    for k, both in enumerate(zip(masses, gains, strict=True)):
        alone = fb.simulate(robot(*both), [0.3, -0.6], **more)
        assert np.abs(runs.q[:, k] - alone.q).max() < 1e-12
        for name in seen:
            assert np.abs(runs.observations[name][:, k] - alone.observations[name]).max() < 1e-9, name
