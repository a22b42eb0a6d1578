"""Models that attach other models: read through MuJoCo's compiler, from allowed folders only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
HAND = (
    '<mujoco model="hand"><compiler angle="radian" meshdir="shapes"/>{0}<asset><mesh name="m" file="palm.obj"/></asset>'
    '<worldbody><body name="palm" pos="0 0 .1"><joint name="turn" axis="0 0 1"/><geom type="mesh" mesh="m"/>'
    '<body name="tip" pos=".1 0 0"><joint name="bend" axis="0 1 0"/><geom size=".1"/></body></body></worldbody>'
    '<actuator><motor name="drive" joint="bend" gear="9"/></actuator></mujoco>'
)
ARM = (
    '<mujoco model="arm"><asset><model name="hand" file="hand/hand.xml"/></asset><worldbody><body name="arm">'
    '<joint name="lift" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><frame pos=".4 0 0">'
    '<attach model="hand" body="palm" prefix="{0}"/></frame></body></worldbody></mujoco>'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hand" / "shapes").mkdir(parents=True)
    (tmp_path / "hand" / "hand.xml").write_text(HAND.format(""))
    (tmp_path / "hand" / "shapes" / "palm.obj").write_text(TETRAHEDRON.format(0.3))
    (tmp_path / "arm.xml").write_text(ARM.format("left_"))
    return tmp_path


def test_the_robot_is_that_of_mujoco(folder: Path) -> None:
    from fourbar.bridges.mujoco import Peer

    robot = fb.load(folder / "arm.xml")
    assert robot.names.velocities == ("lift", "left_turn", "left_bend")
    assert robot.names.actuators == ("left_drive",)
    model = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    peer, data = Peer(model, robot), mujoco.MjData(model)
    data.qpos[:] = q = robot.random(rng=0)
    mujoco.mj_forward(model, data)
    M = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, M)
    ours = robot.mass_matrix(q)
    assert np.abs(ours - peer.matrix_from_peer(M, q)).max() < 1e-7 * np.abs(M).max()  # meshes are in single precision


def test_a_mesh_of_the_attached_model_is_looked_for_beside_it(folder: Path) -> None:
    (folder / "hand" / "shapes" / "palm.obj").rename(folder / "palm.obj")
    with pytest.raises(fb.ModelError, match="whose file was not found"):
        fb.load(folder / "arm.xml")


def test_a_mesh_of_the_attached_model_is_its_own_though_the_main_model_has_one_of_that_name(folder: Path) -> None:
    (folder / "shapes").mkdir()
    (folder / "shapes" / "palm.obj").write_text(TETRAHEDRON.format(0.5))
    masses = [body.mass for body in fb.load(folder / "arm.xml").mechanism.bodies if body.mass]
    compiled = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    assert np.allclose(sorted(masses), sorted(m for m in compiled.body_mass if m), rtol=1e-6)


def test_attached_models_are_checked(folder: Path) -> None:
    (folder / "hand" / "hand.xml").write_text(HAND.format("").replace('pos="0 0 .1"', 'pos="nan 0 0"'))
    with pytest.raises(fb.ModelError, match=r"hand.xml:1: .*'nan' is not a finite number"):
        fb.load(folder / "arm.xml")


def test_only_from_allowed_folders(folder: Path) -> None:
    inside = folder / "robots"
    inside.mkdir()
    (inside / "arm.xml").write_text(ARM.format("left_").replace("hand/hand.xml", "../hand/hand.xml"))
    with pytest.raises(fb.ModelError, match="not in the folders that may be read"):
        fb.load(inside / "arm.xml")
    assert fb.load(inside / "arm.xml", folders=[folder]).nv == 3


def test_a_model_that_attaches_itself(folder: Path) -> None:
    text = ARM.format("left_").replace("hand/hand.xml", "arm.xml").replace('body="palm"', 'body="arm"')
    (folder / "arm.xml").write_text(text)
    with pytest.raises(fb.ModelError, match="attaches itself"):
        fb.load(folder / "arm.xml")


def test_models_that_multiply(folder: Path) -> None:
    """Ten levels of ten copies would be ten milliard bodies."""
    for i in range(10):
        attached = "".join(f'<attach model="m" body="b" prefix="p{k}_"/>' for k in range(10))
        (folder / f"m{i}.xml").write_text(
            f'<mujoco><asset><model name="m" file="m{i + 1}.xml"/></asset><worldbody><body name="b">{attached}'
            '<joint/><geom size=".1"/></body></worldbody></mujoco>'
        )
    (folder / "m10.xml").write_text(
        '<mujoco><worldbody><body name="b"><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(fb.ModelError, match="bodies are attached"):
        fb.load(folder / "m0.xml")


@pytest.mark.parametrize(("key", "n", "message"), [("", 30, "models are attached"), ("<key/>", 9, "keyframes are")])
def test_models_without_bodies_that_multiply(folder: Path, key: str, n: int, message: str) -> None:
    """They are no bodies, but take as long."""
    keys = f"<keyframe>{key * 20}</keyframe>"
    for i in range(5 if n > 9 else 4):
        attached = "".join(f'<attach model="m" body="b" prefix="p{k}_"/>' for k in range(n))
        asset = f'<asset><model name="m" file="m{i + 1}.xml"/></asset>'
        (folder / f"m{i}.xml").write_text(f"<mujoco>{asset}<worldbody>{attached}</worldbody></mujoco>")
    (folder / f"m{i + 1}.xml").write_text(f"<mujoco><worldbody/>{keys}</mujoco>")
    with pytest.raises(fb.ModelError, match=message):
        fb.load(folder / "m0.xml")


def test_two_files_of_one_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Included ones are each that of its folder; of attached ones MuJoCo knows the last part of the name only."""
    monkeypatch.chdir(folder)
    (folder / "hand" / "more.xml").write_text('<mujocoinclude><option timestep=".01"/></mujocoinclude>')
    (folder / "more.xml").write_text('<mujocoinclude><option gravity="0 0 -1"/></mujocoinclude>')
    (folder / "hand" / "hand.xml").write_text(HAND.format('<include file="more.xml"/>'))
    text = ARM.format("left_").replace("<asset>", '<include file="./more.xml"/><asset>')
    (folder / "arm.xml").write_text(text)
    robot = fb.load(folder / "arm.xml")
    assert robot.gravity == (0.0, 0.0, -1.0)
    assert "Attach conflict when attaching 'hand'" in str(robot.report) and "keeping parent value" in str(robot.report)
    assert not (folder / "MUJOCO_LOG.TXT").exists()
    (folder / "hand.xml").write_text(HAND.format(""))
    (folder / "arm.xml").write_text(ARM.format("left_").replace("<asset>", '<asset><model name="b" file="hand.xml"/>'))
    with pytest.raises(fb.ModelError, match=r"are two files named 'hand\.xml'"):
        fb.load(folder / "arm.xml")


