"""Exported SDF, as our own reader and Drake read it: the same dynamics."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.convert import quaternion_from_matrix
from fourbar.io.formats import FORMATS
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
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Translation2,
    Translation3,
    Universal,
)  # fmt: skip
from fourbar.joints.examples import _ODD, _OTHER, _PLACED
from fourbar.loops import Closure, Coupling, Differential, Distance, Gear, Polynomial
from fourbar.model.geometry import Geometry
from fourbar.model.mechanism import Connection
from fourbar.model.placement import Placement

from .exported import arm, floating_arm, geared_arm, tree

KEPT = (Revolute, Prismatic, Helical, Spherical, Planar, Universal, Free)
JOINTS: dict[str, Joint] = {
    "revolute": Revolute(_ODD), "prismatic": Prismatic(_ODD), "screw": Helical(_ODD, pitch=0.3), "ball": Spherical(),
    "universal": Universal("z", "x"), "skew universal": Universal(_ODD, _OTHER), "planar": Planar("z"),
    "odd planar": Planar(_ODD), "cylindrical": Cylindrical(_OTHER), "euler": SphericalEuler("zyx"),
    "translation": Translation3(), "flat translation": Translation2(_ODD),
    "placed": Composite(Revolute(_ODD), _PLACED, Revolute("z"), _PLACED),
}  # fmt: skip


def written(robot: fb.System, *waive: str) -> tuple[str, fb.Report]:
    return FORMATS["sdf"].write(robot.mechanism, "robot.sdf", waive)


def again(robot: fb.System, *waive: str) -> fb.System:
    """What the reader makes of the written file; it has nothing to complain about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fb.loads(written(robot, *waive)[0], name="robot.sdf")


def one(joint: Joint, **more: Any) -> fb.System:
    """A joint between two links, turned and away from each other, and a hinge behind it."""
    b = fb.Builder("one")
    matter: dict[str, Any] = {
        "mass": 1.3,
        "com": (0.1, -0.05, 0.2),
        "inertia": (0.03, 0.002, -0.003, 0.04, 0.004, 0.05),
    }
    b.body("first", joint=Revolute("y"), joint_name="h", position=(0, 0, 1), rpy=(0.1, 0.2, 0.3), **matter)
    b.body("second", parent="first", joint=joint, joint_name="j", position=(0.5, 0.1, 0), rpy=(0.3, -0.2, 0.5),
           **matter, **more)  # fmt: skip
    b.body("third", parent="second", joint=Revolute("x"), joint_name="k", position=(0, 0.3, 0.1), **matter)
    b.frame("tool", "third", position=(0, 0, 0.2), rpy=(0.1, 0.2, 0.3))
    return b.build()


def stored(robot: fb.System) -> list[Connection]:
    """The joints in the order of q."""
    lowered = robot.model.lowered
    return [lowered.moving[i] for group in lowered.groups for i in group.links]


def parts(robot: fb.System, at: str) -> list[str]:
    """What the joints of a robot are called in the file, once per coordinate ("nq") or velocity ("nv")."""
    found = []
    for c in stored(robot):
        n = getattr(c.joint, at)
        if isinstance(c.joint, KEPT) and not (isinstance(c.joint, Universal) and any(c.armature)):
            found += [c.child if isinstance(c.joint, Free) else c.name] * n
        else:
            found += [f"{c.name}_{i + 1}" for i in range(n)]
    return found


def order(robot: fb.System, other: fb.System, at: str) -> list[int]:
    """Which of the robot's coordinates ("nq") or velocities ("nv") those of what was read from its file are."""
    ours = parts(robot, at)
    theirs = [x for c in stored(other) for x in [c.name] * getattr(c.joint, at)]
    seen: dict[str, int] = {}
    found = []
    for name in theirs:
        places = [i for i, x in enumerate(ours) if x == name]
        found.append(places[seen.get(name, 0)])
        seen[name] = seen.get(name, 0) + 1
    assert sorted(found) == list(range(len(ours)))
    return found


def in_world(robot: fb.System, q: np.ndarray) -> np.ndarray:
    """q with the coordinates of free joints as poses in the world, not at the place of the joint."""
    found, at = q.copy(), 0
    for c in stored(robot):
        if isinstance(c.joint, Free):
            T = robot.pose(q, c.child)
            found[:, at : at + 3], found[:, at + 3 : at + 7] = T[:, :3, 3], quaternion_from_matrix(T[:, :3, :3])
        at += c.joint.nq
    return found


