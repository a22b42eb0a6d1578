"""Compute lazy results into memory, or chunk by chunk into a Zarr folder, with dask's progress bars.

Results of a cluster are fetched chunk by chunk as they are ready: no worker has to hold a whole array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from ..arrays import is_lazy
from ..errors import ArgumentError, require_library
from .bundles import Bundle, group_by_origin


def fetch(results: tuple[Any, ...], progress: bool) -> tuple[Any, ...]:
    """Compute lazy results, which may lie in containers, on the cluster of the current client.

    Dask itself puts an array together in one of the workers, which need not have the memory for it, and then sends it.
    """
    dask = require_library("dask", "dask")
    distributed = require_library("distributed", "dask")

    collections, rebuilt = dask.base.unpack_collections(*results)
    others = [i for i, x in enumerate(collections) if not _is_plain(x)]
    plain = [i for i in range(len(collections)) if i not in others]
    groups = [[plain[i] for i in own] for own in group_by_origin([collections[i] for i in plain])]
    bundles = [Bundle([collections[i] for i in own]) for own in groups]
    running = dask.persist(*(x.values() for x in bundles), *(collections[i] for i in others))
    if progress:
        distributed.progress(running, notebook=False)
        print()
    begun = [distributed.futures_of(x) for x in running[: len(bundles)]]
    running = running[len(bundles) :]  # what is fetched shall not be held
    results_by_number = dict(zip(others, dask.compute(*running), strict=True))
    for numbers, arrays in zip(groups, _assemble(bundles, begun), strict=True):
        results_by_number.update(zip(numbers, arrays, strict=True))
    return rebuilt([results_by_number[i] for i in range(len(collections))])


def _is_plain(x: Any) -> bool:
    """Whether it is a dask array of NumPy arrays of known sizes."""
    if not is_lazy(x) or any(n != n for n in x.shape):
        return False
    return type(require_library("dask.array.utils", "dask").meta_from_array(x)) is np.ndarray


def _assemble(bundles: list[Bundle], begun: list[list[Any]]) -> list[list[Any]]:
    """The arrays of each bundle, from the futures of its blocks; these are let go as soon as they are here."""
    distributed = require_library("distributed", "dask")

    arrays = [[np.empty(x.shape, x.dtype) for x in bundle.arrays] for bundle in bundles]
    bundle_of = {future.key: n for n, own in enumerate(begun) for future in own}
    blocks = distributed.as_completed([future for own in begun for future in own], with_results=True)
    begun.clear()
    try:
        for future, values in blocks:
            n = bundle_of[future.key]
            pieces = bundles[n].pieces(future.key[1:], values)
            for k, (place, piece) in enumerate(pieces):
                arrays[n][k] = _fill(arrays[n][k], place, piece)
    finally:
        blocks.clear()  # after an error the rest is given up
    return arrays


def _fill(whole: Any, place: tuple[slice, ...], piece: Any) -> Any:
    """An array with a piece of it put in its place."""
    if not whole.ndim:
        return piece
    if whole[place].shape != np.shape(piece):
        raise ArgumentError(
            f"compute: a chunk has shape {np.shape(piece)}, but its dask array declares {whole[place].shape}; correct "
            "the chunks= of the map_blocks or blockwise that made it"
        )
    if whole.dtype != piece.dtype:  # other than the array says
        whole = whole.astype(np.result_type(whole, piece))
    whole[place] = piece
    return whole


def compute(*results: Any, progress: bool = False) -> Any:
    """Compute lazy results together, as NumPy arrays.

    Parameters
    ----------
    *results : dask.array.Array, or dataclasses, tuples and dictionaries of these
        What is to be computed, such as what `rollout` returns for dask arrays. Chunks that several of them need are
        computed once.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    ndarray, or the same dataclass, tuple or dictionary with ndarrays
        A tuple of these where several were given.

    See Also
    --------
    write : Where all of it would not fit in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> import fourbar as fb
    >>> import fourbar.dask
    >>> runs = fb.rollout(fb.robots.double_pendulum(), da.zeros((100, 2), chunks=(50, 2)), dt=0.01, steps=10)
    >>> fb.dask.compute(runs).q.shape
    (11, 100, 2)
    """
    found = _compute_together(results, progress)
    return found[0] if len(results) == 1 else found


def write(path: str | PathLike[str], results: Any, *, progress: bool = False, overwrite: bool = False) -> Any:
    """Compute lazy results and write them into a Zarr folder, chunk by chunk: no process holds more than some chunks.

    Parameters
    ----------
    path : str or path
        The folder, which all machines reach by this name, or an address that Zarr knows (needs the extra `zarr`).
    results : dask.array.Array, or a dataclass, tuple or dictionary of arrays
        The results to compute, such as those of `rollout` for dask arrays. Arrays in memory and text are written too,
        the robot of a motion is not.
    progress : bool, default False
        Show a bar.
    overwrite : bool, default False
        Replace an existing Zarr group. Without it an existing folder is an error; a folder that holds anything else
        always is.

    Returns
    -------
    zarr.Group
        The arrays by name, those of a dataclass within another as in "contacts/force".

    Raises
    ------
    ArgumentError
        If there is nothing to write, the chunks are not regular, or the folder exists.

    Examples
    --------
    >>> import tempfile
    >>> import dask.array as da
    >>> import fourbar as fb
    >>> import fourbar.dask
    >>> runs = fb.rollout(fb.robots.double_pendulum(), da.zeros((100, 2), chunks=(50, 2)), dt=0.01, steps=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = fb.dask.write(folder + "/runs.zarr", runs)
    ...     kept["q"].shape, kept["q"].chunks
    ((11, 100, 2), (11, 50, 2))
    """
    zarr = require_library("zarr", "zarr", "fourbar.dask.write")
    require_library("dask.array", "dask", "fourbar.dask")
    leaves = dict(_leaves("", results))
    chunks = {name: _regular(name, x) for name, x in leaves.items() if is_lazy(x)}
    if not chunks:
        raise ArgumentError(f"write: expected dask arrays, or a dataclass or dictionary of such, got {results!r:.200}")
    group = _open_group(zarr, fspath(path), overwrite)
    lazy, targets = [], []
    for name, leaf in leaves.items():
        if isinstance(leaf, np.ndarray):
            group.create_array(name, data=leaf)
        elif is_lazy(leaf):
            lazy.append(leaf)
            targets.append(group.create_array(name, shape=leaf.shape, chunks=chunks[name], dtype=leaf.dtype))
        else:
            group.attrs[name] = list(leaf)
    stored = [Bundle([lazy[i] for i in own]).store([targets[i] for i in own]) for own in group_by_origin(lazy)]
    _compute_together((stored,), progress)
    return group


def _leaves(prefix: str, results: Any) -> Iterator[tuple[str, Any]]:
    """The arrays, and tuples of words, of a result by name."""
    if (
        is_lazy(results)
        or isinstance(results, np.ndarray)
        or (isinstance(results, tuple) and results and all(isinstance(x, str) for x in results))
    ):
        yield prefix or "result", results
    else:
        for name, x in _parts(prefix, results):
            yield from _leaves(f"{prefix}/{name}" if prefix else name, x)


def _parts(where: str, results: Any) -> list[tuple[str, Any]]:
    if is_dataclass(results) and not isinstance(results, type):
        values = ((own.name, getattr(results, own.name)) for own in fields(results))
        return [(name, x) for name, x in values if _holds_arrays(x)]  # not the robot that a motion is of
    if isinstance(results, Mapping):
        return [(str(name), x) for name, x in results.items()]
    if isinstance(results, tuple | list):
        return [(str(k), x) for k, x in enumerate(results)]
    what = f"write: {where or 'results'}"
    raise ArgumentError(
        f"{what}: expected dask or NumPy arrays, dataclasses, dictionaries or tuples, got {results!r:.200}"
    )


def _holds_arrays(x: Any) -> bool:
    return is_lazy(x) or isinstance(x, np.ndarray | Mapping | tuple | list) or is_dataclass(x)


def _open_group(zarr: Any, path: str, overwrite: bool) -> Any:
    """A new group, replacing another one if allowed; Zarr itself would delete anything there."""
    try:
        return zarr.open_group(path, mode="w" if overwrite and _is_group(zarr, path) else "w-")
    except FileExistsError:
        if overwrite:
            raise ArgumentError(
                f"write: {path} exists and is not a Zarr group, so overwrite=True would delete something else; choose "
                "another name, or delete it yourself"
            ) from None
        raise ArgumentError(f"write: {path} exists; choose another name, or give overwrite=True") from None


def _is_group(zarr: Any, path: str) -> bool:
    try:
        zarr.open_group(path, mode="r")
    except (OSError, KeyError, ValueError):  # nothing is there, or something else
        return False
    return True


def _regular(name: str, x: Any) -> tuple[int, ...]:
    """The size of the chunks, of which only the last ones along each axis may be smaller."""
    if any(n != n for n in x.shape):
        what = f"write: {name} has chunks of unknown size, shape {x.shape}"
        raise ArgumentError(f"{what}; call its compute_chunk_sizes() first")
    for axis, sizes in enumerate(x.chunks):
        if any(n != sizes[0] for n in sizes[:-1]) or sizes[-1] > sizes[0]:
            raise ArgumentError(
                f"write: {name} has chunks of different sizes along axis {axis}, {sizes[:4]}...: Zarr needs "
                f"equal ones; give rechunk({{{axis}: {sizes[0]}}}) to the arrays from which it is computed"
            )
    return tuple(max(1, own[0]) for own in x.chunks)


def _compute_together(results: tuple[Any, ...], progress: bool) -> tuple[Any, ...]:
    """Compute all results in one call, by the scheduler that dask would choose."""
    dask = require_library("dask", "dask", "fourbar.dask")
    require_library("dask.array", "dask", "fourbar.dask")
    if getattr(dask.base.get_scheduler(), "__self__", None) is not None:  # the method of a client
        return fetch(results, progress)
    if not progress:
        return dask.compute(*results)
    with require_library("dask.diagnostics", "dask").ProgressBar():
        return dask.compute(*results)
