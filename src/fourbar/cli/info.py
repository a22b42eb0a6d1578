"""info: what a robot is made of.

Prints the tree of bodies with their joints, masses and frames, and which entries of q and v belong to which joint.
"""

from __future__ import annotations

import argparse
from itertools import accumulate

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
    tree = table.columns(head, [(WORLD, *[""] * 5), *_branches(m, WORLD, "", _places(m))], right=(4,))
    moving = [c for c in m.connections if c.joint.nv]
    totals = [
        ("robot", m.name),
        ("bodies", str(len(m.bodies))),
        ("joints", f"{len(moving)} moving, {len(m.connections) - len(moving)} fixed"),
        ("frames", str(len(m.frames))),
        ("coordinates", f"nq = {m.nq}, nv = {m.nv}"),
        ("mass", f"{sum(b.mass for b in m.bodies):.6g} kg"),
        ("gravity", "({:g}, {:g}, {:g}) m/s²".format(*m.gravity)),
    ]
    return f"{table.pairs(totals)}\n\n{tree}"


def _places(m: Mechanism) -> dict[str, tuple[str, str]]:
    """For every body the entries of q and v of its joint."""
    joints = [c.joint for c in m.connections]
    first_q = accumulate((j.nq for j in joints), initial=0)
    first_v = accumulate((j.nv for j in joints), initial=0)
    return {
        c.child: (_span(q, c.joint.nq), _span(v, c.joint.nv))
        for c, q, v in zip(m.connections, first_q, first_v, strict=False)
    }


def _span(first: int, count: int) -> str:
    return "" if count == 0 else str(first) if count == 1 else f"{first}:{first + count}"


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
