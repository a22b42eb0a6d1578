"""Tables II to IV and Figures 9 to 14 of Chignoli's paper, with fourbar.  python bench/paper.py [--figures FOLDER]

The paper compares algorithms within one C++ library; this compares them within ours. The cluster algorithms, PV-OSIMr
and their approximate twins are compiled for the robot; so are "folded projection" and "folded Lagrange", with the
sparsity of their matrices (`rivals.py`). "projection", "projected" and "Lagrange" are those of `fourbar.baselines`:
compiled matrices of the spanning tree, and dense linear algebra from NumPy. Times are of one thread, measured in turns:
the least of short calls, the median of the CPU time of long ones. `--strict` exits non-zero where the program that a
robot's own method runs takes more operations, or more than a tenth more time, than that of a compiled rival, or where
exact methods disagree.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

os.environ.setdefault("FOURBAR_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np

import figures
import fourbar as fb
from ankle import torques
from fourbar import baselines
from methods import LARGEST_FOLDED, MODELS, PAPER, TITLES, Case, Effort, Model
from reading import read_figures, read_tables, read_torques

LINKS = (2, 4, 6, 8, 12, 16, 20, 24, 32, 64, 128, 256)
FIT_FROM = 64  # links from which on the exponents of growth are fitted
FULL, QUICK = Effort(), Effort(batch=8, turns=1, seconds=0.0)
Measured = dict[str, list[dict[str, float]]]


SLOWER = 1.15  # how much longer than a compiled rival the program that is kept may take: noise, and rules of thumb
AGREE = 1e-9


def percent(values: Mapping[str, float], name: str) -> float:
    """How much more than the cluster algorithm another one takes."""
    return 100.0 * (values[name] / values["cluster"] - 1.0)


def table(number: str, cases: Sequence[Case], effort: Effort) -> Measured:
    """Measure and print a table: time and operations of ours, time of the paper's."""
    times, counts = [], []
    for case in cases:
        methods = case.methods(number)
        for method in methods.values():
            method()
        best = effort.measure(*methods.values())
        times.append({name: t / effort.batch for name, t in zip(methods, best, strict=True)})
        counts.append({name: float(n) for name, n in case.counts(number).items()})
    print(f"\nTable {number}: {TITLES[number]}; percent more than the cluster algorithm")
    print(f"{'':34s}" + "".join(f"{case.title:>14s}" for case in cases))
    print(f"{'cluster, ns per sample':34s}" + "".join(f"{1e9 * t['cluster']:14.0f}" for t in times))
    print(f"{'cluster, operations':34s}" + "".join(f"{c['cluster']:14.0f}" for c in counts))
    titles = [model.title for model in MODELS]
    for name in list(times[0])[1:]:
        rows = [
            ("time", [percent(t, name) for t in times]),
            ("operations", [percent(c, name) for c in counts]),
        ]
        if name in PAPER[number]:
            rows.insert(0, ("paper", [PAPER[number][name][titles.index(case.title)] for case in cases]))
        for label, row in rows:
            print(f"{name + ', ' + label:34s}" + "".join(f"{x:+14.1f}" for x in row), flush=True)
    if number != "II":
        kept = (case.kept(number).removeprefix("folded ") for case in cases)
        print(f"{'program that is kept':34s}" + "".join(f"{name:>14s}" for name in kept))
    return {"times": times, "counts": counts}


def slower_than_rivals(number: str, cases: Sequence[Case], found: Measured) -> list[str]:
    """Robots whose own method takes longer than a compiled rival, in words."""
    short = []
    for case, times in zip(cases, found["times"], strict=True):
        compiled = case.forward if number == "III" else case.omega
        best, kept = min(compiled, key=lambda name: times[name]), case.kept(number)
        if times[kept] > SLOWER * times[best]:
            short.append(f"Table {number}, {case.title}: {kept} takes {times[kept] / times[best]:.2f} times {best}")
    return short


def accuracy(cases: Sequence[Case], samples: int = 8) -> list[str]:
    """Print how well the exact methods agree; where they do not, in words."""
    short = []
    print("\nlargest difference to the robot's own method, relative to the largest entry of a sample (median)")
    for case in cases:
        q, v, a = (x[:samples] for x in (case.q, case.v, case.a))
        r, frames = case.robot, case.frames
        pairs = {
            "projected RNEA": (r.inverse_dynamics(q, v, a), baselines.projected_inverse_dynamics(r, q, v, a)),
            "projection": (r.forward_dynamics(q, v, a), baselines.projection_forward_dynamics(r, q, v, a)),
            "Lagrange": (r.forward_dynamics(q, v, a), baselines.lagrange_forward_dynamics(r, q, v, a)),
            "projected OSIM": (r.osim_inverse(q, frames=frames), baselines.projected_osim(r, q, frames)),
        }
        for name, f in case.forward.items():
            pairs[f"{name} (III)"] = (r.forward_dynamics(q, v, a), f(q, v, a))
        for name, f in case.omega.items():
            pairs[f"{name} (IV)"] = (r.osim_inverse(q, frames=frames), f(q))
        differences = {}
        for name, (ours, other) in pairs.items():
            size = np.abs(ours).reshape(samples, -1).max(-1)
            differences[name] = float(np.median(np.abs(ours - other).reshape(samples, -1).max(-1) / size))
        print(f"    {case.title:14s}{', '.join(f'{name} {x:.0e}' for name, x in differences.items())}")
        short += [f"{case.title}: {name} differs by {x:.0e}" for name, x in differences.items() if x > AGREE]
    return short


