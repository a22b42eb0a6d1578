"""The stub of a robot's methods is made by a build, and type checkers see by it what is wrong with a call."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import fourbar as fb
from fourbar.functions.registry import METHODS

from .scripts import script

CALLS = Path(__file__).with_name("calls.py")
SOURCE = Path(fb.__file__).resolve().parents[1]
ROOT = Path(__file__).resolve().parents[2]
STUB = Path("fourbar", "system", "robot_methods.pyi")


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


@pytest.fixture(scope="module")
def stub() -> str:
    """The text of the stub that type checkers read: of the installation, or of this checkout, where it is made anew."""
    made = script("make_stub")
    if SOURCE / STUB == made.TARGET:
        made.write()
    return (SOURCE / STUB).read_text(encoding="utf-8")


def test_the_stub_is_current(stub: str) -> None:
    assert stub == script("make_stub").make()


def test_a_build_makes_the_stub_and_packs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub, name = script("make_stub"), "hatchling.builders.hooks.plugin.interface"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["artifacts"] == [stub.TARGET.relative_to(ROOT).as_posix()]
    assert wheel["hooks"]["custom"]["require-runtime-dependencies"]
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(stub, "TARGET", tmp_path / STUB.name)
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules[name].BuildHookInterface = SimpleNamespace  # type: ignore[attr-defined]
    hook = runpy.run_path(str(ROOT / wheel["hooks"]["custom"]["path"]))["WheelHook"](root=str(ROOT))
    hook.initialize("standard", {"force_include": {}})
    assert (tmp_path / STUB.name).read_text(encoding="utf-8") == stub.make()
    assert sys.path[0] == str(ROOT / "src")  # not a fourbar that is installed


@pytest.mark.quick
def test_the_stub_declares_every_method_and_no_other() -> None:
    text = script("make_stub").make()
    declared = re.findall(r"    def (\w+)\(self\)", text.partition("\nclass RobotMethods:")[2])
    assert sorted(declared) == sorted(METHODS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
@pytest.mark.usefixtures("stub")
def test_pyright_sees_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    settings = {"extraPaths": [str(SOURCE)], "include": [CALLS.name], "pythonVersion": "3.11"}
    (tmp_path / CALLS.name).write_text(CALLS.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    found = json.loads(run(tmp_path, "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)))
    errors = [x for x in found["generalDiagnostics"] if x["severity"] == "error"]
    assert {x["range"]["start"]["line"] + 1 for x in errors} == wrong_lines(), [x["message"] for x in errors]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.usefixtures("stub")
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