def assert_same(robot: fb.System, other: fb.System) -> None:
    """The same mass matrix, forces and poses, for trees."""
    assert (robot.nq, robot.nv) == (other.nq, other.nv)
    in_q, in_v = order(robot, other, "nq"), order(robot, other, "nv")
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, 4), *rng.normal(size=(2, 4, robot.nv))
    tau, poses = robot.inverse_dynamics(q, v, a), in_world(robot, q)[:, in_q]
    theirs = other.inverse_dynamics(poses, v[:, in_v], a[:, in_v])
    assert np.abs(theirs - tau[:, in_v]).max() <= 1e-12 * max(1.0, np.abs(tau).max())
    M = robot.mass_matrix(q)
    assert np.abs(other.mass_matrix(poses) - M[:, in_v][:, :, in_v]).max() <= 1e-12 * np.abs(M).max()
    for name in (*robot.names.frames, *(b.name for b in robot.mechanism.bodies if "/" not in b.name)):
        assert np.abs(other.pose(poses, name) - robot.pose(q, name)).max() < 1e-12


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_comes_back(name: str) -> None:
    robot = one(JOINTS[name])
    assert_same(robot, again(robot))


ROBOTS = {
    "arm": arm,
    "floating": floating_arm,
    **{f"tree{i}": lambda i=i: tree(i, placed=True) for i in range(3)},
    "floating_tree": lambda: tree(9, floating=True),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_whole_robots_come_back(name: str) -> None:
    robot = ROBOTS[name]()
    robot = robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.connections})
    assert_same(robot.with_gravity((0, 0, -9.81)), again(robot.with_gravity((0, 0, -9.81))))


def test_joints_that_sdf_does_not_know_have_other_coordinates() -> None:
    for joint in (SphericalExponential(), Schoenflies("x")):
        robot = one(joint)
        with pytest.raises(fb.ModelError, match=f"joint 'j', a {type(joint).__name__}.*waive=\\['coordinates'\\]"):
            written(robot)
        assert again(robot, "coordinates").nv == robot.nv
    with pytest.raises(fb.ModelError, match="joint 'j', a CustomJoint"):
        written(one(fb.joints.CustomJoint(lambda q: fb.joints.Revolute("z").placement(q), 1)))


def named(robot: fb.System, name: str) -> Connection:
    return next(c for c in robot.mechanism.connections if c.name == name)


SAID = {
    "limits": ([-1.0], [2.0]), "damping": 0.1, "friction": 0.2, "stiffness": 3.0, "rest": [0.4], "max_force": 5.0,
    "max_velocity": 6.0, "armature": 0.7,
}  # fmt: skip


@pytest.mark.parametrize("joint", [Revolute("x"), Prismatic("y"), Helical("z", pitch=0.1)])
def test_parameters_come_back(joint: Joint) -> None:
    robot = one(joint, **SAID)
    ours, theirs = named(robot, "j"), named(again(robot), "j")
    for key in ("damping", "friction", "lower", "upper", "stiffness", "rest", "max_force", "max_velocity", "armature"):
        assert getattr(ours, key) == getattr(theirs, key), key
    assert_same(robot, again(robot))


def test_parameters_of_several_velocities() -> None:
    robot = one(Universal("z", "x"), damping=[0.1, 0.2], limits=([-1, -2], [1, np.inf]), max_force=[3, np.inf])
    ours, theirs = named(robot, "j"), named(again(robot), "j")
    assert (ours.damping, ours.lower, ours.upper, ours.max_force) == (
        theirs.damping, theirs.lower, theirs.upper, theirs.max_force,
    )  # fmt: skip
    assert named(again(one(Spherical(), damping=0.3)), "j").damping == (0.3,) * 3
    assert named(again(one(Planar("z"), damping=[0.3, 0.2, 0.2])), "j").damping == (0.3, 0.2, 0.2)
    for joint, damping in ((Spherical(), [1, 2, 3]), (Planar("z"), [0, 2, 3])):
        assert "damping" in str(written(one(joint, damping=damping))[1])


def test_an_armature_that_cannot_be_said_is_refused() -> None:
    for joint in (Spherical(), Planar("z")):
        with pytest.raises(fb.ModelError, match=r"armature.*waive=\['armature'\]"):
            written(one(joint, armature=0.1))
        assert not any(named(again(one(joint, armature=0.1), "armature"), "j").armature)
    with pytest.raises(fb.ModelError, match="without force"):
        written(one(Revolute("x"), armature=0.1, max_force=0.0))


def test_two_hinges_may_each_have_an_armature() -> None:
    robot = one(Universal("z", "x"), armature=[0.1, 0.2])
    other = again(robot)
    assert [named(other, f"j_{i}").armature for i in (1, 2)] == [(0.1,), (0.2,)]


