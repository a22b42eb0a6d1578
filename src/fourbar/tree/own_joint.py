"""Links on joints of their own, which no loop ties, with the interface of a `LoopEmbedding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ..constraints.trace import cut
from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..spatial.linear import Mat, Scalar, Vec
from .states import Call, ClusterState, EmbeddedState, OwnState


class Untied:
    """Links that no loop ties: all coordinates are stored, and all velocities are independent."""

    explicit = is_implicit = is_solved = has_shared_joints = False
    is_linear = True
    dependent: tuple[int, ...] = ()

    def __init__(self, joints: Sequence[Joint]) -> None:
        self.joints = tuple(joints)
        self.nq, self.nv = sum(joint.nq for joint in joints), sum(joint.nv for joint in joints)
        self.independent = tuple((j, 1.0) for j in range(self.nv))

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        """All coordinates of all joints."""
        return list(q)

    @property
    def is_additive(self) -> bool:
        """Whether q̇ = v."""
        return all(isinstance(joint, FlatJoint) for joint in self.joints)

    def in_steps(self) -> Self:
        """The links for a step in time: themselves."""
        return self

    def map_rates(self, call: Call, e: ClusterState) -> None:
        """The map of the velocities does not change."""

    def full_coordinates(self, q: np.ndarray) -> np.ndarray:
        """The coordinates (n, all) of all joints at those stored (n, nq)."""
        return q

    def stored_coordinates(self, full: np.ndarray) -> np.ndarray:
        """The coordinates (..., nq) that are stored, from those (..., all) of all joints."""
        return full

    def is_toggled(self, q: np.ndarray) -> np.ndarray:
        """Nowhere: a mask (...)."""
        return np.zeros(q.shape[:-1], bool)


class OwnJoint(Untied):
    """A single link. Equal for equal joints."""

    def __init__(self, joint: Joint) -> None:
        super().__init__((joint,))
        self.joint = joint
        self.integrate, self.difference, self.chart_rate = joint.integrate, joint.difference, joint.chart_rate
        self.rate = joint.rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnJoint) and self.joint == other.joint

    def __hash__(self) -> int:
        return hash(self.joint)

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """The link at a state; without v at rest."""
        return OwnState((Vec(q),), (Vec([0.0] * self.nv) if v is None else v,))


class OwnJoints(Untied):
    """Several links, such as armature couples. Equal for equal joints."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        super().__init__(joints)
        self._nq, self._nv = [joint.nq for joint in joints], [joint.nv for joint in joints]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnJoints) and self.joints == other.joints

    def __hash__(self) -> int:
        return hash(self.joints)

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q ⊕ v."""
        parts = zip(self.joints, cut(q, self._nq), cut(v, self._nv), strict=True)
        return Vec([x for joint, own, step in parts for x in joint.integrate(own, step)])

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        """The velocities that move q0 to q1 in unit time."""
        parts = zip(self.joints, cut(q0, self._nq), cut(q1, self._nq), strict=True)
        return Vec([x for joint, a, b in parts for x in joint.difference(a, b)])

    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """The rate of θ in q₀ ⊕ θ."""
        parts = zip(self.joints, cut(theta, self._nv), cut(v, self._nv), strict=True)
        return Vec([x for joint, own, rate in parts for x in joint.chart_rate(own, rate)])

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q̇ at velocities v."""
        parts = zip(self.joints, cut(q, self._nq), cut(v, self._nv), strict=True)
        return Vec([x for joint, own, speed in parts for x in joint.rate(own, speed)])

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """The links at a state; without v at rest. G is made of rows of the identity."""
        every = Mat.identity(self.nv)
        G, still = tuple(Mat(part) for part in cut(every, self._nv)), cut([0.0] * self.nv, self._nv)
        return EmbeddedState(cut(q, self._nq), still if v is None else cut(v, self._nv), G, still)
