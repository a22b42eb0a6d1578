"""Pairs of shapes of a mechanism that may touch: by their groups, without neighbours, as MuJoCo chooses them.

Bodies that are fixed to each other are one; shapes of one never touch. Shapes of a body and of the one that carries it
do not either, unless that one is fixed to the world, or the rules say so. Excluded pairs of bodies do not; pairs of
shapes that are named do, whatever else holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from .contact import ContactPair
from .geometry import Geometry
from .mechanism import WORLD, Mechanism

_ENDLESS = ("plane", "hfield")  # which do not touch each other


class BodyShape(NamedTuple):
    """A shape of a body (or of the world): the body, the number of the shape in its geometry, and the shape."""

    body: str
    number: int
    shape: Geometry


class MayTouch(NamedTuple):
    """Two shapes that may touch, and the pair that says how, where one is named; else their surfaces do."""

    first: BodyShape
    second: BodyShape
    pair: ContactPair | None = None


def body_shapes(mechanism: Mechanism) -> list[BodyShape]:
    """All shapes that collide, those of the world first."""
    owners = ((WORLD, mechanism.world), *((b.name, b.geometry) for b in mechanism.bodies))
    return [
        BodyShape(body, k, shape) for body, own in owners for k, shape in enumerate(own) if shape.role == "collision"
    ]


def contact_candidates(mechanism: Mechanism) -> list[MayTouch]:
    """The pairs of shapes that may touch; none if contacts are switched off."""
    return list(_candidates(mechanism, _Carriers(mechanism)))


def _candidates(mechanism: Mechanism, bodies: _Carriers) -> Iterator[MayTouch]:
    rules = mechanism.contacts
    if not rules.enabled:
        return
    shapes = body_shapes(mechanism)
    found = list(_named(shapes, rules.pairs))
    yield from found
    taken = {frozenset((x.first[:2], x.second[:2])) for x in found}
    excluded = {frozenset(x) for x in rules.excluded}
    for a, b in combinations(shapes, 2):
        if (
            a.shape.surface.may_meet(b.shape.surface)
            and bodies.may_meet(a.body, b.body, rules.with_parents)
            and frozenset((a.body, b.body)) not in excluded
            and frozenset((a[:2], b[:2])) not in taken
            and not (a.shape.kind in _ENDLESS and b.shape.kind in _ENDLESS)
        ):
            yield MayTouch(a, b)


def touches_world(mechanism: Mechanism) -> bool:
    """Whether a shape that moves may touch something of the world, such as a floor or a table.

    What carries joints that move, as the base of an arm does, is a part of the robot and not of the world.
    """
    bodies = _Carriers(mechanism)
    bases = _bases(mechanism, bodies)

    def of_world(x: BodyShape) -> bool:
        return bodies.rigid[x.body] == WORLD and (x.body not in bases or x.shape.kind in _ENDLESS)

    if not any(map(of_world, body_shapes(mechanism))):
        return False
    pairs = [both for x in _candidates(mechanism, bodies) for both in ((x.first, x.second), (x.second, x.first))]
    return any(of_world(a) and bodies.rigid[b.body] != WORLD for a, b in pairs)


def _bases(mechanism: Mechanism, bodies: _Carriers) -> set[str]:
    """The bodies that are fixed to the world and to something on which joints move."""
    root = {WORLD: WORLD}  # of a fixed body the first one below the world
    for c in mechanism.joints:
        if bodies.rigid[c.child] == WORLD:
            root[c.child] = c.child if c.parent == WORLD else root[c.parent]
    carrying = {root[c.parent] for c in mechanism.joints if c.joint.nv and bodies.rigid[c.parent] == WORLD} - {WORLD}
    return {body for body, own in root.items() if own in carrying}


def _named(shapes: list[BodyShape], pairs: tuple[ContactPair, ...]) -> Iterator[MayTouch]:
    by_name: dict[tuple[str, str], BodyShape] = {}
    for x in shapes:
        by_name.setdefault((x.body, x.shape.name), x)
    for pair in pairs:
        if pair.first in by_name and pair.second in by_name:
            yield MayTouch(by_name[pair.first], by_name[pair.second], pair)


class _Carriers:
    """Rigidly connected bodies, and the body that carries each."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.rigid = {WORLD: WORLD}  # of the bodies that are fixed to each other the first
        self._carrier: dict[str, str] = {WORLD: WORLD}  # of such a first body that which carries it
        for c in mechanism.joints:
            self.rigid[c.child] = c.child if c.joint.nv else self.rigid[c.parent]
        solid = {self.rigid[b.name] for b in mechanism.bodies if b.mass or b.geometry or any(map(any, b.inertia))}
        for c in mechanism.joints:
            if c.joint.nv:  # what has neither mass nor shapes is a part of a joint
                parent = self.rigid[c.parent]
                self._carrier[c.child] = parent if parent in (*solid, WORLD) else self._carrier[parent]

    def may_meet(self, a: str, b: str, with_parents: bool) -> bool:
        """Whether shapes of two bodies may meet."""
        first, second = self.rigid[a], self.rigid[b]
        if first == second:
            return False
        if with_parents or WORLD in (first, second):
            return True
        return self._carrier[first] != second and self._carrier[second] != first
