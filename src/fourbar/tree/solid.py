"""Whether links resist every motion: then every joint moves some inertia."""

from __future__ import annotations

import numpy as np

from .cluster_tree import ClusterTree


def is_solid(cluster_tree: ClusterTree) -> bool:
    """Whether every link resists every motion."""
    return _are_solid(np.array([c.I.matrix() for c in cluster_tree.spanning_tree.links], float).reshape(-1, 6, 6))


def _are_solid(inertias: np.ndarray) -> bool:
    """Whether all spatial inertias (n, 6, 6) resist every motion, so that no joint in front of them can be singular."""
    values = np.linalg.eigvalsh(inertias)
    return bool(np.all(values[:, 0] > 1e-10 * values[:, -1]))
