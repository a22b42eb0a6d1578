"""The cache stays within bounds, and nothing but its own files is removed."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import cache as files
from fourbar.compile import cache as prune
from fourbar.joints import Revolute

NOW = time.time()
SIZE = 1000


def name(number, suffix=".o"):
    return f"{number:064x}{suffix}"


def made(folder, called, age):
    """A file that was last used so many days ago."""
    path = folder / called
    path.write_bytes(bytes(SIZE))
    os.utime(path, (NOW - 86400 * age,) * 2)
    return path


@pytest.fixture
def small(monkeypatch):
    """Bounds of ten files, of which five are kept."""
    monkeypatch.setattr(prune, "_MOST", 10 * SIZE)
    monkeypatch.setattr(prune, "_KEPT", 0.5)


def test_what_was_used_last_is_kept(tmp_path, small):
    for age in range(1, 12):
        made(tmp_path, name(7 * age % 11, (".o", ".program")[age % 2]), age)
    youngest = sorted(tmp_path.iterdir(), key=lambda p: -p.stat().st_mtime)[:5]
    prune.prune(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(youngest)


def test_files_that_are_held_are_passed_over(tmp_path, small, monkeypatch):
    for age in range(1, 12):
        made(tmp_path, name(age), age)
    held, unlink = tmp_path / name(11), Path.unlink

    def try_to(path, missing_ok=False):
        if path == held:
            raise PermissionError("in use")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", try_to)
    prune.prune(tmp_path)
    assert held.exists() and len(list(tmp_path.iterdir())) == 5


def test_use_that_cannot_be_noted_is_no_error(tmp_path, monkeypatch):
    path = made(tmp_path, name(1), 3)

    def refuse(path):
        raise PermissionError("not yours")

    monkeypatch.setattr(os, "utime", refuse)
    prune.note_use(path)


def test_within_bounds_nothing_goes(tmp_path, small):
    for age in range(10):
        made(tmp_path, name(age), age)
    prune.prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == 10


def test_files_of_others_are_left_alone(tmp_path, small):
    """The user may have named a folder that holds other things."""
    others = [made(tmp_path, x, 99) for x in ("thesis.tex", "a.o", name(1) + ".bak", "00.program")]
    (tmp_path / name(3)).mkdir()
    (tmp_path / name(4)).symlink_to(others[0])
    for number in range(10, 22):
        made(tmp_path, name(number), 1)
    prune.prune(tmp_path)
    assert all(path.exists() for path in others)
    assert (tmp_path / name(3)).is_dir() and (tmp_path / name(4)).is_symlink()
    assert len(list(tmp_path.iterdir())) == len(others) + 2 + 5


def test_what_a_killed_process_left_goes_too(tmp_path, small):
    left = made(tmp_path, "writing-abc.part", 5)
    for number in range(10):
        made(tmp_path, name(number), 1)
    prune.prune(tmp_path)
    assert not left.exists()


def test_use_is_noted(tmp_path):
    path = tmp_path / name(255)
    files.write(path, b"code")
    os.utime(path, (NOW - 5 * 86400,) * 2)
    assert files.read(path) == b"code"
    assert path.stat().st_mtime > NOW - 86400
    os.utime(path, (NOW - 3600,) * 2)
    files.read(path)
    assert path.stat().st_mtime == pytest.approx(NOW - 3600, abs=1.0)  # to the day: most calls write nothing
    path.unlink()
    prune.note_use(path)


def test_a_new_file_may_prune(tmp_path, small):
    old = [made(tmp_path, name(number), 2) for number in range(11)]
    files.write(tmp_path / ("01" + "a" * 62 + ".o"), bytes(10))
    assert all(path.exists() for path in old)
    files.write(tmp_path / ("00" + "a" * 62 + ".o"), bytes(10))
    assert sum(path.exists() for path in old) < 6
    assert (tmp_path / ("00" + "a" * 62 + ".o")).exists()


def test_robots_still_work_when_all_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prune, "_MOST", 0)
    monkeypatch.setattr(prune, "prune_sometimes", lambda path: prune.prune(path.parent))
    monkeypatch.setattr(files, "prune_sometimes", lambda path: prune.prune(path.parent))
    b = fb.Builder("hinge")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0))
    assert b.build().gravity_force([0.5]) == pytest.approx(9.81 * np.sin(0.5), rel=1e-15)
