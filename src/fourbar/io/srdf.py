"""SRDF, what MoveIt keeps beside a URDF: which links never collide, and named states of the joints.

`disable_collisions` names two links whose shapes do not meet, `disable_default_collisions` one that meets no other link
unless `enable_collisions` names the two. `group_state` is a configuration; states of one name belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, unknown
from ..joints import Free
from ..mechanism.builder import MechanismBuilder
from ..mechanism.mechanism import WORLD, Mechanism
from .element import Element, report_leftovers
from .report import Reading
from .source import Options, read_source
from .xml import parse

_PLANNING = "concerns planning and is ignored"
_OTHERS: dict[str, str] = dict.fromkeys(
    ("group/*", "group", "end_effector", "virtual_joint", "passive_joint", "link_sphere_approximation", "gripper",
     "specificities", "rotor_params", "torque_constant", "state", "joint_property", "group_state@*", "robot@*"),
    _PLANNING,
)  # fmt: skip
Pair = frozenset[str]


def add_srdf(builder: MechanismBuilder, path: Any, options: Options) -> Reading:
    """Add what an SRDF file says to a robot; returns its findings."""
    if not isinstance(path, str | Path):
        raise ArgumentError(f"srdf={path!r}: expected the name of a file")
    source = read_source(path)
    reading = options.reading(source)
    root = parse(source, reading)
    if root.tag != "robot":
        root.fail(f"the root element is <{root.tag}>, not <robot>", "is this an SRDF?")
    mechanism = builder.mechanism()
    name = root.get("name")
    if name and name != mechanism.name:
        reading.note(root.place, f"it is for a robot {name!r}, not {mechanism.name!r}", key="robot@name")
    for first, second in _disabled_pairs(root, [b.name for b in mechanism.bodies]):
        builder.exclude_contact(first, second)
    known = {x.name for x in mechanism.configurations}
    for name, coordinates in _states(root, mechanism).items():
        if name in known:
            reading.warn(root.place, f"a second configuration {name!r}; the first is kept", key="group_state")
        else:
            builder.configuration(name, coordinates)
    report_leftovers(root, others=_OTHERS)
    reading.check()
    return reading


def _disabled_pairs(root: Element, bodies: Collection[str]) -> Iterator[tuple[str, str]]:
    """The pairs of bodies that do not meet, each once."""
    apart: dict[Pair, tuple[str, str]] = {}
    for element in root.all("disable_collisions"):
        pair = _two(element, bodies)
        if pair is not None:
            apart.setdefault(frozenset(pair), pair)
    meeting = {frozenset(pair) for x in root.all("enable_collisions") if (pair := _two(x, bodies)) is not None}
    for element in root.all("disable_default_collisions"):
        link = element.require("link")
        if _is_known(element, link, bodies):
            for other in sorted(set(bodies) - {link}):
                if frozenset((link, other)) not in meeting:
                    apart.setdefault(frozenset((link, other)), (link, other))
    yield from apart.values()


def _two(element: Element, bodies: Collection[str]) -> tuple[str, str] | None:
    """The two links that an element names; None if the robot does not have both."""
    element.mark("@reason")
    first, second = element.require("link1"), element.require("link2")
    if first == second:
        element.reading.warn(element.place, f"both links are {first!r}", "remove it", element.key)
        return None
    both = [_is_known(element, x, bodies) for x in (first, second)]
    return (first, second) if all(both) else None


def _is_known(element: Element, link: str, bodies: Collection[str]) -> bool:
    if link in bodies:
        return True
    if link != WORLD:
        element.reading.warn(element.place, str(unknown("link", link, bodies)), "is it for this robot?", element.key)
    return False


def _states(root: Element, mechanism: Mechanism) -> dict[str, dict[str, tuple[float, ...]]]:
    """Coordinates by joint, of each state; the root is among the joints where it moves."""
    joints = {c.name: c.joint for c in mechanism.joints}
    states: dict[str, dict[str, tuple[float, ...]]] = {}
    for state in root.all("group_state"):
        coordinates = states.setdefault(state.require("name"), {})
        state.mark("@group")
        for element in state.all("joint"):
            name = element.require("name")
            element.mark("@value")
            if name not in joints:
                if name != "root_joint":  # a robot on the ground has none
                    text = str(unknown("joint", name, joints))
                    element.reading.warn(element.place, text, "is it for this robot?", element.key)
            elif joints[name].nq:
                numbers = element.numbers("value", joints[name].nq)
                if isinstance(joints[name], Free):  # x y z, and a quaternion whose w is the last
                    numbers = (*numbers[:3], numbers[6], *numbers[3:6])
                coordinates[name] = numbers
    return {name: own for name, own in states.items() if own}
