"""Coordinates that are angles, and those too large for their sines to mean anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..joints.base import Joint
from ..model.embedding import Tied
from ..model.lower import Lowered
from .clusters import coordinate_labels

_SPINNING = 1e4  # ratio of a gear from which on the angles that follow are looked at in batches too


class StoredJoint(NamedTuple):
    """A joint whose coordinates are stored in q, and the first of their columns."""

    name: str
    joint: Joint
    first: int


def stored_joints(lowered: Lowered) -> Iterator[StoredJoint]:
    """The joints whose coordinates lie in q as they are, also those of loops that are solved."""
    at = 0
    for group in lowered.groups:
        tie, column = group.embedding, at
        at += tie.nq
        if isinstance(tie, Tied) and tie.explicit:
            continue
        for c in (lowered.moving[i] for i in group.links):
            yield StoredJoint(c.name, c.joint, column)
            column += c.joint.nq


def straight(lowered: Lowered) -> set[int]:
    """The coordinates in q that are distances."""
    return {j.first + k for j in stored_joints(lowered) for k in range(j.joint.nq) if _is_straight(j.joint, k)}


@lru_cache(maxsize=4096)
def _is_straight(joint: Joint, k: int) -> bool:
    """Whether a coordinate moves a joint's child along a straight line without turning it, as distances do."""
    places = []
    for step in (0.0, 0.5, 1.0):
        q = np.array(joint.neutral())
        q[k] += step
        T = joint.placement(q.tolist())
        places.append(np.array([*T.p, *(x for row in T.R for x in row)], float))
    return bool(np.allclose(places[2] - places[1], places[1] - places[0], atol=1e-9))


def _is_angle(joint: Joint, k: int) -> bool:
    """Whether a coordinate is neither a distance nor part of a quaternion."""
    return not any(start <= k < start + 4 for start in joint.quaternions) and not _is_straight(joint, k)


def _every(tie: Tied, y: np.ndarray) -> np.ndarray:
    """The coordinates (..., n) of all joints, from the independent ones (..., nq) of loops that are explicit."""
    if not tie.is_linear:
        with np.errstate(all="ignore"):
            rows = [np.array(tie.coordinates(list(row)), float) for row in y.reshape(-1, tie.nq)]
        return np.array(rows).reshape(*y.shape[:-1], len(tie.traced.q))
    zero = np.array(tie.coordinates([0.0] * tie.nq), float)
    return zero + y @ (np.array([tie.coordinates(row) for row in np.eye(tie.nq).tolist()], float) - zero)


def _angles(lowered: Lowered, q: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Name and values (...) of each coordinate that is an angle, whether it lies in q (..., nq) or follows from it."""
    at = 0
    for group in lowered.groups:
        tie, own = group.embedding, q[..., at : at + group.embedding.nq]
        at += tie.nq
        values, column = _every(tie, own) if isinstance(tie, Tied) and tie.explicit else own, 0
        for c in (lowered.moving[i] for i in group.links):
            for k, name in enumerate(coordinate_labels(c)):
                if _is_angle(c.joint, k):
                    yield name, values[..., column + k]
            column += c.joint.nq


def endless_angles(lowered: Lowered, q: np.ndarray) -> np.ndarray:
    """In which samples (...) some angle is too large for its sine to mean anything."""
    from ..compile.elementary import LARGEST_ANGLE

    found = np.zeros(q.shape[:-1], bool)
    for _, x in _angles(lowered, q):
        found = found | (np.abs(x) > LARGEST_ANGLE)
    return found


def told_endless(lowered: Lowered, argument: str, rows: np.ndarray) -> str:
    """What is wrong with configurations (n, nq) in which an angle is too large for its sine to mean anything."""
    from ..compile.elementary import LARGEST_ANGLE

    for name, x in _angles(lowered, rows):
        size = np.abs(x).max(initial=0.0)
        if size > LARGEST_ANGLE:
            return (
                f"{argument}: the coordinate {name!r} is {size:.6g} in size. Beyond ±{LARGEST_ANGLE:g} an angle in "
                "radians has lost its meaning; take it modulo 2π"
            )
    return ""


def spins(lowered: Lowered) -> bool:
    """Whether moderate coordinates of gears make an angle that is too large."""
    ties = (g.embedding for g in lowered.groups)
    linear = (tie for tie in ties if isinstance(tie, Tied) and tie.explicit and tie.is_linear)
    return any(
        np.abs(np.diff(_every(tie, np.stack([np.zeros(tie.nq), row])), axis=0)).max(initial=0.0) > _SPINNING
        for tie in linear
        for row in np.eye(tie.nq)
    )
