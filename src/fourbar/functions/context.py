"""What recording an algorithm needs: the model, a recorder, and the arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..algorithms.cluster_aba import accelerations, project_forces
from ..algorithms.sweep import Sweeps
from ..arrays import Argument
from ..expr import Program, TooLarge, Unrolled
from ..once import cached_property
from ..spatial.linear import Mat, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Wrench
from ..tree.cluster_tree import GROUND, every_body
from ..tree.clusters import Cluster, split
from ..tree.embedding import EmbeddedState, LoopEmbedding
from ..tree.spanning_tree import SpanningTree
from .model import Model

# Above so many traced operations a program takes long to compile when unrolled; its steps then share their code.
_LARGEST_UNROLLED = 16_000
_LARGE = 32  # links of a cluster from which on a row that speaks of few of them names only those
LARGEST_JACOBIAN = 80_000  # whose steps have less in common, beside products of matrices, which are shared anyhow


class Context:
    """One recording: arguments as symbols, and ways to hand them to the algorithms.

    The arguments hold independent coordinates and velocities, by cluster; the sweeps run on all links. `expanded` is
    the map between the two: q̇ = G ẏ, q̈ = G ÿ + g, and back, τ_independent = Gᵀ τ.
    """

    def __init__(
        self, model: Model, recorder: Any, present: Sequence[Argument], given: dict[str, tuple[Any, ...]] | None = None
    ) -> None:
        self.model = model
        self.recorder = recorder
        self.tree = model.cluster_tree.spanning_tree
        self.clusters = model.cluster_tree.clusters
        self.nv = model.cluster_tree.nv
        self.gravity = model.mechanism.gravity
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

    @cached_property
    def expanded(self) -> list[EmbeddedState | None]:
        """Each cluster at the given state; None for a free link, which needs no map."""
        q, v = self.by_cluster("q"), self.by_cluster("v") if "v" in self.given else [None] * len(self.clusters)
        return [
            None if cluster.is_free else self.recorder.call(expand, cluster.embedding, q[i], v[i])
            for i, cluster in enumerate(self.clusters)
        ]

    @property
    def is_looped(self) -> bool:
        """Whether some links are tied by loops."""
        return any(not cluster.is_free for cluster in self.clusters)

    @cached_property
    def map_rates(self) -> list[tuple[Mat, ...] | None]:
        """Ġ of each cluster at the given state, by link; None for a free link."""
        return [
            None if e is None else self.recorder.call(map_rate, cluster.embedding, e, e.v)
            for cluster, e in zip(self.clusters, self.expanded, strict=True)
        ]

    def by_cluster(self, name: str) -> list[Vec]:
        """An argument by cluster; zeros if it is not given."""
        sizes = "nq" if name in self._configurations else "nv"
        return list(split(self.clusters, self.given.get(name, (0.0,) * self.nv), sizes))

    def _by_link(self, parts: Iterable[tuple[Cluster, Sequence[Any]]]) -> list[Any]:
        found: list[Any] = [None] * len(self.tree.links)
        for cluster, values in parts:
            for link, value in zip(cluster.links, values, strict=True):
                found[link] = value
        return found

    def coordinates(self) -> list[Vec]:
        """The coordinates of each link's joint."""
        given = zip(self.clusters, self.expanded, self.by_cluster("q"), strict=True)
        return self._by_link((cluster, (q,) if e is None else e.q) for cluster, e, q in given)

    def velocities(self) -> list[Vec]:
        """The velocity of each link's joint, G ẏ; zero if no v is given."""
        given = zip(self.clusters, self.expanded, self.by_cluster("v"), strict=True)
        return self._by_link((cluster, (v,) if e is None else e.v) for cluster, e, v in given)

    def accelerations(self, name: str) -> list[Vec]:
        """The acceleration of each link's joint, G ÿ + g, from a named argument (zero if it is not given)."""
        return self.links_accelerations(self.by_cluster(name))

    def links_accelerations(self, parts: Sequence[Vec]) -> list[Vec]:
        """The acceleration of each link's joint, from the independent ones by cluster."""
        given = zip(self.clusters, self.expanded, parts, strict=True)
        return self._by_link(
            (cluster, (a,) if e is None else self.recorder.call(accelerations, e.G, e.g, a)) for cluster, e, a in given
        )

    def every_body(self) -> tuple[SpanningTree, tuple[Transform, ...]]:
        """A tree with a link for every body, fixed ones too, and the pose of each body in its link's frame."""
        return every_body(self.model.mechanism)

    def still(self) -> list[Vec]:
        """A zero for each velocity of each link."""
        return [Vec((0.0,) * c.joint.nv) for c in self.tree.links]

    def project(self, forces: Sequence[Vec]) -> list[Vec]:
        """Forces on all links' joints as forces on the independent velocities, by cluster: Gᵀ τ."""
        found = []
        for cluster, e in zip(self.clusters, self.expanded, strict=True):
            own = tuple(forces[link] for link in cluster.links)
            found.append(own[0] if e is None else self.recorder.call(project_forces, e.G, own))
        return found

    def columns(self, rows: list[list[Any]]) -> list[list[Any]]:
        """A matrix on the velocities of all links (rows of scalars) as one on the independent velocities: J G."""
        if all(e is None for e in self.expanded) and [link for g in self.clusters for link in g.links] == list(
            range(len(self.tree.links))
        ):
            return rows
        found: list[list[Any]] = [[] for _ in rows]
        first = self.tree.first_v
        for cluster, e in zip(self.clusters, self.expanded, strict=True):
            if e is not None and len(cluster.links) > _LARGE:
                place = {
                    first[i] + k: n for n, i in enumerate(cluster.links) for k in range(self.tree.links[i].joint.nv)
                }
                for target, row in zip(found, rows, strict=True):
                    target.extend(self._sparse_columns(cluster, e, row, place))
                continue
            own = [[Vec(row[first[i] : first[i] + self.tree.links[i].joint.nv]) for i in cluster.links] for row in rows]
            for target, parts in zip(found, own, strict=True):
                if e is None:
                    target.extend(parts[0])
                elif all(x.__class__ is float for part in parts for x in part) and not any(map(any, parts)):
                    target.extend([0.0] * cluster.embedding.nv)
                else:
                    target.extend(self.recorder.call(project_forces, e.G, tuple(parts)))
        return found

    def _sparse_columns(
        self, cluster: Cluster, e: EmbeddedState, row: list[Any], place: dict[int, int]
    ) -> Sequence[Any]:
        """The same of one row and a large cluster, without the links that the row does not speak of.

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
        """The same on the cheapest tree that has the same equations of motion.

        `touched` are links whose own frames matter, besides those of all bodies if there are external forces.
        """
        cluster_tree, links = self.model.cluster_tree, list(touched)
        if "f_ext" in self.given or any(cluster_tree.turns_less(i) for i in links):
            return self._sweeps(cluster_tree.equivalent)
        return self._sweeps(cluster_tree.unturned if links else cluster_tree.reframed)

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
                total[home.link] = self.recorder.call(_carried, home.pose, six, total[home.link])
        return total


def inputs(recorder: Any, present: Sequence[Argument]) -> dict[str, tuple[Any, ...]]:
    """Symbols for the entries of some arguments, by name."""
    return {a.name: recorder.input(a.name, a.shape) for a in present}


def expand(embedding: LoopEmbedding, q: Vec, v: Vec | None) -> EmbeddedState:
    """A cluster at a state."""
    return embedding.expand(q, v)


def map_rate(tie: LoopEmbedding, e: EmbeddedState, v: tuple[Vec, ...]) -> tuple[Mat, ...]:
    """How fast G changes as the joints of a cluster move with v."""
    return tie.map_rate(e, v)


def _carried(pose: Any, six: Vec, total: Wrench) -> Wrench:
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
    largest: int = _LARGEST_UNROLLED,
) -> Program:
    """The program of an algorithm of a model."""
    return recorded(name, lambda recorder: algorithm(Context(model, recorder, present), **static), block, largest)


def recorded(name: str, run: Callable[[Any], Outputs], block: int = 1000, largest: int = _LARGEST_UNROLLED) -> Program:
    """The program of what `run` does with a recorder: unrolled if that is small enough, else with shared steps."""
    try:
        recorder: Any = Unrolled(block, largest=largest)
        outputs = run(recorder)
    except TooLarge:
        pass  # what follows is not done here: the error holds on to all that was recorded in vain
    else:
        return recorder.finish(name, outputs)
    from ..expr.shared import Shared  # the larger half of recording

    recorder = Shared()
    return recorder.finish(name, run(recorder))  # no name for the results: they are let go of when they have places
