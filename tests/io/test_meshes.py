"""Meshes are looked for in listed folders only."""

from __future__ import annotations

from pathlib import Path

import pytest

from fourbar.io.meshes import Meshes


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("pkg/meshes/a.stl", "robots/urdf/b.stl", "robots/meshes/c.stl", "secret/d.stl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "address, listed, expected",
    [
        ("package://pkg/meshes/a.stl", ".", "pkg/meshes/a.stl"),
        ("package://pkg/meshes/a.stl", "pkg", "pkg/meshes/a.stl"),
        ("package://pkg/meshes/a.stl", "secret", "missing"),
        ("package://pkg/../../secret/d.stl", "pkg", "outside"),
        ("package://pkg/%2e%2e/%2e%2e/secret/d.stl", "pkg", "outside"),
        ("package://../secret/d.stl", "pkg", "outside"),
        ("model://pkg/meshes/a.stl", ".", "pkg/meshes/a.stl"),
        ("b.stl", "pkg", "robots/urdf/b.stl"),
        ("./x/../b.stl", "pkg", "robots/urdf/b.stl"),
        ("../meshes/c.stl", "robots", "robots/meshes/c.stl"),
        ("../meshes/c.stl", "pkg", "outside"),
        ("../../secret/d.stl", "robots", "outside"),
        ("meshes/a.stl", "pkg", "pkg/meshes/a.stl"),
        ("/etc/passwd", "pkg", "outside"),
        ("file:///etc/passwd", "pkg", "outside"),
        ("http://localhost/a.stl", "pkg", "remote"),
        ("none.stl", "pkg", "missing"),
        ("a\0b.stl", "pkg", "missing"),
        ("x" * 5000, "pkg", "missing"),
    ],
)  # fmt: skip
def test_addresses(address: str, listed: str, expected: str, folders: Path) -> None:
    found = Meshes([folders / listed], folders / "robots" / "urdf").find(address)
    assert (found.problem or Path(found.path).relative_to(folders).as_posix()) == expected


def test_texts_have_no_folder() -> None:
    assert Meshes([], None).find("a.stl").problem == "missing"
    assert Meshes([], None).find("package://p/a.stl").problem == "missing"


def test_a_file_knows_its_own_package(folders: Path) -> None:
    for name in ("robots", "secret"):
        (folders / name / "package.xml").write_text("")
    (folders / "robots" / "urdf" / "deeper").mkdir()
    own = Meshes([], folders / "robots" / "urdf" / "deeper")
    assert own.find("package://robots/meshes/c.stl").path == str(folders / "robots/meshes/c.stl")
    assert own.find("package://robots/../secret/d.stl").problem == "outside"
    assert own.find("package://secret/d.stl").problem == "missing", "another package is not searched for"
    assert own.find("package://urdf/b.stl").problem == "missing", "a folder is no package without its package.xml"


def test_two_slashes_are_one(folders: Path) -> None:
    """POSIX allows a path to begin with two, which Python keeps."""
    found = Meshes([Path(f"/{folders}/robots")], folders / "robots" / "urdf").find("../meshes/c.stl")
    assert found.path == str(folders / "robots/meshes/c.stl")
