"""Clusters with many independent velocities: freed in steps that share their code, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.algorithms import aba as wide


def ring(n: int, floating: bool = False) -> Any:
    """n rods in a polygon whose last corner is on the carrier; if floating, with a ball and a branch inside."""
    b, turn = fb.Builder(f"ring{n}"), 2 * np.pi / (n + 1)
    carrier, rng = "world", np.random.default_rng(n)
    if floating:
        carrier = "base"
        b.body("base", joint=fb.joints.Free(), mass=3.0, inertia=(0.2, 0.3, 0.4))
    for i in range(n):
        joint = fb.joints.Spherical() if floating and i == 4 else fb.joints.Revolute("z")
        place: dict[str, Any] = {"position": (0.1 if i else 0.0, 0, 0), "rpy": (0, 0, turn if i else 0)}
        matter: dict[str, Any] = {"mass": 1.0, "com": (0.05, 0, 0), "inertia": 0.01 + 0.005 * rng.random(3)}
        b.body(f"rod{i}", parent=f"rod{i - 1}" if i else carrier, joint=joint, armature=0.01, **place, **matter)
    if floating:
        matter = {"mass": 0.5, "com": (0.1, 0.05, 0), "inertia": (0.01, 0.012, 0.013)}
        b.body("tail", parent="rod6", joint=fb.joints.Revolute("x"), position=(0, 0, 0.1), **matter)
    corners = 0.1 * np.array([(np.cos(turn * i), np.sin(turn * i), 0.0) for i in range(n)])
    closing = fb.joints.Spherical() if floating else fb.joints.Revolute("z")
    scales = {"rod0": -2.0, "rod1": 1.0} if floating else {}
    loop = fb.loops.Closure(
        closing, carrier, f"rod{n - 1}", at_predecessor=tuple(corners.sum(0)), at_successor=(0.1, 0, 0)
    )
    b.loop(loop, independent=scales)
    return b.build()


@pytest.mark.default_cases("False")
@pytest.mark.parametrize("floating", [False, True])
def test_forward_dynamics_of_wide_clusters(floating: bool) -> None:
    """On the ground, and carried by a body that moves with a branch inside, a ball and a scaled velocity."""
    robot, rng = ring(16, floating), np.random.default_rng(3)
    assert any(wide.is_wide(cluster) for cluster in robot.model.cluster_tree.clusters)
    q = robot.integrate(robot.neutral(), 1e-3 * rng.normal(size=robot.nv), 1.0)
    v, tau = rng.normal(size=(2, 5, robot.nv))
    a = robot.forward_dynamics(q, v, tau)
    expected = np.linalg.solve(robot.mass_matrix(q), (tau - robot.bias_force(q, v)).T).T
    assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(robot.inverse_dynamics(q, v, a) - tau).max() < 1e-8
