"""Pictures of simulations. They need matplotlib.

Without contacts: coordinates, drift of the energy, path of the tip. With contacts: heights, forces, joints, and the
robot on its ground.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np

from ..errors import ArgumentError
from ..joints import Free, Revolute
from ..joints.euclidean import is_flat
from ..mechanism.mechanism import WORLD
from ..plots.sticks import stick_figure, tip_path
from ..plots.style import COLOURS, DARK, EDGE, PALE, drawing, labels, too_long
from ..sim import Run
from ..system.system import System
from ..tree.assembly import coordinate_labels
from .scene_simulation import ContactSimulation, by_body, up_of

_MOST_LABELS = 8
_LONGEST_LEGEND = 36  # characters that fit beside the title
BAND = "#eaf1e6"
EARLIER = "#c9d6e6"
_STRETCH = 3.0  # length of the last stretch of a path, in diagonals of its box
_FEW = 3  # joints whose limits have colours of their own


def check_output(output: Path) -> None:
    """Refuse a file that cannot be written or has an unknown ending."""
    kinds = matplotlib.figure.Figure().canvas.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in kinds:
        raise ArgumentError(f"--output {output}: expected a name that ends in one of .{', .'.join(sorted(kinds))}")
    if not output.parent.is_dir():
        raise ArgumentError(f"--output {output}: there is no folder {output.parent}")


def draw(robot: System, trajectory: Run, drift: np.ndarray, output: Path) -> None:
    """Write the picture of a simulation; `drift` is the relative change in energy."""
    with drawing(11.0, 5.6, robot.name) as figure:
        grid = figure.add_gridspec(2, 2, width_ratios=(1.45, 1.0), hspace=0.06)
        first = figure.add_subplot(grid[0, 0])
        joints(first, robot, trajectory.t, trajectory.q)
        _drift(figure.add_subplot(grid[1, 0], sharex=first), trajectory.t, drift)
        _path(figure.add_subplot(grid[:, 1]), robot, trajectory)
        first.tick_params(labelbottom=False)
        figure.savefig(output, dpi=150)


class PlottedJoints(NamedTuple):
    """The coordinates (n, m) of the joints that turn about an axis or slide: names, limits, and whether all turn."""

    names: list[str]
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turning: bool


def plotted_joints(robot: System, q: np.ndarray) -> PlottedJoints:
    """The coordinates of all joints that turn about an axis or slide."""
    every = robot.model.cluster_tree.moving
    flat = [(c, k) for c in every for k in range(len(c.lower))]
    chosen = [i for i, (c, _) in enumerate(flat) if is_flat(c.joint)]
    names = [coordinate_labels(flat[i][0])[flat[i][1]] for i in chosen]
    ends = ([getattr(flat[i][0], end)[flat[i][1]] for i in chosen] for end in ("lower", "upper"))
    lower, upper = (np.array(x, float) for x in ends)
    turning = all(isinstance(flat[i][0].joint, Revolute) for i in chosen)
    return PlottedJoints(names, np.asarray(robot.expand(q))[:, chosen], lower, upper, turning)


def select_joints(every: PlottedJoints, robot: System) -> PlottedJoints:
    """The joints that move most if there are many, the independent ones first."""
    if len(every.names) <= _MOST_LABELS:
        return every
    independent = {*robot.names.velocities}
    travel = np.ptp(every.values, axis=0)
    order = sorted(range(len(every.names)), key=lambda i: (every.names[i] not in independent, -travel[i]))
    chosen = sorted(order[:_MOST_LABELS])
    values, lower, upper = (x[..., chosen] for x in (every.values, every.lower, every.upper))
    return PlottedJoints([every.names[i] for i in chosen], values, lower, upper, every.turning)


def _choice(selected: PlottedJoints, every: PlottedJoints, robot: System) -> str:
    """Which joints were chosen, in words."""
    independent = {*robot.names.velocities}
    leading, all_leading = (sum(name in independent for name in x.names) for x in (selected, every))
    shown, total = len(selected.names), len(every.names)
    if all_leading in (0, total):
        return f"the {shown} that move most of {total}"
    if leading == shown:
        return f"the {shown} independent ones that move most, of {total}"
    return f"the {leading} independent ones and {shown - leading} more, of {total}"


def joints(axes: Any, robot: System, t: np.ndarray, q: np.ndarray) -> None:
    """Coordinates of joints over time; where more than a few have limits as parts of their ranges, which are a band."""
    every = plotted_joints(robot, q)
    shown = select_joints(every, robot)
    few = f", {_choice(shown, every, robot)}" if shown is not every else ""
    limited = np.isfinite(shown.lower) & np.isfinite(shown.upper) & (shown.upper > shown.lower)
    label, values = "rad" if shown.turning else "rad, m", shown.values
    if not shown.names:
        axes.set_title("no joints")
    elif limited.all() and len(shown.names) > _FEW:
        values = (shown.values - shown.lower) / (shown.upper - shown.lower)
        axes.axhspan(0.0, 1.0, color=BAND, zorder=0)
        axes.set_ylim(max(-1.0, min(-0.15, values.min())), min(2.0, max(1.15, values.max())))
        axes.set_title(f"joints and their limits (band){few}")
        label = "part of the range"
    else:
        axes.set_title(("joint angles" if shown.turning else "joint coordinates") + few)
        for i in np.flatnonzero(limited) if limited.sum() <= _FEW else ():
            axes.axhspan(shown.lower[i], shown.upper[i], color=COLOURS[i % len(COLOURS)], alpha=0.12, lw=0, zorder=0)
    for i, name in enumerate(labels(shown.names, too_long(shown.names))):
        axes.plot(t, values[:, i], color=COLOURS[i % len(COLOURS)], lw=1.4, label=name)
    axes.set_ylabel(label)
    axes.set_xlim(0.0, t[-1])
    if shown.names and sum(map(len, shown.names)) <= _LONGEST_LEGEND:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)
    elif shown.names:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.2, fontsize=8)


def _drift(axes: Any, t: np.ndarray, drift: np.ndarray) -> None:
    largest = float(np.abs(drift).max())
    power = int(np.floor(np.log10(largest))) if largest > 0.0 else 0
    axes.axhline(0.0, color=EDGE, lw=0.8)
    axes.plot(t, drift / 10.0**power, color=COLOURS[3], lw=1.2)
    axes.set_title("change in energy, relative to the largest kinetic energy")
    axes.set_ylabel(rf"$\times\,10^{{{power}}}$" if power else "1")
    axes.set_xlabel("time [s]")


def _path(axes: Any, robot: System, trajectory: Run) -> None:
    """The path of the tip, in the plane in which it moves most: all of it pale, its last stretch in colour.

    Of a robot that falls, the path is seen from its root.
    """
    tip, position = tip_path(robot, trajectory.q)
    root = _falling(robot)
    base = np.zeros((1, 3)) if root is None else robot.pose(trajectory.q, root)[:, :3, 3]
    position = position - base
    plane = sorted(np.argsort(np.ptp(position, axis=0))[1:].tolist())
    points = position[:, plane]
    first = last_stretch(points)
    duration = float(trajectory.t[-1] - trajectory.t[first])
    if first:
        axes.plot(*points[: first + 1].T, color=EARLIER, lw=0.5, label="path", zorder=1)
    label = f"path of the last {duration:.2g} s" if first else "path"
    axes.plot(*points[first:].T, color=COLOURS[0], lw=1.3, solid_capstyle="round", label=label, zorder=2)
    for q, origin, colour, label in (
        (trajectory.q[0], base[0], PALE, "start"), (trajectory.q[-1], base[-1], DARK, "end")
    ):  # fmt: skip
        for k, bone in enumerate(stick_figure(robot, q).lines):
            shown = label if k == 0 else None
            axes.plot(*(bone - origin)[:, plane].T, "o-", color=colour, lw=1.8, ms=3.5, label=shown, zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(f"path of {tip}" if root is None else f"path of {tip}, seen from {root}")
    axes.set_xlabel(f"{'xyz'[plane[0]]} [m]")
    axes.set_ylabel(f"{'xyz'[plane[1]]} [m]")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8)


def last_stretch(points: np.ndarray) -> int:
    """The number of the point (n, 2) from which a path is short enough not to cover itself."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    left = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])  # length from each point to the end
    room = _STRETCH * float(np.linalg.norm(np.ptp(points, axis=0)))
    return int(np.argmax(left <= room))


