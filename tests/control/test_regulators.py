"""Regulators against SciPy's Riccati solvers, closed forms, and systems that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are, solve_discrete_are

import fourbar as fb


def random_system(rng: np.random.Generator, n: int, m: int, discrete: bool) -> tuple[np.ndarray, ...]:
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, m))
    A *= (1.2 / np.abs(np.linalg.eigvals(A)).max()) if discrete else 1.0
    Q, R = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    return A, B, Q @ Q.T, R @ R.T + np.eye(m), 0.1 * rng.normal(size=(n, m))


def relative(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())


@pytest.mark.quick
@pytest.mark.parametrize("discrete", [False, True])
def test_gains_are_those_of_scipy(discrete: bool) -> None:
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (2, 1), (4, 2), (12, 6), (36, 12)):
        A, B, Q, R, N = random_system(rng, n, m, discrete)
        Q = Q + N @ np.linalg.solve(R, N.T)
        P = (solve_discrete_are if discrete else solve_continuous_are)(A, B, Q, R, s=N)
        found = fb.control.lqr(A, B, Q, R, N, discrete=discrete)
        assert relative(found.P, P) < 1e-10
        K = found.K
        if discrete:
            residual = A.T @ found.P @ A - (A.T @ found.P @ B + N) @ K + Q - found.P
        else:
            residual = A.T @ found.P + found.P @ A - (found.P @ B + N) @ K + Q
        assert np.abs(residual).max() < 1e-12 * max(np.abs(found.P).max() * np.abs(A).max(), 1.0) * n
        assert (np.abs(found.poles) < 1.0).all() if discrete else (np.real(found.poles) < 0.0).all()


def test_a_mass_on_a_rail_has_a_closed_form() -> None:
    """ẍ = u with cost x² + u²: K = [1, √2]; the same in units a thousand times smaller."""
    for unit in (1.0, 1e-3, 1e6):
        found = fb.control.lqr([[0, 1], [0, 0]], [[0], [1.0 / unit]], [1.0, 0.0], [1.0 / unit**2])
        assert relative(found.K, np.array([[1.0, 2.0**0.5]]) * unit) < 1e-14
    long = fb.control.lqr([[1, 1e-3], [0, 1]], [[5e-7], [1e-3]], [1e-3, 0.0], [1e-3], discrete=True)
    P = solve_discrete_are([[1, 1e-3], [0, 1]], [[5e-7], [1e-3]], np.diag([1e-3, 0.0]), [[1e-3]])
    assert relative(long.P, P) < 1e-9


def test_batches_have_the_bits_of_each() -> None:
    rng = np.random.default_rng(1)
    every = [random_system(rng, 4, 2, True)[:4] for _ in range(3)]
    found = fb.control.lqr(*(np.stack(x) for x in zip(*every, strict=True)), discrete=True)
    for k, own in enumerate(every):
        assert (found.K[k] == fb.control.lqr(*own, discrete=True).K).all()


@pytest.mark.quick
def test_what_has_no_solution_says_why() -> None:
    with pytest.raises(fb.SingularError, match=r"controls B do not reach.*2"):
        fb.control.lqr(np.diag([2.0, -1.0]), [[0.0], [1.0]], [1.0, 1.0], [1.0])
    with pytest.raises(fb.SingularError, match="does not see"):
        fb.control.lqr(np.diag([0.0, -1.0]), [[1.0], [1.0]], [0.0, 1.0], [1.0])
    with pytest.raises(fb.SingularError, match="does not see"):
        fb.control.lqr(np.diag([1.0, 0.5]), [[1.0], [1.0]], [0.0, 1.0], [1.0], discrete=True)
    with pytest.raises(fb.ArgumentError, match="positive"):
        fb.control.lqr(np.eye(2), np.eye(2), [1.0, 1.0], [1.0, -1.0])
    with pytest.raises(fb.ArgumentError, match="must be"):
        fb.control.lqr(np.eye(2), np.eye(3), [1.0, 1.0], [1.0])
    with pytest.raises(fb.ArgumentError, match="symmetric"):
        fb.control.lqr(np.eye(2), np.eye(2), [[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0])


def test_a_pendulum_stands_up() -> None:
    arm = fb.robots.double_pendulum()
    q0 = np.array([np.pi, 0.0])
    A, B = fb.linearize(arm, q0)
    K = fb.control.lqr(A, B, [10, 10, 1, 1], [1, 1]).K
    u0 = arm.inverse_dynamics(q0, np.zeros(2), np.zeros(2))
    run = fb.simulate(arm, q0 + np.array([0.1, -0.1]), duration=5.0, dt=0.01,
                      tau=fb.traced(lambda t, q, v: u0 - K @ np.concatenate([q - q0, v])))  # fmt: skip
    assert np.abs(run.q[-1] - q0).max() < 1e-3
