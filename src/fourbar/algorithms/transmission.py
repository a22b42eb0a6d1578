"""Between actuators and joints: the gear of a drive on the velocities of its joint, B v = Σ gear · v_joint."""

from __future__ import annotations

from ..joints.base import Joint
from ..spatial.linear import Scalar, Vec


def in_child_axes(joint: Joint, q: Vec, gear: Vec) -> Vec:
    """A gear that is given in the axes of the parent, in those of the child: Rᵀ, three entries at a time."""
    R = joint.placement(q).R
    return Vec([x for i in range(0, len(gear), 3) for x in R.transpose_times(gear[i : i + 3])])


def driven(gear: Vec, u: Scalar, force: Vec) -> Vec:
    """A force on a joint's velocities, with that of an actuator added: gear u."""
    return force + gear * u
