"""Jacobians of the dynamics by sweeps of their own, O(n · depth); other functions are differentiated as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...algorithms import minverse, rnea
from ...algorithms.branch_solver import Solver, among, velocity_parents
from ...algorithms.derivatives import ClusterVariation, Variation, inverse_dynamics_variation, vary_cluster
from ...algorithms.tiles import Rows, plus_product, transpose
from ...spatial.linear import Mat, Vec, is_zero
from ...spatial.transform import Transform
from ...spatial.vectors import Twist, Wrench
from ...tree.cluster_tree import GROUND
from ...tree.states import EmbeddedState, project_forces
from ..context import Context, Record
from ..registry import Outputs, flat
from . import dynamics
from .dynamics import acceleration_parts, hybrid_parts


class _Independent(NamedTuple):
    """∂τ/∂q, ∂τ/∂v and M on the independent velocities, and the variation of the tree."""

    q: Rows
    v: Rows
    a: Rows
    tree: Variation


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b


def _times(c: Context, rows: Rows, blocks: Sequence[tuple[Mat, ...] | None]) -> Rows:
    """A matrix on the velocities of all links times block-diagonal maps to it, by cluster; None is zero."""
    product: Rows = [[] for _ in rows]
    first = c.tree.first_v
    for cluster, block in zip(c.clusters, blocks, strict=True):
        for target, row in zip(product, rows, strict=True):
            parts = tuple(Vec(row[first[i] : first[i] + c.tree.links[i].joint.nv]) for i in cluster.links)
            if block is None or all(is_zero(x) for part in parts for x in part):
                target.extend([0.0] * cluster.embedding.nv)
            else:
                target.extend(c.recorder.call(project_forces, block, parts))
    return product


def _plus(c: Context, a: Rows, b: Rows) -> Rows:
    """The sum; rows in which b is zero stay as they are."""
    found = []
    for x, y in zip(a, b, strict=True):
        found.append(x if all(map(is_zero, y)) else list(c.recorder.call(_sum, Vec(x), Vec(y))))
    return found


def _still(blocks: tuple[Mat, ...]) -> bool:
    return all(is_zero(x) for block in blocks for row in block for x in row)


def _vary_clusters(c: Context, a: Sequence[Vec], tau: Sequence[Vec]) -> list[ClusterVariation | None]:
    """Derivatives of the loops' maps; None where these are constant."""
    variations: list[ClusterVariation | None] = []
    for cluster, e, own_a in zip(c.clusters, c.cluster_states, a, strict=True):
        varied = None
        if isinstance(e, EmbeddedState) and cluster.tie is not None and cluster.embedding.nv:
            forces = tuple(tau[link] for link in cluster.links)
            varied = c.recorder.call(vary_cluster, cluster.embedding, e, own_a, forces)
            changing = (varied.velocity, varied.acceleration, varied.bias, (varied.force,))
            varied = None if all(map(_still, changing)) else varied
        variations.append(varied)
    return variations


def _variation(c: Context, a: Sequence[Vec]) -> _Independent:
    """The derivatives of the inverse dynamics on the independent velocities, at accelerations a by cluster.

    With all joints' velocities q̇ = G ẏ and accelerations q̈ = G ÿ + g, and τ = Gᵀ τ_all, the chain rule.
    """
    by_link = c.links_accelerations(a)
    tree = inverse_dynamics_variation(c.equations(), c.coordinates(), c.velocities(), by_link, c.F_ext(), c.gravity)
    varied = _vary_clusters(c, a, tree.tau)
    q, v, M = (c.columns(rows) for rows in (tree.q, tree.v, tree.a))
    if any(x is not None for x in varied):
        velocity = [x and x.velocity for x in varied]
        acceleration = [x and x.acceleration for x in varied]
        bias = [x and x.bias for x in varied]
        q = _plus(c, _plus(c, q, _times(c, tree.v, velocity)), _times(c, tree.a, acceleration))
        v = _plus(c, v, _times(c, tree.a, bias))
    q, v, M = (transpose(c.columns(transpose(rows))) for rows in (q, v, M))
    first = 0
    for cluster, variation in zip(c.clusters, varied, strict=True):
        n = cluster.embedding.nv
        for i in range(n if variation is not None else 0):
            assert variation is not None
            row = q[first + i]
            row[first : first + n] = c.recorder.call(_sum, Vec(row[first : first + n]), variation.force[i])
        first += n
    return _Independent(q, v, M, tree)


