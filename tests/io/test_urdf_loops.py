"""Loops in URDF files: URDF+, the constraints proposed for urdfdom, and side-car files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute, Spherical
from fourbar.loops import Closure, Coupling, Gear

pytestmark = [pytest.mark.filterwarnings("ignore::fourbar.FileWarning"), pytest.mark.drawn_in_line]

LENGTHS = {"crank": 1.0, "coupler": 2.0, "rocker": 2.0}
CARRIED = {"crank": ("base", 0.0), "coupler": ("crank", 1.0), "rocker": ("base", 2.0)}
MATTER = '<mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'


def four_bar_text(inside: str, independent: str = "") -> str:
    """Three bars in the plane of x and z, that hang on a base."""
    parts = ['<robot name="fourbar">', '<link name="base"/>']
    for name, (parent, at) in CARRIED.items():
        origin = f'<origin xyz="{LENGTHS[name] / 2} 0 0"/>'
        flag = f'independent="{"true" if name == independent else "false"}"' if independent else ""
        parts += [
            f'<link name="{name}"><inertial>{origin}{MATTER}</inertial></link>',
            f'<joint name="{name}_joint" type="continuous" {flag}><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{at} 0 0"/><axis xyz="0 1 0"/></joint>',
        ]
    return "\n".join([*parts, inside, "</robot>"])


def four_bar(loop: Any, **options: Any) -> fb.System:
    """The same by our own builder."""
    b = fb.Builder("fourbar")
    b.body("base", joint_name="root_joint")
    for name, (parent, at) in CARRIED.items():
        b.body(
            name, parent=parent, joint=Revolute("y"), joint_name=f"{name}_joint", position=(at, 0, 0), mass=1.0,
            com=(LENGTHS[name] / 2, 0, 0), inertia=(0.1, 0.1, 0.1),
        )  # fmt: skip
    return b.loop(loop, name="pin", **options).build()


PIN = Closure(Revolute("y"), "coupler", "rocker", at_predecessor=(2, 0, 0), at_successor=(2, 0, 0))
ENDS = (
    '<predecessor {0}="coupler"><origin xyz="2 0 0"/></predecessor>'
    '<successor {0}="rocker"><origin xyz="2 0 0"/></successor>'
)


@pytest.mark.parametrize("word", ["link", "name"])
def test_loops_of_urdf_plus(word: str) -> None:
    text = four_bar_text(f'<loop name="pin" type="revolute">{ENDS.format(word)}<axis xyz="0 1 0"/></loop>')
    robot = fb.loads(text)
    assert robot == four_bar(PIN) and robot.nv == 1
    assert [finding.key for finding in robot.report] == ["flat"]  # the links are in line


@pytest.mark.parametrize("joint", ["crank", "rocker"])
def test_independent_joints_of_urdf_plus(joint: str) -> None:
    loop = f'<loop name="pin" type="continuous">{ENDS.format("link")}<axis xyz="0 1 0"/></loop>'
    robot = fb.loads(four_bar_text(loop, independent=joint))
    assert robot == four_bar(PIN, independent=[f"{joint}_joint"])
    assert robot.names.velocities == (f"{joint}_joint",)


def test_independence_outside_loops() -> None:
    robot = fb.loads(four_bar_text("", independent="crank"))
    assert robot.nv == 3 and [f.key for f in robot.report.warnings] == ["joint@independent"] * 2


def test_couplings_of_urdf_plus() -> None:
    """Angles are against what carries both links, so those along a chain add up."""
    text = four_bar_text(
        '<coupling name="pin"><predecessor link="coupler"/><successor link="rocker"/><ratio value="3"/></coupling>'
    )
    robot = fb.loads(text)
    expected = Coupling({"coupler_joint": 3.0, "crank_joint": 3.0, "rocker_joint": -1.0})
    assert robot.mechanism.loops[0].loop == expected and robot.nv == 2
    q = np.ravel(robot.expand(robot.random(0)))
    assert np.isclose(q[2], 3.0 * (q[0] + q[1]), rtol=1e-14)


@pytest.mark.parametrize("tag", ["coupling", "constraint"])
def test_couplings_that_roll(tag: str) -> None:
    inside = '<predecessor link="coupler"/><successor link="rocker"/><ratio value="3"/>'
    plain = fb.loads(four_bar_text(f'<coupling name="pin">{inside}</coupling>'))
    assert fb.loads(four_bar_text(f'<{tag} name="pin" type="rolling">{inside}</{tag}>')) == plain
    with pytest.raises(fb.ParseError, match="unknown coupling type 'sliding'"):
        fb.loads(four_bar_text(f'<coupling name="pin" type="sliding">{inside}</coupling>'))


def test_couplings_of_the_first_files_of_urdf_plus() -> None:
    later = '<predecessor link="coupler"/><successor link="rocker"/><ratio value="3"/>'
    first = '<parent link="coupler"/><child link="rocker"/><gear_ratio value="3"/>'
    robot = fb.loads(four_bar_text(f'<joint_constraint name="pin">{first}</joint_constraint>'))
    assert robot == fb.loads(four_bar_text(f'<coupling name="pin">{later}</coupling>')) and not robot.report.warnings
    renamed = first.replace("gear_ratio", "ratio")
    with pytest.raises(fb.ParseError, match="gear_ratio"):
        fb.loads(four_bar_text(f'<joint_constraint name="pin">{renamed}</joint_constraint>'))


def test_loops_of_the_first_files_of_urdf_plus() -> None:
    first = (
        '<loop_constraint name="pin"><parent link="coupler"/><parent_origin xyz="2 0 0"/><child link="rocker"/>'
        '<child_origin xyz="2 0 0"/></loop_constraint>'
    )
    later = f'<constraint name="pin" type="position">{ENDS.format("link")}</constraint>'
    robot = fb.loads(four_bar_text(first, independent="crank"))
    assert robot == fb.loads(four_bar_text(later, independent="crank")) and robot.names.velocities == ("crank_joint",)


SIX_BAR = {1: (0, 0.0), 2: (1, 0.1), 3: (2, 0.2), 4: (0, 0.0), 5: (4, 0.4)}


PINNED = '<loop name="pin" type="revolute">{}<axis xyz="0 0 1"/></loop>'


def six_bar(
    dependent: tuple[int, ...], independent: tuple[int, ...] = (), loop: str = PINNED, **options: Any
) -> fb.System:
    """Six bars in a plane, with joints that are said to be independent or not."""
    parts = ['<robot name="six_bar"><link name="link0"/>']
    for n, (parent, x) in SIX_BAR.items():
        said = 'independent="false"' if n in dependent else 'independent="true"' if n in independent else ""
        parts.append(
            f'<link name="link{n}"><inertial>{MATTER}</inertial></link><joint name="joint{n}" type="continuous" {said}>'
            f'<parent link="link{parent}"/><child link="link{n}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
        )
    ends = (
        '<predecessor link="link3"><origin xyz="0.3 0 0"/></predecessor>'
        '<successor link="link5"><origin xyz="0.5 0 0"/></successor>'
    )
    return fb.loads("".join([*parts, loop.format(ends), "</robot>"]), **options)


def test_points_that_coincide_in_earlier_files_of_urdf_plus() -> None:
    robot, earlier = six_bar((4, 5)), six_bar((4, 5), loop='<constraint name="pin" type="position">{}</constraint>')
    assert earlier.names == robot.names and isinstance(earlier.mechanism.loops[0].loop.joint, Spherical)  # type: ignore[attr-defined]
    q = robot.random(0, 4)
    assert earlier.loop_gap(q).max() < 1e-12
    assert np.allclose(earlier.mass_matrix(q), robot.mass_matrix(q), rtol=1e-12)


def test_joints_that_are_not_independent() -> None:
    """Where a loop has joints that are not independent, the others are, also those that say nothing."""
    assert six_bar((4, 5)).names.velocities == ("joint1", "joint2", "joint3")
    assert six_bar((1, 5)).names.velocities == ("joint2", "joint3", "joint4")
    assert six_bar((4, 5), (1,)).names.velocities == ("joint1", "joint2", "joint3")
    said = r"have 3 degrees of freedom, but 4 .*without the attribute are independent.*waive=\['joint@independent'\]"
    with pytest.raises(fb.ParseError, match=said):
        six_bar((5,))
    assert six_bar((5,), waive=["joint@independent"]).nv == 3


@pytest.mark.parametrize(("dependent", "told"), [((1, 2, 3), 1), ((1, 2, 3, 4, 5), 3), ((4, 5), 0)])
def test_joints_that_cannot_all_be_dependent_are_reported(dependent: tuple[int, ...], told: int) -> None:
    """Three velocities are free: with more than two joints marked as dependent some are independent all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.FileWarning)
        robot = six_bar(dependent)
    marked = [f"joint{n}" for n in dependent if f"joint{n}" in robot.names.velocities]
    found = [f for f in robot.report.warnings if f.key == "joint@independent"]
    assert len(marked) == len(found) == told
    assert all(
        repr(name) in f.message and "3 degrees of freedom" in f.message for name, f in zip(marked, found, strict=True)
    )


