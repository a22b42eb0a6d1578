"""Links that are touched, and how the joints on their paths to the root move them, in axes of the world.

Twists and wrenches of all links of a tree are taken about one point, the origin of its root: then nothing is carried
from link to link, and forces and inertias of a path just add up. A link b moves by V_b = V_carrier + T_b v with the
columns T_b of the velocities v of its cluster. Links in line are one `Segment`, whose velocities are solved for
together; so is a cluster of links that loops tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms.kinematics import place_outward
from ..algorithms.sweep import Sweeps
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Vec
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from ..tree.states import ClusterState

_LARGEST = 6  # velocities of links in line that are solved for together

Mats = tuple[Mat, ...]


class Segment(NamedTuple):
    """Clusters in line, those that carry others first. `of_carrier`: for each link the number of the carrier that it
    hangs on, the first one's links for links in line."""

    clusters: tuple[int, ...]
    links: tuple[int, ...]
    carriers: tuple[int, ...]
    of_carrier: tuple[int, ...]
    is_chain: bool
    nv: int


class SegmentInertia(NamedTuple):
    """What inertias K of the links below do to a segment: Kᵀ T and K T on its carriers, Tᵀ K T, and K on its
    carriers."""

    L: Mats  # (6, nv) by carrier
    U: Mats
    D: Mat  # (nv, nv)
    K: Mats  # (6, 6) by carrier


def world_columns(k: Kinematics, pose: Transform, origin: Vec) -> Mat:
    """The motion of a link by unit velocities of its joint, (6, nv), about a point, in the axes of the world."""
    arm, columns = pose.p - origin, []
    for s in k.S.twists():
        w = pose.rotate(s.angular)
        columns.append(Vec((*w, *(pose.rotate(s.linear) + arm.cross(w)))))
    return Mat.from_columns(columns)


def tied_columns(k: Kinematics, pose: Transform, origin: Vec, G: Mat, above: Mat | None) -> Mat:
    """The same by the independent velocities of a cluster, beside its carrier; `above`: of the link that carries it."""
    own = world_columns(k, pose, origin) @ G
    return own if above is None else own + above


def _chain_columns(T: Mats, b: int) -> Mat:
    """Columns of all velocities of a chain for its link b."""
    rows = [[x for block in T[: b + 1] for x in block[i]] for i in range(6)]
    return Mat(Vec(row) for row in rows)


def _total(parts: tuple[Mat, ...]) -> Mat | None:
    total: Mat | None = None
    for x in parts:
        total = Mat(x) if total is None else total + Mat(x)
    return total


@standalone
def compose(segment: tuple[bool, tuple[int, ...]], T: Mats, K: tuple[Mats, ...], D: Mat) -> SegmentInertia:
    """The composite of inertias K on the links of a segment, sums by link; its D is added to a given one."""
    is_chain, of_carrier = segment
    totals = [_total(x) for x in K]
    if is_chain:
        return _compose_chain(T, totals, Mat(D))
    count = 1 + max(of_carrier)
    carried, U, L = ([None] * count for _ in range(3))
    for c, own, columns in zip(of_carrier, totals, T, strict=True):
        if own is None:
            continue
        right, left = own @ Mat(columns), own.T @ Mat(columns)
        D = Mat(D) + Mat(columns).T @ right
        carried[c] = own if carried[c] is None else carried[c] + own  # type: ignore[operator]
        U[c] = right if U[c] is None else U[c] + right  # type: ignore[operator]
        L[c] = left if L[c] is None else L[c] + left  # type: ignore[operator]
    none = Mat.zeros(6, len(D))
    parts = [tuple(none if x is None else x for x in own) for own in (L, U)]
    return SegmentInertia(*parts, Mat(D), tuple(Mat.zeros(6, 6) if x is None else x for x in carried))  # type: ignore[arg-type]


