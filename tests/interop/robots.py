"""Robots for conversions: the random trees with every joint, and the mechanisms with every loop."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fourbar import System
from tests.algorithms import mechanisms
from tests.loops import looped

_TREES = {f"tree{i}": i for i in range(mechanisms.COUNT)}
_MARKED = {"tree5": pytest.mark.quick, "four_bar": pytest.mark.quick, "tripod": pytest.mark.slow}
NAMES = [*_TREES, *looped.NAMES]
EACH = pytest.mark.parametrize("name", [pytest.param(n, marks=_MARKED.get(n, ())) for n in NAMES])


@cache
def robot(name: str) -> System:
    """One of the fixed set."""
    return mechanisms.mechanism(_TREES[name]) if name in _TREES else looped.mechanism(name)


def states(name: str, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Random states, away from toggle positions."""
    if name not in _TREES:
        found = looped.state(name, n=n)
        return found.q, found.v
    rng = np.random.default_rng(5)
    q = robot(name).random(rng, n)
    return q, rng.normal(size=(n, robot(name).nv))
