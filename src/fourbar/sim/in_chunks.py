"""Rollouts of dask arrays: lazily, chunk by chunk, in this process or on many machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Argument, is_lazy
from ..chunks.apply import Result, apply
from ..chunks.sent import Sent
from ..errors import ArgumentError
from .step import Traced

Read = Callable[[Any], tuple[Any, ...]]


def any_lazy(*given: Any) -> bool:
    """Whether some of these are dask arrays, or mappings that hold some."""
    return any(is_lazy(x) or (isinstance(x, Mapping) and any_lazy(*x.values())) for x in given)


def refuse_more(**given: Any) -> None:
    """Refuse what rollouts of dask arrays do not take."""
    for name, x in given.items():
        if x is not None:
            raise ArgumentError(
                f"rollout: {name}= does not go with dask arrays, which take q, v, control and friction; give NumPy "
                "arrays, chunk by chunk"
            )


class Chunk:
    """Runs a rollout of some samples, `roll(**arrays, **options)`, and reads the arrays of its result.

    A control that is a function of Python may keep state: each chunk has a copy of its own.
    """

    def __init__(self, roll: Callable[..., Any], read: Read, options: Mapping[str, Any], control: Sent | None) -> None:
        self._roll, self._read, self._options, self._control = roll, read, dict(options), control

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        more = {} if self._control is None else {"control": self._control.anew}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of samples by their number in the chunk; results say it of all samples
            return self._read(self._roll(**_nested(arrays), **more, **self._options))


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name; those of mappings as "numbers:hand.mass". What is None is left out."""
    found: dict[str, Any] = {}
    for name, x in given.items():
        if isinstance(x, Mapping):
            found |= {f"{name}:{inner}": value for inner, value in x.items()}
        elif x is not None:
            found[name] = x
    return found


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The same with mappings again."""
    found: dict[str, Any] = {}
    for name, x in flat.items():
        outer, _, inner = name.partition(":")
        if inner:
            found.setdefault(outer, {})[inner] = x
        else:
            found[name] = x
    return found


def rolled_lazily(
    name: str,
    roll: Callable[..., Any],
    read: Read,
    given: Mapping[str, Any],
    cores: Mapping[str, Any],
    results: list[Result],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Results of rollouts as dask arrays, by name.

    `given`: the arguments that differ from sample to sample, with core shapes `cores`; None where they are left out. A
    control may be a function. Arguments that are mappings of arrays, such as numbers of the robot by name, have
    mappings of core shapes.
    """
    arrays, shapes = _flat(given), _flat(cores)
    control, more = None, {}
    if callable(arrays.get("control")):
        function = arrays.pop("control")
        control = Sent.of(f"{name}: control", function)
        if isinstance(function, Traced):  # which keeps nothing, and is compiled: once per process
            control, more = None, {"control": function}
    arguments = [Argument(x, shapes[x]) for x in arrays]
    run = Chunk(roll, read, {**options, **more}, control)
    found = apply(name, run, arrays, arguments, results)
    return dict(zip((x.name for x in results), found, strict=True))


def control_core(control: Any, rows: int, size: int) -> tuple[int, ...]:
    """The core shape of an array of controls (..., rows or more, size)."""
    if control is None or callable(control):
        return ()
    shape = tuple(np.shape(control))
    if len(shape) < 2 or shape[-1] != size or shape[-2] < rows:
        raise ArgumentError(
            f"control: expected an array (..., rows, {size}) with a row for each period, {rows} or more, got an array "
            f"of shape {shape}"
        )
    return shape[-2:]
