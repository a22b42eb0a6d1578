"""Which shapes and joints take part: a `Spec` from a robot, what does not move, and what was chosen by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, ModelError, unknown
from ..joints.euclidean import is_flat
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import WORLD, Mechanism
from ..tree.cluster_tree import GROUND, ClusterTree
from . import pairs
from .candidates import Candidate, JointRow
from .laws import Law
from .shapes import KINDS, Placed, Shape, material_of, moves, of_body, on_terrain, placed
from .terrain import HeightField, Material, Plane, Terrain

MOST = 40  # contacts of a step: every one is computed in every step, and each with every other
_FRICTION = 0.8  # where neither surface has a number


class Chosen(NamedTuple):
    """Shapes that take part, those fixed to the world apart, and what of the model is not simulated, in words."""

    shapes: tuple[Placed, ...]
    fixed: tuple[Placed, ...]
    left: tuple[str, ...]


def choose(mechanism: Mechanism, cluster_tree: ClusterTree, contacts: Any) -> Chosen:
    """The shapes that `contacts` names: frames, bodies, `Shape`s; all that collide in the model if it is None."""
    found: list[Placed] = []
    left: list[str] = []
    if contacts is None:
        for body in mechanism.bodies:
            own, kinds = of_body(cluster_tree, mechanism, body.name)
            found += own
            left += [f"{kind} of {body.name!r}" for kind in kinds if kind != "plane"]
    else:
        if isinstance(contacts, str | Shape) or not isinstance(contacts, Iterable):
            raise ArgumentError(f"contacts={contacts!r}: expected a list of names and Shapes, e.g. ['foot']")
        for k, item in enumerate(contacts):
            found += _named(mechanism, cluster_tree, item, k)
    names = [x.name for x in found]
    found = [x._replace(name=f"{x.name}#{k}") if names.count(x.name) > 1 else x for k, x in enumerate(found)]
    return Chosen(tuple(filter(moves, found)), tuple(x for x in found if not moves(x)), tuple(left))


def _named(mechanism: Mechanism, cluster_tree: ClusterTree, item: Any, k: int) -> list[Placed]:
    if isinstance(item, Shape):
        return [placed(cluster_tree, item, item.frame)]
    if not isinstance(item, str):
        raise ArgumentError(f"contacts[{k}]={item!r}: expected the name of a frame or body, or a Shape")
    if item in {body.name for body in mechanism.bodies}:
        own, left = of_body(cluster_tree, mechanism, item)
        if own:
            return own
        if left:
            raise ModelError(
                f"contacts: the shapes of body {item!r} ({', '.join(left)}) are not simulated; put one of "
                f"{', '.join(KINDS)} in their place: Shape({item!r}, 'sphere', 0.02)"
            )
    elif item not in cluster_tree.frames:
        raise unknown("frame or body", item, [*cluster_tree.frames, *cluster_tree.bodies])
    return [placed(cluster_tree, Shape(item), item)]


class Floors(NamedTuple):
    """Terrain of a model, and what of its world is not simulated, in words."""

    terrains: tuple[Terrain, ...]
    left: tuple[str, ...]


def floors(mechanism: Mechanism, cluster_tree: ClusterTree) -> Floors:
    """What of a model is fixed to the world and endless or a height field: planes and fields of the world and of bodies
    that do not move."""
    found: list[Terrain] = []
    left: list[str] = []
    for x in mechanism.world:
        if x.role == "collision":
            made = _terrain(x, np.eye(3), np.zeros(3))
            found += [made] if made is not None else []
            left += [] if made is not None else [f"{x.kind} {x.name!r} of the world"]
    for body in mechanism.bodies:
        link, pose = cluster_tree.bodies[body.name]
        if link == GROUND:
            R, p = np.array(pose.R, float), np.array(pose.p, float)
            made = [_terrain(x, R, p) for x in body.geometry if x.role == "collision"]
            found += [x for x in made if x is not None]
    return Floors(tuple(found), tuple(left))


def _terrain(x: Geometry, R: np.ndarray, p: np.ndarray) -> Terrain | None:
    """A shape at a pose of the world as terrain; None if it is of another kind."""
    rotation, position = R @ np.array(x.placement.rotation, float), R @ np.array(x.placement.position, float) + p
    m = material_of(x)
    numbers = {"torsion": m.torsion, "rolling": m.rolling, "restitution": m.restitution, "soft": x.surface}
    if x.kind == "plane":
        return Plane(m.friction, tuple(position.tolist()), tuple(rotation[:, 2].tolist()), **numbers)
    if x.kind != "hfield":
        return None
    if np.abs(rotation - np.eye(3)).max() > 1e-12:
        raise ModelError(f"height field {x.name!r} is turned; only fields along the axes of the world are simulated")
    heights = np.array(x.heights) + position[2]
    spacing = tuple(size / (n - 1) for size, n in zip(x.size[:2], heights.shape, strict=True))
    origin = (position[0] - x.size[0] / 2, position[1] - x.size[1] / 2)
    return HeightField(heights, spacing, origin, m.friction, **numbers)


def _larger(a: float | None, b: float | None, default: float) -> float:
    known = [x for x in (a, b) if x is not None]
    return max(known) if known else default


def _made(name: str, links: tuple[int, int], geometry: Any, surfaces: tuple[Material, Material], law: Law) -> Candidate:
    a, b = surfaces
    bounces = [x for x in (a.restitution, b.restitution) if x is not None]
    return Candidate(
        name, links, geometry,
        _larger(a.friction, b.friction, _FRICTION),
        _larger(a.torsion, b.torsion, 0.0) or None,
        _larger(a.rolling, b.rolling, 0.0) or None,
        min(bounces) if bounces else 0.0,
        law,
    )  # fmt: skip


def only(shapes: Sequence[Placed], names: Any) -> list[Placed]:
    """The shapes of some names, of their own or of their bodies; all if there are none."""
    if names is None:
        return list(shapes)
    known = {x.name for x in shapes} | {x.body for x in shapes}
    for name in names:
        if name not in known:
            raise unknown("shape or body that takes part", name, sorted(known))
    return [x for x in shapes if x.name in names or x.body in names]


def _numbered(name: str, made: Sequence[Any]) -> list[str]:
    return [name] if len(made) == 1 else [f"{name}.{k}" for k in range(len(made))]


def on_world(shapes: Sequence[Placed], terrains: Sequence[Terrain], law: Law) -> list[Candidate]:
    """Every shape that moves against everything that does not."""
    found = []
    for terrain in terrains:
        for shape in shapes:
            made = list(on_terrain(shape, terrain))
            for name, geometry in zip(_numbered(shape.name, made), made, strict=True):
                own = law.between((shape.material.soft, terrain.material.soft), (shape.body, WORLD))
                found.append(_made(name, (shape.link, GROUND), geometry, (shape.material, terrain.material), own))
    return found


def between(first: Placed, second: Placed, law: Law) -> list[Candidate]:
    """Two shapes against each other."""
    for x in (first, second):
        if x.kind not in pairs.KNOWN:
            raise ModelError(
                f"shape {x.name!r} is a {x.kind}, which touches terrain only; pairs are of {', '.join(pairs.KNOWN)}"
            )
    made = list(pairs.geometries(first, second))
    found = []
    for name, (geometry, swapped) in zip(_numbered(f"{first.name}:{second.name}", made), made, strict=True):
        a, b = (second, first) if swapped else (first, second)
        own = law.between((a.material.soft, b.material.soft), (a.body, b.body))
        found.append(_made(name, (a.link, b.link), geometry, (a.material, b.material), own))
    return found


def among(
    tree: ClusterTree, shapes: Sequence[Placed], fixed: Sequence[Placed], wanted: Any, law: Law
) -> list[Candidate]:
    """The pairs of shapes that `wanted` asks for: "objects", "all", "none", or a list of pairs of names."""
    every = [x for x in (*shapes, *fixed) if x.kind in pairs.KNOWN]
    if isinstance(wanted, str):
        if wanted not in ("objects", "all", "none"):
            raise ArgumentError(f"pairs={wanted!r}: expected 'objects', 'all', 'none', or a list of pairs of names")
        if wanted == "none":
            return []
        chosen = [x for x in combinations(every, 2) if _may_touch(tree, *x, wanted == "all")]
    else:
        chosen = [_pair(every, pair) for pair in wanted]
    return [x for a, b in chosen for x in between(a, b, law)]


def _may_touch(tree: ClusterTree, a: Placed, b: Placed, within: bool) -> bool:
    """Whether two shapes are on different objects, or (`within`) on links that no joint connects."""
    if a.link == b.link:
        return False
    if GROUND in (a.link, b.link):
        return True
    spanning = tree.spanning_tree
    if spanning.roots[a.link] != spanning.roots[b.link]:
        return True
    return within and spanning.parents[a.link] != b.link and spanning.parents[b.link] != a.link


def _pair(shapes: Sequence[Placed], pair: Any) -> tuple[Placed, Placed]:
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
