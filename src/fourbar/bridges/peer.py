"""The common part of the bridges: a model of another library, the same robot as ours, and the map between states.

Others store the states of all joints, we the independent velocities of clusters: with the map q̇ = G v of the loops and
the peer's v_peer = B q̇, velocities are B G v and forces Gᵀ Bᵀ τ. Without loops G is the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..interop import PeerJoint, StateMap
from ..interop.maximal import reduced_coordinates
from ..interop.numbered_robot import reduced_velocities
from ..joints import Composite, Joint
from ..spatial.transform import IDENTITY, Transform
from ..system.system import System


def constant_pose(R: Any, p: Any) -> Transform:
    """A constant pose in plain floats."""
    return Transform.of(np.asarray(R, float).tolist(), np.asarray(p, float).tolist())


def in_series(parts: Sequence[Joint | Transform]) -> Joint:
    """One joint of several parts; identity placements are left out."""
    placements = [part for part in parts if part != IDENTITY]
    return placements[0] if len(placements) == 1 and isinstance(placements[0], Joint) else Composite(*placements)


class RobotPeer:
    """A model of another library, the same robot as ours (`robot`), and the conversions of states between them.

    All over leading axes. `states` is the map of all joints. Arguments q and v that are given along are always ours;
    q may be left out where the peer's velocities are ours in another order and there are no loops.
    """

    def __init__(self, peer: str, model: Any, robot: System, parts: Sequence[PeerJoint]) -> None:
        self.model = model
        self.robot = robot
        self.states = StateMap(peer, parts)
        self._tied = bool(robot.mechanism.loops)

    def q_to_peer(self, q: Any) -> np.ndarray:
        """Our configurations (..., nq) as the peer's, of all joints."""
        return self.states.q_to_peer(self._all_q(q))

    def q_from_peer(self, q: Any) -> np.ndarray:
        """The peer's configurations as ours (..., nq). Loops are as closed as they were: see `robot.loop_gap`."""
        found = self.states.q_from_peer(q)
        return reduced_coordinates(self.robot, found) if self._tied else found

    def v_to_peer(self, v: Any, q: Any = None) -> np.ndarray:
        """Our velocities (..., nv) as the peer's."""
        return self.states.v_to_peer(self._all_v(v, q), self._all_q(q))

    def v_from_peer(self, v: Any, q: Any = None) -> np.ndarray:
        """The peer's velocities as ours (..., nv); of those that loops tie, the independent ones are taken."""
        found = self.states.v_from_peer(v, self._all_q(q))
        return reduced_velocities(self.robot, found) if self._tied else found

    def a_to_peer(self, a: Any, q: Any = None, v: Any = None) -> np.ndarray:
        """Our accelerations (..., nv) as the peer's, which are the rates of its velocities."""
        every = self.robot.expand_acceleration(q, v, a) if self._tied else a
        return self.states.a_to_peer(every, self._all_q(q), None if v is None else self._all_v(v, q))

    def a_from_peer(self, a: Any, q: Any = None, v: Any = None) -> np.ndarray:
        """The peer's accelerations as ours (..., nv); of those that loops tie, the independent ones are taken."""
        found = self.states.a_from_peer(a, self._all_q(q), None if v is None else self._all_v(v, q))
        return reduced_velocities(self.robot, found) if self._tied else found

    def force_to_peer(self, tau: Any, q: Any = None) -> np.ndarray:
        """Our generalized forces (..., nv) as the peer's. With loops many are the same: then an error."""
        if self._tied:
            raise ArgumentError(
                f"robot {self.robot.name!r} has loops: many forces of all joints make the same force on independent "
                "velocities; choose one, e.g. on the actuated joints, and use `states.force_to_peer`"
            )
        return self.states.force_to_peer(tau, q)

    def force_from_peer(self, tau: Any, q: Any = None) -> np.ndarray:
        """The peer's generalized forces as ours (..., nv)."""
        return self._through_loops(self.states.force_from_peer(tau, self._all_q(q))[..., None, :], q)[..., 0, :]

    def columns_from_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Matrices that act on the peer's velocities as those (..., m, nv) that act on ours."""
        return self._through_loops(self.states.columns_from_peer(J, self._all_q(q)), q)

    def columns_to_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Matrices (..., m, nv) that act on our velocities as those on the peer's; not with loops."""
        if self._tied:
            raise ArgumentError(
                f"robot {self.robot.name!r} has loops: take the matrix of robot.spanning(), and `states`"
            )
        return self.states.columns_to_peer(J, q)

    def matrix_from_peer(self, M: Any, q: Any = None) -> np.ndarray:
        """The peer's matrices from velocities to forces, such as the mass matrix, as ours (..., nv, nv)."""
        half = np.swapaxes(self.columns_from_peer(M, q), -1, -2)
        return np.swapaxes(self.columns_from_peer(half, q), -1, -2)

    def _through_loops(self, rows: np.ndarray, q: Any) -> np.ndarray:
        """Rows on the velocities of all joints, times G."""
        return rows @ self.robot.loop_map(q) if self._tied else rows

    def _all_q(self, q: Any) -> Any:
        if not self._tied:
            return q
        if q is None:
            raise ArgumentError(f"robot {self.robot.name!r} has loops, which depend on q: give our q as well")
        return self.robot.expand(q)

    def _all_v(self, v: Any, q: Any) -> Any:
        return self.robot.expand_velocity(q, v) if self._tied and q is not None else v
