"""A cluster of processes beside processes without one.  python bench/cluster.py [--quick] [--strict]

Rollouts of the double pendulum, 16 chunks that take a second each:

- the work: two plain processes at the same time, which share memory and clock of the machine as the workers do; they
  get nothing but the number of a chunk, return nothing, and take the next chunk when they are free;
- the cluster: a `LocalCluster` of two worker processes as dask sets it up (dashboard, nannies), but without dask's
  profiler of Python code, as docs/cluster.md recommends; the same chunks as lazy arrays, and `fourbar.dask.compute`,
  which brings all results here. Its time has everything in it: the graph, scheduling, transfer, and the idle loops of
  dask's three processes. Both have run once before: no compilation.

In turns; the least wall time of each, and the CPU time of all processes that take part. `--strict` exits non-zero when
the cluster takes a tenth more; that needs a machine with two idle cores, since the loops of dask run as long as the
work waits for a core. Then what a worker needs to be ready: the first chunk with an empty cache, and how often two
workers that begin together compile the same thing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import fourbar as fb
import fourbar.dask
from report import Report, add_options

SAMPLES, DT, ROWS, WORKERS = 10_000, 1e-3, 10, 2
REPORT = Report("cluster")


def states(chunk: int) -> np.ndarray:
    """Where the pendulums of a chunk begin."""
    return np.random.default_rng(chunk).normal(size=(SAMPLES, 2))


def begin_of(block_id: tuple[int, ...] = ()) -> np.ndarray:
    """The same as a block of a dask array."""
    return states(block_id[0])


def plain(chunk: int, steps: int) -> float:
    """A chunk in a process of its own; the CPU time that it took."""
    begin = time.process_time()
    fb.rollout(fb.robots.double_pendulum(), states(chunk), dt=DT, steps=steps, every=steps // ROWS, threads=1)
    return time.process_time() - begin


def steps_for(seconds: float) -> int:
    """Steps of a chunk that take so long."""
    plain(0, ROWS)
    trial = 20 * ROWS
    return max(1, round(trial * seconds / min(plain(0, trial) for _ in range(3)) / ROWS)) * ROWS


def lazy(chunks: int, steps: int) -> Any:
    """The same chunks as dask arrays."""
    q = da.map_blocks(begin_of, chunks=((SAMPLES,) * chunks, (2,)), dtype=float, meta=np.empty((0, 2)))
    return fb.rollout(fb.robots.double_pendulum(), q, dt=DT, steps=steps, every=steps // ROWS)


def on_cluster(client: Any, chunks: int, steps: int) -> tuple[float, float]:
    """Wall time, and CPU time of the workers and of this process, which is the scheduler too."""
    before = sum(client.run(time.process_time).values()) + time.process_time()
    begin = time.perf_counter()
    found = fb.dask.compute(lazy(chunks, steps))
    wall = time.perf_counter() - begin
    assert found.q.shape == (1 + ROWS, chunks * SAMPLES, 2) and not found.diverged.any()
    return wall, sum(client.run(time.process_time).values()) + time.process_time() - before


def on_processes(pool: ProcessPoolExecutor, chunks: int, steps: int) -> tuple[float, float]:
    """The same of plain processes."""
    begin = time.perf_counter()
    cpu = sum(pool.map(plain, range(chunks), [steps] * chunks))
    return time.perf_counter() - begin, cpu


def overhead_rows(chunks: int, seconds: float, turns: int) -> None:
    """The cluster beside plain processes."""
    steps = steps_for(seconds)
    context = multiprocessing.get_context("spawn")
    os.environ["FOURBAR_THREADS"] = "1"  # of the processes that begin now
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        on_processes(pool, 2 * WORKERS, ROWS), on_cluster(client, 2 * WORKERS, ROWS)  # compile, load
        pairs = [(on_processes(pool, chunks, steps), on_cluster(client, chunks, steps)) for _ in range(turns)]
    (walls, cpus), (cluster_walls, cluster_cpus) = (np.array(x).T for x in zip(*pairs, strict=True))
    each = f"{chunks} chunks of {cpus.min() / chunks:.2f} s of CPU, two processes"
    ratio = cluster_walls.min() / walls.min()
    REPORT.record("a cluster against plain processes, wall time", "double_pendulum", ratio, "x")
    REPORT.judge(f"{each}: wall {walls.min():6.2f} s, cluster {cluster_walls.min():6.2f} s: {ratio:5.3f}", ratio, 1.1)
    ratio = float(np.median(cluster_cpus / cpus))
    REPORT.record("a cluster against plain processes, CPU time", "double_pendulum", ratio, "x")
    REPORT.judge(f"{each}: CPU  {cpus.min():6.2f} s, cluster {cluster_cpus.min():6.2f} s: {ratio:5.3f}", ratio, 1.1)


def count_compilations() -> None:
    """Let this process count what it compiles."""
    from fourbar.compile import cache

    plain_one, made = cache.to_object, []

    def counting(assembly: str) -> bytes:
        made.append(1)
        return plain_one(assembly)

    cache.to_object = counting
    cache.to_object.made = made  # type: ignore[attr-defined]


def compilations() -> int:
    """How much this process compiled since."""
    from fourbar.compile import cache

    return len(cache.to_object.made)  # type: ignore[attr-defined]


def first_row() -> None:
    """Two workers that begin together with an empty cache."""
    robot = fb.robots.mini_cheetah()
    q = da.from_array(robot.random(0, 64), chunks=(8, -1))
    with tempfile.TemporaryDirectory(prefix="fourbar-bench-") as folder:
        kept, os.environ["FOURBAR_CACHE"] = os.environ.get("FOURBAR_CACHE"), folder
        try:
            with (
                LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                client.run(count_compilations)
                before = client.run(time.process_time)
                fb.rollout(robot, q, dt=DT, steps=2).q.compute()
                after, counts = client.run(time.process_time), client.run(compilations)
        finally:
            os.environ.pop("FOURBAR_CACHE")
            if kept is not None:
                os.environ["FOURBAR_CACHE"] = kept
        objects = len(list(Path(folder).glob("*.o")))
    cpu = " + ".join(f"{after[worker] - before[worker]:.2f}" for worker in after)
    made = sum(counts.values())
    row = f"mini_cheetah, empty cache: {cpu} s of CPU until ready; {made} compilations of {objects} pieces"
    REPORT.judge(row, made / objects, 1.0)


def main() -> int:
    """All rows; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few and short chunks: whether it runs")
    add_options(parser)
    asked = parser.parse_args()
    overhead_rows(4 if asked.quick else 16, 0.1 if asked.quick else 1.0, 1 if asked.quick else 5)
    first_row()
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
