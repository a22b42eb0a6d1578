"""A million double pendulums with different masses, on all cores of this machine or on many machines.

python examples/sweep_on_a_cluster.py [side] [address]: side x side pendulums, 1000 x 1000 by default, on the scheduler
of dask at this address, by default on one that is started here. All are let go from the same position; the picture
shows after what time the lower arm first turns over, which depends on both masses (the inertias of the arms about their
centres of mass stay as they are). Each pendulum is followed until then.
"""

import sys
import time
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import fourbar as fb
import fourbar.dask

DT, STEPS, CHUNK = 0.01, 1000, 10_000
LIGHTEST, HEAVIEST = 0.1, 3.0  # kg
START = np.array([1.9, -0.4])  # rad from hanging down, and of the lower arm relative to the upper one
swinging = fb.robots.double_pendulum().varying("upper.mass", "lower.mass")


def time_of_turning(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """When the lower arm of each pendulum with these masses (n) first points upwards (s); infinite if it does not."""
    q, v = np.tile(START, (len(upper), 1)), np.zeros((len(upper), 2))
    turned, left = np.full(len(upper), np.inf), np.arange(len(upper))

    def rates(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return v, swinging.forward_dynamics(q, v, np.zeros(2), upper, lower)

    for step in range(STEPS):  # Runge-Kutta
        v1, a1 = rates(q, v)
        v2, a2 = rates(q + 0.5 * DT * v1, v + 0.5 * DT * a1)
        v3, a3 = rates(q + 0.5 * DT * v2, v + 0.5 * DT * a2)
        v4, a4 = rates(q + DT * v3, v + DT * a3)
        q, v = q + DT / 6.0 * (v1 + 2.0 * (v2 + v3) + v4), v + DT / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
        over = np.abs(q.sum(axis=1)) > np.pi
        if over.any():  # these need not be followed any further
            turned[left[over]] = (step + 1) * DT
            q, v, upper, lower, left = (x[~over] for x in (q, v, upper, lower, left))
    return turned


def drawn(masses: np.ndarray, turned: np.ndarray) -> Any:
    """The picture: one point per pendulum."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 6.8), layout="constrained")
    seen = np.where(np.isfinite(turned), turned, np.nan)
    colours = plt.get_cmap("magma_r").with_extremes(bad="black")
    picture = axes.pcolormesh(masses, masses, seen, cmap=colours, norm="log", vmin=0.4, vmax=STEPS * DT)
    axes.set(xscale="log", yscale="log", xlabel="mass of the lower arm (kg)", ylabel="mass of the upper arm (kg)",
             title=f"{turned.size:,} double pendulums let go from the same position", aspect="equal")  # fmt: skip
    bar = figure.colorbar(picture, label=f"time until the lower arm turns over (s); black: not within {STEPS * DT:g} s")
    for axis, ticks in (
        (bar.ax.yaxis, (0.5, 1, 2, 5, 10)),
        (axes.xaxis, (0.1, 0.3, 1, 3)),
        (axes.yaxis, (0.1, 0.3, 1, 3)),
    ):
        axis.set_ticks(ticks, [f"{x:g}" for x in ticks])
        axis.set_ticks([], minor=True)
    return figure


def main(side: int = 1000, address: str = "") -> None:
    """Compute and draw."""
    masses, n = np.geomspace(LIGHTEST, HEAVIEST, side), side * side
    numbers = da.arange(n, chunks=min(CHUNK, -(-n // 4)))  # of which each chunk makes its own masses
    upper, lower = (da.map_blocks(partial(np.take, masses), k, dtype=float) for k in divmod(numbers, side))
    cluster = address or LocalCluster(threads_per_worker=1)  # a process per core
    with Client(cluster) as client:
        lazy = fb.dask.sweep(time_of_turning, upper, lower)
        print(f"{n:,} pendulums in {lazy.numblocks[0]} chunks on {len(client.nthreads())} processes")
        begin = time.perf_counter()
        turned = fb.dask.compute(lazy, progress=True).reshape(side, side)
        seconds = time.perf_counter() - begin
    if not address:
        cluster.close()
    drawn(masses, turned).savefig("sweep.png", dpi=150)
    steps = np.minimum(turned, STEPS * DT).sum() / DT
    print(
        f"\n{seconds:.1f} s for {steps:.3g} steps of pendulums, {seconds / steps * 1e9:.0f} ns per step; see sweep.png"
    )
    print(f"{np.isfinite(turned).mean():.0%} of them turn over within {STEPS * DT:g} s")


if __name__ == "__main__":
    main(*[int(x) if x.isdigit() else x for x in sys.argv[1:]])
