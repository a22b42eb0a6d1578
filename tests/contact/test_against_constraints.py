"""The step beside another route: where contacts stick, they are constraints that forces keep."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints import Contact
from fourbar.contact import Shape


def leg() -> tuple[fb.System, str, tuple[float, float, float]]:
    """A leg with two loops."""
    return fb.robots.cassie_leg(), "foot", (0.05, 0.0, -0.05)


def arm() -> tuple[fb.System, str, tuple[float, float, float]]:
    """A chain of three hinges across each other, with springs and damping."""
    b = fb.Builder("arm")
    parent = "world"
    for name, axis in (("first", "x"), ("second", "y"), ("third", "x")):
        b.body(name, parent=parent, joint=fb.joints.Revolute(axis), position=(0.1, 0.05, -0.3), mass=1.0,
               com=(0.0, 0.02, -0.15), inertia=(0.01, 0.012, 0.003), armature=0.01)  # fmt: skip
        parent = name
    return b.build(), "third", (0.0, 0.0, -0.3)


@pytest.mark.parametrize("make", [leg, arm])
def test_a_contact_that_sticks_is_a_held_point(make) -> None:
    robot, body, at = make()
    q = robot.neutral()
    height = (robot.pose(q, body) @ [*at, 1.0])[2]
    scene = fb.Scene(
        robot, fb.Plane(friction=1.0, point=(0, 0, height)), contacts=[Shape(body, position=at)], limits=False
    )
    held = robot.constrained(Contact(body, "point", at_frame=at))
    rng = np.random.default_rng(0)
    pressed = 0
    still = np.zeros(robot.nv)
    for _ in range(60):
        tau = 5.0 * rng.normal(size=robot.nv)
        dt = 1e-3
        after = scene.step(q, still, tau, dt=dt)
        a, force = held.forward_dynamics(q, still, tau)[:2]
        falls = robot.velocity(q, robot.forward_dynamics(q, still, tau), body, at=at)[5] < 0.0
        if np.hypot(*force[:2]) > 0.9 * force[2] or not falls:
            continue  # it would slide, or leave: one that could also stick, jammed, is not pushed into that
        pressed += 1
        assert np.allclose(after.v / dt, a, rtol=1e-6, atol=1e-6)
        assert np.allclose(after.force[0], force, rtol=1e-6, atol=1e-6)
    assert pressed >= 2


def test_loops_stay_closed_while_a_foot_is_on_the_floor() -> None:
    robot, body, at = leg()
    q = robot.neutral()
    height = (robot.pose(q, body) @ [*at, 1.0])[2] - 0.01
    scene = fb.Scene(robot, fb.Plane(friction=0.5, point=(0, 0, height)), contacts=[Shape(body, position=at)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = scene.simulate(q, duration=0.3, dt=1e-3, every=10)
    assert run.contacts.found.any()
    assert robot.loop_gap(run.q).max() < 1e-11
    assert np.nanmin(run.contacts.gap) > -1e-4
