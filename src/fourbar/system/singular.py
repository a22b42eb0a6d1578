"""Bodies without mass are allowed where something behind them has mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..tree.cluster_tree import ClusterTree
from ..tree.solid import is_solid

if TYPE_CHECKING:
    from ..io.report import Finding

MASSLESS = "massless"  # what reports call a joint that moves nothing
_SOLVED = frozenset(
    ("forward_dynamics", "passive_dynamics", "inverse_mass_matrix", "solve_mass_matrix", "osim", "osim_inverse")
)


def check_regular(cluster_tree: ClusterTree) -> None:
    """Refuse a tree in which some joint moves nothing: its mass matrix is singular in every configuration."""
    if not is_solid(cluster_tree):
        from ..algorithms.massless import check_joints  # which few robots need

        check_joints(cluster_tree)


def check_solvable(method: str, findings: Iterable[Finding]) -> None:
    """Refuse a method that needs the inverse of the mass matrix, for a robot of a file in which some joint moves
    nothing; where that was waived it is a note, and the result NaN."""
    if method in _SOLVED:
        for finding in findings:
            if finding.key == MASSLESS and finding.severity == "warning":
                from ..algorithms.massless import MasslessError

                raise MasslessError(f"{method}: {finding.message}; {finding.fix} when the file is read")
