"""Cartesian ↔ generalized velocities (Liu-Jain §6.1).

V (..., n_bodies, 6) are twists of ours: [angular; linear] of each body's origin in its own axes, as `robot.twists`
makes them; `twist_from_world` brings others into this form. The way back has more equations than unknowns: three
routes, which agree where V can be reached, and a residual that says where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..joints.base import Joint
from ..linalg import apply, inverse_in_units
from ..system.system import System
from .batched_vectors import read
from .numbered_robot import (
    joint_subspace,
    links,
    read_with_q,
    reduced_velocities,
    relative_pose,
    twist_in_child,
    twists_at_com,
)


class Velocities(NamedTuple):
    """Generalized velocities v (..., nv), and the part V - J v (..., n_bodies, 6) of V that they do not make."""

    v: np.ndarray
    residual: np.ndarray


class JointVelocity(NamedTuple):
    """Velocities v (..., nv) of one joint, and the part V - S v (..., 6) of V that they do not make."""

    v: np.ndarray
    residual: np.ndarray


def joint_velocity(joint: Joint, q: Any, V: Any) -> JointVelocity:
    """Velocity of one joint from the twist of its child.

    Parameters
    ----------
    joint : Joint
        The joint.
    q : array_like, shape (..., nq)
        Its coordinates.
    V : array_like, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s) of the child relative to the parent, in child axes.

    Returns
    -------
    JointVelocity
        v = S⁺ V (..., nv), and the part V - S v (..., 6) that it does not make.

    Notes
    -----
    Liu-Jain eq. 66, with translations. Where S loses rank (gimbal lock) the shortest v is taken.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.convert.joint_velocity(fb.joints.Revolute("z"), [0.1], [0, 0, 2.0, 0, 0, 0]).v
    array([2.])
    """
    q, V = read("q", q, joint.nq), read("V", V, 6)
    S = joint_subspace(joint, q)
    v = apply(inverse_in_units(S), V) if joint.nv else np.zeros((*V.shape[:-1], 0))
    return JointVelocity(v, V - apply(S, v))


def _with_residual(robot: System, q: np.ndarray, V: np.ndarray, v: np.ndarray) -> Velocities:
    return Velocities(v, V - robot.twists(q, v))


def velocities_by_joint(robot: System, q: Any, V: Any) -> Velocities:
    """Velocity of a robot from the twists of its bodies, each joint by itself.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.

    Returns
    -------
    Velocities
        v (..., nv), and the part V - J v (..., n_bodies, 6) that it does not make.

    Notes
    -----
    v_k = S_k⁺ (V_k - X_k V_λ(k)) (Liu-Jain eq. 62-66), linear in the bodies. In a cluster the velocities of its
    independent joints are taken.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.velocities_by_joint(robot, [0.1, 0.2], robot.twists([0.1, 0.2], [1.0, 0.5])).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    return _by_joint(robot, q, V, lambda V, residual: V)


def velocities_recursive(robot: System, q: Any, V: Any) -> Velocities:
    """Velocity of a robot from the twists of its bodies, from the root outwards.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.

    Returns
    -------
    Velocities
        v (..., nv), and the part V - J v (..., n_bodies, 6) that it does not make.

    Notes
    -----
    Each joint follows its body as seen from where the joints before it lead: unlike in `velocities_by_joint`, what one
    joint cannot make is left to those it carries.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.velocities_recursive(robot, [0.1, 0.2], robot.twists([0.1, 0.2], [1.0, 0.5])).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    return _by_joint(robot, q, V, lambda V, residual: V - residual)


def _by_joint(
    robot: System, q: np.ndarray, V: np.ndarray, passed_on: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Velocities:
    """v_k = S_k⁺ (V_k - X_k V'_λ), where V' is what each body passes on to those it carries."""
    poses, q_all = robot.poses(q), robot.expand(q)
    handed: dict[int, np.ndarray] = {-1: np.zeros_like(V[..., 0, :])}
    v_all = np.zeros((*q.shape[:-1], sum(link.joint.nv for link in links(robot))))
    for link in links(robot):
        own, above = V[..., link.body, :], twist_in_child(relative_pose(poses, link), handed[link.parent])
        v_all[..., link.v], residual = joint_velocity(link.joint, q_all[..., link.q], own - above)
        handed[link.body] = passed_on(own, residual)
    return _with_residual(robot, q, V, reduced_velocities(robot, v_all))


def velocities_by_least_squares(robot: System, q: Any, V: Any, at: str = "com") -> Velocities:
    """Velocity of a robot from the twists of its bodies, all together.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.
    at : {"com", "origin"}, default "com"
        Points of the bodies whose linear velocities are compared: centres of mass, as in the paper, or origins.

    Returns
    -------
    Velocities
        v = J⁺ V (..., nv) (Liu-Jain eq. 61), and the part V - J v (..., n_bodies, 6) that it does not make, of the
        origins for either `at`.

    Notes
    -----
    v minimises the sum over the bodies of |Δω|² + |Δv|² in SI units, where Δω is the error of the angular velocity and
    Δv that of the linear velocity at the chosen point; loops are kept. Twists that the joints can make give the same v
    for both points, others do not.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> twists = robot.twists([0.1, 0.2], [1.0, 0.5])
    >>> convert.velocities_by_least_squares(robot, [0.1, 0.2], twists).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    if at not in ("com", "origin"):
        raise ArgumentError(f"at={at!r}: expected 'com' (the centres of mass) or 'origin' (of the bodies)")
    J, goal = robot.jacobians(q), V[..., None]
    if at == "com":
        J, goal = twists_at_com(robot, J), twists_at_com(robot, goal)
    tall = J.reshape(*J.shape[:-3], -1, robot.nv)
    v = apply(inverse_in_units(tall), goal.reshape(*V.shape[:-2], -1))
    return _with_residual(robot, q, V, v)
