"""Between actuators and joints: the gear of a drive on the velocities of its joint, B v = Σ gear · v_joint."""

from __future__ import annotations

from ..joints.base import Joint
from ..mechanism.actuators import floats
from ..spatial.linear import Scalar, Vec, dot


def in_child_axes(joint: Joint, q: Vec, gear: Vec) -> Vec:
    """A gear that is given in the axes of the parent, in those of the child: Rᵀ, three entries at a time."""
    R = joint.placement(q).R
    return Vec([x for i in range(0, len(gear), 3) for x in R.transpose_times(gear[i : i + 3])])


def driven(gear: Vec, u: Scalar, force: Vec) -> Vec:
    """A force on a joint's velocities, with that of an actuator added: gear u."""
    return force + gear * u


def driven_length(joint: Joint, q: Vec, gear: Vec, total: Scalar) -> Scalar:
    """A length, with that of a drive added: gear · (q ⊖ neutral), and nothing for a joint that floats."""
    return total if floats(joint) else total + dot(gear, joint.stretch(joint.neutral(), q))


def advanced(gear: Vec, v: Vec, total: Scalar) -> Scalar:
    """A velocity, with that of a drive added: gear · v."""
    return total + dot(gear, v)
