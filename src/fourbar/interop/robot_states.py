"""States of joints and of whole robots in the conventions of Pinocchio, MuJoCo and Drake, none of which need be
installed.

Every peer's velocities are ours rotated and reordered: v_peer = B(q) v with B orthogonal. So forces transform alike,
τ_peer = B τ, accelerations as B a + Ḃ v, and the inverses are Bᵀ. All functions work over leading axes; q is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ArgumentError, unknown
from ..joints import Free, Joint, Planar, Revolute, Spherical, Translation2, Translation3
from ..joints.composite import SeriesJoint
from ..joints.euclidean import FlatJoint
from ..joints.lie import unit_quaternion
from ..spatial import euler
from ..spatial.groups.so3 import conjugate, rotate
from ..system.system import System
from .batched_vectors import entries, read, stack


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


class PeerJoint(NamedTuple):
    """A joint: how it is stored, and where its numbers begin in our q and v and in the peer's."""

    name: str
    convention: Convention
    q: int
    v: int
    peer_q: int
    peer_v: int
    shift: float | tuple[float, ...] = 0.0  # what the peer's coordinates are larger by: its zero is elsewhere


def _cut(x: np.ndarray, first: int, size: int) -> np.ndarray:
    return x[..., first : first + size]


def _fill(size: int, pieces: Sequence[tuple[int, np.ndarray]], batch: tuple[int, ...]) -> np.ndarray:
    """An array (..., size) of pieces that begin at given places."""
    shape = np.broadcast_shapes(batch, *(x.shape[:-1] for _, x in pieces))
    array = np.zeros((*shape, size))
    for first, x in pieces:
        array[..., first : first + x.shape[-1]] = x
    return array


