"""Rows A v of constraints at a state, and how unit forces along them reach the joints.

A unit force along a row acts on some links (its wrench is the row itself, in the link's frame) and in some joints.
Propagated inward through freed joints it leaves u = τ - Sᵀ pA in each cluster, and with the articulated inertias D
of the clusters

    Ω = A M⁻¹ Aᵀ = Σ uᵀ D⁻¹ u,      M⁻¹ Aᵀ λ = what w = D⁻¹ u λ spreads outward,

so neither M nor M⁻¹ Aᵀ is formed (Kim eq. 67-69 with the sweeps of Table 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ...constraints.trace import RowTrace
from ...expr import evaluate
from ...spatial.linear import Mat, Scalar, Vec, dot
from ...spatial.transform import Transform
from ...spatial.vectors import Wrench
from ...tree.clusters import Cluster
from ...tree.links import Kinematics
from ...tree.states import ClusterState
from ..articulated import make_nodes
from ..kinematics import STILL, MovingBody, move_outward
from ..minverse import Columns, Released, add_rows, push_rows_inward
from ..sweep import ClusterSweeps, Outcome, Sweeps


class ConstraintRows(NamedTuple):
    """The rows of one condition: the links and joints (by link) that they look at, and what carries all of these.

    `poses` are those of the places on the links, if they may change, and `changes` those of the condition's numbers.
    """

    traced: RowTrace
    links: tuple[int, ...]
    joints: tuple[int, ...]
    carrier: int
    poses: tuple[Transform, ...] = ()
    changes: Vec = Vec(())


class RowValues(NamedTuple):
    """A group of rows at a state: φ, A v, A a + Ȧ v; A by link (m x 6, in its frame), and by joint."""

    phi: Vec  # (m,)
    rate: Vec  # (m,)
    acceleration: Vec  # (m,)
    pull: tuple[Mat, ...]  # (m, 6) each
    turn: tuple[Mat, ...]  # (m, nv of the joint) each


def _numbers(link: MovingBody) -> list[Scalar]:
    R = [x for row in link.pose.R for x in row]
    w, al, acc, G = link.motion
    return [*R, *link.pose.p, *w, *link.V.linear, *al, *acc, *(x for row in G for x in row)]


def rows_at(
    traced: RowTrace,
    links: tuple[MovingBody, ...],
    joints: tuple[tuple[Vec, Vec, Vec], ...],
    poses: tuple[Transform, ...],
    changes: Vec,
) -> RowValues:
    """The rows for the motion of links, q, v, a of joints, places on the links, and changes of the rows' numbers."""
    values = [x for link in links for x in _numbers(link)] + [x for parts in joints for part in parts for x in part]
    values += [*(x for pose in poses for row in (*pose.R, pose.p) for x in row), *changes]
    known = dict(zip(traced.inputs, values, strict=True))
    blocks = (*traced.pull, *traced.turn)
    roots = [*traced.phi, *traced.rate, *traced.acceleration, *(x for block in blocks for row in block for x in row)]
    found = iter(evaluate(roots, known))  # at once: they have much in common
    phi, rate, acceleration = (Vec(islice(found, traced.m)) for _ in range(3))
    pull, turn = (
        tuple(Mat(Vec(islice(found, len(row))) for row in block) for block in part)
        for part in (traced.pull, traced.turn)
    )
    return RowValues(phi, rate, acceleration, pull, turn)


def evaluate_rows(
    s: Sweeps, groups: Sequence[ConstraintRows], q: Sequence[Vec], v: Sequence[Vec], a: Sequence[Any]
) -> list[RowValues]:
    """The rows of all groups, from q, v and a of each link's joint (a is needed on paths to their links only)."""
    moved: dict[int, dict[int, MovingBody]] = {}
    values = []
    for group in groups:
        own = moved.setdefault(group.carrier, {group.carrier: STILL})
        s.outward_to(group.links, move_outward, own, v, a)
        joints = tuple((q[i], v[i], a[i]) for i in group.joints)
        links = tuple(own[i] for i in group.links)
        values.append(s.recorder.call(rows_at, group.traced, links, joints, group.poses, group.changes))
    return values


def respond_inward(
    cluster: Any, on: tuple[tuple[Wrench, ...] | None, ...], tau: Columns | None, hinge: Any, nv: int
) -> Outcome:
    """The response of a cluster to unit forces along rows: `on` are biases by link and row, `tau` act in its joints."""
    u, w, pa = push_rows_inward(cluster, on, tau, hinge, nv)
    return Outcome(RowResponse(u, w), pa)


class RowResponse(NamedTuple):
    """The responses of a cluster to a unit force along each row: the force u left in it, and its answer w = D⁻¹ u."""

    u: Columns
    w: Columns


def wrenches(pull: Mat) -> tuple[Wrench, ...]:
    """The rows as biases: minus the forces."""
    return tuple(-Wrench.of(row) for row in pull)


