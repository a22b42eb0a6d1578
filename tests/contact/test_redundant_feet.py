"""Feet with more points than they need, in motion: impulses are not unique, what they do is, and it is found."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

DT, STEPS, BATCH = 2e-3, 150, 64
CORNERS = [(x, y) for x in (-0.05, 0.12) for y in (-0.03, 0.03)]


def walker(legs: list[tuple[float, float]], radius: float) -> tuple[fb.System, list[Shape]]:
    """A trunk on legs with hips, knees and ankles of two axes; each foot is flat, with four spheres (or points)."""
    b = fb.Builder("walker")
    b.body("trunk", joint=fb.joints.Free(), mass=20.0, inertia=(0.5, 0.4, 0.3))
    shapes = []
    for k, at in enumerate(legs):
        parent, place = "trunk", (*at, -0.1)
        for name, axis, mass, below in (
            ("roll", "x", 0.5, 0.0), ("thigh", "y", 3.0, -0.3), ("shin", "y", 2.0, -0.3),
            ("ankle", "y", 0.2, 0.0), ("foot", "x", 0.6, 0.0),
        ):  # fmt: skip
            b.body(f"{name}{k}", parent=parent, joint=fb.joints.Revolute(axis), position=place, mass=mass,
                   com=(0.0, 0.0, 0.5 * below), inertia=(0.01 * mass,) * 3, armature=0.01)  # fmt: skip
            parent, place = f"{name}{k}", (0.0, 0.0, below)
        shapes += [
            Shape(f"foot{k}", "sphere", radius, position=(x, y, -0.04))
            if radius
            else Shape(f"foot{k}", "point", position=(x, y, -0.04))
            for x, y in CORNERS
        ]
    return b.build(), shapes


@pytest.mark.parametrize(
    ("legs", "radius", "friction"),
    [
        pytest.param([(0.0, 0.1), (0.0, -0.1)], 0.005, 0.7, id="biped"),
        pytest.param([(0.0, 0.1), (0.0, -0.1)], 0.0, 0.2, id="slippery"),
    ],
)
def test_every_sample_of_a_swinging_batch_is_solved(legs: list, radius: float, friction: float) -> None:
    """It lands, stands, rocks on its edges and slides; no sample misses a condition by more than the tolerance."""
    robot, shapes = walker(legs, radius)
    scene = fb.Scene(robot, fb.Plane(friction=friction), contacts=shapes, pairs="none", tolerance=1e-8)
    rng = np.random.default_rng(0)
    home = robot.neutral()
    bent = {"roll": 0.0, "thigh": -0.3, "shin": 0.6, "ankle": -0.3, "foot": 0.0}
    home[7:] = [bent[name] for _ in legs for name in bent]
    home = scene.start(home)
    home[2] += 0.01
    phase = rng.uniform(0.0, 2.0 * np.pi, (BATCH, robot.nv - 6))
    gain = np.diag(robot.mass_matrix(home))[6:]

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = home[7:] + 0.2 * np.sin(6.0 * t + phase)
        return np.concatenate((np.zeros((BATCH, 6)), gain * (400.0 * (wanted - q[:, 7:]) - 40.0 * v[:, 6:])), axis=1)

    v = 0.3 * rng.normal(size=(BATCH, robot.nv))
    q = np.repeat(home[None], BATCH, 0)
    run = scene.simulate(q, v, duration=STEPS * DT, dt=DT, tau=torque, every=1)
    assert run.residual.max() <= 1e-8 and run.converged.all()
    down = run.contacts.found[1:].sum(axis=-1)
    assert (down == len(shapes)).any() and (down % 4 != 0).any()  # flat on the floor, and on edges


def crawler(links: int) -> tuple[fb.System, list[Shape]]:
    """Flat links in a row, hinged about z and y in turn, each with four points below."""
    b = fb.Builder("crawler")
    shapes = []
    for k in range(links):
        hinge = fb.joints.Revolute("z" if k % 2 else "y") if k else fb.joints.Free()
        b.body(f"link{k}", parent=f"link{k - 1}" if k else "world", joint=hinge, position=(0.2 if k else 0.0, 0, 0),
               mass=0.5, com=(0.1, 0, 0), inertia=(1e-3, 3e-3, 3e-3), damping=0.02 if k else 0.0)  # fmt: skip
        shapes += [Shape(f"link{k}", "point", position=(x, y, -0.03)) for x in (0.02, 0.18) for y in (-0.04, 0.04)]
    return b.build(), shapes


def test_what_lies_on_many_points_is_solved() -> None:
    """48 rows over nine velocities: it falls, tumbles, slides and comes to lie; more than 997 of 1000 steps are solved,
    and the floor carries its weight in the end."""
    robot, shapes = crawler(4)
    scene = fb.Scene(robot, fb.Plane(friction=0.6), contacts=shapes, pairs="none")
    q = np.repeat(robot.neutral()[None], 4, 0)
    q[:, 2] = 0.06
    v = 0.5 * np.random.default_rng(0).normal(size=(4, robot.nv))
    run = scene.rollout(q, v, dt=1e-3, steps=1500, every=1)
    assert scene.n_impulses == 48 and (run.residual <= 1e-10).mean() > 0.997
    still = np.abs(run.v[-1]).max(axis=-1) < 1e-6
    weight = 4 * 0.5 * 9.81
    assert still.any() and np.abs(run.contacts.force[-1, still, :, 2].sum(axis=-1) - weight).max() < 1e-5
