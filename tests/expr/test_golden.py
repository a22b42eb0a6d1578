"""Programs as they are meant to look. A change of the tracer shows here as a difference one can read.

After a change that is wanted, write the files anew and look at what `git diff` says:

    FOURBAR_UPDATE_GOLDEN=1 python -m pytest tests/expr/test_golden.py
"""

import os
from pathlib import Path

import numpy as np
import pytest

from fourbar.expr import Direct, from_text, interpret, to_text

from .samples import GOLDEN, LINKS, Load, Point, State, inward, outward

FOLDER = Path(__file__).parent / "golden"
EACH = pytest.mark.parametrize("name", GOLDEN)


@EACH
def test_program_is_the_golden_one(name):
    text = to_text(GOLDEN[name]())
    path = FOLDER / f"{name}.txt"
    if os.environ.get("FOURBAR_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; if that is wanted: {__doc__}"


def test_no_golden_file_is_left_over():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(GOLDEN)


@EACH
def test_golden_text_reads_back(name):
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    program = from_text(text)
    assert to_text(program) == text
    assert program == GOLDEN[name]()


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("chain")])
def test_golden_chains_compute_the_chain(name):
    q, force = [0.3, -0.4, 0.7], [1.5, -2.0]
    states = [State(Point(0.0, 0.0), 0.0)]
    for link, angle in zip(LINKS, q, strict=True):
        states.append(Direct().call(outward, link, angle, states[-1]))
    load, moments = Load(Point(*force), 0.0), []
    for k in (2, 1, 0):
        load = Direct().call(inward, LINKS[k], q[k], states[k], states[k + 1], load)
        moments.insert(0, load.moment)
    program = from_text((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    found = interpret(program, {"q": q, "tip_force": force})
    np.testing.assert_allclose(found["moments"], moments, rtol=1e-13)
    np.testing.assert_allclose(found["tip"], states[-1].place, rtol=1e-13)