def tied_rows(G: Mat, turn: Mat, others: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """Rows (m, nv) over one joint of a cluster as rows (m, n) over its independent velocities, plus others."""
    return tuple(x + G.transpose_times(row) for x, row in zip(others, turn, strict=True))


class RowPropagation:
    """The propagation of rows to the clusters of a tree whose joints were freed (or held)."""

    def __init__(self, sweeps: ClusterSweeps, states: Sequence[ClusterState], hinges: Sequence[Any]) -> None:
        self.sweeps, self.states, self.hinges = sweeps, states, hinges
        self.s, self.clusters = sweeps.s, sweeps.clusters
        self._nv = [cluster.embedding.nv for cluster in sweeps.clusters]

    def needed_clusters(self, groups: Sequence[ConstraintRows]) -> list[int]:
        """All clusters that carry links of the groups, carriers first."""
        return sorted({n for b in groups for link in (*b.links, *b.joints) for n in self.sweeps.path(link)})

    def replies(self, group: ConstraintRows, rows: RowValues) -> dict[int, RowResponse]:
        """The response of each cluster that unit forces along the rows reach."""
        on = {link: self.s.recorder.call(wrenches, pull) for link, pull in zip(group.links, rows.pull, strict=True)}
        within = self._to_independent(group, rows)
        return self.sweeps.inward_from(respond_inward, on, within, add_rows, self.hinges, self._nv)

    def _to_independent(self, group: ConstraintRows, rows: RowValues) -> dict[int, Columns]:
        """The rows over joints by cluster, over the independent velocities."""
        by_cluster: dict[int, Any] = {}
        for link, turn in zip(group.joints, rows.turn, strict=True):
            n = self.sweeps.home[link]
            others = by_cluster.get(n, (Vec([0.0] * self._nv[n]),) * group.traced.m)
            block = self.states[n].G[self.clusters[n].links.index(link)]
            by_cluster[n] = self.s.recorder.call(tied_rows, block, turn, others)
        return by_cluster


def gram(first: tuple[RowResponse, ...], second: tuple[RowResponse, ...]) -> Mat:
    """Σ uᵀ w over clusters: a block of Ω."""
    return Mat(
        Vec(
            [_total([dot(a.u[i], b.w[j]) for a, b in zip(first, second, strict=True)]) for j in range(len(second[0].w))]
        )
        for i in range(len(first[0].u))
    )


def _total(parts: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x in parts:
        total = total + x
    return total


def assemble(sizes: Sequence[int], block: Callable[[int, int], Mat | None]) -> list[list[Any]]:
    """A symmetric matrix as rows of scalars, from blocks on and below the diagonal; None stands for zeros."""
    first = [sum(sizes[:e]) for e in range(len(sizes))]
    full: list[list[Any]] = [[0.0] * sum(sizes) for _ in range(sum(sizes))]
    for e in range(len(sizes)):
        for f in range(e + 1):
            for i, row in enumerate(block(e, f) or ()):
                for j, x in enumerate(row):
                    at, to = first[e] + i, first[f] + j
                    if at >= to:
                        full[at][to] = full[to][at] = x
    return full


def omega(s: Sweeps, replies: Sequence[dict[int, RowResponse]], sizes: Sequence[int]) -> list[list[Any]]:
    """Ω = A M⁻¹ Aᵀ as rows of scalars."""

    def block(e: int, f: int) -> Mat | None:
        shared = [n for n in replies[e] if n in replies[f]]
        responses = [tuple(replies[x][n] for n in shared) for x in (e, f)]
        return s.recorder.call(gram, *responses) if shared else None

    return assemble(sizes, block)


def combine(columns: tuple[tuple[Vec, ...], ...], force: tuple[Vec, ...]) -> Vec:
    """Σ λ_i w_i over groups and rows."""
    pairs = [(w, x) for own, lam in zip(columns, force, strict=True) for w, x in zip(own, lam, strict=True)]
    total = pairs[0][0] * pairs[0][1]
    for w, x in pairs[1:]:
        total = total + w * x
    return total


def release_or_hold(
    s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState], held: Sequence[Sequence[bool]]
) -> Released:
    """Every cluster released, held where it is prescribed, or some of each."""
    return Released(ClusterSweeps(s, clusters, make_nodes(s, clusters, states, held)[0]))


def project_row(k: Kinematics, F: tuple[Wrench, ...]) -> tuple[tuple[Vec, ...], tuple[Wrench, ...]]:
    """Rows over a link's joint, from the forces on the link by row, and the forces on its parent."""
    return tuple(-k.S.project(f) for f in F), tuple(k.X.force_to_parent(f) for f in F)


def dense_rows(s: Sweeps, group: ConstraintRows, rows: RowValues) -> list[list[Any]]:
    """A of a group over the velocities of all links, as rows of scalars."""
    full: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(group.traced.m)]
    for link, turn in zip(group.joints, rows.turn, strict=True):
        _add(s, full, s.tree.first_v[link], turn)
    on = {link: s.recorder.call(wrenches, pull) for link, pull in zip(group.links, rows.pull, strict=True)}
    for i, own in s.inward_from(project_row, on, add_rows, group.carrier).items():
        _add(s, full, s.tree.first_v[i], own)
    return full


def _add(s: Sweeps, full: list[list[Any]], first: int, rows: Sequence[Sequence[Any]]) -> None:
    for target, row in zip(full, rows, strict=True):
        there = Vec(target[first : first + len(row)])
        target[first : first + len(row)] = s.recorder.call(_sum, there, Vec(row))


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b
