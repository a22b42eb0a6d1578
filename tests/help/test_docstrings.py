"""What is public is described by the rules of numpydoc, and the list of what is public is the right one."""

from __future__ import annotations

import importlib.util

import pytest

import fourbar as fb
from fourbar.functions.registry import METHODS

from .scripts import script


@pytest.mark.skipif(importlib.util.find_spec("numpydoc") is None, reason="numpydoc is not installed")
def test_docstrings_follow_numpydoc() -> None:
    check = script("check_docstrings")
    entries = [entry for section in script("public").sections() for entry in section.entries]
    assert [fault for entry in entries for fault in check.faults(entry)] == []


@pytest.mark.skipif(importlib.util.find_spec("numpydoc") is None, reason="numpydoc is not installed")
def test_a_docstring_that_lacks_something_is_found() -> None:
    check, public = script("check_docstrings"), script("public")

    def two(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    told = " ".join(check.faults(public.function(two)))
    assert "PR01" in told and "RT01" in told and "EX01" in told


def listed() -> list[str]:
    """The public names by their full titles."""
    return [entry.name for section in script("public").sections() for entry in section.entries]


def test_every_name_of_the_package_is_listed() -> None:
    modules = {
        "baselines",
        "bridges",
        "constraints",
        "contact",
        "control",
        "convert",
        "joints",
        "lagrange",
        "loops",
        "observe",
        "robots",
        "spatial",
    }
    told = {name.partition("(")[0] for name in listed()} | {"System", "Constrained", "Actuated"}
    assert set(fb.__all__) - modules <= told


def test_every_method_of_a_robot_is_listed() -> None:
    assert {f"System.{name}" for name in METHODS} <= set(listed())


def test_what_is_internal_is_not_listed() -> None:
    shown = {name.rpartition(".")[2] for name in listed() if name.startswith("Constrained.")}
    assert "forward_dynamics" in shown and not shown & {
        "differentiable",
        "once",
        "no_rows_error",
        "compiled",
        "resolved",
    }


def test_internal_names_exist() -> None:
    """A name that is hidden from the page and gone from the class would hide the next one of that name."""
    for kind, names in script("public").INTERNAL.items():
        assert [name for name in names if not hasattr(kind, name) and name not in kind.__annotations__] == []


def test_the_api_page_has_every_public_name() -> None:
    page = script("make_api").make()
    assert [name for name in listed() if f"`{name}" not in page] == []
    assert page.count("**Returns**") > len(METHODS) and "\n\n\n" not in page


@pytest.mark.quick
def test_the_package_lists_what_it_offers_and_modules_are_there_when_named() -> None:
    listed = {name for name in dir(fb) if not name.startswith("__")}
    assert listed == set(fb.__all__)
    assert fb.bridges.mujoco.from_mujoco and fb.baselines.independent and fb.lagrange.Lagrangian
    assert {"Revolute", "Free"} <= set(dir(fb.joints)) and "lazy" not in dir(fb.joints)
