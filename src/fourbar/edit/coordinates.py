"""The coordinates of every joint, by name, from a configuration of the robot, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..constraints.trace import cut
from ..errors import ArgumentError, AssemblyError
from ..once import once_per_object
from ..tolerances import WRITTEN
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import Cluster, split
from ..tree.loop_closing import close_from


def read_configuration(cluster_tree: ClusterTree, q: Any) -> np.ndarray:
    """One configuration (nq) of finite numbers."""
    try:
        array = np.asarray(q, float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"q: expected {cluster_tree.nq} numbers, got {q!r}") from None
    if array.shape != (cluster_tree.nq,) or not np.all(np.isfinite(array)):
        raise ArgumentError(f"q: expected {cluster_tree.nq} finite numbers, got shape {array.shape} from {q!r}")
    return array


def coordinates(cluster_tree: ClusterTree, q: np.ndarray) -> dict[str, tuple[float, ...]]:
    """The coordinates of all moving joints at a closed configuration."""
    by_joint: dict[str, tuple[float, ...]] = {}
    for cluster, own in zip(cluster_tree.clusters, split(cluster_tree.clusters, q.tolist(), "nq"), strict=True):
        full, tie = cluster.embedding.coordinates(own), cluster.tie
        if tie is not None and tie.is_implicit:  # explicit loops are always closed
            gap = float(np.abs(tie.residual(np.array(full)) / tie.units.gaps).max(initial=0.0))
            _check_gap(cluster, gap, "at the given q; robot.assemble(q) closes them")
        by_joint.update(_by_joint(cluster_tree, cluster, full))
    return by_joint


def _check_gap(cluster: Cluster, gap: float, where: str) -> None:
    """Refuse a gap, given in units of the rows."""
    if not gap < WRITTEN:
        names = ", ".join(map(repr, cluster.loops))
        raise AssemblyError(f"loops {names} are open by {gap:.3g} {where}")


def _by_joint(cluster_tree: ClusterTree, cluster: Cluster, full: Sequence[Any]) -> dict[str, tuple[float, ...]]:
    moving = [cluster_tree.moving[i] for i in cluster.links]
    parts = cut(full, [c.joint.nq for c in moving])
    return {c.name: tuple(float(x) for x in part) for c, part in zip(moving, parts, strict=True)}


def move_joints(
    cluster_tree: ClusterTree, start: Mapping[str, tuple[float, ...]], given: Mapping[str, Any]
) -> dict[str, tuple[float, ...]]:
    """Coordinates near `start` with some joints fixed at given values and every loop closed."""
    by_joint = dict(start)
    joints = {c.name: c.joint for c in cluster_tree.moving}
    for name, value in given.items():
        try:
            joint_q = np.atleast_1d(np.asarray(value, float))
        except (TypeError, ValueError, OverflowError):
            joint_q = np.zeros(0)
        if joint_q.shape != (joints[name].nq,) or not np.all(np.isfinite(joint_q)):
            raise ArgumentError(f"joint {name!r} takes {joints[name].nq} finite coordinates, got {value!r}")
        by_joint[name] = tuple(joint_q.tolist())
    for cluster in cluster_tree.clusters:
        names = [cluster_tree.moving[i].name for i in cluster.links]
        if cluster.tie is not None and set(names) & set(given):
            held = [j for j, name in enumerate(x for x in names for _ in range(joints[x].nv)) if name in given]
            q, gap = close_from(cluster.tie, np.array([[x for name in names for x in by_joint[name]]]), held)
            _check_gap(
                cluster,
                float(gap[0]),
                (f"with {', '.join(map(repr, given))} fixed: there is no closed configuration nearby"),
            )
            by_joint.update(_by_joint(cluster_tree, cluster, q[0].tolist()))
    return by_joint


def gather(cluster_tree: ClusterTree, full: np.ndarray) -> np.ndarray:
    """The configuration (..., nq) of a robot from the coordinates (..., n) of all its moving joints."""
    ends = np.cumsum([c.joint.nq for c in cluster_tree.moving])
    parts = []
    for cluster in cluster_tree.clusters:
        columns = [j for i in cluster.links for j in range(ends[i] - cluster_tree.moving[i].joint.nq, ends[i])]
        parts.append(cluster.embedding.stored_coordinates(full[..., columns]))
    return np.concatenate(parts, axis=-1) if parts else full


@once_per_object
def _independent_columns(cluster_tree: ClusterTree) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the independent velocities among those of all moving joints, and their scales."""
    ends = np.cumsum([c.joint.nv for c in cluster_tree.moving])
    scaled_columns: list[tuple[int, float]] = []
    for cluster in cluster_tree.clusters:
        columns = [j for i in cluster.links for j in range(ends[i] - cluster_tree.moving[i].joint.nv, ends[i])]
        scaled_columns += [(columns[j], scale) for j, scale in cluster.embedding.independent]
    return np.array([column for column, _ in scaled_columns], int), np.array([scale for _, scale in scaled_columns])


def gather_velocity(cluster_tree: ClusterTree, full: np.ndarray) -> np.ndarray:
    """The independent velocities (..., nv) from those of all moving joints."""
    columns, scales = _independent_columns(cluster_tree)
    return full[..., columns] / scales
