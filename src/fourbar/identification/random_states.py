"""Random configurations of a robot that determine its parameters accurately."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..linalg import condition
from ..system.system import System

_DRAWS = 20
_WORST = 10.0  # relative to the condition number of the loops at neutral: nearer to a toggle position accuracy is lost


def check_robot(robot: Any) -> None:
    """Refuse anything but a robot."""
    if not isinstance(robot, System):
        raise ArgumentError(f"robot: expected a System, such as fourbar.load(...) returns, got {type(robot).__name__}")


def has_implicit_loops(robot: System) -> bool:
    """Whether q contains dependent coordinates, which select the assembly of a loop."""
    return any(cluster.embedding.is_implicit for cluster in robot.model.cluster_tree.clusters)


def _conditions(robot: System, q: np.ndarray) -> np.ndarray:
    """The nearness of loops to toggle positions at q (n, nq): the largest condition number of their rows K_d (n)."""
    worst = np.ones(len(q))
    for _, tie, places in robot.model.cluster_tree.implicit_clusters:
        if tie.dependent:
            K = tie.units.of(tie.slopes(q[:, places]))  # (n, rows, columns)
            worst = np.maximum(worst, condition(K[:, list(tie.rows)][:, :, list(tie.dependent)]))
    return worst


def random_configurations(robot: System, rng: np.random.Generator, n: int) -> np.ndarray:
    """q (n, nq) within limits. Those too near to a toggle position are drawn again, and finally replaced by others."""
    q = robot.random(rng, n)
    if not has_implicit_loops(robot):
        return q
    worst = _WORST * _conditions(robot, robot.model.neutral()[None])[0]
    for _ in range(_DRAWS):
        near = np.flatnonzero(~(_conditions(robot, q) < worst))
        if not near.size:
            return q
        q[near] = robot.random(rng, len(near))
    valid = np.flatnonzero(_conditions(robot, q) < worst)
    return q[np.resize(valid, n)] if len(valid) else q
