"""Impulses that contacts leave open: the smallest are taken, and the order of bodies and points does not matter."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

from .bodies import G, box, on_slope, placed, slope

DT = 2e-3


def settled(scene: fb.Scene, q: np.ndarray, v: np.ndarray, steps: int = 600) -> np.ndarray:
    """The contact forces (n, 3) at the end of a motion that comes to rest."""
    run = scene.rollout(q, v, dt=DT, steps=steps)
    assert run.converged.all() and np.abs(run.v[-1]).max() < 1e-8
    return run.contacts.force[-1]


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("velocity", [(0.0,) * 6, (0.3, 0.2, 0.1, 0.1, 0.2, 0.0)])
def test_a_box_on_a_level_floor_has_equal_normals_and_no_sideways_forces(friction, velocity) -> None:
    robot = box((0.2, 0.2, 0.2))
    scene = fb.Scene(robot, fb.Plane(friction=friction), contacts=[Shape("body", "box", (0.2, 0.2, 0.2))])
    force = settled(scene, placed((0, 0, 0.1 + 0.05 * any(velocity))), np.array(velocity))
    pressed = force[force[:, 2] > 1e-9]
    assert len(pressed) == 4
    assert np.abs(pressed - [0.0, 0.0, G / 4.0]).max() < 1e-6


def test_forces_of_six_feet_are_those_of_least_norm() -> None:
    """Against a pseudo-inverse in the norm Σ D λ², D from a mass matrix: feet at random places below one body."""
    rng = np.random.default_rng(5)
    places = np.c_[rng.uniform(-0.2, 0.2, (6, 2)), np.full(6, -0.05)]
    robot = box((0.4, 0.4, 0.1), mass=3.0)
    scene = fb.Scene(robot, fb.Plane(friction=0.9), contacts=[Shape("body", position=p) for p in places])
    force = settled(scene, placed((0, 0, 0.05)), np.zeros(6), steps=100)
    axes = np.eye(3)
    J = np.array([np.r_[np.cross(p, d), d] for p in places for d in axes])
    Omega = J @ np.linalg.solve(robot.mass_matrix(robot.neutral()), J.T)
    D = np.diag(Omega).copy()
    for k in range(6):
        D[3 * k : 3 * k + 2] = np.linalg.eigvalsh(Omega[3 * k : 3 * k + 2, 3 * k : 3 * k + 2])[-1]
    scaled = J.T / np.sqrt(D)
    wanted = (np.linalg.pinv(scaled) @ [0, 0, 0, 0, 0, 3.0 * G]) / np.sqrt(D)
    assert (wanted.reshape(6, 3)[:, 2] > 0.0).all()
    assert np.abs(force - wanted.reshape(6, 3)).max() < 1e-5


def test_a_box_on_a_slope_has_equal_forces_at_corners_of_equal_height() -> None:
    robot = box((0.2, 0.2, 0.1))
    scene = fb.Scene(robot, fb.Plane(friction=0.8, normal=slope(0.4)), contacts=[Shape("body", "box", (0.2, 0.2, 0.1))])
    force = settled(scene, on_slope(0.05, 0.4), np.zeros(6), steps=200)
    pressed = force[np.linalg.norm(force, axis=1) > 1e-9]
    assert len(pressed) == 4 and np.abs(pressed.sum(axis=0) - [0, 0, G]).max() < 1e-6
    assert np.abs(pressed[0] - pressed[1]).max() < 1e-6 or np.abs(pressed[0] - pressed[2]).max() < 1e-6
    mirrored = pressed * [1.0, -1.0, 1.0]
    assert all(np.abs(mirrored - x).max(axis=1).min() < 1e-6 for x in pressed)


def gripper() -> fb.System:
    """Two pads on sliders, and a capsule between them."""
    b = fb.Builder("gripper")
    for side in ("left", "right"):
        b.body(side, joint=fb.joints.Prismatic("x"), mass=0.2, inertia=(1e-4,) * 3)
    b.body("capsule", joint=fb.joints.Free(), mass=0.5, inertia=(4e-4, 4e-4, 2.25e-4))
    return b.build()


@pytest.mark.parametrize("turned", [(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)])
def test_a_symmetric_grasp_holds_with_hardly_more_than_the_least_force(turned) -> None:
    robot, friction = gripper(), 0.5
    least = 0.5 * G / (2.0 * friction)
    pads = [Shape(side, "box", (0.02, 0.05, 0.05)) for side in ("left", "right")]
    scene = fb.Scene(
        robot, fb.Plane(friction=friction), contacts=[*pads, Shape("capsule", "capsule", (0.03, 0.05))],
        pairs=[("left", "capsule"), ("right", "capsule")], grounded=[],
    )  # fmt: skip
    q = np.array([-0.04, 0.04, 0.0, 0.0, 0.0, *turned])
    ratios = np.array([1.02, 1.12, 1.22, 1.43, 1.63, 2.04])
    squeeze = np.zeros((6, 1, robot.nv))
    squeeze[:, 0, 0], squeeze[:, 0, 1] = least * ratios, -least * ratios
    run = scene.rollout(
        np.repeat(q[None], 6, 0), np.zeros((6, robot.nv)), dt=DT, steps=250, tau=np.repeat(squeeze, 250, 1)
    )
    assert run.converged.all() and np.abs(run.q[-1] - q).max() < 1e-12
    names = [x.split(":")[0] for x in scene.contacts]
    force = run.contacts.force[-1]  # (samples, contacts, 3), on the pads
    left, right = (force[:, [n.startswith(side) for n in names]].sum(axis=1) for side in ("left", "right"))
    assert np.abs(left[:, 2] - right[:, 2]).max() < 1e-8 and np.abs(left[:, 0] + right[:, 0]).max() < 1e-8


def test_the_order_of_points_does_not_matter() -> None:
    """A table on twelve feet that slides until it rests: the same motion and forces in any order of its feet."""
    rng = np.random.default_rng(3)
    places = np.c_[rng.uniform(-0.2, 0.2, (12, 2)), np.full(12, -0.05)]
    robot = box((0.4, 0.4, 0.1), mass=3.0)
    v = np.array([0.0, 0.0, 0.0, 0.6, 0.2, 0.0])
    ends = []
    for order in (np.arange(12), rng.permutation(12), np.arange(12)[::-1]):
        shapes = [Shape("body", position=places[k]) for k in order]
        scene = fb.Scene(robot, fb.Plane(friction=0.5), contacts=shapes)
        run = scene.rollout(placed((0, 0, 0.05)), v, dt=DT, steps=100)
        force = np.empty((101, 12, 3))
        force[:, order] = run.contacts.force
        ends.append((run.q, force))
    for q, force in ends[1:]:
        difference = np.abs(force - ends[0][1])
        assert np.abs(q - ends[0][0]).max() < 1e-12 and difference[-1].max() < 1e-9
        assert np.nanmax(difference) < 1e-4  # where the table comes to rest, one step keeps its uneven forces