def _pushes(S: tuple[Twist, ...], pose: Transform) -> tuple[Vec, ...]:
    """-Sᵀ for each unit wrench on a body at a pose: one row a unit motion."""
    units = [Wrench.of(Vec([1.0 if i == k else 0.0 for i in range(6)])) for k in range(6)]
    carried = [pose.force_to_parent(unit) for unit in units]
    return tuple(Vec([-f.power(s) for f in carried]) for s in S)


def _by_force(c: Context, tree: Variation) -> Rows:
    """∂τ/∂f_ext (nv, 6 bodies): minus the transposed Jacobians."""
    bodies = c.model.mechanism.bodies
    rows: Rows = [[0.0] * (6 * len(bodies)) for _ in range(c.tree.nv)]
    for b, body in enumerate(bodies):
        home = c.model.cluster_tree.bodies[body.name]
        if home.link == GROUND:
            continue
        pose = c.recorder.call(_then, tree.bodies[home.link].pose, home.pose)
        for i in (home.link, *c.tree.ancestors(home.link)):
            for k, row in enumerate(c.recorder.call(_pushes, tree.bodies[i].S, pose)):
                rows[c.tree.first_v[i] + k][6 * b : 6 * b + 6] = row
    return transpose(c.columns(transpose(rows)))


def _then(pose: Transform, inner: Transform) -> Transform:
    return pose.then(inner)


def _outputs(c: Context, blocks: list[Rows]) -> Outputs:
    sizes = {len(rows[0]) if rows else 0 for rows in blocks}
    entries = [x for rows in blocks for x in flat(rows)]
    shape = (len(blocks), c.nv, c.nv) if len(sizes) == 1 else (len(entries),)
    return [("blocks", shape, entries)]


def inverse_dynamics(c: Context) -> Outputs:
    """∂τ/∂q, ∂τ/∂v, ∂τ/∂a = M, and ∂τ/∂f_ext if it is given."""
    found = _variation(c, c.by_cluster("a"))
    extra = [_by_force(c, found.tree)] if "f_ext" in c.given else []
    return _outputs(c, [found.q, found.v, found.a, *extra])


def bias_force(c: Context) -> Outputs:
    """∂τ/∂q and ∂τ/∂v at acceleration zero, and ∂τ/∂f_ext if it is given."""
    found = _variation(c, c.by_cluster(""))
    extra = [_by_force(c, found.tree)] if "f_ext" in c.given else []
    return _outputs(c, [found.q, found.v, *extra])


def forward_dynamics(c: Context) -> Outputs:
    """∂a/∂q = -M⁻¹ ∂τ/∂q, ∂a/∂v = -M⁻¹ ∂τ/∂v, ∂a/∂τ = M⁻¹, and by f_ext if it is given."""
    _, blocks = acceleration_slopes(c)
    return _outputs(c, blocks)


def acceleration_slopes(c: Context) -> tuple[list[Vec], list[Rows]]:
    """The accelerations of forward dynamics by cluster, and their derivatives by q, v, tau and f_ext if it is given."""
    a = acceleration_parts(c)
    found = _variation(c, a)
    M = Solver(c.recorder, found.a, velocity_parents(c.clusters))
    by_state = [M.negative_solution(rows) for rows in (found.q, found.v)]
    extra = [M.negative_solution(_by_force(c, found.tree))] if "f_ext" in c.given else []
    return a, [*by_state, M.inverse(), *extra]


def _negate(x: Vec) -> Vec:
    return -x


