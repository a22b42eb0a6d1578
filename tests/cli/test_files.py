"""Model files on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fourbar.cli.main import main

MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ARM = (
    f'<robot name="arm">\n<link name="base">{MATTER}</link><link name="rod">{MATTER}</link>\n'
    '<joint name="j" type="continuous"><parent link="base"/><child link="rod"/>EXTRA</joint></robot>'
)


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace("EXTRA", "<colour/><safety_controller/>"))
    return file


def test_check_lists_all(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(arm)]) == 0
    out = capsys.readouterr().out
    assert f"{arm}:3: warning: robot 'arm'/joint 'j'/colour: <colour> is not understood" in out
    assert f"{arm}:3: note:" in out and "0 errors, 1 warning, 1 note" in out
    assert main(["check", str(arm), "--strict"]) == 1
    assert f"{arm}:3: error: " in capsys.readouterr().out
    assert main(["check", str(arm), "--strict", "--waive", "colour", "--quiet"]) == 0
    assert "note:" not in capsys.readouterr().out


def test_check_groups_notes(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm.write_text(ARM.replace("EXTRA", "<colour/>\n<colour/><safety_controller/>\n<safety_controller/>"))
    assert main(["check", str(arm)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("warning:" in line for line in lines) == 2 and sum("note:" in line for line in lines) == 1
    assert any(f"{arm}:4: note: joint/safety_controller: 2 elements" in line for line in lines)
    assert main(["check", str(arm), "--details"]) == 0
    assert capsys.readouterr().out.count("note:") == 2


def test_check_of_a_broken_file(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm.write_text(ARM.replace('value="1"', 'value="1,5"', 1).replace("EXTRA", '<axis xyz="0 0 0"/>'))
    assert main(["check", str(arm)]) == 1
    assert "arm.urdf:3: error: " in capsys.readouterr().out
    assert main(["info", str(arm)]) == 1
    assert "arm.urdf:3: " in capsys.readouterr().err
    assert main(["check", "nowhere.urdf"]) == 2


def test_info_of_a_file(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(arm), "--floating"]) == 0
    out = capsys.readouterr().out
    assert "nv = 7" in out and "findings\n" in out and "└─ rod" in out


def test_info_of_a_long_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = "".join(f'<link name="l{i}">{MATTER}</link>' for i in range(1200))
    joint = '<joint name="j{1}" type="fixed"><parent link="l{0}"/><child link="l{1}"/></joint>'
    file = tmp_path / "chain.urdf"
    file.write_text(f'<robot name="c">{links}{"".join(joint.format(i, i + 1) for i in range(1199))}</robot>')
    assert main(["info", str(file)]) == 0
    assert "└─ l1199" in capsys.readouterr().out


def test_convert(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = arm.with_suffix(".json")
    assert main(["convert", str(arm), str(target)]) == 0
    printed = capsys.readouterr()
    assert "nq = 1, nv = 1" in printed.out and "1 warning (joint/colour); `fourbar check " in printed.err
    assert main(["info", str(target)]) == 0
    assert main(["convert", str(arm), str(arm.with_suffix(".nothing"))]) == 2


def test_what_is_no_model_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders, binary files, files without an ending, of another format than they say: messages for newcomers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "arm.urdf").write_text(ARM.replace("EXTRA", ""))
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    (tmp_path / "arm.json").write_text(ARM)
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "late.sdf").write_text('<!-- a -->\n<?xml version="1.0" encoding="latin-1"?>\n<sdf version="1.9"/>')
    (tmp_path / "side.txt").write_text("{}")
    for command, code, words in (
        (["check", "box"], 2, "'box' is a folder; give a model file of it: arm.urdf"),
        (["info", "box"], 2, "'box' is a folder; give a model file of it: arm.urdf"),
        (
            ["info", "noise"],
            2,
            "noise: cannot determine the format of this file, its name has no ending; choose it with format=",
        ),
        (["info", "arm.json"], 1, "this is XML, not JSON: choose the format with format="),
        (["info", "empty.json"], 1, "empty.json:1: the file: 'fourbar' is missing, the schema version (1)"),
        (["info", "late.sdf"], 1, "late.sdf:2: <?xml ...?> is not the first thing in the file; write"),
        (["info", "box/arm.urdf", "--sidecar", "side.txt"], 2, "side.txt: a side-car file ends in .json, .toml, .yaml"),
        (
            ["info", "box/arm.urdf", "--straighten", "0.1", "hip=0.2"],
            2,
            "one angle for all joints, or JOINT=ANGLE for each",
        ),
        (
            ["info", "box/arm.urdf", "--straighten", "0.1", "0.2"],
            2,
            "one angle for all joints, or JOINT=ANGLE for each",
        ),
        (["info", "box/arm.urdf", "--straighten", "0.1"], 2, "urdf has no option 'straighten'"),
        (["convert", "box/arm.urdf", "arm"], 2, "for a file to write --to): mjcf"),
    ):
        assert main(command) == code
        assert words in capsys.readouterr().err


def test_bench_reads_files_as_the_others_do(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(arm), "double_pendulum", "--batch", "2", "--repeat", "1", "--floating"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines() if "inverse_dynamics" in line]
    assert [(row[0], row[2]) for row in rows] == [(str(arm), "7"), ("double_pendulum", "2")]
    assert "1 warning" in err
    assert main(["bench", str(arm), "--strict", "--repeat", "1"]) == 1


def test_ratios_of_an_mjcf_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    inside = '<body><joint name="knee" armature=".1"/><geom size=".1"/></body>'
    (tmp_path / "leg.xml").write_text(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    assert main(["info", str(tmp_path / "leg.xml"), "--ratios", "knee=9"]) == 0
    assert "knee_rotor" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["info", str(tmp_path / "leg.xml"), "--ratios", "9"])
    assert "expected JOINT=RATIO" in capsys.readouterr().err
