"""Damping, friction and stiffness below zero, which identified models have: refused, or left out if that is waived."""

from __future__ import annotations

import pytest

import fourbar as fb

MOMENTS = "<ixx>1</ixx><iyy>1</iyy><izz>1</izz>"
FILES = {
    "urdf": '<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" '
    'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>'
    '<child link="a"/><axis xyz="0 0 1"/><dynamics {}="-0.01"/></joint></robot>',
    "mjcf": '<mujoco><worldbody><body name="a"><joint name="j" {}="-0.01"/><geom size="1"/></body></worldbody>'
    "</mujoco>",
    "sdf": f'<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>1</mass><inertia>{MOMENTS}</inertia>'
    '</inertial></link><joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz>'
    "<dynamics><{0}>-0.01</{0}></dynamics></axis></joint></model></sdf>",
}
CASES = [
    ("urdf", "damping", "dynamics@damping"),
    ("urdf", "friction", "dynamics@friction"),
    ("urdf", "spring_stiffness", "dynamics@spring_stiffness"),
    ("mjcf", "damping", "joint@damping"),
    ("mjcf", "frictionloss", "joint@frictionloss"),
    ("mjcf", "stiffness", "joint@stiffness"),
    ("sdf", "damping", "dynamics/damping"),
    ("sdf", "friction", "dynamics/friction"),
    ("sdf", "spring_stiffness", "dynamics/spring_stiffness"),
]


@pytest.mark.parametrize("format, name, key", CASES)
def test_it_can_be_waived(format: str, name: str, key: str) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    text = FILES[format].format(name)
    with pytest.raises(fb.ParseError, match=r"-0\.01 is negative; .*zero; .*waive=\[") as caught:
        fb.loads(text, format=format)
    (error,) = caught.value.report.errors
    assert error.line and error.key.endswith(key)
    robot = fb.loads(text, format=format, waive=[key])
    joint = robot.mechanism.joints[-1]
    assert not any(joint.damping) and not any(joint.friction) and not any(joint.stiffness)


def test_findings_about_second_elements_have_their_key() -> None:
    text = FILES["urdf"].format("damping").replace("-0.01", "0.01").replace("<axis", '<axis xyz="1 0 0"/><axis')
    with pytest.raises(fb.ParseError) as caught:
        fb.loads(text)
    assert [error.key for error in caught.value.report.errors] == ["joint/axis"]
