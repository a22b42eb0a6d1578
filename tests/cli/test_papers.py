"""docs/papers.md: every numbered equation, table and figure of the papers is listed once, and its links exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
NUMBERED = {  # by paper and kind, how many there are
    "Kim": {"eq.": 92, "Table": 7, "Fig.": 1},
    "Liu-Jain": {"eq.": 85, "Table": 0, "Fig.": 2},
    "Zhang": {"eq.": 2, "Table": 0, "Fig.": 0},
    "Chignoli": {"eq.": 67, "Table": 4, "Fig.": 14, "Alg.": 1},
    "From": {"eq.": 112, "Table": 2, "Fig.": 0},
}
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}
_LINK = re.compile(r"`((?:[\w/]+/)?\w+\.py)(?:::([\w.]+))?`")
pytestmark = pytest.mark.quick


def rows(paper: str) -> list[list[str]]:
    """The cells of a paper's table."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {paper}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[2:]]


def numbers(place: str) -> Iterator[tuple[str, int]]:
    """Kind and number of everything that a first cell names: "eq. 43, 48", "Table II-IV", "Fig. 7, eq. 38"."""
    kind = ""
    for part in place.split(", "):
        found = re.fullmatch(r"(?:(eq\.|Table|Fig\.|Alg\.) )?([\dIV]+)(?:-([\dIV]+))?", part)
        if found is None:
            return  # by a title, or a section
        kind = found[1] or kind
        first, last = (ROMAN.get(x) or int(x) for x in (found[2], found[3] or found[2]))
        yield from ((kind, n) for n in range(first, last + 1))


@cache
def names(path: Path) -> frozenset[str]:
    """Functions and classes of a file, and the methods of these."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef))
    return frozenset(found)


def missing(text: str) -> list[str]:
    """The links of a text that lead nowhere."""
    found = []
    for path, name in _LINK.findall(text):
        file = ROOT / path if path.startswith(("tests/", "bench/", "docs/")) else ROOT / "src" / "fourbar" / path
        if not file.exists():
            found.append(path)
        elif name and name not in names(file):
            found.append(f"{path}::{name}")
    return found


def test_links_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(_LINK.findall(text)) > 250
    assert missing(text) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "`algorithms/rnea.py::outward` `algorithms/rnea.py::sideways` `algorithms/gone.py` `tests/gone.py::x`"
    assert missing(text) == ["algorithms/rnea.py::sideways", "algorithms/gone.py", "tests/gone.py"]


def test_files_of_theory_exist() -> None:
    """docs/theory.md: a file without its folder is in that of the one before it, in the same paragraph or row."""
    found, folder = 0, ""
    for line in (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").splitlines():
        folder = "" if not line or line.startswith("|") else folder
        for path in re.findall(r"`((?:[\w/]+/)?\w+\.py|[\w/]+/)`", line):
            folder = path.rpartition("/")[0] or folder
            places = [ROOT / path, ROOT / "src" / "fourbar" / folder / path.rpartition("/")[2]]
            assert any(place.exists() for place in places), (path, line)
            found += 1
    assert found > 80


@pytest.mark.parametrize("paper", NUMBERED)
def test_everything_numbered_is_listed_once(paper: str) -> None:
    listed = [x for row in rows(paper) for x in numbers(row[0])]
    assert sorted(listed) == sorted((kind, n) for kind, last in NUMBERED[paper].items() for n in range(1, last + 1))


@pytest.mark.parametrize("paper", NUMBERED)
def test_rows_say_where_or_why_not(paper: str) -> None:
    """What has no test has no source either, and says what it is."""
    for row in rows(paper):
        assert len(row) == 4 and all(row[:3]), row
        assert _LINK.search(row[3]) or not _LINK.search(row[2]), row
