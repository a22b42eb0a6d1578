"""Motions that make parameters visible: Fourier series within limits, searched for a small condition number.

Every independent coordinate moves as y(t) = y₀ + Σ_k (a_k sin k ω t + b_k cos k ω t), so that velocity and acceleration
are known exactly and a repeated motion can be averaged. Limits hold by scaling, so the search is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, FourbarError
from ..joints.flat import FlatJoint
from ..model.embedding import Tied
from ..model.parameters import read_columns
from ..system.robot import System
from .base import random_triangle, regroup
from .coordinates import make_coordinates

_MARGIN = 0.99  # of every limit: peaks may lie between samples
_FINE = 40  # samples of the shortest wave where limits are checked
_UNLIMITED = np.pi  # how far a coordinate without limits may move


@dataclass(frozen=True)
class Fourier:
    """y(t) = offset + Σ_k (coefficients[:, k, 0] sin k ω t + coefficients[:, k, 1] cos k ω t), ω = 2π / period."""

    offset: np.ndarray
    coefficients: np.ndarray
    period: float

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Independent coordinates, velocities and accelerations (n, nv) at times t (n)."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.coefficients.shape[1] + 1)
        angles = np.multiply.outer(np.asarray(t, float), w)
        s, c = np.sin(angles), np.cos(angles)
        a, b = self.coefficients[..., 0].T, self.coefficients[..., 1].T
        y = self.offset + s @ a + c @ b
        return y, (w * c) @ a - (w * s) @ b, -(w**2 * s) @ a - (w**2 * c) @ b


@dataclass(frozen=True)
class Excitation:
    """A motion at times t (n): q (n, nq), v, a (n, nv), and its `condition` number; `first`: of a random motion."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    fourier: Fourier
    condition: float
    first: float


@dataclass(frozen=True)
class _Axis:
    """An independent coordinate: where it starts, and its limits."""

    name: str
    offset: float
    reach: float


def _axes(robot: System) -> list[_Axis]:
    found: list[_Axis] = []
    for group in robot.model.lowered.groups:
        connections = [robot.model.lowered.moving[i] for i in group.links]
        every = [(c, k) for c in connections for k in range(c.joint.nv)]
        if isinstance(group.embedding, Tied):
            chosen = [(*every[j], scale) for j, scale in group.embedding.independent]
        else:
            chosen = [(c, k, 1.0) for c, k in every]
        for c, k, scale in chosen:
            if not isinstance(c.joint, FlatJoint):
                raise ArgumentError(
                    f"joint {c.name!r} is a {type(c.joint).__name__}, whose coordinates do not add up: a Fourier "
                    "series cannot move it. Fix it, or give motions of your own to identify(...)"
                )
            found.append(_axis(robot, group.embedding, connections, c, k, scale))
    return found


def _axis(robot: System, tie: Any, connections: Any, c: Any, k: int, scale: float) -> _Axis:
    lower, upper = c.lower[k] / scale, c.upper[k] / scale
    lower, upper = min(lower, upper), max(lower, upper)
    if isinstance(tie, Tied) and not tie.explicit:
        first = sum(x.joint.nq for x in connections[: connections.index(c)])
        offset = float(tie.closed[first + k]) / scale if tie.closed is not None else 0.0
    else:
        middle = 0.5 * (lower + upper) if np.isfinite(lower) and np.isfinite(upper) else 0.0
        offset = float(np.clip(middle, lower, upper))
    return _Axis(c.name, offset, float(min(_UNLIMITED / abs(scale), upper - offset, offset - lower)))


def _read(what: str, value: Any, n: int) -> np.ndarray:
    array = np.asarray(value, float)
    if array.shape not in ((), (n,)) or not np.all(array > 0.0):
        raise ArgumentError(f"{what}={value!r}: expected a positive number, or {n} of them, one for each velocity")
    return np.broadcast_to(array, (n,))


