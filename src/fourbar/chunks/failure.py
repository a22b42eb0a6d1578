"""The samples of a chunk that fail, by their indices in the whole array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], tuple[Any, ...]]
_OF_THE_MACHINE = (MemoryError, OSError)  # which say nothing of the samples


class ChunkRange:
    """A chunk: the numbers of its samples along each leading axis of the whole."""

    def __init__(self, axes: Sequence[np.ndarray]) -> None:
        self._axes = axes
        self.shape = tuple(map(len, axes))

    def sample(self, number: int) -> str:
        """A sample of the chunk, counted through, as it is called in the whole."""
        where = [int(own[k]) for own, k in zip(self._axes, np.unravel_index(number, self.shape), strict=True)]
        return str(where[0]) if len(where) == 1 else str(tuple(where))

    def __str__(self) -> str:
        first, last = self.sample(0), self.sample(prod(self.shape) - 1)
        return f"sample {first}" if first == last else f"samples {first} to {last}"


def run_here(name: str, run: Run, arrays: Arrays, cores: Mapping[str, int], place: ChunkRange) -> tuple[Any, ...]:
    """The results of a chunk; an error says in which sample of the whole it arises."""
    try:
        return run(arrays)
    except KeyboardInterrupt as error:
        error.add_note(f"{name}: in {place} of the whole array; states attached to this error are those of this chunk")
        raise
    except Exception as error:
        if prod(place.shape) == 0 or not place.shape:
            raise
        found, which = _first_failure(run, arrays, cores, place, error)
        where = f"{name}: in {place} of the whole array"
        if which is not None:
            where = f"{name}: in sample {place.sample(which)} of the whole array (its chunk: {place})"
        raise _named(found, where) from None


def _first_failure(
    run: Run, arrays: Arrays, cores: Mapping[str, int], place: ChunkRange, error: Exception
) -> tuple[Exception, int | None]:
    """The first sample that fails in this way on its own, and its error; found by halves, in the time of a chunk."""
    if isinstance(error, _OF_THE_MACHINE):
        return error, None
    n = prod(place.shape)
    flat = {name: _samples(x, cores[name], place.shape, n) for name, x in arrays.items()}
    first, end, _found = 0, n, error
    while end - first > 1:
        middle = (first + end) // 2
        failed = _error(run, {name: x[first:middle] for name, x in flat.items()})
        if failed is not None:
            end, _found = middle, failed
        else:
            first = middle
    last = _error(run, {name: x[first:end] for name, x in flat.items()})
    return (last, first) if last is not None and type(last) is type(error) else (error, None)


def _samples(x: np.ndarray, core: int, shape: tuple[int, ...], n: int) -> np.ndarray:
    """An array with one axis for all samples of the chunk."""
    own = x.shape[x.ndim - core :]
    return np.broadcast_to(x, (*shape, *own)).reshape(n, *own)


def _error(run: Run, arrays: Arrays) -> Exception | None:
    try:
        run(arrays)
    except Exception as error:
        return error
    return None


def _named(error: Exception, where: str) -> Exception:
    """The error with the place where it arose in its message."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]} [{where}]",)
    else:
        error.add_note(where)
    return error
