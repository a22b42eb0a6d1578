"""Optimal control through contacts: a puck that is pushed over a floor with friction."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.control.plants import make_plant
from fourbar.control.problem_drives import read_drives


@pytest.fixture(scope="module")
def scene() -> fb.Scene:
    b = fb.Builder("puck")
    b.body("rail", joint=fb.joints.Prismatic("x"), mass=0.5)
    b.body("puck", parent="rail", joint=fb.joints.Prismatic("z"), mass=1.0)
    return fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=[fb.contact.Shape("puck", "sphere", 0.1)])


def test_slopes_are_those_of_the_scene(scene: fb.Scene) -> None:
    plant = make_plant(scene, read_drives(scene.robot, ["rail"]), None, 0.0)
    q, v, u = np.array([0.0, 0.0999]), np.array([0.5, 0.0]), np.array([8.0])
    J = scene.step.jacobian(q, v, [8.0, 0.0], dt=0.01)
    slopes = plant.slopes(q, v, u, {"impulse": J.step.impulse}, 0.01, None)
    assert (slopes == np.hstack([J.A, J.B[:, :1]])).all()


def test_a_puck_is_pushed_to_a_place_and_stays(scene: fb.Scene) -> None:
    problem = fb.control.Problem(
        scene, dt=0.02, steps=25, driven=["rail"], control=(-20.0, 20.0), numbers={"goal": 0.2},
        cost=lambda x, u: {"effort": 0.03 * u},
        end=lambda x, goal: {"there": 30.0 * (x.q[0] - goal), "still": 3.0 * x.v[0]},
    )  # fmt: skip
    start = np.array([0.0, 0.0999])
    found = problem.solve(start, u=[8.0], numbers={"goal": [0.2, -0.2]})
    assert (np.abs(found.q[:, -1, 0] - [0.2, -0.2]) < 5e-3).all() and np.abs(found.v[:, -1, 0]).max() < 0.1
    one = problem.solve(start, u=[8.0], numbers={"goal": -0.2})
    assert (one.u == found.u[1]).all() and (one.gains == found.gains[1]).all()
    tau = np.zeros((25, 2))
    tau[:, :1] = one.u
    run = scene.rollout(start, tau=tau, dt=0.02)
    assert np.abs(run.q - one.q).max() < 1e-9
