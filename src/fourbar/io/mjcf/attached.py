"""Models that a document attaches, and how many bodies that makes: models that attach models multiply."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from ..element import Element
from ..meshes import Meshes
from ..report import Place

COPYING = ("replicate", "composite", "flexcomp")
MOST_COPIES = 10_000


class Model:
    """A document that is attached, or the main one, with the files that it includes."""

    def __init__(self, name: str, files: Meshes, parent: Model | None = None) -> None:
        self.name, self.files = name, files
        self.chain: tuple[str, ...] = (name,) if parent is None else (*parent.chain, name)
        self.attachable: dict[str, Model] = {}  # by the name that it has here
        self.included: set[str] = {str(Path(name).resolve())}
        self._bodies = 0.0
        self._attaches: list[Element] = []
        self._keys: list[Element] = []

    def count(self, element: Element) -> None:
        """Count a body, or remember an <attach> or a keyframe."""
        if element.tag == "body":
            self._bodies += copies(element)
        elif element.tag == "attach":
            self._attaches.append(element)
        elif element.tag == "key":
            self._keys.append(element)

    def check_size(self) -> float:
        """How many bodies it makes, with all that is attached; too many are refused."""
        total, sizes = self._bodies, {name: model.check_size() for name, model in self.attachable.items()}
        for element in self._attaches:
            named = sizes.get(element.attributes.get("model", ""), max(sizes.values(), default=0.0))
            total += copies(element) * named
            if total > MOST_COPIES:
                element.fail(f"{total:.3g} bodies are attached", f"at most {MOST_COPIES} are made")
        return total

    def keys(self) -> Iterator[tuple[str, Place]]:
        """The names of keyframes and where they are, those of attached models too."""
        for number, key in enumerate(self._keys):
            yield key.attributes.get("name") or f"key{number}", Place(key.reading.file, key.line, key.tag)
        for element in self._attaches:
            other = self.attachable.get(element.attributes.get("model", ""))
            for name, place in other.keys() if other is not None else ():
                yield element.attributes.get("prefix", "") + name, place


def copies(element: Element) -> float:
    """How many copies an element makes, with those that it is part of; 1 where MuJoCo will refuse a count."""
    total, at = 1.0, element
    while at is not None:
        if at.tag in COPYING:
            try:
                total *= math.prod(max(1.0, float(n)) for n in at.attributes.get("count", "1").split())
            except ValueError:
                return 1.0
        at = at.parent
    return total if total == total else math.inf