SEVERAL = """<mujoco model="several">
<asset>
<model name="hand" file="hand/parts.xml"/>
</asset>
<include file="more.xml"/>
<worldbody>
<replicate count="2" offset="1 0 0">
<body>
<freejoint/>
<geom size=".1"/>
</body>
</replicate>
<body name="arm" gravcomp="1">
<joint name="lift" axis="0 1 0"/>
<geom size=".1"/>
<attach model="hand" body="palm" prefix="left_"/>
<attach model="hand" body="palm" prefix="right_"/>
</body>
</worldbody>
</mujoco>
"""
PARTS = """<mujoco model="hand">


<worldbody>
<body name="palm" gravcomp=".5">
<joint name="turn"/>
<geom size=".1"/>
<include file="sites.xml"/>
<body gravcomp=".2">
<joint type="ball" limited="true" range="0 1"/>
<geom size=".1"/>
</body>
</body>
</worldbody>
<tendon>
<fixed name="cable" frictionloss=".1">
<joint joint="turn" coef="1"/>
</fixed>
</tendon>
<equality>
<weld body1="palm" body2="lid" active="false"/>
</equality>
<actuator>
<motor site="s"/>
</actuator>
</mujoco>
"""
MORE = """<mujocoinclude>
<worldbody>
<body name="ball" gravcomp=".7">
<freejoint/>
<geom size=".1"/>
</body>
</worldbody>
</mujocoinclude>
"""
SITES = """<mujocoinclude>
<body name="lid" gravcomp=".3">
<joint name="open"/>
<site name="s"/>
<geom size=".1"/>
</body>
</mujocoinclude>
"""


