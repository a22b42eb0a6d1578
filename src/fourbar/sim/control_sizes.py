"""The controls of a motion: joint forces "tau", controls "u" of actuators, wrenches "f_ext" on bodies."""

from __future__ import annotations

from ..system.system import System


def control_sizes(robot: System) -> dict[str, int]:
    """How many numbers each of the controls has, by name; wrenches on all bodies are one row of numbers."""
    return {"tau": robot.nv, "u": robot.nu, "f_ext": 6 * len(robot.mechanism.bodies)}
