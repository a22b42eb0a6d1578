"""`fourbar.dask`: sweeps over functions of Python, results in memory or in Zarr folders."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.errors import extra

from .support import ball_on_floor, chunked, pendulum, same_bits, states

da = pytest.importorskip("dask.array")
many: Any = pytest.importorskip("fourbar.dask")


def squares(x: np.ndarray, k: np.ndarray) -> dict[str, np.ndarray]:
    """Some arrays; one of the samples is bad."""
    if (k == 41).any():
        raise LookupError("none such", 7)
    return {"x": x**2, "k": k}


def test_functions_are_swept() -> None:
    q, v = states()
    lazy = many.sweep(lambda q, v: (q + v, q[:, 0] > 0.0), q, chunked(v))
    assert [x.chunks[0] for x in lazy] == [chunked(v).chunks[0]] * 2
    found = many.compute(lazy)
    assert same_bits(found[0], q + v) and same_bits(found[1], q[:, 0] > 0.0)
    named = many.sweep(squares, q[:40], np.arange(40), chunk=9)
    assert named["k"].dtype == int and named["x"].numblocks == (5, 1)
    assert same_bits(many.compute(named)["x"], q[:40] ** 2)


def test_a_failure_names_its_sample() -> None:
    lazy = many.sweep(squares, np.zeros((60, 3)), np.arange(60), chunk=25)
    with pytest.raises(LookupError, match="none such") as caught:
        many.compute(lazy["x"])
    assert any("in sample 41 of" in note and "25 to 49" in note for note in caught.value.__notes__)


def test_a_failure_of_all_samples_together_names_the_chunk() -> None:
    def crowded(x: np.ndarray) -> np.ndarray:
        if len(x) > 5:
            raise ValueError("too many")
        return x

    with pytest.raises(ValueError, match=r"too many.*in samples 10 to 19 of"):
        many.sweep(crowded, np.zeros(20), chunk=10)[10:].compute()


def test_what_is_no_sweep_is_refused() -> None:
    lock = threading.Lock()
    for arguments, match in (
        ((3, np.zeros(4)), "expected a function"),
        ((np.sin,), "at least one array"),
        ((np.add, np.zeros(4), np.zeros(5)), "same number n"),
        ((np.sin, 1.0), "same number n"),
        ((np.sin, np.zeros((0, 2))), "no samples"),
        ((np.sum, np.zeros(4)), "a row for each of its 2 samples"),
        ((lambda x: None, np.zeros(4)), "a row for each"),
        ((lambda x: x if lock.locked() else x + 1, np.zeros(4)), "sweep: <lambda> cannot be pickled"),
    ):
        with pytest.raises(ArgumentError, match=match):
            many.sweep(*arguments)
    with pytest.raises(ArgumentError, match="chunk=0"):
        many.sweep(np.sin, np.zeros(4), chunk=0)
    changing = many.sweep(lambda x: x if x[0] < 5 else x[:, None], np.arange(10.0), chunk=5)
    with pytest.raises(ArgumentError, match="at first"):
        changing.compute()


def test_results_are_written_chunk_by_chunk(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    q, v = states()
    lazy = fb.rollout(pendulum(), chunked(q), v, dt=0.01, steps=8)
    kept = many.write(tmp_path / "runs.zarr", lazy)
    wanted = fb.rollout(pendulum(), q, v, dt=0.01, steps=8)
    again = zarr.open_group(str(tmp_path / "runs.zarr"), mode="r")
    for name in ("t", "q", "v", "lost", "steps", "diverged"):
        assert same_bits(again[name][:], getattr(wanted, name))
    assert kept["q"].chunks == (9, 7, 2)
    with pytest.raises(ArgumentError, match=r"runs\.zarr exists.*overwrite"):
        many.write(tmp_path / "runs.zarr", lazy)
    many.write(tmp_path / "runs.zarr", {"only": lazy.q[-1]}, overwrite=True)
    assert set(zarr.open_group(str(tmp_path / "runs.zarr"), mode="r").array_keys()) == {"only"}


def test_only_what_zarr_wrote_is_replaced(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    x, kept = da.zeros((4, 2)), tmp_path / "work"
    kept.mkdir()
    many.write(kept, x, overwrite=True)  # an empty folder
    (other := tmp_path / "other").mkdir()
    (other / "notes.txt").write_text("kept")
    for place in (other, other / "notes.txt"):
        with pytest.raises(ArgumentError, match="exists and is not a Zarr group"):
            many.write(place, x, overwrite=True)
    assert (other / "notes.txt").read_text() == "kept"


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    x = da.zeros((10,), chunks=((3, 4, 3),))
    with pytest.raises(ArgumentError, match=r"result has chunks of different sizes along axis 0.*rechunk"):
        many.write(tmp_path / "x.zarr", x)
    with pytest.raises(ArgumentError, match=r"unknown size.*compute_chunk_sizes"):
        many.write(tmp_path / "x.zarr", x[x > 0.0])
    with pytest.raises(ArgumentError, match="expected dask arrays"):
        many.write(tmp_path / "x.zarr", np.zeros(3))
    with pytest.raises(ArgumentError, match="expected dask or NumPy arrays"):
        many.write(tmp_path / "x.zarr", {"a": 3})
    assert not (tmp_path / "x.zarr").exists()


@pytest.mark.slow
def test_a_run_of_a_scene_is_written(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    q = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (6, 1))
    kept = many.write(tmp_path / "runs.zarr", ball_on_floor().rollout(chunked(q, 2), steps=20))
    assert kept["contacts/force"].shape == (21, 6, 1, 3) and kept.attrs["contacts/names"] == ["ball"]
    assert kept["last/0"].chunks == (2, 7)


def test_what_is_missing_is_said() -> None:
    code = """
import sys
sys.modules["dask"] = sys.modules["zarr"] = None
import fourbar.dask, numpy as np
for call in (lambda: fourbar.dask.sweep(np.sin, np.zeros(3)), lambda: fourbar.dask.write("x", np.zeros(3)),
             lambda: fourbar.dask.compute(3)):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert printed.count("needs dask: pip install") == 2 and f"needs zarr: {extra('zarr')}" in printed


@pytest.mark.slow
def test_memory_is_bounded_by_chunks(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    code = f"""
import resource, dask, dask.array as da, fourbar as fb, fourbar.dask
robot = fb.robots.double_pendulum()
def write(n, name):
    q = da.random.default_rng(0).normal(size=(n, 2), chunks=(2000, 2))
    with dask.config.set(scheduler="threads", num_workers=2):
        fb.dask.write({str(tmp_path)!r} + name, fb.rollout(robot, q, dt=0.01, steps=100))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(write(8_000, "/few.zarr"), write(200_000, "/many.zarr"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    few, many_more = map(float, done.stdout.split())
    assert many_more - few < 60.0, "MB; q, v and lost of all samples are 800 MB"
