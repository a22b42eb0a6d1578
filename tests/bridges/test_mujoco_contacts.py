"""Contacts of MJCF files: which shapes MuJoCo lets touch, height fields where MuJoCo has them, and what is carried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.contact import ContactPair, Surface
from fourbar.mechanism.contact_pairs import SOLIMP, SOLREF, contact_candidates, contact_surface
from fourbar.mechanism.contact_rules import ContactRules

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers


def theirs(text: str) -> set[frozenset[str]]:
    """The pairs of geoms, all of which overlap, that MuJoCo finds in contact."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return {frozenset(model.geom(g).name for g in contact.geom) for contact in data.contact}


def ours(text: str) -> set[frozenset[str]]:
    found = contact_candidates(fb.loads(text, format="mjcf").mechanism)
    return {frozenset((x.first.shape.name, x.second.shape.name)) for x in found}


def random_model(rng: np.random.Generator) -> str:
    """A tree of bodies that all overlap: welded, with one or several joints, with bits, pairs, exclusions and flags."""
    count, ends, text, names = int(rng.integers(3, 8)), 0, "", ["ground", "rock"]
    world = '<geom name="ground" type="plane" size="1 1 1" pos="0 0 .05" {}/><geom name="rock" size=".2" {}/>'
    for i in range(count):
        while ends and rng.uniform() < 0.3:
            text, ends = text + "</body>", ends - 1
        kind = rng.choice(["weld", "hinge", "two", "free"] if not ends else ["weld", "hinge", "two"])
        joint = {
            "weld": "",
            "hinge": f'<joint name="h{i}"/>',
            "two": f'<joint name="h{i}"/><joint name="k{i}" axis="1 0 0"/>',
            "free": f'<freejoint name="f{i}"/>',
        }[kind]
        text += f'<body name="b{i}" pos=".01 0 0">{joint}<geom name="g{i}" size=".2" {{}}/>'
        names.append(f"g{i}")
        if rng.uniform() < 0.3:
            text += f'<geom name="e{i}" type="box" size=".1 .1 .1" {{}}/>'
            names.append(f"e{i}")
        ends += 1
    text = world + text + "</body>" * ends
    while "{}" in text:
        bits = f'contype="{rng.integers(0, 4)}" conaffinity="{rng.integers(0, 4)}"' if rng.uniform() < 0.4 else ""
        text = text.replace("{}", bits, 1)
    rules = ""
    if rng.uniform() < 0.7:
        a, b = rng.choice(count, 2, replace=False)
        rules += f'<exclude body1="b{a}" body2="b{b}"/>'
    for a, b in [rng.choice(names[2:], 2, replace=False) for _ in range(int(rng.integers(0, 3)))]:
        if f'geom1="{a}" geom2="{b}"' not in rules and f'geom1="{b}" geom2="{a}"' not in rules and a[1:] != b[1:]:
            rules += f'<pair geom1="{a}" geom2="{b}"/>'
    flag = '<flag filterparent="disable"/>' if rng.uniform() < 0.3 else ""
    return f"<mujoco><option>{flag}</option><worldbody>{text}</worldbody><contact>{rules}</contact></mujoco>"


def test_which_shapes_may_touch() -> None:
    rng, total = np.random.default_rng(0), 0
    for _ in range(60):
        text = random_model(rng)
        assert ours(text) == theirs(text), text
        total += len(theirs(text))
    assert total > 300


def test_neighbours_through_bodies_without_mass() -> None:
    """A body on two joints hangs on a carrier without mass here: its parent is its neighbour all the same."""
    text = (
        '<mujoco><worldbody><body name="a"><freejoint/><geom name="x" size=".1"/><body name="b"><joint axis="1 0 0"/>'
        '<joint axis="0 1 0" pos=".1 0 0"/><geom name="y" size=".1"/><body name="c"><joint/><geom name="z" size=".1"/>'
        "</body></body></body></worldbody></mujoco>"
    )
    assert len(fb.loads(text, format="mjcf").mechanism.bodies) > 3
    assert ours(text) == theirs(text) == {frozenset("xz")}


