"""Receding horizons, by derivatives and by samples."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.control.random_plans import spline_basis

from .robots import cart_pole


@pytest.fixture(scope="module")
def balancing() -> fb.control.Problem:
    """A pole that is to stand upright, on a cart that is to stay."""
    return fb.control.Problem(
        cart_pole(), driven=["cart"], dt=0.04, steps=30, control=(-20.0, 20.0),
        cost=lambda x, u: [*(2.0 * x.q), *(0.1 * x.v), 0.05 * u[0]], end=lambda x: [*(5.0 * x.q), *(2.0 * x.v)],
    )  # fmt: skip


def test_a_receding_horizon_beats_an_open_loop_under_disturbance(balancing: fb.control.Problem) -> None:
    robot = balancing.robot
    heavier = robot.with_parameters(bodies={"pole": {"mass": 0.3}})
    start, push = np.array([0.2, 0.3]), np.array([0.0, 0.05])  # N m on the pole
    plan = balancing.solve(start)
    open_loop = fb.rollout(heavier, start, tau=balancing.joint_forces(plan.u) + push, dt=0.04, steps=30)
    mpc, q, v = balancing.mpc(), start, np.zeros(2)
    for _ in range(30):
        u = mpc.step(q, v)
        middle = fb.rollout(heavier, q, v, balancing.joint_forces(u) + push, dt=0.01, steps=2)
        fed = mpc.feedback(middle.q[-1], middle.v[-1])
        run = fb.rollout(heavier, middle.q[-1], middle.v[-1], balancing.joint_forces(fed) + push, dt=0.01, steps=2)
        q, v = run.q[-1], run.v[-1]
    assert mpc.plan is not None and mpc.plan.iterations == 1 and abs(mpc.plan.t[0] - 29 * 0.04) < 1e-12
    assert np.abs(q).max() < 0.2 < 5.0 * 0.2 < np.abs(open_loop.q[-1]).max()


def test_a_plan_that_is_shifted_stays_the_best(balancing: fb.control.Problem) -> None:
    mpc = balancing.mpc(iterations=3)
    mpc.step([0.2, 0.3])
    assert mpc.plan is not None
    first = mpc.plan
    mpc.step(first.q[1], first.v[1])
    assert np.abs(mpc.plan.u[0] - first.u[1]).max() < 0.1 and mpc.plan.t[0] == pytest.approx(0.04)
    mpc.step(first.q[3], first.v[3], t=0.12)
    with pytest.raises(fb.ArgumentError, match="before"):
        mpc.step(first.q[3], first.v[3], t=0.0)
    mpc.reset()
    both = mpc.step(np.stack([first.q[0], first.q[1]]), np.stack([first.v[0], first.v[1]]))
    assert both.shape == (2, 1) and (both[0] == first.u[0]).all()


@pytest.mark.parametrize("period", [0.04, 0.2])
def test_costs_of_samples_are_those_of_motions(balancing: fb.control.Problem, period: float) -> None:
    rows, hold = round(1.2 / period), round(period / 0.04)
    rng = np.random.default_rng(0)
    around = np.clip(rng.normal(size=(rows, 1)), -20.0, 20.0)
    planner = balancing.sampling(samples=6, noise=0.5, period=period)
    planner.step([0.1, 0.2], around=around)
    tau = balancing.joint_forces(around)
    run = fb.rollout(balancing.robot, [0.1, 0.2], tau=tau, dt=0.04, steps=30, period=period)
    q, v = run.q[:-1:hold], run.v[:-1:hold]
    total = 0.5 * period * (4.0 * (q**2).sum() + 0.01 * (v**2).sum() + 0.0025 * (around**2).sum())
    total += 0.5 * (25.0 * (run.q[-1] ** 2).sum() + 4.0 * (run.v[-1] ** 2).sum())
    assert planner.costs is not None and abs(planner.costs[0] - total) < 1e-10 * total


@pytest.mark.parametrize("method", ["mppi", "predictive"])
def test_samples_have_the_same_bits_on_any_threads_and_balance_a_pole(
    balancing: fb.control.Problem, method: str
) -> None:
    settings = {"samples": 48, "noise": 3.0, "method": method, "iterations": 2, "order": 3}
    starts, still = np.array([[0.1, 0.2], [0.0, -0.1]]), np.zeros((2, 2))
    one, two, alone = (balancing.sampling(threads=k, **settings) for k in (1, 2, 1))
    for _ in range(2):
        u = one.step(starts, still)
        assert (u == two.step(starts, still)).all()
        assert (u[0] == alone.step(starts[0], still[0])).all()
    robot, q, v = balancing.robot, starts[0], still[0]
    alone.reset()
    for _ in range(60):
        run = fb.rollout(robot, q, v, balancing.joint_forces(alone.step(q, v)), dt=0.04, steps=1)
        q, v = run.q[-1], run.v[-1]
    assert abs(q[1]) < 0.2 and abs(q[0]) < 0.5


def test_splines_pass_through_their_knots() -> None:
    for order in (0, 1, 3):
        at = spline_basis(5, np.linspace(0, 1, 5), order)
        assert np.abs(at - np.eye(5)).max() < 1e-15
        assert np.abs(spline_basis(4, np.linspace(0, 1, 33), order).sum(axis=1) - 1.0).max() < 1e-14
    line = spline_basis(4, np.linspace(0, 1, 33), 3) @ np.linspace(0, 1, 4)
    assert np.abs(line - np.linspace(0, 1, 33)).max() < 0.08


def test_wrong_settings_are_refused(balancing: fb.control.Problem) -> None:
    with pytest.raises(fb.ArgumentError, match="noise"):
        balancing.sampling(noise=-1.0)
    with pytest.raises(fb.ArgumentError, match="whole number of periods"):
        balancing.sampling(period=0.16)
    with pytest.raises(fb.ArgumentError, match="method"):
        balancing.sampling(method="cem")
    with pytest.raises(fb.ArgumentError, match="iterations"):
        balancing.mpc(iterations=0)
