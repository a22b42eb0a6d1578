"""Rows A v of constraints at a state, and how unit forces along them reach the joints.

A unit force along a row acts on some links (its wrench is the row itself, in the link's frame) and in some joints. Felt
inward through freed joints it leaves u = τ - Sᵀ pA in each cluster, and with the articulated inertias D of the clusters

    Ω = A M⁻¹ Aᵀ = Σ uᵀ D⁻¹ u,      M⁻¹ Aᵀ λ = what w = D⁻¹ u λ spreads outward,

so neither M nor M⁻¹ Aᵀ is formed (Kim eq. 67-69 with the sweeps of Table 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from ...constraints.trace import Traced
from ...expr import evaluate
from ...spatial.articulated import Articulated
from ...spatial.linear import Mat, Scalar, Vec, dot
from ...spatial.transform import Transform
from ...spatial.vectors import Twist, Wrench
from ...tree.clusters import GROUND, Cluster
from ...tree.embedding import EmbeddedState
from ...tree.links import Kinematics
from .. import cluster_aba
from ..hybrid import check_held
from ..kinematics import STILL, Moving, move_outward
from ..minverse import FreedCluster, FreedLink, Released, Releaser, kinematics_of, release_stack
from ..sweep import Outcome, Sweeps


class ConstraintRows(NamedTuple):
    """The rows of one condition: the links and joints (by link) that they look at, and what carries all of these.

    `poses` are those of the places on the links, if they may change, and `changes` those of the condition's numbers.
    """

    traced: Traced
    links: tuple[int, ...]
    joints: tuple[int, ...]
    carrier: int
    poses: tuple[Transform, ...] = ()
    changes: Vec = Vec(())


class Rows(NamedTuple):
    """A bundle at a state: φ, A v, A a + Ȧ v; A by link (m x 6, in its frame), and by joint."""

    phi: Vec
    rate: Vec
    acceleration: Vec
    pull: tuple[Mat, ...]
    turn: tuple[Mat, ...]


def _numbers(link: Moving) -> list[Scalar]:
    R = [x for row in link.pose.R for x in row]
    w, al, acc, G = link.motion
    return [*R, *link.pose.p, *w, *link.V.linear, *al, *acc, *(x for row in G for x in row)]


def rows_at(
    traced: Traced,
    links: tuple[Moving, ...],
    joints: tuple[tuple[Vec, Vec, Vec], ...],
    poses: tuple[Transform, ...],
    changes: Vec,
) -> Rows:
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
    return Rows(phi, rate, acceleration, pull, turn)


def evaluate_rows(
    s: Sweeps, bundles: Sequence[ConstraintRows], q: Sequence[Vec], v: Sequence[Vec], a: Sequence[Any]
) -> list[Rows]:
    """The rows of all bundles, from q, v and a of each link's joint (a is needed on the way to the bundles only)."""
    moved: dict[int, dict[int, Moving]] = {}
    found = []
    for bundle in bundles:
        own = moved.setdefault(bundle.carrier, {bundle.carrier: STILL})
        for link in bundle.links:
            for i in reversed([link, *s.tree.ancestors(link)]):
                if i > bundle.carrier and i not in own:
                    own[i] = s.step(i, move_outward, own[s.tree.parents[i]], v[i], a[i])
        joints = tuple((q[i], v[i], a[i]) for i in bundle.joints)
        links = tuple(own[i] for i in bundle.links)
        found.append(s.recorder.call(rows_at, bundle.traced, links, joints, bundle.poses, bundle.changes))
    return found


class Held(NamedTuple):
    """A cluster that moves as prescribed: it answers no force, and passes all of it on."""

    ks: tuple[Kinematics, ...]
    inner: tuple[int, ...]
    nv: int


def hold(
    ks: tuple[Kinematics, ...], inner: tuple[int, ...], nv: int, children: tuple[tuple[Articulated, ...], ...]
) -> Outcome:
    """A prescribed cluster, and all of its inertia for its carrier."""
    IA = [sum(sent, Articulated.of(k.I)) for k, sent in zip(ks, children, strict=True)]
    return Outcome(Held(ks, inner, nv), cluster_aba.composite(ks, inner, IA))


class Partly(NamedTuple):
    """A cluster of tied links of which some of its nv velocities move as prescribed: a stack of the `free` ones."""

    stack: FreedCluster
    free: tuple[int, ...]
    nv: int

    def freed(self, x: Vec) -> Vec:
        """The entries of the free velocities."""
        return Vec([x[j] for j in self.free])

    def scattered(self, x: Vec) -> Vec:
        """Entries of the free velocities among zeros."""
        found: list[Scalar] = [0.0] * self.nv
        for j, y in zip(self.free, x, strict=True):
            found[j] = y
        return Vec(found)


def release_partly(
    ks: tuple[Kinematics, ...],
    inner: tuple[int, ...],
    G: tuple[Mat, ...],
    free: tuple[int, ...],
    nv: int,
    children: tuple[tuple[Articulated, ...], ...],
) -> Outcome:
    """A stack that moves with the free ones of its nv velocities only."""
    moving = tuple(Mat(Vec([row[j] for j in free]) for row in block) for block in G)
    stack, Ia = release_stack(ks, inner, moving, children)
    return Outcome(Partly(stack, free, nv), Ia)


