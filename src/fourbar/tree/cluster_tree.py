"""From a mechanism by name to a tree of clusters of links by number.

Bodies on fixed joints become part of their parents; joints are rotated into their preferred frames (`about_axis`).
Bodies and frames keep their names: each has a location, a link and a constant placement in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..expr import Expr
from ..joints.base import Joint
from ..mechanism.mechanism import WORLD, Mechanism, NamedLoop, PlacedJoint, Placement
from ..once import cached_property, once_per_object
from ..spatial.fluid_inertia import AnyInertia, Hydrodynamics, dry, with_dry
from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Sym, Vec
from ..spatial.transform import IDENTITY, Transform
from .clusters import Cluster, ClusterFinder, carriers_of
from .embedding import LoopEmbedding
from .equivalent_trees import choose_frames, hold_rotor_frames, regroup
from .links import Link, hydrodynamics, inertia_of, link_armatures
from .spanning_tree import SpanningTree

GROUND = -1
_NOTHING = ((0.0, 0.0, 0.0),) * 3
_ROUNDING = 1e-15


class Location(NamedTuple):
    """The location of a body or frame: its link (GROUND for what does not move), and its pose in the link's frame."""

    link: int
    pose: Transform


@dataclass(frozen=True)
class ClusterTree:
    """The tree, and the location of each body and frame. `moving` are the joints that became links, in order.

    `spanning_tree` has the bodies' true inertias; `equivalent` has the same equations of motion at lower cost,
    `unturned` also leaves symmetric rotors unturned (see `equivalent_trees`).
    """

    spanning_tree: SpanningTree
    equivalent: SpanningTree
    unturned: SpanningTree
    bodies: dict[str, Location]
    frames: dict[str, Location]
    moving: tuple[PlacedJoint, ...]
    clusters: tuple[Cluster, ...]
    cheapest: SpanningTree | None = None  # `reframed`, where it is known already
    fluids: dict[str, Hydrodynamics] = field(default_factory=dict)  # of the bodies that move in one

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(cluster.embedding.nq for cluster in self.clusters)

    @cached_property
    def nv(self) -> int:
        """Number of independent velocities."""
        return sum(cluster.embedding.nv for cluster in self.clusters)

    @cached_property
    def has_shared_joints(self) -> bool:
        """Whether some velocities of a joint on a Lie group, such as a ball, are independent in a loop and others are
        not.
        """
        ties = (cluster.embedding for cluster in self.clusters)
        return any(tie.is_implicit and tie.has_shared_joints for tie in ties)

    @cached_property
    def tied_clusters(self) -> tuple[tuple[Cluster, LoopEmbedding, slice], ...]:
        """The clusters with loops, their embeddings, and the places of their coordinates in q."""
        ends = list(accumulate(cluster.embedding.nq for cluster in self.clusters))
        places = (slice(first, end) for first, end in pairwise((0, *ends)))
        return tuple((x, x.tie, own) for x, own in zip(self.clusters, places, strict=True) if x.tie is not None)

    @cached_property
    def implicit_clusters(self) -> tuple[tuple[Cluster, LoopEmbedding, slice], ...]:
        """Those of `tied_clusters` whose loops may be open, since dependent coordinates are stored too."""
        return tuple(own for own in self.tied_clusters if own[1].is_implicit)

    @cached_property
    def cheapest_tree(self) -> SpanningTree:
        """The tree with the cheapest frames, for results without the frames of bodies (see `equivalent_trees`)."""
        plain = self.unturned if self.unturned is self.spanning_tree else None
        return self.cheapest or plain or choose_frames(self.unturned)

    def turns_less(self, link: int) -> bool:
        """Whether a link's frame does not turn in `unturned`."""
        return link != GROUND and self.unturned.links[link].joint != self.spanning_tree.links[link].joint


def _clean(entries: Iterable[Any], unit: float = 0.0) -> list[Any]:
    """Rounding errors removed: zero (and ±1, for rotations) where a number differs from it by less than 1e-15.

    Symbols are left as they are.
    """
    values = [x if x.__class__ is Expr else float(x) for x in entries]
    size = unit or max((abs(x) for x in values if x.__class__ is float), default=0.0)
    cleaned = []
    for number in values:
        if number.__class__ is Expr:
            pass
        elif abs(number) <= _ROUNDING * size:
            number = 0.0
        elif unit and abs(abs(number) - unit) <= _ROUNDING * unit:
            number = unit if number > 0 else -unit
        cleaned.append(number)
    return cleaned


