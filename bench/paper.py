"""Tables II to IV and Figures 11, 13 and 14 of Chignoli's paper, with fourbar.  python bench/paper.py [--output FOLDER]

The paper compares algorithms within one C++ library; this compares them within ours: the cluster algorithms and their
approximate twins are compiled for the robot, the projection and Lagrange-multiplier methods get the compiled matrices of
the spanning tree and solve them by LAPACK. Times are minima of CPU time, measured in turns on one thread.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _variable in ("FOURBAR_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np

import figures
import fourbar as fb
from ankle import torques
from fourbar import baselines
from fourbar.system.show import count
from timing import cpu_fastest


@dataclass(frozen=True)
class Model:
    """A column of the tables: a robot by the kind of its rotors, and the frames (six rows each) of its inverse inertia."""

    title: str
    make: Callable[[Any], fb.System]
    frames: tuple[str, ...]


def _feet(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}_contact" for name in names)


MODELS = (
    Model("GT chain 12", lambda rotors: fb.robots.gt_chain(12, seed=0, rotors=rotors), ("cp-11",)),
    Model("PBT chain 12", lambda rotors: fb.robots.pbt_chain(12, seed=0, rotors=rotors), ("cp-B-5",)),
    Model("Mini Cheetah", fb.robots.mini_cheetah, _feet("HR_foot", "HL_foot", "FR_foot", "FL_foot")),
    Model("MIT Humanoid", fb.robots.mit_humanoid, _feet("right_toe", "left_toe")),
    Model("Tello", fb.robots.tello_with_arms, _feet("right-toe", "left-toe")),
    Model("JVRC-1", fb.robots.jvrc1, _feet("right_toe", "left_toe")),
)

# Percent more (or less) time than the cluster algorithm, as printed in the paper, in the order of MODELS.
PAPER = {
    "II": {
        "approximate": (-40.3, -36.2, -41.0, -42.0, -59.6, -37.7),
        "projected": (38.0, 37.8, 36.7, 35.9, 22.4, 36.6),
    },
    "III": {
        "approximate": (-34.1, -34.6, -35.3, -38.6, -49.4, -38.4),
        "projection": (86.8, 73.5, 21.0, 32.5, 22.2, 87.3),
        "Lagrange": (133.1, 119.8, 76.3, 106.2, 82.7, 212.8),
    },
    "IV": {
        "approximate": (-35.7, -52.1, -28.6, -37.4, -51.4, -22.54),
        "projected": (51.8, 6.3, 19.0, 23.2, 7.80, 107.4),
    },
}
TITLES = {
    "II": "inverse dynamics, against C-RNEA",
    "III": "forward dynamics, against C-ABA",
    "IV": "inverse operational-space inertia, against C-EFPA",
}
LINKS = (2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
FIT_FROM = 64  # links from which on the exponents of growth are fitted


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    batch: int = 256
    turns: int = 10
    seconds: float = 0.05
    models: tuple[Model, ...] = MODELS
    links: tuple[int, ...] = LINKS

    def fastest(self, *functions: Callable[[], Any]) -> list[float]:
        return cpu_fastest(*functions, turns=self.turns, seconds=self.seconds)


QUICK = Effort(batch=8, turns=1, seconds=0.001, models=MODELS[:1], links=(2, 4))


def operations(function: Any) -> int:
    """Of a compiled function, for one sample."""
    return sum(count(function.program()).values())


class Case:
    """A robot, its twin with reflected inertia, and states of both."""

    def __init__(self, model: Model, batch: int, seed: int = 0) -> None:
        self.title, self.frames = model.title, list(model.frames)
        self.robot, self.twin = model.make("exact"), model.make("reflected")
        rng = np.random.default_rng(seed)
        self.q = np.resize(self.robot.random(rng, min(batch, 32)), (batch, self.robot.nq))
        self.q_twin = np.resize(self.twin.random(rng, min(batch, 32)), (batch, self.twin.nq))
        self.v, self.a = rng.normal(size=(2, batch, self.robot.nv))
        self.tree = self.robot.spanning()

    def _omega(self, robot: fb.System) -> Any:
        return robot.osim_inverse.specialise(frames=self.frames)

    def methods(self, table: str) -> dict[str, Callable[[], Any]]:
        """The methods of a table by name, the cluster algorithm first."""
        r, twin, state, moved = self.robot, self.twin, (self.q, self.v, self.a), (self.q_twin, self.v, self.a)
        if table == "II":
            return {
                "cluster": lambda: r.inverse_dynamics(*state),
                "approximate": lambda: twin.inverse_dynamics(*moved),
                "projected": lambda: baselines.projected_inverse_dynamics(r, *state),
            }
        if table == "III":
            return {
                "cluster": lambda: r.forward_dynamics(*state),
                "approximate": lambda: twin.forward_dynamics(*moved),
                "projection": lambda: baselines.projection_forward_dynamics(r, *state),
                "Lagrange": lambda: baselines.lagrange_forward_dynamics(r, *state),
            }
        ours, theirs = self._omega(r), self._omega(twin)
        return {
            "cluster": lambda: ours(self.q),
            "approximate": lambda: theirs(self.q_twin),
            "projected": lambda: baselines.projected_osim(r, self.q, frames=self.frames),
        }

    def counts(self, table: str) -> dict[str, int]:
        """Operations of a sample: of our programs as they are, of dense matrices by the usual formulas."""
        r, t, N, n = self.robot, self.twin, self.tree.nv, self.robot.nv
        if table == "II":
            spanning = operations(self.tree.inverse_dynamics) + operations(r.loop_map) + 2 * N * n
            return {
                "cluster": operations(r.inverse_dynamics),
                "approximate": operations(t.inverse_dynamics),
                "projected": spanning,
            }
        matrix = operations(self.tree.mass_matrix) + operations(r.loop_map)
        projected = matrix + 2 * N * N * n + 2 * N * n * n + n**3 // 3
        if table == "III":
            bias, m = operations(self.tree.bias_force), N - n
            return {
                "cluster": operations(r.forward_dynamics),
                "approximate": operations(t.forward_dynamics),
                "projection": projected + bias + 2 * N * N + 2 * N * n + 2 * n * n,
                "Lagrange": matrix + bias + 2 * (N + m) ** 3 // 3,
            }
        k = 6 * len(self.frames)
        return {
            "cluster": operations(self._omega(r)),
            "approximate": operations(self._omega(t)),
            "projected": projected + 2 * n * n * k + 2 * n * k * k,
        }
