"""Names for elements that MuJoCo leaves unnamed, and the lines of all elements in their files.

MuJoCo knows the line of most elements, through copies and attachments, but not the file. It therefore gets documents
with one element per line, with lines counted on from one to the next: a line then identifies the element that our
reader saw, in its own file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..element import Element
from ..report import Place, loop_key


class MjcfNames:
    """The names of a model's objects: those of the file, and suitable ones for the rest.

    Bodies and sites share one namespace here, unlike in MuJoCo: a site may get another name.
    """

    def __init__(self, model: Any) -> None:
        self.bodies = ["world", *_complete([model.body(i).name for i in range(1, model.nbody)], "body", {"world"})]
        self.joints = _complete([model.joint(i).name for i in range(model.njnt)], "joint", set())
        for i in range(model.njnt):
            owner = model.jnt_bodyid[i]
            if not model.joint(i).name and model.body_jntnum[owner] == 1 and self.bodies[owner] not in self.joints:
                self.joints[i] = self.bodies[owner]
        self.sites = _complete([model.site(i).name for i in range(model.nsite)], "site", {*self.bodies})
        self.tendons = _complete([model.tendon(i).name for i in range(model.ntendon)], "tendon", set())
        self.equalities = _complete([model.equality(i).name for i in range(model.neq)], "equality", set())
        count = len(model.actuator_trntype)
        self.actuators = _complete([model.actuator(i).name for i in range(count)], "actuator", set())
        self.keys = _complete([model.key(i).name for i in range(model.nkey)], "key", {"qpos0"})

    def carrier(self, body: int, joint: int) -> str:
        """The name of the massless body that one of several joints of a body carries."""
        return unique_name(f"{self.bodies[body]}/{self.joints[joint]}", {*self.bodies, *self.sites})

    def drag(self, body: int) -> str:
        """The name of the massless body that carries the drag of a body."""
        return unique_name(f"{self.bodies[body]}/drag", {*self.bodies, *self.sites, *self.joints})

    def fixed_joint(self, body: int) -> str:
        """The name of the joint of a body that has none."""
        return unique_name(self.bodies[body], set(self.joints))


def unique_name(name: str, reserved: set[str]) -> str:
    """The name, with the first number appended that makes it unique."""
    chosen, n = name, 1
    while chosen in reserved:
        n += 1
        chosen = f"{name}_{n}"
    return chosen


def _complete(names: list[str], kind: str, reserved: set[str]) -> list[str]:
    """The names, with `kind` and a number where there is none, and a number where it is taken."""
    used = reserved | {name for name in names if name}
    done: set[str] = set(reserved)
    complete_names = []
    for number, name in enumerate(names):
        chosen = name if name and name not in done else unique_name(name or f"{kind}{number}", used)
        used.add(chosen)
        done.add(chosen)
        complete_names.append(chosen)
    return complete_names


# How MuJoCo says which element it means, or where a thing comes from; other words are the file's own.
_LINE = re.compile(r"^(?:(Element .*), )?line (\d+)$", re.MULTILINE)
_MOST = 1_000_000  # elements of all documents
# `xml.sax.saxutils` has this too, but imports the clients of HTTP and TLS, which takes longer than to read a file.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
# The names of the groups of a spec that findings refer to, and where `Names` has them.
_GROUPS = (
    ("body", "bodies"), ("joint", "joints"), ("site", "sites"), ("tendon", "tendons"), ("equality", "equalities"),
    ("actuator", "actuators"),
)  # fmt: skip


class ElementLines:
    """The places of elements: by the line that MuJoCo knows, and by kind and name."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._elements: list[Element] = []
        self._places: dict[tuple[str, str], Place] = {}

    def text(self, root: Element) -> str:
        """A document for MuJoCo, whose lines follow all earlier ones (iteratively: bodies may be nested deeply).

        Text between tags is left out: it has no meaning, and could contain line breaks.
        """
        parts, stack = ["\n" * len(self._elements)], [(root, "")]
        while stack:
            element, closing = stack.pop()
            if closing:
                parts.append(closing)
                continue
            self._elements.append(element)
            if len(self._elements) > _MOST:
                element.fail(f"the file and what it includes have more than {_MOST} elements")
            said = "".join(f' {name}="{value.translate(_ESCAPED)}"' for name, value in element.attributes.items())
            parts.append(f"{'' if element is root else chr(10)}<{element.tag}{said}>")
            stack.append((element, f"</{element.tag}>"))
            stack.extend((child, "") for child in reversed(element.children))
        return "".join(parts)

    def at(self, said: str) -> Place | None:
        """The place of the first element that a message of MuJoCo refers to."""
        element = self.element_at(said)
        return None if element is None else _place(element)

    def element_at(self, said: str) -> Element | None:
        """The first element that a message of MuJoCo refers to."""
        found = _LINE.search(said)
        number = int(found.group(2)) if found else 0
        return self._elements[number - 1] if 0 < number <= len(self._elements) else None

    def learn(self, spec: Any, model: Any) -> None:
        """Store where the things of a compiled model are, by their names here."""
        names = MjcfNames(model)
        for kind, group in _GROUPS:
            names_of_kind = getattr(names, group)
            for thing in getattr(spec, group):
                if 0 <= thing.id < len(names_of_kind) and (not thing.name or thing.name == names_of_kind[thing.id]):
                    element = self.element_at(thing.info) or (self._free_joint(thing) if kind == "joint" else None)
                    if element is not None:
                        self._places[kind, names_of_kind[thing.id]] = _place(element)

    def learn_names(self, kind: str, places: Iterable[tuple[str, Place]]) -> None:
        """Store where things are whose line MuJoCo does not know, by name."""
        self._places.update({(kind, name): place for name, place in places})

    def _free_joint(self, joint: Any) -> Element | None:
        """The <freejoint> of a joint without a line."""
        body = self.element_at(joint.parent.info)
        return None if body is None else next((x for x in body.children if x.tag == "freejoint"), None)

    def of(self, kind: str, name: str) -> Place:
        """The place of a thing."""
        return self._places.get((kind, name), Place(self.file, 0, f"{kind} {name!r}"))

    def places_by_name(self) -> dict[str, Place]:
        """The places of bodies and joints, by name alone, and of loops."""
        loops = {loop_key(name): place for (kind, name), place in self._places.items() if kind == "equality"}
        return loops | {name: place for (kind, name), place in self._places.items() if kind in ("body", "joint")}

    def of_ours(self, kind: str, name: str) -> Place:
        """The place of a "configuration" or "loop" of the mechanism."""
        return self.of({"configuration": "key", "loop": "equality"}[kind], name)


def without_lines(said: str) -> str:
    """MuJoCo's message on one line, without its internal line numbers."""
    return " ".join(_LINE.sub(lambda found: found[1] or "", said).split())


def _place(element: Element) -> Place:
    return Place(element.reading.file, element.line, element.tag)