def _falling(robot: System) -> str | None:
    """The body that falls with all others, if there is one."""
    roots = [c for c in robot.mechanism.joints if c.parent == WORLD]
    return roots[0].child if len(roots) == 1 and isinstance(roots[0].joint, Free) else None


_MOST_FORCES = 5  # bodies whose forces are lines of their own
_MOST_BONES = 400


def draw_contacts(robot: System, touched: ContactSimulation, output: Path) -> None:
    """Write the picture."""
    with drawing(11.0, 6.6, robot.name) as figure:
        grid = figure.add_gridspec(3, 2, width_ratios=(1.45, 1.0), hspace=0.06)
        first = figure.add_subplot(grid[0, 0])
        _heights(first, robot, touched)
        second = figure.add_subplot(grid[1, 0], sharex=first)
        _forces(second, robot, touched)
        third = figure.add_subplot(grid[2, 0], sharex=first)
        joints(third, robot, touched.run.t, touched.run.q)
        third.set_xlabel("time [s]")
        for axes in (first, second):
            axes.tick_params(labelbottom=False)
        _side(figure.add_subplot(grid[:, 1]), robot, touched)
        figure.savefig(output, dpi=150)


def _heights(axes: Any, robot: System, touched: ContactSimulation) -> None:
    """Heights above the ground: of the roots that move freely, or of the tip of a fixed robot."""
    up, t, q = up_of(robot), touched.run.t, touched.run.q
    roots = [c.child for c in robot.mechanism.joints if c.parent == WORLD and isinstance(c.joint, Free)]
    places = {name: robot.pose(q, name)[:, :3, 3] for name in roots} or dict([tip_path(robot, q)])
    base = touched.height or 0.0
    for k, (name, place) in enumerate(list(places.items())[: len(COLOURS)]):
        axes.plot(t, place @ up - base, color=COLOURS[k], lw=1.4, label=name)
    axes.axhline(0.0, color=EDGE, lw=0.8)
    axes.set_title("height above the ground" if touched.height is not None else "height")
    axes.set_ylabel("m")
    axes.set_xlim(0.0, t[-1])
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)


