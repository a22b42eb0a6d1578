"""Whole numbers among the arguments: ints of Python and NumPy everywhere, and words for all else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.arrays import to_count

pytestmark = pytest.mark.quick
Q, V = np.zeros(2), np.zeros(2)


def robot() -> fb.System:
    """Some robot with a frame."""
    return fb.robots.double_pendulum()


def motion() -> Any:
    """A motion of it, to be shown."""
    return fb.Run(np.arange(2.0), np.zeros((2, 2)), np.zeros((2, 2)), robot(), np.zeros(2))


CALLS: dict[str, Callable[[Any, Path], Any]] = {
    "random": lambda n, _: robot().random(0, n),
    "inverse_kinematics": lambda n, _: robot().inverse_kinematics({"tip": (0.3, 0.0, -0.8)}, restarts=n),
    "steps": lambda n, _: fb.rollout(robot(), Q, dt=1e-3, steps=n),
    "every": lambda n, _: fb.simulate(robot(), Q, duration=3e-3, every=n),
    "scene": lambda n, _: fb.Scene(robot(), iterations=n),
    "worlds": lambda n, _: fb.Scene(robot()).batch(n),
    "steps of worlds": lambda n, _: fb.Scene(robot()).batch(1).step(steps=n),
    "links": lambda n, _: fb.robots.gt_chain(n),
    "harmonics": lambda n, _: fb.exciting_trajectory(robot(), period=4.0, velocity=3.0, harmonics=n, evaluations=1),
    "window": lambda n, _: fb.identify(robot(), {"q": Q, "v": V, "a": V, "tau": V}, window=n),
    "ghosts": lambda n, folder: motion().save(folder / "motion.glb", ghosts=n),
}


@pytest.mark.parametrize("call", ["random", "inverse_kinematics", "every", "scene", "harmonics", "ghosts"])
def test_ints_of_numpy_are_whole_numbers(call: str, tmp_path: Path) -> None:
    CALLS[call](np.int64(3), tmp_path)


@pytest.mark.parametrize("value", [2.0, True, "many", [1], -1], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_whole_number_is_refused(call: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(fb.ArgumentError):
        CALLS[call](value, tmp_path)


def test_to_count() -> None:
    assert [to_count(x) for x in (1, np.uint8(7), np.array(3))] == [1, 7, 3]
    assert [to_count(x) for x in (0, True, np.True_, 1.0, "1", None, [1])] == [None] * 7
    assert to_count(0, least=0) == 0 and to_count(3, least=4) is None
