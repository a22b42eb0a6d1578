"""ProblemDrives of a problem: the actuators of a robot, or forces on some of its velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown
from ..joints.lie import Free
from ..mechanism.mechanism import velocity_names
from ..sim.motions.read_arguments import refuse_act
from ..system.system import System


@dataclass(frozen=True)
class ProblemDrives:
    """The controls by name, and the velocities (nu) on which they are forces; none of these for actuators."""

    names: tuple[str, ...]
    velocities: tuple[int, ...] | None
    low: np.ndarray
    high: np.ndarray

    @property
    def count(self) -> int:
        """The number of controls."""
        return len(self.names)

    @property
    def by_actuators(self) -> bool:
        """Whether controls are those of the actuators."""
        return self.velocities is None

    def forces(self, u: Sequence[Any], nv: int) -> tuple[Any, ...]:
        """Controls as forces on all velocities (nv)."""
        tau: list[Any] = [0.0] * nv
        for entry, x in zip(self.velocities or (), u, strict=True):
            tau[entry] = x
        return tuple(tau)


def read_drives(robot: System, driven: Sequence[str] | None) -> ProblemDrives:
    """The controls of a robot: forces on joints that are named; else its actuators; else forces on all joints but free
    ones."""
    actuators = robot.mechanism.actuators
    if driven is None and actuators:
        refuse_act("Problem", robot)
        ranges = np.array([x.control_range for x in actuators])
        return ProblemDrives(tuple(x.name for x in actuators), None, ranges[:, 0], ranges[:, 1])
    if isinstance(driven, str):
        raise ArgumentError(f"driven={driven!r}: expected a list of names, [{driven!r}]")
    known, limits = list(robot.names.velocities), robot.limits
    places: list[int] = []
    for name in _default_drives(robot) if driven is None else driven:
        own = [k for k, x in enumerate(known) if x == name or x.startswith(f"{name}.")]
        if not own:
            raise unknown("joint or velocity", name, known)
        places += own
    if not places or len(set(places)) < len(places):
        raise ArgumentError(f"driven={driven!r}: expected names of joints, each once; known: {', '.join(known)}")
    return ProblemDrives(
        tuple(known[k] for k in places), tuple(places), limits.least_effort[places], limits.effort[places]
    )  # fmt: skip


def _default_drives(robot: System) -> list[str]:
    """All velocities but those of free joints."""
    free = {
        name for x in robot.mechanism.joints if isinstance(x.joint, Free) for name in velocity_names(x.name, x.joint)
    }
    return [name for name in robot.names.velocities if name not in free]
