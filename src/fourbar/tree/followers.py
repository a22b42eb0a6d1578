"""Joints that simply follow others: geared rotors, mimics, chains of them.

A coordinate that occurs in one row only, with a constant factor, is what that row is solved for, independent of the
others. Row and column are set aside; what then occurs in one row only follows too. What is left, the core, is all that
needs a rank, so that thousands of gears cost only in proportion to their number, and no ratio is too large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..linalg import least_squares
from ..spatial.linear import Scalar


class Followers(NamedTuple):
    """Rows and the column that each is solved for, in the order in which they were set aside, and the core."""

    pairs: tuple[tuple[int, int], ...]
    core_rows: tuple[int, ...]
    core_columns: tuple[int, ...]

    def core(self, K: np.ndarray) -> np.ndarray:
        """The core of K (..., m, n)."""
        if not self.pairs:
            return K
        return K[..., list(self.core_rows), :][..., list(self.core_columns)]


def find_followers(
    K: Sequence[Sequence[Scalar]], entries: Sequence[Sequence[int]], columns: Iterable[int], n: int
) -> Followers:
    """The followers among the `columns` (of n). `entries`: the columns of each row's entries that are not zero."""
    holding: list[set[int]] = [set() for _ in range(n)]
    for i, own in enumerate(entries):
        for j in own:
            holding[j].add(i)
    asked = set(columns)
    ready, pairs = deque(j for j in range(n) if j in asked), []
    dependent: set[int] = set()
    while ready:
        j = ready.popleft()
        if j in dependent or len(holding[j]) != 1:
            continue
        (i,) = holding[j]
        if K[i][j].__class__ is not float:
            continue
        pairs.append((i, j))
        dependent.add(j)
        for other in entries[i]:
            holding[other].discard(i)
            if other in asked:
                ready.append(other)
    set_aside = {i for i, _ in pairs}
    rows = tuple(i for i in range(len(entries)) if i not in set_aside)
    return Followers(tuple(pairs), rows, tuple(j for j in range(n) if j not in dependent))


def close_followers(
    found: Followers, K: np.ndarray, entries: Sequence[Sequence[int]], phi: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    """The least step (n), in units (n), that closes gaps phi (m) of constant rows K (m, n), without a core."""
    chosen = {j: c for c, j in enumerate(found.core_columns)}
    columns = np.zeros(
        (K.shape[1], len(chosen) + 1)
    )  # velocities per unit velocity of the core, and the step that closes
    for j, c in chosen.items():
        columns[j, c] = 1.0
    for i, j in reversed(found.pairs):
        others = [k for k in entries[i] if k != j]
        columns[j] = -(K[i, others] @ columns[others]) / K[i, j]
        columns[j, -1] -= phi[i] / K[i, j]
    free, step = columns[:, :-1] / unit[:, None], columns[:, -1] / unit
    return unit * (step - free @ least_squares(free, step))