def _compose_chain(T: Mats, K: Sequence[Mat | None], D: Mat) -> SegmentInertia:
    """`compose` of links in line: each carries what is behind it."""
    below: Mat | None = None
    U: list[list[Vec]] = []
    L: list[list[Vec]] = []
    for own, columns in reversed(list(zip(K, T, strict=True))):
        if own is not None:
            below = own if below is None else below + own
        width = len(columns[0])
        if below is None:
            U.insert(0, [Vec([0.0] * 6)] * width)
            L.insert(0, [Vec([0.0] * 6)] * width)
            continue
        transposed = below.T
        U.insert(0, [below @ x for x in Mat(columns).T])
        L.insert(0, [transposed @ x for x in Mat(columns).T])
    right, left = [x for part in U for x in part], [x for part in L for x in part]
    motions = [x for columns in T for x in Mat(columns).T]
    rows = []
    for i, (motion, own) in enumerate(zip(motions, left, strict=True)):
        entries = [motion.dot(x) for x in right[i:]]
        rows.append(Vec([*(own.dot(x) for x in motions[:i]), *entries]))
    none = Mat.zeros(6, 6)
    total = none if below is None else below
    return SegmentInertia((Mat.from_columns(left),), (Mat.from_columns(right),), Mat(rows) + D, (total,))


@standalone
def couple(T: Mats, U: Mats, L: Mats, above: Mat, below: Mat) -> tuple[Mat, Mat]:
    """Tiles between a carrying segment and one that it carries, with Tᵀ U and Lᵀ T added, summed over carriers."""
    above, below = Mat(above), Mat(below)
    for t, u, left in zip(T, U, L, strict=True):
        above = above + Mat(t).T @ Mat(u)
        below = below + Mat(left).T @ Mat(t)
    return above, below


@standalone
def forces_of(segment: tuple[bool, tuple[int, ...]], T: Mats, F: tuple[Vec, ...]) -> tuple[Vec, tuple[Vec, ...]]:
    """Wrenches on the links of a segment as forces on its velocities (nv,), and on its carriers."""
    is_chain, of_carrier = segment
    if is_chain:
        total, parts = Vec([0.0] * 6), []
        for own, columns in reversed(list(zip(F, T, strict=True))):
            total = total + own
            parts.insert(0, Mat(columns).transpose_times(total))
        return Vec([x for part in parts for x in part]), (total,)
    carried = [Vec([0.0] * 6) for _ in range(1 + max(of_carrier))]
    force: Any = None
    for c, own, columns in zip(of_carrier, F, T, strict=True):
        carried[c] = carried[c] + own
        part = Mat(columns).transpose_times(own)
        force = part if force is None else force + part
    return force, tuple(carried)


@standalone
def twists_of(segment: tuple[bool, tuple[int, ...]], T: Mats, above: tuple[Vec, ...], v: Vec) -> tuple[Vec, ...]:
    """The twists of the links of a segment, from those of its carriers and its velocities."""
    is_chain, of_carrier = segment
    if not is_chain:
        return tuple(Vec(above[c]) + Mat(columns) @ v for c, columns in zip(of_carrier, T, strict=True))
    (V,), at, found = above, 0, []
    for columns in T:
        width = len(columns[0])
        V = Vec(V) + Mat(columns) @ v[at : at + width]
        at += width
        found.append(V)
    return tuple(found)


@standalone
def add(a: Vec, b: Vec) -> Vec:
    """Sum."""
    return a + b


@standalone
def add_matrices(a: Mat, b: Mat) -> Mat:
    """Sum."""
    return Mat(a) + Mat(b)