def chain(kind: str, n: int, batch: int) -> Case:
    """A chain of random links, with the frame at its tip."""
    make: Callable[..., fb.System] = getattr(fb.robots, kind)
    tip = f"cp-{n - 1}" if kind == "gt_chain" else f"cp-B-{n // 2 - 1}"
    model = Model(f"{kind} {n}", lambda rotors: make(n, seed=0, rotors=rotors), (tip,))
    return Case(model, batch, folded=n <= LARGEST_FOLDED)


def chain_times(kind: str, number: str, effort: Effort, links: Sequence[int]) -> tuple[figures.Times, figures.Times]:
    """Seconds and operations of a sample, by method and number of links. Batches shrink as matrices grow."""
    times: dict[str, dict[int, float]] = {}
    counts: dict[str, dict[int, float]] = {}
    for n in links:
        batch = max(8, min(effort.batch, 2**17 // n**2 // 8 * 8))
        case = chain(kind, n, batch)
        methods, operations = case.methods(number), case.counts(number)
        for method in methods.values():
            method()
        for name, t in zip(methods, effort.measure(*methods.values()), strict=True):
            label = figures.label(number, name)
            times.setdefault(label, {})[n] = t / batch
            counts.setdefault(label, {})[n] = float(operations[name])
    return times, counts


def chains(
    figure: str, title: str, number: str, effort: Effort, links: Sequence[int], folder: Path
) -> dict[str, float]:
    """Measure, print and plot the growth with the number of links; the exponents by operations."""
    print(f"\nFigure {figure}: {title} of chains of random links, µs per sample")
    panels, exponents = {}, {}
    for kind in ("gt_chain", "pbt_chain"):
        panels[kind], counts = chain_times(kind, number, effort, links)
        header = f"{kind:20s}" + "".join(f"{n:9d}" for n in links)
        print(f"{header}   slope: to 24, from {FIT_FROM}, operations from {FIT_FROM}")
        for method, points in panels[kind].items():
            early = {n: t for n, t in points.items() if n <= 24}
            slopes = (figures.slope(early, 0), figures.slope(points, FIT_FROM), figures.slope(counts[method], FIT_FROM))
            if len(points) == len(links):
                exponents[method] = slopes[2]
            row = "".join(f"{1e6 * points[n]:9.2f}" if n in points else " " * 9 for n in links)
            print(f"{method:20s}{row}   {slopes[0]:12.2f}{slopes[1]:9.2f}{slopes[2]:20.2f}", flush=True)
    figures.growth(folder / f"figure{figure}.png", f"{title} of chains of random links", panels, FIT_FROM)
    return exponents


def torque_errors(folder: Path, samples: int) -> None:
    """Torques of a leg with exact rotors, with reflected ones (a diagonal, or blocks), and without rotors."""
    found = torques(samples)
    print("\nFigure 14: rms error of the torques of a leg against exact rotors, N m (share of the largest torque)")
    for joint, name in enumerate(found.joints):
        errors = {kind: found.error(kind, joint) for kind in ("unconstrained", "approximate", "block")}
        parts = [f"{kind} {rms:5.2f} ({share:5.1%})" for kind, (rms, share) in errors.items()]
        print(f"    {name:8s}{', '.join(parts)}")
    print("    the paper, for the ankle: unconstrained 4.31 (39.2%), approximate 1.04 (9.5%)")
    read_torques()
    figures.torque_profiles(folder / "figure14.png", found, [found.joints.index(x) for x in ("knee", "ankle")])


PARTS = ("tables", "figure11", "figure13", "figure14")
BARS = {"II": "9", "III": "10", "IV": "12"}  # figures that show the tables


def tables(models: Sequence[Model], effort: Effort, folder: Path) -> list[str]:
    """Measure, print and plot the tables; what falls short, in words."""
    cases = [Case(model, effort.batch) for model in models]
    results = {number: table(number, cases, effort) for number in PAPER}
    short = accuracy(cases)
    read_tables(cases, results)
    for number, found in results.items():
        by_robot = {case.title: times for case, times in zip(cases, found["times"], strict=True)}
        figures.speeds(folder / f"figure{BARS[number]}.png", TITLES[number].split(",")[0], number, by_robot)
        short += slower_than_rivals(number, cases, found) if number != "II" else []
    return short


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, plot; the number of rows that fall short, if that matters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = Path(__file__).resolve().parent / "output"
    parser.add_argument("--figures", "--output", dest="output", type=Path, default=folder, help="for the plots")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    parser.add_argument("--strict", action="store_true", help="exit non-zero when a row falls short")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    effort, models, links = (QUICK, MODELS[:1], (2, 4)) if options.quick else (FULL, MODELS, LINKS)
    print(f"fourbar {fb.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}; one thread")
    short = tables(models, effort, options.output) if "tables" in options.only else []
    if "figure11" in options.only:
        read_figures(chains("11", "Forward dynamics", "III", effort, links, options.output))
    if "figure13" in options.only:
        read_figures(chains("13", "Inverse operational-space inertia", "IV", effort, links, options.output))
    if "figure14" in options.only:
        torque_errors(options.output, 100 if options.quick else 1000)
    for row in short:
        print(f"falls short: {row}")
    return len(short) if options.strict else 0


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
