"""Pairs of shapes of a mechanism that may touch: by their groups, without neighbours, as MuJoCo chooses them.

Bodies that are fixed to each other are one; shapes of one never touch. Shapes of a body and of the one that carries it
do not either, unless that one is fixed to the world, or the rules say so. Excluded pairs of bodies do not; pairs of
shapes that are named do, whatever else holds.

The surface of a contact is mixed from those of the two shapes, by MuJoCo's rules. Margins and gaps add. The shape with
the higher priority sets all other numbers. Of equal ones friction, dimensions and damping are the larger, restitution
and stiffness the smaller, and time constants and impedances are mixed with weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from .contact import PLAIN, ContactPair, Surface
from .geometry import Geometry
from .mechanism import WORLD, Mechanism


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
    found = list(_named_pairs(shapes, rules.pairs))
    yield from found
    known = {frozenset((x.first[:2], x.second[:2])) for x in found}
    excluded = {frozenset(x) for x in rules.excluded}
    for a, b in combinations(shapes, 2):
        if (
            a.shape.surface.may_meet(b.shape.surface)
            and bodies.may_meet(a.body, b.body, rules.with_parents)
            and frozenset((a.body, b.body)) not in excluded
            and frozenset((a[:2], b[:2])) not in known
            and not (a.shape.form.is_terrain and b.shape.form.is_terrain)  # which do not touch each other
        ):
            yield MayTouch(a, b)


def touches_world(mechanism: Mechanism) -> bool:
    """Whether a shape that moves may touch something of the world, such as a floor or a table.

    What carries joints that move, as the base of an arm does, is a part of the robot and not of the world.
    """
    bodies = _Carriers(mechanism)
    bases = _bases(mechanism, bodies)

    def of_world(x: BodyShape) -> bool:
        return bodies.rigid[x.body] == WORLD and (x.body not in bases or x.shape.form.is_terrain)

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


def _named_pairs(shapes: list[BodyShape], pairs: tuple[ContactPair, ...]) -> Iterator[MayTouch]:
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


SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's, where nothing is said
_LEAST = 1e-15  # weights below it are none


def contact_surface(touching: MayTouch) -> Surface:
    """The surface of a contact: that of the pair, else mixed from those of the two shapes."""
    if touching.pair is not None:
        return touching.pair.surface
    return mix(touching.first.shape.surface, touching.second.shape.surface)


def mix(a: Surface, b: Surface) -> Surface:
    """The surface of a contact between two; None is the other's number."""
    if a.priority != b.priority:
        chosen = a if a.priority > b.priority else b
        return _plain(replace(chosen, margin=a.margin + b.margin, gap=a.gap + b.gap))
    weight = _weight(a.mix, b.mix)
    return Surface(
        friction=_of(max, a.friction, b.friction),
        friction2=_second(a, b),
        torsion=_of(max, a.torsion, b.torsion),
        rolling=_of(max, a.rolling, b.rolling),
        restitution=_of(min, a.restitution, b.restitution),
        stiffness=_of(min, a.stiffness, b.stiffness),
        damping=_of(max, a.damping, b.damping),
        margin=a.margin + b.margin,
        gap=a.gap + b.gap,
        dimensions=max(a.dimensions, b.dimensions),
        solref=_references(a.solref, b.solref, weight),
        solimp=_mix(a.solimp, b.solimp, SOLIMP, weight),
    )


def _plain(surface: Surface) -> Surface:
    """The surface without its rules of choice: bits, priority and weight."""
    return replace(surface, groups=PLAIN.groups, meets=PLAIN.meets, priority=0, mix=1.0)


def _of(choose: Callable[[float, float], float], a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else choose(a, b)


def _second(a: Surface, b: Surface) -> float | None:
    """Friction in the second direction, where it is another."""
    if a.friction2 is None and b.friction2 is None:
        return None
    return _of(max, *(x.friction if x.friction2 is None else x.friction2 for x in (a, b)))


def _weight(a: float, b: float) -> float:
    """The weight of the first."""
    if a >= _LEAST and b >= _LEAST:
        return a / (a + b)
    return 0.5 if a < _LEAST and b < _LEAST else 0.0 if a < _LEAST else 1.0


def _mix(
    a: tuple[float, ...] | None, b: tuple[float, ...] | None, default: tuple[float, ...], weight: float
) -> tuple[float, ...] | None:
    if a is None and b is None:
        return None
    return tuple(weight * x + (1.0 - weight) * y for x, y in zip(a or default, b or default, strict=True))


def _references(a: tuple[float, ...] | None, b: tuple[float, ...] | None, weight: float) -> tuple[float, ...] | None:
    """Time constants are mixed; of stiffness and damping, which are negative, the stiffer."""
    first, second = a or SOLREF, b or SOLREF
    if first[0] > 0.0 and second[0] > 0.0:
        return _mix(a, b, SOLREF, weight)
    return tuple(min(x, y) for x, y in zip(first, second, strict=True))
