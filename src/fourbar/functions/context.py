"""The context in which an algorithm is recorded: the model, a recorder, and the arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from ..algorithms.sweep import Sweeps
from ..arrays import Argument
from ..expr import Program, TooLarge, Unrolled
from ..once import cached_property
from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Wrench
from ..tree.cluster_tree import GROUND, compensated_inertias, every_body, is_compensated
from ..tree.clusters import Cluster, split
from ..tree.spanning_tree import SpanningTree
from ..tree.states import ClusterState, project_forces
from .model import Model

# Above so many traced operations a program takes long to compile when unrolled; its steps then share their code.
LARGEST_UNROLLED = 16_000
_LARGE = 32  # links of a cluster from which on a row that speaks of few of them names only those
LARGEST_JACOBIAN = 80_000  # whose steps have less in common, beside products of matrices, which are shared anyhow


class Context:
    """One recording: arguments as symbols, and ways to hand them to the algorithms.

    The arguments hold independent coordinates and velocities, by cluster; the sweeps run on all links. `cluster_states`
    maps between the two: q̇ = G ẏ, q̈ = G ÿ + g, and back, τ_independent = Gᵀ τ.
    """

    def __init__(
        self, model: Model, recorder: Any, present: Sequence[Argument], given: dict[str, tuple[Any, ...]] | None = None
    ) -> None:
        self.model = model
        self.origin = model  # with all numbers as built, if those of `model` are arguments
        self.recorder = recorder
        self.tree = model.cluster_tree.spanning_tree
        self.clusters = model.cluster_tree.clusters
        self.nv = model.cluster_tree.nv
        self.gravity = model.mechanism.gravity
        self.actuators = model.mechanism.actuators
        self.given = inputs(recorder, present) if given is None else given
        self._configurations = frozenset(a.name for a in present if a.is_configuration)

    @classmethod
    def at(cls, model: Model, recorder: Any, given: Mapping[str, tuple[Any, ...]]) -> Context:
        """A recording at values that a larger recording has: the flat entries of arguments, by name; "q" are
        coordinates, all others are entries of tangents.
        """
        made = cls(model, recorder, (), dict(given))
        made._configurations = frozenset({"q"})
        return made

    def with_values(self, given: Mapping[str, tuple[Any, ...]]) -> Context:
        """The same recording at other values."""
        other = copy(self)
        for made in ("cluster_states", "map_rates"):
            vars(other).pop(made, None)
        other.given = dict(given)
        return other

    def with_clusters(self, clusters: tuple[Cluster, ...]) -> Context:
        """The same recording with other embeddings of the links."""
        other = self.with_values(self.given)
        other.clusters = clusters
        return other

    def in_steps(self) -> Context:
        """The same recording for a step in time (`LoopEmbedding.in_steps`)."""
        return self.with_clusters(tuple(replace(x, embedding=x.embedding.in_steps()) for x in self.clusters))

    @cached_property
    def cluster_states(self) -> list[ClusterState]:
        """Each cluster at the given state."""
        q, v = self.by_cluster("q"), self.by_cluster("v") if "v" in self.given else [None] * len(self.clusters)
        given = zip(self.clusters, q, v, strict=True)
        return [cluster.embedding.state(self.recorder.call, own_q, own_v) for cluster, own_q, own_v in given]

    @property
    def is_looped(self) -> bool:
        """Whether the velocities are not just those of all links in order: loops tie some, or armature couples some."""
        return any(not cluster.is_free or len(cluster.links) > 1 for cluster in self.clusters)

    @cached_property
    def map_rates(self) -> list[tuple[Mat, ...] | None]:
        """Ġ of each cluster at the given state, by link; None where G does not change."""
        given = zip(self.clusters, self.cluster_states, strict=True)
        return [cluster.embedding.map_rates(self.recorder.call, e) for cluster, e in given]

    def by_cluster(self, name: str) -> list[Vec]:
        """An argument by cluster; zeros if it is not given."""
        sizes = "nq" if name in self._configurations else "nv"
        return list(split(self.clusters, self.given.get(name, (0.0,) * self.nv), sizes))

    def _by_link(self, parts: Iterable[tuple[Cluster, Sequence[Any]]]) -> list[Any]:
        by_link: list[Any] = [None] * len(self.tree.links)
        for cluster, values in parts:
            for link, value in zip(cluster.links, values, strict=True):
                by_link[link] = value
        return by_link

    def coordinates(self) -> list[Vec]:
        """The coordinates of each link's joint."""
        return self._by_link((cluster, e.q) for cluster, e in zip(self.clusters, self.cluster_states, strict=True))

    def velocities(self) -> list[Vec]:
        """The velocity of each link's joint, G ẏ; zero if no v is given."""
        return self._by_link((cluster, e.v) for cluster, e in zip(self.clusters, self.cluster_states, strict=True))

    def accelerations(self, name: str) -> list[Vec]:
        """The acceleration of each link's joint, G ÿ + g, from a named argument (zero if it is not given)."""
        return self.links_accelerations(self.by_cluster(name))

    def links_accelerations(self, parts: Sequence[Vec]) -> list[Vec]:
        """The acceleration of each link's joint, from the independent ones by cluster."""
        given = zip(self.clusters, self.cluster_states, parts, strict=True)
        return self._by_link((cluster, e.accelerations(self.recorder.call, a)) for cluster, e, a in given)

    def every_body(self) -> tuple[SpanningTree, tuple[Transform, ...]]:
        """A tree with a link for every body, fixed ones too, and the pose of each body in its link's frame."""
        return every_body(self.model.mechanism)

    def compensated_inertias(self) -> Sequence[Inertia]:
        """The inertias of all links whose weight is compensated; empty where there are none."""
        mechanism = self.model.mechanism
        return compensated_inertias(mechanism) if is_compensated(mechanism) else ()

    def compensation(self) -> Sweeps | None:
        """Sweeps at rest over links with nothing but the mass whose weight is compensated; None if there is none."""
        inertias = self.compensated_inertias()
        if not inertias:
            return None
        both = zip(self.tree.links, inertias, strict=True)
        links = tuple(link._replace(I=I, armature=Vec((0.0,) * link.joint.nv)) for link, I in both)
        q = [x for part in self.coordinates() for x in part]
        return Sweeps(SpanningTree(self.tree.parents, links), self.recorder, q, None)

    def still(self) -> list[Vec]:
        """A zero for each velocity of each link."""
        return [Vec((0.0,) * c.joint.nv) for c in self.tree.links]

    def project(self, forces: Sequence[Vec]) -> list[Vec]:
        """Forces on all links' joints as forces on the independent velocities, by cluster: Gᵀ τ."""
        found = []
        for cluster, e in zip(self.clusters, self.cluster_states, strict=True):
            found.append(e.project(self.recorder.call, tuple(forces[link] for link in cluster.links)))
        return found

    def columns(self, rows: list[list[Any]]) -> list[list[Any]]:
        """A matrix on the velocities of all links (rows of scalars) as one on the independent velocities: J G."""
        ordered = [link for cluster in self.clusters for link in cluster.links] == list(range(len(self.tree.links)))
        if ordered and not self.is_looped:
            return rows
        independent_rows: list[list[Any]] = [[] for _ in rows]
        first = self.tree.first_v
        for cluster, e in zip(self.clusters, self.cluster_states, strict=True):
            if len(cluster.links) > _LARGE:
                place = {
                    first[i] + k: n for n, i in enumerate(cluster.links) for k in range(self.tree.links[i].joint.nv)
                }
                for target, row in zip(independent_rows, rows, strict=True):
                    target.extend(self._sparse_columns(cluster, e, row, place))
                continue
            parts_by_row = [
                [Vec(row[first[i] : first[i] + self.tree.links[i].joint.nv]) for i in cluster.links] for row in rows
            ]
            for target, parts in zip(independent_rows, parts_by_row, strict=True):
                if all(x.__class__ is float for part in parts for x in part) and not any(map(any, parts)):
                    target.extend([0.0] * cluster.embedding.nv)
                else:
                    target.extend(e.project(self.recorder.call, tuple(parts)))
        return independent_rows

    def _sparse_columns(
        self, cluster: Cluster, e: ClusterState, row: list[Any], place: dict[int, int]
    ) -> Sequence[Any]:
        """`columns` of one row and a large cluster, without the links in which the row is zero.

        `place`: which of the links of the cluster each column belongs to.
        """
        named = dict.fromkeys(place[j] for j, x in enumerate(row) if (x.__class__ is not float or x) and j in place)
        if not named:
            return [0.0] * cluster.embedding.nv
        links = [cluster.links[n] for n in named]
        starts = [(self.tree.first_v[i], self.tree.links[i].joint.nv) for i in links]
        forces = tuple(Vec(row[at : at + nv]) for at, nv in starts)
        return self.recorder.call(project_forces, tuple(e.G[n] for n in named), forces)

    def sweeps(self) -> Sweeps:
        """Sweeps over all links at the given state."""
        return self._sweeps(self.tree)

    def equations(self, touched: Iterable[int] = ()) -> Sweeps:
        """Sweeps at the given state over the cheapest tree that has the same equations of motion.

        `touched` are links whose own frames matter, besides those of all bodies if there are external forces.
        """
        cluster_tree, links = self.model.cluster_tree, list(touched)
        if "f_ext" in self.given or any(cluster_tree.turns_less(i) for i in links):
            return self._sweeps(cluster_tree.equivalent)
        return self._sweeps(cluster_tree.unturned if links else cluster_tree.cheapest_tree)

    def _sweeps(self, tree: SpanningTree) -> Sweeps:
        q = [x for part in self.coordinates() for x in part]
        v = [x for part in self.velocities() for x in part] if "v" in self.given else None
        return Sweeps(tree, self.recorder, q, v)

    def F_ext(self) -> list[Wrench]:
        """External wrench on each link: those on its bodies, carried to its frame and summed."""
        total = [Wrench.zero()] * len(self.tree.links)
        if "f_ext" not in self.given:
            return total
        for b, body in enumerate(self.model.mechanism.bodies):
            home = self.model.cluster_tree.bodies[body.name]
            if home.link != GROUND:
                six = Vec(self.given["f_ext"][6 * b : 6 * b + 6])
                total[home.link] = self.recorder.call(_add_in_parent, home.pose, six, total[home.link])
        return total


