"""The command line as a whole: parsing, messages, exit codes."""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fourbar
from fourbar.cli import info, main, show
from fourbar.functions.registry import METHODS


@pytest.mark.quick
def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main.main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"fourbar {fourbar.__version__}\n"


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main.main([command, "--help"])
    assert done.value.code == 0
    assert f"usage: fourbar {command}" in capsys.readouterr().out


def test_no_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main.main([])
    assert done.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "double_pendulm"], "did you mean 'double_pendulum'?"),
        (["info", "robot.urdf"], "there is no file"),
        (["simulate", "nobody"], "there is no robot 'nobody'"),
        (["bench", "nobody"], "there is no robot 'nobody'"),
        (["show", "double_pendulum", "mass"], "there is no method 'mass'"),
        (["show", "double_pendulum", "jacobian"], "jacobian needs --frame"),
        (["show", "double_pendulum", "jacobian", "--frame", "top"], "did you mean 'tip'?"),
        (["show", "double_pendulum", "mass_matrix", "--frame", "tip"], "mass_matrix takes no --frame"),
        (["show", "double_pendulum", "hybrid_dynamics"], "hybrid_dynamics needs --prescribed"),
    ],
)
def test_errors_are_messages(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"fourbar {arguments[0]}: error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_warnings_are_lines_without_a_place_in_the_source(tmp_path: Path) -> None:
    text = (
        '<robot name="arm"><link name="arm"><visual><geometry><mesh filename="package://nowhere/arm.stl"/></geometry>'
    )
    (tmp_path / "arm.urdf").write_text(f"{text}</visual></link></robot>", encoding="utf-8")
    command = [sys.executable, "-m", "fourbar", "view", "arm.urdf", "--output", "arm.html"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and run.stdout == "wrote arm.html\n"
    assert run.stderr.startswith("warning: view: mesh") and run.stderr.count("\n") == 1


def test_interruption_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(name: str, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "read_robot", interrupted)
    assert main.main(["info"]) == 130
    assert capsys.readouterr().err == "\nfourbar info: interrupted\n"


def _piped(*arguments: str, close: bool = False) -> tuple[int, str, str]:
    with subprocess.Popen(
        [sys.executable, "-m", "fourbar", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if close:
            process.stdout.close()
        out = "" if close else process.stdout.read()
        return process.wait(60), out, process.stderr.read()


def test_runs_as_a_module() -> None:
    code, out, err = _piped("info")
    assert (code, err) == (0, "")
    assert "crank_rocker" in out


def test_a_reader_that_leaves_is_no_error() -> None:
    code, _, err = _piped("show", "double_pendulum", "forward_dynamics", close=True)
    assert (code, err) == (0, "")


def test_show_has_a_flag_for_every_option_that_a_method_needs_or_that_can_be_written() -> None:
    every = [option for name in METHODS for option in METHODS[name].options]
    needed = {option.name for option in every if option.required}
    written = {option.name for option in every if option.written}
    parser = argparse.ArgumentParser()
    show.configure(parser)
    assert needed and needed <= written <= set(vars(parser.parse_args(["robot", "method"])))


def test_show_knows_options_by_their_methods_only() -> None:
    names = {option.name for name in METHODS for option in METHODS[name].options}
    texts = [x.value for x in ast.walk(ast.parse(inspect.getsource(show))) if isinstance(x, ast.Constant)]
    assert names and not names & {str(x).strip("-") for x in texts}


def test_show_takes_options_that_a_method_does_not_need(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for more in ([], ["--expressed-in", "frame"]):
        assert main.main(["show", "double_pendulum", "jacobian", "--frame", "tip", *more]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] != shown[1]
    expected = fourbar.robots.double_pendulum().show("jacobian", frame="tip", expressed_in="frame")
    assert shown[1].rstrip() == expected.rstrip()
