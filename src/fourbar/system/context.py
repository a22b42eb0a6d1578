"""What recording an algorithm needs: the model, a recorder, and the arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..algorithms.cluster import accelerations, project_forces
from ..algorithms.sweep import Sweeps
from ..expr import Program, TooLarge, Unrolled
from ..model.embedding import Expanded, Tied
from ..model.groups import Group, split
from ..model.lower import GROUND, every_body
from ..model.tree import ClusterTree
from ..once import cached_property
from ..spatial.linear import Mat, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Wrench
from .model import Model

# Above so many traced operations a program takes long to compile when unrolled; its steps then share their code.
_LARGEST_UNROLLED = 16_000
_LARGE = 32  # links of a group from which on a row that speaks of few of them names only those
LARGEST_JACOBIAN = 80_000  # whose steps have less in common, beside products of matrices, which are shared anyhow


class Context:
    """One recording: arguments as symbols, and ways to hand them to the algorithms.

    The arguments hold independent coordinates and velocities, by group; the sweeps run on all links. `expanded` is the
    map between the two: q̇ = G ẏ, q̈ = G ÿ + g, and back, τ_independent = Gᵀ τ.
    """

    def __init__(self, model: Model, recorder: Any, present: Sequence[str]) -> None:
        self.model = model
        self.recorder = recorder
        self.tree = model.lowered.tree
        self.groups = model.lowered.groups
        self.nv = model.lowered.nv
        self.gravity = model.mechanism.gravity
        self.given: dict[str, tuple[Any, ...]] = {name: recorder.input(name, model.shape(name)) for name in present}

    @cached_property
    def expanded(self) -> list[Expanded | None]:
        """Each group at the given state; None for a free link, which needs no map."""
        q, v = self.by_group("q"), self.by_group("v") if "v" in self.given else [None] * len(self.groups)
        return [
            None if group.is_free else self.recorder.call(expand, group.embedding, q[i], v[i])
            for i, group in enumerate(self.groups)
        ]

    @property
    def is_looped(self) -> bool:
        """Whether some links are tied by loops."""
        return any(not group.is_free for group in self.groups)

    @cached_property
    def map_rates(self) -> list[tuple[Mat, ...] | None]:
        """Ġ of each group at the given state, by link; None for a free link."""
        return [
            None if e is None else self.recorder.call(map_rate, group.embedding, e, e.v)
            for group, e in zip(self.groups, self.expanded, strict=True)
        ]

    def by_group(self, name: str) -> list[Vec]:
        """An argument by group; zeros if it is not given."""
        sizes = "nq" if name in ("q", "q0", "q1") else "nv"
        return list(split(self.groups, self.given.get(name, (0.0,) * self.nv), sizes))

    def _by_link(self, parts: Iterable[tuple[Group, Sequence[Any]]]) -> list[Any]:
        found: list[Any] = [None] * len(self.tree.clusters)
        for group, values in parts:
            for link, value in zip(group.links, values, strict=True):
                found[link] = value
        return found

    def coordinates(self) -> list[Vec]:
        """The coordinates of each link's joint."""
        given = zip(self.groups, self.expanded, self.by_group("q"), strict=True)
        return self._by_link((group, (q,) if e is None else e.q) for group, e, q in given)

    def velocities(self) -> list[Vec]:
        """The velocity of each link's joint, G ẏ; zero if no v is given."""
        given = zip(self.groups, self.expanded, self.by_group("v"), strict=True)
        return self._by_link((group, (v,) if e is None else e.v) for group, e, v in given)

    def accelerations(self, name: str) -> list[Vec]:
        """The acceleration of each link's joint, G ÿ + g, from a named argument (zero if it is not given)."""
        return self.links_accelerations(self.by_group(name))

    def links_accelerations(self, parts: Sequence[Vec]) -> list[Vec]:
        """The acceleration of each link's joint, from the independent ones by group."""
        given = zip(self.groups, self.expanded, parts, strict=True)
        return self._by_link(
            (group, (a,) if e is None else self.recorder.call(accelerations, e.G, e.g, a)) for group, e, a in given
        )

    def every_body(self) -> tuple[ClusterTree, tuple[Transform, ...]]:
        """A tree with a link for every body, fixed ones too, and the pose of each body in its link's frame."""
        return every_body(self.model.mechanism)

    def still(self) -> list[Vec]:
        """A zero for each velocity of each link."""
        return [Vec((0.0,) * c.joint.nv) for c in self.tree.clusters]

    def project(self, forces: Sequence[Vec]) -> list[Vec]:
        """Forces on all links' joints as forces on the independent velocities, by group: Gᵀ τ."""
        found = []
        for group, e in zip(self.groups, self.expanded, strict=True):
            own = tuple(forces[link] for link in group.links)
            found.append(own[0] if e is None else self.recorder.call(project_forces, e.G, own))
        return found

    def columns(self, rows: list[list[Any]]) -> list[list[Any]]:
        """A matrix on the velocities of all links (rows of scalars) as one on the independent velocities: J G."""
        if all(e is None for e in self.expanded) and [link for g in self.groups for link in g.links] == list(
            range(len(self.tree.clusters))
        ):
            return rows
        found: list[list[Any]] = [[] for _ in rows]
        first = self.tree.first_v
        for group, e in zip(self.groups, self.expanded, strict=True):
            if e is not None and len(group.links) > _LARGE:
                place = {
                    first[i] + k: n for n, i in enumerate(group.links) for k in range(self.tree.clusters[i].joint.nv)
                }
                for target, row in zip(found, rows, strict=True):
                    target.extend(self._sparse_columns(group, e, row, place))
                continue
            own = [
                [Vec(row[first[i] : first[i] + self.tree.clusters[i].joint.nv]) for i in group.links] for row in rows
            ]
            for target, parts in zip(found, own, strict=True):
                if e is None:
                    target.extend(parts[0])
                elif all(x.__class__ is float for part in parts for x in part) and not any(map(any, parts)):
                    target.extend([0.0] * group.embedding.nv)
                else:
                    target.extend(self.recorder.call(project_forces, e.G, tuple(parts)))
        return found

    def _sparse_columns(self, group: Group, e: Expanded, row: list[Any], place: dict[int, int]) -> Sequence[Any]:
        """The same of one row and a large group, without the links that the row does not speak of.

        `place`: which of the links of the group each column belongs to.
        """
        named = dict.fromkeys(place[j] for j, x in enumerate(row) if (x.__class__ is not float or x) and j in place)
        if not named:
            return [0.0] * group.embedding.nv
        links = [group.links[n] for n in named]
        starts = [(self.tree.first_v[i], self.tree.clusters[i].joint.nv) for i in links]
        forces = tuple(Vec(row[at : at + nv]) for at, nv in starts)
        return self.recorder.call(project_forces, tuple(e.G[n] for n in named), forces)

    def sweeps(self) -> Sweeps:
        """Sweeps over all links at the given state."""
        return self._sweeps(self.tree)

    def equations(self, touched: Iterable[int] = ()) -> Sweeps:
        """The same on the cheapest tree that has the same equations of motion.

        `touched` are links whose own frames matter, besides those of all bodies if there are external forces.
        """
        lowered, links = self.model.lowered, list(touched)
        if "f_ext" in self.given or any(lowered.turns_less(i) for i in links):
            return self._sweeps(lowered.equivalent)
        return self._sweeps(lowered.unturned if links else lowered.reframed)

    def _sweeps(self, tree: ClusterTree) -> Sweeps:
        q = [x for part in self.coordinates() for x in part]
        v = [x for part in self.velocities() for x in part] if "v" in self.given else None
        return Sweeps(tree, self.recorder, q, v)

    def F_ext(self) -> list[Wrench]:
        """External wrench on each cluster: those on its bodies, carried to its frame and summed."""
        total = [Wrench.zero()] * len(self.tree.clusters)
        if "f_ext" not in self.given:
            return total
        for b, body in enumerate(self.model.mechanism.bodies):
            home = self.model.lowered.bodies[body.name]
            if home.cluster != GROUND:
                six = Vec(self.given["f_ext"][6 * b : 6 * b + 6])
                total[home.cluster] = self.recorder.call(_carried, home.pose, six, total[home.cluster])
        return total


def expand(embedding: Tied, q: Vec, v: Vec | None) -> Expanded:
    """A group at a state."""
    return embedding.expand(q, v)


def map_rate(tie: Tied, e: Expanded, v: tuple[Vec, ...]) -> tuple[Mat, ...]:
    """How fast G changes as the joints of a group move with v."""
    return tie.map_rate(e, v)


def _carried(pose: Any, six: Vec, total: Wrench) -> Wrench:
    return pose.force_to_parent(Wrench.of(six)) + total


Outputs = Sequence[tuple[str, tuple[int, ...], Sequence[Any]]]
Record = Callable[..., Outputs]


def record(
    name: str,
    model: Model,
    algorithm: Record,
    present: tuple[str, ...],
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
