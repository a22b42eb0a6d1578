"""Armature of joints whose velocities do not commute: the forces that turn its momentum.

An armature A has the kinetic energy ½ vᵀ A v in the velocities of its joint. On a Lie group this is a left-invariant
metric, and its equations of motion are those of a body that moves freely on the group (From eq. 75):

    A a - ad_vᵀ A v = τ.

The second term is zero where v = q̇, and for an armature that is the same about all axes of a spherical joint. The
Coriolis matrix is that of the Levi-Civita connection of A (Koszul's formula), skew-symmetric, as A is constant:

    C_ij = ½ ((A e_i) · [v, e_j] - (A e_j) · [v, e_i] - (A v) · [e_j, e_i]).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..joints.base import Joint
from ..joints.euclidean import is_flat
from ..spatial.linear import Mat, Scalar, Vec, is_zero
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .sweep import Sweeps


def _times(armature: Vec, v: Sequence[Scalar]) -> Vec:
    return Vec([j * x for j, x in zip(armature, v, strict=True)])


def force(joint: Joint, armature: Vec, v: Vec) -> Vec:
    """-ad_vᵀ A v (nv)."""
    return -joint.coadjoint(v, _times(armature, v))


def _brackets(joint: Joint, armature: Vec, v: Vec) -> tuple[Mat, Mat]:
    """P_ij = (A e_i) · [v, e_j] and N_ij = (A v) · [e_j, e_i]."""
    units, momentum = Mat.identity(joint.nv), _times(armature, v)
    P = Mat(joint.coadjoint(v, _times(armature, e)) for e in units)
    return P, Mat.from_columns([joint.coadjoint(e, momentum) for e in units])


def coriolis(joint: Joint, armature: Vec, v: Vec) -> Mat:
    """C (nv, nv) of the armature, with C v = -ad_vᵀ A v."""
    P, N = _brackets(joint, armature, v)
    return (P - P.T - N) * 0.5


def force_by_velocity(joint: Joint, armature: Vec, v: Vec) -> Mat:
    """∂(-ad_vᵀ A v)/∂v (nv, nv)."""
    P, N = _brackets(joint, armature, v)
    return -(P.T + N)


def is_gyroscopic(joint: Joint, armature: Vec) -> bool:
    """Whether motion turns the momentum of an armature, as far as that is known: not if ad_vᵀ A v is zero for all v."""
    if all(map(is_zero, armature)) or is_flat(joint):
        return False
    if any(x.__class__ is not float for x in armature):
        return True
    units = [Vec(e) for e in Mat.identity(joint.nv)]
    sums = [a + b for n, a in enumerate(units) for b in units[n:]]
    return any(any(force(joint, armature, v)) for v in (*units, *sums))


def gyroscopic_links(s: Sweeps) -> list[int]:
    """The links whose armature motion turns."""
    return [i for i, link in enumerate(s.tree.links) if is_gyroscopic(link.joint, s.armature[i])]


def forces(s: Sweeps, v: Sequence[Vec]) -> dict[int, Vec]:
    """-ad_vᵀ A v by link, of those that have any."""
    call = s.recorder.call
    return {i: call(force, s.tree.links[i].joint, s.armature[i], v[i]) for i in gyroscopic_links(s)}


def forces_by_cluster(
    s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState], v: Sequence[Vec]
) -> dict[int, Vec]:
    """-Gᵀ ad_vᵀ A v by cluster, of those that have any."""
    of_links, found = forces(s, v), {}
    for n, (cluster, e) in enumerate(zip(clusters, states, strict=True)):
        if any(i in of_links for i in cluster.links):
            still = [Vec([0.0] * s.tree.links[i].joint.nv) for i in cluster.links]
            parts = [of_links.get(i, none) for i, none in zip(cluster.links, still, strict=True)]
            found[n] = e.project(s.recorder.call, tuple(parts))
    return found


def regressor_columns(joint: Joint, v: Vec) -> Mat:
    """-ad_vᵀ A v (nv, nv) for a unit of each entry of A, column by column."""
    units = Mat.identity(joint.nv)
    return Mat.from_columns([force(joint, Vec(e), v) for e in units])
