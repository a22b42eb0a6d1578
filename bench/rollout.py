"""Rollouts: what a step costs.  python bench/rollout.py [--quick] [--strict] [--save]

A Runge-Kutta step of a batch beside the forward dynamics of the same batch; one state; two threads; the first rollout
of a process, with and without a cache. `--strict` exits non-zero when a row falls short, `--save` writes the results
(bench/report.py). One thread is measured in turns of CPU time, so that what else the machine does matters less; two
threads need a machine with two idle cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import fourbar as fb
from peer_robots import load_peer
from report import Report, add_options
from timing import Seconds, steady

BATCH, MANY, DT = 1024, 8192, 1e-4
ROBOTS = ("panda", "anymal_b", "mit_humanoid")
REPORT = Report("rollout")


def robot_named(name: str) -> fb.System:
    """A robot of example-robot-data, or one that is shipped."""
    return fb.robots.mit_humanoid() if name == "mit_humanoid" else load_peer(name).robot


def states(robot: fb.System, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random states, and forces that are held."""
    rng = np.random.default_rng(0)
    return robot.random(rng, n), 0.1 * rng.normal(size=(n, robot.nv)), rng.normal(size=(n, 1, robot.nv))


def batch_row(name: str, turns: int) -> None:
    """A step of a batch, in units of the forward dynamics of this batch."""
    robot, steps = robot_named(name), 64
    q, v, u = states(robot, BATCH)
    out = np.empty((BATCH, robot.nv))

    def step() -> Any:
        return fb.rollout(robot, q, v, u, dt=DT, steps=steps, period=steps * DT, every=steps, threads=1)

    def dynamics() -> None:
        for _ in range(steps):
            robot.forward_dynamics(q, v, u[:, 0], out=out, threads=1)

    step(), dynamics()
    t, t_dynamics = steady(step, dynamics, turns=turns, seconds=0.1)
    REPORT.record(f"a Runge-Kutta step, batch of {BATCH}", name, t, "ns", steps * BATCH)
    REPORT.record("the same, in units of forward dynamics of the batch", name, t / t_dynamics, "x")
    t, t_dynamics = t / steps, t_dynamics / steps
    each = f"step {1e9 * t / BATCH:6.0f} ns, forward dynamics {1e9 * t_dynamics / BATCH:5.0f} ns"
    row = f"{name:13s} batch of {BATCH}: {each}: {t / t_dynamics:4.2f}"
    REPORT.judge(row, t / t_dynamics, 5.5)


def single_row(turns: int) -> None:
    """One state, a whole rollout in one call."""
    robot, steps = robot_named("panda"), 2000
    q, v, u = (x[0] for x in states(robot, 1))

    def run() -> Any:
        return fb.rollout(robot, q, v, u, dt=DT, steps=steps, period=steps * DT, every=steps)

    run()
    (t,) = steady(run, turns=turns, seconds=0.1)
    REPORT.record("a Runge-Kutta step, one state", "panda", t, "ns", steps)
    REPORT.judge(f"panda         one state: {1e6 * t / steps:5.2f} µs per step", 1e6 * t / steps, 3.0)


def threads_row(turns: int) -> None:
    """Two threads, in wall time, for a rollout of some length; of a few steps, reading and recording take as long."""
    robot = robot_named("panda")
    q, v, u = states(robot, MANY)
    few, ratio = (_two_threads(robot, q, v, u, steps, turns) for steps in (8, 64))
    REPORT.record(f"a rollout of 64 steps, batch of {MANY}, two threads against one", "panda", ratio, "x")
    load = os.getloadavg()[0]
    row = f"panda         batch of {MANY}, two threads: {ratio:4.2f}x, 8 steps {few:4.2f}x (load {load:.1f})"
    REPORT.judge(row, ratio, 1.8, above=True)


def _two_threads(robot: fb.System, q: np.ndarray, v: np.ndarray, u: np.ndarray, steps: int, turns: int) -> float:
    """How many times faster a rollout of a number of steps is with two threads."""
    best = {1: np.inf, 2: np.inf}
    for _ in range(1 + 2 * turns):
        for threads in best:
            start = time.perf_counter()
            fb.rollout(robot, q, v, u, dt=DT, steps=steps, period=steps * DT, every=steps, threads=threads)
            best[threads] = min(best[threads], time.perf_counter() - start)
    return best[1] / best[2]


_FIRST = """
import sys, time; sys.path.insert(0, {here!r})
import numpy as np, fourbar as fb
from rollout import robot_named
robot = robot_named({name!r}); q = robot.neutral()
start = time.process_time()
fb.rollout(robot, np.tile(q, (8, 1)), dt=1e-3, steps=10)
print(time.process_time() - start)
"""


def first_rows(names: tuple[str, ...]) -> None:
    """The first rollout of a process: nothing cached, and all."""
    here = os.path.dirname(os.path.abspath(__file__))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            bytecode = os.path.join(folder, "bytecode")  # which a package has that pip has installed
            environment = {**os.environ, "FOURBAR_CACHE": folder, "PYTHONPYCACHEPREFIX": bytecode}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            code = _FIRST.format(here=here, name=name)
            command = [sys.executable, "-c", code]
            done = [subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2)]
        cold, warm = (float(x.stdout) for x in done)
        for label, seconds in (("nothing cached", cold), ("all cached", warm)):
            REPORT.record(f"first rollout, {label}, CPU time", name, Seconds.least([seconds]), "s")
        print(f"{name:13s} first rollout of a process: {cold:5.2f} s of CPU time, with a full cache {warm:5.2f} s")


def main() -> int:
    """Print all rows; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest case of each kind, measured briefly")
    add_options(parser)
    asked = parser.parse_args()
    turns = 2 if asked.quick else 12
    for name in ROBOTS[:1] if asked.quick else ROBOTS:
        batch_row(name, turns)
    single_row(turns)
    threads_row(turns)
    first_rows(ROBOTS[:1] if asked.quick else ROBOTS)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