class RowResponse(NamedTuple):
    """For each row what a unit force along it leaves in a cluster, u; and the cluster's own answer w = D⁻¹ u."""

    u: tuple[Vec, ...]
    w: tuple[Vec, ...]


def _push(released: Released | Held | Partly, on: Sequence[Wrench], tau: Vec) -> tuple[Vec, Vec, Wrench]:
    """u, w and what the carrier feels, for biases on the links and forces in the joints."""
    if isinstance(released, Held):
        none = Vec([0.0] * released.nv)
        return none, none, cluster_aba.gather(released.ks, released.inner, on)[1]
    if isinstance(released, Partly):
        u, w, felt = _push(released.stack, on, released.freed(tau))
        return released.scattered(u), released.scattered(w), felt
    if isinstance(released, FreedLink):
        (pA,) = on
        u = tau - released.k.S.project(pA)
        return u, *released.push(pA, tau)
    F, _ = cluster_aba.gather(released.ks, released.inner, on)
    u = tau - cluster_aba.projected(released.ks, released.G, F, [Vec([0.0] * k.S.nv) for k in released.ks])
    return u, *released.push(tuple(on), tau)


def push_group(
    released: Released | Held | Partly, on: tuple[tuple[Wrench, ...] | None, ...], tau: tuple[Vec, ...]
) -> tuple[RowResponse, tuple[Wrench, ...]]:
    """All rows of a bundle: `on` are biases by link and row, `tau` the forces in the cluster's joints by row."""
    replies = []
    for r, own in enumerate(tau):
        replies.append(_push(released, [Wrench.zero() if sent is None else sent[r] for sent in on], own))
    return RowResponse(tuple(u for u, _, _ in replies), tuple(w for _, w, _ in replies)), tuple(
        p for _, _, p in replies
    )


def wrenches(pull: Mat) -> tuple[Wrench, ...]:
    """The rows as biases: minus the forces."""
    return tuple(-Wrench.of(row) for row in pull)


def added(a: tuple[Wrench, ...], b: tuple[Wrench, ...]) -> tuple[Wrench, ...]:
    """Sum by row."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def tied_rows(G: Mat, turn: Mat, others: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """Rows over one joint of a tied cluster as rows over its independent velocities, plus others."""
    return tuple(x + G.transpose_times(row) for x, row in zip(others, turn, strict=True))


class RowPropagation:
    """How the rows of bundles reach the clusters of a tree whose joints were freed (or held)."""

    def __init__(
        self, s: Sweeps, clusters: Sequence[Cluster], expanded: Sequence[EmbeddedState | None], released: Sequence[Any]
    ) -> None:
        self.s, self.clusters, self.expanded, self.released = s, clusters, expanded, released
        self.home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}

    def path(self, link: int) -> list[int]:
        """The clusters from that of a link to the root."""
        found = []
        while link >= 0:
            found.append(self.home[link])
            link = self.clusters[found[-1]].carrier
        return found

    def needed(self, bundles: Sequence[ConstraintRows]) -> list[int]:
        """All clusters that carry what the bundles look at, what carries first."""
        return sorted({n for b in bundles for link in (*b.links, *b.joints) for n in self.path(link)})

    def replies(self, bundle: ConstraintRows, rows: Rows) -> dict[int, RowResponse]:
        """What unit forces along the rows leave in each cluster that they reach."""
        call, m = self.s.recorder.call, bundle.traced.m
        felt: dict[int, Any] = {}
        for link, pull in zip(bundle.links, rows.pull, strict=True):
            felt[link] = call(wrenches, pull)
        turned = self._turned(bundle, rows)
        found: dict[int, RowResponse] = {}
        for n in reversed(range(len(self.clusters))):
            cluster = self.clusters[n]
            if n not in turned and not any(link in felt for link in cluster.links):
                continue
            tau = turned.get(n, (Vec([0.0] * cluster.embedding.nv),) * m)
            on = tuple(felt.get(link) for link in cluster.links)
            found[n], sent = call(push_group, self.released[n], on, tau)
            if cluster.carrier != GROUND:
                felt[cluster.carrier] = call(added, felt[cluster.carrier], sent) if cluster.carrier in felt else sent
        return found

    def _turned(self, bundle: ConstraintRows, rows: Rows) -> dict[int, tuple[Vec, ...]]:
        """The rows over joints by cluster, over the independent velocities."""
        found: dict[int, Any] = {}
        for link, turn in zip(bundle.joints, rows.turn, strict=True):
            n = self.home[link]
            cluster, e = self.clusters[n], self.expanded[n]
            others = found.get(n, (Vec([0.0] * cluster.embedding.nv),) * bundle.traced.m)
            block = Mat.identity(cluster.embedding.nv) if e is None else e.G[cluster.links.index(link)]
            found[n] = self.s.recorder.call(tied_rows, block, turn, others)
        return found


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


def omega(s: Sweeps, replies: Sequence[dict[int, RowResponse]], sizes: Sequence[int]) -> list[list[Any]]:
    """Ω = A M⁻¹ Aᵀ as rows of scalars."""
    first = [sum(sizes[:e]) for e in range(len(sizes))]
    full: list[list[Any]] = [[0.0] * sum(sizes) for _ in range(sum(sizes))]
    for e, own in enumerate(replies):
        for f, other in enumerate(replies[: e + 1]):
            shared = [n for n in own if n in other]
            if not shared:
                continue
            block = s.recorder.call(gram, tuple(own[n] for n in shared), tuple(other[n] for n in shared))
            for i, row in enumerate(block):
                for j, x in enumerate(row):
                    at, to = first[e] + i, first[f] + j
                    if at >= to:
                        full[at][to] = full[to][at] = x
    return full


def combine(columns: tuple[tuple[Vec, ...], ...], force: tuple[Vec, ...]) -> Vec:
    """Σ λ_i w_i over bundles and rows."""
    pairs = [(w, x) for own, lam in zip(columns, force, strict=True) for w, x in zip(own, lam, strict=True)]
    total = pairs[0][0] * pairs[0][1]
    for w, x in pairs[1:]:
        total = total + w * x
    return total


def answers(s: Sweeps, clusters: Sequence[Cluster], released: Sequence[Any], w: dict[int, Vec]) -> list[Vec]:
    """What the clusters' own answers w spread outward: M⁻¹ of the forces that caused them, by cluster."""
    moved: dict[int, Twist] = {GROUND: Twist.zero()}
    found = []
    for n, cluster in enumerate(clusters):
        own = w.get(n, Vec([0.0] * cluster.embedding.nv))
        a, parts = s.recorder.call(answer, released[n], own, moved[cluster.carrier])
        moved.update(zip(cluster.links, parts, strict=True))
        found.append(a)
    return found


