"""Data larger than memory: read once, in pieces, with a bar, and never held."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fourbar import identify

from .arms import arm, changed, measured, swing, without

PIECE = 1000


def test_streaming_equals_in_memory(tmp_path: Any) -> None:
    robot = arm()
    known, data = changed(robot), measured(robot, 500, 0.1)
    whole = identify(known, data)
    pieces = [{name: x[k : k + 70] for name, x in data.items()} for k in range(0, 500, 70)]
    mapped = {}
    for name, x in data.items():
        np.save(tmp_path / f"{name}.npy", x)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    seen: list[int] = []

    def progress(chunks: Any) -> Any:
        for n, chunk in enumerate(chunks):
            seen.append(n)
            yield chunk

    for streamed in (
        identify(known, pieces),
        identify(known, iter(pieces)),
        identify(known, mapped, chunk=33, progress=progress),
    ):
        assert streamed.equations == whole.equations == 1500
        assert np.allclose(streamed.base_values, whole.base_values, rtol=1e-9, atol=1e-11)
        assert np.allclose(streamed.base_deviations, whole.base_deviations, rtol=1e-9)
        assert np.allclose(streamed.residuals, whole.residuals, rtol=1e-9)
    assert len(seen) == 16


def _pieces(count: int) -> Iterator[dict[str, np.ndarray]]:
    """Pieces that are made when they are asked for, as if read from a file."""
    for seed in range(count):
        yield measured(arm(), PIECE, 0.1, seed=seed)


def _peak(run: Any) -> float:
    """The most that was allocated at once, in megabytes."""
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


@pytest.mark.slow
def test_memory_does_not_grow_with_the_data() -> None:
    """Ten times the data take no more memory, and far less than they are."""
    known = changed(arm())
    identify(known, _pieces(1))  # what is compiled once is not counted
    few, many = (_peak(lambda count=count: identify(known, _pieces(count))) for count in (6, 90))
    held = 90 * PIECE * 4 * 3 * 8 / 1e6
    assert many < 1.1 * few and many < 0.7 * held


def test_memory_mapped_arrays_are_not_loaded(tmp_path: Any) -> None:
    """Momentum too, whose rows are dense: only a chunk at a time."""
    robot, n = arm(), 120_000
    data = without(swing(robot, n * 1e-4 + 1e-9, 1e-4), "a")
    mapped = {}
    for name, x in data.items():
        np.save(tmp_path / f"{name}.npy", x[:n])
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    known = changed(robot)
    identify(known, {name: x[:2000] for name, x in mapped.items()}, keep_unexcited=True)
    half = {name: x[: n // 2] for name, x in mapped.items()}
    options: dict[str, Any] = {"chunk": 1000, "window": 50}
    few, many = (_peak(lambda data=data: identify(known, data, **options)) for data in (half, mapped))
    assert many < 1.1 * few and many < 0.5 * sum(x.nbytes for x in mapped.values()) / 1e6


def test_a_bar_shows_the_progress() -> None:
    """The number of chunks is known for arrays, not for a generator."""
    tqdm = pytest.importorskip("tqdm").tqdm
    known = changed(arm())
    told = io.StringIO()
    identify(known, measured(arm(), 500), chunk=100, progress=lambda chunks: tqdm(chunks, file=told))
    assert "5/5" in told.getvalue()
    told = io.StringIO()
    identify(known, _pieces(2), progress=lambda chunks: tqdm(chunks, file=told))
    assert "2it" in told.getvalue()
