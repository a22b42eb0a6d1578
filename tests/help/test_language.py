"""Pages, docstrings, messages and names follow the rules of CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .scripts import script


def test_names_and_phrases() -> None:
    assert [str(fault) for fault in script("check_language").faults()] == []


@pytest.mark.parametrize("name", ["projected", "_found", "_known_in", "power_lost", "_given_up", "toggled"])
def test_participles_are_found(name: str) -> None:
    assert script("check_language").is_participle(name)


@pytest.mark.parametrize(
    "name", ["project", "residual", "merged_accelerations", "is_solved", "read_held", "mirrored", "seed"]
)
def test_verbs_and_nouns_are_not(name: str) -> None:
    assert not script("check_language").is_participle(name)


def test_phrases_are_found_across_lines() -> None:
    check = script("check_language")
    (fault,) = check.phrases(Path("page.md"), 3, "One line.\nContacts that do not\nfeel each other.")
    assert fault.line == 5 and "feel" in fault.text


def test_docstrings_begin_with_the_thing() -> None:
    check = script("check_language")
    source = 'def f():\n    """{0} of a call."""\n'
    for words, expected in (("What is left", 1), ("All of it", 1), ("The rest", 0), ("Whatever f returns", 0)):
        assert len(list(check.openings(Path("f.py"), ast.parse(source.format(words))))) == expected


def test_locals_that_live_long_are_found() -> None:
    check = script("check_language")
    lines = "def f(items):", "{0} = []", "for item in items:", "    if item:", "        {0}.append(item)", "return {0}"
    source = "\n    ".join(lines)
    for name, expected in (("found", 1), ("errors", 0)):
        assert len(list(check.long_lived_locals(Path("f.py"), ast.parse(source.format(name))))) == expected
    short = "def f(items):\n    found = sorted(items)\n    return [found for found in found]\n"
    assert not list(check.long_lived_locals(Path("f.py"), ast.parse(short)))
