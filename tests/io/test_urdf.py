"""What a URDF says, and what becomes of it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Planar, Prismatic, Revolute
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.mechanism import Placement

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
    assert robot.mechanism.joints[1].joint == expected
    assert robot.names.bodies == ("base", "arm") and robot.names.joints == ("root_joint", "j")


def test_a_joint_has_all_its_numbers() -> None:
    robot = two(
        '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" effort="3" velocity="4"/>',
        kind="revolute",
    )
    c = robot.mechanism.joints[1]
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
    a = two(f'<origin xyz="1 0 0" quat_xyzw="0 0 {s!r} {s!r}"/>').mechanism.joints[1].placement
    assert np.allclose(a.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    text = refused(link("a"), link("b"), joint("j", "a", "b", inside='<origin rpy="0 0 1" quat_xyzw="0 0 0 1"/>'))
    assert "both rpy and quat_xyzw" in text


def test_floating_roots() -> None:
    assert two().nv == 1
    assert two(floating=True).mechanism.joints[0].joint == Free()
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
        (("j1", "j2"), "mimic each other in a cycle: j1 -> j2 -> j1"),
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
    "actuator, gear",
    [
        ("<mechanicalReduction>50</mechanicalReduction><rotorInertia>2e-5</rotorInertia>", 50.0),
        ('<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-5"/>', 1.0),
        (
            "<mechanicalReduction>1</mechanicalReduction>"
            '<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-5"/>',
            1.0,
        ),
    ],
)
def test_rotors_of_transmissions(actuator: str, gear: float) -> None:
    transmission = (
        '<transmission name="t"><type>SimpleTransmission</type><joint name="j"><hardwareInterface>E</hardwareInterface>'
        f'</joint><actuator name="m">{actuator}</actuator></transmission>'
    )
    robot = load(link("base"), link("arm"), joint("j", "base", "arm"), transmission)
    assert np.isclose(robot.mass_matrix([0.0])[0, 0], 1.0 + 50**2 * 2e-5, rtol=1e-15)
    assert robot.actuators == (fb.Actuator("m", (fb.Drive("j", (gear,)),)),)
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
        ('<joint name="j"/><actuator name="m"/><actuator name="n"/>', [], "2 actuators and 0 gear ratios for 1 joint "),
        ('<joint name="z"/><actuator name="m"/>', [], "there is no such joint"),
        ('<joint name="f"/><actuator name="m"/>', [], "does not have exactly one velocity"),
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
    assert [(f.severity, f.key) for f in load(*parts).report] == [("note", "gazebo")]
    assert "part of the robot in Gazebo only" in refused(*parts, '<gazebo><joint name="loop"/></gazebo>')


def test_every_wrong_element_is_listed() -> None:
    text = refused(link("a"), link("b", '<inertial><mass value="x"/></inertial>'), link("c", "<visual/>"),
                   joint("j", "a", "b"), joint("k", "b", "c", more='independent="maybe"'))  # fmt: skip
    assert text.splitlines() == ["r.urdf:5: robot 'r'/joint 'k': independent='maybe': expected true or false"]
    text = refused(link("a"), link("b", '<inertial><mass value="x"/></inertial>'),
                   link("c", '<inertial><mass value="-1"/></inertial>'),
                   joint("j", "a", "b"), joint("k", "b", "c"))  # fmt: skip
    assert [line.split(": ")[0] for line in text.splitlines()] == ["r.urdf:2", "r.urdf:3"]


def test_joints_that_move_nothing() -> None:
    parts = [link("a"), link("b", ""), joint("j", "a", "b")]
    assert refused(*parts, strict=True).startswith("r.urdf:3: robot 'r'/joint 'j': joint 'j' moves nothing")
    waived = load(*parts, waive=["massless"])
    assert waived.mass_matrix([0.0]).tolist() == [[0.0]]
    assert [(f.severity, f.key) for f in waived.report] == [("note", "massless")]
    with pytest.warns(fb.FileWarning, match="massless"):
        robot = load(*parts)
    for same in (robot, pickle.loads(pickle.dumps(robot))):
        assert same.mass_matrix([0.0]).tolist() == [[0.0]] and same.inverse_dynamics([0.0], [0.0], [1.0]) == 0.0
        for name in ("forward_dynamics", "inverse_mass_matrix", "solve_mass_matrix", "passive_dynamics"):
            with pytest.raises(fb.ModelError, match=rf"{name}: joint 'j' moves nothing .*waive=\['massless'\]"):
                getattr(same, name)


def test_what_is_waived_without_effect_is_refused() -> None:
    with pytest.raises(fb.ArgumentError, match=r"waive=\['typo'\].*matches no finding in r\.urdf.*joint/banana"):
        two("<banana/>", waive=["typo", "banana"])
    with pytest.raises(fb.ArgumentError, match=r"waive=\['massless'\].*nothing to waive"):
        two(waive=["massless"])
    assert two(waive=["mass*", "*"]).nv == 1


def _transmitted(kind: str, ratio: str) -> fb.System:
    matter = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    return fb.loads(
        f'<robot name="r"><link name="a">{matter}</link><link name="b">{matter}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        f'<transmission name="t"><type>{kind}</type><joint name="j"/><actuator name="m">'
        f"<mechanicalReduction>{ratio}</mechanicalReduction></actuator></transmission></robot>",
        name="r.urdf",
    )


def test_a_transmission_that_is_not_simple_is_reported():
    assert not len(_transmitted("transmission_interface/SimpleTransmission", "5").report)
    found = _transmitted("transmission_interface/DifferentialTransmission", "5")
    assert "'transmission_interface/DifferentialTransmission' is read as a simple one" in str(found.report)


def test_a_gear_ratio_of_zero_is_reported():
    with pytest.warns(fb.FileWarning):
        assert "actuator 'm' is zero: it moves nothing" in str(_transmitted("SimpleTransmission", "0").report)


SPHERE = '<geometry><sphere radius="1"/></geometry>'
MESH = '<geometry><mesh filename="a.stl" scale="{}"/></geometry>'


@pytest.mark.parametrize(
    "shape, key, words, kept",
    [
        (f'<visual>{SPHERE}<material name="a"/><material name="b"/></visual>', "material", "a second <material>", 1),
        ("<visual/>", "link/visual", "<geometry> is missing", 0),
        ("<collision><geometry/></collision>", "link/collision", "it contains nothing", 0),
        ("<visual><geometry><cone/></geometry></visual>", "link/visual", "it contains <cone>", 0),
        (f"<visual>{MESH.format('0.001')}</visual>", "link/visual", "1 numbers, but 3", 0),
        ('<visual><geometry><box size="1 -1 1"/></geometry></visual>', "link/visual", "non-negative", 0),
        (f'<visual>{SPHERE}<material><color rgba="1 0 0"/></material></visual>', "material", "3 numbers, but 4", 1),
    ],
)
def test_what_is_only_drawn_is_no_error(shape: str, key: str, words: str, kept: int) -> None:
    robot = two(body=MATTER + shape)
    [found] = robot.report.warnings
    assert words in found.message and found.key.endswith(key)
    assert len(robot.mechanism.bodies[1].geometry) == kept
    assert two(body=MATTER + shape, strict=True, waive=[key]).nv == 1
    with pytest.raises(fb.ParseError):
        two(body=MATTER + shape, strict=True)


def test_shapes_of_drake() -> None:
    shapes = (
        '<drake:ellipsoid a="1" b="2" c="3"/>',
        '<drake:capsule radius="0.5" length="2"/>',
    )
    body = MATTER + "".join(f"<collision><geometry>{x}</geometry></collision>" for x in shapes)
    ellipsoid, capsule = two(body=body).mechanism.bodies[1].geometry
    assert (ellipsoid.kind, ellipsoid.size) == ("ellipsoid", (1.0, 2.0, 3.0))
    assert (capsule.kind, capsule.size) == ("capsule", (0.5, 2.0))


INF = float("inf")
LIMIT = '<limit lower="{}" upper="{}" effort="{}" velocity="1"/>'


@pytest.mark.parametrize(
    "limit, words, kept",
    [
        (LIMIT.format(1, -1, 1), "above the upper", ((-INF,), (INF,), (1.0,))),
        (LIMIT.format(-1, 1, -1), "effort=-1.0 is negative", ((-1.0,), (1.0,), (INF,))),
        (LIMIT.format(-1, 1, "much"), "not a decimal number", ((-1.0,), (1.0,), (INF,))),
    ],
)
def test_limits_can_be_waived(limit: str, words: str, kept: Any) -> None:
    parts = [link("a"), link("b"), joint("j", "a", "b", "revolute", limit)]
    text = refused(*parts)
    assert words in text and "waive=['joint/limit']" in text
    c = load(*parts, waive=["limit"]).mechanism.joints[1]
    assert (c.lower, c.upper, c.max_force) == kept


@pytest.mark.parametrize(
    "attributes, severity, ends",
    [
        ("", "warning", (-INF, INF)),
        ('lower="-2"', "note", (-2.0, 0.0)),
        ('upper="2"', "note", (0.0, 2.0)),
        ('lower="0" upper="0"', "", (0.0, 0.0)),
    ],
)
def test_limits_that_are_missing(attributes: str, severity: str, ends: tuple[float, float]) -> None:
    robot = two(f'<limit {attributes} effort="1" velocity="1"/>', "revolute")
    c = robot.mechanism.joints[1]
    assert (*c.lower, *c.upper) == ends
    assert [(f.severity, f.key) for f in robot.report] == ([(severity, "joint/limit")] if severity else [])


def test_a_reduction_that_is_no_number_can_be_waived() -> None:
    gear = "<actuator name='m'><mechanicalReduction>about 50</mechanicalReduction></actuator>"
    parts = [link("a"), link("b"), joint("j", "a", "b"), f'<transmission><joint name="j"/>{gear}</transmission>']
    assert "'about 50' is more than one number" in refused(*parts)
    assert load(*parts, waive=["mechanicalReduction"]).actuators[0].drives[0].gear == (1.0,)


def test_matter_that_is_incomplete_can_be_waived() -> None:
    point = [link("a"), link("b", '<inertial><origin xyz="0 0 1"/><mass value="2"/></inertial>'), joint("j", "a", "b")]
    assert "<inertia> is missing" in refused(*point)
    assert np.isclose(load(*point, waive=["inertia"]).mass_matrix([0.0])[0, 0], 2.0, rtol=1e-15)
    no_mass = [link("a"), link("b", MATTER.replace('<mass value="1"/>', "")), joint("j", "a", "b")]
    assert "<mass> is missing" in refused(*no_mass)
    assert load(*no_mass, waive=["mass", "inertia"]).mechanism.bodies[1].mass == 0.0


def test_a_world_that_is_not_declared_is_explained() -> None:
    text = refused(link("base"), joint("weld", "world", "base", "fixed"))
    assert "there is no link 'world'" in text and '<link name="world"/>; or accept it with waive=[' in text


@pytest.mark.parametrize(
    "inside, key",
    [
        ("<force_element name='f'><linear_spring_damper/></force_element>", "force_element"),
        ("<drake:linear_bushing_rpy><drake:bushing_frameA name='a'/></drake:linear_bushing_rpy>", "drake:*bushing*"),
        ("<drake:linear_spring_damper/>", "drake:linear_spring_damper"),
        ("<drake:tendon_constraint/>", "drake:tendon_constraint"),
    ],
)
def test_forces_that_are_not_read_are_errors(inside: str, key: str) -> None:
    parts = [link("a"), link("b"), joint("j", "a", "b"), inside]
    assert "is not understood" in refused(*parts)
    assert load(*parts, waive=[key]).nv == 1


def test_springs() -> None:
    parts = [link("a"), link("b"), joint("j", "a", "b", inside='<dynamics stiffness="5"/>')]
    assert "stiffness='5' is not understood; for a spring write spring_stiffness" in refused(*parts)
    assert load(*parts, waive=["dynamics@stiffness"]).mechanism.joints[1].stiffness == ()
    sprung = two('<dynamics damping="1" spring_stiffness="5" spring_reference="0.25"/>')
    c = sprung.mechanism.joints[1]
    assert (c.stiffness, c.rest, c.damping) == ((5.0,), (0.25,), (1.0,)) and not sprung.report
    assert "armature='1' is not understood" in refused(
        link("a"), link("b"), joint("j", "a", "b", inside='<dynamics armature="1"/>')
    )


def test_what_other_programs_read_is_noted_once() -> None:
    gains = '<drake:controller_gains p="1" d="2"/>'
    robot = load(
        link("a", MATTER + "<contact/>"), link("b"),
        joint("j", "a", "b", inside='<limit effort="1" velocity="1" drake:acceleration="3"/><dynamics D="1" K="2"/>'),
        f'<transmission><joint name="j"/><actuator name="m">{gains}</actuator></transmission>',
        *(f'<gazebo reference="{x}"/>' for x in "ab"), "<mujoco/>", "<ros2_control/>",
        strict=True,
    )  # fmt: skip
    assert robot.report and all(f.severity == "note" for f in robot.report)
    assert "r.urdf:5: note: gazebo: 2 elements: for Gazebo only" in str(robot.report).splitlines()
    assert len(robot.report.details().splitlines()) == len(robot.report) == 9


def test_frames_of_drake() -> None:
    frame = '<frame name="tip" link="arm" xyz="1 0 0" rpy="0 0 1.5707963267948966"/>'
    robot = load(link("base"), link("arm"), joint("j", "base", "arm", inside='<axis xyz="0 0 1"/>'), frame)
    pose = robot.pose([0.0], "tip")
    assert np.allclose(pose[:3, 3], [1, 0, 0]) and np.allclose(pose[:3, 0], [0, 1, 0], atol=1e-15)
    assert not robot.report
    assert "there is no link 'hand'" in refused(link("a"), '<frame name="tip" link="hand"/>')


def test_mimics_of_drake() -> None:
    robot = load(
        *(link(x) for x in "abc"), joint("j1", "a", "b"),
        joint("j2", "b", "c", inside='<drake:mimic joint="j1" multiplier="2" offset="0.5"/>'),
    )  # fmt: skip
    assert robot.nv == 1 and np.allclose(np.ravel(robot.expand([0.5])), [0.5, 1.5]) and not robot.report


OF_DRAKE = {
    "ball": '<dynamics damping="2"/>', "universal": '<dynamics damping="2"/>',
    "planar": '<axis xyz="0 0 1"/><dynamics damping="1 1 3"/>',
    "screw": '<axis xyz="0 1 0"/><drake:screw_thread_pitch value="0.25"/><dynamics damping="2"/>',
}  # fmt: skip


def of_drake(kind: str) -> str:
    body = (
        '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial>'
    )
    ends = '<parent link="world"/><child link="arm"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    return (
        f'<robot name="r"><link name="world"/>{link("arm", body)}'
        f'<drake:joint name="j" type="{kind}">{ends}{OF_DRAKE[kind]}</drake:joint></robot>'
    )


def test_joints_of_drake() -> None:
    """The same places for the same coordinates as in Drake itself."""
    pydrake = pytest.importorskip("pydrake.all")
    for kind in ("universal", "screw", "planar", "ball"):
        robot = fb.loads(of_drake(kind))
        plant = pydrake.MultibodyPlant(0.0)
        pydrake.Parser(plant).AddModelsFromString(of_drake(kind), "urdf")
        plant.Finalize()
        context = plant.CreateDefaultContext()
        q = plant.GetPositions(context) if kind == "ball" else np.array([0.3, -0.4, 0.5])[: robot.nq]
        plant.SetPositions(context, q)
        theirs = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("arm")).GetAsMatrix4()
        ours = robot.pose(robot.neutral() if kind == "ball" else q, "arm")
        assert np.allclose(ours, theirs, rtol=0, atol=1e-14), kind
        assert not robot.report
    assert fb.loads(of_drake("planar")).mechanism.joints[0].damping == (3.0, 1.0, 1.0)
    assert "dampings 1.0 along x and 2.0 along y" in refused_text(of_drake("planar").replace("1 1 3", "1 2 3"))
    assert "unknown joint type 'helix'" in refused_text(of_drake("ball").replace("ball", "helix"))


def refused_text(text: str) -> str:
    with pytest.raises(fb.ParseError) as caught:
        fb.loads(text)
    return str(caught.value)
