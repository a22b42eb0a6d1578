"""The finished tasks of examples/control run, and meet what they assert."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "control"
SCRIPTS = [p for p in sorted(FOLDER.glob("*.py")) if "__main__" in p.read_text(encoding="utf-8")]
NEEDS_FILE = ("cassie.py",)  # a checkout of MuJoCo Menagerie


@pytest.mark.slow
@pytest.mark.parametrize("script", [p for p in SCRIPTS if p.name not in NEEDS_FILE], ids=lambda p: p.name)
def test_tasks_are_done(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.syspath_prepend(str(FOLDER))
    runpy.run_path(str(script), run_name="__main__")


def test_tasks_are_short_and_linked() -> None:
    page = (FOLDER.parents[1] / "docs" / "control.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        lines = [x for x in path.read_text(encoding="utf-8").splitlines() if x.strip()]
        assert len(lines) <= 80, path.name
        assert f"(../examples/control/{path.name})" in page
