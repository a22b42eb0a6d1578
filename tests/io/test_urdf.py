"""What a URDF says, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Planar, Prismatic, Revolute
from fourbar.model.geometry import Geometry
from fourbar.model.mechanism import Placement

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")

MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name: str, inside: str = MATTER) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "continuous", inside: str = "", more: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}" {more}>{ends}{inside}</joint>'


def load(*parts: str, **options: Any) -> fb.System:
    return fb.loads('<robot name="r">' + "\n".join(parts) + "</robot>", name="r.urdf", **options)


def two(inside: str = "", kind: str = "continuous", body: str = MATTER, more: str = "", **options: Any) -> fb.System:
    return load(link("base"), link("arm", body), joint("j", "base", "arm", kind, inside, more), **options)


def refused(*parts: str, **options: Any) -> str:
    with pytest.raises(fb.ParseError) as caught:
        load(*parts, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("revolute", Revolute((1, 0, 0))), ("continuous", Revolute("x")), ("prismatic", Prismatic("x")),
        ("planar", Planar("x")), ("floating", Free()),
    ],
)  # fmt: skip
def test_joint_types(kind: str, expected: Any) -> None:
    robot = two(kind=kind)
    assert robot.mechanism.connections[1].joint == expected
    assert robot.names.bodies == ("base", "arm") and robot.names.joints == ("root_joint", "j")


def test_a_joint_has_all_its_numbers() -> None:
    robot = two(
        '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" effort="3" velocity="4"/>',
        kind="revolute",
    )
    c = robot.mechanism.connections[1]
    assert (c.joint, c.placement.position) == (Revolute("y"), (1.0, 2.0, 3.0))
    assert np.allclose(c.placement.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-16)
    assert (c.damping, c.friction, c.lower, c.upper) == ((0.5,), (0.25,), (-1.0,), (2.0,))
    assert (c.max_force, c.max_velocity) == ((3.0,), (4.0,))
    assert not robot.report


def test_inertia_is_turned_into_the_axes_of_the_link() -> None:
    body = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial>'
    )
    found = two(body=body).mechanism.bodies[1]
    cr, cp, cy, sr, sp, sy = *np.cos([0.3, -0.4, 0.5]), *np.sin([0.3, -0.4, 0.5])
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    R = Rz @ Ry @ Rx
    I = np.array([[1, 0.1, 0.2], [0.1, 1.5, 0.3], [0.2, 0.3, 2]])
    assert found.mass == 2.0 and found.com == (0.1, 0.2, 0.3)
    assert np.allclose(found.inertia, R @ I @ R.T, rtol=0, atol=1e-15)


def test_quaternions_of_newer_urdf() -> None:
    s = float(np.sqrt(0.5))
    a = two(f'<origin xyz="1 0 0" quat_xyzw="0 0 {s!r} {s!r}"/>').mechanism.connections[1].placement
    assert np.allclose(a.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    text = refused(link("a"), link("b"), joint("j", "a", "b", inside='<origin rpy="0 0 1" quat_xyzw="0 0 0 1"/>'))
    assert "both rpy and quat_xyzw" in text


def test_floating_roots() -> None:
    assert two().nv == 1
    assert two(floating=True).mechanism.connections[0].joint == Free()
    assert two(floating=Planar("z")).nv == 4
    assert load(link("world", ""), link("arm"), joint("j", "world", "arm")).names.bodies == ("arm",)
    assert "the ground, which cannot float" in refused(
        link("world", ""), link("arm"), joint("j", "world", "arm"), floating=True
    )


def test_links_on_fixed_joints_are_places() -> None:
    robot = load(
        link("base"), link("arm"), link("hand", ""), joint("j", "base", "arm", inside='<axis xyz="0 0 1"/>'),
        joint("f", "arm", "hand", "fixed", '<origin xyz="1 0 0"/>'),
    )  # fmt: skip
    assert np.allclose(robot.pose([np.pi / 2], "hand")[:3, 3], [0, 1, 0], atol=1e-15)


def test_mimics_are_exact_and_may_follow_each_other() -> None:
    robot = load(
        *(link(x) for x in "abcd"),
        joint("j1", "a", "b"),
        joint("j2", "b", "c", inside='<mimic joint="j1" multiplier="2" offset="0.5"/>'),
        joint("j3", "c", "d", inside='<mimic joint="j2" multiplier="-3" offset="0.25"/>'),
    )
    assert robot.nv == 1 and robot.names.velocities == ("j1",)
    q = robot.expand(np.array([0.7]))
    assert np.allclose(np.ravel(q), [0.7, 1.9, -3 * 1.9 + 0.25], rtol=1e-15)
    assert np.allclose(robot.expand_velocity([0.7], [1.0]), [1, 2, -6])


@pytest.mark.parametrize(
    "mimics, message",
    [
        (("j2", None), "there is no joint 'j9'"),
        (("j1", "j2"), "mimic each other in a circle: j1 -> j2 -> j1"),
    ],
)
def test_mimics_that_end_nowhere(mimics: Any, message: str) -> None:
    if mimics[1] is None:
        parts = [joint("j1", "a", "b"), joint("j2", "b", "c", inside='<mimic joint="j9"/>')]
    else:
        parts = [
            joint("j1", "a", "b", inside='<mimic joint="j2"/>'),
            joint("j2", "b", "c", inside='<mimic joint="j1"/>'),
        ]
    links = [link(x) for x in "abc"]
    assert message in refused(*links, *parts)
    if mimics[1] is None:
        assert load(*links, *parts, waive=["mimic"]).nv == 2


@pytest.mark.parametrize(
    "actuator",
    [
        "<mechanicalReduction>50</mechanicalReduction><rotorInertia>2e-5</rotorInertia>",
        '<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-5"/>',
    ],
)
def test_rotors_of_transmissions(actuator: str) -> None:
    transmission = (
        '<transmission name="t"><type>SimpleTransmission</type><joint name="j"><hardwareInterface>E</hardwareInterface>'
        f'</joint><actuator name="m">{actuator}</actuator></transmission>'
    )
    robot = load(link("base"), link("arm"), joint("j", "base", "arm"), transmission)
    assert np.isclose(robot.mass_matrix([0.0])[0, 0], 1.0 + 50**2 * 2e-5, rtol=1e-15)
    assert robot.actuators == (fb.Actuator("m", (fb.Drive("j", (50.0,)),)),)
    assert not robot.report


def test_a_gear_ratio_without_a_rotor_is_that_of_an_actuator() -> None:
    gear = '<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>'
    parts = [link("base"), link("arm"), joint("j", "base", "arm"),
             f'<transmission name="t"><joint name="j"/>{gear}</transmission>']  # fmt: skip
    robot = load(*parts)
    assert robot.actuators == (fb.Actuator("m", (fb.Drive("j", (50.0,)),)),)
    assert np.array_equal(robot.actuator_force([0.0], [2.0]), [100.0])
    assert not robot.report and robot.mass_matrix([0.0])[0, 0] == 1.0


@pytest.mark.parametrize(
    "more, names, words",
    [
        ('<joint name="j"/><actuator name="m"/><actuator name="n"/>', [], "2 actuators and 0 gear ratios for 1 joints"),
        ('<joint name="z"/><actuator name="m"/>', [], "there is no such joint"),
        ('<joint name="f"/><actuator name="m"/>', [], "the joint has not one velocity"),
        ('<joint name="j"/><actuator/>', ["t"], ""),
        ('<joint name="j"/><actuator name="m"/></transmission><transmission name="u"><joint name="j"/>'
         '<actuator name="m"/>', ["m", "u"], "several actuators 'm'"),
    ],
)  # fmt: skip
def test_actuators_that_are_named_or_placed_otherwise(more: str, names: list[str], words: str) -> None:
    parts = [link("base"), link("arm"), link("tip"), joint("j", "base", "arm"), joint("f", "arm", "tip", kind="fixed")]
    robot = load(*parts, f'<transmission name="t">{more}</transmission>')
    assert list(robot.names.actuators) == names and words in str(robot.report)
    assert not robot.report.warnings


def test_transmissions_with_several_rotors_are_doubted() -> None:
    motor = '<actuator name="m"><rotorInertia>1</rotorInertia></actuator>'
    parts = [link("base"), link("arm"), joint("j", "base", "arm"),
             f'<transmission name="t"><joint name="j"/>{motor}{motor}</transmission>']  # fmt: skip
    assert "2 rotor inertias and 0 gear ratios for 1 joints" in refused(*parts)
    assert load(*parts, waive=["transmission"]).mass_matrix([0.0])[0, 0] == 1.0


def test_shapes_and_colours() -> None:
    body = (
        MATTER + '<visual name="v"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/>'
        '</visual><visual><geometry><mesh filename="package://p/a.stl" scale="1 1 2"/></geometry></visual>'
        '<collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>'
        '<collision><geometry><sphere radius="0.1"/></geometry>'
        '<material name="own"><color rgba="0 0 1 0.5"/></material></collision>'
    )
    robot = load(
        '<material name="red"><color rgba="1 0 0 1"/></material>', link("a"), link("b", body), joint("j", "a", "b")
    )
    box, mesh, cylinder, sphere = robot.mechanism.bodies[1].geometry
    assert box == Geometry("box", (1.0, 2.0, 3.0), Placement(position=(0.0, 0.0, 1.0)), "visual",
                           colour=(1.0, 0.0, 0.0, 1.0), name="v")  # fmt: skip
    assert (mesh.kind, mesh.mesh, mesh.scale, mesh.file) == ("mesh", "package://p/a.stl", (1.0, 1.0, 2.0), "")
    assert (cylinder.kind, cylinder.size, cylinder.role) == ("cylinder", (0.1, 2.0), "collision")
    assert (sphere.size, sphere.colour) == ((0.1,), (0.0, 0.0, 1.0, 0.5))
    assert [f.severity for f in robot.report] == ["note"] and "not found" in str(robot.report)


def test_what_is_not_understood_is_listed() -> None:
    robot = two("<banana/>", more='colour="red"')
    assert [(f.severity, f.key) for f in robot.report] == [("warning", "joint@colour"), ("warning", "joint/banana")]
    parts = [link("base"), link("arm"), joint("j", "base", "arm", inside='<mimic joint="x" power="2"/>')]
    assert "attribute power='2' is not understood" in refused(link("c"), joint("x", "arm", "c"), *parts)


def test_misspelled_elements_are_doubted() -> None:
    parts = [link("a"), link("b"), joint("j", "a", "b", inside='<orgin xyz="1 0 0"/>')]
    assert "<orgin> is not understood; did you mean 'origin'?" in refused(*parts)
    assert load(*parts, waive=["orgin"]).nv == 1
    robot = two('<limit effort="1" velocity="1" uper="2"/>')
    assert "uper='2' is not understood; did you mean 'upper'?" in str(robot.report.warnings[0])


def test_joints_for_gazebo_are_doubted() -> None:
    parts = [link("a"), link("b"), joint("j", "a", "b"), '<gazebo reference="b"><mu1>1</mu1></gazebo>']
    assert [f.key for f in load(*parts).report.warnings] == ["gazebo"]
    assert "part of the robot for Gazebo only" in refused(*parts, '<gazebo><joint name="loop"/></gazebo>')


def test_every_wrong_element_is_listed() -> None:
    text = refused(link("a"), link("b", '<inertial><mass value="x"/></inertial>'), link("c", "<visual/>"),
                   joint("j", "a", "b"), joint("k", "b", "c", more='independent="maybe"'))  # fmt: skip
    assert text.splitlines() == ["r.urdf:5: robot 'r'/joint 'k': independent='maybe': expected true or false"]
    text = refused(link("a"), link("b", '<inertial><mass value="x"/></inertial>'), link("c", "<visual/>"),
                   joint("j", "a", "b"), joint("k", "b", "c"))  # fmt: skip
    assert [line.split(": ")[0] for line in text.splitlines()] == ["r.urdf:2", "r.urdf:3"]


def test_joints_that_move_nothing() -> None:
    parts = [link("a"), link("b", ""), joint("j", "a", "b")]
    assert refused(*parts).startswith("r.urdf:3: robot 'r'/joint 'j': joint 'j' moves nothing")
    robot = load(*parts, waive=["massless"])
    assert robot.mass_matrix([0.0]).tolist() == [[0.0]] and robot.report.findings[-1].key == "massless"


def _transmitted(kind: str, ratio: str) -> fb.System:
    matter = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    return fb.loads(
        f'<robot name="r"><link name="a">{matter}</link><link name="b">{matter}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        f'<transmission name="t"><type>{kind}</type><joint name="j"/><actuator name="m">'
        f"<mechanicalReduction>{ratio}</mechanicalReduction></actuator></transmission></robot>",
        name="r.urdf",
    )


def test_a_transmission_that_is_not_simple_is_told():
    assert not len(_transmitted("transmission_interface/SimpleTransmission", "5").report)
    found = _transmitted("transmission_interface/DifferentialTransmission", "5")
    assert "'transmission_interface/DifferentialTransmission' is read as a simple one" in str(found.report)


def test_a_gear_ratio_of_zero_is_told():
    with pytest.warns(fb.FileWarning):
        assert "actuator 'm' is zero: it moves nothing" in str(_transmitted("SimpleTransmission", "0").report)
