"""Functions of samples on dask arrays: the call becomes part of their graph, and runs chunk by chunk.

Errors name the failing sample by its index in the whole array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..arrays import Argument, batch_shape, is_lazy, to_array, wrong_core
from ..errors import ArgumentError, require_library
from .bundles import Origin, Sent, compute_on_one_thread, with_origin

Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], tuple[Any, ...]]
_OF_THE_MACHINE = (MemoryError, OSError)  # which are no fault of the samples


class ChunkRange:
    """A chunk: the numbers of its samples along each leading axis of the whole."""

    def __init__(self, axes: Sequence[np.ndarray]) -> None:
        self._axes = axes
        self.shape = tuple(map(len, axes))

    def sample(self, number: int) -> str:
        """The index in the whole array of a sample of the chunk, by its flat number."""
        where = [int(own[k]) for own, k in zip(self._axes, np.unravel_index(number, self.shape), strict=True)]
        return str(where[0]) if len(where) == 1 else str(tuple(where))

    def __str__(self) -> str:
        first, last = self.sample(0), self.sample(prod(self.shape) - 1)
        return f"sample {first}" if first == last else f"samples {first} to {last}"


def run_here(name: str, run: Run, arrays: Arrays, cores: Mapping[str, int], place: ChunkRange) -> tuple[Any, ...]:
    """The results of a chunk; errors name the sample of the whole array that caused them."""
    try:
        return run(arrays)
    except KeyboardInterrupt as error:
        error.add_note(f"{name}: in {place} of the whole array; states attached to this error are those of this chunk")
        raise
    except Exception as error:
        if prod(place.shape) == 0 or not place.shape:
            raise
        failure, which = _first_failure(run, arrays, cores, place, error)
        where = f"{name}: in {place} of the whole array"
        if which is not None:
            where = f"{name}: in sample {place.sample(which)} of the whole array (its chunk: {place})"
        raise _with_place(failure, where) from None


def _first_failure(
    run: Run, arrays: Arrays, cores: Mapping[str, int], place: ChunkRange, error: Exception
) -> tuple[Exception, int | None]:
    """The first sample that fails on its own, and its error; found by bisection, in about the time of a chunk."""
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


def _with_place(error: Exception, where: str) -> Exception:
    """The error with the place where it arose in its message."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]} [{where}]",)
    else:
        error.add_note(where)
    return error


@dataclass(frozen=True)
class Result:
    """A result by name: an array (*before, ..., *shape) for samples (...)."""

    name: str
    shape: tuple[int, ...]
    dtype: Any = float
    before: tuple[int, ...] = ()


class Job:
    """The task of a chunk: `sent` is, or holds, a function of arrays by name that returns a tuple of arrays.

    The arrays come after the numbers of the samples along each leading axis.
    """

    def __init__(self, name: str, sent: Sent, cores: Mapping[str, int], local: Callable[..., Any] | None) -> None:
        self.name, self._sent, self._cores = name, sent, dict(cores)
        self._local = local

    def __call__(self, *blocks: np.ndarray) -> tuple[Any, ...]:
        compute_on_one_thread()
        run = self._sent.once if self._local is None else self._local
        at = len(blocks) - len(self._cores)
        arrays = dict(zip(self._cores, blocks[at:], strict=True))
        return run_here(self.name, run, arrays, self._cores, ChunkRange(blocks[:at]))

    def __reduce__(self) -> tuple[Any, ...]:
        return Job, (self.name, self._sent, self._cores, None)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return self.name, self._sent.__dask_tokenize__(), tuple(self._cores)


def apply(
    name: str,
    run: Callable[[Mapping[str, np.ndarray]], tuple[Any, ...]],
    given: Mapping[str, Any],
    arguments: Sequence[Argument],
    results: Sequence[Result],
    *,
    sent: Sent | None = None,
    local: bool = False,
) -> tuple[Any, ...]:
    """Results of a function of samples as dask arrays, chunked as the arguments are along their leading axes.

    `run` takes NumPy arrays by name, with some of the samples in any leading axes, and returns all results. It travels
    as `sent` (pickled here if None); `local`: in this process `run` itself is called, not a copy of it.
    """
    arrays = [_lazy_array(name, a, given[a.name]) for a in arguments]
    return apply_to(name, run, arrays, arguments, results, sent=sent, local=local)


