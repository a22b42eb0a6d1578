"""<include> in SDF: the same mechanism as with the model written in its place; nothing outside, no circles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .sdf_models import FIX, INERTIAL, joint, link, sdf

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")

ARM = link("upper", "0 0 .1 .1 0 0") + link("fore", ".3 0 .1 0 0 .2") + joint("elbow", "revolute", "upper", "fore")
ARM += '<frame name="grip" attached_to="fore"><pose>.1 0 0 0 .3 0</pose></frame>'
CONFIG = "<model><name>arm</name><sdf version='1.5'>old.sdf</sdf><sdf version='1.9'>arm.sdf</sdf></model>"


def model(body: str, name: str = "arm", attributes: str = "", version: str = "1.9") -> str:
    return f'<sdf version="{version}"><model name="{name}"{attributes}>{body}</model></sdf>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models" / "arm").mkdir(parents=True)
    (tmp_path / "models" / "arm" / "model.config").write_text(CONFIG)
    (tmp_path / "models" / "arm" / "arm.sdf").write_text(model("<pose>9 9 9 0 0 0</pose>" + ARM))
    (tmp_path / "models" / "arm" / "old.sdf").write_text(model(link("wrong"), version="1.5"))
    (tmp_path / "main").mkdir()
    return tmp_path


def read(folder: Path, body: str, **options: Any) -> fb.System:
    file = folder / "main" / "robot.sdf"
    file.write_text(sdf(body))
    return fb.load(file, **{"folders": [folder / "models"], **options})


def include(uri: str, more: str = "", attributes: str = "") -> str:
    return f"\n<include{attributes}><uri>{uri}</uri>{more}</include>\n"


BASE = link("a") + FIX
POSE = '<pose relative_to="a">.5 .2 .1 .3 .2 .1</pose>'
SHOULDER = joint("shoulder", "revolute", "a", "left::upper", axis="0 1 0")


def same(a: fb.System, b: fb.System) -> None:
    assert a.names.bodies == b.names.bodies and a.names.joints == b.names.joints and a.names.frames == b.names.frames
    q, v, w = np.random.default_rng(0).normal(size=(3, a.nv))
    assert np.array_equal(a.inverse_dynamics(q, v, w), b.inverse_dynamics(q, v, w))
    for frame in a.names.frames:
        assert np.array_equal(a.pose(q, frame), b.pose(q, frame))


@pytest.mark.parametrize(
    "uri", ["model://arm", "model://arm/arm.sdf", "../models/arm", "../models/arm/arm.sdf", "FILE"]
)
@pytest.mark.parametrize("placed", [False, True])
def test_as_if_it_were_written_there(folder: Path, uri: str, placed: bool) -> None:
    uri = uri.replace("FILE", f"file://{folder}/models/arm/arm.sdf")
    frame = "<placement_frame>grip</placement_frame>" if placed else ""
    attribute = ' placement_frame="grip"' if placed else ""
    found = read(folder, BASE + include(uri, "<name>left</name>" + POSE + frame) + SHOULDER)
    wanted = read(folder, BASE + f'<model name="left"{attribute}>{POSE}{ARM}</model>' + SHOULDER)
    same(found, wanted)
    assert found.nv == 2


def test_what_the_model_says_is_kept_where_nothing_else_is_said(folder: Path) -> None:
    found = read(folder, BASE + include("model://arm") + SHOULDER.replace("left", "arm"))
    wanted = read(
        folder, BASE + f'<model name="arm"><pose>9 9 9 0 0 0</pose>{ARM}</model>' + SHOULDER.replace("left", "arm")
    )
    same(found, wanted)


def test_static_is_replaced(folder: Path) -> None:
    assert read(folder, BASE + include("model://arm", "<static>true</static>")).nv == 0
    (folder / "models" / "arm" / "arm.sdf").write_text(model("<static>true</static>" + ARM))
    assert read(folder, BASE + include("model://arm")).nv == 0
    assert read(folder, BASE + include("model://arm", "<static>0</static>")).nv == 7


def test_includes_of_includes_start_from_their_own_folder(folder: Path) -> None:
    inner = folder / "models" / "arm" / "parts"
    inner.mkdir()
    (inner / "hand.sdf").write_text(model(link("palm", "0 0 1 0 0 0", more=_shape("../skin.stl")), "hand"))
    (folder / "models" / "arm" / "skin.stl").write_text("")
    body = ARM + include("parts/hand.sdf") + joint("wrist", "revolute", "fore", "hand::palm")
    (folder / "models" / "arm" / "arm.sdf").write_text(model(body))
    robot = read(folder, BASE + include("model://arm", POSE) + SHOULDER.replace("left", "arm"))
    assert "arm::hand::palm" in robot.names.bodies and robot.nv == 3
    (mesh,) = [shape for body in robot.mechanism.bodies for shape in body.geometry]
    assert Path(mesh.file) == folder / "models" / "arm" / "skin.stl"


def _shape(uri: str) -> str:
    return f"<visual name='v'><geometry><mesh><uri>{uri}</uri></mesh></geometry></visual>"


def test_worlds_include_models_and_lights(folder: Path) -> None:
    (folder / "models" / "sun.sdf").write_text('<sdf version="1.9"><light name="sun" type="point"/></sdf>')
    file = folder / "main" / "w.world"
    text = include("model://arm", "<name>one</name>") + include("model://arm", "<name>two</name>")
    file.write_text(f'<sdf version="1.9"><world name="w">{text}{include("../models/sun.sdf")}</world></sdf>')
    robot = fb.load(file, folders=[folder / "models"])
    assert robot.nv == 14 and "two::fore" in robot.names.bodies
    assert "an included light is ignored" in str(robot.report)


def test_findings_say_the_included_file(folder: Path) -> None:
    path = folder / "models" / "arm" / "arm.sdf"
    path.write_text(model("\n<colour/>" + ARM))
    robot = read(folder, BASE + include("model://arm", "<plugin/>\n<hue/>"))
    told = str(robot.report)
    assert f"{path}:2: warning: " in told and "robot.sdf:7: warning: " in told and "<hue> is not understood" in told
    path.write_text(model("\n\n" + ARM.replace("<mass>1.3", "<mass>1,3")))
    with pytest.raises(fb.ParseError, match=r"arm/arm\.sdf:3: .*comma"):
        read(folder, BASE + include("model://arm"))


BROKEN: dict[str, tuple[str, str]] = {  # the content of an include, what is said
    "missing": ("<uri>model://leg</uri>", r"robot\.sdf:6: .*there is no such model; .*folders"),
    "no uri": ("<name>x</name>", r"robot\.sdf:6: .*<uri> is missing"),
    "empty uri": ("<uri/>", r"robot\.sdf:6: .*'' cannot be included"),
    "remote": ("<uri>https://fuel.example.org/arm</uri>", r"robot\.sdf:6: .*nothing is downloaded"),
    "other scheme": ("<uri>ftp://arm</uri>", r"robot\.sdf:6: .*nothing is downloaded"),
    "traversal": ("<uri>../../../../etc/passwd</uri>", r"robot\.sdf:6: .*outside"),
    "traversal by name": ("<uri>model://../main/robot.sdf</uri>", r"robot\.sdf:6: .*outside"),
    "absolute": ("<uri>/etc/passwd</uri>", r"robot\.sdf:6: .*outside"),
    "absolute file": ("<uri>file:///etc/passwd</uri>", r"robot\.sdf:6: .*outside"),
    "escaped": ("<uri>file://%2e%2e/%2e%2e/%2e%2e/etc/passwd</uri>", r"robot\.sdf:6: .*outside"),
    "no model.config": ("<uri>../models</uri>", r"robot\.sdf:6: .*no such model"),
    "itself": ("<uri>robot.sdf</uri>", r"robot\.sdf:6: .*cycle: robot\.sdf -> robot\.sdf"),
    "not xml": ("<uri>../models/text.sdf</uri>", r"text\.sdf:1: this is not XML"),
    "a urdf": ("<uri>../models/robot.urdf</uri>", r"robot\.urdf:1: .*<sdf>, not <robot>"),
    "old version": ("<uri>../models/v12.sdf</uri>", r"v12\.sdf:1: .*version '1\.2' is not supported"),
    "two models": ("<uri>../models/two.sdf</uri>", r"two\.sdf:1: .*expected one <model>.*found 2: 'a', 'b'"),
    "a circle": ("<uri>../models/x.sdf</uri>", r"y\.sdf:2: .*cycle: x\.sdf -> y\.sdf -> x\.sdf"),
    "deep": ("<uri>../models/deep0.sdf</uri>", r"deep19\.sdf:2: .*nested deeper than 20"),
    "many": ("<uri>../models/bomb0.sdf</uri>", r"more than 1000 models are included"),
    "merge": ("<uri>model://arm</uri>", "merge=true is not supported"),
    "frame without pose": ("<uri>model://arm</uri><placement_frame>grip</placement_frame>", "needs both"),
    "unknown frame": ("<uri>model://arm</uri><placement_frame>x</placement_frame><pose/>", "'x'"),
    "two poses": ("<uri>model://arm</uri><pose/><pose/>", r"robot\.sdf:6: .*a second <pose>"),
    "a name twice": ("<uri>model://arm</uri><name>a</name>", r"the name 'a' is already used"),
    "reserved name": ("<uri>model://arm</uri><name>world</name>", "reserved"),
    "broken config": ("<uri>../models/broken</uri>", r"model\.config:1: "),
    "config without sdf": ("<uri>../models/none</uri>", r"model\.config:1: .*no <sdf> of a supported version.*'2\.0'"),
    "config that leads out": ("<uri>../models/out</uri>", r"model\.config:1: .*is not in the folder of the model"),
}  # fmt: skip


@pytest.fixture
def traps(folder: Path) -> Path:
    at = folder / "models"
    (at / "text.sdf").write_text("hello")
    (at / "robot.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    (at / "v12.sdf").write_text(model(ARM, version="1.2"))
    (at / "two.sdf").write_text('<sdf version="1.9"><model name="a"/><model name="b"/></sdf>')
    for a, b in ("xy", "yx"):
        (at / f"{a}.sdf").write_text(model(f"{link('a')}<include><uri>{b}.sdf</uri></include>"))
    for n in range(25):
        (at / f"deep{n}.sdf").write_text(model(f"{link('a')}<include><uri>deep{n + 1}.sdf</uri></include>"))
    for n in range(12):
        twice = "".join(f"<include><uri>bomb{n + 1}.sdf</uri><name>{x}</name></include>" for x in "abc")
        (at / f"bomb{n}.sdf").write_text(model(link("l") + twice))
    (at / "bomb12.sdf").write_text(model(link("l")))
    for name, config in (
        ("broken", "<model>"), ("none", "<model><sdf version='2.0'>a.sdf</sdf></model>"),
        ("out", "<model><sdf version='1.9'>../arm/arm.sdf</sdf></model>"),
    ):  # fmt: skip
        (at / name).mkdir()
        (at / name / "model.config").write_text(config)
    return folder


@pytest.mark.parametrize("name", BROKEN)
def test_broken_includes(traps: Path, name: str) -> None:
    content, words = BROKEN[name]
    attributes = ' merge="true"' if name == "merge" else ""
    with pytest.raises(fb.ParseError, match=words):
        read(traps, f"{BASE}\n<include{attributes}>{content}</include>")


def test_what_cannot_be_included_can_be_waived(folder: Path) -> None:
    robot = read(folder, BASE + include("model://leg"), waive=["include"])
    assert "cannot be included" in str(robot.report) and "(waived)" in str(robot.report)


def test_texts_include_from_listed_folders_only(folder: Path) -> None:
    text = sdf(BASE + include("model://arm"))
    assert fb.loads(text, folders=[folder / "models"]).nv == 7
    with pytest.raises(fb.ParseError, match="cannot be included"):
        fb.loads(text)


@pytest.mark.peers
def test_the_same_as_drake_includes(folder: Path) -> None:
    """Poses and mass matrix, with a placement frame and a pose relative to another link."""
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    frame = "<name>left</name><placement_frame>grip</placement_frame>"
    robot = read(folder, BASE + include("package://arm/arm.sdf", frame + POSE) + SHOULDER)
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("arm", str(folder / "models" / "arm"))
    parser.AddModels(str(folder / "main" / "robot.sdf"))
    plant.Finalize()
    context, q = plant.CreateDefaultContext(), np.array([0.3, -0.7])
    order = [plant.GetJointByName(name).velocity_start() for name in ("shoulder", "elbow")]
    theirs = np.zeros(2)
    theirs[order] = q
    plant.SetPositions(context, theirs)
    assert robot.names.velocities == ("shoulder", "left::elbow")
    M = plant.CalcMassMatrix(context)[np.ix_(order, order)]
    assert np.allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-14 * np.abs(M).max())
    for name in ("upper", "fore"):
        X = plant.GetBodyByName(name).EvalPoseInWorld(context).GetAsMatrix4()
        assert np.allclose(robot.pose(q, f"left::{name}"), X, rtol=0, atol=1e-14)


def test_what_is_found_late_has_the_line_of_the_included_file(folder: Path) -> None:
    """A joint that moves nothing with inertia is found when the robot is built; names may meet across files."""
    nothing = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
    light = link("upper") + link("fore").replace(INERTIAL, nothing)
    arm = folder / "models" / "arm" / "arm.sdf"
    arm.write_text(model(light + "\n" + joint("elbow", "revolute", "upper", "fore")))
    [found] = read(folder, BASE + include("model://arm")).report.warnings
    assert "'arm::elbow' moves nothing" in found.message and (found.file, found.line) == (str(arm), 4)
    with pytest.raises(fb.ParseError, match=r"arm\.sdf:1: .*'a' is already used, by the link at .*robot\.sdf:\d"):
        read(folder, BASE + include("model://arm", "<name>a</name>"))
