"""The picture of a simulation: coordinates, drift of the energy, path of the tip. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..errors import ArgumentError
from ..joints import Revolute
from ..sim import Trajectory

_MOST_LABELS = 8
_COLOURS = ("#1f5fa8", "#d1701c", "#3a8f4d", "#8c4aa0", "#b03a48", "#4a8f99", "#8a6d3b", "#5c5c5c")
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "font.size": 9,
    "legend.frameon": False,
}


def check_output(output: Path) -> None:
    """Refuse a file that cannot be written or has an unknown ending."""
    kinds = Figure().canvas.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in kinds:
        raise ArgumentError(f"--output {output}: expected a name that ends in one of .{', .'.join(sorted(kinds))}")
    if not output.parent.is_dir():
        raise ArgumentError(f"--output {output}: there is no folder {output.parent}")


def draw(robot: Any, trajectory: Trajectory, energy: np.ndarray, output: Path) -> None:
    """Write the picture of a simulation."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11.0, 5.6), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.45, 1.0))
        first = figure.add_subplot(grid[0, 0])
        _coordinates(first, robot, trajectory)
        _drift(figure.add_subplot(grid[1, 0], sharex=first), trajectory.t, energy)
        _path(figure.add_subplot(grid[:, 1]), robot, trajectory)
        first.tick_params(labelbottom=False)
        figure.savefig(output, dpi=150)


def _coordinates(axes: Any, robot: Any, trajectory: Trajectory) -> None:
    names = robot.names.coordinates
    turning = all(isinstance(c.joint, Revolute) for c in robot.mechanism.connections if c.joint.nv)
    for i, name in enumerate(names):
        label = name if len(names) <= _MOST_LABELS else None
        axes.plot(trajectory.t, trajectory.q[:, i], color=_COLOURS[i % len(_COLOURS)], lw=1.4, label=label)
    axes.set_title("joint angles" if turning else "coordinates")
    axes.set_ylabel("rad" if turning else "rad, m")
    axes.set_xlim(0.0, trajectory.t[-1])
    if len(names) <= _MOST_LABELS:
        axes.legend(loc="best", ncols=min(4, len(names)))


def _drift(axes: Any, t: np.ndarray, energy: np.ndarray) -> None:
    axes.axhline(0.0, color="#888888", lw=0.8)
    axes.plot(t, energy - energy[0], color=_COLOURS[3], lw=1.2)
    axes.set_title("energy since the start")
    axes.set_ylabel("J")
    axes.set_xlabel("time [s]")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)


def _path(axes: Any, robot: Any, trajectory: Trajectory) -> None:
    """The path of the last frame (or body), in the plane in which it moves most, coloured by time."""
    tip = (robot.names.frames or robot.names.bodies)[-1]
    position = robot.pose(trajectory.q, tip)[:, :3, 3]
    i, j = sorted(np.argsort(np.ptp(position, axis=0))[1:].tolist())
    points = position[:, [i, j]]
    segments = np.stack([points[:-1], points[1:]], axis=1)
    lines = LineCollection(list(segments), cmap="viridis", array=trajectory.t[:-1], lw=1.1, capstyle="round")
    axes.add_collection(lines)
    axes.plot(*points[0], "o", color="#333333", ms=5, label="start")
    axes.plot(*points[-1], "s", color="#333333", ms=5, label="end")
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.set_title(f"path of {tip}")
    axes.set_xlabel(f"{'xyz'[i]} [m]")
    axes.set_ylabel(f"{'xyz'[j]} [m]")
    axes.legend(loc="upper right")
    axes.figure.colorbar(lines, ax=axes, label="time [s]", shrink=0.6, pad=0.02)
