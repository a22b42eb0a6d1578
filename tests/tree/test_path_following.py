"""Paths along closed configurations: where they cannot begin, and where they turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.tree.path_following import follow_path
from fourbar.tree.sampling import limits_of


def follow(robot: Any, start: np.ndarray, way: Any, length: float, depth: float = 0.3) -> tuple[np.ndarray, bool]:
    tree = robot.model.cluster_tree
    tie = tree.clusters[0].embedding
    given = np.array([start]), np.array([way], float), np.array([length]), np.array([depth])
    q, arrived = follow_path(tie, limits_of(tree, tree.clusters[0]), *given)
    return q[0], bool(arrived[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lost", [np.nan, np.inf], ids=["NaN", "infinite"])
def test_a_path_does_not_arrive_from_where_loops_are_unknown(lost: float) -> None:
    robot = fb.robots.five_bar()
    assert follow(robot, robot.neutral(), [1.0, 0.0, 0.0, 0.0], 0.5)[1]
    assert not follow(robot, np.array([lost, 0.0, 0.0, 0.0]), [1.0, 0.0, 0.0, 0.0], 0.5)[1]


def test_a_path_has_the_length_that_is_asked_for() -> None:
    """A parallelogram moves along q = (a, -a, a): by a = length / sqrt(3), exactly, in closed form."""
    robot = fb.robots.parallelogram()
    start = robot.assemble([1.0, -1.0, 1.0])
    q, arrived = follow(robot, start, [1.0, -1.0, 1.0], 0.9)
    assert arrived and np.allclose(q - start, np.array([1.0, -1.0, 1.0]) * 0.9 / np.sqrt(3.0), atol=1e-9)


def test_a_path_turns_back_before_a_fold() -> None:
    """Beyond a = 0 a parallelogram could go on as an antiparallelogram."""
    robot = fb.robots.parallelogram()
    start = robot.assemble([1.0, -1.0, 1.0])
    q, arrived = follow(robot, start, [-1.0, 1.0, -1.0], 3.0)
    assert arrived and 0.01 < q[0] < 1.4 and np.allclose(q, q[0] * np.array([1.0, -1.0, 1.0]), atol=1e-9)


def test_a_path_is_reflected_at_a_limit() -> None:
    robot = fb.robots.five_bar()
    lower, upper = robot.limits.lower, robot.limits.upper
    limited = int(np.flatnonzero(np.isfinite(upper))[0])
    way = np.eye(4)[limited]
    q, arrived = follow(robot, robot.neutral(), way, 4.0)
    assert arrived and (q >= lower).all() and (q <= upper).all()
    far, arrived = follow(robot, robot.neutral(), way, 0.3)
    assert arrived and far[limited] > 0.1
