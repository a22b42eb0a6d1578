"""Objects sent to other processes: pickled by content, and unpickled there once."""

from __future__ import annotations

import os
import pickle
import sys
from functools import lru_cache
from hashlib import sha256
from typing import Any

from ..errors import ArgumentError, require_library


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
