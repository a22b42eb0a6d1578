"""Reading the arguments of a call: binding names, converting to arrays, checking shapes before any work is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np

from .errors import ArgumentError, unknown
from .hints import hint

_FLOAT = np.dtype(float)
_AT_HAND = (np.ndarray, list, tuple, float, int, np.float64)


class Argument(NamedTuple):
    """An array argument: its name, core shape, and whether it may be left out (None).

    `moves` is the shape of its tangent if it is a configuration. `rows` are the names of its rows (bodies), so
    that some rows may be given by name. An argument with a numeric default takes that value where it is left out.
    """

    name: str
    shape: tuple[int, ...]
    optional: bool = False
    moves: tuple[int, ...] | None = None
    rows: tuple[str, ...] = ()
    default: float | None = None

    @property
    def declaration(self) -> str:
        """Its name as signatures show it, with its default."""
        return f"{self.name}={self.default}" if self.optional or self.default is not None else self.name

    @property
    def is_configuration(self) -> bool:
        """Whether it moves along a group, and not by adding its tangent."""
        return self.moves is not None

    @property
    def tangent(self) -> tuple[int, ...]:
        """The shape of its tangent."""
        return self.shape if self.moves is None else self.moves

    @property
    def width(self) -> int:
        """Directions in which it can move."""
        return prod(self.tangent)


def as_signed(arguments: Iterable[Argument]) -> list[Argument]:
    """Arguments as signatures may show them: without a default where one that has to be given follows."""
    every = list(arguments)
    last = max((k for k, a in enumerate(every) if not a.optional and a.default is None), default=-1)
    return [a._replace(default=None) if k < last and not a.optional else a for k, a in enumerate(every)]


def is_lazy(x: Any) -> bool:
    """Whether this is a dask array: its numbers are still to be computed."""
    return type(x) not in _AT_HAND and type(x).__module__.startswith("dask.array")


def to_count(value: Any, least: int = 1) -> int | None:
    """A whole number of at least `least` as an int; None for anything else, True and False included."""
    try:
        count = least - 1 if isinstance(value, bool | np.bool_) else index(value)  # old NumPy: index(np.True_) is 1
    except TypeError:
        return None
    return count if count >= least else None


def refuse_lazy(function: str, advice: str = "", **given: Any) -> None:
    """Refuse dask arrays where all numbers would be computed and copied at once; `advice`: what to do instead."""
    for name, x in given.items():
        if is_lazy(x):
            raise ArgumentError(
                f"{function}: {name} is a dask array, of shape {x.shape}, but {function} computes at once; "
                f"{advice}give {name}.compute() if it fits in memory"
            )


def bind(function: str, arguments: Sequence[Argument], args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, without those left out."""
    complete = len(args) == len(arguments) or (len(args) < len(arguments) and arguments[len(args)].optional)
    if complete and not named and not any(x is None for x in args):
        return {a.name: x for a, x in zip(arguments, args, strict=False)}
    listed = ", ".join(a.declaration for a in arguments)
    if len(args) > len(arguments):
        raise TypeError(f"{function}({listed}) takes {len(arguments)} arrays, {len(args)} were given")
    values = dict(zip((a.name for a in arguments), args, strict=False))
    for name, value in named.items():
        if name in values:
            raise TypeError(f"{function}({listed}) got {name!r} twice")
        if name not in {a.name for a in arguments}:
            near = hint(name, [*(a.name for a in arguments), "out", "threads"], "argument")
            near = near or "besides these it takes out= and threads="
            raise TypeError(f"{function}({listed}) has no argument {name!r}; {near}")
        values[name] = value
    for a in arguments:
        if values.get(a.name) is None and a.default is not None:
            values[a.name] = a.default
        if values.get(a.name) is None and not a.optional:
            raise TypeError(f"{function}({listed}) needs {a.name!r}, an array of shape {shape_text(a.shape)}")
    return {a.name: values[a.name] for a in arguments if values.get(a.name) is not None}


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape with leading batch axes, as text."""
    return "(" + ", ".join(["...", *map(str, shape)]) + ")"


def to_array(function: str, argument: Argument, value: Any) -> np.ndarray:
    """The value as a float64 array of the right core shape."""
    array = value if type(value) is np.ndarray and value.dtype == float else _convert(function, argument, value)
    core = len(argument.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != argument.shape:
        raise wrong_core(function, argument, array.shape)
    return array


def wrong_core(function: str, argument: Argument, shape: tuple[int, ...]) -> ArgumentError:
    """The error for an array whose last axes are not those of an argument."""
    some = (
        f"; or give some by name, {{{argument.rows[-1]!r}: {shape_text(argument.shape[1:])}}}" if argument.rows else ""
    )
    return ArgumentError(f"{function}: {argument.name} must have shape {shape_text(argument.shape)}, got {shape}{some}")


def named_rows(
    function: str, argument: Argument, value: Mapping[str, Any], read: Callable[[str, Argument, Any], Any]
) -> tuple[dict[int, Any], tuple[int, ...]]:
    """The rows that are given by name, by their numbers, and their common leading axes; the other rows are zero.

    `read` makes an array of each, as `to_array` does.
    """
    if not argument.rows:
        raise ArgumentError(
            f"{function}: {argument.name} is a dictionary; expected an array of shape {shape_text(argument.shape)}"
        )
    for name in value:
        if name not in argument.rows:
            raise unknown(f"body (in {argument.name} of {function})", name, argument.rows)
    arguments = [Argument(f"{argument.name}[{name!r}]", argument.shape[1:]) for name in value]
    arrays = [read(function, a, x) for a, x in zip(arguments, value.values(), strict=True)]
    leading = batch_shape(function, arguments, arrays) if arrays else ()
    return dict(zip(map(argument.rows.index, value), arrays, strict=True)), leading


def quick_array(value: Any) -> Any:
    """A float64 array from a list, tuple or array of real numbers; None for anything else, valid or not."""
    kind = type(value)
    if kind is list or kind is tuple:
        try:
            value = np.array(value)
        except (TypeError, ValueError, OverflowError):
            return None
    elif kind is not np.ndarray:
        return None
    dtype = value.dtype
    if dtype is _FLOAT:
        return value
    return value.astype(_FLOAT) if dtype.kind in "fiub" else None


def _is_masked(value: Any) -> bool:
    """Whether some entries of an array are masked. NumPy imports that part of it late, which takes milliseconds."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def _convert(function: str, argument: Argument, value: Any) -> np.ndarray:
    """Anything as a float64 array."""
    refuse_lazy(function, **{argument.name: value})
    if isinstance(value, Mapping):
        rows, leading = named_rows(function, argument, value, to_array)
        array = np.zeros((*leading, *argument.shape))
        for k, row in rows.items():
            array[..., k, :] = row
        return array
    if _is_masked(value):
        raise ArgumentError(f"{function}: {argument.name} has masked entries; fill them, or remove their samples")
    if callable(value) and not hasattr(value, "__array__"):
        raise ArgumentError(
            f"{function}: {argument.name} is a function, {value!r:.80}; expected its values, an array of shape "
            f"{shape_text(argument.shape)}: call it here (simulate and rollout call functions of time and state)"
        )
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiubO":
            raise ArgumentError(
                f"{function}: {argument.name} must hold real numbers, got an array of dtype {array.dtype}"
            )
        if array.dtype.kind == "O" and any(x is None for x in array.flat):  # which NumPy would turn into NaN
            raise ValueError("it contains None")
        return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        if isinstance(error, ArgumentError):
            raise
        advice = tracing_advice(value)
        why = str(error).partition("\n")[0] if advice else error  # libraries that trace say more than helps here
        raise ArgumentError(
            f"{function}: {argument.name} cannot be read as an array of numbers: {why}{advice}"
        ) from None


