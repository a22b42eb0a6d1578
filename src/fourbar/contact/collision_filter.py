"""Pairs of shapes that may touch: as the model says (groups, excluded and named pairs, neighbours), or shapes that
were added.

Shapes of one rigid body never meet. What a joint connects does not either, unless the model says so by name; a base
that is fixed to the world belongs to the robot that it carries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..mechanism.contact_pairs import BodyShape, contact_candidates, contact_surface
from ..mechanism.mechanism import WORLD, Mechanism
from ..tree.cluster_tree import GROUND, ClusterTree
from .laws import Law
from .shapes import PlacedShape, material_of
from .terrain import Material


class Meeting(NamedTuple):
    """A pair of shapes that may touch: the material that the model gives the pair (None: that of their surfaces), and
    whether the model names the pair."""

    material: Material | None = None
    named: bool = False

    def law(self, law: Law, materials: tuple[Material, Material], bodies: tuple[str, str]) -> Any:
        """The law of the contact, from the pair or from the surfaces of the two bodies."""
        pair = self.material if self.named else None
        return law.between([x.soft for x in (materials if pair is None else (pair, pair))], bodies)


class CollisionFilter:
    """Decides which pairs of shapes of a mechanism may touch."""

    def __init__(self, mechanism: Mechanism, cluster_tree: ClusterTree) -> None:
        self._tree = cluster_tree.spanning_tree
        self._of_model = {frozenset((x.first[:2], x.second[:2])): x for x in contact_candidates(mechanism)}
        self._carried = _carried(mechanism, cluster_tree)

    def meeting(self, a: BodyShape | None, b: BodyShape | None) -> Meeting | None:
        """The contact of two shapes of the model, None if they may not touch; added shapes (None) may touch all."""
        if a is None or b is None:
            return Meeting()
        found = self._of_model.get(frozenset((a[:2], b[:2])))
        return None if found is None else Meeting(material_of(contact_surface(found)), found.pair is not None)

    def between(self, a: PlacedShape, b: PlacedShape, way: str) -> Meeting | None:
        """The contact of shapes of different objects, or of one object: "file", all that the model allows; "all", also
        added shapes on links that no joint connects."""
        if a.link == b.link:
            return None
        found = self.meeting(a.source, b.source)
        if found is None or found.named or not self.of_one_object(a, b):
            return found
        of_model = a.source is not None and b.source is not None and GROUND not in (a.link, b.link)
        if way == "file":
            return found if a.source is not None and b.source is not None else None
        return found if way == "all" and (of_model or not self._adjacent(a, b)) else None

    def of_one_object(self, a: PlacedShape, b: PlacedShape) -> bool:
        """Whether one of the two carries the other, or something else carries both."""
        if GROUND in (a.link, b.link):
            fixed, moving = (a, b) if a.link == GROUND else (b, a)
            return self._tree.roots[moving.link] in self._carried.get(fixed.body, ())
        return self._tree.roots[a.link] == self._tree.roots[b.link]

    def _adjacent(self, a: PlacedShape, b: PlacedShape) -> bool:
        parents = self._tree.parents
        above, below = (parents[x.link] if x.link != GROUND else None for x in (a, b))
        return above == b.link or below == a.link


def _carried(mechanism: Mechanism, cluster_tree: ClusterTree) -> dict[str, set[int]]:
    """The links on the ground that each body that is fixed to the world carries."""
    found: dict[str, set[int]] = {}
    carrier = {c.child: c.parent for c in mechanism.joints}
    for c in mechanism.joints:
        link = cluster_tree.bodies[c.child].link
        body = c.parent
        while link != GROUND and body != WORLD and cluster_tree.bodies[body].link == GROUND:
            found.setdefault(body, set()).add(cluster_tree.spanning_tree.roots[link])
            body = carrier[body]
    return found
