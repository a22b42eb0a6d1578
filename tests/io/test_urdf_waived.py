"""URDF: what is refused, but can be waived, and what then follows; what is left out, and that this is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")

TENSOR = '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/>'
MATTER = f'<inertial><mass value="1"/>{TENSOR}</inertial>'
HEAVY = MATTER.replace('"3"', '"4"')
SPHERE = '<geometry><sphere radius="1"/></geometry>'


def arm(inside: str = '<axis xyz="0 0 1"/>', body: str = MATTER, **options: Any) -> fb.System:
    ends = '<parent link="base"/><child link="arm"/>'
    links = f'<link name="base"/><link name="arm">{body}</link>'
    text = f'<robot name="r">{links}<joint name="j" type="revolute">{ends}{inside}</joint></robot>'
    return fb.loads(text, name="r.urdf", **options)


@pytest.mark.parametrize(
    "words, ends",
    [
        ('lower="low" upper="1"', (-np.inf, 1.0)),
        ('lower="-1" upper="nan"', (-1.0, np.inf)),
        ('lower="low" upper="high"', (-np.inf, np.inf)),
    ],
)
def test_a_limit_that_is_no_number_is_none(words: str, ends: tuple[float, float]) -> None:
    """Not zero, which URDF assumes where a limit is missing."""
    inside = f'<limit {words} effort="1" velocity="1"/>'
    with pytest.raises(fb.ParseError, match=r"no limit; .*waive=\['joint/limit'\]"):
        arm(inside)
    joint = arm(inside, waive=["limit"]).mechanism.joints[1]
    assert (joint.lower, joint.upper) == ((ends[0],), (ends[1],))


@pytest.mark.parametrize(
    "inside, body, key",
    [
        ('<axis xyz="0 0 1"/><axis xyz="1 0 0"/>', MATTER, "joint/axis"),
        ('<axis xyz="0 0 1"/>', MATTER + HEAVY, "link/inertial"),
        ('<axis xyz="0 0 1"/>', MATTER.replace(TENSOR, TENSOR * 2), "link/inertial/inertia"),
    ],
)
def test_of_two_elements_the_first_can_be_used(inside: str, body: str, key: str) -> None:
    with pytest.raises(fb.ParseError, match=rf"only one is allowed; remove one of them; or .*waive=\['{key}'\]"):
        arm(inside, body)
    robot = arm(inside, body, waive=[key])
    assert robot.mass_matrix([0.0]) == 3.0
    (note,) = robot.report.notes
    assert note.key == key and "the first, at line 1, is used (waived)" in note.message


def test_of_two_geometries_the_first_can_be_used() -> None:
    shapes = SPHERE + SPHERE.replace("1", "2")
    body = MATTER + f"<visual>{shapes}</visual>"
    assert "this <visual> is left out" in str(arm(body=body).report) and not arm(body=body).mechanism.bodies[1].geometry
    (shape,) = arm(body=body, waive=["visual/geometry"]).mechanism.bodies[1].geometry
    assert shape.size == (1.0,)


def test_moments_that_are_missing_can_be_zero() -> None:
    body = MATTER.replace(' ixy="0"', "").replace(' iyz="0"', "")
    with pytest.raises(fb.ParseError, match=r"ixy, iyz are missing; .*zero.*waive=\['link/inertial/inertia'\]"):
        arm(body=body)
    assert arm(body=body, waive=["inertial/inertia"]).mass_matrix([0.0]) == 3.0


@pytest.mark.parametrize("zero", ["0", "0.0", "-0e3"])
def test_no_stiffness_is_no_spring(zero: str) -> None:
    robot = arm(f'<axis xyz="0 0 1"/><dynamics stiffness="{zero}"/><limit lower="-1" upper="1"/>')
    assert not robot.report.findings and robot.mechanism.joints[1].stiffness == ()


@pytest.mark.parametrize(
    "shape, said",
    [
        ("<visual/>", "<geometry> is missing; this <visual> is left out"),
        ("<collision/>", "<geometry> is missing; this <collision> is left out"),
        ('<visual><geometry><mesh filename="a.stl" scale="1"/></geometry></visual>', "this <visual> is left out"),
        (f'<visual>{SPHERE}<material><color rgba="1 0 0"/></material></visual>', "it has no colour"),
    ],
)
def test_what_is_left_out_is_said(shape: str, said: str) -> None:
    (found,) = arm('<limit lower="-1" upper="1"/>', MATTER + shape).report.warnings
    assert said in found.message


def test_a_macro_that_was_left_over_is_named_and_waived() -> None:
    text = (
        f'<robot name="r" xmlns:xacro="x"><link name="a">{MATTER}</link>\n<xacro:v1_hardware_interface hw="1"/></robot>'
    )
    with pytest.raises(
        fb.ParseError, match=r":2: .*<xacro:v1_hardware_interface>.*waive=\['xacro:v1_hardware_interface'\]"
    ):
        fb.loads(text)
    robot = fb.loads(text, waive=["xacro:v1_hardware_interface"])
    assert robot.names.bodies == ("a",) and "waived" in str(robot.report.notes)


@pytest.mark.parametrize("text", ["$(optenv IMU_XYZ 0.19 0 0.149)", "${x} ${y}", "${x} ${y} ${z}"])
def test_expressions_are_named(text: str) -> None:
    with pytest.raises(fb.ParseError, match="is an expression; expand the file with xacro first"):
        arm(f'<origin xyz="{text}"/>')


def test_the_ground_need_not_be_declared() -> None:
    """Drake's files take it for granted."""
    weld = '<joint name="weld" type="fixed"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>'
    ends = '<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
    links = f'<link name="base"/><link name="arm">{MATTER}</link>'
    text = f'<robot name="r">{links}{weld}<joint name="j" type="continuous">{ends}</joint></robot>'
    robot = fb.loads(text, waive=["world"])
    assert robot.names.bodies == ("base", "arm") and robot.pose([0.0], "arm")[:3, 3].tolist() == [1.0, 2.0, 3.0]
    declared = fb.loads(text.replace(links, '<link name="world"/>' + links))
    assert robot.names == declared.names and not declared.report.findings
    with pytest.raises(fb.ParseError, match="cannot float"):
        fb.loads(text, waive=["world"], floating=True)


@pytest.mark.parametrize("limit", ["", '<limit effort="1" velocity="1"/>'])
@pytest.mark.parametrize("kind, advised", [("revolute", True), ("prismatic", False)])
def test_a_slide_is_not_advised_to_turn(kind: str, advised: bool, limit: str) -> None:
    ends = '<parent link="base"/><child link="arm"/>'
    links = f'<link name="base"/><link name="arm">{MATTER}</link>'
    robot = fb.loads(f'<robot name="r">{links}<joint name="j" type="{kind}">{ends}{limit}</joint></robot>')
    (found,) = robot.report.warnings
    assert "moves freely" in found.message and ("continuous" in found.fix) is advised
