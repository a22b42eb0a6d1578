"""Joints that inverse kinematics leaves alone: read by name, as velocities and coordinates by number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, unknown
from ..tree.cluster_tree import ClusterTree
from ..tree.embedding import LoopEmbedding


class HeldJoints(NamedTuple):
    """Held joints: numbers of velocities, and a mask of coordinates (nq)."""

    velocities: tuple[int, ...]
    coordinates: np.ndarray

    def kept(self, start: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Another start (nq) with what stays as it is at the first (..., nq)."""
        return np.where(self.coordinates, start, other) if self.velocities else other


NONE = HeldJoints((), np.zeros(0, bool))


def read_held(cluster_tree: ClusterTree, names: Any) -> HeldJoints:
    """Joints by name; of a loop all that are independent, or none."""
    if names == ():
        return NONE
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArgumentError(f"inverse_kinematics: held={names!r}: expected a list of joints, such as ['base']")
    wanted = list(names)
    known = [joint.name for joint in cluster_tree.moving]
    for name in wanted:
        if name not in known:
            raise unknown("joint", name, known)
    velocities: list[int] = []
    coordinates: list[bool] = []
    at = 0
    for cluster in cluster_tree.clusters:
        tie, joints = cluster.embedding, [cluster_tree.moving[i] for i in cluster.links]
        columns = [joint.name for joint in joints for _ in range(joint.joint.nv)]
        if not isinstance(tie, LoopEmbedding):
            velocities += [at + j for j, name in enumerate(columns) if name in wanted]
            coordinates += [joint.name in wanted for joint in joints for _ in range(joint.joint.nq)]
            at += tie.nv
            continue
        chosen = [columns[j] for j, _ in tie.independent]
        stays = bool(chosen) and set(chosen) <= set(wanted)
        if not stays and (tied := {joint.name for joint in joints} & set(wanted)):
            raise ArgumentError(
                f"inverse_kinematics: held: a loop ties {min(tied)!r} to others; hold all of "
                f"{', '.join(dict.fromkeys(chosen))} or none"
            )
        velocities += range(at, at + tie.nv) if stays else ()
        coordinates += [stays] * tie.nq
        at += tie.nv
    return HeldJoints(tuple(velocities), np.array(coordinates, bool))
