"""Limits and dry friction of joints, torsional and rolling friction, laws, batches, and what is said of failures."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import cache

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Compliant, Shape
from fourbar.mechanism.geometry import Geometry
from tests.contact.bodies import G, ball, free_body, placed, world_velocity

pytestmark = pytest.mark.usefixtures("no_warnings")


def slider(**more) -> fb.System:
    b = fb.Builder("slider")
    b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0, **more)
    return b.build()


def test_a_limit_stops_a_joint() -> None:
    run = fb.simulate(fb.Scene(slider(limits=(-0.1, 0.3))), [0.2], duration=0.5, dt=1e-3)
    assert run.q.min() > -0.1 - 1e-12 and np.isclose(run.q[-1, 0], -0.1) and abs(run.v[-1, 0]) < 1e-12
    up = fb.Scene(slider(limits=(-0.1, 0.3))).simulate([0.2], [5.0], duration=0.1, dt=1e-3)
    assert up.q.max() < 0.3 + 1e-12
    free = fb.Scene(slider(limits=(-0.1, 0.3)), limits=False).simulate([0.2], duration=0.5, dt=1e-3)
    assert free.q[-1, 0] < -0.5


def test_dry_friction_holds_and_brakes() -> None:
    """A mass on a vertical rail: friction above its weight holds it, below it slows its fall."""
    held = fb.Scene(slider(friction=2.0 * G + 1.0)).simulate([0.0], duration=0.5)
    assert np.abs(held.q).max() < 1e-12 and np.abs(held.v).max() < 1e-12
    falls = fb.Scene(slider(friction=5.0)).simulate([0.0], duration=0.5, dt=1e-3)
    assert np.isclose(falls.v[-1, 0], -(G - 2.5) * 0.5, rtol=1e-9)


def test_damping_and_springs_are_implicit() -> None:
    """A stiff spring and much damping at a long step: the mass ends at rest where the spring carries it."""
    run = fb.Scene(slider(stiffness=1e7, damping=1e5)).simulate([0.01], duration=1.0, dt=1e-2)
    assert np.isclose(run.q[-1, 0], -2.0 * G / 1e7, atol=1e-9)


def test_a_limit_of_a_dependent_joint_stops_a_loop() -> None:
    """A gear: the geared joint's limit stops the joint that drives it."""
    b = fb.Builder("geared", gravity=(0, 0, 0))
    b.body("first", joint=fb.joints.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body(
        "second", joint=fb.joints.Revolute("z"), position=(1, 0, 0), mass=1.0, inertia=(0.1,) * 3, limits=(-0.5, 0.5)
    )
    b.loop(fb.constraints.Gear("first", "second", 2.0))
    robot = b.build()
    scene = fb.Scene(robot)
    assert [row.name for row in scene.spec.joints] == ["second"]
    q = robot.neutral()
    run = scene.simulate(q, np.full(robot.nv, 1.0), duration=2.0, dt=1e-3, every=100)
    second = robot.expand(run.q)[:, 1]
    assert np.abs(second).max() < 0.5 + 1e-9 and np.isclose(abs(second[-1]), 0.5) and abs(run.v[-1, 0]) < 1e-9


def test_torsional_friction_brakes_a_spin() -> None:
    gamma, spin, T = 0.02, 5.0, 0.2
    robot = ball()
    scene = fb.Scene(robot, fb.Plane(friction=0.5, torsion=gamma))
    v = np.zeros(6)
    v[robot.names.velocities.index("body.wz")] = spin
    run = scene.simulate(placed((0, 0, 0.1)), v, duration=T, dt=1e-3)
    w = run.v[:, robot.names.velocities.index("body.wz")]
    inertia = 0.4 * 0.01
    assert np.isclose(w[-1], max(spin - gamma * G / inertia * T, 0.0), atol=1e-8)
    stops = spin * inertia / (gamma * G)
    longer = scene.simulate(placed((0, 0, 0.1)), v, duration=2 * stops, dt=1e-3, every=50)
    assert abs(longer.v[-1, 2]) < 1e-10


def test_a_moment_is_no_force() -> None:
    """Torsional friction without sliding friction: the contact pushes along its normal only."""
    robot = ball()
    scene = fb.Scene(robot, fb.Plane(friction=0.0, torsion=0.02))
    v = np.zeros(6)
    v[robot.names.velocities.index("body.wz")] = 5.0
    run = scene.simulate(placed((0, 0, 0.1)), v, duration=0.02, dt=1e-3)
    assert run.v[-1, 2] < 5.0 - 0.5 and np.allclose(run.contacts.force[1:, 0], [0.0, 0.0, G])


def test_rolling_friction_brakes_a_rolling_ball() -> None:
    """m a = -F, I α = F r - ρ m g with a = α r: a = -(ρ / r) g / (1 + I / m r²)."""
    rho, v0, r, T = 0.005, 1.0, 0.1, 0.3
    robot = ball(r)
    scene = fb.Scene(robot, fb.Plane(friction=0.8, rolling=rho))
    v = np.zeros(6)
    v[robot.names.velocities.index("body.vx")], v[robot.names.velocities.index("body.wy")] = v0, v0 / r
    run = scene.simulate(placed((0, 0, r)), v, duration=T, dt=1e-3, every=50)
    speed = world_velocity(robot, run.q[-1], run.v[-1])[3]
    assert np.isclose(speed, v0 - rho / r * G / 1.4 * T, atol=1e-7)


def test_a_compliant_floor_gives_way_by_weight_over_stiffness() -> None:
    robot = ball()
    scene = fb.Scene(robot, fb.Plane(), law=Compliant(stiffness=1e4, damping=200.0))
    run = scene.simulate(placed((0, 0, 0.1)), duration=1.0, dt=2e-3, every=100)
    assert np.isclose(run.q[-1, 2], 0.1 - G / 1e4, atol=1e-9)
    assert np.isclose(run.contacts.force[-1, 0, 2], G, atol=1e-6)


def test_the_error_falls_with_the_step() -> None:
    """A ball that slides, then rolls: where it is after a time, to first order in the step."""
    robot = ball()
    v = np.zeros(6)
    v[robot.names.velocities.index("body.vx")] = 2.0
    scene = fb.Scene(robot, fb.Plane(friction=0.3))
    t1 = 2 * 2.0 / (7 * 0.3 * G)
    exact = 2.0 * t1 - 0.5 * 0.3 * G * t1**2 + 5 / 7 * 2.0 * (0.5 - t1)
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = scene.simulate(placed((0, 0, 0.1)), v, duration=0.5, dt=dt, every=1000)
        errors.append(abs(run.q[-1, 0] - exact))
    ratios = np.array(errors[:2]) / np.array(errors[1:])
    assert np.abs(ratios - 2.0).max() < 0.02 and errors[2] < 3e-4


@cache
def quadruped(limits: bool = True) -> tuple[fb.System, fb.Scene]:
    """A table with four hinged legs."""
    b = fb.Builder("table")
    b.body("base", joint=fb.joints.Free(), mass=5.0, inertia=(0.1, 0.2, 0.2))
    names = []
    for x in (-0.2, 0.2):
        for y in (-0.1, 0.1):
            name = f"leg{len(names)}"
            b.body(name, parent="base", joint=fb.joints.Revolute("y"), position=(x, y, 0), mass=0.5, damping=0.1,
                   com=(0, 0, -0.15), inertia=(0.004, 0.004, 1e-4), limits=(-0.5, 0.5))  # fmt: skip
            names.append(name)
    robot = b.build()
    feet = [Shape(name, "sphere", 0.02, position=(0, 0, -0.3)) for name in names]
    return robot, fb.Scene(robot, fb.Plane(friction=0.6), contacts=feet, limits=limits)


def test_the_same_bits_in_any_batch_on_one_and_two_threads() -> None:
    """Thrown about as they are, not all are solved to the tolerance: those are marked alike."""
    warnings.simplefilter("ignore", fb.SimulationWarning)
    robot, scene = quadruped()
    rng = np.random.default_rng(1)
    n, steps = 512, 60
    q = np.repeat(robot.neutral()[None], n, 0)
    q[:, 2] = 0.32 + 0.05 * rng.random(n)
    v = rng.normal(size=(n, robot.nv))
    tau = 5.0 * rng.normal(size=(n, steps, robot.nv))
    tau[..., :6] = 0.0
    whole = scene.rollout(q, v, tau, every=7, threads=1)
    assert whole.contacts.found.any() and whole.converged.mean() > 0.9
    for part in (slice(None), slice(5, 6), slice(3, 10), slice(n - 8, n)):
        for threads in (2,) if part == slice(None) else (1, 2):
            some = scene.rollout(q[part], v[part], tau[part], every=7, threads=threads)
            for name in ("q", "v", "residual", "worst"):
                assert np.array_equal(getattr(some, name), getattr(whole, name)[:, part]), (part, threads, name)
            assert np.array_equal(some.contacts.force, whole.contacts.force[:, part])
    one = scene.rollout(q[5], v[5], tau[5], every=7)
    assert np.array_equal(one.q, whole.q[:, 5]) and np.array_equal(one.contacts.force, whole.contacts.force[:, 5])
    assert np.array_equal(whole.t, np.array([*range(0, 60, 7), 60]) * 2e-3)


def test_worlds_are_stepped_and_reset_in_part() -> None:
    robot, scene = quadruped()
    batch = scene.batch(5)
    start = robot.neutral()
    start[2] = 0.33
    batch.reset(q=start)
    batch.step(steps=3)
    before = batch.q.copy()
    batch.step(np.zeros(robot.nv), ids=[1, 3])
    assert np.array_equal(batch.q[[0, 2, 4]], before[[0, 2, 4]]) and not np.array_equal(batch.q[1], before[1])
    assert np.array_equal(batch.q[1], batch.q[3])
    batch.reset([1], q=start)
    assert np.array_equal(batch.q[1], start) and not batch.v[1].any()
    other = scene.batch(1)
    other.reset(q=start)
    other.step(steps=4)
    batch.step(ids=[1], steps=4)
    assert np.array_equal(other.q[0], batch.q[1]) and batch.converged.all()


def test_energy_never_grows_by_itself() -> None:
    """A table that falls and slips until it lies: no step adds energy, but where it takes back a penetration.

    A foot on an arc is below the floor by what the arc bends in a step. A fifth of that is taken back in the next,
    which lifts the table by so much at most: m g times that is all that a step may add, and c · λ of the tolerance.
    """
    robot, scene = quadruped(limits=False)
    rng = np.random.default_rng(2)
    n, dt, mass = 8, 1e-3, 7.0
    q = np.repeat(robot.neutral()[None], n, 0)
    q[:, 2] = 0.4
    run = scene.simulate(q, 0.5 * rng.normal(size=(n, robot.nv)), duration=1.5, dt=dt)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    depth = np.maximum(-run.contacts.gap[1:], 0.0).max(axis=-1)
    slack = 1e-10 * np.abs(run.contacts.force[1:]).sum(axis=(-1, -2)) * dt + 1e-12
    assert (np.diff(energy, axis=0) < 0.2 * mass * G * depth + slack).all()
    assert (energy[-1] < energy[0] - 1.0).all() and run.converged.all()
    assert np.nanmin(run.contacts.gap) > -2e-4  # ½ ω² r dt² of a leg of 0.3 m at 30 rad/s


def test_controls_may_be_a_function_at_a_period_of_its_own() -> None:
    robot, scene = quadruped()
    asked = []

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append(t)
        force = np.zeros(robot.nv)
        force[6:] = -10.0 * q[7:]
        return force

    q = robot.neutral()
    q[2] = 0.32
    run = scene.simulate(q, duration=0.05, dt=1e-3, tau=torque, period=0.01)
    assert np.allclose(asked, np.arange(5) * 1e-2) and len(run.t) == 51


def test_divergence_is_marked_and_reported() -> None:
    robot, scene = quadruped()
    q = np.repeat(robot.neutral()[None], 3, 0)
    q[:, 2] = 0.35
    tau = np.zeros((3, 40, robot.nv))
    tau[1, 10:, 6:] = 1e300
    with pytest.warns(fb.SimulationWarning, match=r"samples 1 of 3 diverged"):
        run = scene.rollout(q, None, tau)
    assert list(run.diverged) == [False, True, False]
    assert np.isfinite(run.q[:, [0, 2]]).all() and np.isfinite(run.last[0]).all()


def test_what_is_not_solved_is_marked_and_reported() -> None:
    robot, _ = quadruped()
    feet = [Shape(f"leg{k}", "sphere", 0.02, position=(0, 0, -0.3)) for k in range(4)]
    scene = fb.Scene(robot, fb.Plane(friction=0.6), contacts=feet, iterations=1, tolerance=0.0)
    q = robot.neutral()
    q[2] = 0.32
    with pytest.warns(fb.SimulationWarning, match="not solved to the tolerance"):
        run = scene.simulate(q, 0.3 * np.ones(robot.nv), duration=0.05)
    assert not run.converged[-1] and run.worst[-1] > 0.0


def test_shapes_and_floor_of_a_model_are_found() -> None:
    b = fb.Builder("file")
    b.body("floor", geometry=[Geometry("plane", role="collision")])
    shapes = [Geometry("sphere", (0.1,), role="collision"), Geometry("box", (1, 1, 1), role="visual")]
    b.body("toy", joint=fb.joints.Free(), mass=1.0, inertia=(0.01,) * 3, geometry=shapes)
    scene = fb.Scene(b.build())
    assert scene.contacts == ("toy",) and len(scene.terrains) == 1
    meshed = fb.Builder("meshed")
    meshed.body("part", joint=fb.joints.Free(), mass=1.0, inertia=(0.01,) * 3,
                geometry=[Geometry("mesh", mesh="part.stl", role="collision")])  # fmt: skip
    with pytest.warns(fb.SimulationWarning, match="mesh of 'part'"):
        fb.Scene(meshed.build(), fb.Plane())


def test_a_rod_in_painleves_range_does_not_explode() -> None:
    """A rod that slides on its tip with much friction: its velocity stays bounded and the contact is solved."""
    length, m = 1.0, 1.0
    rod = free_body("capsule", (0.001, length), m, (m * length**2 / 12, m * length**2 / 12, 1e-4))
    scene = fb.Scene(rod, fb.Plane(friction=2.0), contacts=[Shape("body", position=(0, 0, -length / 2))])
    angle = 0.6
    v = np.zeros(6)
    push = 3.0
    v[3], v[5] = push * np.cos(angle), push * np.sin(angle)
    q = placed((0, 0, length / 2 * np.cos(angle)), (0, 1, 0), -angle)
    run = scene.simulate(q, v, duration=0.2, dt=1e-4, every=20)
    energy = rod.kinetic_energy(run.q, run.v) + rod.potential_energy(run.q)
    assert (energy < energy[0] + 1e-3).all() and np.nanmin(run.contacts.gap) > -1e-3


def test_a_traced_control_does_what_the_same_in_python_does() -> None:
    robot, scene = quadruped()
    q = robot.neutral()
    q[2] = 0.32

    def pd(t, q, v):
        return np.array([*([0.0] * 6), *(-20.0 * (q[7:] - 0.1 * t) - 0.5 * v[6:])])

    for period in (None, 0.01):
        runs = [scene.simulate(q, duration=0.1, tau=law, period=period) for law in (pd, fb.traced(pd))]
        assert np.allclose(runs[0].q, runs[1].q, atol=1e-9) and np.abs(runs[0].q[-1, 7:]).max() > 1e-3


def test_a_step_that_is_not_finite_leaves_the_state() -> None:
    """Also where only forces overflow: no result may be NaN, for one NaN makes all of them NaN."""
    robot, scene = quadruped()
    q = robot.neutral()
    q[2] = 0.4
    for size in (1e60, 1e200, 1e300):
        tau = np.zeros((2, robot.nv))
        tau[1, 6:] = size
        found = scene.step(np.repeat(q[None], 2, 0), np.zeros(robot.nv), tau, dt=2e-3)
        assert np.array_equal(found.q[1], q) and not found.v[1].any() and found.residual[1] == np.inf
        assert not found.force[1].any() and np.isfinite(found.q[0]).all() and found.residual[0] < 1e-10


def test_a_scene_that_has_moved_can_be_copied_and_pickled() -> None:
    robot, scene = quadruped()
    q = robot.neutral()
    q[2] = 0.33
    tau = np.zeros((20, robot.nv))
    wanted = scene.rollout(q, None, tau)
    for other in (copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert np.array_equal(other.rollout(q, None, tau).q, wanted.q)


def test_a_reset_leaves_nothing_of_the_motion_before() -> None:
    robot, scene = quadruped()
    batch = scene.batch(3)
    start = robot.neutral()
    start[2] = 0.32
    batch.reset(q=start)
    batch.step(steps=5)
    assert batch.force.any() and np.isfinite(batch.gap).all()
    batch.reset(np.array([False, True, False]), q=start, v=np.zeros((1, robot.nv)))
    assert not batch.force[1].any() and not batch.impulse[1].any() and np.isnan(batch.gap[1]).all()
    assert batch.force[[0, 2]].any() and np.isfinite(batch.gap[[0, 2]]).all()


def test_a_world_that_diverges_waits_for_its_reset() -> None:
    robot, scene = quadruped()
    batch, alone = scene.batch(3), scene.batch(1)
    start = robot.neutral()
    start[2] = 0.4
    batch.reset(q=start)
    alone.reset(q=start)
    tau = np.zeros((3, robot.nv))
    tau[1, 6:] = 1e300
    batch.step(tau)
    last = batch.q[1].copy()
    assert list(batch.diverged) == [False, True, False] and not batch.converged[1] and not batch.force[1].any()
    batch.step(np.zeros((3, robot.nv)), steps=3)
    alone.step(steps=4)
    assert batch.diverged[1] and np.array_equal(batch.q[1], last) and batch.residual[1] == np.inf
    assert np.array_equal(batch.q[[0, 2]], np.repeat(alone.q, 2, 0)) and batch.converged[[0, 2]].all()
    batch.step(ids=[1])  # nobody moves
    batch.reset([1], q=start)
    batch.step(ids=[1], steps=4)
    assert not batch.diverged.any() and np.array_equal(batch.q[1], alone.q[0])


def test_the_residual_is_the_largest_of_a_call() -> None:
    robot, scene = quadruped()
    worst, start = 0.0, robot.neutral()
    start[2] = 0.33
    batch, other = scene.batch(2), scene.batch(2)
    for x in (batch, other):
        x.reset(q=start, v=0.3 * np.ones(robot.nv))
    for _ in range(30):
        other.step()
        worst = np.maximum(worst, other.residual)
    batch.step(steps=30)
    assert np.array_equal(batch.residual, worst) and (worst > 0.0).all()


def test_friction_of_worlds_is_changed_by_name() -> None:
    _, scene = quadruped()
    batch = scene.batch(3)
    batch.change("friction", [0.1, 0.2], [0, 2])
    assert np.array_equal(batch.friction, np.repeat([[0.1], [0.6], [0.2]], 4, 1))
    batch.change("friction", 0.3)
    assert (batch.friction == 0.3).all()
    with pytest.raises(KeyError, match="masss"):
        batch.change("masss", 1.0)
    for bad in (-0.1, np.nan, [0.1, 0.2]):
        with pytest.raises(fb.errors.ArgumentError, match="friction"):
            batch.change("friction", bad)


def test_what_a_batch_refuses() -> None:
    robot, scene = quadruped()
    batch = scene.batch(3)
    for call, words in (
        (lambda: scene.batch(0), "a positive integer"),
        (lambda: scene.batch(True), "batch"),
        (lambda: scene.batch(2, dt=-1.0), "dt=-1.0"),
        (lambda: batch.step(steps=0), "steps=0"),
        (lambda: batch.step(ids=[3]), "0 to 2"),
        (lambda: batch.step(ids=[True, False]), "mask of 3"),
        (lambda: batch.step(np.zeros((2, robot.nv))), r"tau must have shape \(3, 10\)"),
        (lambda: batch.step(np.zeros((3, robot.nv)), ids=[1]), r"tau must have shape \(1, 10\)"),
        (lambda: batch.reset(q=np.zeros(3)), "q must have shape"),
        (lambda: batch.reset([0, 1], q=np.zeros((3, robot.nq))), "q must have shape"),
        (lambda: batch.reset(v=np.full(robot.nv, np.nan)), "v is NaN"),
        (lambda: scene.batch(2, dt="1"), "dt='1'"),
        (lambda: batch.step(ids=[1, 0, 1]), "duplicate ids"),
        (lambda: batch.reset(q=np.zeros(robot.nq)), "quaternion"),
    ):
        before = batch.q.copy()
        with pytest.raises(fb.errors.ArgumentError, match=words):
            call()
        assert np.array_equal(batch.q, before)
