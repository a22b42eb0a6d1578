"""info: what a robot is made of.

Prints the tree of bodies with their joints, masses and frames, and which entries of q and v belong to which joint.
"""

from __future__ import annotations

import argparse

from ..mechanism.contact_pairs import contact_candidates
from ..mechanism.mechanism import WORLD, Frame, Mechanism, PlacedJoint
from ..system.system import System
from . import table
from .arguments import DEFAULT_ROBOT, add_robot, read_robot, reading_options


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
    tree = table.columns(head, [(WORLD, *[""] * 5), *_branches(m, _places(robot))], right=(4,))
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
    return "\n\n".join([table.pairs(totals), tree, *_clusters(robot)])


def _shapes(m: Mechanism) -> str:
    """How many shapes collide, how many of the world, and how many pairs may touch."""
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
    listed = [(", ".join(c.loops), ", ".join(c.bodies), c.carrier, ", ".join(c.velocity_names)) for c in tied]
    return [table.columns(head, listed, right=())]


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
