"""From controls to forces of actuators: an affine law of length and velocity, held within ranges.

    force = gain · (1, length, velocity) u + bias · (1, length, velocity)

A motor has only gain[0]; a position servo that pulls with kp (u - length) - kd velocity has gain (kp, 0, 0) and bias
(0, -kp, -kd). Implicit steps need the slopes -∂force/∂length and -∂force/∂velocity, which are zero where the force is
at an end of its range.

Between actuators and joints is the gear of a drive on the velocities of its joint, B v = Σ gear · v_joint.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..expr.functions import select
from ..joints.base import Joint
from ..mechanism.actuators import floats
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero


def in_child_axes(joint: Joint, q: Vec, gear: Vec) -> Vec:
    """A gear that is given in the axes of the parent, in those of the child: Rᵀ, three entries at a time."""
    R = joint.placement(q).R
    return Vec([x for i in range(0, len(gear), 3) for x in R.transpose_times(gear[i : i + 3])])


def add_drive(gear: Vec, u: Scalar, force: Vec) -> Vec:
    """A force on a joint's velocities, with that of an actuator added: gear u."""
    return force + gear * u


def driven_length(joint: Joint, q: Vec, gear: Vec, total: Scalar) -> Scalar:
    """A length, with that of a drive added: gear · (q ⊖ neutral), and nothing for a joint that floats."""
    return total if floats(joint) else total + dot(gear, joint.stretch(joint.neutral(), q))


def add_velocity(gear: Vec, v: Vec, total: Scalar) -> Scalar:
    """A velocity, with that of a drive added: gear · v."""
    return total + dot(gear, v)


Ends = tuple[Scalar | None, Scalar | None]  # lower, upper; None where there is none


class ActuatorLaw(NamedTuple):
    """Gain and bias by 1, length and velocity; the ranges of control and force."""

    gain: Vec  # (3,)
    bias: Vec  # (3,)
    control: Ends
    force: Ends

    @property
    def needs_length(self) -> bool:
        """Whether the force depends on the length."""
        return not (is_zero(self.gain[1]) and is_zero(self.bias[1]))

    @property
    def needs_velocity(self) -> bool:
        """Whether the force depends on the velocity."""
        return not (is_zero(self.gain[2]) and is_zero(self.bias[2]))


class ActuatorSlopes(NamedTuple):
    """The decrease of the force of an actuator per unit of length and of velocity."""

    stiffness: Scalar
    damping: Scalar


def ends_of(lower: float, upper: float) -> Ends:
    """A range; what is infinite is no end."""
    return (None if lower == -math.inf else lower, None if upper == math.inf else upper)


def within(x: Scalar, ends: Ends) -> Scalar:
    """The nearest to x in a range; NaN stays NaN."""
    lower, upper = ends
    if lower is not None:
        x = select(x < lower, lower, x)
    return x if upper is None else select(x > upper, upper, x)


def all_within(x: Vec, ends: tuple[Ends, ...]) -> Vec:
    """`within`, entry by entry."""
    return Vec([within(a, b) for a, b in zip(x, ends, strict=True)])


def free(x: Scalar, ends: Ends, value: Scalar) -> Scalar:
    """A value where x is inside a range, else zero."""
    lower, upper = ends
    if lower is not None:
        value = select(x < lower, 0.0, value)
    return value if upper is None else select(x > upper, 0.0, value)


def all_free(x: Vec, ends: tuple[Ends, ...], values: Vec) -> Vec:
    """`free`, entry by entry."""
    return Vec([free(a, b, value) for a, b, value in zip(x, ends, values, strict=True)])


def _affine_force(law: ActuatorLaw, u: Scalar, length: Scalar, velocity: Scalar) -> Scalar:
    at = (1.0, length, velocity)
    return dot(law.gain, at) * u + dot(law.bias, at)


def force(law: ActuatorLaw, u: Scalar, length: Scalar, velocity: Scalar) -> Scalar:
    """The force of an actuator."""
    return within(_affine_force(law, within(u, law.control), length, velocity), law.force)


def slopes(law: ActuatorLaw, u: Scalar, length: Scalar, velocity: Scalar) -> ActuatorSlopes:
    """The slopes of that force."""
    held = within(u, law.control)
    pull = _affine_force(law, held, length, velocity)
    return ActuatorSlopes(*(free(pull, law.force, -(law.gain[i] * held + law.bias[i])) for i in (1, 2)))


def gain_matrix(rows: Mat, k: Vec) -> Mat:
    """Σ k bᵀ b (n, n) over the rows b (n)."""
    columns = rows.T
    return Mat(
        Vec([dot([x * s for x, s in zip(left, k, strict=True)], right) for right in columns]) for left in columns
    )
