"""The approximate way to treat loops: dependent joints as a constant inertia (Chignoli §II-C)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from ..edit.rename import check, kept_coordinates
from ..errors import ArgumentError, ModelError
from ..joints import Fixed
from ..mechanism import actuators
from ..mechanism.armature_blocks import ArmatureBlock, is_coupled, read_block
from ..mechanism.mechanism import WORLD, Mechanism, PlacedJoint, Placement
from ..spatial.transform import Transform
from ..system.system import System
from .baselines import coordinates_of, independent, velocities_of

__all__ = ["reflected_inertia", "reflected_robot"]

Armature = Literal["block", "diagonal", "none"]
Dependent = Literal["remove", "fix"]


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
        fast as its joint, and a block for each cluster whose rotors several joints drive.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.baselines.reflected_inertia(fb.robots.gt_chain(1)).round(6)
    array([[0.0036]])
    >>> fb.baselines.reflected_inertia(fb.robots.pbt_chain(2)).round(6)
    array([[0.0072, 0.0036],
           [0.0036, 0.0036]])
    """
    at = robot.model.neutral() if q is None else np.asarray(q, float)
    link_inertia, A, G = _inertias(robot, at)
    dependent, free = _without(G, independent(robot).places), G - _without(G, independent(robot).places)
    return dependent.T @ link_inertia @ dependent + G.T @ A @ G - free.T @ A @ free


