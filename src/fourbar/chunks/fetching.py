"""Results of a cluster, fetched chunk by chunk as they are ready: no worker has to hold an array as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import is_lazy
from ..errors import ArgumentError, needed
from .bundles import Bundle, bundled


def fetched(results: tuple[Any, ...], progress: bool) -> tuple[Any, ...]:
    """Lazy results, which may lie in containers, computed by the cluster whose client there is.

    Dask itself puts an array together in one of the workers, which need not have the memory for it, and then sends it.
    """
    dask = needed("dask", "dask")
    distributed = needed("distributed", "dask")

    collections, rebuilt = dask.base.unpack_collections(*results)
    others = [i for i, x in enumerate(collections) if not _is_plain(x)]
    plain = [i for i in range(len(collections)) if i not in others]
    groups = [[plain[i] for i in own] for own in bundled([collections[i] for i in plain])]
    bundles = [Bundle([collections[i] for i in own]) for own in groups]
    running = dask.persist(*(x.kept() for x in bundles), *(collections[i] for i in others))
    if progress:
        distributed.progress(running, notebook=False)
        print()
    begun = [distributed.futures_of(x) for x in running[: len(bundles)]]
    running = running[len(bundles) :]  # what is fetched shall not be held
    found = dict(zip(others, dask.compute(*running), strict=True))
    for own, arrays in zip(groups, _assembled(bundles, begun), strict=True):
        found.update(zip(own, arrays, strict=True))
    return rebuilt([found[i] for i in range(len(collections))])


def _is_plain(x: Any) -> bool:
    """Whether it is a dask array of NumPy arrays of known sizes."""
    if not is_lazy(x) or any(n != n for n in x.shape):
        return False
    return type(needed("dask.array.utils", "dask").meta_from_array(x)) is np.ndarray


def _assembled(bundles: list[Bundle], begun: list[list[Any]]) -> list[list[Any]]:
    """The arrays of each bundle, from the futures of its blocks; these are let go as soon as they are here."""
    distributed = needed("distributed", "dask")

    found = [[np.empty(x.shape, x.dtype) for x in bundle.arrays] for bundle in bundles]
    bundle_of = {future.key: n for n, own in enumerate(begun) for future in own}
    blocks = distributed.as_completed([future for own in begun for future in own], with_results=True)
    begun.clear()
    try:
        for future, values in blocks:
            n = bundle_of[future.key]
            pieces = bundles[n].pieces(future.key[1:], values)
            for k, (place, piece) in enumerate(pieces):
                found[n][k] = _filled(found[n][k], place, piece)
    finally:
        blocks.clear()  # after an error the rest is given up
    return found


def _filled(whole: Any, place: tuple[slice, ...], piece: Any) -> Any:
    """An array with a piece of it put in its place."""
    if not whole.ndim:
        return piece
    if whole[place].shape != np.shape(piece):
        raise ArgumentError(
            f"compute: a chunk has shape {np.shape(piece)}, where its dask array says {whole[place].shape}; correct "
            "the chunks= of the map_blocks or blockwise that it comes from"
        )
    if whole.dtype != piece.dtype:  # other than the array says
        whole = whole.astype(np.result_type(whole, piece))
    whole[place] = piece
    return whole
