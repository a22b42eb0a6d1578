"""The Jacobian of hybrid dynamics, by its NumPy meaning, along directions of everything that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.tree.assembly import independent_joints
from tests.algorithms import mechanisms
from tests.loops import looped

from .step import directional
from .test_dynamics import case, meaning, near, tangents

NAMES = ["tree2", "tree7", "four_bar", "geared", "nested", "own_coordinate"]


def some_joints(robot: object) -> list[str]:
    """About half of the joints whose velocities are independent."""
    cluster_tree = robot.model.cluster_tree  # type: ignore[attr-defined]
    names = dict.fromkeys(name for group in cluster_tree.clusters for name in independent_joints(cluster_tree, group))
    return list(names)[::2]


@pytest.mark.default_cases("tree2", "four_bar", "own_coordinate")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("forces", [False, True])
def test_along_a_direction(name: str, forces: bool) -> None:
    robot, state = case(name)
    function = robot.hybrid_dynamics.specialise(prescribed=some_joints(robot))
    given = {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau, **({"f_ext": state.f_ext} if forces else {})}
    moving = tangents(robot, given)
    expected = np.stack(directional(robot, function, given, moving), axis=1)
    (blocks,) = meaning(function.jacobian, given)
    flat = blocks.reshape(len(blocks), -1)
    found, at = np.zeros_like(expected), 0
    for result in range(2):
        for x in moving.values():
            dx = x.reshape(len(x), -1)
            block = flat[:, at : at + robot.nv * dx.shape[1]].reshape(len(x), robot.nv, -1)
            found[:, result] += np.einsum("bij,bj->bi", block, dx)
            at += robot.nv * dx.shape[1]
    assert at == flat.shape[1]
    for result in range(2):
        near(found[:, result], expected[:, result], 1e-12)


def test_names_are_known() -> None:
    assert set(NAMES) <= {f"tree{i}" for i in range(mechanisms.COUNT)} | set(looped.NAMES)
