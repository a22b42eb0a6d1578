"""The robots of Chignoli's tables, and the methods that are compared on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import fourbar as fb
import rivals
from fourbar import baselines
from fourbar.system.program_text import count
from timing import steady


@dataclass(frozen=True)
class Model:
    """A column of the tables: a robot by the kind of its rotors, and the frames (six rows each) of Table IV."""

    title: str
    make: Callable[[Any], fb.System]
    frames: tuple[str, ...]


def _contacts(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}_contact" for name in names)


MODELS = (
    Model("GT chain 12", lambda rotors: fb.robots.gt_chain(12, seed=0, rotors=rotors), ("cp-11",)),
    Model("PBT chain 12", lambda rotors: fb.robots.pbt_chain(12, seed=0, rotors=rotors), ("cp-B-5",)),
    Model("Mini Cheetah", fb.robots.mini_cheetah, _contacts("HR_foot", "HL_foot", "FR_foot", "FL_foot")),
    Model("MIT Humanoid", fb.robots.mit_humanoid, _contacts("right_toe", "left_toe")),
    Model("Tello", fb.robots.tello_with_arms, _contacts("right-toe", "left-toe")),
    Model("JVRC-1", fb.robots.jvrc1, _contacts("right_toe", "left_toe")),
)
TITLES = {
    "II": "inverse dynamics, against C-RNEA",
    "III": "forward dynamics, against C-ABA",
    "IV": "inverse operational-space inertia of all feet, against C-EFPA",
}
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


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    batch: int = 256
    turns: int = 8
    seconds: float = 0.05

    def measure(self, *functions: Callable[[], Any]) -> list[float]:
        return steady(*functions, turns=self.turns, seconds=self.seconds)


def operations(function: Any) -> int:
    """Of a compiled function, for one sample."""
    return sum(count(function.program()).values())


LARGEST_FOLDED = 24  # velocities up to which matrices are factored by compiled code in the figures


class Case:
    """A robot, its twin with reflected inertia, and states of both.

    `folded`: projection and multipliers are compiled for the robot too.
    """

    def __init__(self, model: Model, batch: int, seed: int = 0, folded: bool = True) -> None:
        self.title, self.frames, self.folded = model.title, list(model.frames), folded
        self.robot, self.twin = model.make("exact"), model.make("reflected")
        self.tree = baselines.spanning_tree(self.robot)
        rng = np.random.default_rng(seed)
        self.q = np.resize(self.robot.random(rng, min(batch, 32)), (batch, self.robot.nq))
        self.q_twin = np.resize(self.twin.random(rng, min(batch, 32)), (batch, self.twin.nq))
        self.v, self.a = rng.normal(size=(2, batch, self.robot.nv))

    @cached_property
    def forward(self) -> dict[str, rivals.Compiled]:
        """C-ABA and its compiled rivals."""
        return rivals.forward_dynamics(self.robot, self.folded)

    @cached_property
    def omega(self) -> dict[str, rivals.Compiled]:
        """C-EFPA and its compiled rivals."""
        return rivals.osim_inverse(self.robot, self.frames, self.folded)

    @cached_property
    def twin_forward(self) -> rivals.Compiled:
        """ABA of the twin."""
        return rivals.forward_dynamics(self.twin, all_of_them=False)["cluster"]

    @cached_property
    def twin_omega(self) -> rivals.Compiled:
        """EFPA of the twin."""
        return rivals.osim_inverse(self.twin, self.frames, all_of_them=False)["cluster"]

    def kept(self, table: str) -> str:
        """The name of the algorithm that the robot's own method runs."""
        if table == "III":
            return rivals.kept(self.forward, self.robot.forward_dynamics)
        return rivals.kept(self.omega, self.robot.osim_inverse.specialise(frames=self.frames))

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
            compiled = {name: lambda f=f: f(*state) for name, f in self.forward.items()}
            return {
                "cluster": compiled.pop("cluster"),
                "approximate": lambda: self.twin_forward(*moved),
                **compiled,
                "projection": lambda: baselines.projection_forward_dynamics(r, *state),
                "Lagrange": lambda: baselines.lagrange_forward_dynamics(r, *state),
            }
        compiled = {name: lambda f=f: f(self.q) for name, f in self.omega.items()}
        return {
            "cluster": compiled.pop("cluster"),
            "approximate": lambda: self.twin_omega(self.q_twin),
            **compiled,
            "projected": lambda: baselines.projected_osim(r, self.q, self.frames),
        }

    def counts(self, table: str) -> dict[str, int]:
        """Operations of a sample: of compiled functions as they are, of dense matrices by the usual formulas."""
        r, t, N, n = self.robot, self.twin, self.tree.nv, self.robot.nv
        if table == "II":
            return {
                "cluster": operations(r.inverse_dynamics),
                "approximate": operations(t.inverse_dynamics),
                "projected": operations(self.tree.inverse_dynamics) + operations(r.loop_map) + 2 * N * n,
            }
        spanning = operations(self.tree.mass_matrix) + operations(r.loop_map)
        projected = spanning + 2 * N * N * n + 2 * N * n * n
        if table == "III":
            bias, m = operations(self.tree.bias_force), N - n
            return {
                **{name: f.operations for name, f in self.forward.items()},
                "approximate": self.twin_forward.operations,
                "projection": projected + bias + _factor(n) + 2 * n * n + 2 * N * N + 2 * N * n,
                "Lagrange": spanning + bias + 2 * (N + m) ** 3 // 3,
            }
        k = 6 * len(self.frames)
        solve = _factor(n) + 2 * n * n * k + 2 * n * k * k
        jacobians = sum(operations(r.jacobian.specialise(name)) for name in self.frames)
        return {
            **{name: f.operations for name, f in self.omega.items()},
            "approximate": self.twin_omega.operations,
            "projected": projected + jacobians + solve,
        }


def _factor(n: int) -> int:
    """Cholesky's factorisation."""
    return n**3 // 3