class _Search:
    """Turns free numbers into motions within limits, and motions into condition numbers."""

    def __init__(self, robot: System, kinds: tuple[str, ...], period: float, harmonics: int, limits: Any) -> None:
        self.robot = robot
        self.period, self.harmonics = period, harmonics
        self.offset, self.limits = limits[0], limits[1:]
        self.fine = np.linspace(0.0, period, _FINE * harmonics, endpoint=False)
        c = make_coordinates(robot, kinds, np.zeros(len(robot.parameter_names(kinds))))
        base = regroup(random_triangle(robot, kinds)[:, c.estimated], tuple(c.names[j] for j in c.estimated))
        self.columns = c.estimated[list(base.independent)]
        self.scales = np.linalg.norm(c.T, axis=1)[list(base.independent)]
        self.regressor = robot.regressor.specialise(columns=kinds)
        ties = [g.embedding for g in robot.model.lowered.groups]
        self.implicit = any(isinstance(tie, Tied) and not tie.explicit for tie in ties)
        self.t = np.linspace(0.0, period, max(20 * harmonics, 2 * base.rank // max(1, robot.nv)), endpoint=False)

    def motion(self, z: np.ndarray) -> Fourier:
        """A series within all limits, from free numbers (nv, 2 harmonics + 1); the last says how much it moves."""
        shape = z[:, :-1].reshape(len(z), self.harmonics, 2) / np.arange(1, self.harmonics + 1)[:, None]
        y, v, a = Fourier(np.zeros(len(z)), shape, self.period).at(self.fine)
        peaks = [np.abs(x).max(axis=0) for x in (y, v, a)]
        rooms = [limit / np.maximum(peak, 1e-300) for limit, peak in zip(self.limits, peaks, strict=True)]
        room = np.min(rooms, axis=0)
        part = _MARGIN / (1.0 + np.exp(-2.0 - z[:, -1]))
        return Fourier(self.offset, (room * part)[:, None, None] * shape, self.period)

    def configurations(self, y: np.ndarray) -> np.ndarray:
        """q (n, nq) of independent coordinates (n, nv); loops are closed step by step."""
        if not self.implicit:
            return y
        q, now, found = self.robot.neutral(), self.offset, []
        approach = np.linspace(now, y[0], 20)[1:]
        for number, target in enumerate([*approach, *y[1:]]):
            q = self.robot.integrate(q, target - now, 1.0)
            now = target
            if number >= len(approach) - 1:
                found.append(q)
        return np.array(found)

    def condition(self, z: np.ndarray) -> float:
        """Of the regressor of all base parameters; infinite where loops do not close."""
        y, v, a = self.motion(z).at(self.t)
        try:
            Y = self.regressor(self.configurations(y), v, a)
        except FourbarError:
            return np.inf
        s = np.linalg.svd(Y.reshape(-1, Y.shape[-1])[:, self.columns] * self.scales, compute_uv=False)
        return float(s[0] / s[-1]) if np.all(np.isfinite(s)) and s[-1] > 0.0 else np.inf


def exciting_trajectory(
    robot: System,
    *,
    period: float,
    velocity: Any,
    acceleration: Any,
    columns: Any = "inertia",
    harmonics: int = 5,
    samples: int = 200,
    evaluations: int = 400,
    rng: np.random.Generator | int | None = 0,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Excitation:
    """A periodic motion from which the base parameters of `columns` can be told well, searched at random.

    Positions stay within the robot's limits, velocities and accelerations (one number, or nv) within those given. The
    condition number is that of the regressor of the base parameters, in units of the robot's own inertias. Returned are
    `samples` of one `period` in seconds. `progress` wraps the evaluations, e.g. tqdm.tqdm.
    """
    kinds = read_columns(columns)
    for name, number in (("harmonics", harmonics), ("samples", samples), ("evaluations", evaluations)):
        if not isinstance(number, int) or number < 1:
            raise ArgumentError(f"{name}={number!r}: expected a whole number, at least 1")
    axes, n = _axes(robot), robot.nv
    _read("period", period, 1)
    limits = [np.array([a.offset for a in axes]), np.array([a.reach for a in axes])]
    limits += [_read("velocity", velocity, n), _read("acceleration", acceleration, n)]
    stuck = [a.name for a in axes if not a.reach > 0.0]
    if stuck:
        raise ArgumentError(f"joints {', '.join(map(repr, stuck))} have no room to move between their limits")
    search = _Search(robot, kinds, float(period), harmonics, limits)
    best, first, least = _searched(search, np.random.default_rng(rng), evaluations, progress)
    if not np.isfinite(least):
        raise FourbarError("no motion within the limits excites all base parameters; loosen limits or add harmonics")
    fourier = search.motion(best)
    t = np.linspace(0.0, float(period), samples, endpoint=False)
    y, v, a = fourier.at(t)
    return Excitation(t, search.configurations(y), v, a, fourier, least, first)


def _searched(
    search: _Search, rng: np.random.Generator, evaluations: int, progress: Any
) -> tuple[np.ndarray, float, float]:
    """Random motions first, then ever smaller or larger steps from the best, as they succeed."""
    shape = (search.robot.nv, 2 * search.harmonics + 1)
    best = rng.normal(size=shape)
    first = least = search.condition(best)
    step = 0.5
    steps: Iterable[int] = range(evaluations - 1)
    for k in progress(steps) if progress is not None else steps:
        wide = k < evaluations // 5
        trial = rng.normal(size=shape) if wide else best + step * rng.normal(size=shape)
        found = search.condition(trial)
        if found < least:
            best, least = trial, found
        if not wide:
            step *= 1.5 if found <= least and best is trial else 0.92
    return best, first, least
