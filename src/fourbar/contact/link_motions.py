"""How the joints of a robot move its links at a state, in axes of the world.

Twists and wrenches of all links of a tree are taken about one point, the origin of its root: then nothing is carried
from link to link, and forces and inertias just add up. The links b of a cluster move by V_b = V_c + T_b y on carriers
c, with the columns T_b of the cluster's velocities y.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithms.kinematics import place_outward
from ..algorithms.sweep import Sweeps
from ..joints import Free
from ..spatial.linear import Mat, Vec, is_zero
from ..spatial.transform import Transform
from ..tree.cluster_tree import GROUND
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from ..tree.states import ClusterState
from .articulated_passes import carry_twist

Mats = tuple[Mat, ...]


def world_columns(k: Kinematics, pose: Transform, origin: Vec) -> Mat:
    """The motion of a link by unit velocities of its joint, (6, nv), about a point, in the axes of the world."""
    arm, columns = pose.p - origin, []
    for s in k.S.twists():
        w = pose.rotate(s.angular)
        columns.append(Vec((*w, *(pose.rotate(s.linear) + arm.cross(w)))))
    return Mat.from_columns(columns)


def tied_columns(k: Kinematics, pose: Transform, origin: Vec, G: Mat, above: Mat | None) -> Mat:
    """The same by the independent velocities of a cluster, beside its carrier; `above`: of the link that carries it."""
    own = world_columns(k, pose, origin) @ G
    return own if above is None else own + above


def world_inertia(k: Kinematics, pose: Transform, origin: Vec) -> Mat:
    """The inertia of a link about a point, in the axes of the world, (6, 6)."""
    return k.I.to_parent(Transform(pose.factors, pose.p - origin)).matrix()


def tied_armature(k: Kinematics, G: Mat) -> Mat:
    """The armature of a link's joint over the independent velocities of its cluster."""
    return Mat(Vec([sum((a * x * y for a, x, y in zip(k.armature, c, d, strict=True)), 0.0) for d in G.T]) for c in G.T)


def _coupled_armature(A: Mat, G: Mats) -> Mat:
    """Armature off the diagonal over the independent velocities of its cluster."""
    rows = Mat(row for block in G for row in block)
    return rows.T @ (A @ rows)


class LinkMotions:
    """How the clusters of a robot move their links at a state, in axes of the world."""

    def __init__(
        self, s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState], poses: dict[int, Transform]
    ) -> None:
        self.call, self.clusters = s.recorder.call, clusters
        self.order = _by_depth(clusters)
        self.place = [_places(cluster) for cluster in clusters]
        self.home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
        self.origin: dict[int, Vec] = {}  # of each link's tree
        self.T: list[Mats] = []
        self.inertia: dict[int, Mat] = {}
        self.armature: list[Mats] = []
        parents, tree = s.tree.parents, s.tree
        for n, cluster in enumerate(clusters):
            s.outward_to(cluster.links, place_outward, poses)
            columns: dict[int, Mat] = {}
            armature: list[Mat] = []
            for b, link in enumerate(cluster.links):
                above, pose = parents[link], poses[link]
                self.origin[link] = pose.p if above == GROUND else self.origin[above]
                self.inertia[link] = s.step(link, world_inertia, pose, self.origin[link])
                if states[n].is_identity and len(cluster.links) == 1:
                    columns[link] = s.step(link, world_columns, pose, self.origin[link])
                else:
                    given = (pose, self.origin[link], states[n].G[b], columns.get(above))
                    columns[link] = s.step(link, tied_columns, *given)
                if not all(is_zero(x) for x in tree.links[link].armature):
                    armature.append(s.step(link, tied_armature, states[n].G[b]))
            for x in tree.couplings:
                if x.links[0] in cluster.links:
                    G = tuple(states[n].G[cluster.links.index(link)] for link in x.links)
                    armature.append(self.call(_coupled_armature, x.A, G))
            self.T.append(tuple(columns[link] for link in cluster.links))
            self.armature.append(tuple(armature))
        alone = [cluster.carriers == (GROUND,) and len(cluster.links) == 1 for cluster in clusters]
        self.floats = [  # whether the velocities of a cluster are those of its link in other axes
            single and not armature and isinstance(tree.links[cluster.links[0]].joint, Free)
            for cluster, single, armature in zip(clusters, alone, self.armature, strict=True)
        ]

    def carriers(self, n: int) -> tuple[int, ...]:
        """The links that carry a cluster; none on the ground."""
        return tuple(x for x in self.clusters[n].carriers if x != GROUND)

    def twists(self, v: Sequence[Vec]) -> dict[int, Vec]:
        """The twists of all links (6,), from the velocities of the clusters."""
        found: dict[int, Vec] = {}
        for n, cluster in enumerate(self.clusters):
            above = tuple(found[x] for x in self.carriers(n))
            moved = self.call(carry_twist, self.place[n], self.T[n], v[n], above)
            found.update(zip(cluster.links, moved, strict=True))
        return found


def _places(cluster: Cluster) -> tuple[int, ...]:
    """For each link of a cluster the number of the carrier that it hangs on, -1 for the ground."""
    if cluster.carriers == (GROUND,):
        return (-1,) * len(cluster.links)
    found: list[int] = []
    for inner in cluster.inner:
        found.append(-1 - inner if inner < 0 else found[inner])
    return tuple(found)


def _by_depth(clusters: Sequence[Cluster]) -> list[int]:
    """Clusters by the number of those that carry them: passes along several limbs at once, which wait for nothing."""
    home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
    depth: list[int] = []
    for cluster in clusters:
        depth.append(0 if cluster.carriers[0] == GROUND else 1 + depth[home[cluster.carriers[0]]])
    return sorted(range(len(clusters)), key=lambda n: (depth[n], n))
