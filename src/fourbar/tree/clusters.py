"""Clusters of links that loops connect: a closed configuration, the independent velocities, and the rows that determine
the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ..constraints.loop import Loop
from ..constraints.trace import LoopTrace, Residual, cut, trace_loops
from ..errors import IndependenceError, ModelError
from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..linalg import finite, is_clear, pick, pivot_order, rank, smallest
from ..mechanism.mechanism import NamedLoop, PlacedJoint, velocity_names
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import IDENTITY, Transform, nudge
from ..spatial.vectors import Twist
from ..tolerances import ASSEMBLED, CLOSED
from .bound_embedding import Bound
from .embedding import LoopEmbedding
from .fold_branch import FoldedLoops
from .followers import Followers, close_followers, find_followers
from .grouping import GROUND, LinkClusters, between
from .loop_closing import close, move
from .own_joint import OwnJoint, OwnJoints, Untied
from .redundant_rows import Spare, freezing_rows, spare_rows
from .spanning_tree import Locking, SpanningTree, chain_locking, locking
from .units import Sight, lever, measure


@dataclass(frozen=True, eq=False)
class Cluster:
    """Links connected by loops, or by armature that couples their velocities.

    `carriers` are the links that they hang on (Chignoli's output bodies), all of one cluster or the ground alone;
    `inner` is the parent of each within the cluster: a position in `links`, or -1 - k for the k-th carrier. Rows of
    loops that are redundant but for a small gap are left out; `slack` lists them.
    """

    links: tuple[int, ...]
    carriers: tuple[int, ...]
    inner: tuple[int, ...]
    embedding: OwnJoint | OwnJoints | LoopEmbedding | Bound | FoldedLoops
    loops: tuple[str, ...] = ()
    slack: tuple[tuple[str, float], ...] = ()  # loops with rows that are left out, and the gaps of these
    locking: tuple[Locking, ...] = ()  # joints whose rates may be dependent, as at gimbal lock
    varies: bool = False  # inertias on it or beyond are no constants, and may be zero

    @property
    def is_free(self) -> bool:
        """Whether no loop ties its links."""
        return self.tie is None

    @property
    def tie(self) -> LoopEmbedding | None:
        """The embedding where loops tie the links; one with other numbers, or near a fold, works as that does."""
        return None if isinstance(self.embedding, Untied) else cast(LoopEmbedding, self.embedding)


_FACTORS = 16  # rotations of a pose that are kept separate, so that their zeros and ones survive
_DEEP = 8  # links in series from which on there are two rotations: otherwise each link would pass all of them again
_NEARLY = 1e-2  # a gap that may be rounding of written numbers
_ATTEMPTS, _AT_ONCE, _ENOUGH = (
    30,
    6,
    4,
)  # number of starting points, batch size, and number of closed configurations wanted


def carriers_of(parents: Sequence[int], links: Sequence[int]) -> tuple[int, ...]:
    """The links that those of a cluster hang on."""
    return tuple(sorted({parents[i] for i in links}.difference(links)))


def with_chains(tree: SpanningTree, clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    """Clusters in which the first links of massless chains know whether the rates of the chain may be dependent."""
    alone = {cluster.links[0]: n for n, cluster in enumerate(clusters) if isinstance(cluster.embedding, OwnJoint)}
    found = list(clusters)
    for first, own in chain_locking(tree, alone).items():
        found[alone[first]] = replace(found[alone[first]], locking=(own,))
    return tuple(found)


def single_clusters(tree: SpanningTree) -> tuple[Cluster, ...]:
    """The clusters of a tree without loops: every link by itself."""
    clusters = (
        Cluster((i,), (parent,), (-1,), OwnJoint(link.joint), locking=locking([link.joint]))
        for i, (parent, link) in enumerate(zip(tree.parents, tree.links, strict=True))
    )
    return with_chains(tree, tuple(clusters))


Homes = Callable[[str], tuple[int, Transform]]


class _LoopView:
    """The mechanism as a loop sees it, at given coordinates of the cluster's joints."""

    def __init__(self, q: dict[str, Vec], pose: Callable[[str], Transform]) -> None:
        self._q = q
        self._pose = pose

    def q(self, joint: str) -> Vec:
        return self._q[joint]

    def pose(self, body: str) -> Transform:
        return self._pose(body)


def loop_residual(
    tree: SpanningTree, moving: Sequence[PlacedJoint], home: Homes, links: Sequence[int], loops: Sequence[NamedLoop]
) -> Residual:
    """φ of the loops of a cluster, as a function of the coordinates of its links."""
    names = [moving[i].name for i in links]
    carriers = carriers_of(tree.parents, links)
    depth = dict.fromkeys(carriers, 0)
    for i in links:
        depth[i] = depth[tree.parents[i]] + 1
    most_factors = _FACTORS if max(depth.values()) <= _DEEP else 2
    need_poses = any(loop.loop.bodies or not loop.loop.linear for loop in loops)  # those of gears and mimics do not
    placed = links if need_poses else ()

    def residual(q: Sequence[Vec], displaced: Mapping[str, Twist]) -> list[Scalar]:
        poses: dict[int, Transform] = dict.fromkeys(carriers, IDENTITY)  # the bodies of a loop are all on one of them
        for i, own in zip(placed, q, strict=False):
            link = tree.links[i]
            pose_i = poses[tree.parents[i]].then(link.placement).then(link.joint.placement(own))
            poses[i] = Transform((pose_i.R,), pose_i.p) if len(pose_i.factors) > most_factors else pose_i

        def pose(body: str) -> Transform:
            link, place = home(body)
            return poses[link].then(place).then(nudge(displaced[body]))

        view = _LoopView(dict(zip(names, q, strict=True)), pose)
        return [row for loop in loops for row in _rows(loop, view)]

    return residual


def _rows(loop: NamedLoop, view: _LoopView) -> Sequence[Scalar]:
    """φ of a loop; errors of its function name it."""
    try:
        return loop.loop.residual(view)
    except ModelError as error:
        raise type(error)(f"loop {loop.name!r}: {error}") from error
    except Exception as error:
        error.add_note(f"in loop {loop.name!r}")
        raise


class ClusterFinder:
    """Makes the clusters of a tree."""

    def __init__(
        self,
        tree: SpanningTree,
        moving: Sequence[PlacedJoint],
        home: Homes,
        loops: Sequence[NamedLoop],
        near: Mapping[str, Sequence[float]],
    ) -> None:
        self.tree = tree
        self.moving = moving
        self.home = home
        self.loops = loops
        self.near = near
        self.link_of = {c.name: i for i, c in enumerate(moving)}

    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters, parents first."""
        parents = self.tree.parents
        merged = LinkClusters(parents)
        tied = [self._tied(merged, loop) for loop in self.loops]
        for coupling in self.tree.couplings:
            merged.tie(coupling.links, ())
        groups = list(merged)
        loops_of: dict[int, list[NamedLoop]] = {}
        for loop, link in zip(self.loops, tied, strict=True):
            loops_of.setdefault(merged.first(link), []).append(loop)
        made_clusters = []
        for links in groups:
            carriers, loops = carriers_of(parents, links), loops_of.get(links[0], [])
            place = self._places(links, carriers)
            inner = tuple(place[parents[i]] for i in links)
            embedding, slack = self._tie(links, loops) if loops else (self._free_embedding(links), ())
            names = tuple(loop.name for loop in loops)
            uses = {joint for loop in loops for joint in loop.loop.joints}
            tied = {b for b, i in enumerate(links) if self.moving[i].name in uses}
            locks = locking([self.moving[i].joint for i in links], tied)
            made_clusters.append(Cluster(links, carriers, inner, embedding, names, slack, locks))
        return with_chains(self.tree, made_clusters)

    def _free_embedding(self, links: tuple[int, ...]) -> OwnJoint | OwnJoints:
        joints = [self.moving[i].joint for i in links]
        return OwnJoint(joints[0]) if len(joints) == 1 else OwnJoints(joints)

    @staticmethod
    def _places(links: Sequence[int], carriers: Sequence[int]) -> dict[int, int]:
        """Positions of the links in their cluster, and -1 - k of the k-th carrier."""
        return {link: n for n, link in enumerate(links)} | {link: -1 - k for k, link in enumerate(carriers)}

    def _tied(self, merged: LinkClusters, loop: NamedLoop) -> int:
        """Merge the clusters of the links that a loop connects; one of these links."""
        for joint in loop.loop.joints:
            if joint not in self.link_of:
                raise ModelError(
                    f"loop {loop.name!r}: joint {joint!r} is fixed, so that its coordinates cannot be coupled"
                )
        link = merged.tie(
            [self.link_of[joint] for joint in loop.loop.joints], [self.home(body)[0] for body in loop.loop.bodies]
        )
        if link == GROUND:
            raise ModelError(f"loop {loop.name!r} constrains nothing: both its ends are on the same rigid body")
        return link

    def _tie(
        self, links: tuple[int, ...], loops: Sequence[NamedLoop]
    ) -> tuple[LoopEmbedding, tuple[tuple[str, float], ...]]:
        """The cluster of some links, and the gaps of loops with rows left out."""
        joints = [self.moving[i].joint for i in links]
        bodies = list(dict.fromkeys(body for loop in loops for body in loop.loop.bodies))
        traced = trace_loops(joints, loop_residual(self.tree, self.moving, self.home, links, loops), bodies)
        embedded = self._tied_rows(links, loops, traced)
        if isinstance(embedded, LoopEmbedding):
            return embedded, ()
        implicit = tuple(i for i in range(len(traced.phi)) if i not in set(embedded.rows))
        tie = self._tied_rows(links, loops, traced.only(implicit))
        if isinstance(tie, Spare):
            raise _closing_error(loops, float(tie.gaps.max()))
        tie.kept = implicit
        return tie, self._slack(links, loops, embedded)

    def _slack(self, links: tuple[int, ...], loops: Sequence[NamedLoop], spare: Spare) -> tuple[tuple[str, float], ...]:
        """The loops with rows left out, and the largest gap of these."""
        start = [Vec(self.moving[i].joint.neutral()) for i in links]
        still = {body: Twist.of((0.0,) * 6) for loop in loops for body in loop.loop.bodies}
        largest_gaps: dict[str, float] = {}
        first = 0
        for loop in loops:
            rows = loop_residual(self.tree, self.moving, self.home, links, [loop])(start, still)
            own = [spare.gaps[i] for i in spare.rows if first <= i < first + len(rows)]
            if own:
                largest_gaps[loop.name] = float(max(own))
            first += len(rows)
        return tuple(largest_gaps.items())

    def _tied_rows(
        self, links: tuple[int, ...], loops: Sequence[NamedLoop], traced: LoopTrace
    ) -> LoopEmbedding | Spare:
        """The cluster with loops of these rows, or the rows that have to be left out."""
        joints = [self.moving[i].joint for i in links]
        everything = LoopEmbedding(joints, traced, [(j, 1.0) for j in range(len(traced.v))], ())
        connections = [self.moving[i] for i in links]
        start = np.array([x for c in connections for x in self.near.get(c.name, c.joint.neutral())])
        declared = self._declared_velocities(links, loops)
        followers = self._followers(links, loops, traced, [j for j, _ in declared])
        guesses, tie = self._measure_units(everything, start, links, followers)
        q = self._close(tie, guesses, loops, followers, declared)
        if isinstance(q, Spare):
            return q
        K = followers.core(tie.units.of(tie.slopes(q)))
        r = rank(K)
        self._check_independent(declared, loops, K[:, self._rest(followers, declared)], r, len(followers.core_columns))
        independent = self._independent(links, loops, K, r, declared, followers)
        chosen = {j for j, _ in independent}
        dependent = [j for j in range(len(traced.v)) if j not in chosen]
        left = K[:, [c for c, j in enumerate(followers.core_columns) if j not in chosen]]
        core_rows = iter(followers.core_rows[i] for i in pivot_order(left, pick(left.T, r)))
        row_of = {j: i for i, j in followers.pairs}
        rows = [row_of[j] if j in row_of else next(core_rows) for j in dependent]
        return LoopEmbedding(joints, traced, independent, rows, q, tie.units)

    def _followers(
        self, links: tuple[int, ...], loops: Sequence[NamedLoop], traced: LoopTrace, declared: Sequence[int]
    ) -> Followers:
        """The driven joints that simply follow others."""
        every, flat, kept = self._every_column(links), self._flat(links), set(declared)
        driven = {x for loop in loops for joint in loop.loop.driven_joints for x in every[joint]}
        columns = [j for j in driven if flat[j] and j not in kept]
        return find_followers(traced.K, traced.entries, columns, len(traced.v))

    def _measure_units(
        self, tie: LoopEmbedding, start: np.ndarray, links: Sequence[int], found: Followers
    ) -> tuple[np.ndarray, LoopEmbedding]:
        """Configurations at increasing distance from `start`, and the cluster with the units it has there."""
        bodies = tie.traced.bodies_by_row
        far = self._far(links)
        sights = [
            Sight([i for i, own in enumerate(bodies) if own == seen], self._far(self._way(links, seen)))
            for seen in dict.fromkeys(bodies)
            if seen
        ]
        with np.errstate(all="ignore"):  # the residual may be NaN at a guess
            K, pull = finite(tie.slopes(start[None])[0]), finite(tie.displacements(start))
            levers = lever(tie.joints, finite(tie.residual(start)), K, pull, far, sights)
            nudge = np.array([0.0 if i == 0 else 0.1 * 1.2**i for i in range(1 if tie.is_linear else _ATTEMPTS)])
            spread = np.random.default_rng(0).normal(size=(len(nudge), *start.shape))
            guesses = start + nudge[:, None] * spread * levers.guesses
            samples = K[None] if tie.is_linear else tie.slopes(guesses[:_AT_ONCE])
        return guesses, tie.with_units(measure(levers, samples, pull, np.array([bool(x) for x in bodies], bool), found))

    def _way(self, links: Sequence[int], bodies: Sequence[str]) -> set[int]:
        """The links of the cluster that carry some bodies."""
        carriers = carriers_of(self.tree.parents, links)
        return between(self.tree.parents, [self.home(body)[0] for body in bodies], carriers)

    def _far(self, links: Iterable[int]) -> float:
        """The longest length of a placement of these links."""
        return float(np.abs([self.tree.links[i].placement.p for i in links]).max(initial=0.0))

    def _close(
        self, tie: LoopEmbedding, guesses: np.ndarray, loops: Sequence[NamedLoop], found: Followers,
        declared: Sequence[tuple[int, float]],
    ) -> np.ndarray | Spare:  # fmt: skip
        """A closed configuration (nq) near the first guess, as well conditioned as the loops are anywhere.

        The nearest may be a toggle position (a flat four-bar), so some more near it are tried. Those that stop close to
        such a position, where the rank of the core of K is in doubt, do not count. Where the velocities that are
        `declared` independent do not determine the others (a piston at its dead centre), another one is taken.
        """
        if tie.is_linear and not found.core_rows:
            step = close_followers(found, tie.constants, tie.traced.entries, tie.residual(guesses[0]), tie.units.steps)
            closed = move(tie.joints, guesses[:1], step[None])
            if not np.isfinite(tie.residual(closed)).all():
                raise _closing_error(loops, np.inf)
            return closed[0]
        met: list[tuple[np.ndarray, np.ndarray]] = []
        nearest, left, unknown = [], [], False
        for first in range(0, len(guesses), _AT_ONCE):
            closed, gaps = close(tie, guesses[first : first + _AT_ONCE])
            nearest.append(closed)
            left.append(gaps)
            valid = closed[gaps < ASSEMBLED]
            slopes = tie.slopes(valid)
            known = np.isfinite(slopes).all(axis=(-2, -1))
            unknown = unknown or not known.all()
            met.extend(zip(found.core(tie.units.of(slopes[known])), valid[known], strict=True))
            if sum(is_clear(K) for K, _ in met) >= _ENOUGH:
                break
        closed, gaps = np.concatenate(nearest), np.concatenate(left)
        spare = None
        if not np.nanmin(gaps, initial=np.inf) < CLOSED:
            spare = spare_rows(tie, guesses[:_AT_ONCE], closed, gaps, found)
        if spare is None and not met:
            open_by = np.abs(tie.residual(closed)).max(axis=-1, initial=0.0)
            raise _closing_error(loops, float(np.nanmin(open_by, initial=np.inf)), unknown)
        if spare is not None:
            return spare
        q = _best_configuration(met, self._rest(found, declared))
        return freezing_rows(tie, guesses, q, found) or q

    def _declared_velocities(self, links: tuple[int, ...], loops: Sequence[NamedLoop]) -> list[tuple[int, float]]:
        """Numbers and scales of the velocities that are declared independent."""
        column = self._columns(links)
        for loop in loops:
            self._check_names(loop, column)
        asked = ((own, scale) for loop in loops for j, scale in loop.independent for own in column[j])
        return list(dict.fromkeys(asked))

    @staticmethod
    def _rest(found: Followers, declared: Sequence[tuple[int, float]]) -> list[int]:
        """The places in the core of the columns that are not declared independent."""
        chosen = {j for j, _ in declared}
        return [c for c, j in enumerate(found.core_columns) if j not in chosen]

    def _independent(
        self, links: tuple[int, ...], loops: Sequence[NamedLoop], K: np.ndarray, r: int,
        declared: list[tuple[int, float]], found: Followers,
    ) -> list[tuple[int, float]]:  # fmt: skip
        """Numbers and scales of the independent velocities of the cluster: those declared, others if more are free.

        K is its core, of rank r.
        """
        core, rest = found.core_columns, self._rest(found, declared)
        place = {core[c]: n for n, c in enumerate(rest)}
        flat, every, depth = self._flat(links), self._every_column(links), self._depths(links)
        driven = [j for j in core if not flat[j]]
        driven += [x for loop in loops for j in loop.loop.driven_joints for x in every[j]]
        outermost = sorted(place, key=lambda j: (-depth[j], -j))
        picked = pick(K[:, rest], r, [place[j] for j in driven if j in place], [place[j] for j in outermost])
        dependent = {core[rest[n]] for n in picked}
        return declared + [(j, 1.0) for j in place if j not in dependent]

    def _flat(self, links: tuple[int, ...]) -> list[bool]:
        """For each velocity whether its joint has additive coordinates; otherwise it should not be independent on its
        own.
        """
        joints = [self.moving[i].joint for i in links]
        return [isinstance(j, FlatJoint) for j in joints for _ in range(j.nv)]

    def _depths(self, links: tuple[int, ...]) -> list[int]:
        """For each velocity the number of links of the cluster between its link and the carriers."""
        depth: dict[int, int] = {}
        for i in links:
            depth[i] = depth.get(self.tree.parents[i], -1) + 1
        return [depth[i] for i in links for _ in range(self.moving[i].joint.nv)]

    def _every_column(self, links: tuple[int, ...]) -> dict[str, range]:
        """The velocities of each joint."""
        ends = np.cumsum([self.moving[i].joint.nv for i in links]).tolist()
        moving = [self.moving[i] for i in links]
        return {c.name: range(end - c.joint.nv, end) for c, end in zip(moving, ends, strict=True)}

    def _columns(self, links: tuple[int, ...]) -> dict[str, Sequence[int]]:
        """The velocities that a name refers to: those of a joint, or one of them."""
        columns_by_name: dict[str, Sequence[int]] = {}
        for i, columns in zip(links, self._every_column(links).values(), strict=True):
            c = self.moving[i]
            columns_by_name |= {name: [j] for name, j in zip(velocity_names(c.name, c.joint), columns, strict=True)}
            columns_by_name[c.name] = columns
        return columns_by_name

    def _check_names(self, loop: NamedLoop, column: Mapping[str, Sequence[int]]) -> None:
        for joint, _ in loop.independent:
            if joint not in column:
                tied = ", ".join(repr(name) for name, own in column.items() if own)
                raise ModelError(
                    f"loop {loop.name!r}: the velocity of joint {joint!r} cannot be declared independent; choose a "
                    f"joint, or one velocity of a joint, in the same cluster: {tied}"
                )

    def _check_independent(
        self, asked: list[tuple[int, float]], loops: Sequence[NamedLoop], rest: np.ndarray, r: int, n: int
    ) -> None:
        """Refuse impossible declarations: `rest` is K without the declared velocities; K has rank r and n columns."""
        names = ", ".join(repr(loop.name) for loop in loops)
        if len({j for j, _ in asked}) < len(asked):
            raise ModelError(f"loops {names}: the same velocity is declared independent with different scales")
        if len(asked) > n - r:
            raise IndependenceError(
                f"loops {names} have {n - r} degrees of freedom, but {len(asked)} velocities are declared "
                "independent; a joint with several velocities counts with all of them, unless they are named "
                "individually, such as 'platform.vx'"
            )
        if rank(rest) != r:
            raise IndependenceError(
                f"loops {names}: the velocities declared independent do not determine the others, neither where the "
                "loops are closed first nor in other closed configurations nearby"
            )


def _closing_error(loops: Sequence[NamedLoop], gap: float, without_derivative: bool = False) -> ModelError:
    """The message for loops without a closed configuration in which their conditions are differentiable."""
    names = ", ".join(repr(loop.name) for loop in loops)
    if without_derivative:
        return ModelError(
            f"the loops {names} are closed only where the derivative of a condition is undefined (as for sqrt(x) at x "
            "= 0); rewrite it, such as x - y² for sqrt(x) - y, or close the loop elsewhere: near the first "
            "configuration(...)"
        )
    said = f"the loops {names} cannot be closed: the nearest configuration leaves a gap of {gap:.3g}"
    pinned = [loop.name for loop in loops if isinstance(getattr(loop.loop, "joint", None), Joint)]
    if not (pinned and gap < _NEARLY):
        return ModelError(said)
    turned = [loop.name for loop in loops if _holds_axes(loop.loop)]
    ball = (
        f"close {', '.join(map(repr, turned))} with Spherical(), which constrains no axes (sufficient where the axes "
        "of the other joints are parallel), or "
    )
    return ModelError(
        f"{said}. A gap this small may come from rounded numbers, such as an angle written as 1.5708, in an "
        f"overconstrained loop: then {ball if turned else ''}write the numbers with all their digits"
    )


def _holds_axes(loop: Loop) -> bool:
    """Whether a loop is a joint that also keeps two axes parallel."""
    joint = getattr(loop, "joint", None)
    return isinstance(joint, Joint) and joint.pivot != "point"


def _best_configuration(met: Sequence[tuple[np.ndarray, np.ndarray]], rest: Sequence[int]) -> np.ndarray:
    """Among closed configurations, (core of K, q) each, the first with the highest rank, also without declared columns.

    `rest` are the columns that are not declared independent. Where these alone never reach that rank, the q at which
    they come nearest to it.
    """
    ranked = [(rank(K), K, q) for K, q in met if is_clear(K)] or [(rank(K), K, q) for K, q in met]
    highest = max(r for r, _, _ in ranked)
    full = [(K[:, rest], q) for r, K, q in ranked if r == highest]
    if rank(full[0][0]) == highest:
        return full[0][1]
    return max(full, key=lambda x: (rank(x[0]), float(smallest(x[0]))))[1]


def split(clusters: Sequence[Cluster], x: Sequence[object], sizes: str) -> tuple[Vec, ...]:
    """One vector per cluster; `sizes` is "nq" or "nv"."""
    return cut(x, [getattr(cluster.embedding, sizes) for cluster in clusters])