def tracing_advice(value: Any) -> str:
    """Advice on a value that another library traces, or a sequence that contains one; none for other values."""
    if isinstance(value, list | tuple):
        return next(filter(None, map(tracing_advice, value)), "")
    library = type(value).__module__.partition(".")[0].removesuffix("lib")  # jax or jaxlib
    if library == "casadi":
        return " (use fourbar.casadi.function, which makes a CasADi function of a robot's function)"
    if library not in ("jax", "torch"):
        return ""
    rollouts = " and fourbar.jax.rollout" if library == "jax" else ""
    return f" ({library} is tracing it: use fourbar.{library}.functions(robot){rollouts} instead)"


def check_target(what: str, target: Any, shape: tuple[int, ...]) -> None:
    """Refuse an out= that cannot hold results of a shape."""
    is_array = isinstance(target, np.ndarray)
    if not is_array or target.shape != shape or target.dtype != float:
        given = f"{target.dtype} array of shape {target.shape}" if is_array else repr(target)
        raise ArgumentError(f"{what} must be a float64 array of shape {shape}, got {given}")
    if not target.flags.writeable:
        raise ArgumentError(f"{what} is read-only")


def batch_shape(function: str, arguments: Sequence[Argument], arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The common shape of the leading axes."""
    leading = [a.shape[: a.ndim - len(x.shape)] for a, x in zip(arrays, arguments, strict=True)]
    if len(set(leading)) == 1:
        return leading[0]
    common = [1] * max(map(len, leading))
    for shape in leading:
        for axis, n in enumerate(shape, len(common) - len(shape)):
            if n != common[axis] and 1 not in (n, common[axis]):
                shown = ", ".join(f"{x.name} {s}" for x, s in zip(arguments, leading, strict=True))
                raise ArgumentError(f"{function}: the leading (batch) axes do not broadcast together: {shown}")
            common[axis] = n if common[axis] == 1 else common[axis]
    return tuple(common)


def memory() -> float:
    """The memory of this machine in bytes; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return float("inf")
