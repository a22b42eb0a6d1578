"""How many files a call enters before the mathematics begins: what a reader has to walk through."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from fourbar.functions.function import backend

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "stations.py"
ATTRIBUTE = 11  # files from `robot.forward_dynamics` to the function
FIRST_CALL = 14  # files from its first call to the algorithm


@pytest.fixture
def stations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The script, in a process that has called another robot before."""
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path))
    script = runpy.run_path(str(SCRIPT))
    script["warm_up"]()
    return script


@pytest.mark.parametrize("kind", ["tree", "loop"])
def test_a_call_goes_down_in_few_steps(kind: str, stations: dict[str, Any]) -> None:
    attribute, first, second = stations["ways"](stations["robots"]()[kind]).values()
    assert len(attribute.files) <= ATTRIBUTE, attribute.files
    assert "functions/attributes.py" in attribute.files and "functions/recording.py" in attribute.files
    assert len(first.before) <= FIRST_CALL, first.before
    assert "algorithms/aba.py" in first.files and "algorithms/aba.py" not in first.before
    assert "functions/methods/dynamics.py" not in (*attribute.files, *second.files)
    assert backend() == "numpy" or second.files == ()
