"""Bodies without mass are allowed where something behind them has mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..model.lower import Lowered

if TYPE_CHECKING:
    from ..io.report import Finding

MASSLESS = "massless"  # what reports call a joint that moves nothing
_SOLVED = frozenset(
    ("forward_dynamics", "passive_dynamics", "inverse_mass_matrix", "solve_mass_matrix", "osim", "osim_inverse")
)


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


def check_solvable(method: str, findings: Iterable[Finding]) -> None:
    """Refuse a method that needs the inverse of the mass matrix, for a robot of a file in which some joint moves
    nothing; where that was waived it is a note, and the result NaN."""
    if method in _SOLVED:
        for finding in findings:
            if finding.key == MASSLESS and finding.severity == "warning":
                from .massless import MasslessError

                raise MasslessError(f"{method}: {finding.message}; {finding.fix} when the file is read")
