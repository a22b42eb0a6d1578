"""Inverse dynamics with an actuated set (Kim eq. 56-66): whose forces, and which of many solutions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ArgumentError, SingularError, unknown
from ...model.lower import Lowered
from .dense import Driven, drive, ranks
from .model import ConstrainedModel

LEAST = ("torque", "constraint")


@dataclass(frozen=True)
class Drives:
    """Actuated joints, what is least where their forces are not unique, and its weight (None: the identity)."""

    joints: tuple[str, ...]
    least: str = "torque"
    weight: tuple[tuple[float, ...], ...] | None = None

    def places(self, lowered: Lowered) -> list[int]:
        """The velocities of the spanning tree that are actuated, in the order of the joints."""
        first = lowered.tree.first_v
        number = {c.name: i for i, c in enumerate(lowered.moving)}
        return [first[number[j]] + k for j in self.joints for k in range(lowered.moving[number[j]].joint.nv)]


def read_drives(lowered: Lowered, drives: Any) -> Drives | None:
    """The drives of a robot, checked."""
    if drives is None or isinstance(drives, Drives):
        return drives
    joints, least, weight = drives
    if isinstance(joints, str) or not isinstance(joints, Sequence) or not joints:
        raise ArgumentError(f"actuated={joints!r}: expected a list of joint names, e.g. ['hip', 'knee']")
    known = [c.name for c in lowered.moving]
    for name in joints:
        if name not in known:
            raise unknown("moving joint", name, known)
    if len(set(joints)) < len(joints):
        raise ArgumentError(f"actuated={list(joints)!r}: a joint is named twice")
    if least not in LEAST:
        raise ArgumentError(f"least={least!r}: expected 'torque' (of the actuators) or 'constraint' (forces)")
    return Drives(tuple(joints), least, _frozen(weight))


def _frozen(weight: Any) -> tuple[tuple[float, ...], ...] | None:
    """A positive definite matrix, or its diagonal, as tuples."""
    if weight is None:
        return None
    W = np.asarray(weight, float)
    W = np.diag(W) if W.ndim == 1 else W
    if W.ndim != 2 or W.shape[0] != W.shape[1] or not np.allclose(W, W.T) or not np.linalg.eigvalsh(W)[0] > 0.0:
        raise ArgumentError(f"weight: expected a symmetric positive definite matrix or its diagonal, got {weight!r}")
    return tuple(map(tuple, W.tolist()))


def check_weight(weight: tuple[tuple[float, ...], ...] | None, size: int, what: str) -> np.ndarray | None:
    """The weight as an array, of the size of what it weighs."""
    if weight is not None and len(weight) != size:
        raise ArgumentError(f"weight has {len(weight)} rows, there are {size} {what}")
    return None if weight is None else np.array(weight)


class Inverse:
    """The forces of actuators and constraints for given accelerations."""

    def __init__(
        self,
        drives: Drives,
        model: ConstrainedModel,
        compiled: Callable[..., Any],
        configurations: Sequence[np.ndarray],
        tolerance: float,
    ) -> None:
        self._drives, self._model, self._compiled, self._tolerance = drives, model, compiled, tolerance
        self._configurations = configurations
        self._places = drives.places(model.lowered)
        self._active = np.isin(np.arange(model.lowered.tree.nv), self._places)
        self._order = np.argsort(np.argsort(self._places))  # `drive` answers in the order of the velocities

    @cached_property
    def _weight(self) -> np.ndarray | None:
        torque = self._drives.least == "torque"
        forces = self._pieces(self._configurations[0], 0.0, 0.0, None)[1].shape[-2]
        size, what = (len(self._places), "actuated velocities") if torque else (forces, "rows of constraints and loops")
        W = check_weight(self._drives.weight, size, what)
        if W is None or not torque:
            return W
        sorted_ = np.argsort(self._places)
        return W[np.ix_(sorted_, sorted_)]

    def _pieces(self, q: Any, v: Any, a: Any, f_ext: Any) -> tuple[np.ndarray, np.ndarray]:
        nv = self._model.lowered.nv
        v, a = (np.zeros(nv) if np.isscalar(x) else x for x in (v, a))
        return self._compiled("spanning_forces")(q, v, a, f_ext=f_ext)

    @cached_property
    def _checked(self) -> bool:
        """Whether the actuators are enough to move the robot in any way that the constraints allow."""
        passive = int((~self._active).sum())
        found = [self._pieces(q, 0.0, 0.0, None)[1][:, ~self._active] for q in self._configurations]
        held = max((int(ranks(rows.T[None])[0]) if rows.size else 0) for rows in found)
        if held < passive:
            raise ArgumentError(
                f"actuated={list(self._drives.joints)!r} are too few: {passive} velocities are passive, and the "
                f"constraints determine only {held} of their forces; name more joints, or "
                "prescribe the accelerations of some joints only, with hybrid_dynamics(..., prescribed=[...])"
            )
        return True

    def __call__(self, q: Any, v: Any, a: Any, f_ext: Any) -> tuple[np.ndarray, np.ndarray]:
        _ = self._checked
        self._check_acceleration(q, v, a)
        tau, rows = self._pieces(q, v, a, f_ext)
        sound = np.asarray(np.isfinite(tau).all(axis=-1) & np.isfinite(rows).all(axis=(-2, -1)))
        clean = np.where(sound[..., None], tau, 0.0), np.where(sound[..., None, None], rows, 0.0)
        found = drive(*clean, self._active, self._weight, self._drives.least == "torque")
        lost = sound & ~(found.gap <= 1e-8)
        if np.any(lost):
            self._report(found, tau.ndim == 1)
        keep = (sound & ~lost)[..., None]
        force = np.where(keep, found.force[..., : self._model.m], np.nan)
        return np.where(keep, found.tau[..., self._order], np.nan), force

    def _check_acceleration(self, q: Any, v: Any, a: Any) -> None:
        gap = np.abs(self._compiled("acceleration")(q, v, a))
        allowed = self._tolerance * (1.0 + np.abs(np.asarray(a, float)).max(initial=0.0))
        if np.any(gap > allowed):
            row = int(np.nanargmax(gap.reshape(-1, gap.shape[-1]).max(axis=0)))
            raise ArgumentError(
                f"the constraints do not allow these accelerations: A a + Ȧ v reaches {gap.max():.3g} in "
                f"{self._model.rows[row]}; take them from forward_dynamics, or prescribe some in hybrid_dynamics"
            )

    def _report(self, found: Driven, single: bool) -> None:
        what = (
            f"the actuators {list(self._drives.joints)!r} cannot cause the accelerations: forces of passive joints up "
            f"to {np.nanmax(found.gap):.3g} of the largest are out of reach (a singular configuration)"
        )
        if single:
            raise SingularError(what)
        warnings.warn(f"in some samples {what}; these are NaN", RuntimeWarning, stacklevel=4)
