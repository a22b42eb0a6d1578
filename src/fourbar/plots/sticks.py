"""A robot as a stick figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..mechanism.mechanism import WORLD, Mechanism
from ..mechanism.sticks import guided_joints, held_points, stick_ends, tip
from .style import COLOURS, DARK, EDGE, PALE, colour, drawing, load_matplotlib

if TYPE_CHECKING:
    from ..system.system import System

_FLAT = 1e-6  # of the size of a robot: what moves less than this in a direction moves in a plane
_THIN = 0.1  # of that size: what a robot may be thick to be drawn flat
_MOST_POSES = 12
_SHORT_AXIS = 0.5  # of the longest axis: where few ticks have room
_INNER = 0.8  # of an axis: where ticks are, so that those of two axes do not meet at a corner
_PAD_Z, _PAD_NAME = 0, 10  # points between the vertical axis of a cube and its numbers, and its name
_AXES = ("#c0392b", "#2e8b57", "#1f5fa8")  # of frames: x, y, z


class Figure(NamedTuple):
    """A robot at one configuration: lines (n, 2, 3) between joints, rods of loops, joints (n, 3) that move and those
    of them that are fixed to the world."""

    bones: np.ndarray
    ties: np.ndarray
    joints: np.ndarray
    roots: np.ndarray

    @property
    def lines(self) -> np.ndarray:
        """All lines (n, 2, 3) that have a length."""
        every = np.concatenate([self.bones, self.ties])
        return every[np.ptp(every, axis=1).max(axis=-1) > 0.0]

    @property
    def points(self) -> np.ndarray:
        """All points."""
        return np.concatenate([x.reshape(-1, 3) for x in self])


def tip_path(robot: System, q: np.ndarray) -> tuple[str, np.ndarray]:
    """The name of the tip, and where it is (n, 3) at configurations (n, nq)."""
    name, body, point = tip(robot.mechanism)
    T = robot.pose(q, body)
    return name, T[:, :3, :3] @ point + T[:, :3, 3]


def stick_figure(robot: System, q: np.ndarray) -> Figure:
    """The sticks of a robot at a configuration (nq)."""
    m: Mechanism = robot.mechanism
    poses = dict(zip(robot.names.bodies, robot.poses(q), strict=True)) | {WORLD: np.eye(4)}
    origin = {body: T[:3, 3] for body, T in poses.items()}

    def at(body: str, point: np.ndarray) -> np.ndarray:
        return poses[body][:3, :3] @ point + origin[body]

    bones = [(origin[body], at(body, point)) for body, points in stick_ends(m).items() for point in points]
    bones += [
        (at(c.parent, np.array(c.placement.position)), origin[c.child]) for c in guided_joints(m) if c.parent != WORLD
    ]
    ties = [tuple(at(body, point) for body, point in held) for held in held_points(m)]
    pins = [place for tie in ties for place in tie]
    joints = [origin[c.child] for c in m.joints if c.joint.nv] + pins
    roots = [origin[c.child] for c in m.joints if c.parent == WORLD and c.joint.nv != 6]
    shapes = (2, 3), (2, 3), (3,), (3,)
    parts = zip((bones, ties, joints, roots), shapes, strict=True)
    return Figure(*(np.array(x, float).reshape(-1, *shape) for x, shape in parts))


def flat_plane(robot: System) -> list[int] | None:
    """The two axes of the world in whose plane a robot moves and, nearly, lies; None if it needs all three."""
    points = np.stack([stick_figure(robot, q).points for q in robot.random(0, n=4)])
    if not points.size:
        return None
    thick, moved = np.ptp(points, axis=(0, 1)), np.ptp(points, axis=0).max(axis=0)
    thin = (moved <= _FLAT * thick.max()) & (thick <= _THIN * thick.max())
    return [k for k in range(3) if k != int(np.argmax(thin))] if thin.any() else None


def plot_robot(robot: System, q: np.ndarray, frames: Sequence[str], com: bool, title: str) -> Any:
    """A figure of a robot at configurations (n, nq): the last is dark, those before pale."""
    if len(q) > _MOST_POSES:
        q = q[np.unique(np.linspace(0, len(q) - 1, _MOST_POSES).round().astype(int))]
    if not len(q):
        raise ArgumentError("plot: q holds no configuration")
    figures = [stick_figure(robot, x) for x in q]
    points = np.concatenate([x.points for x in figures])
    plane = flat_plane(robot)
    with drawing(6.4, 6.0, title) as figure:
        axes = figure.add_subplot() if plane else figure.add_subplot(projection="3d")
        which = plane or [0, 1, 2]
        for number, sticks in enumerate(figures):
            last = number == len(figures) - 1
            _draw_sticks(axes, sticks, which, last)
        size = float(np.ptp(points, axis=0).max()) or 1.0
        for name in frames:
            _draw_frame(axes, robot.pose(q[-1], name), which, 0.12 * size, name)
        if com:
            place = robot.center_of_mass(q[-1])
            axes.plot(*place[which, None], "o", color=COLOURS[1], ms=8, mec=DARK, label="centre of mass", zorder=5)
        _finish(axes, points, which, bool(frames) or com)
    return figure


def _draw_sticks(axes: Any, sticks: Figure, which: list[int], last: bool) -> None:
    for bone in sticks.bones:
        axes.plot(*bone[:, which].T, "-", color=DARK if last else PALE, lw=2.4 if last else 1.2, solid_capstyle="round")
    for tie in sticks.ties:
        if np.ptp(tie, axis=0).max() > 0.0:
            axes.plot(*tie[:, which].T, "-", color=colour(1) if last else PALE, lw=1.6 if last else 1.0)
    if last:
        axes.plot(*sticks.joints[:, which].T, "o", color=colour(0), ms=4.5, mec="white", mew=0.6, zorder=4)
        axes.plot(*sticks.roots[:, which].T, "s", color=EDGE, ms=7, mec="white", mew=0.6, zorder=3)


def _draw_frame(axes: Any, T: np.ndarray, which: list[int], length: float, name: str) -> None:
    for k in range(3):
        ends = np.stack([T[:3, 3], T[:3, 3] + length * T[:3, k]])
        axes.plot(*ends[:, which].T, "-", color=_AXES[k], lw=1.8, zorder=5)
    axes.text(*T[which, 3], f" {name}", fontsize=8)


def _finish(axes: Any, points: np.ndarray, which: list[int], named: bool) -> None:
    """Equal scales, names of axes."""
    axes.set_xlabel(f"{'xyz'[which[0]]} [m]")
    axes.set_ylabel(f"{'xyz'[which[1]]} [m]")
    if len(which) == 2:
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.12)
    else:
        middle, half = 0.5 * (points.max(axis=0) + points.min(axis=0)), 0.55 * np.ptp(points, axis=0)
        half = np.maximum(half, 0.35 * half.max() + 1e-9)
        axes.set_zlabel("z [m]", labelpad=_PAD_NAME * half.max() / half[:2].max())  # matplotlib scales it by the width
        for k, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)):
            low, high = middle[k] - half[k], middle[k] + half[k]
            (axes.set_xlim, axes.set_ylim, axes.set_zlim)[k](low, high)
            few = 2 if half[k] < _SHORT_AXIS * half.max() else 4
            ticks = load_matplotlib().ticker.MaxNLocator(few).tick_values(low, high)
            axis.set_ticks([x for x in ticks if abs(x - middle[k]) < _INNER * half[k]])
            axis.set_tick_params(pad=_PAD_Z if k == 2 else 1)
        for label in axes.zaxis.get_ticklabels():
            label.set_horizontalalignment("left")  # in the middle, those with a sign would touch the axis
        axes.set_box_aspect(half, zoom=0.84)
        axes.view_init(elev=18, azim=-58)
    if named and axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper right")
