"""Pictures of motions: coordinates with their limits, velocities, forces, energies, contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, unknown
from .motion_lines import Line, Panel, coordinate_lines, largest, panels, velocity_lines
from .style import EDGE, PALE, colour, dashes, drawing, labels, too_long

if TYPE_CHECKING:
    from ..system.system import System

COORDINATES, VELOCITIES, TORQUES, ENERGY, CONTACTS = "coordinates", "velocities", "torques", "energy", "contacts"
PARTS = (COORDINATES, VELOCITIES, TORQUES, ENERGY, CONTACTS)
_KINDS = {"rad": "angles", "m": "positions"}
_MOST_POINTS = 4000  # of a line
_NEAR = 0.1  # of its range: limits as near to a motion as this are drawn however many lines there are
_CROWDED = 3  # lines from which on only such limits are drawn
_CONSTANT = 1e-8  # of its size: lines that change less are drawn flat
_ROOM = 0.1  # of their size: what is seen above and below them
_USUAL = 98.0  # percentile of a contact's forces that are drawn whole
_BLOW = 3.0  # times what is usual: forces beyond are blows
_WIDE, _HIGH = 5.6, 2.1  # of a panel, in inches


class PlottedMotion(NamedTuple):
    """One sample of a motion: times (n), q (n, nq), v (n, nv); forces (n, nv), energy lost (n), contacts, if known."""

    robot: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    torque: np.ndarray | None = None
    lost: np.ndarray | None = None
    contacts: Mapping[str, np.ndarray] | None = None  # the size of each contact's force (n), by name


def plot_motion(motion: PlottedMotion, what: Sequence[str] | None, joints: Sequence[str] | None, title: str) -> Any:
    """A figure of a motion: the parts asked for, or those that there is something to show of."""
    chosen = _choose_parts(motion, what)
    motion = _thin(motion)
    listed: list[Panel] = [panel for part in chosen for panel in _PANELS[part](motion, joints)]
    if not listed:
        raise ArgumentError("plot: nothing to draw; choose other parts or joints")
    columns = 1 if len(listed) <= 3 else 2 if len(listed) <= 10 else 3
    rows = -(-len(listed) // columns)
    short = too_long(line.name for panel in listed for line in panel.lines)
    tints = _tints(listed)
    with drawing(_WIDE * columns + 1.2, _HIGH * rows + 0.8, title) as figure:
        grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for axes in grid.ravel()[len(listed) :]:
            axes.set_visible(False)
        for number, (axes, panel) in enumerate(zip(grid.ravel(), listed, strict=False)):
            draw_panel(axes, motion.t, panel, short, tints)
            if number + columns >= len(listed):
                axes.set_xlabel("time [s]")
                axes.tick_params(labelbottom=True)
    return figure


def _choose_parts(motion: PlottedMotion, what: Sequence[str] | None) -> list[str]:
    """The parts to draw."""
    there = {
        COORDINATES: True,
        VELOCITIES: True,
        TORQUES: motion.torque is not None,
        ENERGY: True,
        CONTACTS: motion.contacts is not None,
    }
    if what is None:
        return [part for part in PARTS if there[part] and part != VELOCITIES]
    asked = [what] if isinstance(what, str) else list(what)
    for part in asked:
        if part not in PARTS:
            raise unknown("part of a picture", part, PARTS)
        if not there[part]:
            why = "give tau=" if part == TORQUES else "this motion has no contacts"
            raise ArgumentError(f"plot: {part!r} cannot be drawn: {why}")
    return asked


def _thin(motion: PlottedMotion) -> PlottedMotion:
    """The motion with no more points than a picture can show."""
    if not len(motion.t):
        raise ArgumentError("plot: there is no state to draw: the motion has no rows")
    step = -(-len(motion.t) // _MOST_POINTS)
    if step == 1:
        return motion
    arrays = {name: x[::step] for name, x in motion._asdict().items() if isinstance(x, np.ndarray)}
    contacts = None if motion.contacts is None else {name: x[::step] for name, x in motion.contacts.items()}
    return motion._replace(**arrays, contacts=contacts)


def _of(lines: list[Line], joints: Sequence[str] | None) -> list[Line]:
    """The lines of some joints."""
    if joints is None:
        return lines
    asked = [joints] if isinstance(joints, str) else list(joints)
    known = [line.name for line in lines]
    for name in asked:
        if not any(x == name or x.startswith(f"{name}.") for x in known):
            raise unknown("joint", name, known)
    return [line for line in lines if any(line.name == x or line.name.startswith(f"{x}.") for x in asked)]


def _coordinates(motion: PlottedMotion, joints: Sequence[str] | None) -> list[Panel]:
    lines = coordinate_lines(motion.robot, motion.q)
    everything = [*motion.robot.names.coordinates] if joints is not None else []
    if joints is not None and len(lines) < len(everything):
        lines += _dependent(motion, {line.name for line in lines})
    own = _of(lines, joints)
    found = []
    for unit in dict.fromkeys(line.unit for line in own):
        found += panels(_KINDS.get(unit, "coordinates"), [line for line in own if line.unit == unit])
    return found


def _dependent(motion: PlottedMotion, there: set[str]) -> list[Line]:
    """Coordinates that are left out of large pictures, for who asks for them by name."""
    robot, limits = motion.robot, motion.robot.limits
    both = zip(robot.names.coordinates, motion.q.T, limits.lower, limits.upper, strict=True)
    return [Line(name, "rad, m", name, x, float(a), float(b)) for name, x, a, b in both if name not in there]


def _velocities(motion: PlottedMotion, joints: Sequence[str] | None) -> list[Panel]:
    lines = velocity_lines(motion.robot, motion.v, ("rad/s", "m/s"), motion.robot.limits.velocity)
    return largest("velocities", _of(lines, joints))


def _torques(motion: PlottedMotion, joints: Sequence[str] | None) -> list[Panel]:
    assert motion.torque is not None
    lines = velocity_lines(motion.robot, motion.torque, ("N m", "N"), motion.robot.limits.effort)
    moved = [line for line in lines if line.size > 0.0] or lines
    return largest("joint forces", _of(moved if joints is None else lines, joints))


def energies(motion: PlottedMotion) -> dict[str, np.ndarray]:
    """Kinetic and potential energy; that of springs and what damping took, where there is some; and their sum."""
    robot = motion.robot
    by_name = {"kinetic": robot.kinetic_energy(motion.q, motion.v), "potential": robot.potential_energy(motion.q)}
    by_name["potential"] = by_name["potential"] - by_name["potential"][0]
    if any(any(c.stiffness) for c in robot.model.cluster_tree.moving):
        by_name["springs"] = robot.spring_energy(motion.q)
    if motion.lost is not None and np.any(motion.lost):
        by_name["lost to damping"] = motion.lost
    return {**by_name, "sum": np.sum([*by_name.values()], axis=0)}


def _energy(motion: PlottedMotion, joints: Sequence[str] | None) -> list[Panel]:
    lines = [Line(name, "J", name, x) for name, x in energies(motion).items()]
    return [Panel("energy (potential: since the start)", "J", tuple(lines))]


def _contacts(motion: PlottedMotion, joints: Sequence[str] | None) -> list[Panel]:
    assert motion.contacts is not None
    lines = [Line(name, "N", name, x) for name, x in motion.contacts.items()]
    return [_clip_impacts(motion, x) for x in largest("contact forces", [y for y in lines if y.size > 0.0] or lines)]


def _clip_impacts(motion: PlottedMotion, panel: Panel) -> Panel:
    """A panel of forces whose scale ignores impacts, which last a single step and would hide all other forces."""
    mechanism = motion.robot.mechanism
    weight = sum(body.mass for body in mechanism.bodies) * float(np.linalg.norm(mechanism.gravity))
    usual = max((float(np.percentile(line.values, _USUAL)) for line in panel.lines), default=0.0)
    most, top = max((line.size for line in panel.lines), default=0.0), max(weight, 1.1 * usual)
    if most <= _BLOW * top or top == 0.0:
        return panel
    said = f"{most:.0f}" if most >= 100.0 else f"{most:.3g}"
    return replace(panel, title=f"{panel.title} (to {said} N in impacts)", top=top)


_PANELS: dict[str, Callable[[PlottedMotion, Sequence[str] | None], list[Panel]]] = {
    COORDINATES: _coordinates,
    VELOCITIES: _velocities,
    TORQUES: _torques,
    ENERGY: _energy,
    CONTACTS: _contacts,
}


def _tints(listed: Sequence[Panel]) -> dict[str, int]:
    """Numbers of colours and dashes by the names of lines: a joint has the same in all panels, and no two lines of a
    panel share one."""
    tints: dict[str, int] = {}
    together: dict[str, set[str]] = {}
    for panel in listed:
        for line in panel.lines:
            together.setdefault(line.name, set()).update(x.name for x in panel.lines)
    for name, others in together.items():
        used = {tints[x] for x in others if x in tints}
        tints[name] = next(k for k in count() if k not in used)
    return tints


def draw_panel(axes: Any, t: np.ndarray, panel: Panel, short: bool, tints: Mapping[str, int]) -> None:
    """Lines with their names, cut short or not, in their colours, and bands beyond their limits."""
    named = labels([line.name for line in panel.lines], short)
    for k, line in enumerate(panel.lines):
        total = line.name == "sum" and panel.unit == "J"
        tint, style = (EDGE, "--") if total else (colour(tints[line.name]), dashes(tints[line.name]))
        axes.plot(t, line.values, color=tint, lw=1.3, ls=style, label=named[k])
    axes.set_title(panel.title)
    axes.set_ylabel(panel.unit)
    if len(t) > 1:
        axes.set_xlim(t[0], t[-1])
    _calm_constants(axes)
    _draw_limits(axes, panel.lines, tints)
    if np.isfinite(panel.top):
        axes.set_ylim(-0.03 * panel.top, panel.top)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.3, handlelength=1.2)


def _calm_constants(axes: Any) -> None:
    """Do not magnify the rounding of lines that stay as they are."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < _CONSTANT * size:
        axes.set_ylim(low - _ROOM * size, high + _ROOM * size)


