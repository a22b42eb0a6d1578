"""Links and joints form a tree: one root, and one joint for every other link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import unknown
from ...mechanism.mechanism import WORLD
from ..element import Element
from .joints import ReadJoint


def check_tree(root: Element, links: Mapping[str, Element], joints: Sequence[ReadJoint]) -> list[str]:
    """The links, parents first, otherwise in the order of the file. All wrong joints are reported."""
    reading = root.reading
    carried: dict[str, ReadJoint] = {}
    for joint in joints:
        with reading.element():
            _check_ends(joint, links, carried)
            carried[joint.child] = joint
    reading.check()
    roots = [name for name in links if name not in carried]
    order = _reach(roots[:1], carried)
    for name in roots[1:]:
        with reading.element():
            fix = "connect it with a joint, or remove it"
            links[name].fail(f"link {name!r} is not connected: the root is {roots[0]!r}", fix)
    reading.check()
    for name in links:
        if name not in order:
            joint = carried[name]
            joint.element.fail(f"joints form a cycle: {_circle(carried, name)}", _ONE_PARENT)
    return list(order)


def with_ground(root: Element, links: dict[str, Element], joints: Iterable[ReadJoint]) -> dict[str, Element]:
    """The links, and the ground where joints refer to it without it being declared, as in Drake's files, and that is
    waived.
    """
    grounded = next((joint for joint in joints if joint.parent == WORLD), None)
    if WORLD in links or grounded is None:
        return links
    place, text = grounded.element.place, f"there is no link {WORLD!r}; URDF does not declare it implicitly"
    root.reading.doubt(place, text, f'declare the ground: <link name="{WORLD}"/>', WORLD)
    return {WORLD: Element("link", {"name": WORLD}, root, grounded.element.line, root.reading), **links}


_ONE_PARENT = "a link has one parent, and all have one root; close a loop with <loop>, or in a side-car file"


def _check_ends(joint: ReadJoint, links: Mapping[str, Element], carried: Mapping[str, ReadJoint]) -> None:
    for end in (joint.parent, joint.child):
        if end not in links:
            joint.element.fail(str(unknown("link", end, links)))
    if joint.child in carried:
        other = carried[joint.child]
        joint.element.fail(
            f"link {joint.child!r} already has a joint, {other.name!r} (line {other.element.line})", _ONE_PARENT
        )


def _reach(roots: Sequence[str], carried: Mapping[str, ReadJoint]) -> dict[str, None]:
    """The given links and all their descendants, parents first, depth first."""
    children: dict[str, list[str]] = {}
    for joint in carried.values():
        children.setdefault(joint.parent, []).append(joint.child)
    order: dict[str, None] = {}
    stack = list(roots)
    while stack:
        name = stack.pop()
        order[name] = None
        stack.extend(reversed(children.get(name, ())))
    return order


def _circle(carried: Mapping[str, ReadJoint], name: str) -> str:
    """The cycle that contains a link or its ancestors, as text."""
    seen: dict[str, int] = {}
    while name not in seen:
        seen[name] = len(seen)
        name = carried[name].parent
    shown = [*list(seen)[seen[name] :], name]
    return " <- ".join(shown[:12]) + (" <- ..." if len(shown) > 12 else "")


def chain(parents: Mapping[str, str], link: str) -> list[str]:
    """The link, its parent, and so on to the root."""
    path = [link]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path