def segments_of(
    clusters: Sequence[Cluster], states: Sequence[ClusterState], touched: set[int]
) -> tuple[list[Segment], list[Segment]]:
    """The segments that carry no touched link, and those that do; in each what is carried comes before its carriers."""
    home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
    children: dict[int, list[int]] = {}
    for n, cluster in enumerate(clusters):
        if cluster.carriers[0] != GROUND:
            children.setdefault(home[cluster.carriers[0]], []).append(n)
    on_paths: set[int] = set()
    for link in touched:
        while link != GROUND and home[link] not in on_paths:
            on_paths.add(home[link])
            link = clusters[home[link]].carriers[0]

    def is_alone(n: int) -> bool:
        return len(clusters[n].links) == 1 and states[n].is_identity

    groups: list[list[int]] = []
    of_cluster: dict[int, list[int]] = {}
    for n in reversed(range(len(clusters))):
        behind = children.get(n, [])
        group = of_cluster.get(behind[0]) if len(behind) == 1 else None
        if group is not None and is_alone(n) and is_alone(behind[0]) and (n in on_paths) == (behind[0] in on_paths):
            size = sum(clusters[m].embedding.nv for m in (n, *group))
            if size <= _LARGEST:
                group.insert(0, n)
                of_cluster[n] = group
                continue
        of_cluster[n] = [n]
        groups.append(of_cluster[n])
    groups.sort(key=lambda group: -group[0])
    found = [_segment(clusters, group, all(map(is_alone, group))) for group in groups]
    return [x for x in found if x.clusters[0] not in on_paths], [x for x in found if x.clusters[0] in on_paths]


def _segment(clusters: Sequence[Cluster], group: Sequence[int], is_chain: bool) -> Segment:
    first = clusters[group[0]]
    links = tuple(link for n in group for link in clusters[n].links)
    nv = sum(clusters[n].embedding.nv for n in group)
    if is_chain:
        return Segment(tuple(group), links, first.carriers, (0,) * len(links), True, nv)
    of_carrier: list[int] = []
    for inner in first.inner:
        of_carrier.append(-1 - inner if inner < 0 else of_carrier[inner])
    return Segment(tuple(group), links, first.carriers, tuple(of_carrier), False, nv)