def accelerations_and_multipliers(c: Context) -> tuple[list[Vec], list[Vec], list[Vec]]:
    """By cluster, at a state with forces tau: a = M⁻¹ (τ - bias), λ = M⁻¹ w for the argument w_a, and -λ."""
    s, call = c.equations(), c.recorder.call
    bias = c.project(rnea.inverse_dynamics(s, c.velocities(), c.accelerations(""), c.F_ext(), c.gravity))
    left = [call(_difference, tau, own) for tau, own in zip(c.by_cluster("tau"), bias, strict=True)]
    released = minverse.release_all(s, c.clusters, c.cluster_states)
    a, multiplier = released.solve(left), released.solve(c.by_cluster("w_a"))
    return a, multiplier, [call(_negate, x) for x in multiplier]


class _Mixed:
    """Derivatives when the accelerations of some velocities (p) and the forces of the others (f) are given.

    τ_f = ID_f(q, v, a) gives δa_f = M_ff⁻¹ (δτ_f - X_f - M_fp δa_p) for a change X of the inverse dynamics by q or v,
    and then δτ_p = X_p + M_pf δa_f + M_pp δa_p (Kim Table 7).
    """

    def __init__(self, c: Context, M: Rows, prescribed: list[bool]) -> None:
        self._recorder = c.recorder
        self._n = len(prescribed)
        self._f = [i for i, held in enumerate(prescribed) if not held]
        self._p = [i for i, held in enumerate(prescribed) if held]
        self._M = M
        M_ff = [[M[i][j] for j in self._f] for i in self._f]
        self._M_ff = Solver(c.recorder, M_ff, among(velocity_parents(c.clusters), self._f))
        self._M_pf = [[M[i][j] for j in self._f] for i in self._p]

    def _whole(self, own: list[int], rows: Rows, columns: int) -> Rows:
        """Rows of some velocities among zeros for the others."""
        found: Rows = [[0.0] * columns for _ in range(self._n)]
        for i, row in zip(own, rows, strict=True):
            found[i] = list(row)
        return found

    def by_state(self, X: Rows) -> tuple[Rows, Rows]:
        """Changes of all accelerations and of all forces when the inverse dynamics changes by X."""
        width = len(X[0])
        if not self._f:
            return self._whole([], [], width), X
        moved = self._M_ff.negative_solution([X[i] for i in self._f])
        forces = plus_product(self._recorder, [X[i] for i in self._p], self._M_pf, moved)
        return self._whole(self._f, moved, width), self._whole(self._p, forces, width)

    def by_acceleration(self) -> tuple[Rows, Rows]:
        """By the accelerations that are prescribed; columns of the others are zero."""
        X = [[self._M[i][j] if j in self._p else 0.0 for j in range(self._n)] for i in range(self._n)]
        moved, forces = self.by_state(X)
        for i in self._p:
            moved[i][i] = 1.0
        return moved, forces

    def by_force(self) -> tuple[Rows, Rows]:
        """By the forces that are given; columns of the others are zero."""
        X = [[-1.0 if i == j and j in self._f else 0.0 for j in range(self._n)] for i in range(self._n)]
        moved, forces = self.by_state(X)
        for i in self._f:
            forces[i][i] = 1.0
        return moved, forces


def _difference(a: Vec, b: Vec) -> Vec:
    return a - b


def hybrid_dynamics(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> Outputs:
    """∂a and ∂τ by q, v, the given accelerations and the given forces, and by f_ext if it is given."""
    a, _ = hybrid_parts(c, prescribed)
    variation = _variation(c, a)
    mixed = _Mixed(c, variation.a, [held for cluster in prescribed for held in cluster])
    blocks = [mixed.by_state(variation.q), mixed.by_state(variation.v), mixed.by_acceleration(), mixed.by_force()]
    if "f_ext" in c.given:
        blocks.append(mixed.by_state(_by_force(c, variation.tree)))
    return _outputs(c, [by[k] for k in range(2) for by in blocks])


# By what records the method itself. Recorded like methods, one output of all blocks.
JACOBIANS: dict[Record, Record] = {
    dynamics.inverse_dynamics: inverse_dynamics,
    dynamics.bias_force: bias_force,
    dynamics.forward_dynamics: forward_dynamics,
    dynamics.hybrid_dynamics: hybrid_dynamics,
}
