"""Links as step functions use them: bodies rigidly connected, each link with one joint (X, S, bias, I)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..spatial.fluid_inertia import AnyInertia
from ..spatial.linear import Scalar, Vec
from ..spatial.subspace import Subspace
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .armatures import Coupled

if TYPE_CHECKING:
    from ..joints.base import Joint


class Link(NamedTuple):
    """A node of the spanning tree: a joint, its placement on the parent, and the inertia it carries. Constant data.

    `armature` is a diagonal; `coupled` are blocks off the diagonal, with links up to this one (see `armatures`).
    """

    joint: Joint
    placement: Transform
    I: AnyInertia
    armature: Vec
    coupled: Coupled = ()

    def at(self, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> Kinematics:
        """The link at configuration q; without v its bias S° v is left out."""
        c = Twist.zero() if v is None else self.joint.bias(q, v)
        X = self.placement.then(self.joint.placement(q))
        return Kinematics(X, self.joint.subspace(q), c, self.I, self.armature)


class Kinematics(NamedTuple):
    """A link at a configuration: X carries motions from the parent, S spans the joint's motions, c_J = S° v."""

    X: Transform
    S: Subspace
    c_J: Twist
    I: AnyInertia
    armature: Vec