def inputs(recorder: Any, present: Sequence[Argument]) -> dict[str, tuple[Any, ...]]:
    """Symbols for the entries of some arguments, by name."""
    return {a.name: recorder.input(a.name, a.shape) for a in present}


def _add_in_parent(pose: Any, six: Vec, total: Wrench) -> Wrench:
    return pose.force_to_parent(Wrench.of(six)) + total


Outputs = Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]
Record = Callable[..., Outputs]


def record(
    name: str,
    model: Model,
    algorithm: Record,
    present: Sequence[Argument],
    static: dict[str, Any],
    block: int = 1000,
    largest: int = LARGEST_UNROLLED,
) -> Program:
    """The program of an algorithm of a model."""
    return record_program(name, lambda recorder: algorithm(Context(model, recorder, present), **static), block, largest)


def record_program(
    name: str, run: Callable[[Any], Outputs], block: int = 1000, largest: int = LARGEST_UNROLLED
) -> Program:
    """The program that `run` writes with a recorder: unrolled if that is small enough, else with shared steps."""
    try:
        recorder: Any = Unrolled(block, largest=largest)
        outputs = run(recorder)
    except TooLarge:
        pass  # what follows is not done here: the error keeps alive all that was recorded for nothing
    else:
        return recorder.finish(name, outputs)
    from ..expr.shared import Shared  # the larger half of recording

    recorder = Shared()
    return recorder.finish(name, run(recorder))  # no name for the results: they are let go of when they have places