def _draw_limits(axes: Any, lines: Sequence[Line], tints: Mapping[str, int]) -> None:
    """Bands beyond limits: all that lies there if the lines share them, else a strip in the colour of each line.

    Of many lines only those have strips that come near their limits; limits far away are not shown.
    """
    low, high = axes.get_ylim()
    reach, strips = 0.6 * (high - low), []
    shared = len({(line.lower, line.upper) for line in lines}) == 1
    for line in lines[:1] if shared else lines:
        both = np.concatenate([x.values for x in lines]) if shared else line.values
        finite = both[np.isfinite(both)]
        width = line.upper - line.lower
        room = _NEAR * width if np.isfinite(width) else 0.0
        for end, sign in ((line.lower, -1.0), (line.upper, 1.0)):
            near = finite.size and np.isfinite(end) and (sign * finite).max() + room >= sign * end
            if near or (np.isfinite(end) and (shared or len(lines) <= _CROWDED) and low - reach <= end <= high + reach):
                strips.append((end, sign, PALE if shared else colour(tints[line.name])))
    low, high = min([low, *(x for x, _, _ in strips)]), max([high, *(x for x, _, _ in strips)])
    thick = 0.035 * (high - low)
    low, high = low - thick, high + thick
    for end, sign, tint in strips:
        far = (high if sign > 0.0 else low) if shared else end + sign * thick
        axes.axhspan(min(end, far), max(end, far), color=tint, alpha=0.25, lw=0)
        axes.axhline(end, color=tint, lw=0.9, ls=":")
    axes.set_ylim(low, high)
