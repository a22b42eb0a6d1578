"""The plots of `paper.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from ankle import Torques

# Colours that people who see few colours can tell apart; each method has its own marker too.
_STYLES = {
    "C-RNEA": ("#0072B2", "o"),
    "C-ABA": ("#0072B2", "o"),
    "C-EFPA": ("#0072B2", "o"),
    "PV-OSIMr": ("#56B4E9", "P"),
    "approximate": ("#009E73", "s"),
    "folded projection": ("#E69F00", "D"),
    "folded Lagrange": ("#F0E442", "X"),
    "projection": ("#D55E00", "^"),
    "Lagrange": ("#CC79A7", "v"),
}
_DENSE = ("projection", "Lagrange")  # by NumPy
CLUSTER = {"II": "C-RNEA", "III": "C-ABA", "IV": "C-EFPA"}
Times = Mapping[str, Mapping[int, float]]


def slope(times: Mapping[int, float], first: int) -> float:
    """Exponent of growth: the slope of log t over log n from `first` links on."""
    n = np.array([k for k in times if k >= first], float)
    t = np.array([times[int(k)] for k in n])
    return float(np.polyfit(np.log(n), np.log(t), 1)[0]) if len(n) > 1 else float("nan")


def label(number: str, method: str) -> str:
    """The name of a method of a table in a figure."""
    return {"cluster": CLUSTER[number], "projected": "projection"}.get(method, method)


def _short(x: float) -> str:
    """A number of nanoseconds in few digits."""
    return f"{x:.0f}" if x < 1e3 else f"{1e-3 * x:.1f}k" if x < 1e4 else f"{1e-3 * x:.0f}k"


def speeds(path: Path, title: str, number: str, by_robot: Mapping[str, Mapping[str, float]]) -> None:
    """Bars of the time of a sample, by robot and method: Figures 9, 10 and 12."""
    methods = list(next(iter(by_robot.values())))
    fig, ax = plt.subplots(figsize=(9.5, 4.2), layout="constrained")
    width = 0.85 / len(methods)
    for k, method in enumerate(methods):
        name = label(number, method)
        at = np.arange(len(by_robot)) + (k - (len(methods) - 1) / 2) * width
        heights = [1e9 * times[method] for times in by_robot.values()]
        dense = name in _DENSE
        shown = ax.bar(
            at, heights, 0.92 * width, color=_STYLES[name][0], alpha=0.55 if dense else 1.0,
            hatch="///" if dense else None, edgecolor="white" if dense else "none",
            label=f"{name}, dense (NumPy)" if dense else name,
        )  # fmt: skip
        ax.bar_label(shown, list(map(_short, heights)), fontsize=6.5, padding=1)
    ax.set(yscale="log", ylabel="time of a sample, ns", title=f"{title[0].upper()}{title[1:]}")
    ax.set_xticks(range(len(by_robot)), list(by_robot))
    ax.tick_params(axis="x", length=0)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 1.6)
    ax.grid(True, axis="y", alpha=0.3)
    ax.set_axisbelow(True)
    ax.legend(fontsize=8, ncols=min(len(methods), 4), loc="upper left")
    fig.savefig(path, dpi=100)
    plt.close(fig)


def growth(path: Path, title: str, panels: Mapping[str, Times], fit_from: int) -> None:
    """Time over number of links, one panel a kind of chain: the paper's range, and on in logarithmic axes."""
    fig, rows = plt.subplots(2, len(panels), figsize=(5.2 * len(panels), 8.0), squeeze=False, layout="constrained")
    for column, (kind, times) in enumerate(panels.items()):
        last = max(k for points in times.values() for k in points)
        for row, upto in ((0, 24), (1, None)):
            ax = rows[row][column]
            for method, points in times.items():
                colour, marker = _STYLES[method]
                n = [k for k in points if upto is None or k <= upto]
                long = not upto and max(points) > fit_from
                name = f"{method}: n^{slope(points, fit_from):.2f} from {fit_from} links" if long else method
                ax.plot(n, [1e6 * points[k] for k in n], marker, color=colour, ls="-", ms=4.5, lw=1.4, label=name)
            ax.grid(True, which="major", alpha=0.3)
            ax.set(xlabel="links", ylabel="time a sample, µs", title=kind if upto else f"{kind}, on to {last} links")
            ax.legend(fontsize=8, framealpha=0.9)
            if upto is None:
                ax.set(xscale="log", yscale="log")
                shown = [k for k in (2, 4, 8, 16, 32, 64, 128, 256) if k <= last]
                ax.set_xticks(shown, [str(k) for k in shown])
                ax.minorticks_off()
            else:
                ax.set(xlim=(0, None), yscale="log")
    fig.suptitle(title)
    fig.savefig(path, dpi=130)
    plt.close(fig)


def torque_profiles(path: Path, found: Torques, joints: Sequence[int]) -> None:
    """Torque over time, and the error of the approximations, one column a joint."""
    fig, rows = plt.subplots(2, len(joints), figsize=(5.4 * len(joints), 6.4), squeeze=False, layout="constrained")
    colours = {"exact": "black", "approximate": "#009E73", "block": "#0072B2", "unconstrained": "#D55E00"}
    for column, joint in enumerate(joints):
        top, bottom = rows[0][column], rows[1][column]
        for kind, tau in found.by_kind.items():
            top.plot(found.t, tau[:, joint], color=colours[kind], lw=1.6, label=kind)
            if kind != "exact":
                rms, share = found.error(kind, joint)
                label = f"{kind}: rms {rms:.2f} N m, {share:.1%} of the largest torque"
                bottom.plot(found.t, tau[:, joint] - found.by_kind["exact"][:, joint], color=colours[kind], label=label)
        top.set(title=found.joints[joint], ylabel="torque, N m")
        bottom.set(xlabel="time, s", ylabel="error, N m")
        for ax in (top, bottom):
            ax.grid(True, alpha=0.3)
            ax.margins(x=0)
        low, high = bottom.get_ylim()
        bottom.set_ylim(low, high + 0.3 * (high - low))
        top.legend(fontsize=8)
        bottom.legend(fontsize=8, loc="upper right")
    fig.suptitle("Torques of a leg of the MIT Humanoid, all joints follow 0.5 sin(2π 1.5 t)")
    fig.savefig(path, dpi=130)
    plt.close(fig)