CONSTRAINT = (
    '<constraint name="pin" type="{}"><parent link="coupler"/><parent_origin xyz="2 0 0"/><parent_axis xyz="0 1 0"/>'
    '<child link="rocker"/><child_origin xyz="2 0 0" rpy="{}"/><child_axis xyz="{}"/></constraint>'
)


def test_constraints_of_urdfdom() -> None:
    """A hinge whose axis is y of one frame and x of the other, which is turned; and a ball."""
    ours = four_bar(PIN)
    q = ours.assemble(np.array([0.5, 0.3, -0.4]))
    turned = fb.loads(four_bar_text(CONSTRAINT.format("revolute", "0 0 1.5707963267948966", "1 0 0")))
    assert turned.loop_gap(q) < 1e-12 and turned.nv == 1
    assert np.allclose(turned.mass_matrix(q), ours.mass_matrix(q), rtol=1e-12)
    ball = fb.loads(four_bar_text(CONSTRAINT.format("spherical", "0 0 0", "1 0 0")))
    assert ball.mechanism.loops[0].loop == Closure(
        Spherical(), "coupler", "rocker", at_predecessor=(2, 0, 0), at_successor=(2, 0, 0)
    )
    text = four_bar_text(CONSTRAINT.format("prismatic", "0 0 0", "1 0 0"))
    with pytest.raises(fb.ParseError, match="a prismatic constraint about"):
        fb.loads(text)


