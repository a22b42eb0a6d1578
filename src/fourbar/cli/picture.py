"""The picture of a simulation: coordinates, drift of the energy, path of the tip. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..constraints import Closure, Distance
from ..errors import ArgumentError
from ..joints import Revolute
from ..mechanism.mechanism import WORLD, NamedLoop
from ..sim import Trajectory
from ..system.system import System

_MOST_LABELS = 8
_LONGEST_LEGEND = 36  # characters that fit beside the title
_COLOURS = ("#1f5fa8", "#d1701c", "#3a8f4d", "#8c4aa0", "#b03a48", "#4a8f99", "#8a6d3b", "#5c5c5c")
_DARK, _PALE = "#333333", "#b5b5b5"
_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "figure.titlesize": 12,
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


def draw(robot: System, trajectory: Trajectory, drift: np.ndarray, output: Path) -> None:
    """Write the picture of a simulation; `drift` is the relative change in energy."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11.0, 5.6), layout="constrained")
        figure.suptitle(robot.name.replace("_", " "), x=0.01, ha="left", weight="bold")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.45, 1.0), hspace=0.06)
        first = figure.add_subplot(grid[0, 0])
        _coordinates(first, robot, trajectory)
        _drift(figure.add_subplot(grid[1, 0], sharex=first), trajectory.t, drift)
        _path(figure.add_subplot(grid[:, 1]), robot, trajectory)
        first.tick_params(labelbottom=False)
        figure.savefig(output, dpi=150)


def _coordinates(axes: Any, robot: System, trajectory: Trajectory) -> None:
    names = robot.names.coordinates
    turning = all(isinstance(c.joint, Revolute) for c in robot.mechanism.joints if c.joint.nv)
    for i, name in enumerate(names):
        label = name if len(names) <= _MOST_LABELS else None
        axes.plot(trajectory.t, trajectory.q[:, i], color=_COLOURS[i % len(_COLOURS)], lw=1.4, label=label)
    axes.set_title("joint angles" if turning else "coordinates")
    axes.set_ylabel("rad" if turning else "rad, m")
    axes.set_xlim(0.0, trajectory.t[-1])
    if sum(map(len, names)) <= _LONGEST_LEGEND:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)
    elif len(names) <= _MOST_LABELS:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.2, fontsize=8)


def _drift(axes: Any, t: np.ndarray, drift: np.ndarray) -> None:
    largest = float(np.abs(drift).max())
    power = int(np.floor(np.log10(largest))) if largest > 0.0 else 0
    axes.axhline(0.0, color="#888888", lw=0.8)
    axes.plot(t, drift / 10.0**power, color=_COLOURS[3], lw=1.2)
    axes.set_title("change in energy, relative to the largest kinetic energy")
    axes.set_ylabel(rf"$\times\,10^{{{power}}}$" if power else "1")
    axes.set_xlabel("time [s]")


def _path(axes: Any, robot: System, trajectory: Trajectory) -> None:
    """The path of the tip, in the plane in which it moves most, coloured by time."""
    tip, position = _tip(robot, trajectory.q)
    plane = sorted(np.argsort(np.ptp(position, axis=0))[1:].tolist())
    points = position[:, plane]
    colours = LinearSegmentedColormap.from_list("time", matplotlib.colormaps["viridis"](np.linspace(0.0, 0.88, 64)))
    segments = np.stack([points[:-1], points[1:]], axis=1)
    lines = LineCollection(list(segments), cmap=colours, array=trajectory.t[:-1], lw=1.1, capstyle="round")
    axes.add_collection(lines)
    for q, colour, label in ((trajectory.q[0], _PALE, "start"), (trajectory.q[-1], _DARK, "end")):
        for k, bone in enumerate(_skeleton(robot, q)):
            shown = label if k == 0 else None
            axes.plot(*bone[:, plane].T, "o-", color=colour, lw=1.8, ms=3.5, label=shown, zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.set_title(f"path of {tip}")
    axes.set_xlabel(f"{'xyz'[plane[0]]} [m]")
    axes.set_ylabel(f"{'xyz'[plane[1]]} [m]")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
    axes.figure.colorbar(lines, ax=axes, label="time [s]", shrink=0.6, pad=0.02)


def _tip(robot: System, q: np.ndarray) -> tuple[str, np.ndarray]:
    """The last frame, or else the centre of mass of the last body (its origin may lie on a hinge): (n, 3)."""
    if robot.names.frames:
        name = robot.names.frames[-1]
        return name, robot.pose(q, name)[:, :3, 3]
    body = robot.mechanism.bodies[-1]
    T = robot.pose(q, body.name)
    return body.name, T[:, :3, :3] @ np.array(body.com) + T[:, :3, 3]


def _skeleton(robot: System, q: np.ndarray) -> list[np.ndarray]:
    """Lines (2, 3) from the origin of every body to that of its parent, to its loop attachments, and to the tip."""
    m = robot.mechanism
    poses = dict(zip(robot.names.bodies, robot.poses(q), strict=True)) | {WORLD: np.eye(4)}
    origin = {name: T[:3, 3] for name, T in poses.items()}
    lines = [np.array([origin[c.parent], origin[c.child]]) for c in m.joints if c.parent != WORLD]
    for body, point in _held(m.loops):
        lines.append(np.array([origin[body], poses[body][:3, :3] @ point + origin[body]]))
    last = m.frames[-1].body if m.frames else m.bodies[-1].name
    return [*lines, np.array([origin[last], _tip(robot, q[None])[1][0]])]


def _held(loops: Sequence[NamedLoop]) -> list[tuple[str, np.ndarray]]:
    """The bodies that loop joints and rods hold, and the points where they do, in the bodies' frames."""
    found: list[tuple[str, Any]] = []
    for loop in (named.loop for named in loops):
        if isinstance(loop, Closure):
            found += [(loop.predecessor, loop.at_predecessor.p), (loop.successor, loop.at_successor.p)]
        elif isinstance(loop, Distance):
            found += [(loop.predecessor, loop.predecessor_point), (loop.successor, loop.successor_point)]
    return [(body, np.array(point, float)) for body, point in found if body != WORLD]
