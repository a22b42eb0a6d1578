"""The registry of formats, and what `load` and `robot.save` make of it."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fourbar as fb
from fourbar.io import formats
from fourbar.io.report import Place, Reading
from fourbar.joints import Revolute
from fourbar.mechanism.builder import MechanismBuilder
from fourbar.mechanism.geometry import Geometry


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A format of our own: the name of a robot that is a pendulum."""
    module: Any = types.ModuleType("fourbar.io.toy")

    def read(source: Any, options: Any) -> Any:
        reading: Reading = options.reading(source)
        reading.warn(Place(source.name, 1), "a feather is not understood", key="feather")
        b = MechanismBuilder(source.text.strip() + options.extra.get("suffix", ""))
        b.body(
            "rod", joint=Revolute("y"), mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.0), geometry=[Geometry("plane")]
        )
        return b.mechanism(), reading.close()

    def write(mechanism: Any, file: str, waive: tuple[str, ...] = ()) -> Any:
        return mechanism.name, fb.Report((fb.Finding("warning", "bodies are left out", file=file),))

    module.read, module.write = read, write
    monkeypatch.setitem(sys.modules, "fourbar.io.toy", module)
    toy = formats.Format("toy", (".toy",), reader="toy", writer="toy", options=("suffix",))
    monkeypatch.setitem(formats.FORMATS, "toy", toy)
    yield toy


def test_load_reports_and_warns(toy: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.toy"
    file.write_text("thing")
    with pytest.warns(fb.FileWarning, match=r"a\.toy: 1 warning \(feather\); robot\.report"):
        robot = fb.load(file)
    assert robot.name == "thing"
    assert str(robot.report) == "a.toy:1: warning: a feather is not understood"
    assert robot.report.details() == f"{file}:1: warning: a feather is not understood"
    assert robot.mechanism.bodies[0].geometry == (Geometry("plane"),)
    with pytest.raises(
        fb.ParseError, match=r"a\.toy:1: a feather is not understood; remove it from the file, or accept it with waive="
    ):
        fb.load(file, strict=True)
    assert fb.load(file, strict=True, waive=["feather"]).report.findings[0].severity == "note"


@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_texts_options_and_pickles(toy: Any) -> None:
    import pickle

    robot = fb.loads("thing", format="toy", suffix="!", name="here")
    assert robot.name == "thing!"
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and again.report == robot.report
    assert len(robot.report) == 1 and not fb.robots.double_pendulum().report
    with pytest.raises(fb.ArgumentError, match="toy has no option 'colour'; its options: suffix"):
        fb.loads("thing", format="toy", colour="red")


@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_save(toy: Any, tmp_path: Path) -> None:
    left_out = fb.loads("thing", format="toy").save(tmp_path / "b.toy")
    assert (tmp_path / "b.toy").read_text() == "thing"
    assert "bodies are left out" in str(left_out)
    with pytest.raises(fb.ArgumentError, match="cannot be written"):
        fb.robots.double_pendulum().save(tmp_path / "nowhere" / "b.toy")


def test_formats_that_cannot_be_recognised(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(fb.ArgumentError, match=r"there is no file '/nowhere/a\.toy'"):
        fb.load("/nowhere/a.toy")
    with pytest.raises(fb.ArgumentError, match=r"use loads\(text, format"):
        fb.load("<robot/>")
    with pytest.raises(fb.ArgumentError, match="its root element is <house>; choose it with format="):
        fb.loads("<house/>")
    for name, words in (("a.dmd.yaml", "model directives, .*Drake.*add_model"), ("a.mjb", "compiled MuJoCo model")):
        (tmp_path / name).write_text("directives:\n")
        with pytest.raises(fb.ArgumentError, match=words):
            fb.load(tmp_path / name)
    with pytest.raises(fb.ArgumentError, match="unknown format='toyy'"):
        fb.loads("", format="toyy")
    with pytest.raises(fb.ArgumentError, match="is a folder; give a model file"):
        fb.load(tmp_path, format="toy")


def test_options_are_checked(toy: Any) -> None:
    for options, message in [
        ({"floating": "yes"}, "floating='yes'"),
        ({"waive": "gazebo"}, r"waive='gazebo': expected a list, such as \['gazebo'\]"),
        ({"folders": "meshes"}, "folders='meshes': expected a list"),
        ({"waive": 3}, r"waive=3: expected a list of names, \[\] for none"),
        ({"waive": None}, "waive=None: expected a list of names"),
        ({"waive": [3]}, r"waive=\[3\]: expected a list of names"),
        ({"folders": [3]}, r"folders=\[3\]: expected a list of names"),
        ({"folders": None}, "folders=None: expected a list of names"),
        ({"folders": ["/nowhere"]}, "there is no folder '/nowhere'"),
    ]:
        with pytest.raises(fb.ArgumentError, match=message):
            fb.loads("thing", format="toy", **options)  # type: ignore[arg-type]


def test_what_is_saved_is_checked(tmp_path: Path) -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.ArgumentError, match="expected the name of a file, got 3"):
        robot.save(3, format="urdf")  # type: ignore[arg-type]
    for waive in (None, 3, [3]):
        with pytest.raises(fb.ArgumentError, match=r"waive=.*: expected a list of names"):
            robot.save(tmp_path / "a.urdf", waive=waive)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"kind": "blob"}, "unknown kind 'blob'"),
        ({"kind": "box", "size": (1.0,)}, "a box takes x, y, z"),
        ({"kind": "sphere", "size": (-1.0,)}, "a sphere takes radius, finite and non-negative"),
        ({"kind": "mesh"}, "mesh= is required for a mesh"),
        ({"kind": "plane", "role": "shadow"}, "unknown role 'shadow'"),
    ],
)
def test_geometry_is_checked(arguments: Any, message: str) -> None:
    with pytest.raises(fb.ModelError, match=message):
        Geometry(**arguments)
