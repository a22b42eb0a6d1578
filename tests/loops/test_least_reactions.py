"""Reactions that do not depend on the tree, and K and k as methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute
from fourbar.loops import Closure

from .looped import EACH_BUT_LARGEST, mechanism, near, state

pytestmark = pytest.mark.drawn_in_line

LENGTHS = {"crank": 0.4, "coupler": 0.9, "rocker": 0.7}
GROUND = np.array([1.0, 0.0, 0.0])


def bar(name: str) -> dict[str, Any]:
    """Lopsided, so that there are forces out of the plane."""
    size = LENGTHS[name]
    return {"mass": size, "com": (0.5 * size, 0.1, 0.2), "inertia": (0.2, 0.01, 0.02, 0.3, 0.03, 0.4)}


def four_bar(closed_at: str) -> fb.System:
    """The same mechanism, closed between coupler and rocker, or by the hinge of the rocker on the ground."""
    b = fb.Builder("four_bar", gravity=(1.0, -9.81, 2.0))
    b.body("crank", joint=Revolute("z"), **bar("crank"))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(LENGTHS["crank"], 0, 0), **bar("coupler"))
    if closed_at == "pin":
        b.body("rocker", joint=Revolute("z"), position=GROUND, **bar("rocker"))
        last = Closure(
            Revolute("z"), "coupler", "rocker", at_predecessor=(LENGTHS["coupler"], 0, 0),
            at_successor=(LENGTHS["rocker"], 0, 0),
        )  # fmt: skip
    else:
        b.body("rocker", parent="coupler", joint=Revolute("z"), position=(LENGTHS["coupler"], 0, 0), **turned())
        last = Closure(Revolute("z"), "rocker", "world", at_predecessor=(LENGTHS["rocker"], 0, 0), at_successor=GROUND)
    return b.loop(last, name=closed_at, independent=["crank"]).build()


def turned() -> dict[str, Any]:
    """The rocker in a frame at its other end, which looks back."""
    own, size = bar("rocker"), LENGTHS["rocker"]
    x, y, z = own["com"]
    xx, xy, xz, yy, yz, zz = own["inertia"]
    return {"mass": own["mass"], "com": (size - x, -y, z), "inertia": (xx, xy, -xz, yy, -yz, zz)}


def test_they_do_not_depend_on_the_tree() -> None:
    one, other = four_bar("pin"), four_bar("foot")
    q = one.assemble([0.7, 0.0, 1.5], keep=["crank"])
    angles = q[0] + q[1], q[2]
    q_other = np.array([q[0], q[1], angles[1] + np.pi - angles[0]])
    assert other.loop_gap(q_other) < 1e-12
    v, a = np.array([1.5]), np.array([-0.7])
    near(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q_other, v, a), 1e-12)
    crank, coupler = ([x.names.bodies.index(n) for n in ("crank", "coupler")] for x in (one, other))
    first, second = one.reactions(q, v, a)[crank], other.reactions(q_other, v, a)[coupler]
    assert np.abs(first - second).max() > 0.1  # which is said of them
    first, second = one.least_reactions(q, v, a)[crank], other.least_reactions(q_other, v, a)[coupler]
    near(first, second, 1e-9)
    foot = one.least_reactions(q, v, a)[one.names.bodies.index("rocker")]
    back = other.least_reactions(q_other, v, a)[other.names.bodies.index("rocker")]
    assert np.linalg.norm(foot[:3]) > 0.1 and np.linalg.norm(back[:3]) > 0.1


def test_nothing_changes_where_all_is_determined() -> None:
    robot, rng = fb.robots.delta(), np.random.default_rng(0)
    q, (v, a) = robot.random(rng, 3), rng.normal(size=(2, 3, robot.nv))
    near(robot.least_reactions(q, v, a), robot.reactions(q, v, a), 1e-9)


def crank_rocker(u: float) -> fb.System:
    """A planar four-bar, overconstrained in space, with lengths in units of u."""
    b = fb.Builder("four_bar", gravity=(1.0 * u, -9.81 * u, 2.0 * u))
    for name, parent, at in (("crank", "world", 0.0), ("coupler", "crank", 0.4), ("rocker", "world", 1.0)):
        own = bar(name)
        solid = {"mass": own["mass"], "com": np.array(own["com"]) * u, "inertia": np.array(own["inertia"]) * u * u}
        b.body(name, parent=parent, joint=Revolute("z"), position=(at * u, 0, 0), **solid)
    ends: dict[str, Any] = {"at_predecessor": (0.9 * u, 0, 0), "at_successor": (0.7 * u, 0, 0)}
    return b.loop(Closure(Revolute("z"), "coupler", "rocker", **ends), independent=["crank"]).build()


@pytest.mark.default_cases("1e-08", "10000000000.0")
@pytest.mark.parametrize("u", [1e-8, 1e-4, 1e4, 1e10])
def test_what_passive_joints_transmit_does_not_depend_on_units(u: float) -> None:
    found = []
    for x in (1.0, u):
        robot = crank_rocker(x)
        q = robot.assemble([0.7, 0.0, 1.5], keep=["crank"])
        tau, own = robot.inverse_dynamics(q, [1.5], [-0.7]), robot.least_reactions(q, [1.5], [-0.7])
        near(own[0, 2:3] / tau, np.ones(1), 1e-8)  # the crank is driven,
        assert np.abs(own[1:, 2]).max() < 1e-8 * abs(tau[0])  # the others are not
        found.append(own[:, 3:5] / x)
    near(*found, 1e-6)  # in the plane, forces are determined


def test_without_loops_and_with_wrenches() -> None:
    robot = fb.robots.double_pendulum()
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 2))
    assert (robot.least_reactions(q, v, a) == robot.reactions(q, v, a)).all()
    one = four_bar("pin")
    q = one.assemble([0.7, 0.0, 1.5], keep=["crank"])
    f_ext = np.random.default_rng(1).normal(size=(4, 3, 6))
    found = one.least_reactions(q, [1.0], [0.5], f_ext=f_ext)
    assert found.shape == (4, 3, 6)
    tau = one.inverse_dynamics(q, [1.0], [0.5], f_ext=f_ext)
    near(found[:, 0, 2:3], tau, 1e-10)  # the crank is driven, the others are not
    assert np.abs(found[:, 1:, 2]).max() < 1e-9
    assert "least_reactions" in one.reactions.help


@EACH_BUT_LARGEST
def test_rows_of_loops(name: str) -> None:
    """K G = 0, K (G a + g) = k, and K is the rate of what `loop_gap` is made of."""
    robot, s = mechanism(name), state(name, n=3)
    K, k = robot.loop_jacobian(s.q), robot.loop_jacobian_bias(s.q, s.v)
    assert K.shape[:-1] == k.shape and K.shape[-1] == robot.spanning().nv
    size = np.abs(K).max(initial=1.0)
    near(K @ robot.loop_map(s.q), np.zeros((3, K.shape[1], robot.nv)), 1e-12, size)
    every = robot.expand_acceleration(s.q, s.v, s.a)
    near(np.einsum("nij,nj->ni", K, every), k, 1e-10, size * np.abs(every).max())
    assert np.linalg.matrix_rank(K[0]) == robot.spanning().nv - robot.nv
    pull = robot.loop_pull(s.q)
    assert pull.shape == (*k.shape, len(robot.names.bodies), 6)
