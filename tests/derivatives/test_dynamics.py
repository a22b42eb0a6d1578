"""Derivatives of the dynamics on random mechanisms with every joint and every kind of loop."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.loops.looped import LOOPED, looped
from tests.physics.mechanisms import COUNT, mechanism

from .step import directional

TREES = [f"tree{i}" for i in range(COUNT)]
CASES = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.short) if n in ("tree0", LOOPED[0]) else n for n in (*TREES, *LOOPED)],
)
METHODS = pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])


@cache
def robot(name: str):
    return mechanism(int(name[4:])) if name.startswith("tree") else looped(name)


def size(x: np.ndarray) -> float:
    return max(1e-3, float(np.abs(x).max(initial=0.0)))
