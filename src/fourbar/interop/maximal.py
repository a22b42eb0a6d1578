"""Maximal coordinates, the pose and twist of every body, ↔ the state (q, v) of a robot.

Engines that treat every body separately (ODE, PhysX, Bullet) and motion capture know bodies, not joints. Loops are
preserved: poses that do not fit are reported, never averaged.

Whole turns that poses do not show: a rotor geared to a joint is at one angle of many, and the gear says at which.

Poses give angles up to 2π. Those of dependent joints follow from the loops φ(q) = 0 by rounding, for each choice of
turns of the independent ones; the choice with the fewest turns that closes the loops is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..joints.base import Joint
from ..linalg import inverse_in_units, pseudo_inverse
from ..spatial.groups import SE3
from ..spatial.groups.so3 import from_matrix
from ..spatial.transform import Transform
from ..system.system import System
from ..tolerances import OPEN
from ..tree.embedding import LoopEmbedding
from .batched_vectors import entries, read, rows, stack
from .numbered_robot import inverse_pose, joint_pose, joint_subspace, links, relative_pose, rows_of, tied_clusters
from .rotations import read_rotation
from .velocities import velocities_by_joint

_SE3 = SE3()


class InversionSettings:
    """Settings of Newton's method from a pose to the coordinates of a joint."""

    STARTS, STEPS, PATIENCE = 20, 60, 6  # of Newton's method: starts, steps, steps without progress
    MET, LONGEST = 1e-14, 0.5  # a gap small enough to stop; the longest step


class JointCoordinates(NamedTuple):
    """Coordinates q (..., nq) of a joint, and the largest error (...) of an entry of its pose at q."""

    q: np.ndarray
    residual: np.ndarray


def joint_coordinates(joint: Joint, T: Any, near: Any = None) -> JointCoordinates:
    """Coordinates of a joint from the pose of its child in its parent.

    Parameters
    ----------
    joint : Joint
        The joint.
    T : array_like, shape (..., 4, 4)
        Pose of the child in the parent.
    near : array_like, shape (..., nq), optional
        Which of several answers is wanted: angles that count turns and the signs of quaternions are those nearest to
        it. It is where the search begins for joints without a closed form (composites, functions).

    Returns
    -------
    JointCoordinates
        q (..., nq), angles being principal, and how far (...) the pose at q is from T, at most an entry.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> fb.convert.joint_coordinates(fb.joints.Prismatic("z"), np.eye(4)).q
    array([0.])
    """
    T = read("a pose", T, 4, 4)
    guess = None if near is None else np.broadcast_to(read("near", near, joint.nq), (*T.shape[:-2], joint.nq))
    closed = joint.coordinates_of(Transform((rows(T[..., :3, :3]),), entries(T[..., :3, 3])))
    q = _search(joint, T, guess) if closed is None else stack(closed, T.shape[:-2])
    if guess is not None:
        q = _nearest(joint, q, guess)
    return JointCoordinates(q, misfit(joint, q, T))


