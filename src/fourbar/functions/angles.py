"""Coordinates that are angles, and those too large for their sines to mean anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..joints.base import Joint
from ..once import once_per_object
from ..tree.assembly import coordinate_labels
from ..tree.cluster_tree import ClusterTree
from ..tree.embedding import LoopEmbedding

_SPINNING = 1e4  # ratio of a gear from which on the angles that follow are looked at in batches too


class StoredJoint(NamedTuple):
    """A joint whose coordinates are stored in q, and the first of their columns."""

    name: str
    joint: Joint
    first: int


@once_per_object
def stored_joints(cluster_tree: ClusterTree) -> tuple[StoredJoint, ...]:
    """The joints whose coordinates lie in q as they are, also those of loops that are solved."""
    return tuple(_stored_joints(cluster_tree))


def _stored_joints(cluster_tree: ClusterTree) -> Iterator[StoredJoint]:
    at = 0
    for cluster in cluster_tree.clusters:
        tie, column = cluster.embedding, at
        at += tie.nq
        if tie.explicit:
            continue
        for c in (cluster_tree.moving[i] for i in cluster.links):
            yield StoredJoint(c.name, c.joint, column)
            column += c.joint.nq


def straight(cluster_tree: ClusterTree) -> set[int]:
    """The coordinates in q that are distances."""
    return {j.first + k for j in stored_joints(cluster_tree) for k in range(j.joint.nq) if _is_straight(j.joint, k)}


@lru_cache(maxsize=4096)
def _is_straight(joint: Joint, k: int) -> bool:
    """Whether a coordinate moves a joint's child along a straight line without turning it, as distances do."""
    places = []
    for step in (0.0, 0.5, 1.0):
        q = np.array(joint.neutral())
        q[k] += step
        T = joint.placement(q.tolist())
        places.append(np.array([*T.p, *(x for row in T.R for x in row)], float))
    return bool(np.allclose(places[2] - places[1], places[1] - places[0], atol=1e-9))


def _is_angle(joint: Joint, k: int) -> bool:
    """Whether a coordinate is neither a distance nor part of a quaternion."""
    return not any(start <= k < start + 4 for start in joint.quaternions) and not _is_straight(joint, k)


def _every(tie: LoopEmbedding, y: np.ndarray) -> np.ndarray:
    """The coordinates (..., n) of all joints, from the independent ones (..., nq) of loops that are explicit."""
    if not tie.is_linear:
        with np.errstate(all="ignore"):
            rows = [np.array(tie.coordinates(list(row)), float) for row in y.reshape(-1, tie.nq)]
        return np.array(rows).reshape(*y.shape[:-1], len(tie.traced.q))
    zero = np.array(tie.coordinates([0.0] * tie.nq), float)
    return zero + y @ (np.array([tie.coordinates(row) for row in np.eye(tie.nq).tolist()], float) - zero)


def _angles(cluster_tree: ClusterTree, q: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Name and values (...) of each coordinate that is an angle, whether it lies in q (..., nq) or follows from it."""
    at = 0
    for cluster in cluster_tree.clusters:
        tie, own = cluster.embedding, q[..., at : at + cluster.embedding.nq]
        at += tie.nq
        values, column = _every(cluster.tie, own) if cluster.tie is not None and tie.explicit else own, 0
        for c in (cluster_tree.moving[i] for i in cluster.links):
            for k, name in enumerate(coordinate_labels(c)):
                if _is_angle(c.joint, k):
                    yield name, values[..., column + k]
            column += c.joint.nq


def endless_angles(cluster_tree: ClusterTree, q: np.ndarray) -> np.ndarray:
    """In which samples (...) some angle is too large for its sine to mean anything."""
    from ..compile.elementary import LARGEST_ANGLE

    found = np.zeros(q.shape[:-1], bool)
    for _, x in _angles(cluster_tree, q):
        found = found | (np.abs(x) > LARGEST_ANGLE)
    return found


def describe_endless_angle(cluster_tree: ClusterTree, argument: str, rows: np.ndarray) -> str:
    """A message about configurations (n, nq) in which an angle is too large for its sine to be meaningful."""
    from ..compile.elementary import LARGEST_ANGLE

    for name, x in _angles(cluster_tree, rows):
        size = np.abs(x).max(initial=0.0)
        if size > LARGEST_ANGLE:
            return (
                f"{argument}: the coordinate {name!r} is {size:.6g} in size. Beyond ±{LARGEST_ANGLE:g} an angle in "
                "radians has lost its meaning; take it modulo 2π"
            )
    return ""


def spins(cluster_tree: ClusterTree) -> bool:
    """Whether moderate coordinates of gears make an angle that is too large."""
    linear = (tie for _, tie, _ in cluster_tree.tied_clusters if tie.explicit and tie.is_linear)
    return any(
        np.abs(np.diff(_every(tie, np.stack([np.zeros(tie.nq), row])), axis=0)).max(initial=0.0) > _SPINNING
        for tie in linear
        for row in np.eye(tie.nq)
    )
