"""Motions of scenes as JAX functions: the states of NumPy, gradients beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError
from tests.contact.walkers import hopper, starts

pytestmark = pytest.mark.usefixtures("double_precision")

jax = pytest.importorskip("jax")
fbj = pytest.importorskip("fourbar.jax")

H = 1e-6


def landing() -> tuple[fb.Scene, Any, tuple[Any, ...]]:
    """Hoppers that land, a cost of their motion, and its arguments."""
    robot, scene = hopper(tolerance=1e-12)
    q, v = starts(robot, 3)
    u = np.array([0.6, -1.2]) + 0.1 * np.random.default_rng(0).normal(size=(3, 20, 2))

    def cost(q: Any, v: Any, u: Any, mass: Any, friction: Any) -> Any:
        numbers = {"thigh.mass": mass, "terrain.friction": friction}
        run = fbj.rollout(scene, q, v, u=u, dt=2e-3, period=6e-3, numbers=numbers)
        return (run.q**2).sum() + (run.v[-1] ** 2).sum()

    return scene, cost, (q, v, u, np.array([0.5, 0.6, 0.4]), 0.6)


def test_gradients_of_a_motion_with_contacts() -> None:
    _, cost, given = landing()
    gradient = jax.jit(jax.grad(cost, argnums=(0, 1, 2, 3, 4)))(*given)
    for k, place in ((0, (2, 1)), (1, (0, 0)), (2, (1, 7, 1)), (3, (1,)), (4, ())):
        ends = []
        for h in (H, -H):
            moved = np.array(given[k], float)
            moved[place] += h
            ends.append(float(cost(*given[:k], moved, *given[k + 1 :])))
        assert np.shape(gradient[k]) == np.shape(given[k])
        assert np.isclose(gradient[k][place], (ends[0] - ends[1]) / (2 * H), rtol=1e-4, atol=1e-5)
    alone = jax.vmap(jax.grad(cost, argnums=(0, 2)), in_axes=(0, 0, 0, 0, None))(*given)
    assert np.array_equal(alone[0], gradient[0]) and np.array_equal(alone[1], gradient[2])


def test_states_are_those_of_numpy() -> None:
    scene, _, (q, v, u, mass, friction) = landing()
    numbers = {"thigh.mass": mass, "terrain.friction": friction}
    run = fbj.rollout(scene, q, v, u=u, dt=2e-3, every=7, numbers=numbers)
    wanted = scene.rollout(q, v, u=u, dt=2e-3, every=7, numbers=numbers)
    assert np.array_equal(run.q, wanted.q) and np.array_equal(run.v, wanted.v) and np.array_equal(run.t, wanted.t)
    assert run.lost is None and not np.asarray(run.diverged).any()


def test_gradients_by_quaternions_are_those_along_the_group() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.005, 0.006))
    contacts = [fb.contact.Shape("ball", "sphere", 0.1)]
    scene = fb.Scene(b.build(), fb.Plane(0.3), contacts=contacts, tolerance=1e-12)
    q = np.array([0.0, 0.0, 0.12, 0.9, 0.1, -0.2, 0.3])
    q[3:] /= np.linalg.norm(q[3:])
    rng = np.random.default_rng(0)
    w, d = rng.normal(size=7), rng.normal(size=6)
    v = np.array([0.5, 0.2, 0.1, 1.0, -0.5, 0.0])

    def height(q: Any) -> Any:
        return fbj.rollout(scene, q, v, steps=80).q[-1] @ w

    gradient = np.asarray(jax.grad(height)(q))
    ends = [float(height(scene.robot.integrate(q, h * d, 1.0))) for h in (H, -H)]
    rates = scene.robot.integrate.jacobian(q, np.zeros(6), 1.0).v
    assert np.isclose(gradient @ (rates @ d), (ends[0] - ends[1]) / (2 * H), rtol=1e-5)
    assert abs(gradient[3:] @ q[3:]) < 1e-12  # constant off the unit quaternions


def test_functions_as_controls_are_refused() -> None:
    scene, _, (q, v, *_) = landing()
    with pytest.raises(ArgumentError, match="make the steps"):
        fbj.rollout(scene, q, v, u=lambda t, q, v: v, steps=3)
