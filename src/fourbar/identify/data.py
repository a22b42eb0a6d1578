"""Measured data: checked, and cut into chunks that fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..system.robot import System

_ARRAYS = ("q", "v", "a", "tau", "f_ext", "t")
_NEEDED = ("q", "v", "tau")


@dataclass(frozen=True)
class Chunk:
    """Some samples in a row: q (n, nq), v, a, tau (n, nv), f_ext (n, bodies, 6), times t (n); None if not given."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    a: np.ndarray | None = None
    f_ext: np.ndarray | None = None
    t: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.q)


def _shapes(robot: System) -> dict[str, tuple[int, ...]]:
    one = (robot.nv,)
    return {"q": (robot.nq,), "v": one, "a": one, "tau": one, "f_ext": (len(robot.names.bodies), 6), "t": ()}


def _check(robot: System, piece: Any, where: str) -> dict[str, Any]:
    """The arrays of a piece of data by name, with their shapes checked; nothing is read from disk yet."""
    if not isinstance(piece, Mapping):
        raise ArgumentError(
            f"{where}: expected a mapping with arrays q, v, a, tau (or an iterable of such), got {type(piece).__name__}"
        )
    given = {name: piece[name] for name in piece if piece[name] is not None}
    for name in given:
        if name not in _ARRAYS:
            raise ArgumentError(f"{where}: {name!r} is not understood; known are {', '.join(_ARRAYS)}")
    missing = [name for name in _NEEDED if name not in given]
    if missing:
        raise ArgumentError(f"{where}: {', '.join(missing)} missing; given are {', '.join(given) or 'none'}")
    arrays = {name: x if hasattr(x, "shape") else np.asarray(x, float) for name, x in given.items()}
    n = len(arrays["q"]) if len(arrays["q"].shape) else 0
    for name, shape in _shapes(robot).items():
        if name in arrays and tuple(arrays[name].shape) != (n, *shape):
            found, wanted = tuple(arrays[name].shape), ", ".join(["n", *map(str, shape)])
            raise ArgumentError(f"{where}: {name} has shape {found}, expected ({wanted}) with n={n}")
    return arrays


def _finite(array: Any, name: str, where: str, first: int) -> np.ndarray:
    x = np.asarray(array, float)
    bad = ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if bad.any():
        number = first + int(np.argmax(bad))
        raise ArgumentError(
            f"{where}: {name} is not finite in {int(bad.sum())} samples, first in sample {number}; leave them out"
        )
    return x


class Chunks:
    """All samples of the data, at most `size` at a time; `count` of pieces if it is known, else None.

    Only one chunk is in memory: arrays may be memory-mapped, or come from an iterator.
    """

    def __init__(self, robot: System, data: Any, size: int) -> None:
        self._robot = robot
        self._size = size
        self._single = _check(robot, data, "data") if isinstance(data, Mapping) else None
        self._pieces: Iterable[Any] = () if self._single is not None else data
        if self._single is None and not isinstance(data, Iterable):
            _check(robot, data, "data")

    def __len__(self) -> int:
        """Number of chunks, where it is known."""
        if self._single is None:
            raise TypeError("the number of chunks is known only when they have been read")
        return -(-len(self._single["q"]) // self._size)

    def __iter__(self) -> Iterator[Chunk]:
        if self._single is not None:
            yield from self._cut(self._single, "data")
            return
        for number, piece in enumerate(self._pieces):
            where = f"data, piece {number}"
            yield from self._cut(_check(self._robot, piece, where), where)

    def _cut(self, arrays: dict[str, Any], where: str) -> Iterator[Chunk]:
        for first in range(0, len(arrays["q"]), self._size):
            part = {name: x[first : first + self._size] for name, x in arrays.items()}
            yield Chunk(**{name: _finite(x, name, where, first) for name, x in part.items()})
