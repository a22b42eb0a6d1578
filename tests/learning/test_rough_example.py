"""The example of a quadruped on rough terrain: its worlds start on their tiles, and it learns for some steps."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def test_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every world stands where it starts, on any tile; the trainer takes what it observes."""
    monkeypatch.syspath_prepend(str(FOLDER))
    example = runpy.run_path(str(FOLDER / "learn_rough_terrain.py"))
    (walk, tiles), (judged, _) = example["task"](), example["task"](learning=False)
    _, curve = example["flat"].train(walk, 1, 1, verbose=False)
    assert curve.shape[1:] == (3,)
    envs = example["fg"].VectorEnv(judged, 24, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=2)
    assert observations.shape == (24, 45 + 2 + len(example["SCAN"]))
    steps = [envs.step(np.zeros((24, 12))) for _ in range(15)]
    assert not any(terminated.any() for _, _, terminated, _, _ in steps)
    assert len(np.unique([info["level"] for *_, info in steps])) == tiles.levels