def _forces(axes: Any, robot: System, touched: ContactSimulation) -> None:
    """The upward forces on the bodies that press most, their sum, and the weight."""
    up, t = up_of(robot), touched.run.t
    forces = {body: force @ up for body, force in by_body(touched).items()}
    every = list(forces.items())
    for k, (body, force) in enumerate(every[:_MOST_FORCES]):
        axes.plot(t, force, color=COLOURS[k], lw=1.2, label=body)
    if len(every) > _MOST_FORCES:
        rest = sum(force for _, force in every[_MOST_FORCES:])
        axes.plot(t, rest, color=PALE, lw=1.2, label=f"{len(every) - _MOST_FORCES} more")
    weight = sum(body.mass for body in robot.mechanism.bodies) * float(np.linalg.norm(robot.mechanism.gravity))
    axes.axhline(weight, color=DARK, lw=1.0, ls="--", label="weight")
    total = sum(forces.values()) if forces else np.zeros(len(t))
    top = max(3.0 * weight, 1.1 * float(np.percentile(total, 99.0)))
    axes.set_ylim(min(0.0, 1.1 * float(np.percentile(total, 1.0))) - 0.02 * top, top)
    higher = float(np.max(total)) > top
    axes.set_title("contact forces, upwards" + (f" (to {float(np.max(total)):.3g} N in impacts)" if higher else ""))
    axes.set_ylabel("N")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.2, fontsize=8)


def _side(axes: Any, robot: System, touched: ContactSimulation) -> None:
    """The robot from the side at the start and at the end, with the paths of the points that touched."""
    up, q = up_of(robot), touched.run.q
    rise = int(np.argmax(np.abs(up)))
    sign = float(np.sign(up[rise]))
    paths = {body: robot.pose(q, body)[:, :3, 3] for body in list(by_body(touched))[:_MOST_FORCES]}
    paths = paths or dict([tip_path(robot, q)])
    others = [i for i in range(3) if i != rise]
    spread = np.ptp(np.concatenate(list(paths.values())), axis=0)
    bones = np.concatenate([stick_figure(robot, x).lines.reshape(-1, 3) for x in (q[0], q[-1])])
    wide = spread + (np.ptp(bones, axis=0) if len(bones) else 0.0)  # single bodies have none
    across = max(others, key=lambda i: wide[i])
    for k, (body, path) in enumerate(paths.items()):
        axes.plot(path[:, across], sign * path[:, rise], color=COLOURS[k], lw=1.0, alpha=0.8, label=body)
    for x, colour, label in ((q[0], PALE, "start"), (q[-1], DARK, "end")):
        for k, bone in enumerate(stick_figure(robot, x).lines[:_MOST_BONES]):
            shown = label if k == 0 else None
            axes.plot(bone[:, across], sign * bone[:, rise], "o-", color=colour, lw=1.8, ms=3.0, label=shown, zorder=3)
    if not len(bones):
        for k, colour, label in ((0, PALE, "start"), (-1, DARK, "end")):
            ends = np.array([path[k] for path in paths.values()])
            axes.plot(ends[:, across], sign * ends[:, rise], "o", color=colour, ms=6.0, label=label, zorder=3)
    if touched.height is not None:
        axes.axhline(touched.height, color="#8a6d3b", lw=1.5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("from the side")
    axes.set_xlabel(f"{'xyz'[across]} [m]")
    axes.set_ylabel(f"{'' if sign > 0.0 else '-'}{'xyz'[rise]} [m]")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, fontsize=8)
