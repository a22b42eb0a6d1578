"""Gradients of whole motions with contacts beside central differences of the motions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.errors import ArgumentError
from tests.contact.walkers import hopper, starts

N, HOLD, DT = 60, 3, 2e-3
NUMBERS = ("thigh.mass", "terrain.friction", "thigh_servo.kp")


def motion(seed: int = 0) -> tuple[fb.Scene, dict[str, Any], np.ndarray]:
    """Hoppers that land, with servos, forces that are held, and weights of all states."""
    robot, scene = hopper(tolerance=1e-12)
    rng = np.random.default_rng(seed)
    q, v = starts(robot, 4)
    u = np.array([0.6, -1.2]) + 0.1 * rng.normal(size=(4, N // HOLD, 2))
    given = {"q": q, "v": v, "tau": 0.1 * rng.normal(size=(4, N // HOLD, 3)), "u": u, "dt": DT, "period": HOLD * DT}
    return scene, given, rng.normal(size=(2, N + 1, 1, 3))


def test_gradients_are_those_of_central_differences() -> None:
    scene, given, w = motion()
    spread = np.broadcast_to(w, (2, N + 1, 4, 3))
    found = scene.rollout_vjp(**given, weights=tuple(spread), parameters=NUMBERS)
    assert (found.run.contacts.force != 0.0).any(axis=(0, 2, 3)).all() and not found.edges.any()

    def total(**changed: Any) -> np.ndarray:
        run = scene.rollout(**{**given, **changed})
        return (w[0] * run.q + w[1] * run.v).sum(axis=(0, 2))

    h = 1e-6
    for name in ("q", "v"):
        for j in range(3):
            d = h * np.eye(3)[j]
            wanted = (total(**{name: given[name] + d}) - total(**{name: given[name] - d})) / (2 * h)
            assert np.allclose(getattr(found, name)[:, j], wanted, rtol=1e-5, atol=1e-4)
    for name, place in (("u", (7, 1)), ("u", (0, 0)), ("tau", (3, 2)), ("tau", (19, 0))):
        d = np.zeros_like(given[name])
        d[:, place[0], place[1]] = h
        wanted = (total(**{name: given[name] + d}) - total(**{name: given[name] - d})) / (2 * h)
        assert np.allclose(getattr(found, name)[:, place[0], place[1]], wanted, rtol=1e-4, atol=1e-5)
    values = {"thigh.mass": 0.5, "terrain.friction": 0.6, "thigh_servo.kp": 80.0}
    for name, value in values.items():
        ends = [total(numbers={name: value + s * h}) for s in (1.0, -1.0)]
        assert np.allclose(found.parameters[name], (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-5)


def test_states_between_records_are_made_again() -> None:
    scene, given, _ = motion(1)
    ones = lambda run: (None, np.ones(run.v.shape))  # noqa: E731
    few = scene.rollout_vjp(**given, weights=ones, every=7)
    times = np.arange(N + 1)
    recorded = ((times % 7 == 0) | (times == N)).astype(float)
    whole = scene.rollout_vjp(**given, weights=lambda run: (None, recorded[:, None, None] * np.ones(run.v.shape)))
    assert len(few.run.t) == 10
    for name in ("q", "v", "tau", "u"):
        own, wanted = getattr(few, name), getattr(whole, name)
        assert np.abs(own - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_one_motion_has_the_bits_of_one_in_a_batch() -> None:
    scene, given, w = motion(2)
    spread = np.broadcast_to(w, (2, N + 1, 4, 3))
    whole = scene.rollout_vjp(**given, weights=tuple(spread))
    one = {**given, **{name: given[name][2] for name in ("q", "v", "tau", "u")}}
    alone = scene.rollout_vjp(**one, weights=tuple(spread[:, :, 2]))
    assert np.array_equal(alone.q, whole.q[2]) and np.array_equal(alone.u, whole.u[2])


def test_a_free_ball_that_lands_and_slides() -> None:
    """The gradient by q is on the tangent at the start, by constant forces one row."""
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.005, 0.006), com=(0.01, 0.0, 0.0))
    scene = fb.Scene(b.build(), fb.Plane(0.3), contacts=[Shape("ball", "sphere", 0.1)], tolerance=1e-12)
    robot = scene.robot
    q, v = np.array([0.0, 0.0, 0.1207, 0.9, 0.1, -0.2, 0.3]), np.array([0.5, 0.2, 0.1, 1.0, -0.5, 0.0])
    q[3:] /= np.linalg.norm(q[3:])
    tau, given = np.array([0.01, 0.0, 0.02, 0.1, 0.0, 0.0]), {"steps": 80, "dt": DT}
    rng = np.random.default_rng(0)
    w = np.zeros((2, 81, 6))
    w[:, -1] = rng.normal(size=(2, 6))
    found = scene.rollout_vjp(q, v, tau, weights=tuple(w), **given)
    assert (found.run.contacts.force[-1] != 0.0).any() and not found.edges

    def total(q: np.ndarray = q, v: np.ndarray = v, tau: np.ndarray = tau) -> float:
        run = scene.rollout(q, v, tau, **given)
        return float(w[0, -1] @ robot.difference(found.run.q[-1], run.q[-1]) + w[1, -1] @ run.v[-1])

    for j in range(6):
        d = 1e-6 * np.eye(6)[j]
        by_q = (total(robot.integrate(q, d, 1.0)) - total(robot.integrate(q, -d, 1.0))) / 2e-6
        by_v, by_tau = (total(v=v + d) - total(v=v - d)) / 2e-6, (total(tau=tau + d) - total(tau=tau - d)) / 2e-6
        assert np.allclose([found.q[j], found.v[j], found.tau[j]], [by_q, by_v, by_tau], rtol=1e-5, atol=1e-5)


def test_weights_and_controls_are_checked() -> None:
    scene, given, w = motion()
    with pytest.raises(ArgumentError, match="w_v must have shape"):
        scene.rollout_vjp(**given, weights=(None, w[0]))
    with pytest.raises(ArgumentError, match="pair"):
        scene.rollout_vjp(**given, weights=w[0])
    with pytest.raises(ArgumentError, match="arrays"):
        scene.rollout_vjp(given["q"], tau=lambda t, q, v: -v, steps=3, weights=(None, None))
