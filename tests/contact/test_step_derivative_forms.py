"""Derivatives of steps in closed form, beside constrained dynamics, and where modes change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints import Contact
from fourbar.contact import MuJoCo, Shape
from fourbar.errors import ArgumentError, UnknownNameError

from .bodies import G, slope
from .test_against_constraints import arm, leg

DT, ANGLE = 2e-3, 0.4


def block(friction: float) -> fb.Scene:
    """A block that does not turn, on a slope; its velocities are those in the world."""
    b = fb.Builder("block")
    b.body("block", joint=fb.joints.Translation3(), mass=2.0)
    return fb.Scene(b.build(), fb.Plane(friction, normal=slope(ANGLE)), contacts=["block"])


DOWN, NORMAL = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)]), slope(ANGLE)
ACROSS = np.cross(NORMAL, DOWN)


def test_a_block_that_slides_down_a_slope() -> None:
    mu = 0.3
    scene = block(mu)
    v = 1.5 * DOWN
    q = -1e-9 * NORMAL  # pressed, beside the corner of its gap
    J = scene.step.jacobian(q, v, dt=DT, parameters=["terrain.friction", "block.mass", "gravity"])
    assert not J.at_edge and J.condition < 3.0
    by_v = J.A[3:, 3:]
    assert np.allclose(DOWN @ by_v, DOWN + mu * NORMAL, atol=1e-12)  # falling onto the slope is more friction
    assert np.allclose(NORMAL @ by_v, 0.0, atol=1e-12)
    pressing = G * np.cos(ANGLE) * DT
    assert np.isclose(ACROSS @ by_v @ ACROSS, 1.0 - mu * pressing / (J.step.v @ DOWN + mu * pressing), rtol=1e-9)
    found = J.parameters["terrain.friction"]
    assert np.allclose(found[3:], -pressing * DOWN, atol=1e-12)
    assert np.allclose(found[:3], DT * found[3:], atol=1e-12)
    assert np.allclose(J.parameters["block.mass"], 0.0, atol=1e-12)
    assert np.allclose(DOWN @ J.parameters["gravity"][3:], DT * (DOWN + mu * NORMAL), atol=1e-12)
    assert np.allclose(NORMAL @ J.A[3:, :3], 0.0, atol=1e-8)
    assert np.allclose(NORMAL @ J.A[:3, :3], NORMAL, atol=1e-8)


def test_a_block_that_sticks_to_a_slope() -> None:
    scene = block(0.8)
    J = scene.step.jacobian(-1e-9 * NORMAL, np.zeros(3), dt=DT, parameters=["terrain.friction"])
    assert not J.at_edge
    assert np.allclose(J.A[3:, 3:], 0.0, atol=1e-12) and np.allclose(J.B, 0.0, atol=1e-12)
    assert np.allclose(J.parameters["terrain.friction"], 0.0, atol=1e-12)
    assert np.allclose(J.A[3:, :3], 0.0, atol=1e-8)
    recovered = 0.2 / (1.0 + 1e-4 + 1e-6)  # of what was entered, apart from the velocities
    assert np.allclose(J.A[:3, :3], np.eye(3) - recovered * np.outer(NORMAL, NORMAL), atol=1e-8)


@pytest.mark.parametrize("mu", [0.9, 0.05], ids=["rolls", "slides"])
def test_a_ball_on_a_slope(mu: float) -> None:
    radius, mass = 0.1, 2.0
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    scene = fb.Scene(b.build(), fb.Plane(mu, normal=slope(ANGLE)), contacts=[Shape("ball", "sphere", radius)])
    q = np.array([*(radius - 1e-9) * NORMAL, 1.0, 0.0, 0.0, 0.0])
    still = np.zeros(6)
    J = scene.step.jacobian(q, still, dt=DT, parameters=["terrain.friction"])
    assert not J.at_edge
    turning = np.cross(NORMAL, DOWN)  # the axis about which it rolls down
    down, spin = np.r_[np.zeros(3), DOWN], np.r_[turning, np.zeros(3)]
    by_v = J.A[6:, 6:]
    if mu > 0.5:  # as it rolls, 5/7 of its motion are that of its centre
        assert np.isclose(down @ by_v @ down, 5 / 7, atol=1e-8)
        assert np.isclose(down @ by_v @ spin, 2 / 7 * radius, atol=1e-8)
        assert np.isclose(down @ J.B[6:] @ down, DT / mass * 5 / 7, atol=1e-10)
        assert np.allclose(J.parameters["terrain.friction"], 0.0, atol=1e-10)
    else:
        press = G * np.cos(ANGLE) * DT
        assert np.isclose(down @ by_v @ down, 1.0, atol=1e-6)
        assert np.isclose(down @ J.parameters["terrain.friction"][6:], -press, rtol=1e-6)
        assert np.isclose(spin @ J.parameters["terrain.friction"][6:], 2.5 * press / radius, rtol=1e-6)


def test_a_ball_that_mujocos_law_presses_without_damping() -> None:
    """Where nothing is damped the accelerations that contacts judge by are those of the step."""
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.005, 0.006), com=(0.01, 0.0, 0.02))
    scene = fb.Scene(b.build(), fb.Plane(0.4), contacts=[Shape("ball", "sphere", 0.1)], law=MuJoCo())
    rng = np.random.default_rng(0)
    q, v = np.array([0.0, 0.0, 0.0985, 1.0, 0.0, 0.0, 0.0]), 0.3 * rng.normal(size=6)
    w = rng.normal(size=(2, 6))
    J, back = scene.step.jacobian(q, v, dt=DT), scene.step.vjp((q, v), tuple(w), dt=DT)
    assert J.step.force[0, 2] > 1.0
    gradient = np.concatenate([back.gradient.q, back.gradient.v])
    assert np.abs(gradient - np.concatenate(w) @ J.A).max() < 1e-12 * np.abs(J.A).max()


def test_without_contacts_it_is_the_derivative_of_forward_dynamics() -> None:
    robot, _, _ = arm()
    scene = fb.Scene(robot, limits=False)
    rng = np.random.default_rng(2)
    q, v, tau = robot.random(rng, 6), rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    J, wanted = scene.step.jacobian(q, v, tau, dt=DT), robot.forward_dynamics.jacobian(q, v, tau)
    by_state = np.concatenate([DT * wanted.q, np.eye(3) + DT * wanted.v], axis=-1)
    assert np.allclose(J.A[:, 3:], by_state, rtol=0.0, atol=1e-12 * np.abs(by_state).max())
    assert np.allclose(J.A[:, :3], DT * by_state + np.eye(3, 6), rtol=0.0, atol=1e-12)
    assert np.allclose(J.B[:, 3:], DT * wanted.tau, rtol=1e-10)


@pytest.mark.parametrize("make", [leg, arm])
def test_where_a_foot_sticks_it_is_the_derivative_of_constrained_dynamics(make: Any) -> None:
    """By forces, and along the motions that leave the foot where it is."""
    robot, body, at = make()
    q, still = robot.neutral(), np.zeros(robot.nv)
    height = (robot.pose(q, body) @ [*at, 1.0])[2]
    scene = fb.Scene(
        robot, fb.Plane(friction=1.0, point=(0, 0, height)), contacts=[Shape(body, position=at)], limits=False,
        tolerance=1e-12,
    )  # fmt: skip
    held = robot.constrained(Contact(body, "point", at_frame=at))
    rows = robot.jacobian(q, body, at=at)[3:]
    free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T  # motions that leave the point there
    rng, dt, count = np.random.default_rng(0), 1e-3, 0
    for _ in range(40):
        tau = 5.0 * rng.normal(size=robot.nv)
        force = held.forward_dynamics(q, still, tau)[1]
        falls = robot.velocity(q, robot.forward_dynamics(q, still, tau), body, at=at)[5] < 0.0
        if np.hypot(*force[:2]) > 0.9 * force[2] or not falls:
            continue
        J = scene.step.jacobian(q, still, tau, dt=dt)
        wanted = held.forward_dynamics.jacobian(q, still, tau).a
        n = robot.nv
        assert np.allclose(J.B[n:], dt * wanted.tau, rtol=0.0, atol=1e-9 * np.abs(dt * wanted.tau).max() + 1e-15)
        along = dt * wanted.q @ free
        assert np.allclose(J.A[n:, :n] @ free, along, rtol=0.0, atol=1e-9 * np.abs(dt * wanted.q).max())
        count += 1
    assert count >= 2


def test_a_quadruped_on_four_feet_that_stick() -> None:
    """Beside constrained dynamics, but for linear velocities of the base, which turn with it within a step."""
    robot, dt = fb.robots.mini_cheetah(), 2e-3
    feet = [x.name for x in robot.mechanism.bodies if "knee_link" in x.name]
    n, at, rng = robot.nv, (0.0, 0.0, -0.18), np.random.default_rng(0)
    contacts = [Shape(x, position=at) for x in feet]
    scene = fb.Scene(robot, fb.Plane(5.0), contacts=contacts, pairs="none", limits=False, tolerance=1e-13)
    held = robot.constrained(*(Contact(x, "point", at_frame=at) for x in feet))
    q, still = robot.neutral(), np.zeros(n)
    q[[8, 11, 14, 17]], q[[9, 12, 15, 18]] = 0.6, -1.2
    q[2] -= scene.step(q, still, dt=dt).gap.max() + 1e-13
    same, count = np.r_[0:3, 6:n], 0
    for _ in range(20):
        tau = np.concatenate([np.zeros(6), 0.2 * rng.normal(size=n - 6)])
        J = scene.step.jacobian(q, still, tau, dt=dt)
        force = J.step.force
        if not (np.hypot(force[:, 0], force[:, 1]) < 4.9 * force[:, 2]).all():
            continue
        rows = np.concatenate([robot.jacobian(q, x, at=at)[3:] for x in feet])
        free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T
        wanted = held.forward_dynamics.jacobian(q, still, tau).a
        for own, other in ((J.B[n:] / dt, wanted.tau), (J.A[n:, :n] @ free / dt, wanted.q @ free)):
            assert np.abs((own - other)[same]).max() < 1e-9 * max(np.abs(wanted.q).max(), np.abs(other).max())
        count += 1
    assert count >= 2


def test_a_state_between_sticking_and_sliding_is_at_an_edge() -> None:
    at_edge = block(np.tan(ANGLE)).step.jacobian(-1e-9 * NORMAL, np.zeros(3), dt=DT)
    assert at_edge.at_edge and at_edge.edges.tolist() == [True] and at_edge.margins[0] < 1e-6
    above = block(0.8).step.jacobian(0.1 * NORMAL, np.zeros(3), dt=DT)
    assert not above.at_edge and np.isclose(above.margins[0], 0.1 / DT, rtol=1e-2)


def test_smoothing_lets_an_open_contact_matter() -> None:
    scene = block(0.5)
    above = 1e-4 * NORMAL
    exact, soft, softer = (
        NORMAL @ scene.step.jacobian(above, np.zeros(3), dt=DT, smoothing=x).A[3:, :3] @ NORMAL
        for x in (0.0, 0.01, 0.1)
    )
    assert exact == pytest.approx(0.0, abs=1e-9)
    assert -1.0 / DT < softer < soft < -1.0
    pressed = scene.step.jacobian(-1e-6 * NORMAL, 0.5 * DOWN, dt=DT)
    near = scene.step.jacobian(-1e-6 * NORMAL, 0.5 * DOWN, dt=DT, smoothing=1e-9)
    assert np.abs(near.A - pressed.A).max() < 1e-5 * np.abs(pressed.A).max()


def test_what_has_no_derivative_is_refused_by_name() -> None:
    scene = block(0.5)
    q, v = np.zeros(3), np.zeros(3)
    soft = fb.Scene(scene.robot, fb.Plane(), contacts=["block"], law=MuJoCo())
    with pytest.raises(ArgumentError, match="MuJoCo"):
        soft.step.jacobian(q, v, dt=DT, smoothing=0.1)
    with pytest.raises(ArgumentError, match="smoothing"):
        scene.step.jacobian(q, v, dt=DT, smoothing=-1.0)
    with pytest.raises(UnknownNameError, match="friciton"):
        scene.step.jacobian(q, v, dt=DT, parameters=["terrain.friciton"])
    with pytest.raises(TypeError, match="'v' is missing"):
        scene.step.jvp((q,), (v,), dt=DT)
    with pytest.raises(TypeError, match="pair"):
        scene.step.vjp((q, v), v, dt=DT)
    linkage = fb.Scene(fb.robots.five_bar(), limits=False)
    name = next(x for x in linkage.robot.names.numbers if x.endswith(".placement"))
    with pytest.raises(ArgumentError, match="loops"):
        linkage.step.jacobian(linkage.robot.neutral(), np.zeros(2), dt=DT, parameters=[name])