def test_contacts_that_a_file_switches_off() -> None:
    text = '<mujoco><option><flag contact="disable"/></option><worldbody><geom name="f" type="plane" size="1 1 1"/>'
    text += '<body><freejoint/><geom name="g" size=".1"/></body></worldbody></mujoco>'
    assert ours(text) == theirs(text) == set()
    assert not fb.loads(text, format="mjcf").mechanism.contacts.enabled


SCENE = """<mujoco><option cone="elliptic" impratio="10" timestep=".004"/>
<asset><hfield name="hills" nrow="4" ncol="3" size="1.5 2 .5 .1" elevation="0 1 2  3 5 4  6 2 8  9 10 7"/></asset>
<worldbody>
 <geom name="floor" type="plane" size="1 1 1" friction=".7 .01 .002" pos="0 0 -1" euler="0 10 0"/>
 <geom name="land" type="hfield" hfield="hills" pos=".3 .2 .1" euler="0 0 30"/>
 <body name="a" pos="0 0 2"><freejoint name="a"/>
  <geom name="ball" size=".1" condim="6" priority="2" solref=".01 1" solimp=".8 .9 .002 .5 2" margin=".01" gap=".002"
   contype="2" conaffinity="5" solmix="3" mass="1"/>
  <geom name="shown" type="box" size=".1 .2 .3" contype="0" conaffinity="0" mass="0"/>
  <body name="b"><joint name="j"/><geom name="foot" type="capsule" size=".1 .2" contype="0" conaffinity="0"/></body>
 </body>
</worldbody>
<contact><exclude body1="a" body2="b"/><pair name="p" geom1="floor" geom2="foot" condim="4" margin=".02" solref=".03 1"
 friction=".5 .6 .01 .001 .001"/></contact></mujoco>"""


def test_what_is_carried() -> None:
    robot = fb.loads(SCENE, format="mjcf")
    m = robot.mechanism
    floor, land = m.world
    assert (floor.name, floor.kind, floor.role) == ("floor", "plane", "collision")
    assert floor.surface == Surface(friction=0.7, torsion=0.01, rolling=0.002) and floor.friction == 0.7
    ball, shown, foot = (x for b in m.bodies for x in b.geometry)
    assert ball.surface == Surface(
        1.0, 0.005, 0.0001, margin=0.01, gap=0.002, dimensions=6, priority=2, mix=3.0, solref=(0.01, 1.0),
        solimp=(0.8, 0.9, 0.002, 0.5, 2.0), groups=2, meets=5,
    )  # fmt: skip
    assert (shown.role, shown.surface) == ("visual", Surface())
    assert (foot.role, foot.surface.groups, foot.surface.meets) == ("collision", 0, 0)
    surface = Surface(0.5, 0.01, 0.001, friction2=0.6, margin=0.02, dimensions=4, solref=(0.03, 1.0))
    pair = ContactPair(("world", "floor"), ("b", "foot"), surface, "p")
    assert m.contacts == ContactRules((pair,), (("a", "b"),), cone="elliptic", impratio=10.0, timestep=0.004)
    assert (land.kind, land.size, np.shape(land.heights)) == ("hfield", (3.0, 4.0, 0.1), (3, 4))


def test_a_height_field_is_where_mujoco_has_it() -> None:
    """Rays from above meet the land at the heights of its places."""
    model, land = mujoco.MjModel.from_xml_string(SCENE), fb.loads(SCENE, format="mjcf").mechanism.world[1]
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    table, R, p = np.array(land.heights), np.array(land.placement.rotation), np.array(land.placement.position)
    nx, ny = table.shape
    assert table.min() == 0.0 and table.max() == 0.5
    for i in range(nx):
        for j in range(ny):
            local = [land.size[0] * (i / (nx - 1) - 0.5), land.size[1] * (j / (ny - 1) - 0.5), table[i, j]]
            inside = np.array(local) * [1 - 1e-9, 1 - 1e-9, 1]
            start = p + R @ inside + [0, 0, 5.0]
            found = np.zeros(1, np.int32)
            far = mujoco.mj_ray(model, data, start, np.array([0, 0, -1.0]), None, 1, 1, found)
            assert model.geom(int(found[0])).name == "land" and abs(far - 5.0) < 1e-6


def saved(robot: fb.System, path: Path) -> fb.System:
    robot.save(path)
    return fb.load(path)


