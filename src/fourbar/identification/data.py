"""Measured data: checked, and split into chunks that fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..functions.arguments import F_EXT
from ..system.system import System

_ARRAYS = ("q", "v", "a", "tau", "f_ext", "t")
_NEEDED = ("q", "v", "tau")
_LACKING = {
    "a": "form='force' needs accelerations a (n, nv) in every piece; without them use form='momentum', which needs "
    "the times t (n) instead",
    "t": "without accelerations a, the balance of momentum or energy over time is used, which needs the times t (n) "
    "of the samples in every piece",
}


@dataclass(frozen=True)
class Chunk:
    """Consecutive samples: q (n, nq), v, a, tau (n, nv), f_ext (n, bodies, 6), times t (n); None if not given."""

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


def _check(robot: System, piece: Any, where: str, needs: str) -> dict[str, Any]:
    """The arrays of a piece of data by name, with their shapes checked; nothing is read from disk yet."""
    if not isinstance(piece, Mapping):
        raise ArgumentError(
            f"{where}: expected a mapping with arrays q, v, a, tau (or an iterable of such), got {type(piece).__name__}"
        )
    supplied = {name: piece[name] for name in piece if piece[name] is not None}
    for name in supplied:
        if name not in _ARRAYS:
            raise ArgumentError(f"{where}: unknown array {name!r}; expected {', '.join(_ARRAYS)}")
    missing = [name for name in _NEEDED if name not in supplied]
    if missing:
        raise ArgumentError(f"{where}: {', '.join(missing)} missing; given: {', '.join(supplied) or 'none'}")
    if needs not in supplied:
        raise ArgumentError(f"{where}: {_LACKING[needs]}; given: {', '.join(supplied)}")
    if isinstance(supplied.get("f_ext"), Mapping):
        supplied["f_ext"] = F_EXT.read(robot.model, where, supplied["f_ext"])
    arrays = {name: x if hasattr(x, "shape") else _numbers(x, name, where) for name, x in supplied.items()}
    n = len(arrays["q"]) if len(arrays["q"].shape) else 0
    for name, shape in _shapes(robot).items():
        if name in arrays and tuple(arrays[name].shape) != (n, *shape):
            raise ArgumentError(f"{where}: {_wrong_shape(name, tuple(arrays[name].shape), n, shape)}")
    return arrays


def _numbers(x: Any, name: str, where: str) -> np.ndarray:
    try:
        array = np.asarray(x)
        if array.dtype.kind == "c":
            raise ArgumentError(f"{where}: {name} must hold real numbers, got an array of dtype {array.dtype}")
        return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{where}: {name} must be an array of numbers, got {type(x).__name__}") from None


def _wrong_shape(name: str, found: tuple[int, ...], n: int, shape: tuple[int, ...]) -> str:
    """A message about the wrong shape of an array, with what to do."""
    text = f"{name} has shape {found}, expected ({', '.join(['n', *map(str, shape)])}{'' if shape else ','})"
    if len(shape) == 1 and found == (n,) and shape == (1,):
        return f"{text}: one column for the only velocity, {name}[:, None]"
    if len(shape) == 1 and len(found) == 2 and found[0] == shape[0] != found[1]:
        return f"{text}: one row per sample; it looks transposed, give {name}.T"
    if name != "q" and found[1:] == shape:
        return f"{text} with n={n}, the number of samples in q"
    return f"{text}: one row per sample"


def _finite(array: Any, name: str, where: str, first: int) -> np.ndarray:
    values = _numbers(array, name, where)
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if bad.any():
        number = first + int(np.argmax(bad))
        raise ArgumentError(
            f"{where}: {name} is not finite in {int(bad.sum())} samples, first in sample {number}; remove them"
        )
    return values


def _check_times(t: np.ndarray, where: str, first: int) -> None:
    back = np.diff(t) <= 0.0
    if back.any():
        i = int(np.argmax(back))
        raise ArgumentError(
            f"{where}: the times t must increase, but sample {first + i + 1} is at t={t[i + 1]:.9g} and the one before "
            f"at t={t[i]:.9g}; sort the samples, and give separate recordings as separate pieces: [{{...}}, {{...}}]"
        )


class UnreadChunk(NamedTuple):
    """Consecutive samples, not read yet: arrays by name, what they are called, and the number of the first sample."""

    arrays: dict[str, Any]
    where: str
    first: int


class Reader(NamedTuple):
    """Reads parts: `needs` is an array that the equations need, `unmeasured` are the numbers of forces to ignore."""

    needs: str
    unmeasured: np.ndarray

    def __call__(self, part: UnreadChunk) -> Chunk:
        arrays = dict(part.arrays)
        if len(self.unmeasured):
            arrays["tau"] = np.array(arrays["tau"], float)
            arrays["tau"][:, self.unmeasured] = 0.0
        chunk = Chunk(**{name: _finite(x, name, part.where, part.first) for name, x in arrays.items()})
        if self.needs == "t" and chunk.t is not None:
            _check_times(chunk.t, part.where, part.first)
        return chunk


class Chunks:
    """All samples of the data, about `size` at a time; `len` of them where it is known.

    Only one chunk is in memory: arrays may be memory-mapped, or come from an iterator. `needs` is an array that the
    equations need; where it is the times t, these must increase, and chunks of a recording share the sample between
    them. Forces that are not `measured` (numbers of velocities) are ignored.
    """

    def __init__(self, robot: System, data: Any, size: int, needs: str, measured: Sequence[int]) -> None:
        self._robot = robot
        self._size = size
        self.read = Reader(needs, np.setdiff1d(np.arange(robot.nv), measured))
        self._single = _check(robot, data, "data", needs) if isinstance(data, Mapping) else None
        self._pieces: Iterable[Any] = () if self._single is not None else data
        if self._single is None and not isinstance(data, Iterable):
            _check(robot, data, "data", needs)

    def __len__(self) -> int:
        """Number of chunks, if known."""
        if self._single is None:
            raise TypeError("the number of chunks is known only when they have been read")
        return len(self._starts(self._single))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self.read, self.parts())

    def parts(self) -> Iterator[UnreadChunk]:
        """All chunks before they are read."""
        if self._single is not None:
            yield from self._cut(self._single, "data")
            return
        for number, piece in enumerate(self._pieces):
            where = f"data, piece {number}"
            yield from self._cut(_check(self._robot, piece, where, self.read.needs), where)

    @property
    def _overlap(self) -> int:
        """The number of samples that two chunks have in common."""
        return 1 if self.read.needs == "t" else 0

    def _starts(self, arrays: dict[str, Any]) -> range:
        return range(0, max(len(arrays["q"]) - self._overlap, 0), self._size)

    def _cut(self, arrays: dict[str, Any], where: str) -> Iterator[UnreadChunk]:
        for first in self._starts(arrays):
            end = first + self._size + self._overlap
            yield UnreadChunk({name: x[first:end] for name, x in arrays.items()}, where, first)