# --- side-car files ---------------------------------------------------------------------------------------------------

LOOP = {
    "name": "pin", "type": "revolute", "predecessor": "coupler", "successor": "rocker", "axis": "y",
    "position1": [2.0, 0.0, 0.0], "position2": [2, 0, 0], "independent": ["crank_joint"],
}  # fmt: skip
MOTOR = {
    "name": "rotor", "parent": "base", "drives": "crank_joint", "ratio": 6.0, "axis": "y", "mass": 0.1,
    "inertia": [1e-3, 2e-3, 1e-3],
}  # fmt: skip
TOML = """
[[loops]]
name = "pin"
type = "revolute"
predecessor = "coupler"
successor = "rocker"
axis = [0, 1, 0]
position1 = [2, 0, 0]
position2 = [2, 0, 0]
independent = ["crank_joint"]
"""
YAML = "loops:\n- " + "\n  ".join(f"{k}: {v}" for k, v in LOOP.items())


def beside(path: Path, text: str) -> fb.System:
    path.write_text(text, encoding="utf-8")
    return fb.loads(four_bar_text(""), name="four_bar.urdf", sidecar=path)


def test_sidecars_add_loops(tmp_path: Path) -> None:
    expected = four_bar(PIN, independent=["crank_joint"])
    assert beside(tmp_path / "a.json", json.dumps({"loops": [LOOP]})) == expected
    assert beside(tmp_path / "a.toml", TOML) == expected
    pytest.importorskip("yaml")
    assert beside(tmp_path / "a.yaml", YAML) == expected


def test_sidecars_add_motors_gears_couplings_and_frames(tmp_path: Path) -> None:
    robot = beside(
        tmp_path / "a.json",
        json.dumps({
            "motors": [MOTOR],
            "gears": [{"name": "g", "driver": "crank_joint", "driven": "rocker_joint", "ratio": -1, "offset": 0.5}],
            "couplings": [{"name": "c", "factors": {"coupler_joint": 1, "crank_joint": 2}}],
            "frames": [{"name": "tip", "body": "rocker", "position": [2, 0, 0]}],
        }),
    )  # fmt: skip
    loops = {loop.name: loop.loop for loop in robot.mechanism.loops}
    assert loops["rotor_gear"] == Gear("crank_joint", "rotor", 6.0)
    assert loops["g"] == Gear("crank_joint", "rocker_joint", -1.0, 0.5)
    assert loops["c"] == Coupling({"coupler_joint": 1.0, "crank_joint": 2.0})
    assert robot.nv == 1 and "tip" in robot.names.frames
    assert robot.mechanism.bodies[-1].inertia[1][1] == 2e-3


