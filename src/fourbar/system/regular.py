"""Bodies without mass are allowed where something behind them has mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

import numpy as np

from ..model.lower import Lowered


def _are_solid(inertias: np.ndarray) -> bool:
    """Whether all spatial inertias (n, 6, 6) resist every motion, so that no joint in front of them can be singular."""
    values = np.linalg.eigvalsh(inertias)
    return bool(np.all(values[:, 0] > 1e-10 * values[:, -1]))


def is_solid(lowered: Lowered) -> bool:
    """Whether every link resists every motion."""
    return _are_solid(np.array([c.I.matrix() for c in lowered.tree.clusters], float).reshape(-1, 6, 6))


def check_regular(lowered: Lowered) -> None:
    """Refuse a tree in which some joint moves nothing: its mass matrix is singular in every configuration."""
    if not is_solid(lowered):
        from .massless import check_joints

        check_joints(lowered)
