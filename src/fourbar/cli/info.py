"""info: what a robot is made of.

Prints the tree of bodies with their joints, masses and frames, and which entries of q and v belong to which joint.
"""

from __future__ import annotations

import argparse

from ..model.mechanism import WORLD, Mechanism
from ..system.robot import System
from . import table
from .arguments import DEFAULT_ROBOT, add_robot, read_robot


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser, nargs="?", default=DEFAULT_ROBOT)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    print(describe(read_robot(args.robot)))
    return 0


def describe(robot: System) -> str:
    """A robot as text."""
    m: Mechanism = robot.mechanism
    head = ("body", "joint", "q", "v", "mass [kg]", "type")
    tree = table.columns(head, [(WORLD, *[""] * 5), *_branches(m, WORLD, "", _places(robot))], right=(4,))
    moving = [c for c in m.connections if c.joint.nv]
    totals = [
        ("robot", m.name),
        ("bodies", str(len(m.bodies))),
        ("joints", f"{len(moving)} moving, {len(m.connections) - len(moving)} fixed"),
        ("frames", str(len(m.frames))),
        ("loops", str(len(m.loops))),
        ("coordinates", f"nq = {robot.nq}, nv = {robot.nv}"),
        ("mass", f"{sum(b.mass for b in m.bodies):.6g} kg"),
        ("gravity", "({:g}, {:g}, {:g}) m/s²".format(*m.gravity)),
    ]
    return "\n\n".join([table.pairs(totals), tree, *_clusters(robot)])


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
    names = robot.names
    return {
        c.child: (_span(names.coordinates, c.name), _span(names.velocities, c.name))
        for c in robot.mechanism.connections
    }


def _span(labels: tuple[str, ...], joint: str) -> str:
    found = [i for i, label in enumerate(labels) if label == joint or label.startswith(f"{joint}.")]
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]}:{found[-1] + 1}"


def _branches(m: Mechanism, parent: str, indent: str, places: dict[str, tuple[str, str]]) -> list[tuple[str, ...]]:
    """Rows for all that hangs on a body: its frames, then its children, each with what it carries."""
    mass = {b.name: b.mass for b in m.bodies}
    frames = [f for f in m.frames if f.body == parent]
    children = [c for c in m.connections if c.parent == parent]
    rows: list[tuple[str, ...]] = []
    for k, item in enumerate([*frames, *children], start=1):
        last = k == len(frames) + len(children)
        branch, further = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if k <= len(frames):
            rows.append((f"{indent}{branch}{item.name}", "", "", "", "", "frame"))
            continue
        c = children[k - 1 - len(frames)]
        rows.append((f"{indent}{branch}{c.child}", c.name, *places[c.child], f"{mass[c.child]:.6g}", repr(c.joint)))
        rows += _branches(m, c.child, indent + further, places)
    return rows
