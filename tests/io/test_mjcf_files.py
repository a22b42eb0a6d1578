"""Files that an MJCF file names: they are looked for as MuJoCo does, which is asked in each case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb

mujoco = pytest.importorskip("mujoco")

MESH = (
    '<asset><mesh name="{0}" file="m.obj"/></asset>'
    '<worldbody><body><joint/><geom type="mesh" mesh="{0}"/></body></worldbody>'
)
M = MESH.format("m")
BALL = '<worldbody><body><joint/><geom size="{}"/></body></worldbody>'
TETRAHEDRON = "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INTO_SUB = '<include file="sub/a.xml"/>'
ATTACH = '<asset><model name="o" file="{}"/></asset><worldbody><body>' + (
    '<attach model="o" body="q" prefix="p"/></body></worldbody>'
)
OTHER = '<worldbody><body name="q"><joint/><geom size="{}"/></body></worldbody>'
OTHER_MESH = M.replace("<body>", '<body name="q">')

# name: files by path (what is inside <mujoco>), meshes by path (their size)
CASES: dict[str, tuple[dict[str, str], dict[str, float]]] = {
    "included from its own folder": (
        {"main": INTO_SUB, "sub/a": '<include file="b.xml"/>', "sub/b": BALL.format(0.1)}, {},
    ),
    "included from the main folder": (
        {"main": INTO_SUB, "sub/a": '<include file="b.xml"/>', "b": BALL.format(0.1)}, {},
    ),
    "included from the main folder, by its path": (
        {"main": INTO_SUB, "sub/a": '<include file="sub/b.xml"/>', "sub/b": BALL.format(0.1)}, {},
    ),
    "included: the main folder comes first": (
        {"main": INTO_SUB, "sub/a": '<include file="b.xml"/>', "b": BALL.format(0.1), "sub/b": BALL.format(0.2)}, {},
    ),
    "included at several depths": (
        {"main": INTO_SUB, "sub/a": '<include file="deep/b.xml"/>', "sub/deep/b": '<include file="c.xml"/>',
         "sub/deep/c": M}, {"sub/deep/m.obj": 1.0},
    ),
    "two included of one name": (
        {"main": '<include file="a/a.xml"/><include file="b/b.xml"/>', "a/a": '<include file="x.xml"/>',
         "b/b": '<include file="x.xml"/>', "a/x": BALL.format(0.1), "b/x": BALL.format(0.2)}, {},
    ),
    "mesh beside the included file": ({"main": INTO_SUB, "sub/a": M}, {"sub/m.obj": 1.0}),
    "mesh in the main folder": ({"main": INTO_SUB, "sub/a": M}, {"m.obj": 1.0}),
    "mesh: the main folder comes first": ({"main": INTO_SUB, "sub/a": M}, {"m.obj": 1.0, "sub/m.obj": 2.0}),
    "two meshes of one name": (
        {"main": '<include file="a/a.xml"/><include file="b/b.xml"/>', "a/a": M, "b/b": MESH.format("n")},
        {"a/m.obj": 1.0, "b/m.obj": 2.0},
    ),
    "meshdir is from the main folder": (
        {"main": INTO_SUB, "sub/a": '<compiler meshdir="d"/>' + M}, {"d/m.obj": 1.0, "sub/d/m.obj": 2.0},
    ),
    "meshdir holds in the main folder only": (
        {"main": INTO_SUB, "sub/a": '<compiler meshdir="d"/>' + M}, {"sub/m.obj": 1.0, "m.obj": 2.0},
    ),
    "the last meshdir holds": (
        {"main": INTO_SUB + '<compiler meshdir="e"/>', "sub/a": '<compiler meshdir="d"/>' + M},
        {"d/m.obj": 1.0, "e/m.obj": 2.0},
    ),
    "strippath": (
        {"main": '<compiler strippath="true"/>' + INTO_SUB, "sub/a": M.replace("m.obj", "x/m.obj")}, {"m.obj": 1.0},
    ),
    "attached from the folder of the included file": (
        {"main": INTO_SUB, "sub/a": ATTACH.format("o.xml"), "sub/o": OTHER.format(0.1), "o": OTHER.format(0.2)}, {},
    ),
    "attached, with a mesh beside what it includes": (
        {"main": ATTACH.format("sub/o.xml"), "sub/o": '<include file="d/i.xml"/>', "sub/d/i": OTHER_MESH},
        {"sub/d/m.obj": 1.0, "m.obj": 2.0},
    ),
    "one file included by two models": (
        {"main": ATTACH.format("sub/o.xml") + '<include file="c.xml"/>', "sub/o": '<include file="c.xml"/>',
         "sub/c": OTHER_MESH, "c": M}, {"sub/m.obj": 1.0, "m.obj": 2.0},
    ),
}  # fmt: skip


def written(folder: Path, name: str) -> Path:
    files, meshes = CASES[name]
    for path, inside in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{path}.xml").write_text(f"<mujoco>{inside}</mujoco>")
    for path, size in meshes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(TETRAHEDRON.format(size))
    return folder / "main.xml"


@pytest.mark.parametrize("name", CASES)
def test_files_are_found_where_mujoco_finds_them(name: str, tmp_path: Path) -> None:
    main = written(tmp_path, name)
    theirs = mujoco.MjModel.from_xml_path(str(main)).body_mass
    ours = [body.mass for body in fb.load(main).mechanism.bodies if body.mass]
    assert np.allclose(ours, [m for m in theirs if m], rtol=1e-6)


REFUSED: dict[str, tuple[dict[str, str], dict[str, float], str]] = {
    "meshdir beside the included file": (
        {"main": INTO_SUB, "sub/a": '<compiler meshdir="d"/>' + M}, {"sub/d/m.obj": 1.0}, "file was not found",
    ),
    "mesh beside a file on the way": (
        {"main": INTO_SUB, "sub/a": '<include file="deep/b.xml"/>', "sub/deep/b": M}, {"sub/m.obj": 1.0},
        "file was not found",
    ),
    "attached from the main folder": (
        {"main": INTO_SUB, "sub/a": ATTACH.format("o.xml"), "o": OTHER.format(0.1)}, {}, "not in the folders",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_mujoco_does_not_find_is_not_found(name: str, tmp_path: Path) -> None:
    files, meshes, words = REFUSED[name]
    CASES[name] = (files, meshes)
    try:
        main = written(tmp_path, name)
    finally:
        del CASES[name]
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(main))
    with pytest.raises(fb.ModelError, match=words):
        fb.load(main)


def test_a_file_beside_the_folder_is_allowed_as_the_message_says(tmp_path: Path) -> None:
    for name, inside in (("a/main", '<include file="../b/part.xml"/>'), ("b/part", BALL.format(0.1))):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.xml").write_text(f"<mujoco>{inside}</mujoco>", "utf-8")
    with pytest.raises(fb.ParseError, match="not in the folders that may be read") as refused:
        fb.load(tmp_path / "a" / "main.xml")
    assert f"allow that with folders=[{str(tmp_path)!r}]" in str(refused.value)
    assert fb.load(tmp_path / "a" / "main.xml", folders=[tmp_path]).nv == 1
    for elsewhere in ("../b/none.xml", str(tmp_path / "b" / "part.xml"), "../" * 40 + "etc/hosts"):
        (tmp_path / "a" / "main.xml").write_text(f'<mujoco><include file="{elsewhere}"/></mujoco>', "utf-8")
        with pytest.raises(fb.ParseError, match=r"add its folder with folders=\[\.\.\.\]"):
            fb.load(tmp_path / "a" / "main.xml")


def test_an_included_file_reaches_no_other_folders(tmp_path: Path) -> None:
    (tmp_path / "robot" / "sub").mkdir(parents=True)
    (tmp_path / "robot" / "main.xml").write_text(f"<mujoco>{INTO_SUB}</mujoco>")
    (tmp_path / "robot" / "sub" / "a.xml").write_text('<mujoco><include file="../../b.xml"/></mujoco>')
    (tmp_path / "robot" / "sub" / "c.xml").write_text('<mujoco><include file="../b.xml"/></mujoco>')
    for place in (tmp_path / "b.xml", tmp_path / "robot" / "b.xml"):
        place.write_text(f"<mujoco>{BALL.format(0.1)}</mujoco>")
    with pytest.raises(fb.ModelError, match=r"a\.xml:1: .*not in the folders"):
        fb.load(tmp_path / "robot" / "main.xml")
    (tmp_path / "robot" / "main.xml").write_text('<mujoco><include file="sub/c.xml"/></mujoco>')
    assert fb.load(tmp_path / "robot" / "main.xml").nv == 1


def test_attributes_of_the_root_of_an_included_file_are_reported(tmp_path: Path) -> None:
    (tmp_path / "main.xml").write_text('<mujoco model="main"><include file="a.xml"/></mujoco>')
    (tmp_path / "a.xml").write_text(f'<mujoco model="arm" speed="3">{BALL.format(0.1)}</mujoco>')
    with pytest.warns(fb.FileWarning, match="mujoco@speed"):
        robot = fb.load(tmp_path / "main.xml")
    assert robot.name == "main"
    assert "a.xml:1: note" in str(robot.report) and "'arm' of an included file is ignored" in str(robot.report)
    assert not fb.load(tmp_path / "main.xml", waive=["mujoco@speed"]).report.warnings


@pytest.mark.parametrize(
    "looks",
    [
        '<worldbody><light texture="t"/></worldbody>',
        '<asset><material name="p" texture="t"/></asset><worldbody><site material="p"/></worldbody>',
    ],
)
def test_what_only_looks_needs_no_pictures(looks: str) -> None:
    text = f'<mujoco><asset><texture name="t" type="2d" file="gone.png"/></asset>{looks}{BALL.format(0.1)}</mujoco>'
    assert fb.loads(text, format="mjcf").nv == 1


def test_meshes_know_their_files(tmp_path: Path) -> None:
    main = written(tmp_path, "mesh beside the included file")
    (shape,) = fb.load(main).mechanism.bodies[-1].geometry
    assert (shape.kind, shape.mesh, shape.file) == ("mesh", "m.obj", str(tmp_path / "sub" / "m.obj"))


def test_reports_name_included_files_from_the_folder_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether this was given with an absolute or a relative path."""
    (tmp_path / "models" / "parts").mkdir(parents=True)
    part = tmp_path / "models" / "parts" / "a.xml"
    part.write_text(f"<mujoco><visual/>{BALL.format(0.1)}</mujoco>")
    main = tmp_path / "models" / "main.xml"
    main.write_text('<mujoco><include file="parts/a.xml"/></mujoco>')
    monkeypatch.chdir(tmp_path)
    for path in (main, "models/main.xml"):
        lines = str(fb.load(path).report).splitlines()
        assert any(line.startswith(f"{Path('parts', 'a.xml')}:1: note: ") for line in lines)
        assert not any(str(tmp_path) in line for line in lines)


def test_many_tendons_and_springs_are_told_in_few_words() -> None:
    bodies = "".join(f'<body><joint name="j{i}" stiffness="1"/><geom size=".1"/></body>' for i in range(20))
    tendons = "".join(f'<fixed name="t{i}"><joint joint="j{i}" coef="1"/></fixed>' for i in range(20))
    text = f"<mujoco><worldbody>{bodies}</worldbody><tendon>{tendons}</tendon></mujoco>"
    report = fb.loads(text, format="mjcf").report
    (line,) = (x for x in str(report).splitlines() if "tendon" in x)
    assert "tendon/fixed: 20 elements, the first of them: fixed tendon 't0' is used by equalities" in line
    assert len([f for f in report.notes if "tendon" in f.message]) == 20
    (line,) = (x for x in str(report).splitlines() if "springs of joints" in x)
    assert line.count("'j") == 8 and "and 12 more" in line