def test_sidecars_add_armature_that_couples_joints(tmp_path: Path) -> None:
    matrix = [[0.3, 0.1], [0.1, 0.2]]
    block = {"name": "belts", "joints": ["crank_joint", "coupler_joint"], "matrix": matrix}
    robot, plain = (beside(tmp_path / "a.json", json.dumps(content)) for content in ({"armatures": [block]}, {}))
    (found,) = robot.mechanism.armatures
    assert found.name == "belts" and found.joints == ("crank_joint", "coupler_joint")
    q = plain.random(1)
    added = robot.mass_matrix(q) - plain.mass_matrix(q)
    at = [robot.names.velocities.index(x) for x in block["joints"]]
    assert np.allclose(added[np.ix_(at, at)], matrix) and np.isclose(np.abs(added).sum(), 0.7)


def test_sidecars_say_near_which_configuration_loops_close(tmp_path: Path) -> None:
    for sign in (1.0, -1.0):
        start = {"crank_joint": 1.0, "coupler_joint": -sign, "rocker_joint": sign}
        robot = beside(tmp_path / "a.json", json.dumps({"loops": [LOOP], "configuration": start}))
        q = robot.neutral() if not robot.mechanism.configurations else next(iter(robot.configurations.values()))
        assert robot.loop_gap(q) < 1e-9 and len(robot.mechanism.configurations) == 1


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", r"a\.json:1: column 2: Expecting property name"),
        ("[]", r"a\.json:1: expected a table"),
        ('{"loops": 3}', r"a\.json:1: loops: expected a list of tables"),
        ('{"loop": []}', r"a\.json:1: 'loop' is not understood; known keys: .*loops"),
        ('{"gears": [{"driver": "a", "driven": "b", "ratio": NaN}]}', r"a\.json:1: NaN is not a JSON number"),
        ('{"gears": [{"driver": "a", "driven": "b", "ratio": 1e999}]}', "expected a finite number"),
        ('{"gears": [{"driver": "a", "driven": "b", "ratio": "6"}]}', r"a\.json:1: gears\[0\]: ratio='6'"),
        ('{"gears": [{"driver": "a", "driven": "b"}]}', r"gears\[0\]: 'ratio' is missing"),
        ('{"gears": [{"name": "g", "driver": "a", "driven": "b", "ratio": 1, "x": 1}]}', r"gears\[0\] 'g': 'x' is not"),
        ('{"gears": [{"name": "g", "driver": "a", "driven": "b", "ratio": 1}]}', "there is no joint 'a'"),
        ('{"loops": [{"name": "l", "type": "wobbly"}]}', "unknown type 'wobbly'"),
        ('{"frames": [{"name": "f", "body": 3}]}', "body=3: expected a text"),
        ('{"armatures": [{"name": "b", "joints": ["crank_joint"], "matrix": [[1, 2]]}]}', r"matrix=.*a square matrix"),
        ('{"armatures": [{"name": "b", "joints": ["a"], "matrix": [[1]]}]}', "armature 'b'.*no joint 'a'"),
        ('{"loops": [], "loops": []}', "duplicate key 'loops'"),
        ('{"motors": [{"name": "m", "position": [1, 2]}]}', "'drives' is missing"),
        ("{" * 100_000, r"a\.json"),
    ],
)  # fmt: skip
def test_sidecars_are_checked(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(fb.ParseError, match=message):
        beside(tmp_path / "a.json", content)


def test_sidecars_that_are_not_there() -> None:
    with pytest.raises(fb.ArgumentError, match="there is no file"):
        fb.loads(four_bar_text(""), sidecar="/nowhere/a.json")
    with pytest.raises(fb.ArgumentError, match="sidecar=3"):
        fb.loads(four_bar_text(""), sidecar=3)
