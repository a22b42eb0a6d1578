"""The approximate way to treat loops: dependent joints as a constant inertia (Chignoli §II-C)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError
from ..joints import Fixed
from ..mechanism.mechanism import PlacedJoint, Placement
from ..spatial.transform import Transform
from ..system.system import System
from .baselines import coordinates_of, independent, velocities_of

__all__ = ["reflected_inertia", "reflected_robot"]


def reflected_inertia(robot: System, q: Any = None) -> np.ndarray:
    """Constant inertia that dependent joints add when only their own turning counts (Chignoli §II-C).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (nq,), optional
        Configuration; neutral if None.

    Returns
    -------
    ndarray, shape (nv, nv)
        Gᵀ diag(Sᵀ I S) G over the dependent joints (kg m², kg): N² I for a rotor of inertia I that turns N times as
        fast as its joint.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.baselines.reflected_inertia(fb.robots.gt_chain(1)).round(6)
    array([[0.0036]])
    """
    at = robot.neutral() if q is None else np.asarray(q, float)
    tree, q_all = robot.model.cluster_tree.spanning_tree, robot.expand(at)
    own = np.zeros((tree.nv, tree.nv))
    for i, link in enumerate(tree.links):
        place = velocities_of(robot, [i])
        twists = link.joint.subspace(q_all[coordinates_of(robot, [i])].tolist()).twists()
        S = np.array([t.six() for t in twists], float).T
        own[np.ix_(place, place)] = S.T @ np.array(link.I.matrix(), float) @ S + np.diag(link.armature)
    G = robot.loop_map(at)
    G[independent(robot).places] = 0.0
    return G.T @ own @ G


def reflected_robot(robot: System, q: Any = None) -> System:
    """Robot with the inertia of dependent joints as armature: the approximate method (Chignoli §II-C).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (nq,), optional
        Configuration; neutral if None.

    Returns
    -------
    System
        The independent joints only. Bodies on dependent joints are fixed where they are at q; of `reflected_inertia`
        the diagonal is kept.

    Notes
    -----
    Exact for rotors that sit on the ground; elsewhere the gyroscopic and coupling terms of the rotors are lost.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.baselines.reflected_robot(fb.robots.gt_chain(2)).nv
    2
    """
    at = robot.neutral() if q is None else np.asarray(q, float)
    where, q_all, added = independent(robot), robot.expand(at), np.zeros(robot.model.cluster_tree.spanning_tree.nv)
    added[where.places] = np.diagonal(reflected_inertia(robot, at)) / where.scales**2
    kept = set(where.places.tolist())
    changed: dict[str, PlacedJoint] = {}
    for i, c in enumerate(robot.model.cluster_tree.moving):
        place = velocities_of(robot, [i])
        if kept.issuperset(place):
            changed[c.name] = replace(c, armature=tuple((np.array(c.armature) + added[place]).tolist()))
        elif kept.isdisjoint(place):
            changed[c.name] = _frozen(c, q_all[coordinates_of(robot, [i])])
        else:
            raise ModelError(f"joint {c.name!r} is only partly independent; it can be neither kept nor fixed")
    connections = tuple(changed.get(c.name, c) for c in robot.mechanism.joints)
    return System(replace(robot.mechanism, joints=connections, loops=()))


def _frozen(c: PlacedJoint, q: np.ndarray) -> PlacedJoint:
    """A placed joint fixed at q."""
    placed = Transform.of(c.placement.rotation, c.placement.position).then(c.joint.placement(q.tolist()))
    rotation: Any = tuple(tuple(map(float, row)) for row in placed.R)
    position: Any = tuple(map(float, placed.p))
    return PlacedJoint(c.name, Fixed(), c.parent, c.child, Placement(rotation, position), (), (), (), (), ())
