"""Armature beyond a number that resists acceleration: the forces that turn its momentum, and blocks that couple joints.

An armature A has the kinetic energy ½ vᵀ A v in the velocities of its joints. On a Lie group this is a left-invariant
metric, and its equations of motion are those of a body that moves freely on the group (From eq. 75):

    A a - ad_vᵀ A v = τ.

The second term is zero where v = q̇, and for an armature that is the same about all axes of a spherical joint. The
Coriolis matrix is that of the Levi-Civita connection of A (Koszul's formula), skew-symmetric, as A is constant:

    C_ij = ½ ((A e_i) · [v, e_j] - (A e_j) · [v, e_i] - (A v) · [e_j, e_i]).

Where A couples several joints their velocities are one vector, of the product of their groups. The diagonal of A is
treated link by link, the entries off the diagonal by `CoupledLinks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import Any, NamedTuple

from ..constraints.trace import cut
from ..joints.base import Joint
from ..joints.euclidean import is_flat
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .sweep import Sweeps


class Metric(NamedTuple):
    """Armature over the velocities of some joints."""

    joints: tuple[Joint, ...]
    A: Mat  # (nv, nv) of these joints

    @staticmethod
    def of_joint(joint: Joint, armature: Vec) -> Metric:
        """The one of a joint, by its diagonal."""
        each = range(joint.nv)
        return Metric((joint,), Mat(Vec([armature[i] if i == j else 0.0 for j in each]) for i in each))

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.A)

    def momentum(self, v: Sequence[Scalar]) -> Vec:
        """A v."""
        return self.A @ v

    def coadjoint(self, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
        """ad_vᵀ p."""
        if len(self.joints) == 1:
            return self.joints[0].coadjoint(v, p)
        sizes = [joint.nv for joint in self.joints]
        parts = zip(self.joints, cut(v, sizes), cut(p, sizes), strict=True)
        return Vec([x for joint, own, momentum in parts for x in joint.coadjoint(own, momentum)])


def force(metric: Metric, v: Vec) -> Vec:
    """-ad_vᵀ A v (nv)."""
    return -metric.coadjoint(v, metric.momentum(v))


def _brackets(metric: Metric, v: Vec) -> tuple[Mat, Mat]:
    """P_ij = (A e_i) · [v, e_j] and N_ij = (A v) · [e_j, e_i]."""
    units, momentum = Mat.identity(metric.nv), metric.momentum(v)
    P = Mat(metric.coadjoint(v, metric.momentum(e)) for e in units)
    return P, Mat.from_columns([metric.coadjoint(e, momentum) for e in units])


def coriolis(metric: Metric, v: Vec) -> Mat:
    """C (nv, nv) of the armature, with C v = -ad_vᵀ A v."""
    P, N = _brackets(metric, v)
    return (P - P.T - N) * 0.5


def force_by_velocity(metric: Metric, v: Vec) -> Mat:
    """∂(-ad_vᵀ A v)/∂v (nv, nv)."""
    P, N = _brackets(metric, v)
    return -(P.T + N)


def is_gyroscopic(metric: Metric) -> bool:
    """Whether motion turns the momentum of an armature, as far as that is known: not if ad_vᵀ A v is zero for all v."""
    entries = [x for row in metric.A for x in row]
    if all(map(is_zero, entries)) or all(map(is_flat, metric.joints)):
        return False
    if any(x.__class__ is not float for x in entries):
        return True
    units = [Vec(e) for e in Mat.identity(metric.nv)]
    sums = [a + b for n, a in enumerate(units) for b in units[n:]]
    return any(any(force(metric, v)) for v in (*units, *sums))


class Gyroscopic(NamedTuple):
    """Links the momentum of whose armature turns as they move, and that armature."""

    links: tuple[int, ...]
    metric: Metric


def gyroscopic(s: Sweeps) -> list[Gyroscopic]:
    """All armature whose momentum motion turns."""
    return gyroscopic_diagonals(s) + gyroscopic_couplings(s)


def gyroscopic_diagonals(s: Sweeps) -> list[Gyroscopic]:
    """The diagonals of A whose momentum motion turns, link by link."""
    found = [Gyroscopic((i,), Metric.of_joint(link.joint, s.armature[i])) for i, link in enumerate(s.tree.links)]
    return [x for x in found if is_gyroscopic(x.metric)]


def gyroscopic_couplings(s: Sweeps) -> list[Gyroscopic]:
    """The entries of A off the diagonal whose momentum motion turns, by the links that they couple."""
    links = s.tree.links
    found = [Gyroscopic(x.links, Metric(tuple(links[i].joint for i in x.links), x.A)) for x in s.tree.couplings]
    return [x for x in found if is_gyroscopic(x.metric)]


def stack(links: Sequence[int], parts: Sequence[Vec]) -> Vec:
    """The entries of some links, one after the other."""
    return parts[links[0]] if len(links) == 1 else Vec([x for i in links for x in parts[i]])


def _add_by_link(s: Sweeps, links: Sequence[int], x: Vec, totals: dict[int, Vec]) -> None:
    """Add the entries of some links to totals by link."""
    for i, own in zip(links, cut(x, [s.tree.links[i].joint.nv for i in links]), strict=True):
        totals[i] = s.recorder.call(add, totals[i], own) if i in totals else own


def forces(s: Sweeps, v: Sequence[Vec]) -> dict[int, Vec]:
    """-ad_vᵀ A v by link, of those that have any."""
    return forces_of(s, gyroscopic(s), v)


def forces_of(s: Sweeps, armatures: Sequence[Gyroscopic], v: Sequence[Vec]) -> dict[int, Vec]:
    """-ad_vᵀ A v of some armatures, by link."""
    found: dict[int, Vec] = {}
    for links, metric in armatures:
        _add_by_link(s, links, s.recorder.call(force, metric, stack(links, v)), found)
    return found


def _coupled_momentum(A: Mat, v: Vec) -> Vec:
    return A @ v


def coupled_momenta(s: Sweeps, v: Sequence[Vec]) -> dict[int, Vec]:
    """A v of the entries of A off the diagonal, by link, of those that have any; the force A a for accelerations."""
    found: dict[int, Vec] = {}
    for links, A in s.tree.couplings:
        _add_by_link(s, links, s.recorder.call(_coupled_momentum, A, stack(links, v)), found)
    return found


def _coupled_energy(A: Mat, v: Vec) -> Scalar:
    return 0.5 * dot(A @ v, v)


def coupled_energies(s: Sweeps, v: Sequence[Vec]) -> list[Scalar]:
    """½ vᵀ A v of the entries of A off the diagonal, by coupling."""
    return [s.recorder.call(_coupled_energy, x.A, stack(x.links, v)) for x in s.tree.couplings]


def places_of(s: Sweeps, links: Sequence[int]) -> list[int]:
    """The numbers of the velocities of some links."""
    first = s.tree.first_v
    return [first[i] + k for i in links for k in range(s.tree.links[i].joint.nv)]


def _sum(block: Mat, A: Mat) -> Mat:
    return block + A


def add_block(s: Sweeps, M: list[list[Any]], links: Sequence[int], function: Callable[..., Mat], *args: Any) -> None:
    """Replace the block of some links in a matrix (rows of scalars) by function(block, *args)."""
    places = places_of(s, links)
    own = Mat(Vec([M[i][j] for j in places]) for i in places)
    for i, row in zip(places, s.recorder.call(function, own, *args), strict=True):
        for j, x in zip(places, row, strict=True):
            M[i][j] = x


def add_couplings(s: Sweeps, M: list[list[Any]]) -> None:
    """Add the entries of A off the diagonal to the mass matrix, rows of scalars."""
    for links, A in s.tree.couplings:
        add_block(s, M, links, _sum, A)


def forces_by_cluster(
    s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState], v: Sequence[Vec]
) -> dict[int, Vec]:
    """-Gᵀ ad_vᵀ A v by cluster, of those that have any."""
    of_links, gyroscopic = forces(s, v), {}
    for n, (cluster, e) in enumerate(zip(clusters, states, strict=True)):
        if any(i in of_links for i in cluster.links):
            still = [Vec([0.0] * s.tree.links[i].joint.nv) for i in cluster.links]
            parts = [of_links.get(i, none) for i, none in zip(cluster.links, still, strict=True)]
            gyroscopic[n] = e.project(s.recorder.call, tuple(parts))
    return gyroscopic


def regressor_columns(joint: Joint, v: Vec) -> Mat:
    """-ad_vᵀ A v (nv, nv) for a unit of each entry of A, column by column."""
    units = Mat.identity(joint.nv)
    return Mat.from_columns([force(Metric.of_joint(joint, Vec(e)), v) for e in units])
