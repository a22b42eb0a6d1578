"""The structure of a problem of drives and constraints, found at some configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...algorithms.constrained.drives import Plan
from ...algorithms.constrained.multipliers import IndependentRows
from ...linalg import inverse_in_units, ranks, transpose
from ...tolerances import NOTHING
from .dense_solvers import choose

_NONE = IndependentRows((), ())


def make_plan(
    samples: np.ndarray, active: Sequence[int], weight: np.ndarray | None, least_torque: bool, quiet: float
) -> Plan:
    """Independent rows and velocities, from samples (s, k, n) of the rows; `quiet`: a small force."""
    k, n = samples.shape[1:]
    passive = [j for j in range(n) if j not in active]
    size = len(active) if least_torque else k
    L = np.eye(size) if weight is None else np.linalg.cholesky(weight)
    root = tuple(map(tuple, L.tolist()))
    if not least_torque:
        own = np.linalg.solve(L, samples[:, :, passive])
        held = choose(own, _typical(own))
        return Plan(tuple(active), tuple(passive), held, _NONE, _NONE, root, False, quiet, k)
    rows = choose(transpose(samples), _typical(transpose(samples)))
    C = _best(samples[:, list(rows.rows)])
    passive_C = _best(C[:, :, passive])
    held = choose(passive_C, _typical(passive_C))
    P = np.eye(len(rows.rows)) - passive_C @ inverse_in_units(passive_C)
    spare = choose(P) if len(held.rows) < len(rows.rows) else _NONE
    return Plan(tuple(active), tuple(passive), held, rows, spare, root, True, quiet, k)


def _best(samples: np.ndarray) -> np.ndarray:
    """The samples of largest rank."""
    if 0 in samples.shape:
        return samples
    found = ranks(samples / _typical(samples)[:, None])
    return samples[found == found.max()]


def _typical(samples: np.ndarray) -> np.ndarray:
    """The sizes (m) of the rows of samples (s, m, n), the largest of all samples: their units."""
    found = np.abs(samples).max(axis=(0, 2), initial=0.0)
    return np.where(found > NOTHING * found.max(initial=0.0), found, np.inf)
