"""Exported SDF, as our own reader reads it: the same dynamics. What Drake reads is in test_sdf_drake.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.joints import (
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalExponential,
    Universal,
)  # fmt: skip
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement

from .exported import arm, floating_arm, tree
from .sdf_files import JOINTS, again, assert_same, named, one, written


@pytest.mark.default_cases("screw", "ball", "planar", "cylindrical", "euler", "placed")
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


@pytest.mark.default_cases("arm", "floating", "tree0")
@pytest.mark.parametrize("name", ROBOTS)
def test_whole_robots_come_back(name: str) -> None:
    robot = ROBOTS[name]()
    robot = robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.joints})
    assert_same(robot.with_gravity((0, 0, -9.81)), again(robot.with_gravity((0, 0, -9.81))))


def test_joints_that_sdf_does_not_know_have_other_coordinates() -> None:
    for joint in (SphericalExponential(), Schoenflies("x")):
        robot = one(joint)
        with pytest.raises(fb.ModelError, match=f"joint 'j', a {type(joint).__name__}.*waive=\\['coordinates'\\]"):
            written(robot)
        assert again(robot, "coordinates").nv == robot.nv
    with pytest.raises(fb.ModelError, match="joint 'j', a CustomJoint"):
        written(one(fb.joints.CustomJoint(lambda q: fb.joints.Revolute("z").placement(q), 1)))


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


def test_names_are_different_and_reported() -> None:
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
    assert "massless links ('spot')" in str(written(robot)[1])


def test_gravity_needs_a_world() -> None:
    robot = one(Revolute("x")).with_gravity((0.0, 1.0, -3.0))
    other = again(robot)
    assert other.gravity == (0.0, 1.0, -3.0) and other.names.velocities == ("one::h", "one::j", "one::k")
    q = np.array([0.1, 0.2, 0.3])
    assert np.allclose(other.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q, q), rtol=1e-13)
    assert "into a world" in str(written(robot)[1])


def test_a_free_body_is_where_the_first_configuration_has_it() -> None:
    b = fb.Builder("f").body("a", joint=Free(), mass=1, inertia=(1, 1, 1))
    q = (1.0, 2.0, 3.0, 0.5, 0.5, -0.5, 0.5)
    robot = b.configuration("home", {"a": q}).build()
    assert np.allclose(again(robot).configurations["initial"], q, atol=1e-15)


# --- as files ---------------------------------------------------------------------------------------------------------


def test_save_and_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm().save(tmp_path / "arm.sdf")
    assert fb.load(tmp_path / "arm.sdf").nv == 5
    assert main(["convert", str(tmp_path / "arm.sdf"), str(tmp_path / "arm.urdf")]) == 0
    assert main(["convert", str(tmp_path / "arm.urdf"), str(tmp_path / "back.sdf")]) == 0
    capsys.readouterr()
    assert fb.load(tmp_path / "back.sdf").nv == 5


def test_actuators_and_configurations_are_reported() -> None:
    b = fb.Builder("told").body("a", joint=Revolute("z"), joint_name="j", mass=1, inertia=(1, 1, 1))
    b.actuator("motor", drives="j").configuration("home", {"j": 0.3})
    report = str(written(b.build())[1])
    assert "'motor'" in report and "configurations are left out" in report


# --- from SDF to SDF --------------------------------------------------------------------------------------------------

AWAY = """<sdf version="1.9"><model name="m">
<link name="a"><inertial><mass>1</mass></inertial></link>
<joint name="f" type="fixed"><parent>world</parent><child>a</child></joint>
<link name="b"><pose>1 0 0 .1 .2 .3</pose><inertial><pose>.1 0 0 0 0 0</pose><mass>2</mass></inertial></link>
<joint name="j" type="revolute"><pose>-.3 .1 .2 .5 .4 .3</pose><parent>a</parent><child>b</child>
<axis><xyz>0 .6 .8</xyz></axis></joint>
<link name="c"><pose>1 1 0 0 0 1</pose><inertial><mass>3</mass></inertial></link>
<joint name="k" type="screw"><pose>.1 .2 .3 0 0 0</pose><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz></axis>
<screw_thread_pitch>.4</screw_thread_pitch></joint>
<frame name="tip" attached_to="c"><pose>0 0 1 0 0 0</pose></frame>
</model></sdf>"""


def test_joints_away_from_their_links_stay_so() -> None:
    """No link without mass is written for the place of a joint."""
    robot = fb.loads(AWAY)
    text, report = written(robot)
    assert text.count("<link ") == 3 and not report
    other = fb.loads(text)
    assert (other.names.bodies, other.names.joints) == (robot.names.bodies, robot.names.joints)
    assert_same(robot, other)