def _without(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """G with some rows zero."""
    other = G.copy()
    other[places] = 0.0
    return other


def _inertias(robot: System, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sᵀ I S of each joint's own link, armature, both over the velocities of all joints, and the map G."""
    tree, q_all = robot.model.cluster_tree.spanning_tree, robot.expand(q)
    link_inertia, A = np.zeros((tree.nv, tree.nv)), np.diag([x for link in tree.links for x in link.armature])
    for i, link in enumerate(tree.links):
        place = velocities_of(robot, [i])
        twists = link.joint.subspace(q_all[coordinates_of(robot, [i])].tolist()).twists()
        S = np.array([t.six() for t in twists], float).T
        link_inertia[np.ix_(place, place)] = S.T @ np.array(link.I.matrix(), float) @ S
    for links, block in tree.couplings:
        place = velocities_of(robot, links)
        A[np.ix_(place, place)] += np.array(block, float)
    return link_inertia, A, robot.loop_map(q)


def reflected_robot(
    robot: System, q: Any = None, armature: Armature = "block", dependent: Dependent = "remove"
) -> System:
    """Robot with the inertia of dependent joints as armature: the approximate method (Chignoli §II-C).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (nq,), optional
        Configuration; neutral if None.
    armature : {'block', 'diagonal', 'none'}, default 'block'
        What is kept of `reflected_inertia`: all of it, as a block for each cluster in which it couples joints; its
        diagonal; or nothing, as if there were no transmissions.
    dependent : {'remove', 'fix'}, default 'remove'
        Whether bodies on dependent joints are removed, or fixed where they are at q. Those that carry bodies on
        independent joints are fixed in any case.

    Returns
    -------
    System
        The independent joints only.

    Raises
    ------
    ModelError
        If a joint is only partly independent.

    See Also
    --------
    Builder.armature : Armature that couples joints.

    Notes
    -----
    Exact for rotors that sit on the ground; elsewhere the gyroscopic and coupling terms of the rotors are lost, and the
    mass of those that are removed. Which joints are independent decides what is left: where these are the rotors, name
    the links first with `System.with_independent`.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.baselines.reflected_robot(fb.robots.pbt_chain(2))
    >>> robot.names.joints, robot.mechanism.armatures[0].joints
    (('link-A-0_joint', 'link-B-0_joint'), ('link-A-0_joint', 'link-B-0_joint'))
    """
    _check_choice("armature", armature, get_args(Armature))
    _check_choice("dependent", dependent, get_args(Dependent))
    at = robot.model.neutral() if q is None else np.asarray(q, float)
    free = _independent_joints(robot)
    joints, blocks = _armatures(robot, at, free, armature)
    q_all = robot.expand(at)
    for i, c in enumerate(robot.model.cluster_tree.moving):
        if c.name not in free:
            joints[c.name] = _fix_at(c, q_all[coordinates_of(robot, [i])])
    placed = tuple(joints.get(c.name, c) for c in robot.mechanism.joints)
    part = replace(robot.mechanism, joints=placed, loops=(), armatures=blocks)
    left = {c.child for c in placed} if dependent == "fix" else _remaining_bodies(placed, set(joints) - free)
    return System(check(_among(part, left)))


def _check_choice(what: str, given: Any, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ArgumentError(f"reflected_robot: {what}={given!r}: expected one of {', '.join(map(repr, choices))}")


def _independent_joints(robot: System) -> set[str]:
    """The joints whose velocities are all independent."""
    places, names = set(independent(robot).places.tolist()), set()
    for i, c in enumerate(robot.model.cluster_tree.moving):
        own = velocities_of(robot, [i])
        if places.issuperset(own):
            names.add(c.name)
        elif not places.isdisjoint(own):
            raise ModelError(f"joint {c.name!r} is only partly independent; it can be neither kept nor removed")
    return names


def _armatures(
    robot: System, q: np.ndarray, free: set[str], armature: str
) -> tuple[dict[str, PlacedJoint], tuple[ArmatureBlock, ...]]:
    """The joints that are kept, and blocks, with the armature of all joints and the inertia of dependent ones."""
    moving, where = robot.model.cluster_tree.moving, independent(robot)
    link_inertia, A, G = _inertias(robot, q)
    G_d = _without(G, where.places)
    G_i = G - G_d
    total = G_i.T @ A @ G_i if armature == "none" else G_d.T @ link_inertia @ G_d + G.T @ A @ G
    total = total / np.outer(where.scales, where.scales)
    number = {place: n for n, place in enumerate(where.places.tolist())}
    joints: dict[str, PlacedJoint] = {}
    blocks: list[ArmatureBlock] = []
    for cluster in robot.model.cluster_tree.clusters:
        links = [i for i in cluster.links if moving[i].name in free]
        columns = [number[place] for place in velocities_of(robot, links)]
        block = total[np.ix_(columns, columns)]
        coupled = armature != "diagonal" and is_coupled(block)
        if coupled:
            named = cluster.loops[0] if cluster.loops else moving[links[0]].name
            blocks.append(read_block(f"{named}_armature", [moving[i].name for i in links], block))
        entries = iter(np.diagonal(block).tolist())
        for i in links:
            values = tuple(0.0 if coupled else next(entries) for _ in range(moving[i].joint.nv))
            joints[moving[i].name] = replace(moving[i], armature=values)
    return joints, tuple(blocks)


def _remaining_bodies(joints: tuple[PlacedJoint, ...], frozen: set[str]) -> set[str]:
    """The bodies that are not on a dependent joint, nor on a body that is; and those that carry them."""
    parent = {c.child: c.parent for c in joints}
    gone: set[str] = set()
    for c in joints:
        if c.name in frozen or (c.parent in gone and c.joint.nv == 0):
            gone.add(c.child)
    left: set[str] = set()
    for body in parent:
        while body not in gone and body != WORLD and body not in left:
            left.add(body)
            gone.discard(parent[body])
            body = parent[body]
    return left


def _among(mechanism: Mechanism, left: set[str]) -> Mechanism:
    """The mechanism with only some of its bodies."""
    pairs = [x for x in zip(mechanism.bodies, mechanism.joints, strict=True) if x[0].name in left]
    names = {c.name for _, c in pairs}
    moving = {c.name for _, c in pairs if c.joint.nv}
    acting = actuators.of_joints(mechanism.actuators, moving)
    return replace(
        mechanism,
        bodies=tuple(b for b, _ in pairs),
        joints=tuple(c for _, c in pairs),
        frames=tuple(f for f in mechanism.frames if f.body in {*left, WORLD}),
        configurations=kept_coordinates(mechanism, names & moving, acting),
        actuators=acting,
        contacts=mechanism.contacts.among([*left, WORLD]),
    )


def _fix_at(c: PlacedJoint, q: np.ndarray) -> PlacedJoint:
    """A placed joint fixed at q."""
    placed = Transform.of(c.placement.rotation, c.placement.position).then(c.joint.placement(q.tolist()))
    rotation: Any = tuple(tuple(map(float, row)) for row in placed.R)
    position: Any = tuple(map(float, placed.p))
    return PlacedJoint(c.name, Fixed(), c.parent, c.child, Placement(rotation, position), (), (), (), (), ())