def multiply_out(T: Transform) -> Transform:
    """A constant transform with its factors multiplied out and rounding errors removed."""
    if not T.factors:
        return Transform((), Vec(_clean(T.p)))
    R = _clean((x for row in T.R for x in row), unit=1.0)
    return Transform.of((R[:3], R[3:6], R[6:]), Vec(_clean(T.p)))


def _cleaned_inertia(I: AnyInertia) -> AnyInertia:
    own = dry(I)
    (m,) = _clean([own.m])
    return with_dry(I, Inertia.of(m, Vec(_clean(own.h)), Sym(*_clean(own.J))))


def _transform(placement: Placement) -> Transform:
    return Transform.of(placement.rotation, Vec(placement.position))


class Arranged(NamedTuple):
    """The links of a mechanism, and the location of each body and frame; `moving` are the placed joints of the
    links.
    """

    spanning_tree: SpanningTree
    bodies: dict[str, Location]
    frames: dict[str, Location]
    moving: tuple[PlacedJoint, ...]


def arrange(mechanism: Mechanism) -> Arranged:
    """The spanning tree of a mechanism, whose numbers may be symbols."""
    homes: dict[str, Location] = {WORLD: Location(GROUND, IDENTITY)}
    parents: list[int] = []
    moving: list[PlacedJoint] = []
    aligned: list[tuple[Joint, Transform]] = []
    inertias: list[AnyInertia] = []
    for body, c in zip(mechanism.bodies, mechanism.joints, strict=True):
        link, pose = homes[c.parent]
        joint_frame = multiply_out(pose.then(_transform(c.placement)))
        if c.joint.nv == 0:
            home = Location(link, multiply_out(joint_frame.then(c.joint.placement(()))))
        else:
            A, joint = c.joint.aligned()
            turned = Transform(() if A is None else (A,))
            parents.append(link)
            moving.append(c)
            aligned.append((joint, multiply_out(joint_frame.then(turned))))
            inertias.append(Inertia.zero())
            home = Location(len(parents) - 1, multiply_out(turned.inverse()))
        homes[body.name] = home
        if home.link != GROUND:
            inertias[home.link] = inertias[home.link] + inertia_of(body).to_parent(home.pose)
    armatures = link_armatures(moving, mechanism.armatures, {c.name: i for i, c in enumerate(moving)})
    links = tuple(
        Link(joint, placement, _cleaned_inertia(I), *armature)
        for (joint, placement), I, armature in zip(aligned, inertias, armatures, strict=True)
    )
    frames = {
        f.name: Location(homes[f.body].link, multiply_out(homes[f.body].pose.then(_transform(f.placement))))
        for f in mechanism.frames
    }
    return Arranged(SpanningTree(tuple(parents), links), homes, frames, tuple(moving))


@once_per_object
def lower(mechanism: Mechanism) -> ClusterTree:
    """The cluster tree of a mechanism. Without loops every cluster has one link.

    It is computed once per mechanism: closing loops takes long, and readers examine them before a robot is made.
    """
    return _lower(mechanism)


class _Asked:
    """A cluster to be formed, by all that the result depends on."""

    def __init__(self, key: tuple[Any, ...], make: Callable[[], Any]) -> None:
        self.key, self.make, self.number = key, make, hash(key)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key


@lru_cache(maxsize=16)
def _tied(asked: _Asked) -> Any:
    """A cluster with its loops closed, or an equal recent one: closing loops takes long."""
    make, asked.make = asked.make, _tied  # the cache must not keep the whole mechanism alive
    return make()


