"""Equations that are linear in the parameters, from measured samples: Y φ = b, row by row.

With accelerations: the equations of motion, one kind of row for each velocity. Without: the balance of energy over
short times, ΔE = ∫ τ · v dt, which needs positions, velocities, forces and times only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..model.parameters import RIGID
from ..system.robot import System
from .data import Chunk


class Rows(NamedTuple):
    """Equations of one kind: which columns they have, and the rows [Y | b] (n, len(columns) + 1)."""

    kind: int
    columns: np.ndarray
    values: np.ndarray


class Equations(ABC):
    """Makes rows of one sort for a robot. The armature is taken from the robot where it is not asked for."""

    kinds: tuple[str, ...]

    def __init__(self, robot: System, columns: tuple[str, ...]) -> None:
        self.robot = robot
        self.columns = columns
        self.held = tuple(kind for kind in RIGID if kind not in columns)
        self.known = robot.inertial_parameters(self.held) if self.held else np.zeros(0)

    @abstractmethod
    def of(self, chunk: Chunk) -> Iterator[Rows]:
        """The rows of a chunk, kind by kind."""

    def _external(self, chunk: Chunk, a: np.ndarray) -> np.ndarray:
        """-Jᵀ f_ext (n, nv), where it is given."""
        if chunk.f_ext is None:
            return np.zeros_like(chunk.tau)
        state = (chunk.q, chunk.v, a)
        return self.robot.inverse_dynamics(*state, f_ext=chunk.f_ext) - self.robot.inverse_dynamics(*state)


class ForceRows(Equations):
    """τ = Y φ of each velocity."""

    def __init__(self, robot: System, columns: tuple[str, ...]) -> None:
        super().__init__(robot, columns)
        self.kinds = robot.names.velocities
        rows, self._places = robot.regressor_pattern(columns)
        self._ends = np.searchsorted(rows, np.arange(robot.nv + 1))

    def of(self, chunk: Chunk) -> Iterator[Rows]:
        if chunk.a is None:
            raise ArgumentError("data: a is missing in some pieces and given in others; give it in all, or in none")
        state = (chunk.q, chunk.v, chunk.a)
        packed = self.robot.regressor(*state, columns=self.columns, packed=True)
        b = chunk.tau - self._external(chunk, chunk.a)
        if self.held:
            b = b - self.robot.regressor(*state, columns=self.held) @ self.known
        for i in range(self.robot.nv):
            own = slice(self._ends[i], self._ends[i + 1])
            yield Rows(i, self._places[own], np.column_stack([packed[:, own], b[:, i]]))


class EnergyRows(Equations):
    """ΔE + ∫ (what friction and springs take) dt = ∫ τ · v dt over `window` samples, by the trapezoid rule."""

    kinds = ("energy",)

    def __init__(self, robot: System, columns: tuple[str, ...], window: int) -> None:
        super().__init__(robot, columns)
        self.window = window
        self._of_joints = tuple(kind for kind in columns if kind not in RIGID)
        bodies, p = 10 * len(robot.names.bodies), len(robot.parameter_names())
        parts = {"inertia": np.arange(bodies), "armature": np.arange(bodies, p)}
        none = np.zeros(0, int)
        self._asked = np.concatenate([none, *(parts[k] for k in columns if k in parts)])
        self._held = np.concatenate([none, *(parts[k] for k in self.held)])
        self._width = len(robot.parameter_names(columns))

    def of(self, chunk: Chunk) -> Iterator[Rows]:
        if chunk.t is None or np.any(np.diff(chunk.t) <= 0.0):
            raise ArgumentError(
                "data: without a, the balance of energy is used, which needs the times t (n) of the samples, increasing"
            )
        if len(chunk) <= self.window:
            return
        at = np.arange(0, len(chunk), self.window)
        energy = self.robot.kinetic_energy_regressor(chunk.q[at], chunk.v[at])
        energy = energy + self.robot.potential_energy_regressor(chunk.q[at])
        gained = np.diff(energy, axis=0)
        still = np.zeros_like(chunk.v)
        power = np.sum((chunk.tau - self._external(chunk, still)) * chunk.v, axis=1, keepdims=True)
        b = self._integrated(chunk.t, power, at) - gained[:, self._held] @ self.known[:, None]
        parts = [gained[:, self._asked]]
        if self._of_joints:
            lost = self.robot.regressor(chunk.q, chunk.v, still, columns=self._of_joints)
            parts.append(self._integrated(chunk.t, np.einsum("ni,nij->nj", chunk.v, lost), at))
        yield Rows(0, np.arange(self._width), np.column_stack([*parts, b]))

    def _integrated(self, t: np.ndarray, rate: np.ndarray, at: np.ndarray) -> np.ndarray:
        steps = 0.5 * np.diff(t)[:, None] * (rate[1:] + rate[:-1])
        total = np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(steps, axis=0)])
        return np.diff(total[at], axis=0)
