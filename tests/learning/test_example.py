"""The example of a quadruped that learns to walk: its trainer computes gradients, and it learns."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "learn_to_walk.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_gradients_are_those_of_finite_differences(example: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    network = example["Network"](rng, (3, 5, 4, 2), 1.0)
    network.weights = [w.astype(float) for w in network.weights]
    network.biases = [rng.normal(size=b.shape) for b in network.biases]
    x, back, h = rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), 1e-6

    def loss() -> float:
        return float((network(x)[-1] * back).sum())

    found = network.gradients(network(x), back)
    for array, gradient in zip(network.parameters, found, strict=True):
        for i in np.ndindex(array.shape):
            array[i] += h
            up = loss()
            array[i] -= 2.0 * h
            slope = (up - loss()) / (2.0 * h)
            array[i] += h
            assert np.isclose(slope, gradient[i], rtol=1e-5, atol=1e-7)


def test_the_gait_is_written_as_a_page(example: dict[str, Any], tmp_path: Path) -> None:
    """Of a trainer that has learned nothing yet: four worlds side by side, with the forces at their feet."""
    walk = example["task"]()
    trainer = example["Trainer"](example["fg"].VectorEnv(walk, 2, autoreset_mode="SameStep"), 1)
    gait = example["walk_of"](walk, trainer)
    assert gait.q.shape[1] == 4 and gait.recording.forces.any()
    assert gait.save(tmp_path / "gait.html", spread=0.8).stat().st_size > 10_000


@pytest.mark.slow
def test_it_learns(example: dict[str, Any], tmp_path: Path) -> None:
    """In a fifth of the steps it does far better than at the beginning, and does not stand still."""
    walk = example["task"]()
    trainer, curve = example["train"](walk, 1, 250_000, verbose=False)
    assert curve[-1, 2] > curve[0, 2] + 150.0
    assert example["evaluate"](walk, trainer)[1] > 0.1
    example["draw"]({"seed 1": curve}, 0.0, 720.0, str(tmp_path / "curve.png"))
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_few_steps(example: dict[str, Any], tmp_path: Path) -> None:
    """Fewer than are needed for a point of the curve: a picture without one, not an error."""
    walk = example["task"]()
    _, curve = example["train"](walk, 1, 1, verbose=False)
    assert curve.shape[1:] == (3,)
    for shown in (curve, np.zeros((0, 3))):
        example["draw"]({"seed 1": shown}, 0.0, 720.0, str(tmp_path / "curve.png"))
        assert (tmp_path / "curve.png").stat().st_size > 1000