class _Tying(ClusterFinder):
    """Makes clusters, reusing recent ones of mechanisms that differ elsewhere, or in masses only."""

    def _tie(self, links: tuple[int, ...], loops: Sequence[NamedLoop]) -> Any:
        place = self._places(links, carriers_of(self.tree.parents, links))
        joints_and_links = [(self.moving[i], self.tree.links[i], place[self.tree.parents[i]]) for i in links]
        bodies = {body: self.home(body) for loop in loops for body in loop.loop.bodies}
        key = (
            tuple((c.name, c.joint, link.joint, link.placement, parent) for c, link, parent in joints_and_links),
            tuple(loops),
            tuple((body, place.get(link), pose) for body, (link, pose) in bodies.items()),
            tuple(tuple(self.near.get(c.name, ())) for c, _, _ in joints_and_links),
        )
        make = super()._tie
        return _tied(_Asked(key, lambda: make(links, loops)))


def _lower(mechanism: Mechanism) -> ClusterTree:
    tree, homes, frames, moving = arrange(mechanism)
    near = dict(mechanism.configurations[0].coordinates) if mechanism.configurations else {}
    clusters = _Tying(tree, moving, homes.__getitem__, mechanism.loops, near).clusters()
    equivalent = regroup(tree)
    return ClusterTree(
        tree,
        equivalent,
        hold_rotor_frames(equivalent),
        homes,
        frames,
        moving,
        clusters,
        fluids=fluids(mechanism, homes),
    )


def fluids(mechanism: Mechanism, homes: dict[str, Location]) -> dict[str, Hydrodynamics]:
    """The fluids around bodies that move, by body; numbers may be symbols."""
    bodies = [body for body in mechanism.bodies if homes[body.name].link != GROUND]
    return {body.name: hydrodynamics(body.fluid) for body in bodies if body.fluid is not None}


def every_body(mechanism: Mechanism) -> tuple[SpanningTree, tuple[Transform, ...]]:
    """A tree with a link for every body, fixed ones too, and the pose of each body in its link's frame."""
    number = {body.name: i for i, body in enumerate(mechanism.bodies)}
    poses: dict[str, Transform] = {WORLD: IDENTITY}
    parents, links = [], []
    armatures = link_armatures(
        mechanism.joints, mechanism.armatures, {c.name: i for i, c in enumerate(mechanism.joints)}
    )
    for body, c, armature in zip(mechanism.bodies, mechanism.joints, armatures, strict=True):
        A, joint = c.joint.aligned()
        turned = Transform(() if A is None else (A,))
        poses[body.name] = multiply_out(turned.inverse())
        place = multiply_out(poses[c.parent].then(_transform(c.placement)).then(turned))
        I = inertia_of(body).to_parent(poses[body.name])
        links.append(Link(joint, place, _cleaned_inertia(I), *armature))
        parents.append(number.get(c.parent, GROUND))
    return SpanningTree(tuple(parents), tuple(links)), tuple(poses[b.name] for b in mechanism.bodies)


def is_compensated(mechanism: Mechanism) -> bool:
    """Whether the weight of some bodies is compensated."""
    return any(body.gravity_compensation for body in mechanism.bodies)


def compensated_inertias(mechanism: Mechanism) -> tuple[Inertia, ...]:
    """Of each link the mass and its centre whose weight is compensated, as an inertia without moments of its own."""
    lifted = [(b, b.mass * b.gravity_compensation) for b in mechanism.bodies]
    bodies = tuple(replace(b, mass=mass, inertia=_NOTHING, fluid=None) for b, mass in lifted)
    return tuple(dry(link.I) for link in arrange(replace(mechanism, bodies=bodies)).spanning_tree.links)


def pose_matrix(T: Transform) -> Mat:
    """R and p as a 4 x 4 homogeneous matrix."""
    rows = [Vec((*row, x)) for row, x in zip(T.R, T.p, strict=True)]
    return Mat((*rows, Vec((0.0, 0.0, 0.0, 1.0))))


def is_solid(cluster_tree: ClusterTree) -> bool:
    """Whether every link resists every motion."""
    return _are_solid(np.array([c.I.matrix() for c in cluster_tree.spanning_tree.links], float).reshape(-1, 6, 6))


def _are_solid(inertias: np.ndarray) -> bool:
    """Whether all spatial inertias (n, 6, 6) resist every motion, so that no joint in front of them can be singular."""
    values = np.linalg.eigvalsh(inertias)
    return bool(np.all(values[:, 0] > 1e-10 * values[:, -1]))
