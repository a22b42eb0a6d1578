"""q̇ of whole groups of links: the loops stay closed to first order, and velocities are those of `integrate`."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.tree.clusters import split
from fourbar.tree.embedding import LoopEmbedding
from tests.loops import looped

from .step import STEP, rate

ALL = pytest.mark.parametrize("name", looped.NAMES)


@ALL
def test_loops_stay_closed_to_first_order(name: str) -> None:
    """φ(q + i h q̇) has no imaginary part: K q̇ = 0, for every unit velocity."""
    robot = looped.mechanism(name)
    state = looped.state(name, n=2)
    groups = robot.model.cluster_tree.clusters
    for q in state.q.tolist():
        for group, own in zip(groups, split(groups, q, "nq"), strict=True):
            tie = group.embedding
            if not isinstance(tie, LoopEmbedding) or tie.explicit:
                continue
            for unit in np.eye(tie.nv).tolist():
                moved = [x + 1j * STEP * dx for x, dx in zip(own, tie.rate(own, unit), strict=True)]
                phi = np.array(tie._runs[0](moved), complex)
                assert np.abs(phi.imag / STEP).max(initial=0.0) < 1e-12


@ALL
def test_rate_is_that_of_integrate(name: str) -> None:
    """Against differences of order ten of q ⊕ t v."""
    robot = looped.mechanism(name)
    state = looped.state(name, n=2)
    found = rate(robot, state.q, state.v)
    expected = looped.slope(lambda t: robot.integrate(state.q, state.v, t))
    looped.near(found, expected, 1e-10, np.maximum(1.0, np.abs(expected).max(axis=1)))


@ALL
def test_independent_velocities_come_back(name: str) -> None:
    """d/dt (q ⊕ t v ⊖ q) = v."""
    robot = looped.mechanism(name)
    state = looped.state(name, n=2)
    found = looped.slope(lambda t: robot.difference(state.q, robot.integrate(state.q, state.v, t)))
    looped.near(found, state.v, 1e-10, 1.0)
