"""Faults of loops in files: the message has the line of the loop and its name, not those of a body."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import fourbar as fb
from fourbar.io.formats import FORMATS
from fourbar.joints import Revolute
from fourbar.mechanism.mechanism import Mechanism

BODY = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def linkage(loop: fb.loops.Loop, name: str) -> Mechanism:
    b = fb.Builder("linkage")
    b.body("crank", joint=Revolute("z"), **BODY)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.2, 0, 0), **BODY)
    b.body("rocker", joint=Revolute("z"), position=(0.5, 0, 0), **BODY)
    return b.loop(loop, name=name).mechanism()


@pytest.mark.parametrize("name", ["crank", "rocker"])
@pytest.mark.parametrize("format", ["json", "toml", "urdf"])
def test_a_loop_that_is_called_like_a_body(format: str, name: str) -> None:
    far = fb.loops.Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(9, 0, 0))
    text, _ = FORMATS[format].write(linkage(far, name), f"far.{format}")
    with pytest.raises(
        fb.ParseError, match=rf"^far\.{format}:\d+: .*loop.*'{name}': the loops '{name}' cannot"
    ) as caught:
        fb.loads(text, name=f"far.{format}", format=format)
    (finding,) = caught.value.report.errors
    assert re.search(r"loops|<loop", "\n".join(text.splitlines()[finding.line - 2 : finding.line]))


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown name": ({"results": ["a - c"]}, "unknown name 'c'"),
    "division by zero": ({"results": ["a - 1/0"]}, "divides by zero"),
    "root": ({"results": ["sqrt(-1) - a"]}, "root of a negative number"),
    "overflow": ({"results": ["(10.0 ** 64) ** 64 * a"]}, "too large"),
    "index": ({"results": ["a[0] - b"]}, r"a is one number; .*name\[0\]"),
    "constant": ({"results": ["1.0"]}, "depends on none of the joints"),
    "not finite": ({"results": ["a - 1e400 * b"]}, "not finite"),
    "too far": ({"results": ["a * a + b * b + 1"]}, "cannot be closed"),
    "arguments": ({"arguments": ["a", "b", "c"]}, "2 joints"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_formula_in_a_file(fault: str) -> None:
    (changes, words) = FAULTS[fault]
    formula = fb.loops.Formula("a b", "a - b")
    text, _ = FORMATS["json"].write(linkage(fb.loops.Constraint(formula, ["crank", "rocker"]), "cam"), "cam.json")
    data = json.loads(text)
    data["loops"][0]["function"] |= changes
    text = json.dumps(data, indent=1)
    line = next(n for n, x in enumerate(text.splitlines(), 1) if '"loops"' in x)
    with pytest.raises(fb.ParseError, match=rf"^cam\.json:\d+: loops\[0\] 'cam': .*{words}") as caught:
        fb.loads(text, name="cam.json", format="json")
    assert caught.value.report.errors[0].line > line


def test_the_function_of_a_loop_that_raises_is_named() -> None:
    b = fb.Builder("linkage")
    for name in ("crank", "rocker"):
        b.body(name, joint=Revolute("z"), **BODY)
    b.loop(fb.loops.Constraint(lambda a, b: a - b["x"], ["crank", "rocker"]), name="cam")
    with pytest.raises(TypeError) as caught:
        b.build()
    assert "in loop 'cam'" in caught.value.__notes__
