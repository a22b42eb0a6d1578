"""The convention of each peer for each of our joints.

Joints with additive coordinates, v = q̇, are stored alike by all, whether as one joint or as hinges and slides in
series.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import ArgumentError, unknown
from ..joints import Free, Joint, Planar, Revolute, Spherical, Translation2, Translation3
from ..joints.composite import SeriesJoint
from ..joints.euclidean import FlatJoint
from .joint_states import (
    AllInParent,
    Convention,
    InSeries,
    LastAngleOnCircle,
    LinearInParent,
    PlanarInParent,
    Reordered,
    same,
)

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
