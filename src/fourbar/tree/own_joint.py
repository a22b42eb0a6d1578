"""A single link on its own joint: the cluster of one, with the interface of a `LoopEmbedding`."""

from __future__ import annotations

from ..joints.base import Joint
from ..spatial.linear import Vec
from .states import Call, ClusterState, OwnState


class OwnJoint:
    """All velocities of the joint are independent. Equal for equal joints."""

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        self.nq, self.nv = joint.nq, joint.nv
        self.integrate, self.difference, self.chart_rate = joint.integrate, joint.difference, joint.chart_rate
        self.rate = joint.rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnJoint) and self.joint == other.joint

    def __hash__(self) -> int:
        return hash(self.joint)

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """The link at a state; without v at rest."""
        return OwnState((Vec(q),), (Vec([0.0] * self.nv) if v is None else v,))

    def map_rates(self, call: Call, e: ClusterState) -> None:
        """The map of the velocities does not change."""
