"""The methods of a robot, one entry an algorithm: where algorithms meet names, shapes and documentation.

Each file registers its methods when it is imported.
"""

from . import (
    actuation,
    bodies,
    configuration,
    coriolis,
    derivatives,
    dynamics,
    energy,
    forces,
    identification,
    kinematics,
    passive,
)
from .registry import JACOBIANS, METHODS, Method

__all__ = [
    "JACOBIANS",
    "METHODS",
    "Method",
    "actuation",
    "bodies",
    "configuration",
    "coriolis",
    "derivatives",
    "dynamics",
    "energy",
    "forces",
    "identification",
    "kinematics",
    "passive",
]