def test_findings_have_the_lines_of_their_own_files(tmp_path: Path) -> None:
    """Those of included and attached files, of copies, and of what has no name."""
    (tmp_path / "hand").mkdir()
    lines = {"main.xml": SEVERAL, "more.xml": MORE, "parts.xml": PARTS, "sites.xml": SITES}
    for name, text in lines.items():
        (tmp_path / ("hand" if name in ("parts.xml", "sites.xml") else "") / name).write_text(text)
    robot = fb.load(tmp_path / "main.xml", waive=["*"])
    expected = {
        "body 'arm': gravcomp": ("main.xml", '<body name="arm"'),
        "body 'ball': gravcomp": ("more.xml", '<body name="ball"'),
        "body 'left_palm': gravcomp": ("parts.xml", '<body name="palm"'),
        "body 'right_palm': gravcomp": ("parts.xml", '<body name="palm"'),
        "body 'right_lid': gravcomp": ("sites.xml", '<body name="lid"'),
        "gravcomp=0.2": ("parts.xml", '<body gravcomp=".2"'),
        "the limit of a ball": ("parts.xml", '<joint type="ball"'),
        "tendon 'left_cable': frictionloss": ("parts.xml", "<fixed"),
        "is not active": ("parts.xml", "<weld"),
        "acts on a site": ("parts.xml", "<motor"),
    }
    for words, (file, element) in expected.items():
        found = [f for f in robot.report if words in f.message]
        assert found, words
        number = 1 + next(i for i, line in enumerate(lines[file].splitlines()) if line.startswith(element))
        assert {(Path(f.file).name, f.line) for f in found} == {(file, number)}, words


def test_what_mujoco_refuses_has_the_line_of_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "main.xml").write_text(SEVERAL)
    (tmp_path / "hand").mkdir()
    (tmp_path / "hand" / "parts.xml").write_text(PARTS)
    (tmp_path / "hand" / "sites.xml").write_text(SITES)
    for wrong, line in (("<joint/>\n<joint type='bale'/>", 5), ("<bodi/>", 4), ("<joint/><joint/><freejoint/>", 3)):
        (tmp_path / "more.xml").write_text(MORE.replace("<freejoint/>", wrong))
        with pytest.raises(fb.ParseError, match="MuJoCo refuses it") as refused:
            fb.load(tmp_path / "main.xml")
        (finding,) = refused.value.report.errors
        assert (Path(finding.file).name, finding.line) == ("more.xml", line)
        assert " line " not in finding.message
    (tmp_path / "more.xml").write_text(MORE)
    (tmp_path / "hand" / "parts.xml").write_text(PARTS.replace("</fixed>", "</fixed><fixd/>"))
    with pytest.raises(fb.ParseError, match=r"parts.xml:18: .*unrecognized element Element 'fixd'"):
        fb.load(tmp_path / "main.xml")


@pytest.mark.parametrize(
    ("main", "more", "message"),
    [
        ('<include file="main.xml"/>', "", r"main.xml:1: .*'main.xml' includes itself, or is included twice"),
        ('<include file="more.xml"/>', '<include file="more.xml"/>', r"more.xml:1: .*includes itself"),
        ('<include file="more.xml"/>', '<include file="main.xml"/>', r"more.xml:1: .*includes itself"),
        ('<include file="more.xml"/><include file="more.xml"/>', "", r"main.xml:1: .*is included twice"),
        ('<include file="more.xml"><body/></include>', "", "cannot contain elements"),
    ],
)
def test_includes_that_cannot_be(tmp_path: Path, main: str, more: str, message: str) -> None:
    (tmp_path / "main.xml").write_text(f"<mujoco>{main}</mujoco>")
    (tmp_path / "more.xml").write_text(f"<mujocoinclude>{more}</mujocoinclude>")
    with pytest.raises(fb.ParseError, match=message):
        fb.load(tmp_path / "main.xml")