def test_shapes_come_back() -> None:
    place = Placement(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (0.1, 0.2, 0.3))
    sizes = {
        "box": (1, 2, 3),
        "sphere": (1,),
        "cylinder": (1, 2),
        "capsule": (1, 2),
        "ellipsoid": (1, 2, 3),
        "plane": (),
    }
    shapes = [
        Geometry(kind, tuple(map(float, size)), place, role, colour=(0.1, 0.2, 0.3, 0.4), name=f"{kind}_{role}")  # type: ignore[arg-type]
        for kind, size in sizes.items()
        for role in ("visual", "collision")
    ]
    shapes.append(Geometry("mesh", mesh="package://x/y.stl", scale=(1.0, 2.0, 3.0), name="mesh"))
    b = fb.Builder("shapes").body("a", joint=Revolute("z"), joint_name="j", mass=1, inertia=(1, 1, 1), geometry=shapes)
    found = again(b.build()).mechanism.bodies[0].geometry
    assert {g.name for g in found} == {g.name for g in shapes}
    for ours in shapes:
        (theirs,) = (g for g in found if g.name == ours.name)
        assert (theirs.kind, theirs.size, theirs.role, theirs.mesh, theirs.scale) == (
            ours.kind, ours.size, ours.role, ours.mesh, ours.scale,
        )  # fmt: skip
        assert theirs.colour == ours.colour
        assert np.allclose(theirs.placement.rotation, ours.placement.rotation, atol=1e-15)


def test_names_are_different_and_told() -> None:
    b = fb.Builder("names").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    b.body("x::y", parent="a", joint=Revolute("z"), joint_name="__k__", mass=1, inertia=(1, 1, 1))
    b.frame("spot", "a")
    robot = b.build()
    text, report = written(robot)
    other = fb.loads(text)
    assert other.names.bodies == ("a", "x_y") and other.names.velocities == ("a_joint", "k")
    (told,) = [f for f in report if "names" in f.message]
    assert "'a' as 'a_joint'" in told.message and "'x::y' as 'x_y'" in told.message


def test_frames_on_the_world_are_links() -> None:
    b = fb.Builder("f").body("a", joint=Revolute("z"), joint_name="j", mass=1, inertia=(1, 1, 1))
    robot = b.frame("spot", "world", position=(1, 2, 3), rpy=(0.1, 0.2, 0.3)).build()
    other = again(robot)
    assert np.allclose(other.pose([0.3], "spot"), robot.pose([0.3], "spot"), atol=1e-15)
    assert "links without mass ('spot')" in str(written(robot)[1])


def test_gravity_needs_a_world() -> None:
    robot = one(Revolute("x")).with_gravity((0.0, 1.0, -3.0))
    other = again(robot)
    assert other.gravity == (0.0, 1.0, -3.0) and other.names.velocities == ("one::h", "one::j", "one::k")
    q = np.array([0.1, 0.2, 0.3])
    assert np.allclose(other.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q, q), rtol=1e-13)
    assert "in a world" in str(written(robot)[1])


def test_a_free_body_is_where_the_first_configuration_has_it() -> None:
    b = fb.Builder("f").body("a", joint=Free(), mass=1, inertia=(1, 1, 1))
    q = (1.0, 2.0, 3.0, 0.5, 0.5, -0.5, 0.5)
    robot = b.configuration("home", {"a": q}).build()
    assert np.allclose(again(robot).configurations["initial"], q, atol=1e-15)


# --- loops ------------------------------------------------------------------------------------------------------------


def test_gears_are_mimics() -> None:
    robot = geared_arm()
    bare = robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.connections})
    other = again(bare)
    assert {x.loop for x in other.mechanism.loops} == {
        Gear("shoulder", "rotor_joint", 9.0, 0.0), Gear("left_joint", "right_joint", -1.0, 0.01),
    }  # fmt: skip
    assert 'version="1.11"' in written(bare)[0] and "<drake:mimic" in written(bare)[0]
    q, v, a = (np.array([0.3, 0.02]), np.array([1.0, -2.0]), np.array([0.5, 0.7]))
    assert np.allclose(other.inverse_dynamics(q, v, a), bare.inverse_dynamics(q, v, a), rtol=1e-12)


def chain(*loops: fb.loops.Loop) -> fb.System:
    b = fb.Builder("chain")
    parent = "world"
    for name in "abcd":
        b.body(name, parent=parent, joint=Revolute("y"), joint_name=f"j{name}", position=(0.3, 0, 0), mass=1,
               com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))  # fmt: skip
        parent = name
    for loop in loops:
        b.loop(loop)
    return b.build()


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
    from fourbar.io.export.linear import conditions

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
        assert "tendon of Drake" in str(written(robot)[1])


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


# --- as files ---------------------------------------------------------------------------------------------------------


def test_save_and_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm().save(tmp_path / "arm.sdf")
    assert fb.load(tmp_path / "arm.sdf").nv == 5
    assert main(["convert", str(tmp_path / "arm.sdf"), str(tmp_path / "arm.urdf")]) == 0
    assert main(["convert", str(tmp_path / "arm.urdf"), str(tmp_path / "back.sdf")]) == 0
    capsys.readouterr()
    assert fb.load(tmp_path / "back.sdf").nv == 5


def test_actuators_and_configurations_are_told() -> None:
    b = fb.Builder("told").body("a", joint=Revolute("z"), joint_name="j", mass=1, inertia=(1, 1, 1))
    b.actuator("motor", drives="j").configuration("home", {"j": 0.3})
    report = str(written(b.build())[1])
    assert "'motor'" in report and "configurations are left out" in report