class PathMotions:
    """The segments that carry touched links, with the columns of all their links at a state."""

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        poses: dict[int, Transform],
        segments: Sequence[Segment],
    ) -> None:
        self._call, self.segments = s.recorder.call, segments
        self.place = {link: (t, b) for t, own in enumerate(segments) for b, link in enumerate(own.links)}
        self.origin: dict[int, Vec] = {}  # of each link's tree
        self.T: list[Mats] = [()] * len(segments)
        parents = s.tree.parents
        for t in reversed(range(len(segments))):
            segment, columns = segments[t], dict[int, Mat]()
            s.outward_to(segment.links, place_outward, poses)
            for n in segment.clusters:
                for b, link in enumerate(clusters[n].links):
                    above = parents[link]
                    self.origin[link] = poses[link].p if above == GROUND else self.origin[above]
                    if segment.is_chain:
                        columns[link] = s.step(link, world_columns, poses[link], self.origin[link])
                    else:
                        given = (poses[link], self.origin[link], states[n].G[b], columns.get(above))
                        columns[link] = s.step(link, tied_columns, *given)
            self.T[t] = tuple(columns[link] for link in segment.links)

    def path(self, link: int) -> list[tuple[int, int]]:
        """Segment and place of a link, and of those that carry it, up to the root."""
        found = []
        while link != GROUND:
            t, b = self.place[link]
            found.append((t, b))
            link = self.segments[t].carriers[self.segments[t].of_carrier[b]]
        return found

    def link_at(self, t: int, b: int) -> int:
        """The link at a place."""
        return self.segments[t].links[b]

    def columns(self, link: int) -> dict[int, Mat]:
        """How velocities move a link, (6, nv) by segment."""
        return {t: self.full(t, b) for t, b in self.path(link)}

    def full(self, t: int, b: int) -> Mat:
        """How all velocities of a segment move its link b, (6, nv)."""
        segment, T = self.segments[t], self.T[t]
        if not segment.is_chain:
            return T[b]
        own = _chain_columns(T, b)
        missing = segment.nv - len(own[0])
        return Mat(Vec((*row, *[0.0] * missing)) for row in own) if missing else own

    def common(self, a: int, b: int) -> int:
        """The last link that carries two links, or is one of them; GROUND if there is none."""
        carrying = {self.link_at(*x) for x in self.path(a)}
        return next((link for link in (self.link_at(*x) for x in self.path(b)) if link in carrying), GROUND)

    def beyond(self, link: int, above: int) -> dict[int, Mat]:
        """`columns` of a link beside another one that carries it (GROUND for all)."""
        if above == GROUND:
            return self.columns(link)
        stop, place = self.place[above]
        found: dict[int, Mat] = {}
        for t, b in self.path(link):
            if t != stop:
                found[t] = self.full(t, b)
                continue
            if self.segments[t].is_chain and b != place:
                first = sum(len(columns[0]) for columns in self.T[t][: place + 1])
                found[t] = Mat(Vec((*[0.0] * first, *row[first:])) for row in self.full(t, b))
            break
        return found

    def gather(self, F: dict[int, Vec]) -> list[Any]:
        """Wrenches on links as forces on the velocities of the segments; None where they do not reach."""
        loads, found = dict(F), list[Any]()
        for segment, T in zip(self.segments, self.T, strict=True):
            if not any(link in loads for link in segment.links):
                found.append(None)
                continue
            on = tuple(loads.get(link, Vec([0.0] * 6)) for link in segment.links)
            force, carried = self._call(forces_of, (segment.is_chain, segment.of_carrier), T, on)
            found.append(force)
            for link, wrench in zip(segment.carriers, carried, strict=True):
                if link != GROUND:
                    loads[link] = self._call(add, loads[link], wrench) if link in loads else wrench
        return found

    def twists(self, v: Sequence[Any]) -> dict[int, Vec]:
        """The twists of all links (6,), from the velocities of the segments."""
        found: dict[int, Vec] = {GROUND: Vec([0.0] * 6)}
        for segment, T, own in reversed(list(zip(self.segments, self.T, v, strict=True))):
            above = tuple(found[link] for link in segment.carriers)
            moving = self._call(twists_of, (segment.is_chain, segment.of_carrier), T, above, own)
            found.update(zip(segment.links, moving, strict=True))
        return found

    def add_inertias(self, K: dict[int, list[Mat]], A: list[list[Any]]) -> None:
        """Add Σ Jᵀ K J of inertias (6, 6) on links, which need not be symmetric, to a matrix in tiles."""
        loads = {link: list(parts) for link, parts in K.items()}
        for t, (segment, T) in enumerate(zip(self.segments, self.T, strict=True)):
            if not any(link in loads for link in segment.links):
                continue
            on = tuple(tuple(loads.get(link, ())) for link in segment.links)
            composite = self._call(compose, (segment.is_chain, segment.of_carrier), T, on, A[t][t])
            A[t][t] = composite.D
            if segment.carriers == (GROUND,):
                continue
            for link, own in zip(segment.carriers, composite.K, strict=True):
                loads.setdefault(link, []).append(own)
            self._couple(t, composite, A)

    def _couple(self, t: int, composite: SegmentInertia, A: list[list[Any]]) -> None:
        """The tiles between a segment and all that carry it."""
        links, U, L = self.segments[t].carriers, composite.U, composite.L
        width = self.segments[t].nv
        while links != (GROUND,):
            s = self.place[links[0]][0]
            above = self.segments[s]
            T = tuple(self.full(s, self.place[link][1]) for link in links)
            old = [A[s][t], A[t][s]]
            shapes = [(above.nv, width), (width, above.nv)]
            tiles = [Mat.zeros(*shape) if x is None else x for x, shape in zip(old, shapes, strict=True)]
            A[s][t], A[t][s] = self._call(couple, T, U, L, *tiles)
            by_carrier: list[list[int]] = [[] for _ in above.carriers]
            for c, link in enumerate(links):
                by_carrier[above.of_carrier[self.place[link][1]]].append(c)
            if by_carrier != [[0]]:
                U, L = (tuple(self._sum([side[c] for c in own]) for own in by_carrier) for side in (U, L))
            links = above.carriers

    def _sum(self, parts: Sequence[Mat]) -> Mat:
        total = parts[0]
        for x in parts[1:]:
            total = self._call(add_matrices, total, x)
        return total
