"""Armature of several velocities at once: a symmetric matrix, as rotors have that several joints drive together.

The constant offset of the mass matrix by which transmissions are approximated (Chignoli §II-C) is a number per velocity
where each joint has its own rotor, and a block where belts or differentials couple joints: Σ I c cᵀ over rotors of
inertia I that turn by c · v.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..constraints.loop import read_names
from ..errors import ModelError, unknown
from ..joints.base import Joint
from ..linalg import is_semidefinite, is_symmetric
from .validate import LARGEST

Rows = tuple[tuple[float, ...], ...]
_ROUNDING = 1e-12  # relative errors of entries that are symmetric, or of eigenvalues that are not negative


@dataclass(frozen=True)
class ArmatureBlock:
    """A symmetric matrix (kg m², kg m, kg) that is added to the mass matrix, over all velocities of some joints."""

    name: str
    joints: tuple[str, ...]
    matrix: Rows


def read_block(name: str, joints: Any, matrix: Any) -> ArmatureBlock:
    """A block, whose size is checked once the joints are known."""
    what = f"armature {name!r}"
    names = read_names(f"{what}, joints", joints)
    try:
        A = np.array(matrix, float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected a symmetric matrix of numbers, got {matrix!r}") from None
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        raise ModelError(f"{what}: expected a symmetric matrix of finite numbers, got {matrix!r}")
    if np.abs(A).max(initial=0.0) > LARGEST:
        raise ModelError(f"{what}: expected numbers up to {LARGEST:g}, got {A.tolist()}; check the units")
    if not is_symmetric(A, np.abs(np.diagonal(A)), _ROUNDING):
        raise ModelError(f"{what}: the matrix is not symmetric: {A.tolist()}")
    A = 0.5 * (A + A.T)
    if not is_semidefinite(A, _ROUNDING):
        raise ModelError(
            f"{what}: the matrix has a negative eigenvalue, so that some motion would have negative kinetic energy; "
            f"rotors of inertia I that turn by c · v add I c cᵀ each, got {A.tolist()}"
        )
    return ArmatureBlock(name, names, _rows(A))


def is_coupled(A: np.ndarray) -> bool:
    """Whether entries off the diagonal are more than rounding, whatever the units of the velocities are."""
    size = np.sqrt(np.diagonal(A))
    return bool((np.abs(A - np.diag(np.diagonal(A))) > _ROUNDING * np.outer(size, size)).any())


def _rows(A: np.ndarray) -> Rows:
    return tuple(tuple(row) for row in A.tolist())


def check(blocks: Sequence[ArmatureBlock], joints: Mapping[str, Joint]) -> None:
    """Refuse blocks of joints that are not there, do not move, or have another number of velocities."""
    for block in blocks:
        for name in block.joints:
            if name not in joints:
                raise ModelError(f"armature {block.name!r}: {unknown('joint', name, list(joints))}")
            if joints[name].nv == 0:
                raise ModelError(f"armature {block.name!r}: joint {name!r} is fixed; leave it out")
        nv = sum(joints[name].nv for name in block.joints)
        if len(block.matrix) != nv:
            raise ModelError(
                f"armature {block.name!r}: expected a matrix of {nv} rows, one for each velocity of "
                f"{', '.join(map(repr, block.joints))}, got {len(block.matrix)}"
            )


def places(block: ArmatureBlock, joints: Mapping[str, Joint]) -> dict[str, range]:
    """The rows of each joint."""
    ranges, first = {}, 0
    for name in block.joints:
        ranges[name] = range(first, first + joints[name].nv)
        first = ranges[name].stop
    return ranges


def among(
    blocks: Sequence[ArmatureBlock], remaining: Collection[str], joints: Mapping[str, Joint]
) -> tuple[ArmatureBlock, ...]:
    """The blocks where only some joints are left to move: their rows and columns."""
    moving_blocks = []
    for block in blocks:
        joints_left = tuple(name for name in block.joints if name in remaining)
        at = places(block, joints)
        rows = [i for name in joints_left for i in at[name]]
        if rows:
            moving_blocks.append(
                replace(block, joints=joints_left, matrix=_rows(np.array(block.matrix)[np.ix_(rows, rows)]))
            )
    return tuple(moving_blocks)


def renamed(block: ArmatureBlock, name: str, joints: Mapping[str, str]) -> ArmatureBlock:
    """The same block where it and its joints have other names; joints that are not listed stay."""
    return replace(block, name=name, joints=tuple(joints.get(x, x) for x in block.joints))


def map_block(block: ArmatureBlock, maps: Mapping[str, Sequence[Sequence[float]]]) -> ArmatureBlock:
    """The block in other velocities w = Q v of its joints: Q A Qᵀ, with orthogonal Q by joint."""
    A = np.array(block.matrix)
    parts = [np.array(maps[name], float) for name in block.joints]
    Q, first = np.zeros_like(A), 0
    for part in parts:
        Q[first : first + len(part), first : first + len(part)] = part
        first += len(part)
    turned = Q @ A @ Q.T
    return replace(block, matrix=_rows(0.5 * (turned + turned.T) + 0.0))
