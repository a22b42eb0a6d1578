"""Actuators with dynamics and delays: activations against closed forms, and one state in all ways of running."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

DT = 0.01
RNG = np.random.default_rng(7)
ACT = np.array([0.3, -0.1, 0.2, 0.4])
U = RNG.uniform(-2.0, 2.0, (6, 25, 3))


@cache
def arm() -> fb.System:
    """Two links: a filtered and delayed motor, a servo behind an integrator with ends, and a plain motor."""
    b = fb.Builder("arm")
    rod = {"joint": fb.joints.Revolute("y"), "com": (0.0, 0.0, -0.3), "inertia": (0.02, 0.02, 0.01)}
    b.body("upper", mass=1.0, **rod)
    b.body("lower", parent="upper", position=(0.0, 0.0, -0.6), mass=0.5, **rod)
    b.motor("filtered", drives="upper", dynamics=fb.Dynamics("filter", 0.05), delay=2, control_range=(-1.0, 1.0))
    b.position_servo("servo", drives="lower", kp=3.0, kd=0.2, dynamics=fb.Dynamics("integrator", range=(-0.05, 0.3)))
    b.motor("plain", drives="lower")
    b.configuration("reached", {"upper": 0.2}, controls={"plain": 0.5}, activations={"servo": 0.1})
    return b.build()


@cache
def scene() -> fb.Scene:
    """The arm over a floor that it does not reach."""
    return fb.Scene(
        arm(), fb.Plane(point=(0.0, 0.0, -2.0)), contacts=[Shape("lower", "point", position=(0.0, 0.0, -0.6))]
    )


def one(dynamics: Any, **more: Any) -> fb.System:
    """A body on a slide with one motor, mass 1."""
    b = fb.Builder("slide")
    b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    return b.motor("motor", drives="cart", dynamics=dynamics, **more).build()


def simulate(robot: fb.System, u: Any, n: int = 20, **more: Any) -> fb.Run:
    return fb.simulate(robot, [0.0], u=u, duration=n * DT, dt=DT, **more)


def test_exact_filters_follow_the_exponential() -> None:
    run = simulate(one(fb.Dynamics("filterexact", 0.07)), [2.0])
    np.testing.assert_allclose(run.act[:, 0], 2.0 * (1.0 - np.exp(-run.t / 0.07)), rtol=0, atol=1e-14)
    # v = integral of act
    wanted = 2.0 * (run.t - 0.07 * (1.0 - np.exp(-run.t / 0.07)))
    np.testing.assert_allclose(run.v[:, 0], wanted, rtol=0, atol=1e-6)


def test_filters_are_integrated_with_the_motion() -> None:
    """Runge-Kutta: errors fall with the fourth power of the step; x solves the same linear equations."""
    errors = []
    for dt in (0.02, 0.01):
        run = fb.simulate(one(fb.Dynamics("filter", 0.1)), [0.0], u=[1.0], duration=0.4, dt=dt)
        T, exact = run.t, np.exp(-run.t / 0.1)
        x = 0.5 * T**2 - 0.1 * T + 0.01 * (1.0 - exact)
        errors.append(max(np.abs(run.act[:, 0] - 1.0 + exact).max(), np.abs(run.q[:, 0] - x).max()))
    assert 14.0 < errors[0] / errors[1] < 18.0


def test_integrators_stay_within_their_range() -> None:
    run = simulate(one(fb.Dynamics("integrator", range=(-1.0, 0.05))), [1.0])
    np.testing.assert_allclose(run.act[:, 0], np.minimum(run.t, 0.05), rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.diff(run.v[-5:, 0]), 0.05 * DT, rtol=1e-12)


@pytest.mark.parametrize("delay", [1, 4])
def test_delays_by_steps(delay: int) -> None:
    u = RNG.normal(size=(20, 1))
    late = simulate(one(None, delay=delay), u)
    shifted = simulate(one(None), np.concatenate([np.zeros((delay, 1)), u[:-delay]]))
    np.testing.assert_array_equal(late.q, shifted.q)
    np.testing.assert_array_equal(late.act[delay:, 0], u[: 20 - delay + 1, 0])  # the oldest acts next
    np.testing.assert_array_equal(np.asarray(late.u)[1:], u)


def test_an_early_activation_is_that_at_the_end_of_the_step() -> None:
    b = scene().rollout(np.zeros(2), u=np.zeros((1, 3)), act=ACT, dt=DT)
    late, early = (
        fb.Scene(one(fb.Dynamics("filterexact", 0.1, early=early))).rollout([0.0], u=np.ones((5, 1)), dt=DT)
        for early in (False, True)
    )
    np.testing.assert_array_equal(late.act, early.act)
    np.testing.assert_allclose(early.v[1:, 0], np.cumsum(early.act[1:, 0]) * DT, rtol=1e-12)
    np.testing.assert_allclose(late.v[1:, 0], np.cumsum(late.act[:-1, 0]) * DT, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(b.act[0], ACT)


@pytest.mark.parametrize("make", [arm, scene])
def test_motions_go_on_from_their_states(make: Any) -> None:
    """With the state of the actuators a motion can be cut anywhere: the same bits, in batches and alone."""
    subject = make()
    whole = fb.rollout(subject, np.zeros((6, 2)), u=U, act=ACT, dt=DT)
    first = fb.rollout(subject, np.zeros((6, 2)), u=U[:, :10], act=ACT, dt=DT)
    rest = fb.rollout(subject, first.q[-1], first.v[-1], u=U[:, 10:], act=first.act[-1], dt=DT)
    np.testing.assert_array_equal(whole.act[10:], rest.act)
    if subject is arm():
        np.testing.assert_array_equal(whole.q[10:], rest.q)
    alone = fb.rollout(subject, np.zeros(2), u=U[3], act=ACT, dt=DT)
    np.testing.assert_array_equal(whole.act[:, 3], alone.act)
    np.testing.assert_array_equal(whole.q[:, 3], alone.q)


def test_functions_and_traced_functions_give_the_same() -> None:
    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.stack([0.5 - q[..., 0], -v[..., 1], 0.1 * q[..., 1]], axis=-1)

    traced = fb.traced(lambda t, q, v: [0.5 - q[0], -v[1], 0.1 * q[1]])
    for subject in (arm(), scene()):
        runs = [
            fb.simulate(subject, np.zeros(2), u=u, act=ACT, duration=0.2, dt=DT, period=2 * DT)
            for u in (control, traced)
        ]
        np.testing.assert_allclose(runs[0].act, runs[1].act, rtol=0, atol=1e-14)
        np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)


def test_worlds_and_single_steps_are_those_of_rollouts() -> None:
    run = scene().rollout(np.zeros((6, 2)), u=U, act=ACT, dt=DT)
    worlds = scene().batch(6, dt=DT)
    worlds.reset(q=np.zeros(2), act=ACT)
    q, v, act, impulse = np.zeros((6, 2)), np.zeros((6, 2)), np.tile(ACT, (6, 1)), np.zeros((6, scene().n_impulses))
    for k in range(U.shape[1]):
        worlds.step(u=U[:, k])
        step = scene().step(q, v, dt=DT, u=U[:, k], act=act, impulse=impulse)
        q, v, act, impulse = step.q, step.v, step.act, step.impulse
        np.testing.assert_array_equal(worlds.act, run.act[k + 1])
        np.testing.assert_array_equal(worlds.q, run.q[k + 1])
        np.testing.assert_array_equal(act, run.act[k + 1])
        np.testing.assert_array_equal(q, run.q[k + 1])
    worlds.reset([1, 4])
    assert not worlds.act[[1, 4]].any() and worlds.act[[0, 2]].any()
    single = scene().step(run.q[3, 0], run.v[3, 0], dt=DT, u=U[0, 3], act=run.act[3, 0])
    np.testing.assert_array_equal(single.act, run.act[4, 0])


def test_actuators_that_do_not_act_keep_their_state() -> None:
    worlds = scene().batch(2, dt=DT)
    worlds.reset(act=ACT)
    worlds.step(steps=5)
    np.testing.assert_array_equal(worlds.act, [ACT, ACT])
    np.testing.assert_array_equal(worlds.q, 0.0)  # they hang at rest
    assert scene().rollout(np.zeros(2), steps=3).act is None


def test_observed_forces_are_those_of_the_activations() -> None:
    watch = {"force": fb.observe.actuator_force()}
    run = fb.rollout(arm(), np.zeros((6, 2)), u=U, act=ACT, dt=DT, observe=watch)
    force, act = run.observations["force"], run.act
    np.testing.assert_allclose(force[1:, :, 0], act[1:, :, 0], rtol=0, atol=1e-14)
    servo = 3.0 * (act[1:, :, 1] - run.q[1:, :, 1]) - 0.2 * run.v[1:, :, 1]
    np.testing.assert_allclose(force[1:, :, 1], servo, rtol=0, atol=1e-13)
    np.testing.assert_allclose(force[1:, :, 2], np.swapaxes(U, 0, 1)[..., 2], rtol=0, atol=1e-14)


def test_runs_are_saved_and_robots_written(tmp_path: Path) -> None:
    run = fb.rollout(arm(), np.zeros(2), u=U[0], act=ACT, dt=DT)
    again = fb.Run.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.act, run.act)
    assert again.robot is not None and again.robot.mechanism == arm().mechanism
    for name in ("arm.json", "arm.toml"):
        arm().save(tmp_path / name)
        assert fb.load(tmp_path / name).mechanism == arm().mechanism
    key = scene().keyframes["reached"]
    assert key.act.tolist() == [0.0, 0.1, 0.0, 0.0] and key.u.tolist() == [0.0, 0.0, 0.5]
    assert arm().names.activations == ("filtered", "servo", "filtered.1", "filtered.2") and arm().na == 4
    other = arm().renamed(actuators={"servo": "lift"}).mechanism
    assert other.configurations[0].activations == (("lift", 0.1),)
    assert arm().with_parameters(actuators={"servo": {"dynamics": None}}).na == 3


def test_dask_arrays() -> None:
    pytest.importorskip("dask")
    import dask.array as da

    u: Any = da.from_array(U).rechunk((2, -1, -1))
    run = fb.rollout(arm(), np.zeros((6, 2)), u=u, act=ACT, dt=DT)
    np.testing.assert_array_equal(run.act, fb.rollout(arm(), np.zeros((6, 2)), u=U, act=ACT, dt=DT).act)


def test_refusals() -> None:
    robot = arm()
    with pytest.raises(fb.ModelError, match="expected one of 'integrator'"):
        fb.Dynamics("muscle")  # type: ignore[arg-type]
    with pytest.raises(fb.ModelError, match="time_constant=0"):
        fb.Dynamics("filter", 0.0)
    with pytest.raises(fb.ModelError, match="whole number of steps"):
        one(None, delay=0.5)
    with pytest.raises(fb.ModelError, match="'plain' has no dynamics"):
        fb.Builder("x").include(robot.mechanism).configuration("y", {}, activations={"plain": 1.0}).build()
    with pytest.raises(fb.ArgumentError, match="give u= too"):
        fb.simulate(robot, np.zeros(2), act=ACT, duration=0.1)
    with pytest.raises(fb.ArgumentError, match="act"):
        fb.simulate(robot, np.zeros(2), u=np.zeros(3), act=np.zeros(3), duration=0.1)
    with pytest.raises(fb.ArgumentError, match="need compiled steps"):
        fb.simulate(robot, np.zeros(2), tau=lambda t, q, v: -v, u=np.zeros(3), duration=0.1, period=0)
    with pytest.raises(fb.ArgumentError, match="have dynamics or delays"):
        scene().step.jacobian(np.zeros(2), np.zeros(2), dt=DT, u=np.zeros(3))
    with pytest.raises(fb.ArgumentError, match="have dynamics or delays"):
        fb.linearize(robot, np.zeros(2), u=np.zeros(3))
