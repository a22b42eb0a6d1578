"""Actions of a task: numbers between -1 and 1, one for each joint that is driven, become joint forces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..sim.motions.read_arguments import check_actuators
from ..system.system import System
from .layout import DrivenJoints, driven_joints


class ActionDrive(ABC):
    """Actions of a robot: commands from actions and states. `held`: from actions alone.

    `kind` says what a batch of worlds takes them for: "tau", joint forces, or "u", controls of actuators.
    """

    held = False
    kind = "tau"

    def __init__(
        self, robot: System, names: tuple[str, ...], commands: int, joints: DrivenJoints | None = None
    ) -> None:
        self.robot, self.names, self.commands, self._joints = robot, names, commands, joints

    @property
    def size(self) -> int:
        """Number of entries of an action."""
        return len(self.names)

    @property
    def joints(self) -> DrivenJoints:
        """The joints whose positions and velocities are shown: those driven, or all that have one coordinate."""
        if self._joints is None:
            self._joints = driven_joints("worlds", self.robot, None)
        return self._joints

    @abstractmethod
    def command(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Commands (n, commands) of actions (n, size), at states (n, nq), (n, nv)."""


class JointDrive(ActionDrive):
    """Actions that become forces of joints."""

    def __init__(self, robot: System, joints: DrivenJoints) -> None:
        super().__init__(robot, joints.names, robot.nv, joints)

    def command(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """tau (n, nv)."""
        tau = np.zeros((len(action), self.commands))
        tau[:, self.joints.v] = self.driving(action, q, v) * self.joints.ratio
        return tau

    @abstractmethod
    def driving(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces (n, size) of the joints that are driven."""


class Action(ABC):
    """The kind of actions of a task."""

    @abstractmethod
    def on(self, robot: System) -> ActionDrive:
        """The actions of a robot with these settings."""


def read_actions(actions: Any, shape: tuple[int, ...], names: Sequence[str], caller: str = "step") -> np.ndarray:
    """Actions as an array, refused where they are of another shape or NaN."""
    try:
        array = np.asarray(actions, float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if array.shape != shape:
        got = f"shape {array.shape}" if array.ndim else repr(actions)
        raise ArgumentError(f"{caller}: actions must have shape {shape}, one for each of {', '.join(names)}; got {got}")
    if np.isnan(array).any():
        worlds = np.flatnonzero(np.isnan(array).reshape(-1, shape[-1]).any(axis=1))
        raise ArgumentError(f"{caller}: actions of worlds {', '.join(map(str, worlds[:6]))} are NaN")
    return array


def _per_joint(owner: str, name: str, given: Any, names: tuple[str, ...], least: float = 0.0) -> np.ndarray:
    """A number for each joint or actuator, from one or from as many."""
    n = len(names)
    try:
        array = np.broadcast_to(np.asarray(given, float), (n,))
    except (TypeError, ValueError, OverflowError):
        array = np.full(n, np.nan)
    if np.isnan(array).any() or (array < least).any():
        raise ArgumentError(
            f"{owner}: {name}={given!r}: expected a number, at least {least:g}, or one for each of the {n}: "
            f"{', '.join(names)}"
        )
    return array


def _bounds(owner: str, limit: Any, joints: DrivenJoints) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest forces: those given, else those of the model."""
    if limit is None:
        return joints.low, joints.high
    array = _per_joint(owner, "limit", limit, joints.names)
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

    def on(self, robot: System) -> ActionDrive:
        """The actions of a robot with these settings."""
        joints = driven_joints("Forces", robot, self.joints)
        low, high = _bounds("Forces", self.limit, joints)
        for name, *ends in zip(joints.names, low, high, strict=True):
            if not np.isfinite(ends).all():
                raise ArgumentError(f"Forces: the model has no largest force of joint {name!r}; give limit=")
        return _ForceDrive(robot, joints, low, high)


class _ForceDrive(JointDrive):
    held = True

    def __init__(self, robot: System, joints: DrivenJoints, low: np.ndarray, high: np.ndarray) -> None:
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

    def on(self, robot: System) -> ActionDrive:
        """The actions of a robot with these settings."""
        joints = driven_joints("Targets", robot, self.joints)
        numbers = [_per_joint("Targets", x, getattr(self, x), joints.names) for x in ("stiffness", "damping", "scale")]
        around = np.asarray(robot.model.neutral() if self.around is None else self.around, float)
        if around.shape != (robot.nq,):
            raise ArgumentError(f"Targets: around must be a configuration ({robot.nq},), got shape {around.shape}")
        return _TargetDrive(robot, joints, around[joints.q], numbers, _bounds("Targets", self.limit, joints))


class _TargetDrive(JointDrive):
    def __init__(
        self,
        robot: System,
        joints: DrivenJoints,
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


class Controls(Action):
    """Actions that are controls of the model's actuators, held for a period: around + scale action.

    The gains of servos then act implicitly, within the machine code of the steps.

    Parameters
    ----------
    around : float or array_like, optional
        The controls of action zero; the middle of each control range if None.
    scale : float or array_like, optional
        How far action 1 is from that; half of each control range if None.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> servos = fg.Controls(around=0.0, scale=0.5)
    """

    def __init__(self, around: Any = None, scale: Any = None) -> None:
        self.around, self.scale = around, scale

    def on(self, robot: System) -> ActionDrive:
        """The actions of a robot with these settings."""
        names = robot.names.actuators
        if not names:
            raise ArgumentError(f"Controls: robot {robot.name!r} has no actuators; use Targets or Forces")
        check_actuators(robot)
        low, high = np.array([x.control_range for x in robot.mechanism.actuators], float).T
        for name, *ends in zip(names, low, high, strict=True):
            if not np.isfinite(ends).all() and (self.around is None or self.scale is None):
                raise ArgumentError(f"Controls: actuator {name!r} has no control range; give around= and scale=")
        around = 0.5 * (low + high) if self.around is None else self.around
        scale = 0.5 * (high - low) if self.scale is None else self.scale
        return _ControlDrive(
            robot, names, _per_joint("Controls", "around", around, names, -np.inf),
            _per_joint("Controls", "scale", scale, names),
        )  # fmt: skip


class _ControlDrive(ActionDrive):
    held, kind = True, "u"

    def __init__(self, robot: System, names: tuple[str, ...], around: np.ndarray, scale: np.ndarray) -> None:
        super().__init__(robot, names, len(names))
        self._around, self._scale = around, scale

    def command(self, action: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._around + self._scale * action
