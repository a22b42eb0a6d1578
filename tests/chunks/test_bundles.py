"""Results of the same chunks, asked for together: one task per chunk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.chunks.bundles import Bundle, group_by_origin

from .support import CHUNK, N, ball_on_floor, chunked, pendulum, same_bits, states

da: Any = pytest.importorskip("dask.array")
dask: Any = pytest.importorskip("dask")
many: Any = pytest.importorskip("fourbar.dask")
CHUNKS = -(-N // CHUNK)


class Tasks:
    """Counts the tasks of local schedulers."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Tasks:
        callbacks = pytest.importorskip("dask.callbacks")
        self._callback = callbacks.Callback(pretask=self._counted)
        self._callback.register()
        return self

    def __exit__(self, *_: Any) -> None:
        self._callback.unregister()

    def _counted(self, *_: Any) -> None:
        self.count += 1


def lazy_runs() -> Any:
    q, v = states()
    q = chunked(q) * 1.0  # what computes the arguments belongs to the task too
    return fb.rollout(pendulum(), q, chunked(v), dt=0.01, steps=6, every=2)


def test_several_results_of_a_chunk_are_one_task() -> None:
    runs = lazy_runs()
    asked = [runs.q, runs.v, runs.steps]
    (own,) = group_by_origin(asked)
    with Tasks() as tasks:
        (kept,) = dask.persist(Bundle([asked[i] for i in own]).values(), scheduler="synchronous")
    assert tasks.count == CHUNKS == len(kept.__dask_keys__())


def test_a_chunk_is_written_by_one_task(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    with Tasks() as tasks, dask.config.set(scheduler="synchronous"):
        kept = many.write(tmp_path / "runs.zarr", lazy_runs())
    assert CHUNKS <= tasks.count <= CHUNKS + 1  # dask may put together what they return
    wanted = fb.rollout(pendulum(), *states(), dt=0.01, steps=6, every=2)
    assert same_bits(kept["v"][:], wanted.v) and same_bits(kept["steps"][:], wanted.steps)


def test_results_of_scenes_have_axes_before_their_samples(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    q = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (5, 1))
    q[:, 2] += 0.01 * np.arange(5)
    kept = many.write(tmp_path / "runs.zarr", ball_on_floor().rollout(chunked(q, 2), steps=20))
    wanted = ball_on_floor().rollout(q, steps=20)
    assert same_bits(kept["q"][:], wanted.q) and same_bits(kept["contacts/force"][:], wanted.contacts.force)


def test_arrays_of_other_origin_are_apart() -> None:
    runs, other = lazy_runs(), da.zeros(3)
    assert group_by_origin([runs.q, other, runs.v, runs.q[:2], other]) == [[0, 2], [1], [3], [4]]
