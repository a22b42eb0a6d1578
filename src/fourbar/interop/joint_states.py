"""Conventions by which other libraries store a joint's state, and which of them each library uses for our joints.

Every peer's velocities are ours rotated and reordered: v_peer = B(q) v with B orthogonal. So forces transform alike,
τ_peer = B τ, accelerations as B a + Ḃ v, and the inverses are Bᵀ. All functions work over leading axes; q is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ArgumentError, unknown
from ..joints import Free, Joint, Planar, Revolute, Spherical, Translation2, Translation3
from ..joints.composite import SeriesJoint
from ..joints.euclidean import FlatJoint
from ..joints.lie import unit_quaternion
from ..spatial import euler
from ..spatial.groups.so3 import conjugate, rotate
from .batched_vectors import entries, stack


class Convention(ABC):
    """The state of one joint, as a peer stores it."""

    nq: int  # ours
    nv: int  # ours and theirs
    peer_nq: int
    turns: ClassVar[bool] = False  # whether B depends on q

    @abstractmethod
    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        """Our coordinates (..., nq) as theirs (..., peer_nq)."""

    @abstractmethod
    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        """Their coordinates (..., peer_nq) as ours (..., nq)."""

    @abstractmethod
    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """B v (..., nv)."""

    @abstractmethod
    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Bᵀ v (..., nv)."""

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ḃ v (..., nv) when the joint moves with our v."""
        return np.zeros_like(v)


@dataclass(frozen=True)
class Reordered(Convention):
    """The same numbers in another order: entry i of theirs is entry order[i] of ours."""

    q_order: tuple[int, ...]
    v_order: tuple[int, ...]

    @property
    def nq(self) -> int:
        return len(self.q_order)

    @property
    def nv(self) -> int:
        return len(self.v_order)

    @property
    def peer_nq(self) -> int:
        return len(self.q_order)

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        return q[..., list(self.q_order)]

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        return q[..., np.argsort(self.q_order)]

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v[..., list(self.v_order)]

    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v[..., np.argsort(self.v_order)]


def same(nq: int, nv: int) -> Reordered:
    """Stored as ours."""
    return Reordered(tuple(range(nq)), tuple(range(nv)))


@dataclass(frozen=True)
class LastAngleOnCircle(Reordered):
    """The last coordinate, an angle, is stored as (cos, sin). From these the angle is principal."""

    @property
    def peer_nq(self) -> int:
        return self.nq + 1

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        angle = q[..., -1:]
        return np.concatenate([q[..., :-1], np.cos(angle), np.sin(angle)], axis=-1)

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        return np.concatenate([q[..., :-2], np.arctan2(q[..., -1:], q[..., -2:-1])], axis=-1)


class Turned(Convention):
    """Velocities in other axes: those of the joint's parent instead of its child."""

    turns: ClassVar[bool] = True

    def turn(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A vector (..., 3) from the axes of the child to those of the parent; q is that of a quaternion (..., 4)."""
        unit = unit_quaternion(entries(q))
        return stack(rotate(unit, entries(x)))

    def turn_back(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The inverse of `turn`."""
        return stack(rotate(conjugate(unit_quaternion(entries(q))), entries(x)))


@dataclass(frozen=True)
class LinearInParent(Turned):
    """Free: (linear in the parent's axes, angular in the child's). q as ours: position, quaternion."""

    nq = peer_nq = 7
    nv = 6

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        return q

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        return q

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _concatenate(self.turn(q[..., 3:], v[..., 3:]), v[..., :3])

    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _concatenate(v[..., 3:], self.turn_back(q[..., 3:], v[..., :3]))

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The linear velocity rotates with the body: R (ω × v)."""
        turning = self.turn(q[..., 3:], np.cross(v[..., :3], v[..., 3:]))
        return _concatenate(turning, np.zeros_like(turning))


@dataclass(frozen=True)
class AllInParent(Turned):
    """Free or spherical: angular (and linear) velocity in the parent's axes; the rotation first in q.

    The rotation is a quaternion (w, x, y, z), or with `rpy` the angles of R_z(yaw) R_y(pitch) R_x(roll), roll first.
    """

    position: bool
    rpy: bool

    @property
    def nq(self) -> int:
        return 7 if self.position else 4

    @property
    def nv(self) -> int:
        return 6 if self.position else 3

    @property
    def peer_nq(self) -> int:
        return self.nq - self.rpy

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        rotation = q[..., self.nq - 4 :]
        if self.rpy:
            rotation = stack(euler.from_quaternion(entries(rotation), "zyx"))[..., ::-1]
        return np.concatenate([rotation, q[..., : self.nq - 4]], axis=-1)

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        n = 3 if self.rpy else 4
        rotation = q[..., :n]
        if self.rpy:
            rotation = stack(euler.to_quaternion(entries(rotation[..., ::-1]), "zyx"))
        return np.concatenate([q[..., n:], rotation], axis=-1)

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rotation = q[..., self.nq - 4 :]
        return _concatenate(*(self.turn(rotation, v[..., i : i + 3]) for i in range(0, self.nv, 3)))

    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rotation = q[..., self.nq - 4 :]
        return _concatenate(*(self.turn_back(rotation, v[..., i : i + 3]) for i in range(0, self.nv, 3)))

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """R (ω × v) for the linear part; none for the angular velocity."""
        w = v[..., :3]
        turning = [np.cross(w, v[..., i : i + 3]) for i in range(0, self.nv, 3)]
        return _concatenate(*(self.turn(q[..., self.nq - 4 :], x) for x in turning))


@dataclass(frozen=True)
class PlanarInParent(Convention):
    """Planar: rates of (x, y, angle), all in the parent's axes; q as ours."""

    nq = peer_nq = nv = 3
    turns: ClassVar[bool] = True

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        return q

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        return q

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        w, x, y = entries(v)
        return stack((c * x - s * y, s * x + c * y, w))

    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        x, y, w = entries(v)
        return stack((w, c * x + s * y, c * y - s * x))

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        w, x, y = entries(v)
        return self.v_to_peer(q, stack((np.zeros_like(w), -w * y, w * x)))


@dataclass(frozen=True)
class InSeries(Convention):
    """Joints in series, each stored in its own way."""

    parts: tuple[Convention, ...]

    @property
    def nq(self) -> int:
        return sum(p.nq for p in self.parts)

    @property
    def nv(self) -> int:
        return sum(p.nv for p in self.parts)

    @property
    def peer_nq(self) -> int:
        return sum(p.peer_nq for p in self.parts)

    @property
    def turns(self) -> bool:  # type: ignore[override]
        return any(p.turns for p in self.parts)

    def _cut(self, x: np.ndarray, sizes: str) -> list[np.ndarray]:
        ends = np.cumsum([getattr(p, sizes) for p in self.parts])[:-1]
        return np.split(x, ends, axis=-1)

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        return _concatenate(*(p.q_to_peer(x) for p, x in zip(self.parts, self._cut(q, "nq"), strict=True)))

    def q_from_peer(self, q: np.ndarray) -> np.ndarray:
        return _concatenate(*(p.q_from_peer(x) for p, x in zip(self.parts, self._cut(q, "peer_nq"), strict=True)))

    def _each(self, name: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        given = zip(self.parts, self._cut(q, "nq"), self._cut(v, "nv"), strict=True)
        return _concatenate(*(getattr(p, name)(x, y) for p, x, y in given))

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._each("v_to_peer", q, v)

    def v_from_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._each("v_from_peer", q, v)

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._each("drift", q, v)


def _concatenate(*parts: np.ndarray) -> np.ndarray:
    """Concatenate parts along the last axis; batches broadcast."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    spread: Sequence[np.ndarray] = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts]
    return np.concatenate(spread, axis=-1)


# Joints with additive coordinates, v = q̇, are stored alike by all, as one joint or as hinges and slides in series.
Table = Mapping[tuple[type[Joint], str], Callable[[], Convention]]

PINOCCHIO: Table = {
    (Free, ""): lambda: Reordered((0, 1, 2, 4, 5, 6, 3), (3, 4, 5, 0, 1, 2)),
    (Spherical, ""): lambda: Reordered((1, 2, 3, 0), (0, 1, 2)),
    (Planar, ""): lambda: LastAngleOnCircle((0, 1, 2), (1, 2, 0)),
    (Revolute, "unbounded"): lambda: LastAngleOnCircle((0,), (0,)),
}
MUJOCO: Table = {
    (Free, ""): LinearInParent,
    (Spherical, ""): lambda: same(4, 3),
    (Planar, ""): PlanarInParent,  # slide, slide, hinge
}
DRAKE: Table = {
    (Free, ""): lambda: AllInParent(position=True, rpy=False),
    (Free, "rpy"): lambda: AllInParent(position=True, rpy=True),
    (Spherical, ""): lambda: AllInParent(position=False, rpy=True),
    (Planar, ""): PlanarInParent,
}
PEERS: dict[str, Table] = {"pinocchio": PINOCCHIO, "mujoco": MUJOCO, "drake": DRAKE}


def convention(peer: str, joint: Joint, variant: str = "") -> Convention:
    """A peer's convention for a joint. Variants: "unbounded" hinges of Pinocchio, "rpy" floating joints of Drake.

    A joint in series with fixed placements is stored like the joint alone.
    """
    if peer not in PEERS:
        raise unknown("peer", peer, PEERS)
    found = PEERS[peer].get((type(joint), variant))
    if found is not None:
        return found()
    if isinstance(joint, SeriesJoint):
        parts = [part for part in joint.parts if isinstance(part, Joint)]
        if len(parts) == 1 or not variant:
            return InSeries(tuple(convention(peer, part, variant) for part in parts))
    if variant:
        known = [f"{kind.__name__} {name!r}" for kind, name in PEERS[peer] if name]
        raise ArgumentError(f"{peer} has no variant {variant!r} of {joint!r}; known: {', '.join(known) or 'none'}")
    if isinstance(joint, FlatJoint | Translation2 | Translation3):
        return same(joint.nq, joint.nv)
    raise ArgumentError(f"{peer} has no joint like {joint!r}; model it with joints in series in both libraries")
