"""What the random mechanisms are made of: tests on them mean something only if they hold everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fourbar import System
from fourbar.joints import REGISTRY, SphericalEuler

from .mechanisms import COUNT, EACH, FLOATING, condition, joint_types, mechanism, state
from .oracle import grounded


def everyone() -> list[System]:
    return [mechanism(i) for i in range(COUNT)]


@pytest.mark.quick
def test_every_joint_is_there() -> None:
    assert set(REGISTRY) <= joint_types([robot.mechanism for robot in everyone()])


@pytest.mark.quick
def test_every_feature_is_there() -> None:
    robots = everyone()
    connections = [c for robot in robots for c in robot.mechanism.joints]
    assert sum(c.child.startswith("massless") for c in connections) >= 5
    assert sum(any(c.armature) for c in connections) >= 10
    assert sum(c.joint.nv == 0 for c in connections) >= 20
    trees = [robot.model.cluster_tree.spanning_tree.parents for robot in robots]
    roots = [parents.count(-1) for parents in trees]
    assert all(roots[i] == 1 for i in FLOATING)
    assert sum(n > 1 for n in roots) >= 5
    assert sum(max(Counter(p for p in parents if p >= 0).values()) > 1 for parents in trees) >= 3
    assert all(len(grounded(robot)) > 1 for i, robot in enumerate(robots) if i not in FLOATING)


@EACH
def test_states_are_regular(number: int) -> None:
    """No state is near gimbal lock or another singularity: a lost digit is then not the state's fault."""
    robot = mechanism(number)
    for kind in ("random", "home"):
        assert condition(robot.mass_matrix(state(robot, (1, kind, 1.0)).q)).max() < 1e6


@EACH
def test_states_vary(number: int) -> None:
    robot = mechanism(number)
    s = state(robot)
    assert np.all(np.ptp(s.q, axis=0) > 0.0)
    euler = [c for c in robot.mechanism.joints if isinstance(c.joint, SphericalEuler)]
    assert all(np.all(np.isfinite(c.lower)) for c in euler)