def answer(released: Released | Held | Partly, w: Vec, A: Twist) -> tuple[Vec, tuple[Twist, ...]]:
    """Accelerations of a cluster and of its links."""
    if isinstance(released, Held):
        return w, tuple(cluster_aba.spread(released.ks, released.inner, [Twist.zero()] * len(released.ks), A))
    if isinstance(released, Partly):
        a, moved = released.stack.answer(released.freed(w), A)
        return released.scattered(a), moved
    return released.answer(w, A)


def release_or_hold(
    s: Sweeps, clusters: Sequence[Cluster], expanded: Sequence[EmbeddedState | None], held: Sequence[Sequence[bool]]
) -> list[Any]:
    """Every cluster released, held where it is prescribed, or some of each; a joint without loops all or not at all."""
    check_held(clusters, held)
    releaser = Releaser(s, clusters, expanded)
    found: list[Any] = [None] * len(clusters)
    for n in reversed(range(len(clusters))):
        if not any(held[n]):
            found[n] = releaser.release(n)
            continue
        cluster, e = clusters[n], expanded[n]
        ks = tuple(s.step(i, kinematics_of) for i in cluster.links)
        free = tuple(j for j, x in enumerate(held[n]) if not x)
        if not free or e is None:
            found[n] = releaser.keep(n, hold, ks, cluster.inner, cluster.embedding.nv)
        else:
            found[n] = releaser.keep(n, release_partly, ks, cluster.inner, e.G, free, cluster.embedding.nv)
    return found


def project_row(k: Kinematics, F: tuple[Wrench, ...]) -> tuple[tuple[Vec, ...], tuple[Wrench, ...]]:
    """Rows over a link's joint, from the forces on the link by row, and the forces on its parent."""
    return tuple(-k.S.project(f) for f in F), tuple(k.X.force_to_parent(f) for f in F)


def dense_rows(s: Sweeps, bundle: ConstraintRows, rows: Rows) -> list[list[Any]]:
    """A of a bundle over the velocities of all links, as rows of scalars."""
    full: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(bundle.traced.m)]
    for link, turn in zip(bundle.joints, rows.turn, strict=True):
        _add(s, full, s.tree.first_v[link], turn)
    felt = {link: s.recorder.call(wrenches, pull) for link, pull in zip(bundle.links, rows.pull, strict=True)}
    for i in reversed(range(len(s.tree.parents))):
        if i not in felt or i <= bundle.carrier:
            continue
        own, sent = s.step(i, project_row, felt[i])
        _add(s, full, s.tree.first_v[i], own)
        parent = s.tree.parents[i]
        if parent not in (GROUND, bundle.carrier):
            felt[parent] = s.recorder.call(added, felt[parent], sent) if parent in felt else sent
    return full


def _add(s: Sweeps, full: list[list[Any]], first: int, rows: Sequence[Sequence[Any]]) -> None:
    for target, row in zip(full, rows, strict=True):
        there = Vec(target[first : first + len(row)])
        target[first : first + len(row)] = s.recorder.call(_sum, there, Vec(row))


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b
