"""The twist of every link, from the velocities of the joints."""

from __future__ import annotations

from ..spatial.linear import Vec
from ..spatial.vectors import Twist
from ..tree.links import Kinematics


def velocity_outward(k: Kinematics, parent: Twist, v: Vec) -> Twist:
    """V = X V_λ + S v."""
    return k.X.motion_to_child(parent) + k.S.twist(v)
