"""Evidence from dask arrays: each chunk where its data are, merged on the way."""

from __future__ import annotations

from typing import Any

from ..chunks.lazy_results import compute
from ..chunks.payloads import Sent, compute_on_one_thread
from ..errors import ArgumentError, needed
from .data import Chunks, Reader, UnreadChunk
from .equation_rows import RowMaker
from .evidence import FAN, Evidence, checked, evidence_of, merged


class Work:
    """The work on a part: it is read, and turned into evidence."""

    def __init__(self, equations: RowMaker, read: Reader, width: int) -> None:
        self._equations, self._read, self._width = equations, read, width

    def __call__(self, part: UnreadChunk) -> Evidence:
        return evidence_of(self._equations, self._read(part), self._width)


def _evidence(sent: Sent, names: tuple[str, ...], where: str, first: int, *arrays: Any) -> Evidence:
    """The evidence of a part whose arrays have been computed."""
    compute_on_one_thread()
    return sent.once(UnreadChunk(dict(zip(names, arrays, strict=True)), where, first))


def _merged(*parts: Evidence) -> Evidence:
    return merged(parts)


def gather_lazily(equations: RowMaker, chunks: Chunks, width: int, progress: Any = None) -> Evidence:
    """The evidence of all data, computed in parallel; with the same bits as one chunk after the other."""
    delayed = needed("dask.delayed", "dask").delayed
    if progress not in (None, True, False):
        raise ArgumentError(f"progress={progress!r}: with dask arrays expected True, for a bar of dask, or None")
    work = Work(equations, chunks.read, width)
    sent = Sent.of("identify: the robot", work)
    one, merge = delayed(_evidence, pure=True), delayed(_merged, pure=True)
    found = [one(sent, tuple(part.arrays), part.where, part.first, *part.arrays.values()) for part in chunks.parts()]
    while len(found) > 1:
        found = [merge(*found[k : k + FAN]) if len(found) - k > 1 else found[k] for k in range(0, len(found), FAN)]
    return checked(compute(found[0], progress=bool(progress)) if found else None)
