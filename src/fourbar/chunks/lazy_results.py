"""Results of lazy work: into memory, or chunk by chunk into a Zarr folder; with dask's bars of progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from ..arrays import is_lazy
from ..errors import ArgumentError, needed
from .bundles import Bundle, bundled
from .fetching import fetched


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
    found = _computed(results, progress)
    return found[0] if len(results) == 1 else found


def write(path: str | PathLike[str], results: Any, *, progress: bool = False, overwrite: bool = False) -> Any:
    """Compute lazy results and write them into a Zarr folder, chunk by chunk: no process holds more than some chunks.

    Parameters
    ----------
    path : str or path
        The folder, which all machines reach by this name, or an address that Zarr knows (needs the extra `zarr`).
    results : dask.array.Array, or a dataclass, tuple or dictionary of arrays
        What is to be computed, such as what `rollout` returns for dask arrays. Arrays in memory and text are kept too,
        the robot of a motion is not.
    progress : bool, default False
        Show a bar.
    overwrite : bool, default False
        Replace a group of Zarr that is there; otherwise a folder that exists is an error, and so is one that holds
        anything else.

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
    zarr = needed("zarr", "zarr", "fourbar.dask.write")
    needed("dask.array", "dask", "fourbar.dask")
    found = dict(_leaves("", results))
    chunks = {name: _regular(name, x) for name, x in found.items() if is_lazy(x)}
    if not chunks:
        raise ArgumentError(f"write: expected dask arrays, or a dataclass or dictionary of such, got {results!r:.200}")
    group = _opened(zarr, fspath(path), overwrite)
    lazy, targets = [], []
    for name, x in found.items():
        if isinstance(x, np.ndarray):
            group.create_array(name, data=x)
        elif is_lazy(x):
            lazy.append(x)
            targets.append(group.create_array(name, shape=x.shape, chunks=chunks[name], dtype=x.dtype))
        else:
            group.attrs[name] = list(x)
    stored = [Bundle([lazy[i] for i in own]).stored([targets[i] for i in own]) for own in bundled(lazy)]
    _computed((stored,), progress)
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


def _opened(zarr: Any, path: str, overwrite: bool) -> Any:
    """A new group, in the place of another one if that may be; Zarr itself would delete anything there."""
    try:
        return zarr.open_group(path, mode="w" if overwrite and _is_group(zarr, path) else "w-")
    except FileExistsError:
        if overwrite:
            raise ArgumentError(
                f"write: {path} exists and is no group of Zarr, so overwrite=True would delete something else; choose "
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
    for axis, own in enumerate(x.chunks):
        if any(n != own[0] for n in own[:-1]) or own[-1] > own[0]:
            raise ArgumentError(
                f"write: {name} has chunks of different sizes along axis {axis}, {own[:4]}...: Zarr needs equal ones; "
                f"give rechunk({{{axis}: {own[0]}}}) to the arrays from which it is computed"
            )
    return tuple(max(1, own[0]) for own in x.chunks)


def _computed(results: tuple[Any, ...], progress: bool) -> tuple[Any, ...]:
    """All of it, in one go, by the scheduler that dask would choose."""
    dask = needed("dask", "dask", "fourbar.dask")
    needed("dask.array", "dask", "fourbar.dask")
    if getattr(dask.base.get_scheduler(), "__self__", None) is not None:  # the method of a client
        return fetched(results, progress)
    if not progress:
        return dask.compute(*results)
    with needed("dask.diagnostics", "dask").ProgressBar():
        return dask.compute(*results)
