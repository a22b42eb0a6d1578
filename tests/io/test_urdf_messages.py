"""URDF: numbers that are only rounding, and messages that say what is meant and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb

MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def robot_of(
    joint: str = "", kind: str = "continuous", body: str = MATTER, more: str = "", **options: Any
) -> fb.System:
    ends = '<parent link="base"/><child link="arm"/>'
    links = f'<link name="base"/><link name="arm">{body}</link>'
    text = f'<robot name="r">{links}<joint name="j" type="{kind}">{ends}{joint}</joint>{more}</robot>'
    return fb.loads(text, name="r.urdf", **options)


TENSOR = '<inertia ixx="{}" ixy="0" ixz="{}" iyy="0" iyz="0" izz="0"/></inertial>'
MASS = '<inertial><mass value="1.3"/><origin xyz="0.1 0 0"/>'


@pytest.mark.parametrize("small", ["2.4e-35", "-5e-20"])
def test_moments_that_are_rounding_are_those_of_a_point(small: str) -> None:
    robot = robot_of('<axis xyz="0 0 1"/>', body=MASS + TENSOR.format(small, small))
    assert not robot.report.findings and np.allclose(robot.mass_matrix([0.0]), 0.013, rtol=1e-12)


@pytest.mark.parametrize("more", ["1e-12", "-1e-12"])
def test_moments_that_are_more_are_refused(more: str) -> None:
    with pytest.raises(fb.ParseError, match="negative principal moment"):
        robot_of(body=MASS + TENSOR.format(0, more))


def test_notes_name_the_attribute() -> None:
    robot = robot_of('<dynamics D="1" K="7000"/>')
    assert [f.message.split(":")[0] for f in robot.report] == ["attribute 'D'", "attribute 'K'"]


def test_what_else_a_material_has_is_a_note() -> None:
    """PyBullet's files have how it shines."""
    colour = '<material name="red"><color rgba="1 0 0 1"/><specular rgb="11 1 1"/></material>'
    robot = robot_of(body=MATTER + f'<visual><geometry><sphere radius="1"/></geometry>{colour}</visual>')
    assert [(f.severity, f.key) for f in robot.report] == [("note", "link/visual/material/specular")]


def test_a_type_of_a_shape_is_a_note() -> None:
    """Some converters from MJCF write it at every shape."""
    shape = '<collision><geometry><box type="box" size="1 2 3"/></geometry></collision>'
    robot = robot_of(body=MATTER + shape)
    assert [(f.severity, f.key) for f in robot.report] == [("note", "link/collision/geometry/box@type")]
    (found,) = robot.mechanism.bodies[1].geometry
    assert found.size == (1.0, 2.0, 3.0)


def test_what_is_not_understood_can_be_removed_or_waived() -> None:
    said = r"not understood; remove it from the file, or accept it with waive=\['drake:ball_constraint'\]"
    with pytest.raises(fb.ParseError, match=said):
        robot_of(more="<drake:ball_constraint/>")


def test_a_limit_that_is_not_there_cannot_be_exchanged() -> None:
    with pytest.raises(fb.ParseError, match="write both") as caught:
        robot_of('<limit upper="-1" effort="1" velocity="1"/>', "revolute")
    assert "exchange" not in str(caught.value)


def test_two_gear_ratios_of_one_motor_that_differ_are_noted() -> None:
    ratios = '<mechanicalReduction>30</mechanicalReduction><drake:gear_ratio value="50"/>'
    motor = f'<actuator name="m">{ratios}<drake:rotor_inertia value="2e-5"/></actuator>'
    robot = robot_of('<axis xyz="0 0 1"/>', more=f'<transmission name="t"><joint name="j"/>{motor}</transmission>')
    (note,) = robot.report
    assert note.severity == "note" and "30" in note.message and "50" in note.message
    assert np.isclose(robot.mass_matrix([0.0])[0, 0], 1.0 + 50**2 * 2e-5, rtol=1e-15)


def test_actuators_that_are_ignored_share_a_line() -> None:
    idle = "".join(
        f'<transmission name="t{i}"><joint name="{name}"/><actuator name="m{i}"/></transmission>'
        for i, name in enumerate("fffzz")
    )
    fixed = '<joint name="f" type="fixed"><parent link="base"/><child link="tip"/></joint>'
    robot = fb.loads(f'<robot name="r"><link name="base"/><link name="tip"/>{fixed}{idle}</robot>', format="urdf")
    (line,) = str(robot.report).splitlines()
    assert "transmission/actuator: 5 elements, the first of them: the actuator of joint 'f'" in line
    assert len(robot.report) == 5
