"""Frames that cost less: the same equations of motion, for less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute, Spherical
from fourbar.spatial.transform import Transform
from fourbar.tree.equivalent_trees import choose_frames

DIGITS = 1.57079632679  # a quarter turn as files write it


def _turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _leg(b: Any, side: str, angle: float, inertia: np.ndarray) -> None:
    """Three hinges about x, y, y; the frame of the first body is turned by an angle about its hinge."""
    R, back = _turn(angle), _turn(-angle)
    solid = {"mass": 1.3, "inertia": (0.02, 0.03, 0.04)}
    com = np.array([0.02, 0.03, -0.01])
    place = np.array([0.06, 0.04, 0.0])
    b.body(f"{side}hip", parent="base", joint=Revolute("x"), position=(0.3, 0.1, 0.0), rotation=R, mass=1.3,
           com=back @ com, inertia=back @ inertia @ back.T)  # fmt: skip
    b.body(
        f"{side}thigh",
        parent=f"{side}hip",
        joint=Revolute("y"),
        position=back @ place,
        rotation=back,
        com=(0.0, 0.05, -0.2),
        **solid,
    )
    b.body(
        f"{side}shank",
        parent=f"{side}thigh",
        joint=Revolute("y"),
        position=(0.0, 0.1, -0.25),
        com=(0.01, 0.0, -0.1),
        **solid,
    )


def _robot(*angles: float) -> Any:
    b = fb.Builder("legs")
    b.body("base", joint=Free(), mass=10.0, com=(0.01, 0.02, 0.0), inertia=(0.4, 0.5, 0.6))
    inertia = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.025]])
    for k, angle in enumerate(angles):
        _leg(b, f"leg{k}_", angle, inertia)
    return b.build()


def test_turned_frames_cost_no_more() -> None:
    """The same robot written in frames that are turned about their hinges."""
    plain, turned = _robot(0.0, 0.0), _robot(2.6, -0.7)
    q, v, tau = plain.random(0), np.linspace(-1.0, 1.0, plain.nv), np.linspace(2.0, -1.0, plain.nv)
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        f, g = getattr(plain, name), getattr(turned, name)
        given = (q,) if name == "mass_matrix" else (q, v, tau)
        np.testing.assert_allclose(g(*given), f(*given), rtol=1e-10, atol=1e-10)
        assert g.program().operations <= 1.02 * f.program().operations


def test_a_quarter_turn_with_few_digits_costs_little() -> None:
    exact, rounded = _robot(np.pi / 2), _robot(DIGITS)
    assert rounded.forward_dynamics.program().operations <= 1.1 * exact.forward_dynamics.program().operations


def _random_robot(seed: int) -> Any:
    """Hinges, slides and balls in a tree, with frames turned anyhow."""
    rng = np.random.default_rng(seed)
    b = fb.Builder(f"random{seed}")
    kinds = [Revolute("x"), Revolute("z"), Revolute((0.6, 0.0, 0.8)), Prismatic("y"), Spherical(), Revolute("-y")]
    names = ["world"]
    for k in range(8):
        A = rng.normal(size=(3, 3))
        b.body(
            f"b{k}", parent=names[rng.integers(max(0, len(names) - 3), len(names))], joint=kinds[rng.integers(6)],
            position=rng.normal(size=3) * 0.3, rpy=rng.uniform(-3.0, 3.0, 3), mass=1.0 + rng.random(),
            com=rng.normal(size=3) * 0.1, inertia=0.1 * np.eye(3) + 0.002 * (A @ A.T),
        )  # fmt: skip
        names.append(f"b{k}")
    return b.build()


@pytest.mark.slow_cases("3", "4", "5")
@pytest.mark.parametrize("seed", range(6))
def test_the_equations_of_motion_are_the_same(seed: int) -> None:
    """With external forces (of zero) the frames of the bodies are kept."""
    robot = _random_robot(seed)
    q, rng = robot.random(seed), np.random.default_rng(seed)
    v, a, none = rng.normal(size=robot.nv), rng.normal(size=robot.nv), np.zeros((len(robot.names.bodies), 6))
    none = none.reshape(len(robot.names.bodies), 6)
    for f in (robot.inverse_dynamics, robot.forward_dynamics, robot.bias_force):
        given = (q, v) if f is robot.bias_force else (q, v, a)
        np.testing.assert_allclose(f(*given), f(*given, f_ext=none), rtol=1e-9, atol=1e-9)
    assert robot.inverse_dynamics.program().operations <= robot.inverse_dynamics.program("f_ext").operations


def test_bodies_stay_where_they_are() -> None:
    """In the world every point of a body moves as before: frames differ by constants only."""
    tree = _robot(2.6, -0.7).model.cluster_tree.unturned
    other = choose_frames(tree)
    q = [list(np.linspace(0.1, 0.9, c.joint.nq)) if c.joint.nq < 7 else [0, 0, 0, 1, 0, 0, 0] for c in tree.links]
    poses: list[list[Transform]] = [[], []]
    for own, t in zip(poses, (tree, other), strict=True):
        for c, parent, x in zip(t.links, t.parents, q, strict=True):
            here = c.placement.then(c.joint.placement([float(y) for y in x]))
            own.append(here if parent < 0 else own[parent].then(here))
    for cluster, old, new in zip(tree.links, *poses, strict=True):
        along = np.array(new.p, float) - np.array(old.p, float)
        axis = np.array(old.R, float)[:, 2]
        if isinstance(cluster.joint, Revolute):
            np.testing.assert_allclose(np.array(new.R, float)[:, 2], axis, atol=1e-14)
            np.testing.assert_allclose(np.cross(along, axis), 0.0, atol=1e-14)
        else:
            np.testing.assert_allclose(along, 0.0, atol=1e-14)


def test_constraints_keep_the_frames_they_touch() -> None:
    robot = _robot(2.6, -0.7)
    held = robot.constrained(fb.constraints.Contact("leg0_shank", "point", at_frame=(0.0, 0.0, -0.3)))
    q, v, tau = robot.random(1), np.linspace(-0.5, 0.5, robot.nv), np.linspace(1.0, -1.0, robot.nv)
    J = robot.jacobian(q, "leg0_shank", at=(0.0, 0.0, -0.3))[3:]
    a = held.forward_dynamics(q, v, tau)
    a = a[0] if isinstance(a, tuple) else a
    drift = robot.jacobian_rate(q, v, "leg0_shank", at=(0.0, 0.0, -0.3))[3:]
    np.testing.assert_allclose(J @ a + drift, 0.0, atol=1e-9)
