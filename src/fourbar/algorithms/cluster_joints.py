"""Cluster joints: motion and force subspaces of whole clusters, as matrices over their bodies (Chignoli §V).

A cluster k has bodies i, each with a parent body λ(i) and an output body Λ(i): the nearest body outside the cluster
that carries it. Spatial vectors of all bodies are stacked, each in the axes of its body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec, dot
from ..spatial.solve import factor
from ..spatial.subspace import Columns
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, ClusterTree
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from .kinematics import place
from .sweep import Sweeps, outward


class ClusterJoint(NamedTuple):
    """A cluster of n bodies at a configuration; the lists go by body.

    `inner`: the parent of each body within the cluster, -1 for an output body. `outputs`: the link of its output body,
    and `parent_links` those of the parent cluster. `steps`: its pose in its parent body. `subspaces`: S_i of its joint,
    in the axes of the body.
    """

    inner: tuple[int, ...]
    outputs: tuple[int, ...]
    parent_links: tuple[int, ...]
    steps: tuple[Transform, ...]
    subspaces: tuple[Columns, ...]


def step_between_bodies(k: Kinematics, parent: Transform, body: Transform) -> Transform:
    """Pose of a body in its parent body, from the poses of both in the frames of their links."""
    return place(parent.inverse(), k.X.then(body))


def subspace_of_body(k: Kinematics, body: Transform) -> Columns:
    """S of a link's joint in the axes of its body."""
    return k.S.to_child(body)


def cluster_joint(s: Sweeps, cluster_tree: ClusterTree, cluster: Cluster) -> ClusterJoint:
    """A cluster with placements and motion subspaces of its joints, between bodies."""
    above, links = s.tree.parents, cluster.links
    poses = {i: cluster_tree.bodies[c.child].pose for i, c in enumerate(cluster_tree.moving)} | {GROUND: IDENTITY}
    outputs = outward(cluster.inner, None, lambda n, output: above[links[n]] if output is None else output)
    parent_links = next((c.links for c in cluster_tree.clusters if set(outputs) & set(c.links)), (GROUND,))
    return ClusterJoint(
        cluster.inner,
        tuple(outputs),
        parent_links,
        tuple(s.step(i, step_between_bodies, poses[above[i]], poses[i]) for i in links),
        tuple(s.step(i, subspace_of_body, poses[i]) for i in links),
    )


def pose_in_output(above: Transform | None, step: Transform) -> Transform:
    """Pose of a body in its output body, from that of its parent (None: the parent is the output body)."""
    return step if above is None else place(above, step)


def motion_matrix(T: Transform) -> Mat:
    """X = Ad(T⁻¹) (6 x 6)."""
    return Mat.from_columns([T.motion_to_child(Twist.of(e)).six() for e in Mat.identity(6)])


def cluster_transform(joint: ClusterJoint, call: Any) -> list[list[Any]]:
    """𝖷 (6 n x 6 n_parent, by rows): one block per body, in the columns of its output body (§V-B1)."""
    poses = outward(joint.inner, None, lambda n, above: call(pose_in_output, above, joint.steps[n]))
    rows = []
    for pose, output in zip(poses, joint.outputs, strict=True):
        first = 6 * joint.parent_links.index(output)
        for block in call(motion_matrix, pose):
            row: list[Any] = [0.0] * (6 * len(joint.parent_links))
            row[first : first + 6] = block
            rows.append(row)
    return rows


def motion_columns(joint: ClusterJoint, call: Any) -> list[list[Any]]:
    """X_Λλ block(S_i) (6 n x n_q, by columns): the output-relative motions of unit joint velocities (eq. 19, 20)."""
    columns = []
    for i, subspace in enumerate(joint.subspaces):
        for column in subspace.twists():

            def move(n: int, above: Twist | None, i: int = i, column: Twist = column) -> Twist | None:
                moved = None if above is None else call(twist_of_child, joint.steps[n], above)
                return column if n == i else moved

            moving = outward(joint.inner, None, move)
            columns.append([x for twist in moving for x in (twist or Twist.zero()).six()])
    return columns


def twist_of_child(T: Transform, V: Twist) -> Twist:
    """The motion of a body that moves with its parent."""
    return T.motion_to_child(V)


def reaction_on_parent(T: Transform, F: Wrench) -> Wrench:
    """The reaction of a wrench across a joint on the parent."""
    return -T.force_to_parent(F)


def force_of_loop(row: Vec, active: Mat) -> Vec:
    """Tᵃ kᵀ (6 n) of a row k of K, from the columns of Tᵃ: the wrenches of a loop's force on joint velocities."""
    return active.transpose_times(row)


def scale_column(column: Vec, scale: float) -> Vec:
    """A column for a velocity that is `scale` times the joint's."""
    return column * (1.0 / scale)


def active_wrenches(S: Columns) -> Columns:
    """Tᵃ = S (Sᵀ S)⁻¹ (6 x nv): wrenches with Sᵀ Tᵃ = 1."""
    gram = factor(Mat(Vec([dot(a, b) for b in S.columns]) for a in S.columns))
    return Columns(tuple(gram.solve_columns(Mat(S.columns))))


def constraint_wrenches(S: Columns) -> Columns:
    """Tᶜ (6 x (6 - nv)): wrenches with Sᵀ Tᶜ = 0."""
    return S.complement()


def across_cluster(joint: ClusterJoint, i: int, F: Wrench, call: Any) -> Vec:
    """X*_Λλ (6 n): a wrench on body i, with the reaction on its parent where this is in the cluster (eq. 22, 23)."""
    acting = [Wrench.zero()] * len(joint.inner)
    acting[i] = F
    if joint.inner[i] >= 0:
        acting[joint.inner[i]] = call(reaction_on_parent, joint.steps[i], F)
    return Vec([x for wrench in acting for x in wrench.six()])


def force_columns(
    joint: ClusterJoint, independent: Sequence[tuple[int, float]], loop_rows: Sequence[Sequence[Any]], call: Any
) -> tuple[list[Vec], list[Vec]]:
    """𝖳ᵃ and 𝖳ᶜ of a cluster, by columns (Chignoli eq. 30, with the forces of the loops in 𝖳ᶜ).

    𝖳ᵃ lifts forces on the `independent` joint velocities (their numbers and scales): 𝖯 selects these. 𝖳ᶜ holds the
    constraint forces of the joints and, with 𝖯ᶜ = Kᵀ, those of the loops, K by `loop_rows` over the joint velocities.
    """
    active: list[Vec] = []
    constraint: list[Vec] = []
    for i, subspace in enumerate(joint.subspaces):
        for columns, wrenches in ((active, active_wrenches), (constraint, constraint_wrenches)):
            spread = call(wrenches, subspace).columns
            columns += [across_cluster(joint, i, Wrench.of(six), call) for six in spread]
    constraint += [call(force_of_loop, row, Mat(active)) for row in loop_rows]
    return [call(scale_column, active[j], scale) for j, scale in independent], constraint
