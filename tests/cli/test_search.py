"""`fourbar docs`: words found in the pages and in the API."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fourbar.cli import docs
from fourbar.cli.docs import Section, search
from fourbar.cli.main import main

pytestmark = pytest.mark.quick


def section(heading: str, text: str, title: str = "Page") -> Section:
    return Section(f"page#{heading}", title, heading, text)


def test_headings_come_first_and_all_words_are_needed() -> None:
    often = section("Other", "gear gear gear gear gear gear gear")
    named = section("Gears", "They turn.")
    code = section("Calls", "`Gear(...)` takes a ratio")
    assert search([often, code, named], ["gear"])[0] == named
    assert search([often, code, named], ["gear", "ratio"]) == [code]
    assert search([often, code, named], ["ear"]) == []  # words are found by how they begin
    assert search([section("x", "folders and folders"), section("y", "folds")], ["fold"])[0].heading == "y"
    assert search([section("x", "inverse_kinematics(q)")], ["kinematics"]) != []  # and so are parts of names


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("toggle position", "loops#toggle-positions"),
        ("inverse kinematics", "howto#inverse-kinematics"),
        ("coriolis", "coriolis"),
        ("webassembly", "deploy#webassembly"),
        ("Gear", "fb.loops.Gear"),
        ("choosing dt", "simulate#choosing-dt"),
    ],
)
def test_sections_with_the_words_in_their_heading_are_among_the_first(
    words: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["docs", *words.split(), "-n", "3"]) == 0
    printed = capsys.readouterr().out
    assert place in [line.split()[0] for line in printed.splitlines() if line and not line.startswith(" ")]
    assert "\x1b" not in printed  # no terminal
    assert main(["docs", "--read", place]) == 0
    assert len(capsys.readouterr().out) > 100


def test_matches_are_bold_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["docs", "gear", "-n", "1"]) == 0
    assert "\x1b[1mgear\x1b[0m" in capsys.readouterr().out.lower()


def test_words_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "frictoin"]) == 2
    assert "did you mean friction" in capsys.readouterr().err
    assert main(["docs", "--read", "lops"]) == 2
    assert "did you mean 'loops'" in capsys.readouterr().err
    assert main(["docs", "--read", "loops#cluster"]) == 2
    assert "loops#clusters" in capsys.readouterr().err


def test_without_words_the_pages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{printed}" for name in ("howto", "loops", "simulate", "support"))
    assert main(["docs", "--read", "loops"]) == 0
    assert capsys.readouterr().out.startswith("# Kinematic loops")


def test_code_does_not_begin_sections() -> None:
    """A comment of a block of code is no heading."""
    headings = {x.heading for x in docs.page_sections()}
    assert "Clusters" in headings and not any(heading.startswith("run.plot()") for heading in headings)


def test_an_installed_package_has_the_pages() -> None:
    """Where this runs on a wheel: its pages, and the list for programs, but no scripts."""
    if "site-packages" not in str(docs.folder()):
        pytest.skip("fourbar runs from a checkout")
    names = {path.name for path in docs.folder().rglob("*")}
    assert {"llms.txt", "howto.md", "loops.md", "speed.md"} <= names
    assert {Path(name).suffix for name in names} == {".md", ".txt"}


def test_methods_of_scenes_and_results_are_found_and_words_may_be_hyphenated() -> None:
    places = {found.place for found in search([*docs.page_sections(), *docs._names()], ["warm start"])}
    assert {"fb.Scene.step", "simulate#what-a-step-does"} <= places
    assert not search([section("Starts", "warm and start")], ["warm start"])
    named = {found.place for found in docs._names()}
    assert {"fb.Run.save", "fb.Run.load", "fb.Scene.batch", "fb.View.stop", "Batch.reset"} <= named