def test_an_attribute_of_an_include_is_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "main.xml").write_text('<mujoco><include file="more.xml" prefix="a"/></mujoco>')
    (tmp_path / "more.xml").write_text(MORE.replace(' gravcomp=".7"', ""))
    with pytest.warns(fb.FileWarning, match="include@prefix"):
        fb.load(tmp_path / "main.xml")


def test_text_between_tags_is_reported_and_moves_no_line(tmp_path: Path) -> None:
    text = "<mujoco>\n<worldbody>\none\ntwo\n{}\n<include file='more.xml'>three</include>\n</worldbody>\n</mujoco>"
    body = '<body name="b"><joint name="j" axis="{}"/><geom size="1"/></body>'
    (tmp_path / "more.xml").write_text('<mujocoinclude>four<body name="more">\nfive</body>\n</mujocoinclude>')
    (tmp_path / "main.xml").write_text(text.format(body.format("0 0 0")))
    with pytest.raises(fb.ParseError, match=r"main.xml:5: joint: MuJoCo refuses it: axis too small"):
        fb.load(tmp_path / "main.xml")
    (tmp_path / "main.xml").write_text(text.format(body.format("0 0 1")))
    with pytest.warns(fb.FileWarning):
        report = fb.load(tmp_path / "main.xml").report
    found = {(Path(f.file).name, f.line, f.message) for f in report.warnings}
    expected = [("main", 2, "one\\ntwo"), ("main", 6, "three"), ("more", 1, "four"), ("more", 1, "five")]
    assert found == {(f"{file}.xml", n, f"the text '{said}' is not understood") for file, n, said in expected}
    with pytest.raises(fb.ParseError, match=r"main.xml:2: .*the text 'one.ntwo' is not understood"):
        fb.load(tmp_path / "main.xml", strict=True)


def test_names_that_look_like_lines(tmp_path: Path) -> None:
    body = '<body name="{}"><joint name="{}"/><geom size="1" pos="{} 0 0"/></body>\n'
    head, tail = "<mujoco>\n<worldbody>\n", "</worldbody></mujoco>"
    twice = body.format("line 1", "j", 1) + body.format("line 1", "k", 1)
    (tmp_path / "main.xml").write_text(head + twice + tail)
    with pytest.raises(fb.ParseError, match=r"main.xml:4: body: MuJoCo refuses it: .*name 'line 1' in body Element"):
        fb.load(tmp_path / "main.xml")
    text = (
        head
        + body.format("a, line 2", "line 1", 1)
        + "</worldbody><actuator>\n<motor joint='a, line 1'/></actuator></mujoco>"
    )
    (tmp_path / "main.xml").write_text(text)
    with pytest.raises(fb.ParseError, match=r"main.xml:5: motor: MuJoCo refuses it: .*'a, line 1' for actuator"):
        fb.load(tmp_path / "main.xml")


def test_the_same_texts_whatever_characters_they_hold(tmp_path: Path) -> None:
    """What is written anew for MuJoCo says the same: quotes, brackets, and letters of any script."""
    name = "a&amp;&lt;&quot;'µ→"
    (tmp_path / "main.xml").write_text(
        f'<?xml version="1.0"?>\n<!-- nothing --><mujoco model="{name}"><worldbody><body name="{name}">'
        '<joint axis="0\n0 1"/><geom size=".1"/></body></worldbody></mujoco>', encoding="utf-8",
    )  # fmt: skip
    robot = fb.load(tmp_path / "main.xml")
    assert robot.name == robot.names.bodies[0] == "a&<\"'µ→"
    assert robot.mechanism.joints[0].joint == fb.joints.Revolute("z")


def test_bodies_and_joints_have_places_for_what_is_found_later(tmp_path: Path) -> None:
    (tmp_path / "main.xml").write_text(SEVERAL)
    (tmp_path / "hand").mkdir()
    for name, text in (("more.xml", MORE), ("hand/parts.xml", PARTS), ("hand/sites.xml", SITES)):
        (tmp_path / name).write_text(text)
    robot = fb.load(tmp_path / "main.xml", waive=["*"])
    lid = robot.report.places["right_lid"]
    assert (Path(lid.file).name, lid.line) == ("sites.xml", 2)
    assert robot.report.places["lift"].line == SEVERAL.splitlines().index('<joint name="lift" axis="0 1 0"/>') + 1
