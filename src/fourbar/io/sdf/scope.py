"""The named things of an SDF file by scope: models hold links, joints, frames and models; names are looked up here.

A name may reach into models below (`arm::hand`), never above. `__model__` is the frame of the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import unknown
from ..element import Element

KINDS = ("link", "joint", "frame", "model")
_ALSO = {"joint": "drake:joint"}  # prefixed tags of other programs
_MODEL = "__model__"
_DELIMITER = 8  # the version 1.n from which on :: is kept for scopes; before, names of flattened models contain it
MOST_PARTS = 50  # of such a name


@dataclass(eq=False)
class NamedFrame:
    """A named thing with a frame of its own."""

    kind: str
    name: str
    element: Element
    scope: Scope

    @property
    def full(self) -> str:
        """Its name from outside."""
        return self.scope.prefix + self.name


@dataclass(eq=False)
class Scope:
    """The inside of a model, or of the world. `model`: the item that it is the inside of; None for the outermost."""

    element: Element
    prefix: str
    model: NamedFrame | None
    items: dict[str, NamedFrame] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)

    @property
    def parent(self) -> Scope | None:
        return None if self.model is None else self.model.scope

    def of(self, kind: str) -> list[NamedFrame]:
        """The things of a kind."""
        return [item for item in self.items.values() if item.kind == kind]

    def find(self, name: str, by: Element) -> list[NamedFrame]:
        """The path to a name: the models on it, and the thing itself; empty for the scope's own frame."""
        chain: list[NamedFrame] = []
        scope, rest = self, name
        while rest is not None and rest != _MODEL:
            item, rest = scope._first(rest)
            if item is None or not (rest is None or item.kind == "model"):
                by.fail(str(unknown("link, joint, frame or model", name[:200], self.known_names())))
            chain.append(item)
            scope = scope.inner.get(item.name, scope)
        return chain

    def _first(self, name: str) -> tuple[NamedFrame | None, str | None]:
        """The thing with the longest name that a name begins with, and the rest of the name, None if that is all."""
        cut = len(name)
        longest = max(map(len, self.items), default=0)
        while cut > 0:
            if cut <= longest and name[:cut] in self.items:
                return self.items[name[:cut]], name[cut + 2 :] if cut < len(name) else None
            cut = name.rfind("::", 0, min(cut, longest + 2))
        return None, None

    def known_names(self) -> list[str]:
        """All names that can be used in this scope."""
        found = list(self.items)
        for name, inner in self.inner.items():
            found.extend(f"{name}::{x}" for x in inner.items)
        return found


def collect(element: Element) -> list[Scope]:
    """The scope of <sdf> or <world>, and all inside it, outer ones first. The only model of <sdf> gives no prefix."""
    scope = Scope(element, "", None)
    scopes, pending = [scope], [scope]
    while pending:
        scope = pending.pop(0)
        outermost = scope.element.tag == "sdf"
        for kind in ("model",) if outermost else KINDS:
            also = scope.element.all(_ALSO[kind]) if kind in _ALSO else []
            for child in scope.element.all(kind) + also:
                item = _check_name(child, kind, scope)
                if kind == "model":
                    inner = Scope(child, "" if outermost else f"{item.full}::", item)
                    scope.inner[item.name] = inner
                    scopes.append(inner)
                    pending.append(inner)
    return scopes


def _version(element: Element) -> int:
    """The n of version 1.n of the file that an element is in; that of the including file for what is included."""
    while element.parent is not None:
        element = element.parent
    return int(element.attributes.get("version", "1.12").split(".")[1])


def _check_name(element: Element, kind: str, scope: Scope) -> NamedFrame:
    name = element.require("name")
    scoped = "::" in name and (_version(element) >= _DELIMITER or name.count("::") > MOST_PARTS)
    if name == "world" or (name.startswith("__") and name.endswith("__")) or scoped:
        element.fail(f"{name[:200]!r} is reserved and cannot be the name of a {kind}", "choose another name")
    old = scope.items.get(name)
    if old is not None:
        file, line, _ = old.element.place
        there = f"line {line}" if file == element.place.file else f"{file}:{line}"
        element.fail(f"the name {name[:200]!r} is already used, by the {old.kind} at {there}")
    item = NamedFrame(kind, name, element, scope)
    scope.items[name] = item
    return item
