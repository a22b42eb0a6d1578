"""Changes of numbers that loops cannot follow: those that would open them, or take a freedom from the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..linalg import lengths, null_space, transpose
from ..tolerances import OPENING
from ..tree.parameter_changes import opening_rates
from ..tree.parameters import Parameter
from ..tree.sampling import cluster_random
from .context import Model

_SAMPLES = 4
_ROUNDING = 1e-14  # of entries of a projection
_SYMMETRIC = 1e-9  # how far entries may be from those across, beside the largest


def read_rate(number: Parameter, rate: Any) -> np.ndarray | None:
    """A rate as an array (..., *shape); None if it is no array of numbers of that shape, which a call says better."""
    try:
        array = np.asarray(rate, float)
    except (TypeError, ValueError, OverflowError):
        return None
    core = len(number.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != number.shape:
        return None
    if number.is_symmetric and not _is_symmetric(array):
        raise ArgumentError(f"the rate of parameter {number.name!r} must be a symmetric matrix, got {array.tolist()}")
    return array


def _is_symmetric(M: np.ndarray) -> bool:
    """Whether matrices (..., n, n) are, up to rounding of their largest entries."""
    largest = np.abs(M).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return bool(np.all(np.abs(M - np.swapaxes(M, -1, -2)) <= _SYMMETRIC * largest))


@dataclass(frozen=True)
class IncompatibleChange:
    """The rates at which rows of the loops of one link open (rows, entries of all changes)."""

    loops: tuple[str, ...]
    which: tuple[Parameter, ...]
    opening: np.ndarray

    def check(self, rates: Mapping[str, np.ndarray | None]) -> None:
        """Refuse rates along which the loops open, whatever the rates of other numbers or in other samples are."""
        total: Any = 0.0
        size: Any = 0.0  # what total could be for rates of the numbers as large as their largest entries
        first = 0
        for number in self.which:
            opening = self.opening[:, first : first + number.size].T
            first += number.size
            rate = rates[number.name]
            if rate is None:
                return
            flat = rate.reshape(*rate.shape[: rate.ndim - len(number.shape)], number.size)
            largest = np.abs(flat).max(axis=-1, keepdims=True)
            total, size = total + flat @ opening, size + largest * np.abs(opening).sum(axis=0)
        opened = np.abs(total) > OPENING * size
        if np.any(opened):
            gap = np.abs(total)[opened].max()
            names = ", ".join(repr(x.name) for x in self.which)
            raise ArgumentError(
                f"loop {', '.join(map(repr, self.loops))} would not stay closed in all its configurations if {names} "
                f"changed like this (a gap opens with rate {gap:.3g}), so that there is no derivative; change "
                "other numbers with them, or close the loop by a joint that holds less"
            )


def incompatible_changes(model: Model, which: tuple[Parameter, ...]) -> list[IncompatibleChange]:
    """Changes of numbers of a model that its loops cannot follow, by link."""
    changes = []
    rng = np.random.default_rng(0)
    for cluster in model.cluster_tree.clusters:
        tie = cluster.tie
        if tie is None:
            continue
        samples = cluster_random(model.cluster_tree, cluster, rng, (_SAMPLES,)).tolist()
        q = np.array([tie.coordinates(x) for x in samples], float)
        opening = np.concatenate(opening_rates(model.mechanism, model.cluster_tree, cluster, which, q))
        if np.any(opening):
            changes.append(IncompatibleChange(cluster.loops, which, opening))
    return changes


Sparse = tuple[tuple[tuple[int, float], ...], ...]  # the rows of a matrix, as places and entries that are not zero


def allowed_projection(model: Model, which: tuple[Parameter, ...]) -> Sparse:
    """The projection of rates of numbers, entries one after the other, on those that are allowed: matrices stay
    symmetric, and loops closed. A gradient is given within these, where alone it means something."""
    projection, at = [{k: 1.0} for k in range(sum(x.size for x in which))], 0
    for parameter in which:
        if parameter.is_symmetric:
            n = parameter.shape[0]
            for i, j in combinations(range(n), 2):
                projection[at + n * i + j] = projection[at + n * j + i] = {at + n * i + j: 0.5, at + n * j + i: 0.5}
        at += parameter.size
    opening = [x.opening for x in incompatible_changes(model, which)]
    if opening:
        rows = np.concatenate(opening)
        (held,) = np.nonzero(np.any(rows, axis=0))
        free = null_space(rows[:, held] / lengths(transpose(rows[:, held]))[:, None])
        P = free @ free.T
        for i, row in zip(held.tolist(), P, strict=True):
            projection[i] = {j: x for j, x in zip(held.tolist(), row.tolist(), strict=True) if abs(x) > _ROUNDING}
    return tuple(tuple(row.items()) for row in projection)
