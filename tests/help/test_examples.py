"""The examples in the docstrings of all that is public run, and print what they say."""

from __future__ import annotations

import doctest
import importlib.util
import math
import re
from collections.abc import Iterator

import pytest

from .scripts import script

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
NEEDS = {"pinocchio": "import pinocchio", "mujoco": "import mujoco", "pydrake": "from pydrake", "sympy": ".equations(",
         "gymnasium": "import fourbar.gymnasium", "jax": "import jax", "torch": "import torch",
         "casadi": "import casadi"}  # fmt: skip


class Checker(doctest.OutputChecker):
    """Compares numbers by the digits that are written, and the text around them without its spaces."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        bare = [re.sub(r"\s+", "", NUMBER.sub("#", text)) for text in (want, got)]
        written, found = (NUMBER.findall(text) for text in (want, got))
        return bare[0] == bare[1] and all(map(same_number, written, found))


def same_number(written: str, found: str) -> bool:
    """Whether two numbers are equal up to the last digit that is written; whole numbers must be equal."""
    mantissa, _, exponent = written.lower().partition("e")
    if "." not in mantissa:
        return written == found
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return math.isclose(float(written), float(found), rel_tol=0.0, abs_tol=0.6 * 10.0**-digits)


def with_examples() -> Iterator[object]:
    """The public names whose docstrings have examples, each with what it needs installed."""
    for section in script("public").sections():
        for entry in section.entries:
            if ">>>" in entry.doc:
                yield pytest.param(entry, id=f"{section.title.rpartition(' ')[2]}-{entry.name}")


@pytest.mark.parametrize("entry", list(with_examples()))
def test_example_runs(entry: object) -> None:
    doc, name = str(entry.doc), str(entry.name)  # type: ignore[attr-defined]
    for library, sign in NEEDS.items():
        if sign in doc and importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    told: list[str] = []
    doctest.DocTestRunner(Checker(), verbose=False).run(test, out=told.append)
    assert not told, "".join(told)


@pytest.mark.quick
def test_an_example_that_prints_something_else_is_found() -> None:
    checker = Checker()
    assert checker.check_output("array([1.2346, 0.    ])\n", "array([ 1.23459, -0.    ])\n", 0)
    assert not checker.check_output("array([1.2346])\n", "array([1.2349])\n", 0)
    assert not checker.check_output("(2, 3)\n", "(2, 4)\n", 0)
    assert not checker.check_output("array([1.0])\n", "array([1.0, 2.0])\n", 0)
