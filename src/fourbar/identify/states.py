"""Random states of a robot, in the assembly it is in."""

from __future__ import annotations

import warnings

import numpy as np

from ..model.embedding import Tied
from ..system.robot import System

_STEPS, _SPREAD = 8, 0.1  # of a random walk from neutral
_WORST = 10.0  # times the condition number of the loops in neutral: nearer to a toggle position digits are lost


def _implicit(robot: System) -> list[bool]:
    ties = [group.embedding for group in robot.model.lowered.groups]
    return [isinstance(tie, Tied) and not tie.explicit for tie in ties]


def has_implicit_loops(robot: System) -> bool:
    """Whether q holds dependent coordinates, which say in which assembly a loop is."""
    return any(_implicit(robot))


def _conditions(robot: System, q: np.ndarray) -> np.ndarray:
    """How near to a toggle position the loops are at q (n, nq): the largest condition number of their rows K_d (n)."""
    found, first = np.ones(len(q)), 0
    for group, implicit in zip(robot.model.lowered.groups, _implicit(robot), strict=True):
        tie = group.embedding
        if implicit and isinstance(tie, Tied) and tie.dependent:
            K = tie.numbers(q[:, first : first + tie.nq])[1]
            found = np.maximum(found, np.linalg.cond(K[:, list(tie.rows)][:, :, list(tie.dependent)]))
        first += tie.nq
    return found


def random_configurations(robot: System, rng: np.random.Generator, n: int) -> np.ndarray:
    """q (n, nq) within limits; closed linkages walk from neutral, so that none is in an assembly it cannot move to.

    A step that leads nowhere, or too near to a toggle position, is taken back and the next one is shorter. What cannot
    walk at all is placed at random.
    """
    anywhere, walks = robot.random(rng, n), _implicit(robot)
    if not any(walks):
        return anywhere
    groups = [group.embedding for group in robot.model.lowered.groups]
    walking = np.repeat(walks, [tie.nv for tie in groups])
    own = np.repeat(walks, [tie.nq for tie in groups])
    q = np.where(own, robot.neutral(), anywhere)
    worst = _WORST * _conditions(robot, robot.neutral()[None])[0]
    spread, steps = np.full((n, 1), _SPREAD), np.zeros((n, 1), int)
    for _ in range(_STEPS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            moved = robot.integrate(q, spread * rng.normal(size=(n, robot.nv)) * walking, 1.0)
        finite = np.isfinite(moved).all(axis=1)
        moved = np.where(finite[:, None], moved, q)
        good = (finite & (_conditions(robot, moved) < worst))[:, None]
        q, steps, spread = np.where(good, moved, q), steps + good, np.where(good, spread, 0.5 * spread)
    return np.where(steps > 0, q, anywhere)
