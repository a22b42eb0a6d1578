"""Surfaces of collision shapes in SDF and URDF: read, written, and read again."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute
from fourbar.mechanism.contact import Surface
from fourbar.mechanism.contact_pairs import touches_world
from fourbar.mechanism.geometry import Geometry

SDF = """<sdf version="1.9"><model name="m"><link name="a">
<collision name="c"><geometry><sphere><radius>.1</radius></sphere></geometry>{}</collision></link>
<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>"""
SURFACES = {
    "ode": (
        "<surface><friction><ode><mu>.7</mu><mu2>.6</mu2><slip1>0</slip1></ode></friction></surface>",
        Surface(friction=0.7, friction2=0.6),
    ),
    "the same twice": (
        "<surface><friction><ode><mu>.7</mu><mu2>.7</mu2></ode></friction></surface>",
        Surface(friction=0.7),
    ),
    "bullet": (
        "<surface><friction><bullet><friction>.3</friction><friction2>.4</friction2>"
        "<rolling_friction>.01</rolling_friction></bullet></friction></surface>",
        Surface(friction=0.3, friction2=0.4, rolling=0.01),
    ),
    "torsional": (
        "<surface><friction><torsional><coefficient>.8</coefficient><patch_radius>.02</patch_radius>"
        "</torsional></friction></surface>",
        Surface(torsion=3 * math.pi / 16 * 0.8 * 0.02),
    ),
    "torsional by the surface's radius": (
        "<surface><friction><torsional><coefficient>.8</coefficient><patch_radius>.02</patch_radius>"
        "<use_patch_radius>false</use_patch_radius></torsional></friction></surface>",
        Surface(),
    ),
    "bounce": (
        "<surface><bounce><restitution_coefficient>.5</restitution_coefficient></bounce></surface>",
        Surface(restitution=0.5),
    ),
    "contact": (
        "<surface><contact><ode><kp>1e5</kp><kd>10</kd></ode><collide_bitmask>0x06</collide_bitmask></contact></surface>",
        Surface(stiffness=1e5, damping=10.0, groups=6, meets=6),
    ),
    "all bits": ("<surface><contact><collide_bitmask>65535</collide_bitmask></contact></surface>", Surface()),
    "nothing": ("", Surface()),
}


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.filterwarnings("error::fourbar.FileWarning")
def test_sdf(name: str) -> None:
    inside, surface = SURFACES[name]
    (shape,) = fb.loads(SDF.format(inside), format="sdf").mechanism.bodies[0].geometry
    assert shape.surface == surface


@pytest.mark.parametrize("inside", ["<mu>slippery</mu>", "<mu>-1</mu>"])
def test_a_surface_that_cannot_be_read_is_left_out(inside: str) -> None:
    text = SDF.format(f"<surface><friction><ode>{inside}</ode></friction></surface>")
    with pytest.warns(fb.FileWarning, match="collision/surface"):
        (shape,) = fb.loads(text, format="sdf").mechanism.bodies[0].geometry
    assert (shape.kind, shape.surface) == ("sphere", Surface())


@pytest.mark.parametrize(("normal", "z"), [("0 0 1", (0, 0, 1)), ("0 2 0", (0, 1, 0)), ("0 -.6 .8", (0, -0.6, 0.8))])
def test_the_normal_of_a_plane(normal: str, z: tuple[float, ...]) -> None:
    text = SDF.replace("<sphere><radius>.1</radius></sphere>", f"<plane><normal>{normal}</normal></plane>").format("")
    (shape,) = fb.loads(text, format="sdf").mechanism.bodies[0].geometry
    R = np.array(shape.placement.rotation)
    assert np.allclose(R[:, 2], z) and np.allclose(R @ R.T, np.eye(3)) and np.linalg.det(R) > 0.0


def test_a_floor_of_sdf_is_touched() -> None:
    model = SDF.format("").removeprefix('<sdf version="1.9">').removesuffix("</sdf>")
    floor = (
        '<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        "</collision></link></model>"
    )
    robot = fb.loads(f'<sdf version="1.9"><world name="w">{floor}{model}</world></sdf>', format="sdf")
    assert touches_world(robot.mechanism)


URDF = """<robot name="r" xmlns:drake="x"><link name="base"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{link}<collision><geometry>
<sphere radius=".1"/></geometry>{collision}</collision></link><joint name="j" type="continuous"><parent link="base"/>
<child link="a"/></joint>{root}</robot>"""
BULLET = (
    '<contact><lateral_friction value=".9"/><spinning_friction value=".02"/><rolling_friction value=".01"/>'
    '<restitution value=".3"/><stiffness value="1e4"/><damping value="50"/><contact_cfm value="0"/></contact>'
)
FRICTION = '<drake:mu_dynamic value=".4"/><drake:mu_static value=".5"/>'
DRAKE = f"<drake:proximity_properties>{FRICTION}</drake:proximity_properties>"
GAZEBO = '<gazebo reference="a"><mu1>.7</mu1><mu2 value=".6"/><kp>1e6</kp><kd>1</kd><material>Gray</material></gazebo>'
WRITTEN = {
    "bullet": (
        {"link": BULLET},
        Surface(0.9, 0.02, 0.01, 0.3, stiffness=1e4, damping=50.0),
    ),
    "drake": ({"collision": DRAKE}, Surface(friction=0.4)),
    "gazebo": ({"root": GAZEBO}, Surface(friction=0.7, friction2=0.6, stiffness=1e6, damping=1.0)),
    "gazebo and drake": (
        {"root": GAZEBO, "collision": DRAKE},
        Surface(friction=0.4, friction2=0.6, stiffness=1e6, damping=1.0),
    ),
    "of another link": ({"root": GAZEBO.replace('"a"', '"base"')}, Surface()),
    "nothing": ({}, Surface()),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.filterwarnings("error::fourbar.FileWarning")
def test_urdf(name: str) -> None:
    given, surface = WRITTEN[name]
    text = URDF.format(**{"link": "", "collision": "", "root": "", **given})
    body = next(b for b in fb.loads(text, format="urdf").mechanism.bodies if b.name == "a")
    assert body.geometry[0].surface == surface


def robot_with(*surfaces: Surface) -> fb.System:
    shapes = [Geometry("sphere", (0.1,), role="collision", name=f"s{k}", surface=x) for k, x in enumerate(surfaces)]
    b = fb.Builder("r").body("a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1), geometry=shapes)
    return b.world(Geometry("plane", role="collision")).exclude_contact("a", "world").build()  # type: ignore[attr-defined]


def again(robot: fb.System, path: Path) -> tuple[list[Surface], str]:
    report = robot.save(path)
    (body,) = [b for b in fb.load(path).mechanism.bodies if b.name == "a"]
    return [x.surface for x in body.geometry], str(report)


def test_sdf_again(tmp_path: Path) -> None:
    said = Surface(0.7, 0.01, 0.02, 0.3, 0.6, 1e5, 10.0, groups=6, meets=6)
    (first, second), report = again(robot_with(said, Surface()), tmp_path / "x.sdf")
    assert second == Surface() and abs((first.torsion or 0.0) - 0.01) < 1e-16
    assert first == Surface(**{**vars(said), "torsion": first.torsion})
    assert "of the world" in report and "rules of contact" in report
    unsaid = Surface(friction=0.5, margin=0.01, solref=(0.01, 1.0), groups=2, meets=1)
    (found,), report = again(robot_with(unsaid), tmp_path / "x.sdf")
    assert found == Surface(friction=0.5)
    assert all(word in report for word in ("margin of surfaces", "solref of surfaces", "groups and meets"))


def test_urdf_again(tmp_path: Path) -> None:
    said = Surface(0.7, 0.01, 0.02, 0.3, None, 1e5, 10.0)
    found, report = again(robot_with(said, said), tmp_path / "x.urdf")
    assert found == [said, said] and "of the world" in report
    found, report = again(robot_with(said, Surface()), tmp_path / "x.urdf")
    assert found == [Surface(), Surface()] and "differ between shapes" in report
    (one,), report = again(robot_with(Surface(friction=0.5, margin=0.01)), tmp_path / "x.urdf")
    assert one == Surface(friction=0.5) and "margin of surfaces" in report
