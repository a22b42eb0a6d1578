"""The lines of a picture of a motion, by unit and limb, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ..functions.angles import stored_joints, straight
from ..joints.base import turning
from ..mechanism.mechanism import joint_of, velocity_names
from ..tree.cluster_tree import GROUND, ClusterTree
from .style import without_ending

if TYPE_CHECKING:
    from ..system.system import System

TOGETHER = 8  # lines that one panel shows and names
_LIMB = 3  # joints that make a limb
_FEW = 2  # lines of limbs that share a panel with others
RANGE = " … "  # between the two ends of a group


@dataclass(frozen=True, eq=False)
class Line:
    """A number over time: its name, its unit, the limb that it belongs to, and its limits."""

    name: str
    unit: str
    limb: str
    values: np.ndarray
    lower: float = -np.inf
    upper: float = np.inf

    @property
    def size(self) -> float:
        """Its largest magnitude."""
        finite = self.values[np.isfinite(self.values)]
        return float(np.abs(finite).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines of one unit that are drawn together, up to a largest value."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    top: float = np.inf


def limbs(cluster_tree: ClusterTree) -> dict[str, str]:
    """For each joint the limb that it belongs to: what hangs on a base, or beside something as large; by name."""
    parents = cluster_tree.spanning_tree.parents
    size = [1] * len(parents)
    for i in reversed(range(len(parents))):
        if parents[i] != GROUND:
            size[parents[i]] += size[i]
    rivals = {hub: sum(p == hub and size[i] >= _LIMB for i, p in enumerate(parents)) for hub in {*parents, GROUND}}
    of: list[int] = []
    for i, parent in enumerate(parents):
        on_base = parent != GROUND and cluster_tree.moving[parent].joint.nv == 6
        begins = parent == GROUND or on_base or (size[i] >= _LIMB and rivals[parent] > 1)
        of.append(i if begins else of[parent])
    names: dict[int, list[str]] = {}
    for i, first in enumerate(of):
        names.setdefault(first, []).append(cluster_tree.moving[i].name)
    called = group_titles([*names.values()])
    return {name: limb for own, limb in zip(names.values(), called, strict=True) for name in own}


def group_titles(groups: Sequence[Sequence[str]]) -> list[str]:
    """Titles of groups of names: how all of one begin, and where several begin alike, such as a left leg and a left
    arm, or those of one do not, from where to where it reaches."""
    called = [""] * len(groups)
    for naming in (_beginning, _reach, _whole_reach):
        found = [name or naming(own) for name, own in zip(called, groups, strict=True)]
        called = [name if found.count(name) == 1 else "" for name in found]
    return [name or own[0] for name, own in zip(called, groups, strict=True)]


def _beginning(names: Sequence[str]) -> str:
    """The words in which several names begin alike, without digits; empty if there are none."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    length = len([*alike])
    while length and any(_inside_word(name, length) for name in names):
        length -= 1
    common = names[0][:length].rstrip("_-. 0123456789")
    return common if len(names) > 1 and len(common) > 1 else ""


def _inside_word(name: str, at: int) -> bool:
    """Whether a place in a name is inside one of its words: left_knee, LeftKnee and knee1 begin with a whole one."""
    before, after = name[at - 1 : at], name[at : at + 1]
    return before.isalpha() and after.isalpha() and not (before.islower() and after.isupper())


def _reach(names: Sequence[str]) -> str:
    """From where to where a group of names reaches: from how the first two begin to how the last two do, or from the
    first to the last."""
    short, common = without_ending(names), _beginning(names)
    ends = []
    for pair, alone in ((short[:2], short[0]), (short[-2:], short[-1])):
        shared = _beginning(pair)
        ends.append(shared if len(shared) > len(common) else alone)
    return f"{ends[0]}{RANGE}{ends[1]}" if ends[0] != ends[1] else ""


def _whole_reach(names: Sequence[str]) -> str:
    """The first name and the last."""
    return f"{names[0]}{RANGE}{names[-1]}" if len(names) > 1 else names[0]


