"""Simulations on the command line in which joints stop at their limits, without any ground."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError, FourbarError
from ..sim.run import Run
from ..sim.scene import Scene
from ..system.system import System
from . import table


@dataclass(frozen=True)
class Stopped:
    """A simulation with joint limits; `energy` (n), and `drift`, its change over the largest kinetic energy."""

    trajectory: Run
    steps: int
    seconds: float
    energy: np.ndarray
    drift: np.ndarray


def measure(
    robot: System,
    start: tuple[np.ndarray, np.ndarray],
    duration: float,
    dt: float,
    every: int,
    progress: Callable[[Iterable[int]], Iterator[int]],
) -> Stopped:
    """Simulate from a state, compiling before the clock starts."""
    if not _limited(robot):
        raise ArgumentError(f"--limits: no joint of {robot.name} has limits; leave it out")
    scene = Scene(robot, contacts=[], pairs=[])
    scene.rollout(start[0], steps=1, dt=dt)
    begin = time.perf_counter()
    run = scene.simulate(*start, duration=duration, dt=dt, every=every, progress=progress)
    seconds = time.perf_counter() - begin
    if run.diverged.any():
        raise FourbarError(
            f"the simulation diverged after {run.t[np.isfinite(run.q).all(axis=-1)][-1]:g} s; try a shorter step than "
            f"--dt {dt:g} s"
        )
    kinetic = robot.kinetic_energy(run.q, run.v)
    energy = kinetic + robot.potential_energy(run.q) + robot.spring_energy(run.q)
    drift = (energy - energy[0]) / (kinetic.max() or 1.0)
    return Stopped(run, max(1, round(duration / dt)), seconds, energy, drift)


def _limited(robot: System) -> bool:
    return any(np.isfinite(x) for c in robot.model.cluster_tree.moving for x in (*c.lower, *c.upper))


def rows(robot: System, stopped: Stopped, dt: float) -> list[tuple[str, str]]:
    """The table."""
    run = stopped.trajectory
    at_rest = bool(np.abs(run.v[-1]).max() < 1e-3)
    gap = float(robot.loop_gap(run.q).max())
    return [
        ("robot", f"{robot.name} ({len(robot.names.bodies)} bodies, nv = {robot.nv})"),
        ("joint limits", "joints stop at them without bouncing"),
        ("steps", f"{stopped.steps} of {table.duration(dt)}"),
        ("time per step", table.duration(stopped.seconds / stopped.steps)),
        ("residual", f"{run.worst.max():.1e} m/s or rad/s at most"),
        (
            "energy lost",
            f"{stopped.energy[0] - stopped.energy[-1]:.4g} J, at limits and by damping, friction and steps",
        ),
        ("at the end", "at rest" if at_rest else "moving"),
        *([("loop gap", f"{gap:.1e} at most")] if robot.nq > robot.nv and robot.mechanism.loops else []),
    ]
