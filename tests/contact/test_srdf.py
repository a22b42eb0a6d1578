"""SRDF beside a URDF: links that never collide, links that collide with named ones only, states as configurations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ModelError

LINK = (
    '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
)
JOINT = (
    '<joint name="j{1}" type="continuous"><parent link="{0}"/><child link="{1}"/><origin xyz="0.3 0 0"/>'
    '<axis xyz="0 1 0"/></joint>'
)
CHAIN = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"))


@pytest.fixture
def load(tmp_path: Path):
    """Loads a chain of five links with an SRDF."""
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm">'
        + "".join(map(LINK.format, "abcde"))
        + "".join(JOINT.format(*x) for x in CHAIN)
        + "</robot>"
    )

    def loaded(content: str, how=fb.load_scene, **options):
        (tmp_path / "arm.srdf").write_text(f'<robot name="arm">{content}</robot>')
        return how(tmp_path / "arm.urdf", srdf=tmp_path / "arm.srdf", **options)

    return loaded


OFF = '<disable_collisions link1="{}" link2="{}" reason="Never"/>'


def test_without_filters_all_but_neighbours_may_touch(load) -> None:
    assert load("", pairs="all", floating=True).contacts == ("a:c", "a:d", "a:e", "b:d", "b:e", "c:e")


def test_disabled_pairs_do_not_touch_in_any_order_but_by_name(load) -> None:
    off = OFF.format("a", "c") + OFF.format("e", "b")
    assert load(off, pairs="all", floating=True).contacts == ("a:d", "a:e", "b:d", "c:e")
    assert load(off, pairs=[("a", "c")], floating=True).contacts == ("a:c",)


def test_a_link_that_is_off_by_default_touches_those_that_are_enabled(load) -> None:
    text = '<disable_default_collisions link="a"/><enable_collisions link1="d" link2="a"/>' + OFF.format("b", "d")
    assert load(text, pairs="all", floating=True).contacts == ("a:d", "b:e", "c:e")


def test_disabled_pairs_leave_the_floor_alone(load) -> None:
    """On a fixed base that the default leaves out, and with a floor after it."""
    text = '<disable_default_collisions link="c"/>'
    robot = load(text, how=fb.load, floating=True)
    assert fb.Scene(robot, fb.Plane(), pairs="none").contacts == tuple("abcde")
    assert set(map(frozenset, robot.mechanism.contacts.excluded)) == {frozenset(("c", x)) for x in "abde"}


def test_states_are_configurations(load) -> None:
    text = (
        '<group name="arm"><joint name="jb"/></group>'
        '<group_state name="home" group="arm"><joint name="jb" value="0.5"/></group_state>'
        '<group_state name="home" group="hand"><joint name="je" value="-0.25"/>'
        '<joint name="root_joint" value="0 0 1 1 0 0 0"/></group_state>'
    )
    q = load(text, floating=True).keyframes["home"]
    assert np.allclose(q, [0, 0, 1, 0, 1, 0, 0, 0.5, 0, 0, -0.25])  # our quaternions begin with w
    assert np.allclose(load(text).keyframes["home"], [0.5, 0, 0, -0.25])


def test_what_the_robot_does_not_have_is_reported(load) -> None:
    with pytest.warns(fb.FileWarning, match="disable_collisions"):
        robot = load(OFF.format("a", "f"), how=fb.load)
    assert robot.mechanism.contacts.excluded == () and "no link 'f'" in str(robot.report)
    for text, words in (
        (OFF.format("a", "f"), "no link 'f'"),
        ('<group_state name="x"><joint name="jf" value="1"/></group_state>', "no joint 'jf'"),
        ('<disable_collision link1="a" link2="b"/>', "disable_collision"),
    ):
        with pytest.raises(ModelError, match=words):
            load(text, how=fb.load, strict=True)
    with pytest.raises(ModelError, match="value"):
        load('<group_state name="x"><joint name="jb" value="one"/></group_state>', how=fb.load)
    with pytest.raises(ModelError, match="link2"):
        load('<disable_collisions link1="a"/>', how=fb.load)
