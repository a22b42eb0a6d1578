"""Tables II to IV and Figures 11, 13 and 14 of Chignoli's paper, with fourbar.  python bench/paper.py [--output FOLDER]

The paper compares algorithms within one C++ library; this compares them within ours: the cluster algorithms and their
approximate twins are compiled for the robot, the projection and Lagrange-multiplier methods get compiled matrices of
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

os.environ.setdefault("FOURBAR_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np

import figures
import fourbar as fb
from ankle import torques
from fourbar import baselines
from fourbar.system.show import count
from timing import cpu_fastest


@dataclass(frozen=True)
class Model:
    """A column of the tables: a robot by the kind of its rotors, and the frames (six rows each) of Table IV."""

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


def percent(values: dict[str, float]) -> dict[str, float]:
    """How much more than the cluster algorithm each of the others takes."""
    return {name: 100.0 * (x / values["cluster"] - 1.0) for name, x in values.items() if name != "cluster"}


def table_rows(table: str, cases: Sequence[Case], effort: Effort) -> None:
    """Print a table: time and operations of ours, time of the paper's."""
    print(f"\nTable {table}: {TITLES[table]}, percent more time (operations: ours counted, dense matrices by formula)")
    print(f"{'':30s}" + "".join(f"{case.title:>14s}" for case in cases))
    times, counts = [], []
    for case in cases:
        methods = case.methods(table)
        for method in methods.values():
            method()
        best = effort.fastest(*methods.values())
        times.append({name: t / effort.batch for name, t in zip(methods, best, strict=True)})
        counts.append({name: float(n) for name, n in case.counts(table).items()})
    nanoseconds = "".join(f"{1e9 * t['cluster']:14.0f}" for t in times)
    print(f"{'cluster, ns a sample':30s}{nanoseconds}")
    print(f"{'cluster, operations':30s}" + "".join(f"{c['cluster']:14.0f}" for c in counts))
    for name in PAPER[table]:
        paper = dict(zip((m.title for m in MODELS), PAPER[table][name], strict=True))
        for label, row in (
            ("paper", [paper[case.title] for case in cases]),
            ("ours, time", [percent(t)[name] for t in times]),
            ("ours, operations", [percent(c)[name] for c in counts]),
        ):
            print(f"{name + ': ' + label:30s}" + "".join(f"{x:+14.1f}" for x in row), flush=True)


def accuracy_rows(cases: Sequence[Case], samples: int = 8) -> None:
    """Whether the methods of a table agree: all but the approximate ones are exact."""
    print("\nlargest difference of the exact methods, relative to the largest entry of a sample (median)")
    for case in cases:
        q, v, a = (x[:samples] for x in (case.q, case.v, case.a))
        r, frames = case.robot, case.frames
        pairs = {
            "projected RNEA": (r.inverse_dynamics(q, v, a), baselines.projected_inverse_dynamics(r, q, v, a)),
            "projection": (r.forward_dynamics(q, v, a), baselines.projection_forward_dynamics(r, q, v, a)),
            "Lagrange": (r.forward_dynamics(q, v, a), baselines.lagrange_forward_dynamics(r, q, v, a)),
            "projected OSIM": (r.osim_inverse(q, frames=frames), baselines.projected_osim(r, q, frames=frames)),
        }
        found = []
        for name, (ours, other) in pairs.items():
            difference = np.abs(ours - other).reshape(samples, -1).max(-1) / np.abs(ours).reshape(samples, -1).max(-1)
            found.append(f"{name} {np.median(difference):.0e}")
        print(f"    {case.title:14s}{', '.join(found)}")


def _chain(kind: str, n: int, batch: int) -> Case:
    make: Callable[..., fb.System] = getattr(fb.robots, kind)
    tip = f"cp-{n - 1}" if kind == "gt_chain" else f"cp-B-{n // 2 - 1}"
    return Case(Model(f"{kind} {n}", lambda rotors: make(n, seed=0, rotors=rotors), (tip,)), batch)


