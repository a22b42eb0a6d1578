"""Chunks on a cluster of two worker processes: the bits of one process, whatever happens to the workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError

from .support import Counted, Dying, Integrating, N, chunked, linkage, pendulum, same_bits, states

pytest.importorskip("dask.array")
distributed: Any = pytest.importorskip("distributed")
many: Any = pytest.importorskip("fourbar.dask")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes with a thread each; dask uses them while the client is there."""
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as made:
        yield made


def test_the_bits_of_one_process(client: Any) -> None:
    q, v = states()
    lazy = fb.rollout(pendulum(), chunked(q), chunked(v), dt=0.01, steps=9, every=3)
    wanted = fb.rollout(pendulum(), q, v, dt=0.01, steps=9, every=3)
    found = many.compute(lazy)
    assert all(same_bits(getattr(found, x), getattr(wanted, x)) for x in ("t", "q", "v", "lost", "steps", "diverged"))
    moved = fb.rollout(pendulum(), chunked(q), v, Integrating(), dt=0.01, steps=4)
    assert same_bits(many.compute(moved.q), fb.rollout(pendulum(), q, v, Integrating(), dt=0.01, steps=4).q)
    varied = pendulum().varying("lower.mass")
    masses = np.linspace(0.5, 2.0, N)
    lazy_masses = chunked(masses)
    both = varied.forward_dynamics(chunked(q), v, q, lazy_masses), varied.mass_matrix(chunked(q), lazy_masses)
    a, M = many.compute(*both)
    assert same_bits(a, varied.forward_dynamics(q, v, q, masses)) and same_bits(M, varied.mass_matrix(q, masses))


def test_a_chunk_is_computed_on_one_thread(client: Any) -> None:
    q, _ = states()
    pendulum().gravity_force(chunked(q)).compute()
    assert set(client.run(_threads).values()) == {"1"}


def _threads() -> str | None:
    import os

    return os.environ.get("FOURBAR_THREADS")


def test_identification(client: Any) -> None:
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 1000, 2))
    tau = pendulum().inverse_dynamics(q, v, a) + 0.01 * rng.normal(size=(1000, 2))
    data = {"q": q, "v": v, "a": a, "tau": tau}
    wanted = fb.identify(pendulum(), data, chunk=64)
    found = fb.identify(pendulum(), {name: chunked(x, 150) for name, x in data.items()}, chunk=64)
    assert same_bits(found.values, wanted.values) and same_bits(found.noise, wanted.noise)
    bad = {**data, "q": np.where(np.arange(1000)[:, None] == 777, np.nan, q)}
    with pytest.raises(ArgumentError, match="q is not finite in 1 samples, first in sample 777"):
        fb.identify(pendulum(), {name: chunked(x, 150) for name, x in bad.items()}, chunk=64)


def test_a_failure_names_its_sample(client: Any) -> None:
    q = np.tile(linkage().assemble(linkage().neutral()), (20, 1))
    q[13] += 0.1
    with pytest.raises(ArgumentError, match=r"loops.*open.*in sample 13 of.*samples 10 to 14"):
        fb.rollout(linkage(), chunked(q, 5), dt=0.01, steps=3).q.compute()


@pytest.mark.slow  # dask's own recovery: workers start anew
def test_a_worker_that_is_killed_loses_nothing(client: Any, tmp_path: Path) -> None:
    q, v = states()
    mark = tmp_path / "killed"
    before = set(client.run(_process).values())
    found = many.compute(many.sweep(Dying(mark, 37), np.arange(N), q, v, chunk=5))
    assert mark.exists() and same_bits(found, fb.rollout(pendulum(), q, v, dt=0.01, steps=5).q[-1])
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(_process).values()) != before


def _process() -> int:
    import os

    return os.getpid()


def test_results_are_written_by_the_workers(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("zarr")
    q, v = states()
    kept = many.write(tmp_path / "runs.zarr", fb.rollout(pendulum(), chunked(q), v, dt=0.01, steps=8), progress=True)
    assert same_bits(kept["q"][:], fb.rollout(pendulum(), q, v, dt=0.01, steps=8).q)
    assert "#" in capsys.readouterr().out


def test_what_is_fetched_together_is_computed_once(client: Any, tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    runs = many.sweep(Counted(tmp_path), np.arange(12.0), chunk=3)
    for mark in tmp_path.iterdir():  # of the trial
        mark.unlink()
    x = runs["x"]
    asked = {"runs": runs, "sum": x.sum(), "some": x[x > 4.0], "more": [dask.delayed(len)([1, 2]), 5, x]}
    found = many.compute(asked)
    n = np.arange(12.0)
    assert len(list(tmp_path.iterdir())) == 4
    assert same_bits(found["runs"]["x"], n) and same_bits(found["runs"]["twice"], np.stack([2 * n, n], axis=1))
    assert found["sum"] == n.sum() and same_bits(found["some"], n[n > 4.0])
    assert found["more"][:2] == [2, 5] and same_bits(found["more"][2], n)
    a, b = many.compute(da.ones((4, 0)), da.ones((5, 4), chunks=(2, 3)))
    assert a.shape == (4, 0) and same_bits(b, np.ones((5, 4)))


def test_a_chunk_of_another_shape_is_refused(client: Any) -> None:
    da = pytest.importorskip("dask.array")
    wrong = da.ones((6, 2), chunks=(3, 2)).map_blocks(lambda x: x[:1], dtype=float)
    with pytest.raises(ArgumentError, match=r"a chunk has shape \(1, 2\), but its dask array declares \(3, 2\)"):
        many.compute(wrong)
    rounded = da.ones(6, chunks=3).map_blocks(lambda x: x + 0.5, dtype=int)
    assert same_bits(many.compute(rounded), np.full(6, 1.5))


@pytest.mark.slow
def test_no_worker_holds_what_is_fetched_as_a_whole(client: Any) -> None:
    da = pytest.importorskip("dask.array")
    peaks = []
    for n in (8_000, 60_000):
        q = da.random.default_rng(0).normal(size=(n, 2), chunks=(2000, 2))
        many.compute(fb.rollout(pendulum(), q, dt=0.01, steps=100))
        peaks.append(max(client.run(_peak).values()))
    assert peaks[1] - peaks[0] < 100.0, "MB; q, v and lost of all samples are 240 MB"


@pytest.mark.slow
def test_the_memory_of_workers_is_bounded_by_chunks(client: Any, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    da = pytest.importorskip("dask.array")
    peaks = []
    for n in (8_000, 200_000):
        q = da.random.default_rng(0).normal(size=(n, 2), chunks=(2000, 2))
        many.write(tmp_path / f"{n}.zarr", fb.rollout(pendulum(), q, dt=0.01, steps=100))
        peaks.append(max(client.run(_peak).values()))
    assert peaks[1] - peaks[0] < 100.0, "MB; q, v and lost of all samples are 800 MB"


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
