"""Clusters by name: which bodies belong together, the names of their coordinates, and closing their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import AssemblyError, unknown
from ..mechanism.mechanism import Mechanism, PlacedJoint, joint_of, velocity_names
from ..mechanism.validate import read_independent
from ..tolerances import CLOSED, KEEP_AWAY
from .cluster_tree import ClusterTree
from .clusters import Cluster
from .embedding import LoopEmbedding
from .loop_closing import close, close_from, differences
from .own_joint import OwnJoint
from .path_following import follow_path, move_into_limits

_FARTHEST = 100.0  # in units of a joint: how far a slide without limits is asked to move
_HOME_TRIALS = 10  # trials in the home assembly, if the robot is built outside of its joint limits


Trial = tuple[np.ndarray, np.ndarray]  # coordinates (n, nq), and which of them are valid (n)


class ClusterInfo(NamedTuple):
    """A cluster: bodies tied by loops, and what describes their state.

    Parameters
    ----------
    bodies : tuple of str
        Its bodies.
    joints : tuple of str
        Its joints.
    loops : tuple of str
        The loops that tie them; none in a cluster of one body.
    carrier : str
        The body that carries it; the first of several.
    coordinate_names : tuple of str
        Its coordinates in q.
    velocity_names : tuple of str
        Its independent velocities in v.
    carriers : tuple of str
        All bodies that carry it, Chignoli's output bodies: several if a gear couples joints on different bodies of one
        other cluster.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.clusters[0].bodies
    ('link1', 'link3', 'link2')
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    carrier: str
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    carriers: tuple[str, ...]


def _labels(name: str, suffixes: Sequence[str]) -> list[str]:
    return [f"{name}.{s}" if s else name for s in suffixes]


def coordinate_labels(c: PlacedJoint) -> list[str]:
    """The names of a joint's coordinates."""
    return _labels(c.name, c.joint.q_names)


def _velocity_labels(cluster_tree: ClusterTree, cluster: Cluster) -> list[tuple[str, str]]:
    """(joint, label) of the independent velocities of a cluster."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    every = [(c.name, label) for c in connections for label in velocity_names(c.name, c.joint)]
    return every if isinstance(cluster.embedding, OwnJoint) else [every[j] for j, _ in cluster.embedding.independent]


def independent_joints(cluster_tree: ClusterTree, cluster: Cluster) -> list[str]:
    """The joint of each independent velocity."""
    return [joint for joint, _ in _velocity_labels(cluster_tree, cluster)]


def describe(cluster_tree: ClusterTree, cluster: Cluster) -> ClusterInfo:
    """A cluster by names."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    velocities = tuple(label for _, label in _velocity_labels(cluster_tree, cluster))
    explicit = isinstance(cluster.embedding, LoopEmbedding) and cluster.embedding.explicit
    coordinates = tuple(x for c in connections for x in coordinate_labels(c))
    carriers = tuple("world" if i < 0 else cluster_tree.moving[i].child for i in cluster.carriers)
    return ClusterInfo(
        bodies=tuple(c.child for c in connections),
        joints=tuple(c.name for c in connections),
        loops=cluster.loops,
        carrier=carriers[0],
        coordinate_names=velocities if explicit else coordinates,
        velocity_names=velocities,
        carriers=carriers,
    )


def _state(cluster: Cluster, full: np.ndarray) -> np.ndarray:
    """The stored coordinates (..., nq) of a cluster with loops, from those of all its joints."""
    tie = cluster.embedding
    assert isinstance(tie, LoopEmbedding)
    if not tie.explicit:
        return full
    return np.stack([full[..., j] / scale for j, scale in tie.independent], axis=-1) if tie.nq else full[..., :0]


def cluster_neutral(cluster_tree: ClusterTree, cluster: Cluster) -> np.ndarray:
    """The neutral coordinates, or closed ones near them."""
    if isinstance(cluster.embedding, LoopEmbedding):
        assert cluster.embedding.closed is not None
        return _state(cluster, cluster.embedding.closed)
    return np.array(cluster_tree.moving[cluster.links[0]].joint.neutral())


def cluster_named(
    cluster_tree: ClusterTree, cluster: Cluster, coordinates: Mapping[str, Sequence[float]]
) -> np.ndarray:
    """Closed coordinates of a cluster near those given by joint; joints not given are neutral."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    full = np.array([x for c in connections for x in coordinates.get(c.name, c.joint.neutral())])
    if not isinstance(cluster.embedding, LoopEmbedding):
        return full
    closed, gap = close_from(cluster.embedding, full[None])
    if not gap[0] <= CLOSED:
        raise AssemblyError(
            f"loops {', '.join(map(repr, cluster.loops))} cannot be closed: the remaining gap is "
            f"{np.abs(cluster.embedding.residual(closed)).max():.3g}"
        )
    return _state(cluster, closed[0])


def _random_full(cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int) -> np.ndarray:
    parts = [cluster_tree.moving[i] for i in cluster.links]
    return np.concatenate([c.joint.random(rng, np.array(c.lower), np.array(c.upper), (count,)) for c in parts], axis=-1)


def _limits(cluster_tree: ClusterTree, cluster: Cluster) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the coordinates of all joints of a cluster."""
    lower = np.array([x for i in cluster.links for x in cluster_tree.moving[i].lower])
    return lower, np.array([x for i in cluster.links for x in cluster_tree.moving[i].upper])


def _within_limits(cluster_tree: ClusterTree, cluster: Cluster, full: np.ndarray) -> np.ndarray:
    """A mask of the rows, coordinates of all joints of a cluster, that are within their limits."""
    lower, upper = _limits(cluster_tree, cluster)
    return np.all((full >= lower) & (full <= upper), axis=-1)