def apply_to(
    name: str,
    run: Callable[[Mapping[str, np.ndarray]], tuple[Any, ...]],
    arrays: Sequence[Any],
    arguments: Sequence[Argument],
    results: Sequence[Result],
    *,
    sent: Sent | None = None,
    local: bool = False,
) -> tuple[Any, ...]:
    """As `apply`, for dask arrays of any dtype that have the core shapes of the arguments."""
    da = require_library("dask.array", "dask")

    leading = batch_shape(name, arguments, arrays)
    pairs, chunks = _align(arguments, arrays, len(leading))
    cores = {a.name: len(a.shape) for a in arguments}
    job = Job(name, Sent.of(name, run) if sent is None else sent, cores, run if local else None)
    numbers = [(_numbers(own), (axis,)) for axis, own in enumerate(chunks)]
    # All axes stay, those of one sample too, which are in one piece: only then does dask make what computes the
    # arguments part of the same task, which goes to whoever is free. Otherwise a chunk waits for where these lie.
    every = tuple(range(len(leading) + sum(cores.values())))
    packed = da.blockwise(
        job, every, *_flat(numbers), *_flat(pairs), name=None, token=name, dtype=object, align_arrays=False,
        meta=np.empty((0,) * len(every), object),
    )  # fmt: skip
    return tuple(_part(name, packed, len(leading), k, result) for k, result in enumerate(results))


def _numbers(own: tuple[int, ...]) -> Any:
    """The numbers of samples along an axis; unlike `dask.array.arange`, dask fuses them with their users."""
    da = require_library("dask.array", "dask")

    return da.map_blocks(samples, chunks=(own,), dtype=int, meta=np.empty(0, int))


def samples(block_info: Any = None) -> np.ndarray:
    """The numbers of the samples of one chunk."""
    return np.arange(*block_info[None]["array-location"][0])


def _part(name: str, packed: Any, leading: int, k: int, result: Result) -> Any:
    """One of the results that chunks hold together."""
    da = require_library("dask.array", "dask")

    n = packed.ndim
    before = tuple(range(n, n + len(result.before)))
    after = tuple(range(n + len(before), n + len(before) + len(result.shape)))
    sizes = dict(zip((*before, *after), (*result.before, *result.shape), strict=True))
    index = (*before, *range(leading), *after)
    part = da.blockwise(
        _item, index, packed, tuple(range(n)), k, None, token=f"{name}-{result.name}", new_axes=sizes,
        dtype=result.dtype, meta=np.empty((0,) * len(index), result.dtype),
    )  # fmt: skip
    return with_origin(part, Origin(packed, k, len(before), leading))


def _item(packed: Any, k: int) -> Any:
    while isinstance(packed, list):  # of one piece along an axis of one sample
        (packed,) = packed
    return packed[k]


def _flat(pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    return [x for pair in pairs for x in pair]


def _lazy_array(name: str, argument: Argument, value: Any) -> Any:
    """An argument as a dask array of float64 with the right core shape, in one chunk along its core axes."""
    da = require_library("dask.array", "dask")

    if not is_lazy(value):
        value = da.from_array(to_array(name, argument, value), chunks=-1)
    if value.dtype.kind not in "fiub":
        raise ArgumentError(f"{name}: {argument.name} must hold real numbers, got an array of dtype {value.dtype}")
    core = len(argument.shape)
    if value.ndim < core or value.shape[value.ndim - core :] != argument.shape:
        raise wrong_core(name, argument, value.shape)
    if any(np.isnan(n) for n in value.shape):
        raise ArgumentError(
            f"{name}: {argument.name} has chunks of unknown size, shape {value.shape}; "
            f"call {argument.name}.compute_chunk_sizes() first"
        )
    whole = dict.fromkeys(range(value.ndim - core, value.ndim), -1)
    return value.astype(float).rechunk(whole) if core else value.astype(float)


def _align(
    arguments: Sequence[Argument], arrays: Sequence[Any], leading: int
) -> tuple[list[tuple[Any, tuple[int, ...]]], list[tuple[int, ...]]]:
    """The arrays with the same chunks along common leading axes, each with its axes by number; and these chunks."""
    core = require_library("dask.array.core", "dask")

    indices, count = [], leading
    for argument, x in zip(arguments, arrays, strict=True):
        inner = len(argument.shape)
        own = x.ndim - inner
        indices.append((*range(leading - own, leading), *range(count, count + inner)))
        count += inner
    chunks, aligned = core.unify_chunks(*_flat(list(zip(arrays, indices, strict=True))))
    return list(zip(aligned, indices, strict=True)), [tuple(map(int, chunks[axis])) for axis in range(leading)]
