"""How many files a call enters before the mathematics begins: what a reader has to walk through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fourbar.functions.function import backend

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "stations.py"
ATTRIBUTE = 6  # files from `robot.forward_dynamics` to the function
FIRST_CALL = 17  # files from its first call to the algorithm
TOGETHER = 19  # files of both
# Files of a motion that was made before.
SECOND = {"simulate(scene)": 15, "simulate(robot)": 21, "simulate(robot, law)": 19, "batch.step": 6}
CALLS = 20  # Python functions of a step of live worlds


CODE = """
import json, runpy, sys
script = runpy.run_path(sys.argv[1])
script["warm_up"]()
ways = {kind: script["ways"](robot).values() for kind, robot in script["robots"]().items()}
found = {kind: [[way.files, way.before] for way in own] for kind, own in ways.items()}
found["simulations"] = {name: [script["way"](run).files, script["calls"](run)]
                        for name, run in script["simulations"]().items()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def stations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script finds in a process of its own that has called another robot before: by kind, (files, before) of
    the attribute, the first and the second call."""
    environment = {**os.environ, "FOURBAR_CACHE": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-c", CODE, str(SCRIPT)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["tree", "loop"])
def test_a_call_goes_down_in_few_steps(kind: str, stations: dict[str, Any]) -> None:
    (attribute, _), (first, before), (second, _) = stations[kind]
    assert len(attribute) <= ATTRIBUTE, attribute
    assert "functions/attributes.py" in attribute and "functions/recording.py" in attribute
    assert len(before) <= FIRST_CALL, before
    assert len({*attribute, *before}) <= TOGETHER
    assert "algorithms/aba.py" in first and "algorithms/aba.py" not in before
    assert "functions/methods/dynamics.py" not in (*attribute, *second)
    assert backend() == "numpy" or second == []


def test_a_motion_that_was_made_before_enters_few_files(stations: dict[str, Any]) -> None:
    if backend() == "numpy":
        pytest.skip("steps are interpreted")
    for name, (files, calls) in stations["simulations"].items():
        assert len(files) <= SECOND[name], (name, files)
        assert name != "batch.step" or calls <= CALLS


def test_a_robot_without_loops_never_enters_the_code_of_charts(stations: dict[str, Any]) -> None:
    for name, (files, _) in stations["simulations"].items():
        assert not [x for x in files if "chart" in x or "fold" in x or "varied_loops" in x], name
