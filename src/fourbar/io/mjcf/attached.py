"""Models that a document attaches, and how many bodies that makes: models that attach models multiply."""

from __future__ import annotations

import math

from ..element import Element
from ..meshes import Meshes

COPYING = ("replicate", "composite", "flexcomp")
MOST_COPIES = 10_000


class Model:
    """A document that is attached, or the main one, with the files that it includes."""

    def __init__(self, name: str, files: Meshes, parent: Model | None = None) -> None:
        self.name, self.files = name, files
        self.chain: tuple[str, ...] = (name,) if parent is None else (*parent.chain, name)
        self.attachable: dict[str, Model] = {}  # by the name that it has here
        self._bodies = 0.0
        self._attaches: list[Element] = []

    def count(self, element: Element) -> None:
        """Count a body, or remember an <attach>."""
        if element.tag == "body":
            self._bodies += copies(element)
        elif element.tag == "attach":
            self._attaches.append(element)

    def check_size(self) -> float:
        """How many bodies it makes, with all that is attached; too many are refused."""
        total, sizes = self._bodies, {name: model.check_size() for name, model in self.attachable.items()}
        for element in self._attaches:
            named = sizes.get(element.attributes.get("model", ""), max(sizes.values(), default=0.0))
            total += copies(element) * named
            if total > MOST_COPIES:
                element.fail(f"{total:.3g} bodies are attached", f"at most {MOST_COPIES} are made")
        return total


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
