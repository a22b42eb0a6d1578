"""The tables of docs/equations.md: made by the library, up to date, and right."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "make_equations.py"))


def test_the_page_is_up_to_date(script: dict[str, Any]) -> None:
    page = (DOCS / "equations.md").read_text(encoding="utf-8")
    assert page == script["write"](page), "run: python docs/make_equations.py"


def test_coriolis_matrices(script: dict[str, Any]) -> None:
    """ad~_p v = -ad_vᵀ p for every group; SO(3) has the sign of From's eq. 68, not that of his Table 1."""
    for name, group, _ in script["SPACES"]:
        v = script["velocity"](group)
        p = sympy.Matrix(sympy.symbols(f"p_1:{group.nv + 1}", real=True))
        ad, C = script["matrix"](group.ad, list(v)), script["matrix"](group.coadjoint_coriolis, list(p))
        assert sympy.expand(C * v + ad.T * p) == sympy.zeros(group.nv, 1), name
        if name == "SO(3)":
            assert -sympy.Matrix([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]]) == C


def test_velocities_from_local_coordinates(script: dict[str, Any]) -> None:
    """S(φ) = 1 - ½ ad + ⅙ ad² - 1/24 ad³ + ..., summed until nothing is added."""
    rng = np.random.default_rng(0)
    for name, group, _ in script["SPACES"]:
        phi = rng.normal(size=group.nv).tolist()
        ad = np.array(group.ad(phi), float)
        term, total = np.eye(group.nv), np.eye(group.nv)
        for k in range(2, 40):
            term = -term @ ad / k
            total = total + term
        assert np.allclose(np.array(group.right_dexp(phi), float), total, rtol=0.0, atol=1e-14), name
