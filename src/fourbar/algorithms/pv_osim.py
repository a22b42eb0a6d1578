"""The inverse operational-space inertia Ω = J M⁻¹ Jᵀ of many frames by one sweep inward (PV-OSIMr, arXiv 2310.03676).

A unit force along a row of a frame leaves u in every cluster that carries the frame, and Ω = Σ uᵀ D⁻¹ u over these
clusters (PV-OSIM; here over clusters of links). Where more rows meet than wrenches have components, unit wrenches
travel on in their place, and their Ω further in gives W Ω Wᵀ for all rows W that they stand for. So a cluster passes on
at most six rows for each link that is pushed: O(n + rows²).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..spatial.linear import Mat, Vec
from ..spatial.transform import IDENTITY
from ..spatial.vectors import Wrench
from ..tree.cluster_tree import Location
from ..tree.clusters import GROUND, Cluster
from ..tree.states import ClusterState
from .constrained.rows import RowResponse, assemble, gram, respond_inward, wrenches
from .efpa import start
from .kinematics import along, place_outward
from .minverse import release_all
from .sweep import Sweeps

Load = dict[int, tuple[Wrench, ...]]  # biases of rows by link
_WRENCH = 6  # components


class _RowGroup:
    """Rows that travel inward together: those of a frame, or unit wrenches that stand for other groups."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.responses: dict[int, RowResponse] = {}  # by cluster
        self.successor = -1  # the group of unit wrenches that stands for this one further in
        self.end = -1  # the cluster where that begins
        self.over: Any = None  # this one's rows over those of the successor, (size, size of the successor)


def osim_inverse(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    ends: Sequence[tuple[Location, bool]],
    in_world: bool,
) -> list[list[Any]]:
    """Ω as rows of scalars; `ends` are frames, each with whether only its three linear rows are wanted."""
    omega = _InwardSweep(s, clusters, states, ends, in_world)
    return assemble([3 if linear else _WRENCH for _, linear in ends], omega.block)


class _InwardSweep:
    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        ends: Sequence[tuple[Location, bool]],
        in_world: bool,
    ) -> None:
        self.call = s.recorder.call
        self.released = release_all(s, clusters, states)
        self.groups = [_RowGroup(3 if linear else _WRENCH) for _, linear in ends]
        self.blocks: dict[tuple[int, int], Mat | None] = {}
        poses = along(s, [home for home, _ in ends], IDENTITY, place_outward) if in_world else {}
        loads: dict[int, dict[int, Load]] = {}  # by cluster and group
        for e, (home, linear) in enumerate(ends):
            if home.link != GROUND:
                rows = self.call(start, home.pose, poses.get(home.link), linear)
                loads.setdefault(self.released.sweeps.home[home.link], {})[e] = {home.link: self.call(wrenches, rows)}
        self.released.sweeps.visit_inward(loads, lambda n, acting: self._pass(n, acting, loads))

    def _pass(self, n: int, acting: dict[int, Load], loads: dict[int, dict[int, Load]]) -> None:
        """The responses of cluster n to all rows that reach it, and these rows on the cluster that carries it."""
        sweeps, cluster, nv = self.released.sweeps, self.released.sweeps.clusters[n], self.released.nv[n]
        links = sorted({link for load in acting.values() for link in load})
        if sum(self.groups[e].size for e in acting) > _WRENCH * len(links):
            acting = self._join(n, acting, links)
        for e, load in acting.items():
            on = tuple(load.get(link) for link in cluster.links)
            response, sent = sweeps.nodes[n].step(respond_inward, on, None, self.released.hinges[n], nv)
            if nv:
                self.groups[e].responses[n] = response
            if cluster.carriers != (GROUND,):
                above = loads.setdefault(sweeps.home[cluster.carriers[0]], {})
                above[e] = dict(zip(cluster.carriers, sent, strict=True))

    def _join(self, n: int, acting: Mapping[int, Load], links: Sequence[int]) -> dict[int, Load]:
        """Unit wrenches on the links, in place of the groups that act on them."""
        successor = len(self.groups)
        self.groups.append(_RowGroup(_WRENCH * len(links)))
        for e, load in acting.items():
            group = self.groups[e]
            group.successor, group.end = successor, n
            group.over = self.call(_over, tuple(load.get(link) for link in links))
        units = _units(_WRENCH * len(links))
        blocks = [Mat(Vec(row[_WRENCH * k : _WRENCH * (k + 1)]) for row in units) for k in range(len(links))]
        return {successor: {link: wrenches(block) for link, block in zip(links, blocks, strict=True)}}

    def block(self, e: int, f: int) -> Mat | None:
        """Ω between two groups; None if nothing moves both."""
        if (e, f) not in self.blocks:
            self.blocks[e, f] = self._block(e, f)
        return self.blocks[e, f]

    def _block(self, e: int, f: int) -> Mat | None:
        first, second = self.groups[e], self.groups[f]
        if first.successor != second.successor:  # they meet further in than the first of them is replaced
            if first.end > second.end:
                inner = self.block(first.successor, f)
                return None if inner is None else self.call(_times, first.over, inner)
            inner = self.block(e, second.successor)
            return None if inner is None else self.call(_product_with_transpose, inner, second.over)
        shared = [n for n in first.responses if n in second.responses]
        product = None
        if shared:
            responses = [tuple(group.responses[n] for n in shared) for group in (first, second)]
            product = self.call(_symmetric_gram if e == f else gram, *responses)
        inner = None if first.successor < 0 else self.block(first.successor, first.successor)
        return product if inner is None else self.call(_congruent, first.over, inner, second.over, product)


def _units(size: int) -> Mat:
    return Mat(Vec([1.0 if i == j else 0.0 for j in range(size)]) for i in range(size))


def _over(load: tuple[tuple[Wrench, ...] | None, ...]) -> Mat:
    """Rows over unit wrenches on several links: the sign of biases undone."""
    count = next(len(rows) for rows in load if rows is not None)
    none = (Wrench.zero(),) * count
    return Mat(
        Vec([-x for part in parts for x in part.six()])
        for parts in zip(*(none if rows is None else rows for rows in load), strict=True)
    )


def _symmetric_gram(first: tuple[RowResponse, ...], second: tuple[RowResponse, ...]) -> Mat:
    """`gram` of a group with itself: symmetric to the last bit."""
    lower = gram(first, second)
    return Mat(Vec([lower[max(i, j)][min(i, j)] for j in range(len(lower))]) for i in range(len(lower)))


def _times(over: Mat, inner: Mat) -> Mat:
    return over @ inner


def _product_with_transpose(inner: Mat, over: Mat) -> Mat:
    return inner @ over.T


def _congruent(left: Mat, inner: Mat, right: Mat, own: Mat | None) -> Mat:
    """left inner rightᵀ (m, n), added to `own` if there is one."""
    further = left @ inner @ right.T
    return further if own is None else further + own
