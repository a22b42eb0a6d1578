"""Penetrations are taken back apart from the impulses: no velocity comes from them, and no problem becomes harder."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape, Solid

from .bodies import G, box, placed

DT = 2e-3
EDGES = (0.2, 0.2, 0.1)


def deep_box(depth: np.ndarray, friction: float = 0.5) -> fb.Run:
    scene = fb.Scene(box(EDGES), fb.Plane(friction), contacts=[Shape("body", "box", EDGES)])
    q = np.array([placed((0.0, 0.0, 0.05 - x)) for x in np.atleast_1d(depth)])
    return scene.simulate(q, duration=0.2, dt=DT)


def test_a_deep_box_rises_without_a_velocity() -> None:
    """By a fifth of its depth in each step; nothing throws it, and it rests on the floor."""
    depth = np.array([1e-4, 5e-3, 2e-2])
    run = deep_box(depth)
    assert run.converged.all() and np.abs(run.v).max() < 1e-7 and not np.nansum(run.energy_gain)
    left = 0.05 - run.q[..., 2]
    for k in range(20):
        assert np.allclose(left[k], depth * 0.8**k, rtol=2e-3)
    assert np.abs(left[-1]).max() < 1e-6 and left.min() > -1e-9
    assert np.allclose(run.contacts.force[1:].sum(axis=2), [0.0, 0.0, G], atol=1e-4)


def test_a_joint_beyond_its_limit_returns_without_a_velocity() -> None:
    b = fb.Builder("arm", gravity=(0.0, 0.0, 0.0))
    b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1,) * 3, limits=(-0.5, 0.5))
    run = fb.Scene(b.build()).simulate(np.array([[0.6], [-0.6], [0.5], [0.2]]), duration=0.2, dt=DT)
    assert np.abs(run.v).max() < 1e-12 and not np.nansum(run.energy_gain)
    assert np.allclose(run.q[-1, :, 0], [0.5, -0.5, 0.5, 0.2], atol=1e-6)
    assert (np.abs(run.q[:, :2, 0]) > 0.5 - 1e-12).all()


def test_what_cannot_rise_stays_and_is_solved() -> None:
    """A ball on a turntable, below the floor, and a ball on a slide that leans against it."""
    b = fb.Builder("machine")
    b.body("table", joint=fb.joints.Revolute("z"), mass=1.0, inertia=(0.1,) * 3)
    b.body("slide", joint=fb.joints.Prismatic("x"), position=(2.0, 0.0, 0.0), mass=1.0)
    shapes = [Shape("table", "sphere", 0.05, position=(0.3, 0.0, 0.02)), Shape("slide", "sphere", 0.05)]
    scene = fb.Scene(b.build(), fb.Plane(0.8), contacts=shapes, pairs="none")
    run = scene.simulate([0.3, 0.0], [1.0, 0.5], duration=0.4, dt=DT)
    assert run.converged.all() and np.abs(run.v).max() < 1.01 and np.abs(run.q).max() < 1.0


def test_a_box_too_thick_for_its_place_rests_between_two_walls() -> None:
    b = fb.Builder("box", gravity=(0.0, 0.0, 0.0))
    b.body("box", joint=fb.joints.Prismatic("z"), mass=1.0)
    walls = [Solid("box", (1, 1, 0.2), position=(0, 0, z)) for z in (-0.2, 0.2)]
    balls = [Shape("box", "sphere", 0.05, position=(0, 0, z)) for z in (-0.06, 0.06)]
    run = fb.Scene(b.build(), *walls, contacts=balls).simulate([0.003], duration=0.2, dt=DT)
    assert run.converged.all() and np.abs(run.v).max() < 1e-9
    assert abs(run.q[-1, 0]) < 1e-6  # as deep on both sides


@pytest.mark.parametrize("length", [1e3, 1e-3])
def test_units_do_not_matter(length: float) -> None:
    heights = []
    for a in (1.0, length):
        edges = tuple(a * x for x in EDGES)
        b = fb.Builder("body", gravity=(0.0, 0.0, -G * a))
        b.body("body", joint=fb.joints.Free(), mass=1.0, inertia=tuple(a * a * np.array([0.01, 0.01, 0.02])))
        shape = Shape("body", "box", edges)
        scene = fb.Scene(b.build(), fb.Plane(0.5), contacts=[shape], tolerance=1e-10 * max(a, 1.0))
        heights.append(scene.rollout([0, 0, 0.04 * a, 1, 0, 0, 0], dt=DT, steps=30).q[:, 2] / a)
    assert np.abs(heights[0] - heights[1]).max() < 1e-6


def test_the_same_bits_in_any_company() -> None:
    depth = np.array([0.0, 1e-3, -0.1, 2e-2, 0.0, 5e-3, -0.01, 0.0, 0.0, 1e-6])
    together = deep_box(depth)
    for k in (0, 1, 3, 9):
        alone = deep_box(depth[k])
        assert np.array_equal(alone.q[:, 0], together.q[:, k]) and np.array_equal(alone.v[:, 0], together.v[:, k])
