"""Optimal control of robots: against Riccati's equation, central differences, KKT conditions and Crocoddyl."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import fourbar as fb
from fourbar.control.plants import make_plant
from fourbar.control.problem_drives import read_drives

from .crocoddyl_reach import DT, GOAL, REST, STEPS
from .robots import cart_pole, columns, flyer, reach, scattered


@pytest.fixture(scope="module")
def arm() -> fb.System:
    return fb.robots.double_pendulum()


@pytest.fixture(scope="module")
def reaching(arm: fb.System) -> fb.control.Problem:
    return reach(arm, control=(-3.0, 3.0))


@pytest.mark.parametrize("method", ["rk4", "euler"])
@pytest.mark.parametrize("make", [flyer, pytest.param(fb.robots.five_bar, marks=pytest.mark.slow)])
def test_slopes_of_steps_are_those_of_differences(make: Any, method: str) -> None:
    robot, rng, dt = make(), np.random.default_rng(0), 0.01
    plant = make_plant(robot, read_drives(robot, None), method, 0.0)
    q, v = scattered(robot, rng)
    u = rng.normal(size=plant.drives.count)
    slopes = plant.slopes(q, v, u, {}, dt, None)
    n = robot.nv
    if method == "rk4":
        driven: Any = {"u": u} if plant.drives.by_actuators else {"tau": u}
        A, B = fb.linearize(robot, q, v, dt=dt, **driven)
        assert np.abs(slopes - np.hstack([A, B])).max() < 1e-13
        return

    def step(q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        tau = robot.control_force(q, v, u) if plant.drives.by_actuators else u
        ahead = v + dt * robot.passive_dynamics(q, v, tau)
        return robot.integrate(q, ahead, dt), ahead

    base = step(q, v, u)
    expected = columns(
        robot, q, v, u, lambda *x: np.r_[robot.difference(base[0], step(*x)[0]), step(*x)[1]], 1e-6
    )  # fmt: skip
    assert np.abs(slopes - expected).max() < 1e-8 and slopes.shape == (2 * n, 2 * n + len(u))


def test_derivatives_of_costs_are_those_of_differences() -> None:
    """Residuals: Jᵀ J and Jᵀ r; plain numbers: the Hessian, on tangents of a floating base."""
    robot, rng = flyer(), np.random.default_rng(1)
    q_goal = scattered(robot, rng)[0]

    def plain(x: Any, u: Any, a: Any) -> dict[str, Any]:
        height, spin = x.pose("arm")[2, 3], x.velocity("arm")[0]
        return {
            "r": [*(a * x.difference(q_goal)), u[0] * x.v[2], spin],
            "s": fb.control.plain(height**2 * x.v[3] + u[0] ** 2),
        }

    problem = fb.control.Problem(robot, cost=plain, dt=0.1, steps=1, numbers={"a": 0.7})
    q, v = scattered(robot, rng)
    u, inputs = rng.normal(size=1), {"a": np.array(0.4), "t": np.array(0.0)}
    H, g, report = problem.transcription.running_slopes(q, v, u, inputs, None)

    def terms(*x: Any) -> Any:
        return problem.transcription.running_value(x[0], x[1], x[2], inputs, None)[1:]

    def total(*x: Any) -> Any:
        return problem.transcription.running_value(x[0], x[1], x[2], inputs, None)[0]

    r, J = terms(q, v, u)[:-1], columns(robot, q, v, u, terms)[:-1]
    assert np.abs(g - columns(robot, q, v, u, total)).max() < 1e-8
    assert np.abs(report[0] - 0.1 * (0.5 * r @ r + terms(q, v, u)[-1])) < 1e-14
    n = 2 * robot.nv + 1
    second = np.zeros((n, n))  # of plain numbers, along straight lines on the group
    for k in range(n):
        for j in range(n):
            h, e = 1e-4, [np.eye(n)[k], np.eye(n)[j]]

            def at(d: np.ndarray) -> Any:
                return terms(robot.integrate(q, d[: robot.nv], 1.0), v + d[robot.nv : -1], u + d[-1:])[-1]

            second[k, j] = (at(h * (e[0] + e[1])) - at(h * e[0]) - at(h * e[1]) + at(0 * e[0])) / h**2
    assert np.abs(H - 0.1 * (J.T @ J + second)).max() < 1e-3 * np.abs(H).max()
    assert (H == H.T).all()


def test_the_gain_of_a_linear_system_is_riccati_s() -> None:
    b = fb.Builder("mass", gravity=(0, 0, 0))
    b.body("mass", joint=fb.joints.Prismatic("x"), mass=2.0)
    robot, dt = b.build(), 0.05
    problem = fb.control.Problem(
        robot, cost=lambda x, u: [x.q[0] / dt**0.5, 0.1**0.5 * x.v[0] / dt**0.5, 0.1 * u[0] / dt**0.5], dt=dt, steps=600
    )
    found = problem.solve([1.0])
    A, B = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[dt * dt / 4.0], [dt / 2.0]])
    P = solve_discrete_are(A, B, np.diag([1.0, 0.1]), np.diag([0.01]))
    K = -np.linalg.solve(B.T @ P @ B + 0.01, B.T @ P @ A)
    assert np.abs(found.gains[0] - K).max() < 1e-12 * np.abs(K).max() * 10
    assert np.abs(found.gains[0] + fb.control.lqr(A, B, [1.0, 0.1], [0.01], discrete=True).K).max() < 1e-11
    assert found.converged and found.iterations == 2
    assert abs(found.cost - 0.5 * P[0, 0]) < 1e-12 * P[0, 0]


def test_bounds_hold_exactly_and_a_problem_has_the_bits_of_a_batch(reaching: fb.control.Problem) -> None:
    rng = np.random.default_rng(0)
    q = 0.3 * rng.normal(size=(5, 2))
    found = reaching.solve(q)
    assert found.converged.all() and np.abs(found.u).max() == 3.0
    one = reaching.solve(q[3], threads=1)
    for name in ("q", "v", "u", "gains", "cost", "costate"):
        assert (getattr(one, name) == getattr(found, name)[3]).all(), name
    assert one.iterations == found.iterations[3] and "converged" in found.table(3)
    goals = np.array([[0.5, 0.0, -0.5], [0.3, 0.0, -0.7]])
    both = reaching.solve(q[3], numbers={"goal": goals})
    assert (both.u[0] == one.u).all() and both.cost[1] != both.cost[0]


def slope_of_the_lagrangian(problem: fb.control.Problem, found: Any) -> np.ndarray:
    """By central differences of motions that `rollout` makes, with the multipliers of two constraints of states."""
    robot, T = problem.robot, problem.steps
    y = found.multipliers

    def total(u: np.ndarray) -> np.ndarray:
        tau = np.zeros((*u.shape[:-1], robot.nv))
        tau[..., :1] = u
        run = fb.rollout(robot, np.tile(found.q[0], (len(u), 1)), tau=tau, dt=problem.dt, period=problem.dt)
        x, v, q = np.moveaxis(run.q, 0, 1), np.moveaxis(run.v, 0, 1), run.q[-1]
        cost = 0.5 * problem.dt * ((0.1 * u) ** 2).sum(axis=(1, 2)) + 0.5 * problem.dt * ((0.1 * v[:, :-1]) ** 2).sum(
            axis=(1, 2)
        )
        return cost + (y["track"][:, 0] * x[..., 0]).sum(axis=1) + (y["there"][-1] * q).sum(axis=1)

    h, slope = 1e-4, np.zeros(T)
    for k in range(T):
        e = np.zeros((T, 1))
        e[k] = h
        a, b = total(np.stack([found.u + e, found.u - e]))
        slope[k] = (a - b) / (2 * h)
    return slope


def test_multipliers_meet_the_conditions_of_karush_kuhn_and_tucker() -> None:
    """A cart that may not leave its track, a pole that must end at a place, and a force with bounds."""
    problem = fb.control.Problem(
        cart_pole(), cost=lambda x, u: [*(0.1 * u), *(0.1 * x.v)], dt=0.04, steps=20, control=(-14.0, 14.0),
        driven=["cart"], within={"track": (lambda x: x.q[0], -1.0, 0.3)},
        end_within={"there": (lambda x: x.q, [0.0, -0.2], [0.0, -0.2])},
    )  # fmt: skip
    found = problem.solve([0.0, 0.2], u=[0.1], feasibility=1e-9)
    assert found.converged, found.table()
    assert found.violation < 1e-9 and np.abs(found.u).max() == 14.0
    assert found.q[:, 0].max() < 0.3 + 1e-9 and np.abs(found.q[-1] - [0.0, -0.2]).max() < 1e-8
    y, slope = found.multipliers["track"][:, 0], slope_of_the_lagrangian(problem, found)
    low, high = found.u[:, 0] <= -14.0, found.u[:, 0] >= 14.0
    size = np.abs(found.multipliers["there"]).max()
    assert np.abs(slope[~low & ~high]).max() < 1e-6 * size
    assert high.any() and (slope[high] < 0.0).all() and (slope[low] > 0.0).all()
    assert (y >= 0.0).all() and y.max() > 0.01
    assert np.abs(y * (0.3 - found.q[:, 0])).max() < 1e-6 * y.max()  # complementarity


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_penalties_do_not_depend_on_units_and_begin_where_nothing_costs(arm: fb.System, unit: float) -> None:
    """An arm that hangs at rest, and must not be fast on its way."""
    found = fb.control.Problem(
        arm, cost=lambda x, u: [*(0.1 * u), *(0.1 * x.v)], dt=0.05, steps=20, control=(-8.0, 8.0),
        within={"speed": (lambda x: x.v / unit, -2.0 / unit, 2.0 / unit)},
        end_within={"there": (lambda x: x.q / unit, [1.2 / unit, 0.4 / unit], [1.2 / unit, 0.4 / unit])},
    ).solve([0.0, 0.0], feasibility=1e-7 / unit)  # fmt: skip
    assert found.converged and found.iterations < 60
    assert np.abs(found.q[-1] - [1.2, 0.4]).max() < 2e-7 and np.abs(found.v).max() < 2.0 + 2e-7
    assert np.abs(found.v).max() > 1.9999 and np.abs(found.multipliers["speed"]).max() > 0.0


def test_gaps_are_closed_and_lead_to_the_same_motion(reaching: fb.control.Problem) -> None:
    plain = reaching.solve([0.1, 0.2])
    line = np.linspace([0.1, 0.2], [1.0, -1.0], reaching.steps + 1)
    found = reaching.solve([0.1, 0.2], q_guess=line)
    assert found.converged and found.gap == 0.0
    assert abs(found.cost - plain.cost) < 1e-10 * plain.cost
    warm = reaching.solve([0.1, 0.2], warm=plain)
    assert warm.iterations <= 2 and abs(warm.cost - plain.cost) < 1e-11 * plain.cost


def test_what_is_wrong_is_named(arm: fb.System, reaching: fb.control.Problem) -> None:
    sqrt: Any = fb.sqrt
    nan = fb.control.Problem(arm, cost=lambda x, u, t: {"effort": u, "root": sqrt(0.45 - t)}, dt=0.1, steps=10)
    with pytest.raises(fb.ArgumentError, match=r"'root'.*knot 5"):
        nan.solve([0.0, 0.0])
    held = fb.control.Problem(
        arm, cost=lambda x, u: u, dt=0.1, steps=4, within={"fixed": (lambda x: x.q[0], 5.0, 6.0)}, control=(-1.0, 1.0)
    )
    found = held.solve([0.0, 0.0], iterations=300)
    assert not found.converged and "'fixed' cannot hold" in str(found.reason)
    with pytest.raises(fb.ArgumentError, match="can never hold"):
        fb.control.Problem(arm, cost=lambda u: u, dt=0.1, steps=4, within={"no": (lambda x: x.q[0], 1.0, 0.0)})
    with pytest.raises(fb.UnknownNameError, match="gaol"):
        reaching.solve([0.0, 0.0], numbers={"gaol": [0, 0, 0]})
    with pytest.raises(fb.ArgumentError, match="q must have shape"):
        reaching.solve([0.0, 0.0, 0.0])
    with pytest.raises(fb.UnknownNameError, match="wish"):
        fb.control.Problem(arm, cost=lambda x, wish: x.q, dt=0.1, steps=4)
    free = fb.control.Problem(arm, cost=lambda x: x.q, dt=0.1, steps=1)
    assert "convex" in str(free.solve([0.1, 0.0]).reason) or free.solve([0.1, 0.0]).converged


CROCODDYL_3_2_1 = 0.5416018005736194  # its cost of the reach


@pytest.mark.slow
def test_a_reach_of_a_ur5_costs_what_crocoddyl_finds() -> None:
    share = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"
    path = share / "ur_description/urdf/ur5_robot.urdf"
    if not path.exists():
        pytest.skip("needs example-robot-data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = fb.load(path)
    q0, goal = np.array(REST), np.array(GOAL)
    problem = fb.control.Problem(
        robot, method="euler", dt=DT, steps=STEPS, control=(-np.inf, np.inf), numbers={"goal": goal},
        cost=lambda x, u, goal: [*(0.1**0.5 * (x.q - q0)), *(0.1**0.5 * x.v), *(1e-3**0.5 * u),
                                 *(10**0.5 * (x.pose("tool0")[:3, 3] - goal))],
        end=lambda x, goal: [*(1e3**0.5 * (x.pose("tool0")[:3, 3] - goal)), *x.v],
    )  # fmt: skip
    found = problem.solve(q0, u=robot.inverse_dynamics(q0, np.zeros(6), np.zeros(6)))
    assert found.converged
    assert abs(found.cost - CROCODDYL_3_2_1) < 1e-9 * CROCODDYL_3_2_1
    script = Path(__file__).with_name("crocoddyl_reach.py")
    run = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, text=True, timeout=300)
    if run.returncode == 0:  # it is here, with the Pinocchio that it was built with
        assert abs(found.cost - float(run.stdout)) < 1e-9 * found.cost
