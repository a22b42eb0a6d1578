"""What actions do: numbers between -1 and 1, one for each joint that is driven, become joint forces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..system.system import System
from .layout import Driven, driven


class Drive(ABC):
    """Actions of a robot's joints: joint forces from actions and states. `held`: from actions alone."""

    held = False

    def __init__(self, robot: System, joints: Driven) -> None:
        self.joints, self._nv = joints, robot.nv

    @property
    def size(self) -> int:
        """How many numbers an action has."""
        return len(self.joints.names)

    def forces(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """tau (n, nv) under actions (n, size), at states (n, nq), (n, nv)."""
        tau = np.zeros((len(action), self._nv))
        tau[:, self.joints.v] = self.driving(action, q, v) * self.joints.ratio
        return tau

    @abstractmethod
    def driving(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces (n, size) of the joints that are driven."""


class Action(ABC):
    """What a task takes as its actions."""

    @abstractmethod
    def on(self, robot: System) -> Drive:
        """The same for the joints of a robot."""


def _per_joint(owner: str, name: str, given: Any, joints: Driven, least: float = 0.0) -> np.ndarray:
    """A number for each joint, from one or from as many."""
    n = len(joints.names)
    try:
        array = np.broadcast_to(np.asarray(given, float), (n,))
    except (TypeError, ValueError):
        array = np.full(n, np.nan)
    if np.isnan(array).any() or (array < least).any():
        raise ArgumentError(
            f"{owner}: {name}={given!r}: expected a number, at least {least:g}, or one for each of the {n} joints "
            f"{', '.join(joints.names)}"
        )
    return array


def _bounds(owner: str, limit: Any, joints: Driven) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest forces: those given, else those of the model."""
    if limit is None:
        return joints.low, joints.high
    array = _per_joint(owner, "limit", limit, joints)
    return -array, array


class Forces(Action):
    """Actions that are joint forces, held for a period: action 1 is the largest force, -1 the smallest.

    Parameters
    ----------
    limit : float or array_like, optional
        The largest force of each joint (N m, N); what the model says if None.
    joints : list of str, optional
        The joints that are driven, in the order of actions; all that have one coordinate if None.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> torque = fg.Forces(limit=5.0, joints=["elbow"])
    """

    def __init__(self, limit: Any = None, joints: Sequence[str] | None = None) -> None:
        self.limit, self.joints = limit, joints

    def on(self, robot: System) -> Drive:
        """The same for the joints of a robot."""
        joints = driven("Forces", robot, self.joints)
        low, high = _bounds("Forces", self.limit, joints)
        for name, *ends in zip(joints.names, low, high, strict=True):
            if not np.isfinite(ends).all():
                raise ArgumentError(f"Forces: the model has no largest force of joint {name!r}; give limit=")
        return _ForceDrive(robot, joints, low, high)


class _ForceDrive(Drive):
    held = True

    def __init__(self, robot: System, joints: Driven, low: np.ndarray, high: np.ndarray) -> None:
        super().__init__(robot, joints)
        self._centre, self._half = 0.5 * (low + high), 0.5 * (high - low)

    def driving(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._centre + self._half * action


class Targets(Action):
    """Actions that are targets of joint positions, which a PD law follows in every step.

    The force is stiffness (around + scale action - q) - damping v, within the limit.

    Parameters
    ----------
    stiffness : float or array_like
        Force per displacement (N m/rad, N/m) of each joint.
    damping : float or array_like
        Force per velocity (N m s/rad, N s/m) of each joint.
    around : array_like, shape (nq,), optional
        The configuration of action zero; the neutral one if None.
    scale : float or array_like, default 0.5
        Displacement (rad, m) of the target at action 1.
    limit : float or array_like, optional
        The largest force of each joint; what the model says if None, which may be without bound.
    joints : list of str, optional
        The joints that are driven, in the order of actions; all that have one coordinate if None.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> legs = fg.Targets(stiffness=40.0, damping=1.0, scale=0.4, limit=18.0)
    """

    def __init__(
        self,
        stiffness: Any,
        damping: Any,
        *,
        around: Any = None,
        scale: Any = 0.5,
        limit: Any = None,
        joints: Sequence[str] | None = None,
    ) -> None:
        self.stiffness, self.damping, self.around, self.scale = stiffness, damping, around, scale
        self.limit, self.joints = limit, joints

    def on(self, robot: System) -> Drive:
        """The same for the joints of a robot."""
        joints = driven("Targets", robot, self.joints)
        numbers = [_per_joint("Targets", x, getattr(self, x), joints) for x in ("stiffness", "damping", "scale")]
        around = np.asarray(robot.neutral() if self.around is None else self.around, float)
        if around.shape != (robot.nq,):
            raise ArgumentError(f"Targets: around must be a configuration ({robot.nq},), got shape {around.shape}")
        return _TargetDrive(robot, joints, around[joints.q], numbers, _bounds("Targets", self.limit, joints))


class _TargetDrive(Drive):
    def __init__(
        self,
        robot: System,
        joints: Driven,
        around: np.ndarray,
        numbers: list[np.ndarray],
        bounds: tuple[np.ndarray, np.ndarray],
    ) -> None:
        super().__init__(robot, joints)
        self._around, self._bounds = around, bounds
        self._stiffness, self._damping, self._scale = numbers

    def driving(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        force = self._around + self._scale * action
        force -= q[:, self.joints.q]
        force *= self._stiffness
        force -= self._damping * self.joints.velocities(v)
        return np.minimum(np.maximum(force, self._bounds[0]), self._bounds[1])
