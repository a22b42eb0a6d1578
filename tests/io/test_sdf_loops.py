"""Loops in exported SDF: gears, couplings, joints that close chains, and where these start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)  # fmt: skip
from fourbar.joints.registry import _ODD, _OTHER
from fourbar.loops import Closure, Coupling, Differential, Distance, Gear, Polynomial

from .exported import geared_arm
from .sdf_files import again, chain, named, order, stored, written


def test_gears_are_mimics() -> None:
    robot = geared_arm()
    bare = robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.joints})
    other = again(bare)
    assert {x.loop for x in other.mechanism.loops} == {
        Gear("shoulder", "rotor_joint", 9.0, 0.0), Gear("left_joint", "right_joint", -1.0, 0.01),
    }  # fmt: skip
    assert 'version="1.11"' in written(bare)[0] and "<drake:mimic" in written(bare)[0]
    q, v, a = (np.array([0.3, 0.02]), np.array([1.0, -2.0]), np.array([0.5, 0.7]))
    assert np.allclose(other.inverse_dynamics(q, v, a), bare.inverse_dynamics(q, v, a), rtol=1e-12)


LINEAR = {
    "gear": [Gear("ja", "jb", 2.0, 0.1)],
    "straight polynomial": [Polynomial("ja", "jb", (0.1, 2.0))],
    "chain of gears": [Gear("ja", "jb", 2.0), Gear("jb", "jc", 3.0, 0.1)],
    "two for one": [Gear("ja", "jc", 2.0), Gear("jb", "jc", 3.0, 0.1)],
    "coupling": [Coupling({"ja": 1.0, "jb": 2.0, "jd": -3.0}, 0.1)],
    "differential": [Differential(("ja", "jb"), ("jc", "jd"), ((1.0, 0.5), (-0.5, 2.0)))],
}


def linear(loops: tuple[Any, ...]) -> np.ndarray:
    """The conditions on (ja, jb, jc, jd): rows of factors and the offset, reduced so that equal ones look equal."""
    from fourbar.io.export.equivalents import conditions

    rows = []
    for x in loops:
        for factors, offset in conditions(x.loop) or ():
            given = dict(factors)
            rows.append([*(given.get(f"j{name}", 0.0) for name in "abcd"), offset])
    A = np.array(rows)
    return np.linalg.pinv(A) @ A  # the projector on what they span


@pytest.mark.parametrize("name", LINEAR)
def test_linear_loops_come_back(name: str) -> None:
    robot = chain(*LINEAR[name])
    other = again(robot)
    assert robot.nv == other.nv
    assert np.allclose(linear(robot.mechanism.loops), linear(other.mechanism.loops), atol=1e-12)
    if name in ("coupling", "differential"):
        assert "Drake's tendon" in str(written(robot)[1])


def hung(joint: Joint, *, swapped: bool = False, ground: bool = False) -> fb.System:
    """Two arms of a ball, hinges and a slide, whose ends a joint ties, or one to the ground; closed at zero."""
    b = fb.Builder("hung")
    matter: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.05, 0.0), "inertia": (0.1, 0.2, 0.3)}
    for side, y in (("left", 0.0), ("right", 0.5)):
        b.body(f"{side}1", joint=Spherical(), joint_name=f"{side}_a", position=(0, y, 0), **matter)
        b.body(f"{side}2", parent=f"{side}1", joint=Composite(Revolute("z"), Prismatic("x"), Revolute("x")),
               joint_name=f"{side}_b", position=(0.5, 0, 0), rpy=(0.1, 0.2, 0.3), **matter)  # fmt: skip
    bare = b.build()
    tip = np.eye(4)
    tip[:3, :3] = bare.pose(bare.neutral(), "left2")[:3, :3]
    tip[:3, 3] = (0.7, 0.2, 0.1)
    ends = ["world" if ground else "left2", "right2"]
    places = [np.linalg.inv(np.eye(4) if body == "world" else bare.pose(bare.neutral(), body)) @ tip for body in ends]
    ends, places = (ends[::-1], places[::-1]) if swapped else (ends, places)
    loop = Closure(joint, *ends, at_predecessor=places[0][:3, 3], predecessor_rotation=places[0][:3, :3],
                   at_successor=places[1][:3, 3], successor_rotation=places[1][:3, :3])  # fmt: skip
    return b.loop(loop, name="tie").build()


CLOSING = {
    "fixed": Fixed(), "revolute": Revolute(_ODD), "prismatic": Prismatic(_ODD), "spherical": Spherical(),
    "universal": Universal("z", "x"), "skew universal": Universal(_ODD, _OTHER), "planar": Planar(_ODD),
}  # fmt: skip


BOTH_ARMS = [
    pytest.param(name, swapped, False, marks=pytest.mark.slow) for name in CLOSING for swapped in (False, True)
]


@pytest.mark.default_cases(
    "fixed-True-True",
    "revolute-False-True",
    "prismatic-True-True",
    "spherical-False-True",
    "universal-True-True",
    "planar-False-True",
)
@pytest.mark.parametrize(
    ("name", "swapped", "ground"), [*((name, x, True) for name in CLOSING for x in (False, True)), *BOTH_ARMS]
)
def test_closing_joints_come_back(name: str, swapped: bool, ground: bool) -> None:
    """What one closes, the other closes."""
    robot = hung(CLOSING[name], swapped=swapped, ground=ground)
    other = again(robot)
    assert other.nv == robot.nv
    (ours,), (theirs,) = robot.mechanism.loops, other.mechanism.loops
    assert isinstance(ours.loop, Closure) and isinstance(theirs.loop, Closure)
    assert type(theirs.loop.joint) is type(ours.loop.joint)
    in_q = order(robot, other, "nq")
    q = robot.random(np.random.default_rng(1), 5)
    assert np.abs(other.loop_gap(q[:, in_q])).max() < 1e-9
    back = np.empty_like(q)
    back[:, in_q] = other.random(np.random.default_rng(2), 5)
    assert np.abs(robot.loop_gap(back)).max() < 1e-9 < robot.loop_gap(back + 0.1).min()


def four_bar(q0: float) -> fb.System:
    """A parallelogram whose crank is at q0 where its joints are at zero."""
    b = fb.Builder("bars")
    matter: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.2, 0.3)}
    b.body("crank", joint=Revolute("y"), joint_name="turn", rpy=(0, q0, 0), **matter, limits=(-1.0, 2.0), stiffness=2.0,
           rest=[0.3])  # fmt: skip
    b.body("coupler", parent="crank", joint=Revolute("y"), joint_name="elbow", position=(0.3, 0, 0), rpy=(0, -q0, 0),
           **matter)  # fmt: skip
    b.body("rocker", joint=Revolute("y"), joint_name="swing", position=(0.5, 0, 0), rpy=(0, 0.4, 0), **matter)
    b.loop(Closure(Revolute("y"), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.3, 0, 0)),
           name="pin", independent=["turn"])  # fmt: skip
    return b.build()


def test_loops_closed_at_zero_are_written_as_they_are() -> None:
    robot = four_bar(0.4)
    other = again(robot)
    v, a = np.array([[1.5]]), np.array([[0.7]])
    q = robot.assemble(np.array([[0.3, -0.3, 0.3]]), keep=["turn"])
    in_q = order(robot, other, "nq")
    assert np.allclose(other.inverse_dynamics(q[:, in_q], v, a), robot.inverse_dynamics(q, v, a), rtol=1e-11)


def test_loops_open_at_zero_start_where_they_are_closed() -> None:
    robot = four_bar(0.9)
    with pytest.raises(fb.ModelError, match=r"open where joints are at zero.*'turn'.*waive=\['zero'\]"):
        written(robot)
    other = again(robot, "zero")
    zero = robot.neutral()
    assert np.abs(zero).max() > 0.1 and np.abs(other.loop_gap(np.zeros(3))) < 1e-12
    q = robot.assemble(zero + np.array([0.3, 0.0, 0.0]), keep=["turn"])
    names, in_q = [c.name for c in stored(robot)], order(robot, other, "nq")
    theirs = (q - zero)[in_q]
    assert np.allclose(other.pose(theirs, "coupler"), robot.pose(q, "coupler"), atol=1e-12)
    v, a = np.array([1.5]), np.array([0.7])
    assert np.allclose(other.inverse_dynamics(theirs, v, a), robot.inverse_dynamics(q, v, a), rtol=1e-10)
    ours, turn = named(robot, "turn"), named(other, "turn")
    start = zero[names.index("turn")]
    assert np.allclose([turn.lower, turn.upper, turn.rest], np.array([ours.lower, ours.upper, ours.rest]) - start)


def test_what_floats_and_is_in_loops() -> None:
    inside = hung_on_trunk("trunk")
    other = again(inside)
    assert (other.nq, other.nv, len(other.mechanism.loops)) == (inside.nq, inside.nv, 1)
    tied = hung_on_trunk("world")
    with pytest.raises(fb.ModelError, match=r"'trunk' floats and is in loops.*waive=\['coordinates'\]"):
        written(tied)
    assert again(tied, "coordinates").nv == tied.nv


def hung_on_trunk(end: str) -> fb.System:
    b = fb.Builder("floating")
    b.body("trunk", joint=Free(), mass=5.0, inertia=(0.3, 0.2, 0.4))
    for name, parent in (("x", "trunk"), ("y", "x")):
        b.body(name, parent=parent, joint=Spherical(), joint_name=f"to_{name}", position=(0.3, 0, 0), mass=1,
               com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))  # fmt: skip
    at = (0.6, 0.0, 0.0)
    return b.loop(Closure(Spherical(), "y", end, at_successor=at), name="tie").build()


def test_loops_that_cannot_be_said_are_refused() -> None:
    rod = Distance("b", "world", (0.3, 0.0, 0.0), (0.9, 0.0, 0.5), float(np.hypot(0.0, 0.5)))
    bent = Polynomial("ja", "jb", (0.0, 1.0, 0.5))
    for loop in (rod, bent):
        with pytest.raises(fb.ModelError, match=rf"a {type(loop).__name__}.*waive=\['loop'\]"):
            written(chain(loop))
        assert again(chain(loop), "loop").nv == 4


# --- loops that are open at zero --------------------------------------------------------------------------------------

START = {
    "universal": Universal("y", "x"), "cylindrical": Cylindrical("y"), "ball": Spherical(),
    "screw": Helical("y", pitch=0.1), "euler": SphericalEuler("yxz"), "planar": Planar("y"),
}  # fmt: skip


def open_bars(joint: Joint) -> fb.System:
    """A four-bar, open at zero, one of whose joints is another."""
    b = fb.Builder("bars")
    matter: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.2, 0.3)}
    b.body("crank", joint=joint, joint_name="turn", rpy=(0, 0.9, 0), **matter)
    b.body("coupler", parent="crank", joint=Spherical(), joint_name="elbow", position=(0.3, 0, 0), **matter)
    b.body("rocker", joint=Revolute("y"), joint_name="swing", position=(0.5, 0, 0), rpy=(0, 0.4, 0), **matter)
    b.body("motor", joint=Revolute("y"), joint_name="spin", position=(0.9, 0, 0), **matter)
    b.loop(Closure(Spherical(), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.3, 0, 0)), name="pin")
    b.loop(Gear("swing", "spin", 3.0, 0.2), name="gear")
    return b.build()


@pytest.mark.default_cases("universal", "ball", "planar")
@pytest.mark.parametrize("name", START)
def test_joints_of_loops_open_at_zero_start_elsewhere(name: str) -> None:
    """Whatever the joint, the same positions of the bodies close the loops, and zero is where they are closed."""
    robot = open_bars(START[name])
    other = again(robot, "zero")
    assert other.nv == robot.nv and other.loop_gap(zero := other.neutral()) < 1e-12
    tied = [x for c in stored(other) if c.name != "spin" for x in c.joint.neutral()]
    assert np.allclose(np.delete(zero, [c.name for c in stored(other) for _ in range(c.joint.nq)].index("spin")), tied)
    for body in ("crank", "coupler", "rocker", "motor"):
        assert np.allclose(other.pose(zero, body), robot.pose(robot.neutral(), body), atol=1e-9)
    (gear,) = (x.loop for x in other.mechanism.loops if isinstance(x.loop, Gear))
    assert gear.ratio == 3.0
