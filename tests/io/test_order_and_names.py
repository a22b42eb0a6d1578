"""Orders of joints and names of loops that a format does not keep: the report says what a reader will find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
BODY = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
FORMATS = ("urdf", "sdf", "xml", "json")


def branching(order: str, free: bool = False) -> fb.System:
    """Bodies a and b on the ground (or c on a floating b), c and e on a, d on b, in an order of their names."""
    b = fb.Builder("branches")
    parents = {"a": "world", "b": "world", "c": "a", "d": "b", "e": "a"}
    for name in order:
        joint = Free() if free and name == "b" else Revolute("z")
        b.body(name, parent=parents[name], joint=joint, joint_name=f"{name}_hinge", **BODY)
    return b.build()


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("order", ["abcde", "acebd", "badce", "bdaec"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_order_of_joints(format: str, order: str, free: bool, tmp_path: Path) -> None:
    if format == "xml":
        pytest.importorskip("mujoco")
    robot = branching(order, free)
    report = str(robot.save(tmp_path / f"robot.{format}"))
    again = fb.load(tmp_path / f"robot.{format}")
    moving = [c.name for c in again.mechanism.joints if c.joint.nv]
    read = [next(c.name for c in robot.mechanism.joints if x.startswith(c.child)) for x in moving]
    said = re.search(r"joints are read .*, in the order ([^;]*);", report)
    if read == [c.name for c in robot.mechanism.joints]:
        assert said is None
    else:
        assert said is not None and re.findall(r"'(\w+)'", said[1]) == read


@pytest.mark.parametrize("format", FORMATS)
def test_the_names_of_gears(format: str, tmp_path: Path) -> None:
    if format == "xml":
        pytest.importorskip("mujoco")
    b = fb.Builder("geared")
    for name in "abc":
        b.body(name, joint=Revolute("z"), joint_name=f"{name}_hinge", **BODY)
    b.loop(fb.loops.Gear("a_hinge", "b_hinge", 2.0), name="belt")
    b.loop(fb.loops.Gear("a_hinge", "c_hinge", 3.0), name="c_hinge_mimic")
    report = str(b.build().save(tmp_path / f"robot.{format}"))
    names = {loop.name for loop in fb.load(tmp_path / f"robot.{format}").mechanism.loops}
    said = re.findall(r"loop '(\w+)' is written as a mimic, .* read as '(\w+)'", report)
    assert said == ([("belt", "b_hinge_mimic")] if format in ("urdf", "sdf") else [])
    assert names == {"b_hinge_mimic" if said else "belt", "c_hinge_mimic"}
