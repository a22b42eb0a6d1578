"""Limits of a robot's joints as arrays, in the order of q and of v."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..mechanism.mechanism import PlacedJoint
from ..representation import html_table
from ..tolerances import BEYOND
from ..tree.assembly import coordinate_labels
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import split


class Limits(NamedTuple):
    """Limits of a robot's joints, in the order of the arrays; infinite where there is none.

    Parameters
    ----------
    lower : ndarray, shape (nq,)
        Least coordinates (rad, m).
    upper : ndarray, shape (nq,)
        Largest coordinates (rad, m).
    velocity : ndarray, shape (nv,)
        Largest speeds (rad/s, m/s).
    effort : ndarray, shape (nv,)
        Largest joint forces (N m, N).
    least_effort : ndarray, shape (nv,)
        Least joint forces (N m, N): minus the largest ones, where a file gives only those.

    Notes
    -----
    Joints that depend on others by gears have no entry of their own. `System.inverse_kinematics` keeps their limits all
    the same, and so does `System.random`.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("door")
    >>> _ = b.body("leaf", joint=fb.joints.Revolute("z"), mass=20.0, com=(0.4, 0, 0), limits=(0, 1.6), max_force=5.0)
    >>> robot = b.build()
    >>> robot.limits.lower, robot.limits.upper, robot.limits.effort
    (array([0.]), array([1.6]), array([5.]))
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    least_effort: np.ndarray

    def __repr__(self) -> str:
        limited = int((np.isfinite(self.lower) | np.isfinite(self.upper)).sum())
        return (
            f"<fourbar Limits: {limited} of {len(self.lower)} coordinates; of {len(self.velocity)} velocities "
            f"{np.isfinite(self.velocity).sum()}, and {np.isfinite(self.effort).sum()} efforts>"
        )

    def _repr_html_(self) -> str:
        rows = ((name, len(x), np.array2string(x, precision=4, threshold=12)) for name, x in self._asdict().items())
        return html_table("fourbar Limits", ("of", "number", "values"), rows)


def _independent(cluster_tree: ClusterTree) -> Iterator[tuple[PlacedJoint, int, float]]:
    """The joint of each independent velocity, which of its velocities it is, and the joint's velocity per unit."""
    for cluster in cluster_tree.clusters:
        every = [(cluster_tree.moving[i], k) for i in cluster.links for k in range(cluster_tree.moving[i].joint.nv)]
        yield from ((*every[j], scale) for j, scale in cluster.embedding.independent)


def _coordinates(cluster_tree: ClusterTree) -> Iterator[tuple[float, float]]:
    """Lower and upper limit of each coordinate."""
    independent = _independent(cluster_tree)
    for cluster in cluster_tree.clusters:
        tie = cluster.embedding
        own = [next(independent) for _ in range(tie.nv)]
        if tie.explicit:
            for c, k, scale in own:
                low, high = sorted((c.lower[k] / scale, c.upper[k] / scale))
                yield low, high
        else:
            for i in cluster.links:
                yield from zip(cluster_tree.moving[i].lower, cluster_tree.moving[i].upper, strict=True)


class Beyond(NamedTuple):
    """A coordinate outside its limits: its name, value and limits."""

    name: str
    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.name!r} is at {self.value + 0.0:.4g} (limits {self.lower:.4g} and {self.upper:.4g})"


def beyond_limits(cluster_tree: ClusterTree, q: np.ndarray) -> list[Beyond]:
    """The coordinates of all joints, dependent ones too, that are outside their limits at q (nq)."""
    beyond = []
    for cluster, cluster_q in zip(cluster_tree.clusters, split(cluster_tree.clusters, q.tolist(), "nq"), strict=True):
        tie, joints = cluster.embedding, [cluster_tree.moving[i] for i in cluster.links]
        values = tie.full_coordinates(np.array([cluster_q]))[0].tolist() if len(cluster_q) else ()
        limits = [x for c in joints for x in zip(coordinate_labels(c), c.lower, c.upper, strict=True)]
        for (name, lower, upper), x in zip(limits, values, strict=False):
            if not lower - BEYOND <= x <= upper + BEYOND:
                beyond.append(Beyond(name, x, lower, upper))
    return beyond


def limits_of(cluster_tree: ClusterTree) -> Limits:
    """The limits of all joints of a robot."""
    lower, upper = np.array([*_coordinates(cluster_tree)], float).reshape(-1, 2).T
    fastest, most, least = [], [], []
    for c, k, scale in _independent(cluster_tree):
        fastest.append((c.max_velocity[k] if c.max_velocity else np.inf) / abs(scale))
        high = c.max_force[k] if c.max_force else np.inf
        low, high = sorted((scale * (c.min_force[k] if c.min_force else -high), scale * high))
        most.append(high)
        least.append(low)
    found = Limits(lower.copy(), upper.copy(), *(np.array(x, float) for x in (fastest, most, least)))
    for x in found:
        x.setflags(write=False)
    return found
