"""info: describe the bodies, joints and actuators of a robot.

Prints the tree of bodies with their joints, masses and frames, the entries of q and v of each joint, limits, efforts,
damping and friction, and the actuators.
"""

from __future__ import annotations

import argparse
import math

from ..joints.base import turning
from ..joints.euclidean import is_flat
from ..mechanism.contact_pairs import contact_candidates
from ..mechanism.mechanism import WORLD, Frame, Mechanism, PlacedJoint, velocity_names
from ..system.system import System
from . import shared_arguments
from .shared_arguments import DEFAULT_ROBOT, add_robot, read_robot, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser, nargs="?", default=DEFAULT_ROBOT)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    robot = read_robot(args.robot, **reading_options(args))
    print("\n\n".join([describe(robot), *(["findings\n" + str(robot.report)] if len(robot.report) else [])]))
    return 0


def describe(robot: System) -> str:
    """A robot as text."""
    m: Mechanism = robot.mechanism
    head = ("body", "joint", "q", "v", "mass [kg]", "type")
    tree = shared_arguments.columns(head, [(WORLD, *[""] * 5), *_branches(m, _places(robot))], right=(4,))
    moving = [c for c in m.joints if c.joint.nv]
    totals = [
        ("robot", m.name),
        ("bodies", str(len(m.bodies))),
        ("joints", f"{len(moving)} moving, {len(m.joints) - len(moving)} fixed"),
        ("frames", str(len(m.frames))),
        ("loops", str(len(m.loops))),
        ("actuators", str(len(m.actuators))),
        ("shapes", _shapes(m)),
        ("coordinates", f"nq = {robot.nq}, nv = {robot.nv}"),
        ("mass", f"{sum(b.mass for b in m.bodies):.6g} kg"),
        ("gravity", "({:g}, {:g}, {:g}) m/s²".format(*m.gravity)),
    ]
    tables = [*joint_table(m), *actuator_table(m), *armature_table(m), *_clusters(robot)]
    return "\n\n".join([shared_arguments.pairs(totals), tree, *tables])


def _number(x: float) -> str:
    return "" if not math.isfinite(x) or x == 0.0 else f"{x:.6g}"


def joint_table(m: Mechanism) -> list[str]:
    """Limits and passive forces of the joints, without columns in which there is nothing; none if there are none."""
    head = ["joint", "unit", "lower", "upper", "speed", "force", "damping", "friction", "stiffness", "armature"]
    rows = []
    for c in m.joints:
        flat = c.joint.nv > 0 and is_flat(c.joint)
        for k, (name, turns) in enumerate(zip(velocity_names(c.name, c.joint), turning(c.joint), strict=True)):
            ends = [f"{x[k]:.6g}" if flat and math.isfinite(x[k]) else "" for x in (c.lower, c.upper)]
            least = -c.min_force[k] if c.min_force else math.inf
            force = min(c.max_force[k] if c.max_force else math.inf, least)
            more = (c.max_velocity[k] if c.max_velocity else math.inf, force)
            rest = (c.damping[k], c.friction[k], c.stiffness[k] if c.stiffness else 0.0, c.armature[k])
            numbers = [*ends, *map(_number, (*more, *rest))]
            rows += [[name, "rad" if turns else "m", *numbers]] if any(numbers) else []
    columns = [0, *(i for i in range(1, len(head)) if any(row[i] for row in rows))]
    if not rows:
        return []
    shown = [[row[i] for i in columns] for row in rows]
    return [shared_arguments.columns([head[i] for i in columns], shown, right=range(2, len(columns)))]


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{x:.6g}" for x in ends)
    return "" if ends == (-math.inf, math.inf) else f"±{high}" if ends[0] == -ends[1] else f"{low} to {high}"


def actuator_table(m: Mechanism) -> list[str]:
    """The actuators and the joints that they drive, if there are any."""
    rows = []
    for a in m.actuators:
        moved = ", ".join(f"{_gears(drive.gear)}{drive.joint}" for drive in a.drives)
        rows.append((a.name, moved, a.kind, _range(a.control_range), _range(a.force_range)))
    return [shared_arguments.columns(("actuator", "moves", "kind", "control", "force"), rows)] if rows else []


def armature_table(m: Mechanism) -> list[str]:
    """Armature that couples joints, if there is any."""
    rows = []
    for x in m.armatures:
        matrix = "; ".join(" ".join(f"{entry:.6g}" for entry in row) for row in x.matrix)
        rows.append((x.name, ", ".join(x.joints), matrix))
    return [shared_arguments.columns(("armature", "couples", "matrix"), rows)] if rows else []


def _gears(gear: tuple[float, ...]) -> str:
    return "" if gear == (1.0,) else f"{gear[0]:g} x " if len(gear) == 1 else f"{[*gear]} x "


def _shapes(m: Mechanism) -> str:
    """Numbers of collision shapes, of shapes of the world, and of pairs that may touch."""
    touching = sum(x.role == "collision" for b in m.bodies for x in b.geometry)
    shown = sum(x.role == "visual" for b in m.bodies for x in b.geometry)
    pairs = len(contact_candidates(m))
    return f"{touching} for collision, {shown} for viewing, {len(m.world)} of the world; {pairs} pairs may touch"


def _clusters(robot: System) -> list[str]:
    """The bodies that loops tie together, if there are any."""
    tied = [c for c in robot.clusters if c.loops]
    if not tied:
        return []
    head = ("loops", "tie", "on", "independent")
    listed = [
        (", ".join(c.loops), ", ".join(c.bodies), ", ".join(c.carriers), ", ".join(c.velocity_names)) for c in tied
    ]
    return [shared_arguments.columns(head, listed, right=())]


def _places(robot: System) -> dict[str, tuple[str, str]]:
    """For every body the entries of q and v of its joint; none where loops determine them."""
    moving = {c.name for c in robot.mechanism.joints}
    q, v = (_spans(labels, moving) for labels in (robot.names.coordinates, robot.names.velocities))
    return {c.child: (q.get(c.name, ""), v.get(c.name, "")) for c in robot.mechanism.joints}


def _spans(labels: tuple[str, ...], joints: set[str]) -> dict[str, str]:
    """The entries of each joint, as text; a label is the joint's name, or begins with it and a dot."""
    found: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(label if label in joints else label.rpartition(".")[0], []).append(i)
    return {name: str(at[0]) if len(at) == 1 else f"{at[0]}:{at[-1] + 1}" for name, at in found.items()}


def _branches(m: Mechanism, places: dict[str, tuple[str, str]]) -> list[tuple[str, ...]]:
    """Rows for all that hangs on the world: the frames of a body, then its children, each with what it carries."""
    mass = {b.name: b.mass for b in m.bodies}
    hanging: dict[str, list[Frame | PlacedJoint]] = {}
    for item in (*m.frames, *m.joints):
        hanging.setdefault(item.body if isinstance(item, Frame) else item.parent, []).append(item)
    rows: list[tuple[str, ...]] = []
    stack = [(item, "", item is hanging[WORLD][-1]) for item in reversed(hanging.get(WORLD, []))]
    while stack:
        item, indent, last = stack.pop()
        branch, further = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if isinstance(item, Frame):
            rows.append((f"{indent}{branch}{item.name}", "", "", "", "", "frame"))
            continue
        name = item.child
        rows.append((f"{indent}{branch}{name}", item.name, *places[name], f"{mass[name]:.6g}", repr(item.joint)))
        below = hanging.get(name, [])
        stack += [(x, indent + further, x is below[-1]) for x in reversed(below)]
    return rows
