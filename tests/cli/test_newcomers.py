"""What somebody may give to the commands who knows little of them: one clear message, an exit code, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fourbar.cli.main import main

MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ARM = (
    f'<robot name="arm"><link name="base"/><link name="rod">{MATTER}</link><joint name="j" type="continuous">'
    '<parent link="base"/><child link="rod"/><colour/></joint></robot>'
)
XACRO = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'
FILES: dict[str, tuple[str | bytes, str]] = {
    "empty.urdf": ("", "the file is empty"),
    "blank.xml": (" \n", "the file is empty"),
    "binary.urdf": (bytes(range(256)), "it is not text"),
    "xml.json": (ARM, "this is XML, not JSON"),
    "xml.toml": (ARM, "this is XML, not TOML"),
    "page.urdf": ("<!DOCTYPE html><html><body>404</body></html>", "this is a web page"),
    "page.xml": ("<html><body>404</body></html>", "this is a web page"),
    "pointer.urdf": ("version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
    "macro.urdf": (f'<robot name="r"{XACRO}><xacro:macro name="x"/></robot>', "expand the file first"),
    "macro.xacro": (f'<robot name="r"{XACRO}><xacro:arm/></robot>', "expand the file first"),
    "number.urdf": (ARM.replace('mass value="1"', 'mass value="${m}"'), "'${m}' is an expression"),
    "lights.world": ('<sdf version="1.9"><world name="w"><light name="s"/></world></sdf>', "there is no <link>"),
    "sun.sdf": (
        '<sdf version="1.9"><world name="w"><include><uri>model://sun</uri></include></world></sdf>',
        "folders=",
    ),
    "old.sdf": ('<gazebo version="1.0"/>', "the root element of an SDF file is <sdf>"),
    "typo.toml": ('fourbar = 1\nnmae = "x"\nbodies = []\n', "nmae"),
    "quote.toml": ('name = "x\n', "column 10"),
    "comma.json": ('{"name": "x",}', "read as JSON"),
    "list.json": ("[]", "expected a table"),
    "links.urdf": ('<robot name="r"/>', "there is no <link>"),
    "cut.urdf": (ARM[: ARM.index("<joint")], "it is cut off"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["info", "check", "simulate", "convert"])
def test_a_file_that_is_no_model(command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, message = FILES[name]
    file, target = tmp_path / name, tmp_path / "target.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    more = {"convert": [str(target)], "simulate": ["--no-picture"]}.get(command, [])
    assert main([command, str(file), *more]) == 1
    printed = capsys.readouterr()
    told = printed.out if command == "check" else printed.err
    assert message in told and told.count(name) < 3
    assert not target.exists()


def test_a_joint_that_moves_nothing_matters_to_simulations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, message = tmp_path / "massless.urdf", "moves nothing that has inertia"
    file.write_text(ARM.replace(MATTER, ""))
    for command in (["info"], ["check"], ["convert", str(tmp_path / "target.json")]):
        assert main([command[0], str(file), *command[1:]]) == 0
        printed = capsys.readouterr()
        assert ("massless" if command[0] == "convert" else message) in printed.out + printed.err
    assert main(["check", str(file), "--strict", "--waive", "colour"]) == 1
    assert message in capsys.readouterr().out
    assert main(["simulate", str(file), "--no-picture"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["arm.sdf", "arm.txt", "arm"])
def test_the_content_determines_the_format(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (ARM.encode(), ARM.encode("utf-8-sig"), ARM.encode("utf-16")):
        (tmp_path / name).write_bytes(data)
        assert main(["check", str(tmp_path / name)]) == 0
        assert "nq = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("info http://example.org/arm.urdf", "download it first"),
        ("info .", "is a folder; give a model file of it: arm.urdf"),
        ("check tello", "robot of the library: `fourbar info tello`"),
        (
            "bench tello --strict --waive x",
            "is a robot of the library, not a file to read: leave out --strict, --waive",
        ),
        ("bench --floating", "crank_rocker is a robot of the library, not a file to read: leave out --floating"),
        ("info tello --strict --waive x", "is a robot of the library, not a file to read: leave out --strict, --waive"),
        ("simulate arm.urdf --dt 1e-9 --duration 1e12 --no-picture", "1e+21 steps: too many"),
        (
            "check arm.urdf --waive color",
            "(--waive color) matches no finding in arm.urdf; found while reading: joint/col",
        ),
        ("simulate arm.urdf --waive loop --no-picture", "(--waive loop) matches no finding in arm.urdf"),
        (
            "convert arm.urdf b.json --waive loop armature",
            "To waive what cannot be written: save(..., waive=...), or --waive-written loop armature",
        ),
        (
            "convert five_bar b.urdf --waive loop",
            "leave out --waive. To accept what `fourbar convert` cannot write: --waive-written",
        ),
        ("convert tello b.json --waive-written loop", "waive=['loop']: this format expresses everything"),
        ("convert arm.urdf b.json --waive-written loop", "waive=['loop']: this format expresses everything"),
        ("convert arm.urdf b.toml --waive-written armature", "waive=['armature']: this format expresses everything"),
        ("convert arm.urdf nowhere/b.json", "there is no folder 'nowhere'"),
        ("convert arm.urdf arm.urdf", "is also the file to read: choose another name"),
        ("convert arm.urdf ./arm.urdf", "is also the file to read: choose another name"),
        ("convert arm.urdf b", "its name has no ending"),
    ],
)
def test_what_is_asked_wrongly(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM)
    assert main(command.split()) == 2
    assert message in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["arm.urdf"] and Path("arm.urdf").read_text() == ARM


def test_what_cannot_move_is_not_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "still.urdf"
    file.write_text(ARM.replace("continuous", "fixed"))
    assert main(["simulate", str(file), "--no-picture"]) == 1
    assert "no joint moves, so there is nothing to simulate" in capsys.readouterr().err


def test_what_is_waived_without_effect_when_writing_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    assert main(["convert", str(file), str(tmp_path / "b.xml"), "--waive", "colour", "--waive-written", "loop"]) == 0
    assert "note: waive=['loop'] was not needed" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main(["convert", str(file), str(tmp_path / "b.xml"), "--waive-written", "lop"])
    assert done.value.code == 2 and "choose from" in capsys.readouterr().err


def test_a_robot_of_the_library_is_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "double_pendulum", str(tmp_path / "b.urdf")]) == 0
    assert "nq = 2" in capsys.readouterr().out