class StateMap:
    """Conversions between our states and those of another library, over leading axes.

    Configurations and velocities that are given along are always ours. v_peer = B(q) v with B orthogonal and block
    diagonal; where no joint turns its velocities, q may be left out.

    Parameters
    ----------
    peer : str
        The library: 'pinocchio', 'mujoco' or 'drake'.
    parts : sequence of PeerJoint
        How each joint is stored, and where; `state_map` makes them.

    Examples
    --------
    >>> import fourbar as fb
    >>> states = fb.convert.state_map(fb.robots.double_pendulum(), "pinocchio")
    >>> states.v_to_peer([1.0, 0.5])
    array([1. , 0.5])
    """

    def __init__(self, peer: str, parts: Sequence[PeerJoint]) -> None:
        self.peer = peer
        self.parts = tuple(parts)
        self.nq = sum(p.convention.nq for p in parts)
        self.nv = sum(p.convention.nv for p in parts)
        self.peer_nq = sum(p.convention.peer_nq for p in parts)

    def q_to_peer(self, q: Any) -> np.ndarray:
        """Our coordinates as those of the peer.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., peer_nq)
            Its configuration.
        """
        q = read("q", q, self.nq)
        own = ((p, _cut(q, p.q, p.convention.nq)) for p in self.parts)
        return _fill(
            self.peer_nq, [(p.peer_q, p.convention.q_to_peer(x) + np.asarray(p.shift)) for p, x in own], q.shape[:-1]
        )

    def q_from_peer(self, q: Any) -> np.ndarray:
        """Coordinates of the peer as ours.

        Parameters
        ----------
        q : array_like, shape (..., peer_nq)
            Its configuration.

        Returns
        -------
        ndarray, shape (..., nq)
            Our configuration.
        """
        q = read(f"{self.peer}'s q", q, self.peer_nq)
        own = ((p, _cut(q, p.peer_q, p.convention.peer_nq)) for p in self.parts)
        return _fill(self.nq, [(p.q, p.convention.q_from_peer(x - np.asarray(p.shift))) for p, x in own], q.shape[:-1])

    def v_to_peer(self, v: Any, q: Any = None) -> np.ndarray:
        """Our velocities as those of the peer: B v.

        Parameters
        ----------
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Its velocity.
        """
        v, q = read("v", v, self.nv), self._q(q)
        return self._map_velocities(
            lambda p: p.convention.v_to_peer(self._own(p, q), _cut(v, p.v, p.convention.nv)), v, True
        )

    def v_from_peer(self, v: Any, q: Any = None) -> np.ndarray:
        """Velocities of the peer as ours: Bᵀ v.

        Parameters
        ----------
        v : array_like, shape (..., nv)
            Its velocity.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Our velocity (rad/s, m/s).
        """
        v, q = read(f"{self.peer}'s v", v, self.nv), self._q(q)
        return self._map_velocities(
            lambda p: p.convention.v_from_peer(self._own(p, q), _cut(v, p.peer_v, p.convention.nv)), v, False
        )

    def a_to_peer(self, a: Any, q: Any = None, v: Any = None) -> np.ndarray:
        """Our accelerations, the rates of v, as those of the peer: B a + Ḃ v.

        Parameters
        ----------
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.
        v : array_like, shape (..., nv), optional
            Our velocity (rad/s, m/s); needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Its acceleration.
        """
        return self.v_to_peer(a, q) + self._drift(q, v)

    def a_from_peer(self, a: Any, q: Any = None, v: Any = None) -> np.ndarray:
        """Accelerations of the peer as ours: Bᵀ (a - Ḃ v).

        Parameters
        ----------
        a : array_like, shape (..., nv)
            Its acceleration.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.
        v : array_like, shape (..., nv), optional
            Our velocity (rad/s, m/s); needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Our acceleration (rad/s², m/s²).
        """
        return self.v_from_peer(read(f"{self.peer}'s a", a, self.nv) - self._drift(q, v), q)

    def force_to_peer(self, tau: Any, q: Any = None) -> np.ndarray:
        """Our generalized forces as those of the peer: B⁻ᵀ τ = B τ.

        Parameters
        ----------
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Its forces.
        """
        return self.v_to_peer(tau, q)

    def force_from_peer(self, tau: Any, q: Any = None) -> np.ndarray:
        """Generalized forces of the peer as ours: Bᵀ τ.

        Parameters
        ----------
        tau : array_like, shape (..., nv)
            Its forces.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv)
            Our forces (N m, N).
        """
        return self.v_from_peer(tau, q)

    def columns_to_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Matrices that act on our velocities as those that act on the peer's: J Bᵀ.

        Parameters
        ----------
        J : array_like, shape (..., m, nv)
            Matrices that act on our velocities.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., m, nv)
            Matrices that act on its velocities.
        """
        return self.v_to_peer(J, None if q is None else self._q(q)[..., None, :])  # type: ignore[index]

    def columns_from_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Matrices that act on the peer's velocities as those that act on ours: J B.

        Parameters
        ----------
        J : array_like, shape (..., m, nv)
            Matrices that act on its velocities.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., m, nv)
            Matrices that act on our velocities.
        """
        return self.v_from_peer(J, None if q is None else self._q(q)[..., None, :])  # type: ignore[index]

    def matrix_to_peer(self, M: Any, q: Any = None) -> np.ndarray:
        """Our matrices from velocities to forces as those of the peer: B M Bᵀ.

        Parameters
        ----------
        M : array_like, shape (..., nv, nv)
            Our matrices from velocities to forces, such as the mass matrix.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv, nv)
            Its matrices.
        """
        half = np.swapaxes(self.columns_to_peer(M, q), -1, -2)
        return np.swapaxes(self.columns_to_peer(half, q), -1, -2)

    def matrix_from_peer(self, M: Any, q: Any = None) -> np.ndarray:
        """Matrices of the peer from velocities to forces as ours: Bᵀ M B.

        Parameters
        ----------
        M : array_like, shape (..., nv, nv)
            Its matrices from velocities to forces, such as the mass matrix.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., nv, nv)
            Our matrices.
        """
        half = np.swapaxes(self.columns_from_peer(M, q), -1, -2)
        return np.swapaxes(self.columns_from_peer(half, q), -1, -2)

    def _q(self, q: Any) -> np.ndarray | None:
        """Our q; needed if any joint turns its velocities."""
        if q is not None:
            return read("q", q, self.nq)
        turning = [p.name for p in self.parts if p.convention.turns]
        if turning:
            raise ArgumentError(
                f"{self.peer} stores the velocities of joint {turning[0]!r} in other axes than ours, which depend on "
                "the configuration: give our q as well"
            )
        return None

    def _own(self, p: PeerJoint, q: np.ndarray | None) -> np.ndarray:
        """The part of q that belongs to a joint; nothing where it is not needed."""
        return np.zeros(p.convention.nq) if q is None else _cut(q, p.q, p.convention.nq)

    def _map_velocities(self, of: Callable[[PeerJoint], np.ndarray], x: np.ndarray, to_peer: bool) -> np.ndarray:
        pieces = [(p.peer_v if to_peer else p.v, of(p)) for p in self.parts]
        return _fill(self.nv, pieces, x.shape[:-1])

    def _drift(self, q: Any, v: Any) -> np.ndarray:
        """Ḃ v, in the peer's order."""
        q_ours = self._q(q)
        turning = [p for p in self.parts if p.convention.turns]
        if not turning or q_ours is None:
            return np.zeros(self.nv)
        if v is None:
            raise ArgumentError(
                f"{self.peer}'s acceleration of joint {turning[0].name!r} depends on the velocity: give our v as well"
            )
        v = read("v", v, self.nv)
        pieces = [
            (p.peer_v, p.convention.drift(_cut(q_ours, p.q, p.convention.nq), _cut(v, p.v, p.convention.nv)))
            for p in turning
        ]
        return _fill(self.nv, pieces, v.shape[:-1])