def _nearest(joint: Joint, q: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Among the q with the same pose: angles with the turns, and quaternions with the sign, nearest to a guess."""
    nearest, turns = q.copy(), turning(joint)
    nearest[..., turns] += _TURN * np.round((guess[..., turns] - q[..., turns]) / _TURN)
    quaternion = [i for i, name in enumerate(joint.q_names) if name in ("qw", "qx", "qy", "qz")]
    away = (guess[..., quaternion] * q[..., quaternion]).sum(axis=-1, keepdims=True) < 0.0
    nearest[..., quaternion] = np.where(away, -q[..., quaternion], q[..., quaternion])
    return nearest


def misfit(joint: Joint, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """The largest difference (...) of an entry between the pose of a joint at q and T."""
    return np.abs(joint_pose(joint, q) - T).max(axis=(-2, -1))


def _anywhere(joint: Joint, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Random coordinates (*size, nq), ignoring limits."""
    unlimited = np.full(joint.nq, np.inf)
    return joint.random(rng, -unlimited, unlimited, size)


@cache
def turning(joint: Joint) -> list[int]:
    """Coordinates that count turns: adding 2π to one does not change the pose."""
    q = _anywhere(joint, np.random.default_rng(0), ())
    moved = q + _TURN * np.eye(joint.nq)
    with np.errstate(all="ignore"):
        same = misfit(joint, moved, joint_pose(joint, q)) < 1e-9
    return np.flatnonzero(same).tolist()


def _gap(joint: Joint, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """The twist (n, 6) that moves the child from its pose at q to T in unit time."""
    D = inverse_pose(joint_pose(joint, q)) @ T
    return stack(_SE3.log((*entries(D[..., :3, 3]), *from_matrix(rows(D[..., :3, :3])))))


def _starts(joint: Joint, n: int, near: np.ndarray | None) -> Iterator[np.ndarray]:
    """Starting points: near, neutral, random."""
    rng = np.random.default_rng(0)
    if near is not None:
        yield near
    yield np.tile(joint.neutral(), (n, 1))
    for _ in range(InversionSettings.STARTS):
        yield _anywhere(joint, rng, (n,))


def _search(joint: Joint, T: np.ndarray, near: np.ndarray | None) -> np.ndarray:
    """The best q (..., nq) of Newton's method from several starts; the first that reaches T is kept."""
    flat = T.reshape(-1, 4, 4)
    guess = None if near is None else near.reshape(-1, joint.nq)
    best, size = np.tile(joint.neutral(), (len(flat), 1)).astype(float), np.full(len(flat), np.inf)
    for start in _starts(joint, len(flat), guess):
        left = np.flatnonzero(size > 1e3 * InversionSettings.MET)
        if not left.size:
            break
        with np.errstate(all="ignore"):
            q, gap = _newton(joint, np.array(start[left], float), flat[left])
        better = gap < size[left]
        best[left[better]], size[left[better]] = q[better], gap[better]
    return best.reshape(*T.shape[:-2], joint.nq)


def _newton(joint: Joint, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Newton steps q ⊕ S⁺ gap; the best q (n, nq) so far, and the length (n) of its gap."""
    best, least, idle = q, np.full(len(q), np.inf), 0
    for _ in range(InversionSettings.STEPS):
        gap = _gap(joint, q, T)
        size = np.nan_to_num(np.linalg.norm(gap, axis=-1), nan=np.inf)
        better = size < least
        idle = 0 if np.any(size < 0.9 * least) else idle + 1
        best, least = np.where(better[:, None], q, best), np.where(better, size, least)
        if np.all(least < InversionSettings.MET) or idle > InversionSettings.PATIENCE:
            break
        S = np.nan_to_num(joint_subspace(joint, q))
        step = np.einsum("bij,bj->bi", inverse_in_units(S), np.nan_to_num(gap))
        length = np.linalg.norm(step, axis=-1, keepdims=True)
        step *= np.minimum(1.0, InversionSettings.LONGEST / np.maximum(length, 1e-300))
        q = stack(joint.integrate(entries(q), entries(step)))
    return best, least


_TURN = 2.0 * np.pi
_REACH = (60, 6, 1)  # turns to try for one, two, or more independent joints
_MOST = 5  # independent joints, beyond which turns are not searched
_ROUNDS = 3  # dependent joints may follow from dependent ones


def _columns(tie: LoopEmbedding) -> tuple[list[int], list[int]]:
    """Coordinates that count turns: of joints with independent velocities, and of the others."""
    chosen = {j for j, _ in tie.independent}
    searched, solved, at_q, at_v = [], [], 0, 0
    for joint in tie.joints:
        own = [at_q + i for i in turning(joint)]
        independent = any(at_v <= j < at_v + joint.nv for j in chosen)
        (searched if independent else solved).extend(own)
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return searched, solved


def _effects(tie: LoopEmbedding, q: np.ndarray, columns: list[int]) -> np.ndarray:
    """The change of φ (n, m, columns) by one more turn of each column."""
    phi = tie.residual(q)
    changes = np.zeros((*phi.shape, len(columns)))
    for i, column in enumerate(columns):
        moved = q.copy()
        moved[:, column] += _TURN
        changes[..., i] = tie.residual(moved) - phi
    return np.where(np.abs(changes) > 1e-9, changes, 0.0)


def _candidates(count: int) -> list[tuple[int, ...]]:
    """Turns of the independent joints, fewest first."""
    if count > _MOST:
        return [(0,) * count]
    reach = _REACH[min(count, len(_REACH)) - 1] if count else 0
    return sorted(product(range(-reach, reach + 1), repeat=count), key=lambda k: (sum(map(abs, k)), k))


def with_turns(tie: LoopEmbedding, q: np.ndarray) -> np.ndarray:
    """Coordinates of all joints (n, nq) of a cluster with the turns that close its loops; unchanged where none do."""
    turned, left = q.copy(), np.flatnonzero(np.abs(tie.residual(q)).max(axis=-1, initial=0.0) > OPEN)
    if not left.size:
        return turned
    searched, solved = _columns(tie)
    affected = np.any(_effects(tie, q[left], searched), axis=(0, 1)).tolist()
    searched = [column for column, used in zip(searched, affected, strict=True) if used]
    for turns in _candidates(len(searched)):
        trial = q[left].copy()
        trial[:, searched] += _TURN * np.array(turns)
        for _ in range(_ROUNDS):
            step = pseudo_inverse(_effects(tie, trial, solved)) @ tie.residual(trial)[..., None]
            trial[:, solved] -= _TURN * np.round(step[..., 0])
        closed = np.abs(tie.residual(trial)).max(axis=-1, initial=0.0) <= OPEN
        turned[left[closed]] = trial[closed]
        left = left[~closed]
        if not left.size:
            break
    return turned


class MaximalState(NamedTuple):
    """Poses (..., n_bodies, 4, 4) of bodies in the world, and their twists (..., n_bodies, 6), in body axes."""

    poses: np.ndarray
    twists: np.ndarray


class Coordinates(NamedTuple):
    """Coordinates q (..., nq), and how far (..., n_bodies) each body's pose is from what its joint and loops allow."""

    q: np.ndarray
    residual: np.ndarray


class State(NamedTuple):
    """Coordinates q (..., nq) and velocities v (..., nv)."""

    q: np.ndarray
    v: np.ndarray


def maximal_from_state(robot: System, q: Any, v: Any) -> MaximalState:
    """Poses and twists of all bodies.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).

    Returns
    -------
    MaximalState
        Poses (..., n_bodies, 4, 4) in the world, and twists (..., n_bodies, 6) in body axes.

    See Also
    --------
    state_from_maximal : The inverse.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.maximal_from_state(robot, [0.1, 0.2], [1.0, 0.0]).twists.shape
    (2, 6)
    """
    return MaximalState(robot.poses(q), robot.twists(q, v))


def read_poses(robot: System, poses: Any) -> np.ndarray:
    """Poses (..., n_bodies, 4, 4), each a rotation, a position and the row (0, 0, 0, 1)."""
    T = read("poses", poses, len(robot.mechanism.bodies), 4, 4)
    read_rotation(T[..., :3, :3], "the rotation of a pose")
    if not np.all(np.isfinite(T)) or np.any(T[..., 3, :] != [0.0, 0.0, 0.0, 1.0]):
        raise ArgumentError("poses are finite 4 x 4 matrices with the last row (0, 0, 0, 1)")
    return T


def coordinates_from_poses(robot: System, poses: Any, near: Any = None) -> Coordinates:
    """Configuration from the poses of all bodies, joint by joint.

    Parameters
    ----------
    robot : System
        The robot.
    poses : array_like, shape (..., n_bodies, 4, 4)
        Poses of all bodies in the world.
    near : array_like, shape (..., nq), optional
        Which of several answers is wanted: that nearest to this.

    Returns
    -------
    Coordinates
        q (..., nq), angles being principal, and how far (..., n_bodies) the pose of each body is from what its joint or
        loops allow.

    Notes
    -----
    Where loops tie angles whose turns poses do not show (gears), the fewest turns that close the loops are taken.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.coordinates_from_poses(robot, robot.poses([0.1, 0.2])).q.round(6)
    array([0.1, 0.2])
    """
    T = read_poses(robot, poses)
    guess = None
    if near is not None:
        guess = robot.expand(np.broadcast_to(read("near", near, robot.nq), (*T.shape[:-3], robot.nq)))
    q_all, residual = _joint_by_joint(robot, T, guess)
    q = reduced_coordinates(robot, q_all)
    if robot.mechanism.loops:
        with np.errstate(all="ignore"):
            missed = np.abs(robot.poses(q) - T).max(axis=(-2, -1))
        residual = np.maximum(residual, np.where(np.isnan(missed), np.inf, missed))
    return Coordinates(q, residual)


def _joint_by_joint(robot: System, T: np.ndarray, guess: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of all joints, and the residual of each."""
    parts, residual = [np.zeros((*T.shape[:-3], 0))], np.zeros(T.shape[:-2])
    for link in links(robot):
        inner = inverse_pose(link.place) @ relative_pose(T, link)
        own = joint_coordinates(link.joint, inner, None if guess is None else guess[..., link.q])
        parts.append(own.q)
        residual[..., link.body] = own.residual
    return np.concatenate(parts, axis=-1), residual


def reduced_coordinates(robot: System, q_all: Any) -> np.ndarray:
    """Configuration from the coordinates of all joints: the inverse of `System.expand`.

    Parameters
    ----------
    robot : System
        The robot.
    q_all : array_like, shape (..., n_all)
        Coordinates (rad, m) of all joints.

    Returns
    -------
    ndarray, shape (..., nq)
        Configuration. Angles are right up to whole turns; where gears tie them, the fewest turns that close the loops
        are added.

    Examples
    --------
    >>> import fourbar as fb
    >>> wrist = fb.robots.differential_wrist()
    >>> fb.convert.reduced_coordinates(wrist, wrist.expand([0.1, 0.2])).round(6)
    array([0.1, 0.2])
    """
    q_all = read("q_all", q_all, sum(c.joint.nq for c in robot.mechanism.joints))
    parts: list[np.ndarray] = [q_all[..., :0]]
    for tie, _, places in tied_clusters(robot):
        part = q_all[..., places]
        if tie is not None:
            full = with_turns(tie, rows_of(part)).reshape(part.shape)
            split = [full[..., j] / scale for j, scale in tie.independent]
            part = stack(split, full.shape[:-1]) if tie.explicit else full
        parts.append(part)
    return np.concatenate(parts, axis=-1)


def _worst(robot: System, residual: np.ndarray) -> int:
    """The body with the largest residual (..., n_bodies)."""
    return int(np.argmax(residual.reshape(-1, len(robot.mechanism.bodies)).max(axis=0)))


def _require_poses(robot: System, q: np.ndarray, residual: np.ndarray, tolerance: float) -> None:
    if not np.all(residual <= tolerance):
        c = robot.mechanism.joints[_worst(robot, residual)]
        raise ArgumentError(
            f"the poses do not fit the robot: that of body {c.child!r} is off by {np.max(residual):.3g} from what "
            f"joint {c.name!r} and the loops allow (tolerance {tolerance:.0e}); `coordinates_from_poses` gives the "
            "residual of every body, and near= says how many turns joints have made"
        )
    gap = robot.loop_gap(q)
    if not np.all(gap <= tolerance):
        raise ArgumentError(
            f"the poses leave the loops open by {np.max(gap):.3g} (tolerance {tolerance:.0e}); near= resolves the "
            "number of whole turns, robot.assemble(q) closes a small gap"
        )


def _require_twists(robot: System, V: np.ndarray, residual: np.ndarray, tolerance: float) -> None:
    size = np.maximum(np.abs(V).max(axis=(-2, -1), initial=0.0), 1e-300)
    missed = np.abs(residual).max(axis=-1) / size[..., None]
    if not np.all(missed <= tolerance):
        c = robot.mechanism.joints[_worst(robot, missed)]
        raise ArgumentError(
            f"the twists are inconsistent: that of body {c.child!r} violates joints or loops by {np.max(missed):.3g} "
            f"of the largest entry (tolerance {tolerance:.0e}); `velocities_by_least_squares` gives the nearest v"
        )


def state_from_maximal(robot: System, poses: Any, twists: Any, near: Any = None, tolerance: float = 1e-9) -> State:
    """State of a robot from the poses and twists of all bodies.

    Parameters
    ----------
    robot : System
        The robot.
    poses : array_like, shape (..., n_bodies, 4, 4)
        Poses of all bodies in the world.
    twists : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of all bodies, in their axes.
    near : array_like, shape (..., nq), optional
        Which of several answers is wanted: that nearest to this.
    tolerance : float, default 1e-09
        How far poses (an entry) and twists (relative to the largest of each sample) may be off.

    Returns
    -------
    State
        q (..., nq) and v (..., nv).

    Raises
    ------
    ArgumentError
        If a pose does not fit its joint, a loop is open, or a twist cannot be reached.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> poses, twists = convert.maximal_from_state(robot, [0.1, 0.2], [1.0, 0.0])
    >>> convert.state_from_maximal(robot, poses, twists).v.round(6)
    array([1., 0.])
    """
    V = read("twists", twists, len(robot.mechanism.bodies), 6)
    q, residual = coordinates_from_poses(robot, poses, near)
    _require_poses(robot, q, residual, tolerance)
    found = velocities_by_joint(robot, q, V)
    _require_twists(robot, V, found.residual, tolerance)
    return State(q, found.v)
