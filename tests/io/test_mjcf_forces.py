"""MJCF files: bounds of joint forces, and actuators of joints that a weld locks."""

from __future__ import annotations

from pathlib import Path

import pytest

import fourbar as fb

pytest.importorskip("mujoco")


def load(bodies: str, rest: str = "") -> fb.System:
    text = f'<mujoco model="small">\n<worldbody>\n{bodies}\n</worldbody>\n{rest}\n</mujoco>'
    return fb.loads(text, name="small.xml")


def test_a_range_of_forces_that_is_not_symmetric(tmp_path: Path):
    robot = load('<body name="a"><joint name="j" actuatorfrcrange="-7 3"/><geom type="box" size=".1 .2 .3"/></body>')
    (joint,) = robot.mechanism.joints
    assert (joint.min_force, joint.max_force) == ((-7.0,), (3.0,))
    for file in ("again.xml", "again.json", "again.toml"):
        robot.save(tmp_path / file)
        again = fb.load(tmp_path / file).mechanism.joints[0]
        assert (again.min_force, again.max_force) == ((-7.0,), (3.0,))


def test_welds_that_lock_what_an_actuator_drives_are_reported() -> None:
    """A weld is meant to hold things, but not what a motor should move."""
    inside = '<equality><weld name="w" body1="a"/></equality>'
    motor = '<actuator><motor name="m" joint="j"/></actuator>'
    hinge = '<body name="a"><joint name="j"/><geom size=".1"/></body>'
    assert not load(hinge, inside).report.warnings
    with pytest.warns(fb.FileWarning, match="frozen"):
        robot = load(hinge, inside + motor)
    (finding,) = robot.report.warnings
    assert finding.key == "frozen" and "lock joints 'j', though actuator 'm' drives 'j'" in finding.message
