"""Changes of numbers that loops cannot follow: those that would open them, or take a freedom from the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model.changes import stray
from ..model.embedding import Tied
from ..model.numbers import Number
from .clusters import group_random
from .context import Model

_SAMPLES = 4
_OPENING = 1e-9  # of a unit change; what is less is rounding


def read_rate(number: Number, rate: Any) -> np.ndarray | None:
    """A rate as an array (..., *shape); None if it is no array of numbers of that shape, which a call says better."""
    try:
        array = np.asarray(rate, float)
    except (TypeError, ValueError):
        return None
    core = len(number.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != number.shape:
        return None
    if number.field == "inertia" and not np.allclose(array, np.swapaxes(array, -1, -2), rtol=1e-9, atol=0.0):
        raise ArgumentError(f"the rate of parameter {number.name!r} must be a symmetric matrix, got {array.tolist()}")
    return array


@dataclass(frozen=True)
class Stray:
    """How fast rows of the loops of one cluster open (rows, entries of all changes)."""

    loops: tuple[str, ...]
    which: tuple[Number, ...]
    opening: np.ndarray

    def check(self, rates: Mapping[str, np.ndarray | None]) -> None:
        """Refuse rates along which the loops open."""
        total: Any = 0.0
        first = 0
        for number in self.which:
            own = self.opening[:, first : first + number.size]
            first += number.size
            rate = rates[number.name]
            if rate is None:
                return
            total = total + rate.reshape(*rate.shape[: rate.ndim - len(number.shape)], number.size) @ own.T
        largest = float(np.abs(total).max(initial=0.0))
        size = max(float(np.abs(r).max(initial=0.0)) for r in rates.values() if r is not None)
        if largest > _OPENING * size:
            names = ", ".join(repr(x.name) for x in self.which)
            raise ArgumentError(
                f"loop {', '.join(map(repr, self.loops))} would not stay closed in all its configurations if {names} "
                f"changed like this (a gap opens with rate {largest:.3g}), so that there is no derivative; change "
                "other numbers with them, or close the loop by a joint that holds less"
            )


def strays(model: Model, which: tuple[Number, ...]) -> list[Stray]:
    """What the loops of a model cannot follow of changes of its numbers, by cluster."""
    found = []
    rng = np.random.default_rng(0)
    for group in model.lowered.groups:
        tie = group.embedding
        if not isinstance(tie, Tied):
            continue
        samples = group_random(model.lowered, group, rng, (_SAMPLES,)).tolist()
        q = np.array([tie.coordinates(x) for x in samples], float)
        opening = np.concatenate(stray(model.mechanism, group, which, q))
        if np.abs(opening).max(initial=0.0) > _OPENING:
            found.append(Stray(group.loops, which, opening))
    return found