def _map_joints(
    peer: str,
    joints: Sequence[tuple[str, Joint]],
    order: Sequence[str] | None = None,
    variants: Mapping[str, str] | None = None,
) -> StateMap:
    """The map for our moving joints (name, joint) in our order, and the names in the peer's order (ours if not given).

    `variants` says by name which of several ways of storing a joint the peer uses, see `convention`.
    """
    moving = [(name, joint) for name, joint in joints if joint.nv]
    names, chosen = [name for name, _ in moving], dict(variants or {})
    order = names if order is None else list(order)
    for name in (*order, *chosen):
        if name not in names:
            raise unknown("moving joint", name, names)
    if sorted(order) != sorted(names):
        left = [n for n in names if n not in order]
        raise ArgumentError(
            f"the order must hold every moving joint once; it has {len(order)} names for {len(names)} joints"
            + (f", {left[0]!r} is missing" if left else "")
        )
    conventions = [convention(peer, joint, chosen.get(name, "")) for name, joint in moving]
    by_name = dict(zip(names, conventions, strict=True))
    q, v = (dict(zip(names, _starts([getattr(c, n) for c in conventions]), strict=True)) for n in ("nq", "nv"))
    peer_q, peer_v = (
        dict(zip(order, _starts([getattr(by_name[x], n) for x in order]), strict=True)) for n in ("peer_nq", "nv")
    )
    return StateMap(peer, [PeerJoint(n, by_name[n], q[n], v[n], peer_q[n], peer_v[n]) for n in names])


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)][: len(sizes)]


def state_map(
    robot: System, peer: str, order: Sequence[str] | None = None, variants: Mapping[str, str] | None = None
) -> StateMap:
    """Map between the states of a robot and those of another library.

    Parameters
    ----------
    robot : System
        The robot.
    peer : {'pinocchio', 'mujoco', 'drake'}
        The library; it need not be installed.
    order : sequence of str, optional
        Moving joints in the order of the peer; ours if None.
    variants : mapping of str to str, optional
        By joint: 'unbounded' for hinges of Pinocchio stored as (cos, sin), 'rpy' for floating joints of Drake.

    Returns
    -------
    StateMap
        The conversions.

    Raises
    ------
    ArgumentError
        If the robot has loops, or `order` does not name every moving joint once.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.state_map(robot, "mujoco").q_to_peer([0.1, 0.2])
    array([0.1, 0.2])
    """
    if robot.mechanism.loops:
        raise ArgumentError(
            f"robot {robot.name!r} has loops, and peers store the states of all joints: make the map of "
            "robot.spanning(), for q of robot.expand(q) and v of robot.expand_velocity(q, v)"
        )
    joints = [(c.name, c.joint) for c in robot.mechanism.joints]
    return _map_joints(peer, joints, order, variants)
