"""Motions with contacts whose closed form is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

from .bodies import G, ball, box, free_body, on_slope, placed, slope, world_velocity

pytestmark = pytest.mark.usefixtures("no_warnings")


def feet(edges: tuple[float, float, float] = (0.2, 0.2, 0.1)) -> list[Shape]:
    """The four lower corners of a box."""
    x, y, z = (0.5 * e for e in edges)
    return [Shape("body", position=(a * x, b * y, -z)) for a in (-1, 1) for b in (-1, 1)]


def test_a_block_sticks_on_a_slope_without_creeping() -> None:
    angle = 0.4
    robot = box()
    scene = fb.Scene(robot, fb.Plane(friction=0.5, normal=slope(angle)), contacts=["body"])
    run = scene.simulate(on_slope(0.05, angle), duration=1.0, dt=2e-3, every=100)
    creep = np.abs(world_velocity(robot, run.q[-1], run.v[-1])[3:]).max()
    assert creep < 1e-12  # m/s, which is 1e-9 mm/s
    assert np.abs(run.q[-1] - run.q[0]).max() < 1e-12
    assert np.allclose(run.contacts.force[-1].sum(axis=0), [0.0, 0.0, G], atol=1e-9)


def test_a_block_slides_alike_in_all_directions() -> None:
    angle, mu, T = 0.4, 0.25, 0.5
    robot = box()
    expected = G * (np.sin(angle) - mu * np.cos(angle)) * T
    for direction in (0.0, 0.3, np.pi / 4, 2.0):
        scene = fb.Scene(robot, fb.Plane(friction=mu, normal=slope(angle, direction)), contacts=feet())
        run = scene.simulate(on_slope(0.05, angle, direction), duration=T, dt=2e-3, every=50)
        v = world_velocity(robot, run.q[-1], run.v[-1])
        down = np.array([np.cos(angle) * np.cos(direction), np.cos(angle) * np.sin(direction), -np.sin(angle)])
        assert np.allclose(v[3:], expected * down, atol=1e-10)
        assert np.abs(v[:3]).max() < 1e-9  # it does not turn
        assert np.abs(run.contacts.gap[-1]).max() < 1e-10


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_dropped_ball_rebounds_with_e_times_its_speed(e: float) -> None:
    """In steps the fall is z = h - g dt² n (n + 1) / 2: the bounce, and the top after it, are known to rounding."""
    robot, radius, height, dt = ball(), 0.1, 0.5, 1e-3
    scene = fb.Scene(robot, fb.Plane(restitution=e), bounce_above=0.05)
    run = scene.simulate(placed((0, 0, radius + height)), duration=0.7, dt=dt)
    z, v = run.q[:, 2] - radius, run.v[:, robot.names.velocities.index("body.vz")]
    n = np.arange(len(z))
    falls = height - G * dt**2 * n * (n + 1) / 2
    hit = int(np.argmax(falls <= 0.0))  # the step that would end below the floor
    assert np.allclose(z[:hit], falls[:hit], atol=1e-13) and z.min() > -1e-12
    if e == 0.0:
        assert abs(z[hit]) < 1e-12 and np.abs(v[hit + 1 :]).max() < 1e-10
        return
    leaves = e * G * dt * (hit - 1)
    assert np.isclose(v[hit], leaves, rtol=1e-12)
    up = int(leaves / (G * dt))
    top = z[hit] + dt * (leaves * up - G * dt * up * (up + 1) / 2)
    end = min(hit + up + 2, len(z))
    assert np.isclose(z[hit:end].max(), top, rtol=1e-12)
    assert abs(top - e**2 * height) < (1.0 + e) * G * dt * hit * dt  # the way of a step at the speed of the blow


def test_a_sliding_ball_begins_to_roll_at_five_sevenths_of_its_speed() -> None:
    robot, radius, v0, mu, dt = ball(), 0.1, 2.0, 0.3, 1e-3
    scene = fb.Scene(robot, fb.Plane(friction=mu))
    v = np.zeros(6)
    v[robot.names.velocities.index("body.vx")] = v0
    run = scene.simulate(placed((0, 0, radius)), v, duration=0.5, dt=dt)
    speed = np.array([world_velocity(robot, q, w) for q, w in zip(run.q, run.v, strict=True)])
    slip = speed[:, 3] - radius * speed[:, 1]
    begins = 2 * v0 / (7 * mu * G)
    assert abs(run.t[np.argmax(np.abs(slip) < 1e-9)] - begins) < 2 * dt
    assert np.allclose(speed[-1, 3], 5 / 7 * v0, rtol=1e-9)
    before = run.t < begins - dt
    assert np.allclose(speed[before, 3], v0 - mu * G * run.t[before], atol=1e-9)


def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_the_pull() -> None:
    robot, radius, angle, T = ball(), 0.1, 0.3, 0.5
    scene = fb.Scene(robot, fb.Plane(friction=0.8, normal=slope(angle)))
    run = scene.simulate(on_slope(radius, angle), duration=T, dt=1e-3, every=10)
    v = world_velocity(robot, run.q[-1], run.v[-1])
    assert np.allclose(np.linalg.norm(v[3:]), 5 / 7 * G * np.sin(angle) * T, rtol=1e-9)
    assert abs(run.contacts.gap[-1, 0]) < 1e-12


def test_a_spinning_disc_is_braked_by_its_rim() -> None:
    """A disc on three points of its rim, each with a third of its weight: I ω̇ = -μ m g R, and then it rests."""
    radius, mu, spin, dt = 0.1, 0.2, 20.0, 1e-3
    disc = free_body("cylinder", (radius, 0.02), 1.0, (0.0026, 0.0026, 0.5 * radius**2))
    rim = [Shape("body", position=(radius * np.cos(a), radius * np.sin(a), -0.01)) for a in (0.0, 2.0944, 4.18879)]
    scene = fb.Scene(disc, fb.Plane(friction=mu), contacts=rim)
    v = np.zeros(6)
    turning = disc.names.velocities.index("body.wz")
    v[turning] = spin
    run = scene.simulate(placed((0, 0, 0.01)), v, duration=0.6, dt=dt)
    wanted = np.maximum(spin - 2.0 * mu * G / radius * run.t, 0.0)
    # a point moves along its tangent, not its arc: the chord of a step at ω has the direction of half a step later
    assert np.abs(run.v[:, turning] - wanted).max() < 2.0 * mu * G / radius * dt
    assert np.abs(run.v[-1]).max() < 1e-10 and abs(np.linalg.norm(run.q[-1, :2])) < 1e-6


def test_forces_of_redundant_feet_have_the_right_resultants() -> None:
    robot = box((0.4, 0.2, 0.1), mass=3.0)
    six = [Shape("body", position=(x, y, -0.05)) for x in (-0.2, 0.0, 0.2) for y in (-0.1, 0.1)]
    scene = fb.Scene(robot, fb.Plane(friction=0.5), contacts=six)
    assert len(scene.contacts) == 6
    run = scene.simulate(placed((0, 0, 0.05)), duration=0.1, dt=2e-3)
    total = run.contacts.force[-1].sum(axis=0)
    places = np.array([s.position for s in six])
    moment = np.cross(places, run.contacts.force[-1]).sum(axis=0)
    assert np.allclose(total, [0, 0, 3.0 * G], atol=1e-9) and np.abs(moment).max() < 1e-9
    assert (run.contacts.force[1:, :, 2] >= 0.0).all()


def test_a_box_tips_over_its_edge_where_its_weight_leaves_it() -> None:
    robot = box((0.1, 0.2, 0.3))
    for angle, tips in ((0.30, False), (0.34, True)):  # the diagonal of its side is at atan(1/3) = 0.3217
        scene = fb.Scene(robot, fb.Plane(friction=2.0, normal=slope(angle)), contacts=feet((0.1, 0.2, 0.3)))
        run = scene.simulate(on_slope(0.15, angle), duration=0.3, dt=2e-3)
        turning = np.linalg.norm(world_velocity(robot, run.q[-1], run.v[-1])[:3])
        assert (turning > 0.05) if tips else (turning < 1e-11)


def test_friction_may_differ_in_each_sample_of_a_batch() -> None:
    angle, T = 0.4, 0.2
    robot = box()
    scene = fb.Scene(robot, fb.Plane(friction=0.5, normal=slope(angle)), contacts=feet())
    mu = np.array([0.0, 0.1, 0.3, 0.6])
    q = np.repeat(on_slope(0.05, angle)[None], 4, 0)
    run = scene.simulate(q, duration=T, dt=2e-3, numbers={"friction": np.repeat(mu[:, None], len(scene.contacts), 1)})
    speed = np.linalg.norm(run.v[-1], axis=1)
    assert np.allclose(speed, np.maximum(G * (np.sin(angle) - mu * np.cos(angle)) * T, 0.0), atol=1e-7)


def test_a_collision_keeps_momentum_and_loses_energy() -> None:
    b = fb.Builder("two", gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for name, m in (("a", 1.0), ("b", 3.0)):
        b.body(name, joint=fb.joints.Free(), mass=m, inertia=0.4 * m * 0.01 * np.ones(3))
    robot = b.build()
    scene = fb.Scene(robot, contacts=[Shape("a", "sphere", 0.1, restitution=0.6), Shape("b", "sphere", 0.1)])
    assert scene.contacts == ("a:b",)
    n = 16
    q = np.repeat(robot.neutral()[None], n, 0)
    q[:, robot.names.coordinates.index("b.x")] = 0.3
    q[:, robot.names.coordinates.index("b.y")] = rng.uniform(-0.1, 0.1, n)
    v = np.zeros((n, 12))
    v[:, robot.names.velocities.index("a.vx")] = 2.0
    v[:, robot.names.velocities.index("a.wz")] = rng.uniform(-5, 5, n)
    run = scene.simulate(q, v, duration=0.2, dt=1e-3)
    momentum = [robot.momentum(x, y, about="world") for x, y in ((run.q[0], run.v[0]), (run.q[-1], run.v[-1]))]
    energy = robot.kinetic_energy(run.q, run.v)
    assert run.contacts.found.any(axis=0).all()
    assert np.abs(momentum[1] - momentum[0])[:, 3:].max() < 1e-12
    assert (np.diff(energy, axis=0) <= 1e-12).all() and (energy[-1] < energy[0] - 0.01).all()


@pytest.mark.parametrize("joint", [fb.joints.Free(), fb.joints.Spherical()], ids=["free", "ball joint"])
def test_a_tumbling_body_keeps_its_angular_momentum_and_its_energy(joint: Any) -> None:
    """Inertias 1 : 2 : 2.5, ten turns and more: the momentum to rounding, the energy to the square of the step."""
    b = fb.Builder("body", gravity=(0.0, 0.0, 0.0))
    b.body("body", joint=joint, mass=1.0, inertia=(1e-3, 2e-3, 2.5e-3))
    robot, gained = b.build(), []
    scene, v = fb.Scene(robot), np.zeros(robot.nv)
    v[:3] = 10.0
    for dt in (2e-3, 1e-3):
        run = scene.simulate(robot.neutral(), v, duration=4.0, dt=dt)
        energy = robot.kinetic_energy(run.q, run.v)
        gained.append(np.abs(energy / energy[0] - 1.0).max())
        R = robot.pose(run.q, "body")[:, :3, :3]
        momentum = np.einsum("tij,tj->ti", R, run.v[:, :3] * (1e-3, 2e-3, 2.5e-3))
        assert np.abs(momentum - momentum[0]).max() < 1e-13 * len(run.t) * np.abs(momentum[0]).max()  # rounding
    assert gained[0] < 1e-4 and gained[1] < 0.3 * gained[0]


def test_a_tumbling_body_whose_frame_is_elsewhere_gains_nothing_on_the_whole() -> None:
    b = fb.Builder("body", gravity=(0.0, 0.0, 0.0))
    b.body("body", joint=fb.joints.Free(), mass=1.0, com=(0.05, 0.02, -0.01), inertia=(1e-3, 2e-3, 2.5e-3))
    robot = b.build()
    v = np.array([10.0, 10.0, 10.0, 0.0, 0.0, 0.0])
    run = fb.Scene(robot).simulate(robot.neutral(), v, duration=10.0, dt=2e-3)
    energy = robot.kinetic_energy(run.q, run.v) / robot.kinetic_energy(run.q[0], run.v[0])
    assert np.abs(energy - 1.0).max() < 0.03 and abs(energy[-1000:].mean() - energy[:1000].mean()) < 5e-3
