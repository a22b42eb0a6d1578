"""Whether the velocities of a joint are independent: a joint with a redundant coordinate has a singular mass matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expr import Graph, prepare
from ..linalg import ranks
from .base import Joint


def subspace_matrix(joint: Joint, q: Sequence[float]) -> np.ndarray:
    """S (6 x nv) in numbers."""
    twists = joint.subspace(q).twists()
    return np.array([t.six() for t in twists], float).reshape(len(twists), 6).T


def turning(joint: Joint) -> list[bool]:
    """A mask of a joint's velocities that rotate its child; the others translate it, and may be of any size."""
    return [bool(np.any(column[:3])) for column in subspace_matrix(joint, joint.neutral()).T]


@lru_cache(maxsize=4096)
def regular_rates(joint: Joint, armature: tuple[float, ...]) -> Callable[[Iterable[Any]], list[Any]] | None:
    """Whether the rates of a joint are independent, of its coordinates; None where they are everywhere."""
    if joint.nv < 3:
        return None
    q = Graph().inputs("q", joint.nq)
    condition = joint.subspace(q).regular(armature)
    return None if condition is True else prepare([condition], q)


def require_independent(joint: Joint, q: Sequence[float], what: str) -> None:
    """Refuse a joint whose S (6 x nv) has dependent columns at the generic configuration q."""
    if joint.nv == 0:
        return
    rank = int(ranks(subspace_matrix(joint, q)))
    if rank < joint.nv:
        raise ModelError(
            f"{what} has {joint.nv} velocities but only {rank} independent motion{'s' * (rank != 1)}: "
            f"its coordinates are redundant; remove {joint.nv - rank} of them"
        )
