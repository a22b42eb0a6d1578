"""A robot in the velocities of a chart, which may differ from its own independent velocities.

Steps integrate the velocities w of some chart, q̇ = E(q) w. The user's quantities stay those of the robot:
v = P E(q) w, τ_w = (P E)ᵀ τ, where P selects the robot's own velocities among those of all joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from ..expr import maximum
from ..spatial.linear import Vec
from ..tree.bound_embedding import Bound
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import split
from ..tree.embedding import LoopEmbedding
from ..tree.fold_branch import FoldedLoops, branch_size
from .context import Context
from .registry import flat

GROWN = 1.5  # growth of a joint's velocity, since loops were last examined, at which they are examined again


def independent_columns(tree: ClusterTree) -> list[tuple[int, float]]:
    """The columns of the independent velocities among those of all joints, with their scales."""
    scaled_columns = []
    for cluster in tree.clusters:
        first = tree.spanning_tree.first_v
        columns = [first[i] + k for i in cluster.links for k in range(tree.moving[i].joint.nv)]
        scaled_columns += [(columns[j], scale) for j, scale in cluster.embedding.independent]
    return scaled_columns


class ChartedTree(NamedTuple):
    """The cluster tree of a robot (`robot`), and that of the same robot in the velocities of a chart (`now`)."""

    robot: ClusterTree
    now: ClusterTree

    @property
    def is_home(self) -> bool:
        """Whether the velocities of the chart are the robot's own."""
        return self.now is self.robot

    @property
    def loops(self) -> list[int]:
        """The velocities of all joints, by number, of the loops that are solved while moving."""
        first = self.now.spanning_tree.first_v
        return [
            first[link] + k
            for cluster in self.now.clusters
            if cluster.embedding.is_solved
            for link in cluster.links
            for k in range(self.now.moving[link].joint.nv)
        ]

    @property
    def reference_size(self) -> int:
        """How many numbers say what is `usual` of loops: a velocity for each of `loops`, and then those of branches
        near folds (`FoldedLoops`), by cluster.
        """
        ties: list[Any] = [cluster.embedding for cluster in self.now.clusters]
        return len(self.loops) + sum(branch_size(tie) for tie in ties if tie.is_solved)

    def watch(self, c: Context, usual: Sequence[Any]) -> Context:
        """The recording with loops that follow branches near folds."""
        clusters, at = list(c.clusters), len(self.loops)
        ties: list[Any] = [cluster.embedding for cluster in self.now.clusters]
        for k, tie in enumerate(ties):
            if tie.is_solved:
                end, plain = at + branch_size(tie), cast(LoopEmbedding | Bound, clusters[k].embedding)
                clusters[k] = replace(clusters[k], embedding=FoldedLoops(plain, Vec(usual[at:end])))
                at = end
        return c.with_clusters(tuple(clusters))

    def forces(self, c: Context, tau: Any) -> list[Any]:
        """Forces on the robot's own velocities as forces on the velocities of the chart, by cluster."""
        if self.is_home:
            return list(split(self.now.clusters, tau, "nv"))
        links = self.now.moving
        spread: list[list[Any]] = [[0.0] * link.joint.nv for link in links]
        place = [(i, k) for i, link in enumerate(links) for k in range(link.joint.nv)]
        for force, (column, scale) in zip(tau, independent_columns(self.robot), strict=True):
            i, k = place[column]
            spread[i][k] = force if scale == 1.0 else c.recorder.call(_scale, force, 1.0 / scale)
        return c.project([Vec(x) for x in spread])

    def robot_entries(self, c: Context, by_link: Sequence[Any]) -> list[Any]:
        """Velocities, or accelerations, of the joints of all links as the robot's own."""
        every = flat(by_link)
        found = [(every[column], scale) for column, scale in independent_columns(self.robot)]
        return [x if scale == 1.0 else c.recorder.call(_scale, x, 1.0 / scale) for x, scale in found]

    def robot_velocities(self, c: Context) -> list[Any]:
        """The robot's own velocities."""
        return list(c.given["v"]) if self.is_home else self.robot_entries(c, c.velocities())

    def growth(self, c: Context, before: Any, usual: Any) -> Any:
        """The larger of `before` and the largest excess of the joint velocities in loops, for unit velocities, over
        GROWN times the `usual` ones: above zero where a loop should be examined.
        """
        sizes = [
            c.recorder.call(_size, row)
            for cluster, e in zip(c.clusters, c.cluster_states, strict=True)
            if e is not None and cluster.embedding.is_solved
            for block in e.G
            for row in block
        ]
        return c.recorder.call(_worst, before, Vec(sizes), Vec(usual[: len(sizes)])) if sizes else before


def _scale(x: Any, factor: Any) -> Any:
    return x * factor


def _worst(stop: Any, sizes: Any, usual: Any) -> Any:
    """The largest excess of the joint velocities, for unit velocities, over `GROWN` times the usual ones."""
    for x, known in zip(sizes, usual, strict=True):
        stop = maximum(stop, x - GROWN * known)
    return stop


def _size(row: Any) -> Any:
    """The largest entry of a row."""
    size: Any = 0.0
    for x in row:
        size = maximum(size, maximum(x, -x))
    return size