def euler(quaternion: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw (n, 3) of quaternions (n, 4), without jumps."""
    w, x, y, z = quaternion.T / np.maximum(np.linalg.norm(quaternion, axis=-1), 1e-300)
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return np.unwrap(np.stack([roll, pitch, yaw], axis=-1), axis=0)


def coordinate_lines(robot: System, q: np.ndarray) -> list[Line]:
    """The coordinates (n, nq) of a robot: those of quaternions as angles; of many that loops tie, the independent."""
    cluster_tree, names, limits = robot.model.cluster_tree, robot.names.coordinates, robot.limits
    joints = [c.name for c in cluster_tree.moving]
    owner = [joint_of(name, joints) or name for name in names]
    limb, lengths = limbs(cluster_tree), straight(cluster_tree) | _sliding(robot)
    moved = {joint_of(name, joints) for name in robot.names.velocities}
    wanted = set(owner) if len(names) <= TOGETHER else moved
    starts = quaternion_starts(cluster_tree)
    lines, at = [], 0
    while at < len(names):
        here = limb.get(owner[at], owner[at])
        if at in starts:
            if owner[at] in wanted:
                angles = zip(("roll", "pitch", "yaw"), euler(q[:, at : at + 4]).T, strict=True)
                lines += [Line(f"{owner[at]}.{name}", "rad", here, x) for name, x in angles]
            at += 4
            continue
        if owner[at] in wanted:
            unit = "m" if at in lengths else "rad"
            lines.append(Line(names[at], unit, here, q[:, at], float(limits.lower[at]), float(limits.upper[at])))
        at += 1
    return lines


def quaternion_starts(cluster_tree: ClusterTree) -> set[int]:
    """Where quaternions begin in q."""
    return {j.first + k for j in stored_joints(cluster_tree) for k in j.joint.quaternions}


def _sliding(robot: System) -> set[int]:
    """The coordinates of explicit loops that are distances."""
    cluster_tree, slides = robot.model.cluster_tree, set()
    for c in cluster_tree.moving:
        both = zip(velocity_names(c.name, c.joint), turning(c.joint), strict=True)
        slides |= {name for name, turns in both if not turns}
    coordinates, velocities = robot.names.coordinates, set(robot.names.velocities)
    return {i for i, name in enumerate(coordinates) if name in velocities and name in slides}


def velocity_lines(
    robot: System, x: np.ndarray, units: tuple[str, str], limits: np.ndarray | None = None
) -> list[Line]:
    """Velocities or forces (n, nv), with units of those that turn and those that slide, and limits on both sides."""
    cluster_tree = robot.model.cluster_tree
    turns: dict[str, bool] = {}
    for c in cluster_tree.moving:
        turns.update(zip(velocity_names(c.name, c.joint), turning(c.joint), strict=True))
    joints, limb = [c.name for c in cluster_tree.moving], limbs(cluster_tree)
    lines = []
    for i, name in enumerate(robot.names.velocities):
        end = np.inf if limits is None else float(limits[i])
        owner = joint_of(name, joints) or name
        unit = units[0] if turns.get(name, True) else units[1]
        lines.append(Line(name, unit, limb.get(owner, owner), x[:, i], -end, end))
    return lines


def panels(title: str, lines: Sequence[Line], most: int = TOGETHER) -> list[Panel]:
    """Lines by unit, and where there are many of a unit, by limb."""
    all_panels = []
    for unit in dict.fromkeys(line.unit for line in lines):
        of_unit = [line for line in lines if line.unit == unit]
        if len(of_unit) <= most:
            all_panels.append(Panel(title, unit, tuple(of_unit)))
            continue
        by_limb: dict[str, list[Line]] = {}
        for line in of_unit:
            by_limb.setdefault(line.limb, []).append(line)
        large = [members for members in by_limb.values() if len(members) > _FEW]
        parts = [members[i : i + most] for members in large for i in range(0, len(members), most)]
        called = group_titles([[line.name for line in part] for part in parts])
        all_panels += [Panel(f"{title}: {x}", unit, tuple(part)) for x, part in zip(called, parts, strict=True)]
        rest = [line for members in by_limb.values() if len(members) <= _FEW for line in members]
        parts = [rest[i : i + most] for i in range(0, len(rest), most)]
        all_panels += [Panel(f"{title}: {_others(part)}", unit, tuple(part)) for part in parts]
    return all_panels


def _others(lines: Sequence[Line]) -> str:
    """The title of lines of several limbs."""
    names = list(dict.fromkeys(line.limb for line in lines))
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and others"


def largest(title: str, lines: Sequence[Line], most: int = TOGETHER) -> list[Panel]:
    """One panel for each unit, with the largest lines of it."""
    all_panels = []
    for unit in dict.fromkeys(line.unit for line in lines):
        own = [line for line in lines if line.unit == unit]
        largest_lines = sorted(own, key=lambda line: -line.size)[:most]
        shown = [line for line in own if line in largest_lines]
        said = f"{title}, the {most} largest of {len(own)}" if len(own) > most else title
        all_panels.append(Panel(said, unit, tuple(shown)))
    return all_panels
