"""The robot as conversions need it: its bodies and joints by number, and maps from joints back to clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..joints.base import Joint
from ..mechanism.mechanism import WORLD
from ..spatial.transform import Transform
from ..system.system import System
from ..tree.clusters import Cluster
from ..tree.embedding import LoopEmbedding
from .batched_vectors import common_batch, entries, read, stack, stack_rows


class BodyOnJoint(NamedTuple):
    """A body on its joint: numbers of body and parent (-1: the world), and where the joint's q and v begin.

    These are places in the coordinates and velocities of all joints (`robot.expand(q)`). `place` (4 x 4) is the pose of
    the joint on the parent.
    """

    body: int
    parent: int
    name: str
    joint: Joint
    place: np.ndarray
    q: slice
    v: slice


def links(robot: System) -> Iterator[BodyOnJoint]:
    """All bodies, parents first."""
    number = {b.name: i for i, b in enumerate(robot.mechanism.bodies)} | {WORLD: -1}
    at_q = at_v = 0
    for i, c in enumerate(robot.mechanism.joints):
        place = np.eye(4)
        place[:3, :3], place[:3, 3] = c.placement.rotation, c.placement.position
        q, v = slice(at_q, at_q + c.joint.nq), slice(at_v, at_v + c.joint.nv)
        yield BodyOnJoint(i, number[c.parent], c.name, c.joint, place, q, v)
        at_q, at_v = q.stop, v.stop


def inverse_pose(T: np.ndarray) -> np.ndarray:
    """T⁻¹ (..., 4, 4)."""
    back = np.zeros_like(T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    back[..., :3, :3], back[..., 3, 3] = R, 1.0
    back[..., :3, 3] = -np.einsum("...ij,...j->...i", R, T[..., :3, 3])
    return back


def relative_pose(poses: np.ndarray, link: BodyOnJoint) -> np.ndarray:
    """The pose (..., 4, 4) of a body in its parent."""
    own = poses[..., link.body, :, :]
    return own if link.parent < 0 else inverse_pose(poses[..., link.parent, :, :]) @ own


def twist_in_child(T: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A twist (..., 6) of the parent as that of a child at pose T (..., 4, 4) fixed to it: X V."""
    R, p = T[..., :3, :3], T[..., :3, 3]
    w, v = V[..., :3], V[..., 3:]
    turned = [np.einsum("...ij,...i->...j", R, x) for x in (w, v + np.cross(w, p))]
    return np.concatenate(turned, axis=-1)


def twists_at_com(robot: System, V: np.ndarray) -> np.ndarray:
    """Twists of the bodies' origins, columns of V (..., n_bodies, 6, n), as those of their centres of mass."""
    com = np.array([b.com for b in robot.mechanism.bodies])
    at_com = V.copy()
    at_com[..., 3:, :] += np.cross(V[..., :3, :], com[:, :, None], axis=-2)
    return at_com


def transform_matrix(T: Transform, batch: tuple[int, ...]) -> np.ndarray:
    """A transform of arrays as poses (*batch, 4, 4)."""
    found = np.zeros((*batch, 4, 4))
    found[..., :3, :3], found[..., :3, 3], found[..., 3, 3] = stack_rows(T.R), stack(T.p), 1.0
    return found


def joint_pose(joint: Joint, q: np.ndarray) -> np.ndarray:
    """The pose (..., 4, 4) of a joint at q (..., nq)."""
    return transform_matrix(joint.placement(entries(q)), q.shape[:-1])


def joint_subspace(joint: Joint, q: np.ndarray) -> np.ndarray:
    """S (..., 6, nv) of a joint at q (..., nq), in the child's axes."""
    columns = [stack(t.six(), q.shape[:-1]) for t in joint.subspace(entries(q)).twists()]
    return np.stack(columns, axis=-1) if columns else np.zeros((*q.shape[:-1], 6, 0))


def _by_cluster(robot: System, sizes: str) -> Iterator[tuple[Cluster, list[int]]]:
    """The clusters, and the places of the entries of their joints among those of all joints."""
    moving = robot.model.cluster_tree.moving
    starts = np.cumsum([0, *(getattr(c.joint, sizes) for c in moving)])
    for cluster in robot.model.cluster_tree.clusters:
        places = [x for i in cluster.links for x in range(int(starts[i]), int(starts[i + 1]))]
        yield cluster, places


def reduced_velocities(robot: System, v_all: Any) -> np.ndarray:
    """Velocity of a robot from those of all its joints: the inverse of `System.expand_velocity`.

    Parameters
    ----------
    robot : System
        The robot.
    v_all : array_like, shape (..., n)
        Velocities of all joints (rad/s, m/s), or accelerations.

    Returns
    -------
    ndarray, shape (..., nv)
        The independent ones, whether the others fit them or not.

    Examples
    --------
    >>> import fourbar as fb
    >>> wrist = fb.robots.differential_wrist()
    >>> fb.convert.reduced_velocities(wrist, [1.0, 1.0, 1.0, 0.0])
    array([1., 0.])
    """
    v_all = read("v_all", v_all, sum(c.joint.nv for c in robot.mechanism.joints))
    parts: list[np.ndarray] = [v_all[..., :0]]
    for cluster, places in _by_cluster(robot, "nv"):
        of_cluster = v_all[..., places]
        chosen = [of_cluster[..., j] / scale for j, scale in cluster.embedding.independent]
        parts.append(stack(chosen, v_all.shape[:-1]))
    return np.concatenate(parts, axis=-1)


def rows_of(x: np.ndarray) -> np.ndarray:
    """A batch of vectors (..., n) as rows (m, n)."""
    return x.reshape(-1, x.shape[-1])


def tied_clusters(robot: System) -> Iterator[tuple[LoopEmbedding | None, tuple[str, ...], list[int]]]:
    """For each cluster its embedding (None: no loop), its loops, and the positions of its coordinates among all
    joints'.
    """
    for cluster, places in _by_cluster(robot, "nq"):
        yield cluster.tie, cluster.loops, places


def read_with_q(robot: System, q: Any, x: Any, what: str, *core: int) -> tuple[np.ndarray, np.ndarray]:
    """q and another argument with the same leading axes."""
    q, x = read("q", q, robot.nq), read(what, x, *core)
    batch = common_batch(q=q.shape[:-1], **{what: x.shape[: x.ndim - len(core)]})
    return np.broadcast_to(q, (*batch, q.shape[-1])), np.broadcast_to(x, (*batch, *core))
