"""The optimum of smooth problems is that of IPOPT, through `fourbar.casadi` (Euler steps, multiple shooting)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .robots import cart_pole

casadi: Any = pytest.importorskip("casadi")
pytestmark = pytest.mark.slow


def ipopt(robot: fb.System, dt: float, steps: int, start: Any, driven: list[int], write: Callable[..., Any]) -> Any:
    """The least cost and the controls (steps, nu). `write(problem, q, v, u)` adds constraints and gives the cost."""
    import fourbar.casadi

    dynamics, n = fourbar.casadi.function(robot.passive_dynamics), robot.nv
    problem = casadi.Opti()
    q, v, u = problem.variable(n, steps + 1), problem.variable(n, steps + 1), problem.variable(len(driven), steps)
    into = np.zeros((n, len(driven)))
    into[driven, range(len(driven))] = 1.0
    a = dynamics.map(steps)(q[:, :-1], v[:, :-1], into @ u)
    problem.subject_to(v[:, 1:] == v[:, :-1] + dt * a)
    problem.subject_to(q[:, 1:] == q[:, :-1] + dt * v[:, 1:])
    problem.subject_to(q[:, 0] == casadi.vertcat(*start))
    problem.subject_to(v[:, 0] == 0)
    problem.minimize(write(problem, q, v, u))
    problem.set_initial(q, casadi.repmat(casadi.vertcat(*start), 1, steps + 1))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-12})
    found = problem.solve()
    return found.value(problem.f), np.asarray(found.value(u)).reshape(len(driven), steps).T


def agrees(found: Any, cost: float, u: np.ndarray) -> None:
    assert found.converged, found.table()
    assert abs(found.cost - cost) < 1e-6 * cost
    assert np.abs(found.u - u).max() < 1e-4 * np.abs(u).max()  # the square root: costs are flat there


def test_an_arm_that_goes_to_a_place() -> None:
    arm, dt, T = fb.robots.double_pendulum(), 0.03, 30
    problem = fb.control.Problem(arm, method="euler", dt=dt, steps=T, cost=lambda x, u: [*(0.3 * u), *(0.2 * x.v)],
                                 end=lambda x: [*(10.0 * (x.q - [1.0, 0.5])), *x.v])  # fmt: skip

    def write(_: Any, q: Any, v: Any, u: Any) -> Any:
        running = 0.5 * dt * (0.09 * casadi.sumsqr(u) + 0.04 * casadi.sumsqr(v[:, :-1]))
        return running + 0.5 * (100.0 * casadi.sumsqr(q[:, -1] - casadi.vertcat(1.0, 0.5)) + casadi.sumsqr(v[:, -1]))

    agrees(problem.solve([0.1, 0.0]), *ipopt(arm, dt, T, [0.1, 0.0], [0, 1], write))


def test_a_cart_pole_with_a_bounded_force() -> None:
    robot, dt, T = cart_pole(), 0.04, 25
    problem = fb.control.Problem(
        robot, method="euler", dt=dt, steps=T, driven=["cart"], control=(-6.0, 6.0),
        cost=lambda x, u: [*(0.2 * u), *(0.1 * x.v)], end=lambda x: [*(5.0 * x.q), *(2.0 * x.v)],
    )  # fmt: skip

    def write(problem: Any, q: Any, v: Any, u: Any) -> Any:
        problem.subject_to(problem.bounded(-6.0, u, 6.0))
        running = 0.5 * dt * (0.04 * casadi.sumsqr(u) + 0.01 * casadi.sumsqr(v[:, :-1]))
        return running + 0.5 * (25.0 * casadi.sumsqr(q[:, -1]) + 4.0 * casadi.sumsqr(v[:, -1]))

    found = problem.solve([0.0, 0.3])
    assert np.abs(found.u).max() == 6.0
    agrees(found, *ipopt(robot, dt, T, [0.0, 0.3], [0], write))


def test_an_arm_within_limits_of_speed_that_must_end_at_a_place() -> None:
    arm, dt, T = fb.robots.double_pendulum(), 0.04, 25
    problem = fb.control.Problem(
        arm, method="euler", dt=dt, steps=T, cost=lambda x, u: [*(0.3 * u), *(0.1 * x.v)],
        within={"speed": (lambda x: x.v, -1.6, 1.6)}, end_within={"there": (lambda x: x.q, [1.2, 0.4], [1.2, 0.4])},
    )  # fmt: skip

    def write(problem: Any, q: Any, v: Any, u: Any) -> Any:
        problem.subject_to(problem.bounded(-1.6, casadi.vec(v[:, 1:]), 1.6))
        problem.subject_to(q[:, -1] == casadi.vertcat(1.2, 0.4))
        return 0.5 * dt * (0.09 * casadi.sumsqr(u) + 0.01 * casadi.sumsqr(v[:, :-1]))

    found = problem.solve([0.0, 0.0], feasibility=1e-8)
    agrees(found, *ipopt(arm, dt, T, [0.0, 0.0], [0, 1], write))
