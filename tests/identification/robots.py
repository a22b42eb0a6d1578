"""The mechanisms of the other tests with every joint and every loop, by one name each, and states of them."""

from __future__ import annotations

from typing import Any

import pytest

from fourbar import System
from tests.algorithms import mechanisms
from tests.loops import looped

TREES = tuple(f"tree{i}" for i in range(mechanisms.COUNT))
_SHORT = ("tree0", "geared")
EACH = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.quick) if name in _SHORT else name for name in (*TREES, *looped.NAMES)],
)
FEW = pytest.mark.parametrize("name", ["tree0", "tree5", "geared", "spatial_crank"])


def robot_and_state(name: str) -> tuple[System, Any]:
    """A robot and a batch of its states."""
    if name.startswith("tree"):
        robot = mechanisms.mechanism(int(name.removeprefix("tree")))
        return robot, mechanisms.state(robot)
    return looped.mechanism(name), looped.state(name)