def _is_held(tie: LoopEmbedding, full: np.ndarray) -> np.ndarray:
    """A mask of the configurations (n, nq) that are away from toggle positions."""
    return tie.determinacy(full) > KEEP_AWAY


def _in_home_assembly(
    cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int, attempt: int
) -> Trial:
    """Follow paths from the closed configuration towards random ones; the ends, and whether they were reached."""
    tie = cluster.embedding
    assert isinstance(tie, LoopEmbedding) and tie.closed is not None
    way = differences(tie.joints, np.tile(tie.closed, (count, 1)), _random_full(cluster_tree, cluster, rng, count))
    way = np.clip(way / tie.units.steps, -_FARTHEST, _FARTHEST)
    spread = 0.86**attempt  # nearer and nearer to a configuration that is closed
    length = spread * np.sqrt(rng.random(count)) * np.linalg.norm(way, axis=-1)
    return follow_path(tie, tie.closed, way, length)


def _in_any_assembly(
    cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int, attempt: int
) -> Trial:
    """Closed configurations near random ones, in any assembly: for a robot that is built outside of its limits."""
    tie = cluster.embedding
    assert isinstance(tie, LoopEmbedding)
    full, gap = close(tie, _random_full(cluster_tree, cluster, rng, count))
    return full, gap < CLOSED


def _moved_into_limits(cluster_tree: ClusterTree, cluster: Cluster, ends: np.ndarray, closed: np.ndarray) -> Trial:
    """Closed configurations moved into the limits, and which are there, away from toggle positions."""
    tie = cluster.embedding
    assert isinstance(tie, LoopEmbedding)
    outside = np.flatnonzero(closed & ~_within_limits(cluster_tree, cluster, ends))
    if outside.size:
        ends[outside], closed[outside] = move_into_limits(tie, ends[outside], *_limits(cluster_tree, cluster))
    return ends, closed & _within_limits(cluster_tree, cluster, ends) & _is_held(tie, ends)


def cluster_random(
    cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, size: tuple[int, ...]
) -> np.ndarray:
    """Random coordinates (*size, nq of the cluster), with loops closed in the assembly in which the robot is built.

    Where that is outside of the limits, and no path leads into them, another assembly is used.
    """
    tie = cluster.embedding
    if not isinstance(tie, LoopEmbedding):
        c = cluster_tree.moving[cluster.links[0]]
        return c.joint.random(rng, np.array(c.lower), np.array(c.upper), size)
    count = int(np.prod(size, dtype=int))
    found = _random_full(cluster_tree, cluster, rng, count)
    if tie.explicit:
        return _state(cluster, found).reshape(*size, tie.nq)
    assert tie.closed is not None
    left, in_home_assembly = np.arange(count), bool(_within_limits(cluster_tree, cluster, tie.closed))
    for attempt in range(100):
        if not left.size:
            return found.reshape(*size, tie.nq)
        trial = _in_home_assembly if in_home_assembly or attempt < _HOME_TRIALS else _in_any_assembly
        ends, valid = _moved_into_limits(cluster_tree, cluster, *trial(cluster_tree, cluster, rng, len(left), attempt))
        found[left[valid]], left = ends[valid], left[~valid]
    names = ", ".join(map(repr, cluster.loops))
    raise AssemblyError(f"random sampling found no closed configuration of loops {names} within the limits")


def cluster_anywhere(cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator) -> np.ndarray:
    """One set of coordinates of a cluster with closed loops, away from toggle positions, regardless of limits.

    Loops of a file may be closed outside the limits of its joints: such a robot has dynamics too.
    """
    tie = cluster.embedding
    if not isinstance(tie, LoopEmbedding) or tie.explicit:
        return cluster_random(cluster_tree, cluster, rng, ())
    assert tie.closed is not None
    spread = np.array([[0.5], [0.25], [0.1], [0.05], [0.02]])
    near = tie.closed + spread * (_random_full(cluster_tree, cluster, rng, len(spread)) - tie.closed)
    full, gap = close(tie, near)
    valid = full[(gap < CLOSED) & _is_held(tie, full)]
    return valid[0] if len(valid) else tie.closed


def choose_independent(mechanism: Mechanism, clusters: Sequence[ClusterInfo], joints: Sequence[Any]) -> Mechanism:
    """The mechanism with the named joints as the independent ones of their clusters."""
    listed = joints[0] if len(joints) == 1 and isinstance(joints[0], list | dict) else joints
    pairs = read_independent("independent", listed)
    tied = {joint: n for n, cluster in enumerate(clusters) if cluster.loops for joint in cluster.joints}
    owners = {name: joint_of(name, tied) for name, _ in pairs}
    alone = {joint: 0 for cluster in clusters if not cluster.loops for joint in cluster.joints}
    for name, scale in pairs:
        if owners[name] is None and (joint_of(name, alone) is None or scale != 1.0):
            raise unknown("joint in a loop", name, tied)  # those outside of loops are independent anyway
    own = {name: tied[joint] for name, joint in owners.items() if joint is not None}
    changed = set(own.values())
    first = {clusters[n].loops[0]: tuple(p for p in pairs if own.get(p[0]) == n) for n in changed}
    cleared = {name for n in changed for name in clusters[n].loops}
    loops = tuple(
        replace(loop, independent=first.get(loop.name, ())) if loop.name in cleared else loop
        for loop in mechanism.loops
    )
    return replace(mechanism, loops=loops)
