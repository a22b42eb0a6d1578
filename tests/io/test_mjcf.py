"""MJCF files: what is carried, what is reported, what is refused. The numbers are compared in tests/peers."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import extra

pytest.importorskip("mujoco")
BOX = '<geom name="g" type="box" size=".1 .2 .3"/>'


def model(bodies: str, rest: str = "", head: str = "") -> str:
    return f'<mujoco model="small">\n{head}\n<worldbody>\n{bodies}\n</worldbody>\n{rest}\n</mujoco>'


def load(text: str, **options: object) -> fb.System:
    return fb.loads(text, name="small.xml", **options)  # type: ignore[arg-type]


HINGE = f'<body name="a"><joint name="j" axis="0 1 0"/>{BOX}</body>'


def test_parameters_of_joints_are_carried():
    robot = load(
        model(
            '<body name="a"><joint name="j" axis="0 1 0" range="-.5 .7" damping="2" frictionloss=".3" armature=".1" '
            f'stiffness="5" springref=".2" actuatorfrcrange="-7 7"/>{BOX}'
            '<body name="b"><joint name="k" type="ball" stiffness="4"/><geom size=".1"/></body></body>',
            head='<compiler angle="radian"/>',
        )
    )
    j, k = robot.mechanism.joints
    assert (j.lower, j.upper, j.damping, j.friction, j.armature) == ((-0.5,), (0.7,), (2.0,), (0.3,), (0.1,))
    assert (j.stiffness, j.rest, j.max_force) == ((5.0,), (0.2,), (7.0,))
    assert (k.stiffness, k.rest) == ((4.0,) * 3, (1.0, 0.0, 0.0, 0.0))
    assert "springs of joints 'j', 'k'" in str(robot.report)


def test_limits_so_far_away_are_none():
    text = f'<body name="a"><joint name="j" type="slide" limited="true" range="%s"/>{BOX}</body>'
    for given, expected in {"-1e12 1e12": (-np.inf, np.inf), "-1 1e9": (-1.0, np.inf), "-3 9e8": (-3.0, 9e8)}.items():
        (c,) = load(model(text % given)).mechanism.joints
        assert (c.lower, c.upper) == ((expected[0],), (expected[1],))


def test_names_are_those_of_the_file():
    text = model(
        f'<body name="a"><joint name="x" type="slide"/><joint name="y" axis="0 1 0" pos=".1 0 0"/>{BOX}'
        f'<body><geom size=".1"/><site name="tip"/><body name="c"><joint/><geom size=".1"/></body></body></body>'
    )
    robot = load(text)
    assert robot.name == "small"
    assert robot.names.velocities == ("x", "y", "c")
    assert robot.names.bodies == ("a/x", "a/y", "a", "body1", "c")
    assert robot.names.frames == ("tip",)


def test_a_site_with_the_name_of_a_body_is_renamed():
    with pytest.warns(fb.FileWarning):
        robot = load(model(f'<body name="a"><joint/>{BOX}<site name="a"/></body>'))
    assert robot.names.frames == ("a_2",)
    assert "site 'a' has the name of a body; it is called 'a_2'" in str(robot.report)


def test_keyframes_are_configurations():
    robot = load(model(HINGE, '<keyframe><key name="up" qpos="1.5"/><key qpos="-.5"/></keyframe>'))
    assert {k: v.tolist() for k, v in robot.configurations.items()} == {"qpos0": [0.0], "up": [1.5], "key1": [-0.5]}


def test_open_loops_are_closed_and_the_gap_is_reported():
    """A four-bar in a file of three digits: the keyframe is a millimetre open."""
    bars = (
        '<body name="crank"><joint name="crank" axis="0 1 0"/><geom type="capsule" size=".01" fromto="0 0 0 .2 0 0"/>'
        '<body name="coupler" pos=".2 0 0"><joint name="coupler" axis="0 1 0"/>'
        '<geom type="capsule" size=".01" fromto="0 0 0 .5 0 0"/></body></body>'
        '<body name="rocker" pos=".5 0 0"><joint name="rocker" axis="0 1 0" ref="-90"/>'
        '<geom type="capsule" size=".01" fromto="0 0 0 0 0 .4"/></body>'
    )
    rest = (
        '<equality><connect name="pin" body1="rocker" body2="coupler" anchor="0 0 .4"/></equality>'
        '<keyframe><key name="home" qpos="0 0 -1.572"/></keyframe>'
    )
    robot = load(model(bars, rest))
    assert (robot.nq, robot.nv) == (3, 1)
    home = robot.configurations["home"]
    assert robot.loop_gap(home) < 1e-12
    assert 1e-5 < np.abs(home - [0, 0, -1.572]).max() < 0.01
    (note,) = [f for f in robot.report if "'home' the loops of the file are" in f.message]
    assert note.severity == "note" and note.line > 0


# --- geometry ---------------------------------------------------------------------------------------------------------


def test_geoms_are_carried():
    geoms = (
        '<geom type="box" size=".1 .2 .3" pos="1 2 3" rgba="1 0 0 1"/><geom size=".1" contype="0" conaffinity="0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 1" size=".1" material="m"/><geom type="cylinder" size=".1 .2"/>'
        '<geom type="ellipsoid" size=".1 .2 .3"/>'
    )
    head = '<asset><texture name="t" type="2d" file="gone.png"/><material name="m" texture="t" rgba="0 0 1 1"/></asset>'
    (body,) = load(model(f"<body><joint/>{geoms}</body>", head=head)).mechanism.bodies
    kinds = [(g.kind, g.size, g.role, g.colour) for g in body.geometry]
    assert kinds == [
        ("box", (0.2, 0.4, 0.6), "collision", (1.0, 0.0, 0.0, 1.0)),
        ("sphere", (0.1,), "visual", None),
        ("capsule", (0.1, 1.0), "collision", (0.0, 0.0, 1.0, 1.0)),
        ("cylinder", (0.1, 0.4), "collision", None),
        ("ellipsoid", (0.1, 0.2, 0.3), "collision", None),
    ]
    assert body.geometry[0].placement.position == (1.0, 2.0, 3.0)


def png(rows: list[list[tuple[int, int, int]]], said: tuple[int, int] | None = None) -> bytes:
    """A picture of three channels; `said`: the width and height in its header, if they are others."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    width, height = said or (len(rows[0]), len(rows))
    pixels = b"".join(b"\0" + bytes(x for pixel in row for x in pixel) for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


SIZED = 'type="2d" width="40" height="40"'
LOOKS = {  # a texture, rgba of its material and of the geom, and the colour
    "flat": (f'{SIZED} builtin="flat" rgb1=".2 .4 .6"', "1 1 1 1", "", (0.2, 0.4, 0.6, 1.0)),
    "checker": (f'{SIZED} builtin="checker" rgb1=".2 .3 .4" rgb2=".6 .5 .4"', ".5 1 1 .7", "", (0.2, 0.4, 0.4, 0.7)),
    "own": (f'{SIZED} builtin="flat" rgb1=".2 .4 .6"', "1 1 1 1", 'rgba="1 0 .5 1"', (0.2, 0.0, 0.3, 1.0)),
    "cube": (
        'type="cube" width="8" height="48" builtin="flat" rgb1=".2 .4 .6" rgb2=".8 .4 0"',
        "1 1 1 1",
        "",
        (0.3, 0.4, 0.5, 1.0),
    ),
    "file": ('type="2d" file="a.png"', "1 1 1 1", "", (0.4, 0.2, 0.0, 1.0)),
    "lost": ('type="2d" file="b.png"', "0 0 1 1", "", (0.0, 0.0, 1.0, 1.0)),
    "bad": ('type="2d" file="bad.png"', "0 0 1 1", "", (0.0, 0.0, 1.0, 1.0)),
    "huge": ('type="2d" file="huge.png"', "0 0 1 1", "", (0.0, 0.0, 1.0, 1.0)),
    "wide": ('type="2d" width="100000" height="100000" builtin="flat"', "0 0 1 1", "", (0.0, 0.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("name", LOOKS)
def test_shapes_have_the_mean_colours_of_their_textures(name: str, tmp_path: Path) -> None:
    texture, rgba, own, expected = LOOKS[name]
    (tmp_path / "a.png").write_bytes(png([[(204, 102, 0), (0, 0, 0)], [(204, 102, 0), (0, 0, 0)]] * 2))
    (tmp_path / "bad.png").write_bytes(b"no picture")
    (tmp_path / "huge.png").write_bytes(png([[(1, 2, 3)]], (60_000, 60_000)))
    head = f'<asset><texture name="t" {texture}/><material name="m" texture="t" rgba="{rgba}"/></asset>'
    text = model(f'<body><joint/><geom size=".1" material="m" {own}/></body>', head=head)
    (tmp_path / "robot.xml").write_text(text)
    ((shape,),) = (x.geometry for x in fb.load(tmp_path / "robot.xml").mechanism.bodies)
    assert shape.colour == pytest.approx(expected, abs=2.5 / 255.0)


MESH = '<asset><mesh name="m" file="m.obj" scale="2 2 2"/><hfield name="h" file="h.png" size="1 1 1 1"/></asset>'
CUBE = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    + ["f 1 3 4 2", "f 5 6 8 7", "f 1 2 6 5", "f 3 7 8 4", "f 1 5 7 3", "f 2 4 8 6"]
)


def test_meshes_are_not_needed_where_inertias_are_given():
    body = (
        '<geom type="hfield" hfield="h"/><geom type="mesh" mesh="m"/>'
        '<body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<frame pos="1 0 0"><geom name="shell" type="mesh" mesh="m" euler="0 0 90"/></frame></body>'
    )
    robot = load(model(body, '<sensor><framepos objtype="geom" objname="shell"/></sensor>', MESH))
    (shape,) = robot.mechanism.bodies[0].geometry
    assert (shape.kind, shape.mesh, shape.scale, shape.name) == ("mesh", "m.obj", (2.0, 2.0, 2.0), "shell")
    assert shape.placement.position == (1.0, 0.0, 0.0)
    assert np.allclose(shape.placement.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert robot.mechanism.bodies[0].mass == 1.0


def test_meshes_are_read_where_inertias_come_from_them(tmp_path: Path):
    text = model('<body name="a"><joint/><geom type="mesh" mesh="m" pos="1 0 0" density="10"/></body>', head=MESH)
    with pytest.raises(
        fb.ModelError, match=r"small.xml:2: .*inertias of bodies come from mesh 'm', whose file was not"
    ):
        load(text)
    (tmp_path / "m.obj").write_text(CUBE)
    robot = load(text, folders=[tmp_path])
    (body,) = robot.mechanism.bodies
    assert np.allclose((body.mass, *body.com), (80.0, 2.0, 1.0, 1.0), rtol=1e-12)
    assert np.allclose(body.geometry[0].placement.position, (1.0, 0.0, 0.0), atol=1e-12)


def test_a_body_that_lacks_its_mesh_may_be_waived():
    text = model(HINGE.replace("</body>", '<body><geom type="mesh" mesh="m"/></body></body>'), head=MESH)
    with pytest.raises(fb.ModelError, match="mesh@file"):
        load(text)
    robot = load(text, waive=["mesh@file"])
    assert robot.mechanism.bodies[1].mass == 0.0
    assert "its mass is missing (waived)" in str(robot.report)


# --- rotors -----------------------------------------------------------------------------------------------------------

ARM = (
    '<body name="a" euler="20 30 40"><freejoint/><geom type="box" size=".1 .2 .3"/>'
    '<body name="b" pos=".1 .2 .3" euler="10 20 30"><joint name="j" axis="1 2 3" armature=".5"/><geom size=".1"/>'
    '<body name="c" pos="0 0 .3"><joint name="k" axis="0 1 0" armature=".2"/><geom size=".1"/></body></body></body>'
)


def test_armature_as_a_rotor_adds_its_spin():
    """T = ½ J ((n q̇ + a·ω)² - (a·ω)²) more than without armature, with ω the angular velocity of the parent."""
    n, J = 7.0, 0.5 / 49
    exact, bare = load(model(ARM), ratios={"j": n}), load(model(ARM.replace('armature=".5"', "")))
    diagonal = load(model(ARM))
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v = exact.random(rng), rng.normal(size=exact.nv)
        along = bare.pose(q, "b")[:3, :3] @ axis  # the axis is the same seen from both bodies
        spin = float(along @ bare.pose(q, "a")[:3, :3] @ v[:3])
        wanted = bare.kinetic_energy(q, v) + 0.5 * J * ((n * v[6] + spin) ** 2 - spin**2)
        assert np.isclose(exact.kinetic_energy(q, v), wanted, rtol=1e-13)
        M = diagonal.mass_matrix(q)
        assert np.allclose(np.diag(exact.mass_matrix(q)), np.diag(M), rtol=1e-12)
        assert not np.allclose(exact.mass_matrix(q), M, rtol=1e-6)


def test_on_the_ground_a_rotor_is_its_armature():
    text = model(HINGE.replace("axis=", 'armature=".3" axis='))
    state = [0.3], [1.0], [2.0]
    assert np.allclose(load(text, ratios={"j": 5}).inverse_dynamics(*state), load(text).inverse_dynamics(*state))


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        (3.0, "expected gear ratios by joint"),
        ({"zz": 3.0}, "there is no joint 'zz'"),
        ({"j": 0.0}, "must be a nonzero number"),
        ({"j": "fast"}, "must be a nonzero number"),
        ({"a": 2.0}, "has no rotor"),
        ({"j": 0.01}, "cannot contain the rotor"),
    ],
)
def test_wrong_ratios_are_refused(ratios: object, words: str):
    with pytest.raises(fb.ArgumentError, match=words):
        load(model(ARM), ratios=ratios)


# --- what is not carried ----------------------------------------------------------------------------------------------

TWO = (
    f'<body name="a"><joint name="j" axis="0 1 0"/>{BOX}<site name="s"/></body>'
    '<body name="b" pos="1 0 0"><joint name="k" axis="0 1 0"/><geom size=".1"/><site name="t"/></body>'
)
FIXED = '<tendon><fixed name="u" {}><joint joint="j" coef="2"/><joint joint="k" coef="1"/></fixed></tendon>'
SPATIAL = '<tendon><spatial name="u" {}><site site="s"/><site site="t"/></spatial></tendon>'
DOUBTS = {  # text, key to waive it, words
    "tendon stiffness": (model(TWO, FIXED.format('stiffness="3"')), "tendon/fixed@stiffness", "stiffness=3"),
    "tendon damping": (model(TWO, FIXED.format('damping="3"')), "tendon/fixed@damping", "damping=3"),
    "tendon armature": (model(TWO, FIXED.format('armature="3"')), "tendon/fixed@armature", "armature=3"),
    "tendon friction": (model(TWO, FIXED.format('frictionloss="3"')), "fixed@frictionloss", "frictionloss=3"),
    "spatial stiffness": (model(TWO, SPATIAL.format('stiffness="3"')), "spatial@stiffness", "stiffness=3"),
    "spatial equality": (
        model(
            TWO + '<site name="m" pos="0 1 0"/>',
            SPATIAL.format("").replace("><site", '><site site="m"/><site')
            + '<equality><tendon name="e" tendon1="u"/></equality>',
        ),
        "equality/tendon",
        "'e' is ignored: only a single spatial tendon",
    ),
    "quartic tendons": (
        model(TWO, FIXED.format("").replace("</tendon>", '<fixed name="v"><joint joint="k" coef="1"/></fixed></tendon>')
              + '<equality><tendon tendon1="u" tendon2="v" polycoef="0 1 2 0 0"/></equality>'),
        "equality/tendon",
        "a polynomial of degree two",
    ),
    "mocap weld": (
        model(TWO + '<body name="m" mocap="true"/>', '<equality><weld body1="m" body2="b"/></equality>'),
        "equality/weld",
        "'m' is a mocap body",
    ),
    "flex": (
        model(HINGE + '<body name="c" pos="3 0 0"><flexcomp name="f" type="grid" count="2 2 1" dim="2"/></body>'),
        "deformable/flex", "1 flexible body is",
    ),
    "armature on a tendon": (
        model(TWO, FIXED.format("") + '<actuator><motor tendon="u" armature=".1"/></actuator>'),
        "actuator@armature", "its armature is not on a joint",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTS)
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_what_would_change_the_motion_is_refused_unless_waived(name: str):
    text, key, words = DOUBTS[name]
    with pytest.raises(fb.ModelError) as error:
        load(text)
    assert words in str(error.value)
    assert "small.xml" in str(error.value)
    if key:
        robot = load(text, waive=[key])
        assert words in str(robot.report)


WARNINGS = {
    "inactive equality": (
        model(TWO, '<equality><joint name="e" joint1="j" joint2="k" active="false"/></equality>'), "'e' is not active",
    ),
    "disabled equalities": (
        model(TWO, '<equality><joint name="e" joint1="j"/></equality>', '<option><flag equality="disable"/></option>'),
        "'e' is not active",
    ),
    "text": (model("stray" + HINGE), "the text 'stray' is not understood"),
    "mocap": (model(HINGE + '<body name="m" mocap="true"/>'), "'m' is a mocap body"),
    "limit of a ball": (
        model(f'<body name="a"><joint name="j" type="ball" range="0 30"/>{BOX}</body>'), "the limit of a ball joint",
    ),
    "limit of a tendon": (model(TWO, FIXED.format('range="-1 1"')), "its limits are ignored"),
    "armature of an actuator on a free joint": (
        model(
            f'<body name="a"><joint name="j" type="free"/>{BOX}</body>',
            '<actuator><motor joint="j" gear="1 0 0 0 0 0" armature=".1"/></actuator>',
        ),
        "velocity in world axes",
    ),
    "armature of a free joint": (
        model(f'<body name="a"><joint type="free" armature=".1"/>{BOX}</body>'), "velocity in world axes",
    ),
    "actuator on a site": (
        model(TWO, '<actuator><general name="m" site="s" gear="1 0 0 0 0 0"/></actuator>'), "'m' acts on a site",
    ),
    "actuator on a body": (
        model(HINGE, '<actuator><adhesion name="m" body="a" ctrlrange="0 1"/></actuator>'), "'m' acts on a body",
    ),
    "actuator with several controls": (
        model(TWO, '<actuator><pid name="p" joint="j" kp="10"/><motor name="m" site="s"/></actuator>'), "'m' acts on",
    ),
    "ignored inertial": (
        model(f'<body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{BOX}</body>',
              head='<compiler inertiafromgeom="true"/>'),
        "<inertial> is ignored",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_what_is_lost_is_a_warning_and_an_error_if_strict(name: str):
    text, words = WARNINGS[name]
    with pytest.warns(fb.FileWarning):
        assert words in str(load(text).report)
    with pytest.raises(fb.ModelError, match=words.replace("<", ".")):
        load(text, strict=True)


NOTES = {
    "fixed tendon": (model(TWO, FIXED.format("")), "fixed tendon 'u'"),
    "spatial tendon": (model(TWO, SPATIAL.format("")), "spatial tendon 'u'"),
    "contact": (model(HINGE), "1 geom can touch others"),
    "contacts": (model(TWO), "2 geoms can touch each other"),
    "contact with the world": (model(HINGE + '<geom type="plane" size="1 1 1"/>'), "can touch the world"),
    "sensor": (model(HINGE, '<sensor><jointpos joint="j"/></sensor>'), "1 sensor is ignored"),
    "camera": (model(HINGE + "<camera/><camera/>"), "2 cameras are ignored"),
    "light": (model(HINGE + "<light/>"), "1 light is ignored"),
    "skybox": (
        model(HINGE, '<asset><texture type="skybox" builtin="flat" width="4" height="4"/></asset>'),
        "1 texture is ignored",
    ),
    "height field": (
        model(HINGE + '<geom type="hfield" hfield="h"/>',
              '<asset><hfield name="h" file="hills.png" size="1 1 1 1"/></asset>'),
        "height fields 'h' are ignored",
    ),
    "custom": (
        model(HINGE, '<custom><numeric name="n" data="1 2"/><text name="t" data="x"/></custom>'),
        "2 custom numbers, texts and tuples are ignored",
    ),
    "timestep": (model(HINGE, head='<option timestep=".005"/>'), "dt=0.005 to simulate"),
    "integrator": (model(HINGE, head='<option integrator="implicitfast"/>'), "integrator=implicitfast"),
    "solver": (model(HINGE, head='<option iterations="7"/>'), "iterations is an option of MuJoCo's own"),
    "visual": (model(HINGE, head='<visual><map znear=".1"/></visual>'), "<visual> is for MuJoCo only"),
    "statistic": (model(HINGE, head='<statistic extent="2"/>'), "<statistic> is for MuJoCo only"),
    "time of a keyframe": (model(HINGE, '<keyframe><key time="1"/></keyframe>'), "time of a keyframe"),
    "weld in place": (
        model(HINGE + '<body name="w"/>', '<equality><weld body1="w"/></equality>'), "do not move relative to each",
    ),
    "balanced": (model(HINGE, head='<compiler balanceinertia="true"/>'), "balanceinertia=1"),
    "gravity": (model(HINGE, head='<option><flag gravity="disable"/></option>'), "gravity is disabled"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_what_a_program_adds_is_a_note(name: str):
    text, words = NOTES[name]
    assert words in str(load(text, strict=True).report)


def test_what_is_not_there_is_not_reported():
    """A file with nothing of all that: its option and keyframe say nothing that is lost."""
    text = model(
        HINGE.replace("/></body>", ' contype="0" conaffinity="0"/></body>'),
        '<keyframe><key qpos="1"/></keyframe>', '<option timestep=".002" gravity="0 0 -1"/>',
    )  # fmt: skip
    assert len(load(text).report) == 0


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_contacts_that_the_file_switches_off_are_not_reported(flag: str):
    floor = HINGE + '<geom type="plane" size="1 1 1"/>'
    assert "touch" not in str(load(model(floor, head=f'<option><flag {flag}="disable"/></option>')).report)


# --- files ------------------------------------------------------------------------------------------------------------


def test_files_are_included_from_allowed_folders_only(tmp_path: Path):
    inside, outside = tmp_path / "robot", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    (outside / "arm.xml").write_text(f"<mujocoinclude>{HINGE}</mujocoinclude>")
    main = inside / "main.xml"
    main.write_text(model('<include file="../other/arm.xml"/>'))
    with pytest.raises(fb.ModelError, match=r"main.xml:4: .*not in the folders that may be read"):
        fb.load(main)
    assert fb.load(main, folders=[tmp_path]).names.velocities == ("j",)
    with pytest.raises(fb.ModelError, match="a text has no folder"):
        load(model('<include file="arm.xml"/>'))


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path):
    (tmp_path / "arm.xml").write_text('<mujocoinclude>\n<body name="a" pos="nan 0 0"/></mujocoinclude>')
    (tmp_path / "main.xml").write_text(model('<include file="arm.xml"/>'))
    with pytest.raises(fb.ModelError, match=r"arm.xml:2: .*'nan' is not a finite number"):
        fb.load(tmp_path / "main.xml")


def test_floating_is_for_other_formats():
    with pytest.raises(fb.ArgumentError, match="freejoint"):
        load(model(HINGE), floating=True)


def test_without_mujoco_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(fb.FourbarError, match=re.escape(extra("mujoco"))):
        load(model(HINGE))


@pytest.mark.parametrize(
    ("flag", "attributes", "words"),
    [
        ("spring", 'stiffness="3"', "springs are disabled in the file: ignored"),
        ("damper", 'damping="3"', "damping is disabled in the file: ignored"),
        ("frictionloss", 'frictionloss="3"', "friction is disabled in the file: ignored"),
        ("limit", 'range="-1 1"', "limits are disabled in the file: ignored"),
        ("constraint", 'range="-1 1" frictionloss="3"', "limits are disabled in the file: ignored"),
    ],
)
def test_what_the_file_switches_off_does_not_act(flag: str, attributes: str, words: str):
    head = f'<option><flag {flag}="disable"/></option>'
    robot = load(model(f'<body name="a"><joint name="j" {attributes}/>{BOX}</body>', head=head))
    (j,) = robot.mechanism.joints
    assert not any((*j.stiffness, *j.damping, *j.friction)) and np.isinf([*j.lower, *j.upper]).all()
    assert words in str(robot.report) and "springs of joints" not in str(robot.report)


@pytest.mark.parametrize(
    ("flag", "attribute", "words"),
    [
        ("spring", 'stiffness="3"', "tendon 'u': stiffness=3 is disabled in the file"),
        ("damper", 'damping="3"', "tendon 'u': damping=3 is disabled in the file"),
        ("constraint", 'frictionloss="3"', "tendon 'u': frictionloss=3 is disabled in the file"),
        ("limit", 'range="-1 1"', "tendon 'u': its limits are disabled in the file"),
    ],
)
@pytest.mark.parametrize("tendon", [FIXED, SPATIAL])
def test_what_the_file_switches_off_does_not_act_in_tendons(tendon: str, flag: str, attribute: str, words: str):
    head = f'<option><flag {flag}="disable"/></option>'
    assert words in str(load(model(TWO, tendon.format(attribute), head), strict=True).report)


@pytest.mark.parametrize(
    "option", ['<option><flag actuation="disable"/></option>', '<option actuatorgroupdisable="2"/>']
)
def test_actuators_that_the_file_switches_off_are_reported(option: str):
    robot = load(model(HINGE, '<actuator><motor name="m" joint="j" group="2"/></actuator>', option))
    assert robot.names.actuators == ("m",)
    assert "disabled in the file" in str(robot.report) and "read nevertheless" in str(robot.report)
