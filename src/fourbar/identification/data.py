"""Measured data, in chunks that fit in memory, and its equations Y φ = b, linear in the parameters, row by row.

With accelerations: the equations of motion, one kind of row for each velocity. Without, over short times: the balance
of momentum, Δ(M v) = ∫ (τ + Cᵀ v - g) dt, again one for each velocity, or that of energy, ΔE = ∫ τ · v dt.

Integrals of sampled rates over windows of samples, by cubics through four neighbours: exact to the third power.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..functions.arguments import F_EXT
from ..mechanism.inertial_parameters import RIGID, read_columns
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
    unmeasured: np.ndarray  # (unmeasured velocities,)

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


_POINTS = 4
_LARGEST = 1.0  # weight beside the step: where samples are so uneven that a cubic would swing, a line is used
_AT_ONCE = 2**22  # numbers of a rate that are held at once


def step_weights(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each step between times t (n): the first (n - 1) of the m samples that it is made of, and their weights."""
    n = len(t)
    m = min(_POINTS, n)
    step = np.arange(n - 1)
    first = np.clip(step - (m - 2) // 2, 0, n - m)
    h = np.diff(t)
    near = t[first[:, None] + np.arange(m)]
    powers = ((near - t[:-1, None]) / h[:, None])[:, :, None] ** np.arange(m)
    moments = np.broadcast_to(1.0 / np.arange(1, m + 1), (n - 1, m))
    weights = np.linalg.solve(powers.swapaxes(1, 2), moments[..., None])[..., 0]
    line = np.zeros_like(weights)
    line[step, step - first] = line[step, step - first + 1] = 0.5
    uneven = np.abs(weights).max(axis=1, keepdims=True) > _LARGEST
    return first, np.where(uneven, line, weights) * h[:, None]


class Windows:
    """Windows of equal numbers of samples, without those left over at the end. `edges` (k + 1) are their samples."""

    def __init__(self, t: np.ndarray, window: int) -> None:
        self._n, self._window = len(t), window
        self.edges = np.arange(0, len(t), window)
        self._first, self._weights = step_weights(t)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def integrals(self, rate: Callable[[slice], np.ndarray], size: int) -> Iterator[tuple[slice, np.ndarray]]:
        """∫ rate dt (k, ...) over some windows at a time; rate(samples) has `size` numbers for each sample."""
        at_once = max(1, _AT_ONCE // max(1, size * self._window))
        for start in range(0, len(self), at_once):
            some = slice(start, min(start + at_once, len(self)))
            steps = slice(self.edges[some.start], self.edges[some.stop])
            lowest, highest = self._first[steps].min(), self._first[steps].max() + self._weights.shape[1]
            values = rate(slice(lowest, highest))
            total = np.zeros((steps.stop - steps.start, *values.shape[1:]))
            for k, w in enumerate(self._weights[steps].T):
                total += w.reshape(-1, *(1,) * (values.ndim - 1)) * values[self._first[steps] - lowest + k]
            yield some, np.add.reduceat(total, np.arange(0, len(total), self._window), axis=0)

    def integral(self, rate: np.ndarray) -> np.ndarray:
        """∫ rate dt (k, ...) of sampled rates (n, ...)."""
        parts = [x for _, x in self.integrals(lambda samples: rate[samples], rate[0].size)]
        return np.concatenate(parts)


class EquationRows(NamedTuple):
    """Equations of one kind: which columns they have, and the rows [Y | b] (n, len(columns) + 1)."""

    kind: int
    columns: np.ndarray  # (columns,)
    values: np.ndarray


class RowMaker(ABC):
    """Makes rows of one sort for a robot. Armature and fluids are taken from the robot where they are not asked for.

    `measured` are the numbers of the velocities whose forces are known; `window` is the number of samples of a balance.
    """

    form: ClassVar[str]
    needs: ClassVar[str]  # the array besides q, v, tau
    kinds: tuple[str, ...]

    def __init__(self, robot: System, columns: tuple[str, ...], measured: Sequence[int], window: int) -> None:
        self.robot = robot
        self.columns = columns
        self.measured = list(measured)
        self.window = window
        self.kinds = tuple(robot.names.velocities[i] for i in self.measured)
        self.held = tuple(kind for kind in RIGID if kind not in columns and robot.parameter_names(kind))
        self.known = robot.inertial_parameters(self.held) if self.held else np.zeros(0)

    @abstractmethod
    def of(self, chunk: Chunk) -> Iterator[EquationRows]:
        """The rows of a chunk, kind by kind."""

    def _external(self, chunk: Chunk, a: np.ndarray) -> np.ndarray:
        """-Jᵀ f_ext (n, nv), where it is given."""
        if chunk.f_ext is None:
            return np.zeros_like(chunk.tau)
        state = (chunk.q, chunk.v, a)
        return self.robot.inverse_dynamics(*state, f_ext=chunk.f_ext) - self.robot.inverse_dynamics(*state)


class ForceRows(RowMaker):
    """τ = Y φ of each velocity."""

    form, needs = "force", "a"

    def __init__(self, robot: System, columns: tuple[str, ...], measured: Sequence[int], window: int) -> None:
        super().__init__(robot, columns, measured, window)
        rows, self._places = robot.regressor_pattern(columns)
        self._ends = np.searchsorted(rows, np.arange(robot.nv + 1))

    def of(self, chunk: Chunk) -> Iterator[EquationRows]:
        assert chunk.a is not None
        state = (chunk.q, chunk.v, chunk.a)
        packed = self.robot.regressor(*state, columns=self.columns, packed=True)
        b = chunk.tau - self._external(chunk, chunk.a)
        if self.held:
            b = b - self.robot.regressor(*state, columns=self.held) @ self.known
        for kind, i in enumerate(self.measured):
            own = slice(self._ends[i], self._ends[i + 1])
            yield EquationRows(kind, self._places[own], np.column_stack([packed[:, own], b[:, i]]))


class Balance(RowMaker):
    """Balances over windows of samples, whose rows all have all columns."""

    needs = "t"

    def __init__(self, robot: System, columns: tuple[str, ...], measured: Sequence[int], window: int) -> None:
        super().__init__(robot, columns, measured, window)
        self._all = read_columns((*columns, *self.held))
        sizes = {kind: len(robot.parameter_names(kind)) for kind in self._all}
        asked = np.concatenate([np.full(sizes[kind], kind in columns) for kind in self._all])
        self._asked, self._held = np.flatnonzero(asked), np.flatnonzero(~asked)

    def of(self, chunk: Chunk) -> Iterator[EquationRows]:
        assert chunk.t is not None
        if len(chunk) <= self.window:
            return
        windows = Windows(chunk.t, self.window)
        for kind, (Y, b) in enumerate(self._balances(chunk, windows)):
            b = b - Y[:, self._held] @ self.known
            yield EquationRows(kind, np.arange(len(self._asked)), np.column_stack([Y[:, self._asked], b]))

    @abstractmethod
    def _balances(self, chunk: Chunk, windows: Windows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each kind Y (k, p) of all columns and b (k)."""


class MomentumRows(Balance):
    """Δ(M v) - ∫ (Cᵀ v - g - friction and springs) dt = ∫ τ dt of each velocity."""

    form = "momentum"

    def _balances(self, chunk: Chunk, windows: Windows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        q, v, at, p = chunk.q, chunk.v, windows.edges, len(self._asked) + len(self._held)
        momentum = self.robot.momentum_regressor(q[at], v[at], columns=self._all)
        Y = np.diff(momentum, axis=0)

        def rate(samples: slice) -> np.ndarray:
            return self.robot.momentum_rate_regressor(q[samples], v[samples], columns=self._all)

        for some, gained in windows.integrals(rate, self.robot.nv * p):
            Y[some] -= gained
        b = windows.integral(chunk.tau - self._external(chunk, np.zeros_like(v)))
        for i in self.measured:
            yield Y[:, i], b[:, i]


class EnergyRows(Balance):
    """ΔE + ∫ (what friction and springs take) dt = ∫ τ · v dt."""

    form = "energy"

    def __init__(self, robot: System, columns: tuple[str, ...], measured: Sequence[int], window: int) -> None:
        super().__init__(robot, columns, measured, window)
        if len(self.measured) < robot.nv:
            raise ArgumentError(
                "form='energy' needs the forces of all velocities, since each of them does work; leave measured= out, "
                "or use form='momentum'"
            )
        self.kinds = ("energy",)
        self._of_joints = tuple(kind for kind in columns if kind not in RIGID)

    def _balances(self, chunk: Chunk, windows: Windows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        q, v, at = chunk.q, chunk.v, windows.edges
        still = np.zeros_like(v)
        energy = self.robot.kinetic_energy_regressor(q[at], v[at]) + self.robot.potential_energy_regressor(q[at])
        parts = [np.diff(energy, axis=0)]
        if self._of_joints:
            lost = self.robot.regressor(q, v, still, columns=self._of_joints)
            parts.append(windows.integral(np.einsum("ni,nij->nj", v, lost)))
        b = windows.integral(np.sum((chunk.tau - self._external(chunk, still)) * v, axis=1))
        yield np.column_stack(parts), b


FORMS: dict[str, type[RowMaker]] = {made.form: made for made in (ForceRows, MomentumRows, EnergyRows)}
