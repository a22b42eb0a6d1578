"""Models that a document attaches, and how many bodies result: models that attach models multiply."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from ...once import cached_property
from ..element import Element
from ..report import Place

COPYING = ("replicate", "composite", "flexcomp")
MOST_COPIES = 10_000


class Size(NamedTuple):
    """The size of a model: its bodies, and its models, which are itself and copies of those it attaches."""

    bodies: float
    models: float


class MjcfDocument:
    """The main document, or an attached one, with the files that it includes."""

    def __init__(self, name: str, parent: MjcfDocument | None = None) -> None:
        self.name = name
        self.chain: tuple[str, ...] = (name,) if parent is None else (*parent.chain, name)
        self.attachable: dict[str, MjcfDocument] = {}  # by the name that it has here
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

    def check_size(self) -> Size:
        """The size of the result, with all that is attached; too much is refused."""
        total, sizes = Size(self._bodies, 1.0), {name: model.check_size() for name, model in self.attachable.items()}
        largest = Size(*(max(parts) for parts in zip(Size(0.0, 1.0), *sizes.values(), strict=True)))
        for element in self._attaches:
            more, n = sizes.get(element.attributes.get("model", ""), largest), copies(element)
            total = Size(*(own + n * part for own, part in zip(total, more, strict=True)))
            for number, what in zip(total, ("bodies", "models"), strict=True):
                if number > MOST_COPIES:
                    element.fail(f"{number:.3g} {what} are attached", f"at most {MOST_COPIES} are allowed")
        return total

    @cached_property
    def keys(self) -> list[tuple[str, Place]]:
        """The names of keyframes and where they are, those of attached models too."""
        found = [
            (key.attributes.get("name") or f"key{number}", Place(key.reading.file, key.line, key.tag))
            for number, key in enumerate(self._keys)
        ]
        for element in self._attaches:
            other, prefix = self.attachable.get(element.attributes.get("model", "")), element.attributes.get("prefix")
            found += [((prefix or "") + name, place) for name, place in other.keys] if other is not None else []
            if len(found) > MOST_COPIES:
                element.fail(f"{len(found)} keyframes are attached", f"at most {MOST_COPIES} are allowed")
        return found


def copies(element: Element) -> float:
    """The number of copies that an element makes, with those of its ancestors; 1 where MuJoCo will refuse a count."""
    total, at = 1.0, element
    while at is not None:
        if at.tag in COPYING:
            try:
                total *= math.prod(max(1.0, float(n)) for n in at.attributes.get("count", "1").split())
            except ValueError:
                return 1.0
        at = at.parent
    return total if total == total else math.inf
