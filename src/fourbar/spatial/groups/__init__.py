"""Lie groups as configuration spaces: SE(3) and those of its subgroups that joints move on (From, Tables 1 and 2)."""

from .about_z import SE2, SO2, SchoenfliesGroup
from .base import AbelianGroup, Group, Rn
from .se3 import SE3
from .so3 import SO3
from .subgroup import Subgroup

GROUPS: tuple[Group, ...] = (SO2(), SO3(), SE2(), SE3(), SchoenfliesGroup(), Rn(1), Rn(2), Rn(3))

__all__ = ["GROUPS", "SE2", "SE3", "SO2", "SO3", "AbelianGroup", "Group", "Rn", "SchoenfliesGroup", "Subgroup"]
