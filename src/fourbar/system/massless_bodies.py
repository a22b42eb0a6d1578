"""Massless bodies are allowed where they carry mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import MasslessError
from ..functions.registry import Method
from ..tree.cluster_tree import ClusterTree, is_solid

if TYPE_CHECKING:
    from ..io.report import Finding

MASSLESS = "massless"  # the key of the finding for a joint that moves no inertia


def check_regular(cluster_tree: ClusterTree) -> None:
    """Refuse a tree in which some joint moves no inertia: its mass matrix is singular in every configuration."""
    if not is_solid(cluster_tree):
        from ..algorithms.massless import check_joints  # which few robots need

        check_joints(cluster_tree)


def check_solvable(cluster_tree: ClusterTree, method: Method, name: str) -> None:
    """Refuse a method that needs the inverse of the mass matrix, where there is none."""
    if method.inverts_mass:
        try:
            check_regular(cluster_tree)
        except MasslessError as error:
            raise MasslessError(f"{name.removesuffix('_factor')} of a constrained robot: {error}") from None


def unsolvable(findings: Iterable[Finding]) -> str:
    """Why no method can invert the mass matrix of a robot from a file: some joint moves no inertia. Empty otherwise.

    Where that was waived it is a note, and results are NaN.
    """
    found = (x for x in findings if x.key == MASSLESS and x.severity == "warning")
    return next((f"{x.message}; {x.fix} when the file is read" for x in found), "")
