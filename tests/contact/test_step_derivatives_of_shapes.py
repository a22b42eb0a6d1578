"""Derivatives of steps of single bodies beside central differences: shapes, terrains and materials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape, Solid

from .step_differences import differences, largest_error, strict

DT, N = 2e-3, 16
LYING = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # along x


def body() -> fb.System:
    b = fb.Builder("body")
    b.body("body", joint=fb.joints.Free(), mass=2.0, inertia=(0.008, 0.009, 0.01), com=(0.01, 0.0, -0.02))
    return b.build()


def dunes() -> fb.SignedDistance:
    return fb.SignedDistance(lambda x, y, z: z - 0.1 * fb.sin(3.0 * x) - 0.02 * y * y, friction=0.6)


def touching(scene: fb.Scene, q: np.ndarray, gap: float = -1e-4) -> np.ndarray:
    """Configurations moved up or down until the nearest point has some gap."""
    q = q.copy()
    for _ in range(40):
        q[:, 2] -= 0.9 * (scene.step(q, np.zeros((len(q), 6)), dt=DT).gap.min(axis=-1) - gap)
    return q


def check(scene: fb.Scene, q: np.ndarray, v: np.ndarray, least: int) -> Any:
    scene.spec = scene.spec._replace(tolerance=1e-13)
    J = scene.step.jacobian(q, v, dt=DT)
    A, B = differences(scene, q, v, DT, np.zeros_like(v))
    away = strict(J, DT)
    assert (J.step.force[away] != 0.0).any(axis=(-2, -1)).sum() >= least
    assert largest_error(J.A, A)[away].max() < 1e-6
    assert largest_error(J.B, B)[away].max() < 1e-6
    return J


def test_a_capsule_across_a_cylinder() -> None:
    """Where they cross moves along the capsule; its second contact is not there, and has a finite derivative."""
    rng = np.random.default_rng(0)
    ground = Solid("cylinder", (0.2, 1.0), rotation=LYING, friction=0.5)
    scene = fb.Scene(body(), ground, contacts=[Shape("body", "capsule", (0.05, 0.6))])
    q = np.tile([0.0, 0.0, 0.25, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0], (N, 1))
    q[:, :2] = 0.05 * rng.normal(size=(N, 2))
    turn = np.concatenate([0.2 * rng.normal(size=(N, 3)), np.zeros((N, 3))], axis=-1)
    q = touching(scene, scene.robot.integrate(q, turn, 1.0))
    check(scene, q, 0.3 * rng.normal(size=(N, 6)), 8)


@pytest.mark.parametrize("kinds", [("capsule", "cylinder"), ("cylinder", "capsule")])
def test_derivatives_are_finite_wherever_bodies_are(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    own, other = kinds
    scene = fb.Scene(body(), Solid(other, (0.1, 0.3)), contacts=[Shape("body", own, (0.05, 0.1))])
    q = scene.robot.random(rng, 200)
    q[:, :3] = 0.2 * rng.normal(size=(200, 3))
    v = rng.normal(size=(200, 6))
    J, back = scene.step.jacobian(q, v, dt=DT), scene.step.vjp((q, v), (v, v), dt=DT)
    assert np.isfinite(J.A).all() and np.isfinite(back.gradient.q).all() and np.isfinite(back.gradient.v).all()


def test_a_ball_that_rebounds_from_dunes() -> None:
    """Restitution replaces all that is added to the velocity along the normal, also the drift of what curves."""
    rng = np.random.default_rng(1)
    scene = fb.Scene(body(), dunes(), contacts=[Shape("body", "sphere", 0.1, restitution=0.6)])
    q = scene.robot.random(rng, N)
    q[:, :3] = [0.0, 0.0, 0.1] + 0.1 * rng.normal(size=(N, 3))
    v = np.concatenate([2.0 * rng.normal(size=(N, 3)), rng.normal(size=(N, 3))], axis=-1)
    J = check(scene, touching(scene, q), v, 6)
    assert J.step.residual.max() < 1e-12


@pytest.mark.parametrize("name", ["body.mass", "body.com", "body.inertia"])
def test_numbers_of_a_body_that_tumbles(name: str) -> None:
    """Its mass is in the map of its velocities too, beside single points of contact."""
    rng, robot = np.random.default_rng(2), body()
    scene = fb.Scene(robot, fb.Plane(0.5), contacts=[Shape("body", "sphere", 0.1)], tolerance=1e-13)
    q, v = np.tile([0.0, 0.0, 0.1 - 1e-4, 1.0, 0.0, 0.0, 0.0], (5, 1)), rng.normal(size=(5, 6))
    start: Any = {"body.mass": 1.5, "body.com": np.array([0.02, 0.01, -0.03]),
                  "body.inertia": np.diag([0.01, 0.012, 0.015])}  # fmt: skip
    value = start[name]
    found = scene.step.jacobian(q, v, dt=DT, numbers={name: value}, parameters=[name]).parameters[name]
    base = scene.step(q, v, dt=DT, numbers={name: value})
    for place in np.ndindex(np.shape(value)):
        unit = np.zeros(np.shape(value))
        unit[place] += 0.5
        unit[place[::-1] if len(place) == 2 else place] += 0.5
        ends = [scene.step(q, v, dt=DT, numbers={name: value + h * unit}) for h in (1e-7, -1e-7)]
        rates = [np.concatenate([robot.difference(base.q, x.q), x.v], axis=-1) for x in ends]
        wanted = (rates[0] - rates[1]) / 2e-7
        assert np.abs(found[(..., *place)] - wanted).max() < 1e-6 * max(1.0, np.abs(found).max())
