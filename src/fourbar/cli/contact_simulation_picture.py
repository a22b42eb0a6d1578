"""The picture of a simulation with contacts: heights, forces, joints, and the robot on its ground. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..joints import Free
from ..mechanism.mechanism import WORLD
from ..plots.sticks import stick_figure, tip_path
from ..plots.style import COLOURS, DARK, EDGE, PALE, drawing
from ..system.system import System
from .contact_simulation import Touched, by_body, up_of
from .picture import joints

_MOST_FORCES = 5  # bodies whose forces are lines of their own
_MOST_BONES = 400


def draw(robot: System, touched: Touched, output: Path) -> None:
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


def _heights(axes: Any, robot: System, touched: Touched) -> None:
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


def _forces(axes: Any, robot: System, touched: Touched) -> None:
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


def _side(axes: Any, robot: System, touched: Touched) -> None:
    """The robot from the side at the start and at the end, with the paths of what touched."""
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
