"""`sweep`: any function of samples, written in Python, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Argument, is_lazy, to_count
from ..errors import ArgumentError, require_library
from .apply import Result, apply_to
from .bundles import Sent

_CHUNKS = 100  # by default
_TRIED = 2  # samples


def sweep(function: Callable[..., Any], *arrays: Any, chunk: int | None = None) -> Any:
    """Apply a function to many samples, chunk by chunk: lazily, in this process or on a cluster of machines.

    Parameters
    ----------
    function : callable
        Takes as many NumPy arrays as are given here, with some of the samples along their first axis, and returns an
        array with a row per sample, or a tuple or dictionary of such. The rows must not depend on the other samples.
        It is sent to other processes by content, with the robots that it uses.
    *arrays : array_like or dask.array.Array, shape (n, ...)
        States, parameters, seeds, ...: whatever differs from sample to sample, along the first axis.
    chunk : int, optional
        Samples per chunk; if None, the chunks of the dask arrays, or else a hundred chunks.

    Returns
    -------
    dask.array.Array, or a tuple or dict of these
        What the function returns, as dask arrays (n, ...): nothing is computed yet, but for the first two samples, with
        which the function is tried.

    Raises
    ------
    ArgumentError
        If the arrays have different numbers of samples, or the function cannot be sent or returns something else.

    See Also
    --------
    compute : All of it as NumPy arrays.
    write : All of it into a Zarr folder.

    Notes
    -----
    An error in a chunk says which sample, by its number in the whole, it arises from. The functions of a robot,
    `rollout` and `identify` take dask arrays themselves.

    Examples
    --------
    >>> import numpy as np
    >>> import fourbar as fb
    >>> import fourbar.dask
    >>> swinging = fb.robots.double_pendulum().varying("lower.mass")
    >>> def acceleration(q, mass):
    ...     return swinging.forward_dynamics(q, np.zeros_like(q), np.zeros_like(q), mass)
    >>> q = np.random.default_rng(0).normal(size=(1000, 2))
    >>> lazy = fb.dask.sweep(acceleration, q, np.linspace(0.5, 2.0, 1000), chunk=250)
    >>> lazy.shape, lazy.numblocks
    ((1000, 2), (4, 1))
    >>> fb.dask.compute(lazy).shape
    (1000, 2)
    """
    require_library("dask.array", "dask", "fourbar.dask")
    if not callable(function):
        raise ArgumentError(f"sweep: expected a function of arrays first, got {function!r}")
    lazy = _read(arrays, chunk)
    tried = _flatten(_name_of(function), function(*_first(lazy)), min(_TRIED, len(lazy[0])))
    run = Swept(function, _rows(tried.leaves))
    arguments = [Argument(str(k), x.shape[1:]) for k, x in enumerate(lazy)]
    results = [Result(name, x.shape[1:], x.dtype) for name, x in tried.leaves.items()]
    found = apply_to(
        "sweep", run, lazy, arguments, results, sent=Sent.of(f"sweep: {_name_of(function)}", run), local=True
    )
    return tried.rebuilt(found)


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _read(arrays: tuple[Any, ...], chunk: int | None) -> list[Any]:
    """The arrays as dask arrays with the same chunks of samples."""
    da = require_library("dask.array", "dask")

    if not arrays:
        raise ArgumentError("sweep: give at least one array (n, ...) of samples after the function")
    if chunk is not None and to_count(chunk) is None:
        raise ArgumentError(f"sweep: chunk={chunk!r}: expected a whole number of samples, at least 1")
    shapes = [tuple(x.shape) if hasattr(x, "shape") else np.shape(x) for x in arrays]
    if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        raise ArgumentError(
            "sweep: expected arrays (n, ...) with the same number n of samples, got shapes "
            f"{', '.join(map(str, shapes))}"
        )
    n = shapes[0][0]
    if n != n:
        raise ArgumentError("sweep: an array has chunks of unknown size; call its compute_chunk_sizes() first")
    if not n:
        raise ArgumentError("sweep: there are no samples")
    along = next((x.chunks[0] for x in arrays if is_lazy(x)), -(-n // _CHUNKS)) if chunk is None else chunk
    made = [x if is_lazy(x) else da.from_array(np.asarray(x), chunks=(along, *np.shape(x)[1:])) for x in arrays]
    return [x.rechunk({0: along, **dict.fromkeys(range(1, x.ndim), -1)}) for x in made]


def _first(lazy: list[Any]) -> tuple[np.ndarray, ...]:
    """The first samples, in memory."""
    dask = require_library("dask", "dask")

    return dask.compute(*(x[:_TRIED] for x in lazy), scheduler="synchronous")


class Swept:
    """The function as chunks run it: its results must have the shapes and types of the first trial."""

    def __init__(self, function: Callable[..., Any], rows: dict[str, str]) -> None:
        self._function, self._rows = function, rows

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        given = tuple(arrays.values())
        name = _name_of(self._function)
        found = _flatten(name, self._function(*given), len(given[0])).leaves
        if _rows(found) != self._rows:
            raise ArgumentError(f"sweep: {name} returned as rows {_rows(found)}, but at first {self._rows}")
        return tuple(found.values())


def _rows(leaves: dict[str, np.ndarray]) -> dict[str, str]:
    """Shape and dtype of a row of each result."""
    return {name: f"{x.dtype} {x.shape[1:]}" for name, x in leaves.items()}


class Leaves:
    """The results of a function by name, and the function that restores their structure."""

    def __init__(self, leaves: dict[str, np.ndarray], kind: str) -> None:
        self.leaves, self._kind = leaves, kind

    def rebuilt(self, found: tuple[Any, ...]) -> Any:
        """Other arrays in the same places."""
        if self._kind == "dict":
            return dict(zip(self.leaves, found, strict=True))
        return tuple(found) if self._kind == "tuple" else found[0]


def _flatten(name: str, returned: Any, n: int) -> Leaves:
    """The arrays that a function returned for n samples."""
    if isinstance(returned, Mapping):
        kind, leaves = "dict", {str(key): np.asarray(x) for key, x in returned.items()}
    elif isinstance(returned, tuple):
        kind, leaves = "tuple", {str(k): np.asarray(x) for k, x in enumerate(returned)}
    else:
        kind, leaves = "array", {"result": np.asarray(returned)}
    for key, x in leaves.items():
        if x.dtype == object or not x.ndim or len(x) != n:
            got = f"an array of shape {x.shape}" if x.dtype != object else repr(returned)
            raise ArgumentError(
                f"sweep: {name} must return an array with a row for each of its {n} samples, or a tuple or dictionary "
                f"of such; got {got}{f' as {key!r}' if kind == 'dict' else ''}"
            )
    return Leaves(leaves, kind)
