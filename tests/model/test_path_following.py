"""Travelling along closed configurations: where it cannot begin."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fourbar.tree.path_following import follow_path


def tied(*K: Any) -> Any:
    """A loop of two joints with this Jacobian at each sample."""
    units = SimpleNamespace(steps=np.ones(2), gaps=np.ones(1))
    return SimpleNamespace(joints=[], rows=[0], units=units, slopes=lambda q: np.array(K, float)[: len(q)])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("K", [[[0.0, 0.0]], [[np.nan, 1.0]], [[np.inf, 1.0]]], ids=["singular", "NaN", "infinite"])
def test_a_journey_ends_where_loops_are_singular_or_unknown(K: list[list[float]]) -> None:
    start = np.array([0.3, 0.4])
    end, arrived = follow_path(tied(K), start, np.ones((1, 2)), np.ones(1))
    assert np.array_equal(end, [start]) and not arrived.any()
