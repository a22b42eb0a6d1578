"""Coordinates of one joint from the pose of its child in its parent: in closed form, or by Newton's method."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..joints.base import Joint
from ..linalg import inverse_in_units
from ..spatial.groups import SE3
from ..spatial.groups.so3 import from_matrix
from ..spatial.transform import Transform
from .batched_vectors import entries, read, rows, stack
from .numbered_robot import inverse_pose, joint_pose, joint_subspace

_SE3 = SE3()
_TURN = 2.0 * np.pi


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
