"""The code of README.md, docs/ and examples/ runs, and their links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from fourbar.cli.docs import list_for_programs, summary

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_DRIVEN = {"howto.md": [("motion", "ik")]}  # motions to the second of some poses
_BLOCK = re.compile(r"(?:<!-- needs: (?P<needs>\S+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)


def _blocks(page: Path) -> list[tuple[int, str | None, str]]:
    """Line, the package it needs, and code of every block of Python."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start("code")), m["needs"], m["code"]) for m in _BLOCK.finditer(text)]


def _run_blocks(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All blocks of a page, in order, in one namespace, beside the examples; tracebacks point into the page."""
    copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    space: dict[str, Any] = {"__name__": "__main__"}
    for line, needs, code in _blocks(page):
        if needs is None or importlib.util.find_spec(needs.partition(".")[0]) is not None:
            exec(compile("\n" * line + code, str(page), "exec"), space)
    return space


@pytest.mark.parametrize("page", [p for p in PAGES[1:] if _blocks(p)], ids=lambda p: p.name)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = _run_blocks(page, tmp_path, monkeypatch)
    for moved, goals in _DRIVEN.get(page.name, ()):
        assert any(f"\n{moved} = " in code for _, _, code in _blocks(page)), f"{page.name} has no {moved} any more"
        if moved in space:  # not where a block is left out for lack of what it needs
            assert np.abs(space[moved].q[-1] - space[goals].q[1]).max() < 0.02, f"{moved} does not end where it says"


def test_the_examples_of_the_readme_do_as_their_comments_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = _run_blocks(ROOT / "README.md", tmp_path, monkeypatch)
    assert space["J"].q.shape == (1000, 6, 6)
    four_bar, run = space["four_bar"], space["run"]
    energy = four_bar.kinetic_energy(run.q, run.v) + four_bar.potential_energy(run.q)
    assert four_bar.nv == 1 and four_bar.loop_gap(run.q).max() < 1e-14 and np.ptp(energy) < 1e-7
    assert np.abs(run.v).max() > 1.0  # it does move
    drop, weight = space["drop"], 9.81 * sum(body.mass for body in space["robot"].mechanism.bodies)
    assert drop.converged.all() and drop.contacts.force[-1].shape == (4, 3)
    assert np.allclose(drop.contacts.force[-1].sum(axis=0), [0.0, 0.0, weight], atol=1e-3 * weight)
    assert (tmp_path / "drop.html").stat().st_size > 10_000


def test_the_readme_is_short_and_has_its_parts() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## (.+)$", text, re.MULTILINE)
    use, about = ["Install", "Three examples", "Features", "Documentation"], ["Speed", "Platforms", "Help and citation"]
    assert parts == use + about
    assert len(text.splitlines()) <= 120 and text.count("```python") == 3
    features, speed = (text.split(f"## {name}\n")[1].split("\n## ")[0] for name in ("Features", "Speed"))
    assert len(re.findall(r"^- .*\]\(docs/", features, re.MULTILINE)) == 8
    assert len(re.findall(r"^\| \S", speed, re.MULTILINE)) == 2 + 6  # head, rule, rows


def test_the_changelog_has_one_line_per_subject() -> None:
    """Merges keep both versions of a line that two changes edited; nothing was fixed before the first release."""
    release = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("## [0.1.0]")[1]
    leads = [line.partition(":")[0] for line in release.splitlines() if line.startswith("- `") and ":" in line]
    assert len(leads) == len(set(leads)), sorted(x for x in leads if leads.count(x) > 1)
    assert len(release.splitlines()) < 120 and "### Fixed" not in release


_LONG = ("actuators.py", "sweep_on_a_cluster.py")  # each takes as long as all others
_SMALL = {"sweep_on_a_cluster.py": (("distributed",), ("40",))}  # what they need, and arguments for a small case
SCRIPTS = [
    pytest.param(p, marks=[pytest.mark.slow] if p.name in _LONG else [], id=p.name)
    for p in sorted((ROOT / "examples").glob("*.py"))
    if not p.name.startswith("learn_")  # they learn for minutes: tests/learning has them learn for less
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_examples_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs, arguments = _SMALL.get(script.name, ((), ()))
    for package in needs:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
        assert (page.parent / target).exists(), target


def test_every_example_is_linked() -> None:
    page = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\(\.\./examples/([\w.]+)\)", page))
    assert linked == {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}


def test_environment_variables_are_documented() -> None:
    sources = (ROOT / "src").rglob("*.py")
    used = {name for path in sources for name in re.findall(r"FOURBAR_[A-Z]+", path.read_text(encoding="utf-8"))}
    concepts = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert used == set(re.findall(r"FOURBAR_[A-Z]+", concepts))


def test_the_list_for_programs_has_all_pages() -> None:
    lines = list_for_programs(".md").splitlines()
    for page in (x for x in PAGES[1:] if x.name != "api.md"):
        title, sentence = summary(page.read_text(encoding="utf-8"))
        assert title and len(sentence) > 20, page.name
        assert f"- [{title}]({page.name}): {sentence}" in lines
