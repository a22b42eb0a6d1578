"""Results that come from the same chunks, treated together: one task per chunk; and objects sent to other
processes, pickled by content and unpickled there once.

Apart they are tasks of their own after that of the chunk. A worker of a cluster then begins its next chunk before it
receives them, and while they wait the scheduler considers it busy and assigns the remaining chunks to others.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from typing import Any
from uuid import uuid4

import numpy as np

from ..errors import ArgumentError, require_library

_ATTRIBUTE = "_fourbar_origin"  # of dask arrays


@dataclass(frozen=True)
class Origin:
    """Where an array of results comes from: it is result `k` of the tuples that the chunks of `packed` hold.

    Its axes of samples, `leading` of them, come after `before` others; the chunks of `packed` have them first.
    """

    packed: Any
    k: int
    before: int
    leading: int


def with_origin(x: Any, origin: Origin) -> Any:
    """A dask array that knows its origin. Arrays computed from it do not."""
    setattr(x, _ATTRIBUTE, origin)
    return x


class Bundle:
    """Arrays of results of one call, or a single array of any origin."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.arrays = tuple(arrays)
        if len(arrays) == 1:
            self._source, self._ks = arrays[0], None
            self._firsts, self._count = (0,), arrays[0].ndim
        else:
            origins = [getattr(x, _ATTRIBUTE) for x in arrays]
            self._source, self._ks = origins[0].packed, tuple(own.k for own in origins)
            self._firsts, self._count = tuple(own.before for own in origins), origins[0].leading
        sizes = self.arrays[0].chunks[self._firsts[0] :][: self._count]  # the same of all of them
        self._starts = [list(accumulate(own, initial=0)) for own in sizes]

    def values(self) -> Any:
        """A dask array whose blocks hold the values of a chunk: those of the array, or a tuple of those of several."""
        da = require_library("dask.array", "dask")

        if self._ks is None:
            return self._source
        meta = np.empty((0,) * self._source.ndim, object)
        return da.map_blocks(SelectedResults(self._ks), self._source, dtype=object, meta=meta)

    def store(self, targets: Sequence[Any]) -> Any:
        """A dask array that writes the chunks into other arrays; its blocks are True when done."""
        da = require_library("dask.array", "dask")

        storing = Storing(self._ks, targets, self._firsts, self._count)
        chunks = tuple((1,) * len(own) for own in self._source.chunks)
        meta = np.empty((0,) * self._source.ndim, bool)
        return da.map_blocks(storing, self._source, chunks=chunks, dtype=bool, meta=meta)

    def pieces(self, block: Sequence[int], values: Any) -> list[tuple[tuple[slice, ...], Any]]:
        """Where in each array the values of a block of `values` belong, and these values."""
        own = [slice(x[i], x[i + 1]) for x, i in zip(self._starts, block, strict=False)]
        each = (values,) if self._ks is None else values
        return [((slice(None),) * first + tuple(own), x) for first, x in zip(self._firsts, each, strict=True)]


class SelectedResults:
    """Selects some of the results of a chunk."""

    __name__ = "select"  # in the names of tasks

    def __init__(self, ks: tuple[int, ...]) -> None:
        self._ks = ks

    def __call__(self, packed: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(packed[k] for k in self._ks)


class Storing:
    """Writes results of a chunk to their places."""

    __name__ = "store"

    def __init__(self, ks: tuple[int, ...] | None, targets: Sequence[Any], firsts: Sequence[int], count: int) -> None:
        self._ks, self._targets, self._firsts, self._count = ks, tuple(targets), tuple(firsts), count

    def __call__(self, block: Any, block_info: Mapping[Any, Any] | None = None) -> np.ndarray:
        if block_info is None:
            raise TypeError("Storing is called by dask, which passes the place of a block")
        location = block_info[0]["array-location"]
        own = tuple(slice(first, end) for first, end in location[: self._count])
        values = (block,) if self._ks is None else [block[k] for k in self._ks]
        for target, first, x in zip(self._targets, self._firsts, values, strict=True):
            target[(slice(None),) * first + own] = x
        return np.ones((1,) * len(location), bool)

    def __dask_tokenize__(self) -> str:
        return uuid4().hex  # what is asked for again is written again


def group_by_origin(arrays: Sequence[Any]) -> list[list[int]]:
    """The numbers of the arrays, grouped by the chunks that they come from."""
    groups: dict[Any, list[int]] = {}
    for i, x in enumerate(arrays):
        origin = getattr(x, _ATTRIBUTE, None)
        groups.setdefault(i if origin is None else origin.packed.name, []).append(i)
    return list(groups.values())


class Sent:
    """Something as bytes. `once` is the same object for all chunks of a process, `anew` is a copy of its own.

    A process that has read the bytes keeps what they are, so that a robot is built, traced and loaded once however many
    chunks it computes. Its name in the graph of dask is its content.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content

    @classmethod
    def of(cls, what: str, x: Any) -> Sent:
        """The payload of an object; an error that calls it `what` if it cannot be pickled."""
        cloudpickle = require_library("cloudpickle", "dask", "sending functions to other processes")
        try:
            return cls(cloudpickle.dumps(x, protocol=pickle.HIGHEST_PROTOCOL))
        except Exception as error:
            raise ArgumentError(
                f"{what} cannot be pickled, which dask needs to send it to other processes: {x!r}: {error}. "
                "Leave out objects that belong to this process (open files, locks, generators, connections)"
            ) from error

    @property
    def once(self) -> Any:
        """The object, shared by all chunks of this process."""
        return _read(self.content)

    @property
    def anew(self) -> Any:
        """A fresh copy, for objects that keep state."""
        return pickle.loads(self.content)

    def __dask_tokenize__(self) -> str:
        return sha256(self.content).hexdigest()


@lru_cache(maxsize=32)
def _read(content: bytes) -> Any:
    return pickle.loads(content)


def compute_on_one_thread() -> None:
    """In a worker process of dask.distributed, whose machine is shared by others: chunks are what runs in parallel.

    FOURBAR_THREADS is left alone if it is set. Nothing happens in the process of a user, in which there
    may be workers too.
    """
    if "FOURBAR_THREADS" in os.environ or "distributed.worker" not in sys.modules:
        return
    from multiprocessing import parent_process

    if parent_process() is not None:
        os.environ["FOURBAR_THREADS"] = "1"