def chain_times(kind: str, table: str, effort: Effort) -> dict[str, dict[int, float]]:
    """Seconds a sample, by method and number of links. Batches shrink as chains grow, so that dense matrices fit."""
    found: dict[str, dict[int, float]] = {}
    for n in effort.links:
        batch = max(8, min(effort.batch, 2**14 // n**2 * 8))
        methods = _chain(kind, n, batch).methods(table)
        for method in methods.values():
            method()
        for name, t in zip(methods, effort.fastest(*methods.values()), strict=True):
            label = {"cluster": "C-ABA" if table == "III" else "C-EFPA", "projected": "projection"}.get(name, name)
            found.setdefault(label, {})[n] = t / batch
    return found


def print_chains(kind: str, times: dict[str, dict[int, float]]) -> None:
    """Times by number of links, and the exponents of growth."""
    links = list(next(iter(times.values())))
    print(f"{kind + ', µs a sample':24s}" + "".join(f"{n:9d}" for n in links) + f"   slope 2-24, from {FIT_FROM}")
    for method, points in times.items():
        row = "".join(f"{1e6 * t:9.2f}" for t in points.values())
        early = {n: t for n, t in points.items() if n <= 24}
        print(f"{method:24s}{row}   {figures.slope(early, 0):10.2f}{figures.slope(points, FIT_FROM):8.2f}", flush=True)


def figure_11(effort: Effort, folder: Path) -> None:
    """Forward dynamics of chains."""
    print("\nFigure 11: forward dynamics of chains of random links")
    panels = {kind: chain_times(kind, "III", effort) for kind in ("gt_chain", "pbt_chain")}
    for kind, times in panels.items():
        print_chains(kind, times)
    figures.growth(folder / "figure11.png", "Forward dynamics of chains with loops", panels, FIT_FROM)


def figure_13(effort: Effort, folder: Path) -> None:
    """Inverse operational-space inertia of chains, one frame at the tip."""
    print("\nFigure 13: inverse operational-space inertia of the tip (6 x 6) of chains of random links")
    panels = {kind: chain_times(kind, "IV", effort) for kind in ("gt_chain", "pbt_chain")}
    for kind, times in panels.items():
        print_chains(kind, times)
    figures.growth(folder / "figure13.png", "Inverse operational-space inertia of the tip", panels, FIT_FROM)


def figure_14(folder: Path, samples: int) -> None:
    """Torques of a leg with exact, reflected and without rotors."""
    found = torques(samples)
    print("\nFigure 14: rms error of the torques of a leg against exact rotors, N m (and of the largest exact torque)")
    for joint, name in enumerate(found.joints):
        parts = []
        for kind in ("unconstrained", "approximate"):
            rms, share = found.error(kind, joint)
            parts.append(f"{kind} {rms:5.2f} ({share:5.1%})")
        print(f"    {name:8s}{', '.join(parts)}")
    print("    the paper: unconstrained 4.31 (39.2%), approximate 1.04 (9.5%), for what it calls the ankle")
    figures.torque_profiles(folder / "figure14.png", found, [found.joints.index(x) for x in ("knee", "ankle")])


PARTS = ("tables", "figure11", "figure13", "figure14")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent / "output", help="for the plots")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    effort = QUICK if options.quick else Effort()
    print(f"fourbar {fb.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}; one thread")
    if "tables" in options.only:
        cases = [Case(model, effort.batch) for model in effort.models]
        for table in PAPER:
            table_rows(table, cases, effort)
        accuracy_rows(cases)
    if "figure11" in options.only:
        figure_11(effort, options.output)
    if "figure13" in options.only:
        figure_13(effort, options.output)
    if "figure14" in options.only:
        figure_14(options.output, 100 if options.quick else 1000)


if __name__ == "__main__":
    main()
