"""The stub of a robot's methods is current, and type checkers see by it what is wrong with a call."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fourbar as fb
from fourbar.functions.registry import METHODS

from .scripts import script

CALLS = Path(__file__).with_name("calls.py")
SOURCE = Path(fb.__file__).resolve().parents[1]


def wrong_lines() -> set[int]:
    """The lines of the file of calls that a type checker must refuse, and no others."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "# wrong" in line}


def environment() -> dict[str, str]:
    """Environment variables by which mypy finds the library, which it does by itself where pip has installed it.

    It refuses to run where the folder of installed packages is named.
    """
    installed = SOURCE.name == "site-packages"
    return dict(os.environ) if installed else {**os.environ, "MYPYPATH": str(SOURCE)}


def run(folder: Path, *command: str) -> str:
    """What a type checker prints about the file of calls, for a user whose project is elsewhere."""
    made = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300
    )
    assert made.returncode in (0, 1), made.stderr  # more: it could not run
    return made.stdout


def test_the_stub_is_current() -> None:
    stub = script("make_stub")
    assert stub.TARGET.read_text(encoding="utf-8") == stub.make(), "run: python docs/make_stub.py"


@pytest.mark.quick
def test_the_stub_declares_every_method_and_no_other() -> None:
    text = script("make_stub").TARGET.read_text(encoding="utf-8")
    declared = re.findall(r"    def (\w+)\(self\)", text.partition("\nclass RobotMethods:")[2])
    assert sorted(declared) == sorted(METHODS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_sees_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    settings = {"extraPaths": [str(SOURCE)], "include": [CALLS.name], "pythonVersion": "3.11"}
    (tmp_path / CALLS.name).write_text(CALLS.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    found = json.loads(run(tmp_path, "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)))
    errors = [x for x in found["generalDiagnostics"] if x["severity"] == "error"]
    assert {x["range"]["start"]["line"] + 1 for x in errors} == wrong_lines(), [x["message"] for x in errors]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_sees_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    options = ("--python-version", "3.11", "--follow-imports", "silent", "--cache-dir", str(tmp_path))
    found = run(tmp_path, "mypy", *options, str(CALLS))
    assert {int(x) for x in re.findall(r"calls\.py:(\d+): error", found)} == wrong_lines(), found


def test_what_the_stub_says_is_what_a_call_takes() -> None:
    """The arguments by which the stub lets a method be called are those that the method itself says it takes."""
    robot = fb.robots.double_pendulum()
    signature_of = script("registered").signature_of
    for name, method in METHODS.items():
        declared, true = signature_of(method).parameters, inspect.signature(getattr(robot, name)).parameters
        assert declared == true, name
