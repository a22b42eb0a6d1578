"""K = ∂φ/∂q of loops, in machine code where there are many rows, and the pivots of its elimination."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.closed_paths import compiled_slopes, loop_slopes
from fourbar.linalg import pick
from fourbar.tree.elimination import smallest_pivot, solve


@pytest.mark.parametrize("name", ["five_bar", "delta", "stewart_platform"])
def test_slopes_are_the_differences_of_residuals(name: str) -> None:
    robot = getattr(fb.robots, name)()
    q = robot.random(0, 5)
    (number,) = [k for k, cluster in enumerate(robot.model.cluster_tree.clusters) if cluster.tie is not None]
    tie = robot.model.cluster_tree.clusters[number].tie
    K = compiled_slopes(robot.mechanism, number)(q)
    assert np.abs(K - tie.slopes(q)).max() < 1e-14 * np.abs(K).max()
    used = loop_slopes(robot.mechanism, number)
    assert np.array_equal(used(q)[2], used(q[2])) and np.abs(used(q) - K).max() < 1e-14 * np.abs(K).max()
    h = 1e-6
    for j in range(robot.loop_jacobian(q[0]).shape[1]):
        step = np.zeros(K.shape[-1])
        step[j] = h
        moved = [robot.loop_residual(displace(robot, q, way * step)) for way in (1.0, -1.0)]
        assert np.abs((moved[0] - moved[1]) / (2.0 * h) - K[..., j]).max() < 1e-8 * np.abs(K).max()


def displace(robot: fb.System, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q (n, nq) displaced by `step` (columns) of every joint of a robot with one cluster, whose loops then open."""
    tree, parts, at = robot.model.cluster_tree, [], 0
    for i in tree.clusters[0].links:
        joint = tree.moving[i].joint
        nq, own = joint.nq, step[: joint.nv]
        parts.append(np.array([joint.integrate(list(x), list(own)) for x in q[:, at : at + nq]], float))
        at, step = at + nq, step[joint.nv :]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_no_solution_is_found_below_the_smallest_pivot(spread: float) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7):
        for _ in range(20):
            A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.7)
            rows, columns = 10.0 ** rng.uniform(-spread, spread, n), 10.0 ** rng.uniform(-1.0, 1.0, n)
            least = smallest_pivot(A, rows, columns)
            b = [[x] for x in rng.normal(size=n)]
            if least < 1e-20:  # which rounding decides
                assert np.linalg.matrix_rank(A) < n
                continue
            above, below = (
                np.array(solve(A.tolist(), b, rows.tolist(), columns.tolist(), least=least * x)) for x in (1.01, 0.99)
            )
            assert np.isnan(above).any()
            np.testing.assert_allclose(A @ below, b, rtol=1e-9, atol=1e-9 * np.abs(A).max() * np.abs(below).max())


def test_columns_are_picked_in_their_order() -> None:
    A = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 3.0, 1.0]])
    assert pick(A, 2) == [2, 1]
    assert pick(A, 2, order=[0, 1]) == [0, 2]  # column 1 is parallel to column 0
    assert pick(A, 2, rather=[3]) == [3, 2]
    assert pick(A * [1e-3, 1.0, 1.0, 1.0], 2, rather=[0]) == [2, 1]  # column 0 is small beside the others
    assert pick(A[:, :2], 2) == [1]
