"""Clusters as joints between clusters: the matrices that Chignoli's algorithms are written with (§V)."""

from __future__ import annotations

from typing import Any

from ...algorithms import cluster_joints
from ...constraints.trace import cut
from ...errors import unknown
from ...spatial.linear import Mat, Vec
from ...tree.cluster_tree import ClusterTree
from ..arguments import Q
from ..context import Context
from ..registry import Option, Outputs, flat, method


def _read_cluster(cluster_tree: ClusterTree, cluster: Any) -> dict[str, Any]:
    """The number of the cluster that a body belongs to."""
    home = {cluster_tree.moving[i].child: n for n, own in enumerate(cluster_tree.clusters) for i in own.links}
    if cluster not in home:
        raise unknown("moving body", cluster, home)
    return {"cluster": home[cluster]}


_CLUSTER = Option("cluster", required=True, written="BODY", type="str", text="A body of the cluster.")


def _joint(c: Context, cluster: int) -> cluster_joints.ClusterJoint:
    return cluster_joints.cluster_joint(c.sweeps(), c.model.cluster_tree, c.clusters[cluster])


def _loop_rows(tie: Any, q: Any) -> Any:
    return Mat(Vec(row) for row in tie.loop_rows([x for own in q for x in own]))


@method(Q, results="S", options=[_CLUSTER], read=_read_cluster)
def cluster_subspace(c: Context, cluster: int) -> Outputs:
    """Motion subspace of a cluster joint.

    Returns
    -------
    S : ndarray, shape (..., 6 n, k)
        𝖲 of a cluster of n bodies with k independent velocities ẏ: 𝖲 ẏ are the twists of its bodies relative to their
        output bodies, stacked in the order of ``clusters[...].bodies``, each in the axes of its body.

    See Also
    --------
    cluster_transform : 𝖷, for the motion of the output bodies.
    cluster_force_subspaces : 𝖳ᵃ and 𝖳ᶜ.
    clusters : The clusters by name.

    Notes
    -----
    𝖲 = X_Λλ block(S_i) G (Chignoli eq. 24). The output body of a body is the nearest one outside the cluster that
    carries it. The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.cluster_subspace(robot.neutral(), "link1").shape
    (18, 1)
    """
    columns = cluster_joints.motion_columns(_joint(c, cluster), c.recorder.call)
    sizes = [c.tree.links[i].joint.nv for i in c.clusters[cluster].links]
    rows = [c.cluster_states[cluster].project(c.recorder.call, cut(row, sizes)) for row in zip(*columns, strict=True)]
    return [("S", (len(rows), c.clusters[cluster].embedding.nv), flat(rows))]


@method(Q, results="X", options=[_CLUSTER], read=_read_cluster)
def cluster_transform(c: Context, cluster: int) -> Outputs:
    """Transform of motions from the parent cluster to a cluster.

    Returns
    -------
    X : ndarray, shape (..., 6 n, 6 m)
        𝖷 from the m bodies of the parent cluster (the ground counts as one) to the n bodies of this one, both in the
        order of ``clusters[...].bodies``: one 6 x 6 block per body, in the columns of its output body. Its transpose
        carries wrenches to the parent cluster.

    See Also
    --------
    cluster_subspace : 𝖲.

    Notes
    -----
    The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ (Chignoli §V-B).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.cluster_transform(robot.neutral(), "link1").shape
    (18, 6)
    """
    rows = cluster_joints.cluster_transform(_joint(c, cluster), c.recorder.call)
    return [("X", (len(rows), len(rows[0])), flat(rows))]


@method(Q, results="Ta Tc", options=[_CLUSTER], read=_read_cluster)
def cluster_force_subspaces(c: Context, cluster: int) -> Outputs:
    """Active and constraint force subspaces of a cluster joint.

    Returns
    -------
    Ta : ndarray, shape (..., 6 n, k)
        𝖳ᵃ: the wrenches on the n bodies of the cluster, stacked in the order of ``clusters[...].bodies``, of unit
        forces on its k independent velocities, applied at the independent joints.
    Tc : ndarray, shape (..., 6 n, 6 n - k)
        𝖳ᶜ: a basis of the constraint wrenches: those of the joints, then those of the loops.

    See Also
    --------
    cluster_subspace : 𝖲, with 𝖲ᵀ 𝖳ᵃ = 1 and 𝖲ᵀ 𝖳ᶜ = 0.

    Notes
    -----
    𝖳ᵃ = X*_Λλ block(Tᵃ_i) 𝖯 with Gᵀ 𝖯 = 1, where 𝖯 selects the independent joints (Chignoli eq. 30). 𝖳ᶜ holds X*_Λλ
    block(Tᶜ_i), which eq. 30 has, and X*_Λλ block(Tᵃ_i) Kᵀ, the forces of the loops, which it lacks. The wrenches
    across the cluster joint are 𝖿 = 𝖳ᵃ τ + 𝖳ᶜ λ, with 𝖲ᵀ 𝖿 = τ (eq. 31).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> Ta, Tc = robot.cluster_force_subspaces(robot.neutral(), "link1")
    >>> S = robot.cluster_subspace(robot.neutral(), "link1")
    >>> (S.T @ Ta).round(12), bool(abs(S.T @ Tc).max() < 1e-12)
    (array([[1.]]), True)
    """
    joint, this_cluster = _joint(c, cluster), c.clusters[cluster]
    tie, independent = this_cluster.tie, this_cluster.embedding.independent
    rows = [] if tie is None else c.recorder.call(_loop_rows, tie, c.cluster_states[cluster].q)
    active, constraint = cluster_joints.force_columns(joint, independent, rows, c.recorder.call)
    size = 6 * len(this_cluster.links)
    return [
        ("Ta", (size, len(active)), _by_rows(active)),
        ("Tc", (size, len(constraint)), _by_rows(constraint)),
    ]


def _by_rows(columns: list[Vec]) -> list[Any]:
    """The entries of a matrix by rows, from its columns."""
    return flat(list(zip(*columns, strict=True)))
