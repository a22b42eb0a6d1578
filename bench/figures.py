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
    "C-ABA": ("#0072B2", "o"),
    "C-EFPA": ("#0072B2", "o"),
    "approximate": ("#009E73", "s"),
    "projection": ("#D55E00", "^"),
    "folded projection": ("#E69F00", "D"),
    "Lagrange": ("#CC79A7", "v"),
}
Times = Mapping[str, Mapping[int, float]]


def slope(times: Mapping[int, float], first: int) -> float:
    """Exponent of growth: the slope of log t over log n from `first` links on."""
    n = np.array([k for k in times if k >= first], float)
    t = np.array([times[int(k)] for k in n])
    return float(np.polyfit(np.log(n), np.log(t), 1)[0]) if len(n) > 1 else float("nan")


def growth(path: Path, title: str, panels: Mapping[str, Times], fit_from: int) -> None:
    """Time over number of links, one panel a kind of chain: the paper's range, and on in logarithmic axes."""
    fig, rows = plt.subplots(2, len(panels), figsize=(5.2 * len(panels), 8.0), squeeze=False, layout="constrained")
    for column, (name, times) in enumerate(panels.items()):
        for row, upto in ((0, 24), (1, None)):
            ax = rows[row][column]
            for method, points in times.items():
                colour, marker = _STYLES[method]
                n = [k for k in points if upto is None or k <= upto]
                label = method if upto else f"{method}: n^{slope(points, fit_from):.2f} from {fit_from} links"
                ax.plot(n, [1e6 * points[k] for k in n], marker, color=colour, ls="-", ms=4.5, lw=1.4, label=label)
            ax.grid(True, which="major", alpha=0.3)
            ax.set(xlabel="links", ylabel="time a sample, µs", title=name if upto else f"{name}, on to {max(n)} links")
            ax.legend(fontsize=8, framealpha=0.9)
            if upto is None:
                ax.set(xscale="log", yscale="log")
                shown = [k for k in (2, 4, 8, 16, 32, 64, 128, 256) if min(n) <= k <= max(n)]
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
    colours = {"exact": "black", "approximate": "#009E73", "unconstrained": "#D55E00"}
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