@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_round_trips(tmp_path: Path) -> None:
    robot = fb.loads(SCENE, format="mjcf")
    for file in ("x.json", "x.toml"):
        assert saved(robot, tmp_path / file) == robot
    again = saved(robot, tmp_path / "x.xml").mechanism
    m = robot.mechanism
    assert again.contacts == m.contacts
    close(again.world, m.world)
    for a, b in zip(again.bodies, m.bodies, strict=True):
        close(a.geometry, b.geometry)


def close(first: Any, second: Any) -> None:
    """The same shapes, but for rounding of places and heights."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert (a.kind, a.role, a.name, a.surface) == (b.kind, b.role, b.name, b.surface)
        for x, y in ((a.size, b.size), (a.heights, b.heights), (a.placement.rotation, b.placement.rotation),
                     (a.placement.position, b.placement.position)):  # fmt: skip
            assert np.allclose(x, y, atol=1e-7)


def test_files_of_height_fields(tmp_path: Path) -> None:
    """MuJoCo's own format, beside the model; what is not there, or too much, is told."""
    text = '<mujoco><asset><hfield name="h" file="hills.hf" size="1 1 .5 .1"/></asset><worldbody>'
    text += '<geom type="hfield" hfield="h"/><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    (tmp_path / "x.xml").write_text(text)
    assert fb.load(tmp_path / "x.xml").mechanism.world == ()
    assert "height fields 'h' are ignored" in str(fb.load(tmp_path / "x.xml").report)
    heights = np.array([[0.0, 1.0, 0.5], [0.25, 0.0, 1.0]], np.float32)
    (tmp_path / "hills.hf").write_bytes(np.array([2, 3], np.int32).tobytes() + heights.tobytes())
    (land,) = fb.load(tmp_path / "x.xml").mechanism.world
    assert np.allclose(land.heights, 0.5 * heights.T)
    (tmp_path / "hills.hf").write_bytes(np.array([20000, 30000], np.int32).tobytes())
    assert fb.load(tmp_path / "x.xml").mechanism.world == ()
    huge = text.replace('file="hills.hf"', 'nrow="100000" ncol="100000"')
    with pytest.raises(fb.ParseError, match="1e\\+10 heights are asked for"):
        fb.loads(huge, format="mjcf")


def surface_text(rng: np.random.Generator) -> str:
    """Random attributes of a geom that matter in contact."""
    numbers = " ".join(f"{x:.3f}" for x in rng.uniform(0.1, 0.9, 3))
    found = f'friction="{numbers}" condim="{rng.choice([1, 3, 4, 6])}" margin="{rng.uniform(0, 0.02):.4f}"'
    found += f' solmix="{rng.choice([0.0, 1.0, 2.5])}"'
    if rng.uniform() < 0.3:
        found += f' priority="{rng.integers(0, 3)}"'
    if rng.uniform() < 0.6:
        found += f' solref="{rng.choice(["0.01 1.2", "0.03 0.8", "-1000 -20"])}"'
    if rng.uniform() < 0.6:
        found += ' solimp="0.8 0.97 0.002 0.4 3"'
    return found


def test_surfaces_of_contacts() -> None:
    """Friction, dimensions, margins and softness of every contact are MuJoCo's."""
    rng, seen = np.random.default_rng(2), 0
    for _ in range(40):
        text = f'<mujoco><option cone="elliptic"/><worldbody><geom name="a" size=".1" {surface_text(rng)}/>'
        text += f'<body pos=".05 0 0"><freejoint/><geom name="b" size=".1" {surface_text(rng)}/></body>'
        text += "</worldbody></mujoco>"
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        (touching,) = contact_candidates(fb.loads(text, format="mjcf").mechanism)
        found, (contact,) = contact_surface(touching), data.contact
        assert found.dimensions == contact.dim
        assert np.allclose([found.friction, found.torsion, found.rolling], contact.friction[[0, 2, 3]], rtol=1e-15)
        assert np.allclose(found.solref or SOLREF, contact.solref, rtol=1e-14)
        assert np.allclose(found.solimp or SOLIMP, contact.solimp, rtol=1e-14)
        assert abs(found.margin - contact.includemargin) < 1e-15
        seen += found.solref is not None
    assert seen > 10
