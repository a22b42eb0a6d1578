"""Selection of shapes and joints for a scene: candidates of a robot, fixed shapes, and those chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, ModelError, unknown
from ..joints.euclidean import is_flat
from ..mechanism.contact_pairs import BodyShape
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import WORLD, Mechanism
from ..shapes.base import ShapeType
from ..shapes.endless import HalfSpace
from ..shapes.registry import kinds_of_numbers
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND, ClusterTree, multiply_out
from . import nearest_candidates, shape_pairs
from .candidates import Candidate, Footing, JointRow
from .collision_filter import CollisionFilter, Meeting
from .laws import Law
from .nearest_points import slots
from .shapes import Hulls, PlacedShape, Shape, material_of, moves, of_body, on_terrain, placed, reach
from .solid_terrain import Solid
from .terrain import HeightField, Material, Plane, Terrain

ENOUGH = 40  # points from which on links have slots for their nearest ones, and points of pairs that take part
WAYS_TO_PAIR = ("objects", "file", "all", "none")
_PAIRS = "'objects', 'file', 'all', 'none', or a list of pairs of names"
_FRICTION = 0.8  # where neither surface has a number
FIRST_TERRAIN = "terrain"  # what its numbers are called by; contacts do not name it


class ContactRequest(NamedTuple):
    """The arguments of `Scene`; how meshes become hulls; where links are at the start, by number."""

    terrains: tuple[Terrain, ...]
    contacts: Any
    pairs: Any
    grounded: Any
    law: Law
    hulls: Hulls
    home: Callable[[], dict[int, Transform]]


class ChosenShapes(NamedTuple):
    """Shapes that take part, those fixed to the world apart; and how far meshes reach beyond their hulls, by shape."""

    shapes: tuple[PlacedShape, ...]
    fixed: tuple[PlacedShape, ...]
    beyond: dict[str, float]


class Ground(NamedTuple):
    """Terrain, its name (empty for the first), and the shape of the model that it is, None where it was given; a solid
    one also as a shape, since shapes touch each other better than terrain."""

    terrain: Terrain
    name: str = ""
    source: BodyShape | None = None
    solid: PlacedShape | None = None


class CandidateGroup(NamedTuple):
    """The candidates of one shape on terrain, or of two shapes."""

    shapes: tuple[PlacedShape, ...]
    candidates: list[Candidate]


class ContactSelection(NamedTuple):
    """Candidates and terrain; messages about what does not act; pairs left out above `ENOUGH` (None: there were
    fewer); how meshes touch; and how far shapes reach from the origins of their bodies (m)."""

    candidates: tuple[Candidate, ...]
    terrains: tuple[Terrain, ...]
    terrain_names: tuple[str, ...]
    left: tuple[str, ...]
    skipped: nearest_candidates.Skipped | None
    beyond: dict[str, float]
    reach: float


def what_touches(mechanism: Mechanism, cluster_tree: ClusterTree, asked: ContactRequest) -> ContactSelection:
    """The candidates of a scene."""
    left: list[str] = []
    allowed = CollisionFilter(mechanism, cluster_tree)
    chosen = choose(mechanism, cluster_tree, asked, left)
    grounds = [Ground(x, f"terrain{k}" if k else "", None, as_shape(x)) for k, x in enumerate(asked.terrains)]
    if not grounds:
        grounds = floors(mechanism, cluster_tree, asked.hulls, left)
    grounded = only(chosen.shapes, asked.grounded)
    groups, pairs = on_world(grounded, grounds, allowed, asked), among(chosen, allowed, asked, left)
    if not mechanism.contacts.enabled and (mechanism.world or chosen.shapes):
        left.append("any two shapes of the file, which switches contacts off")
    skipped = None
    if asked.contacts is None and sum(len(x.candidates) for x in pairs) > ENOUGH:
        pairs, skipped = nearest_candidates.first(pairs, asked.home(), ENOUGH)
    groups += pairs
    listed = [(group.shapes[0].body, x) for group in groups for x in group.candidates]
    candidates = tuple(x for _, x in listed)
    if asked.contacts is None and len(candidates) > ENOUGH:
        on_ground = [x for x in listed if x[1].on_terrain]
        candidates = (*slots(on_ground), *(x for _, x in listed if not x.on_terrain))
    kept = {x.name for group in groups for x in group.shapes}
    beyond = {name: x for name, x in chosen.beyond.items() if name in kept}
    terrains, names = tuple(x.terrain for x in grounds), tuple(x.name or FIRST_TERRAIN for x in grounds)
    longest = max((reach(x) for group in groups for x in group.shapes if moves(x)), default=0.0)
    return ContactSelection(candidates, terrains, names, tuple(left), skipped, beyond, longest)


def choose(mechanism: Mechanism, cluster_tree: ClusterTree, asked: ContactRequest, left: list[str]) -> ChosenShapes:
    """The shapes that `contacts` names: frames, bodies, `Shape`s; all that collide in the model if it is None.

    Bodies that are fixed to the world take part too where the model says what does not move.
    """
    found: list[PlacedShape] = []
    beyond: dict[str, float] = {}
    contacts = asked.contacts
    every = [body.name for body in mechanism.bodies]
    if contacts is not None:
        if isinstance(contacts, str | Shape) or not isinstance(contacts, Iterable):
            raise ArgumentError(f"contacts={contacts!r}: expected a list of names and Shapes, e.g. ['foot']")
        for k, item in enumerate(contacts):
            found += _named(mechanism, cluster_tree, item, k, asked.hulls, beyond)
        named = {x.body for x in found}
        fixed = [x for x in every if cluster_tree.bodies[x].link == GROUND and x not in named]
        every = [] if asked.terrains else fixed
    for body in every:
        own = of_body(cluster_tree, mechanism, body, asked.hulls)
        found += own.shapes
        left += own.left
        beyond |= own.beyond
    names = [x.name for x in found]
    found = [x._replace(name=f"{x.name}#{k}") if names.count(x.name) > 1 else x for k, x in enumerate(found)]
    return ChosenShapes(tuple(filter(moves, found)), tuple(x for x in found if not moves(x)), beyond)


def _named(
    mechanism: Mechanism, cluster_tree: ClusterTree, item: Any, k: int, hulls: Hulls, beyond: dict[str, float]
) -> list[PlacedShape]:
    if isinstance(item, Shape):
        return [placed(cluster_tree, item, item.frame)]
    if not isinstance(item, str):
        raise ArgumentError(f"contacts[{k}]={item!r}: expected the name of a frame or body, or a Shape")
    if item in {body.name for body in mechanism.bodies}:
        own = of_body(cluster_tree, mechanism, item, hulls)
        if own.shapes:
            beyond |= own.beyond
            return own.shapes
        if own.left:
            raise ModelError(
                f"contacts: the shapes of body {item!r} are not simulated: {', '.join(own.left)}; put one of "
                f"{', '.join(kinds_of_numbers('on_terrain'))} in their place: Shape({item!r}, 'sphere', 0.02)"
            )
    elif item not in cluster_tree.frames:
        raise unknown("frame or body", item, [*cluster_tree.frames, *cluster_tree.bodies])
    return [placed(cluster_tree, Shape(item), item)]


def as_shape(x: Terrain) -> PlacedShape | None:
    """A solid that does not move as a shape on the ground; None for other terrain."""
    if not isinstance(x, Solid):
        return None
    pose = multiply_out(Transform.of(x.rotation, Vec(x.position)))
    return PlacedShape("", WORLD, GROUND, pose, x.form, x.material)


def _called(shape: Any) -> str:
    """A shape in a message, by its kind and, if it has one, its name, or that of its mesh."""
    kind, name = shape.kind.replace("_", " "), shape.name or getattr(shape, "mesh", "")
    return f"{kind} {name!r}" if name else f"unnamed {kind}"


def floors(mechanism: Mechanism, cluster_tree: ClusterTree, hulls: Hulls, left: list[str]) -> list[Ground]:
    """The terrain of a model: its planes and height fields, and the solid shapes of the world itself."""
    found: list[Ground] = []
    solids = {x.source.number: x for x in of_body(cluster_tree, mechanism, WORLD, hulls).shapes if x.source is not None}
    for k, x in enumerate(mechanism.world):
        if x.role == "collision":
            made = _terrain(x, np.eye(3), np.zeros(3))
            if made is None:
                left.append(f"{_called(x)} of the world")
            else:
                found.append(Ground(made, x.name or f"{x.kind}{k}", BodyShape(WORLD, k, x), solids.get(k)))
    for body in mechanism.bodies:
        link, pose = cluster_tree.bodies[body.name]
        if link == GROUND:
            R, p = np.array(pose.R, float), np.array(pose.p, float)
            for k, x in enumerate(body.geometry):
                if x.role == "collision" and x.form.is_terrain:
                    made = _terrain(x, R, p)
                    if made is not None:
                        found.append(Ground(made, x.name or body.name, BodyShape(body.name, k, x)))
    return [x._replace(name="") if k == 0 else x for k, x in enumerate(found)]


def _terrain(x: Geometry, R: np.ndarray, p: np.ndarray) -> Terrain | None:
    """A shape at a pose of the world as terrain; None if it is of another kind."""
    rotation, position = R @ np.array(x.placement.rotation, float), R @ np.array(x.placement.position, float) + p
    m = material_of(x.surface)
    numbers = {"torsion": m.torsion, "rolling": m.rolling, "restitution": m.restitution, "soft": x.surface}
    if isinstance(x.form, HalfSpace):
        return Plane(m.friction, tuple(position.tolist()), tuple(rotation[:, 2].tolist()), **numbers)
    if can_be_terrain(x.form):
        return Solid(x.kind, x.size, position, rotation, m.friction, **numbers)
    if not x.heights:
        return None
    if np.abs(rotation - np.eye(3)).max() > 1e-12:
        raise ModelError(f"{_called(x)} is rotated; only height fields along the axes of the world are simulated")
    heights = np.array(x.heights) + position[2]
    spacing = tuple(size / (n - 1) for size, n in zip(x.size[:2], heights.shape, strict=True))
    origin = (position[0] - x.size[0] / 2, position[1] - x.size[1] / 2)
    return HeightField(heights, spacing, origin, m.friction, **numbers)


def can_be_terrain(shape: ShapeType) -> bool:
    """Whether a solid that does not move is terrain for all others."""
    return bool(shape.sizes) and shape.is_of_numbers() and shape.has("distance")


def _larger(a: float | None, b: float | None, default: float) -> float:
    known = [x for x in (a, b) if x is not None]
    return max(known) if known else default


def _mixed(a: Material, b: Material) -> Material:
    """The larger friction and the smaller restitution of two surfaces."""
    bounces = [x for x in (a.restitution, b.restitution) if x is not None]
    return Material(
        _larger(a.friction, b.friction, _FRICTION), _larger(a.torsion, b.torsion, 0.0),
        _larger(a.rolling, b.rolling, 0.0), min(bounces) if bounces else 0.0,
    )  # fmt: skip


def _made(name: str, links: tuple[int, int], geometry: Any, m: Material, law: Law) -> Candidate:
    friction = _FRICTION if m.friction is None else m.friction
    return Candidate(name, links, geometry, friction, m.torsion or None, m.rolling or None, m.restitution or 0.0, law)


def only(shapes: Sequence[PlacedShape], names: Any) -> list[PlacedShape]:
    """The shapes of some names, of their own or of their bodies; all if there are none."""
    if names is None:
        return list(shapes)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArgumentError(f"grounded={names!r}: expected a list of names of shapes or bodies, e.g. ['foot']")
    names = list(names)
    known = {x.name for x in shapes} | {x.body for x in shapes}
    for name in names:
        if name not in known:
            raise unknown("shape or body that takes part", name, sorted(known))
    return [x for x in shapes if x.name in names or x.body in names]


def _numbered(name: str, made: Sequence[Any]) -> list[str]:
    return [name] if len(made) == 1 else [f"{name}.{k}" for k in range(len(made))]


def on_world(
    shapes: Sequence[PlacedShape],
    grounds: Sequence[Ground],
    allowed: CollisionFilter,
    asked: ContactRequest,
) -> list[CandidateGroup]:
    """Every shape that moves against the terrain that it may meet; those that are `grounded` by name meet all."""
    found = []
    for place, ground in enumerate(grounds):
        for shape in shapes:
            met = allowed.meeting(shape.source, ground.source)
            met = Meeting() if met is None and asked.grounded is not None else met
            if met is not None:
                name = f"{shape.name}:{ground.name}" if ground.name else shape.name
                material = met.material or _mixed(shape.material, ground.terrain.material)
                law = met.law(asked.law, (shape.material, ground.terrain.material), (shape.body, WORLD))
                if ground.solid is not None and shape_pairs.can_touch(shape.form, ground.solid.form):
                    group = _of_two(name, (shape, ground.solid), material, law)._replace(shapes=(shape,))
                else:
                    group = _on(name, shape, ground.terrain, material, law)
                footing = Footing(place, _own_friction(shape.material, ground.terrain.material, met))
                found.append(group._replace(candidates=[replace(x, footing=footing) for x in group.candidates]))
    return found


def _own_friction(shape: Material, ground: Material, met: Meeting) -> float | None:
    """The friction that a shape brings to some ground; None where that of the ground does not count."""
    priorities = [x.soft.priority if met.material is not None else 0 for x in (shape, ground)]
    if met.named or ground.friction is None or priorities[0] > priorities[1]:
        return None
    return 0.0 if shape.friction is None or priorities[0] < priorities[1] else shape.friction


def _on(name: str, shape: PlacedShape, terrain: Terrain, material: Material, law: Law) -> CandidateGroup:
    made = list(on_terrain(shape, terrain))
    named = zip(_numbered(name, made), made, strict=True)
    every = [_made(own, (shape.link, GROUND), x, material, law) for own, x in named]
    return CandidateGroup((shape,), [replace(x, reach=reach(shape)) for x in every])


def _of_two(name: str, shapes: tuple[PlacedShape, PlacedShape], material: Material, law: Law) -> CandidateGroup:
    made = list(shape_pairs.geometries(*shapes))
    named, links = zip(_numbered(name, made), made, strict=True), (shapes[0].link, shapes[1].link)
    every = [_made(own, links, geometry, material, law) for own, geometry in named]
    far = max((reach(x) for x in shapes if moves(x)), default=0.0)
    return CandidateGroup(shapes, [replace(x, reach=far) for x in every])


def between(first: PlacedShape, second: PlacedShape, met: Meeting, law: Law) -> CandidateGroup | None:
    """Two shapes against each other; None if these cannot touch."""
    name, material = f"{first.name}:{second.name}", met.material or _mixed(first.material, second.material)
    law = met.law(law, (first.material, second.material), (first.body, second.body))
    if shape_pairs.can_touch(first.form, second.form):
        return _of_two(name, (first, second), material, law)
    moving, fixed = (second, first) if first.link == GROUND else (first, second)
    if fixed.link != GROUND or not can_be_terrain(fixed.form):
        return None
    solid = Solid(fixed.kind, fixed.form.numbers, tuple(fixed.pose.p), tuple(map(tuple, fixed.pose.R)))
    return _on(name, moving, solid, material, law)._replace(shapes=(first, second))


def among(
    chosen: ChosenShapes, allowed: CollisionFilter, asked: ContactRequest, left: list[str]
) -> list[CandidateGroup]:
    """The pairs of shapes that are asked for, in one of `WAYS_TO_PAIR`, or as a list of pairs of names."""
    every, wanted = (*chosen.shapes, *chosen.fixed), asked.pairs
    if isinstance(wanted, str):
        if wanted not in WAYS_TO_PAIR:
            raise ArgumentError(f"pairs={wanted!r}: expected {_PAIRS}")
        return [] if wanted == "none" else _every_pair(every, allowed, wanted, asked.law, left)
    if not isinstance(wanted, Iterable):
        raise ArgumentError(f"pairs={wanted!r}: expected {_PAIRS}")
    found: list[CandidateGroup] = []
    for pair in wanted:
        a, b = _pair(every, pair)
        group = between(a, b, allowed.meeting(a.source, b.source) or Meeting(), asked.law)
        if group is None:
            deaf = next(x for x in (a, b) if not x.form.has("support"))
            try:
                deaf.form.lacks("support")
            except ModelError as error:
                raise ModelError(f"pairs: {deaf.name!r}: {error}") from None
        found.append(group)
    return found


def _every_pair(
    every: Sequence[PlacedShape], allowed: CollisionFilter, way: str, law: Law, left: list[str]
) -> list[CandidateGroup]:
    """All pairs that may meet; of those that cannot touch the shapes are named."""
    found: list[CandidateGroup] = []
    deaf: dict[str, None] = {}
    for a, b in combinations(every, 2):
        met = None if a.link == b.link == GROUND else allowed.between(a, b, way)
        group = None if met is None else between(a, b, met, law)
        if group is not None:
            found.append(group)
        elif met is not None:
            for x in (a, b):
                if not x.form.has("support"):
                    deaf[f"{_called(x)} against other shapes (its class lacks `support`)"] = None
    left += deaf
    return found


def _pair(shapes: Sequence[PlacedShape], pair: Any) -> tuple[PlacedShape, PlacedShape]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise ArgumentError(f"pairs: expected pairs of names of shapes or bodies, got {pair!r}")
    found = []
    for name in pair:
        own = [x for x in shapes if name in (x.name, x.body)]
        if len(own) != 1:
            many = "is carried by several shapes: name one of them" if own else "is no shape that takes part"
            raise ArgumentError(f"pairs: {name!r} {many}; there are {', '.join(repr(x.name) for x in shapes)}")
        found += own
    a, b = found
    if a.link == b.link:
        raise ArgumentError(f"pairs: {a.name!r} and {b.name!r} are on the same rigid body")
    return a, b


def joint_rows(
    cluster_tree: ClusterTree, limits: bool, friction: bool, law: Law
) -> tuple[tuple[JointRow, ...], tuple[str, ...]]:
    """The joints' limits and dry friction as rows; and the joints whose limits are not kept."""
    found, left = [], []
    for link, c in enumerate(cluster_tree.moving):
        bounded = any(np.isfinite(x) for x in (*c.lower, *c.upper))
        flat = is_flat(c.joint)
        if limits and bounded and not flat:
            left.append(c.name)
        for k in range(c.joint.nv):
            ends = (c.lower[k], c.upper[k]) if limits and flat else (-np.inf, np.inf)
            rubs = float(c.friction[k]) if friction else 0.0
            if np.isfinite(ends).any() or rubs:
                found.append(JointRow(c.name, link, k, float(ends[0]), float(ends[1]), rubs, law.of_joint(link, k)))
    return tuple(found), tuple(left)
