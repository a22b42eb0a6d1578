"""Derivatives of the inverse dynamics of a tree by q, v and a, in O(n · depth) (Kim §4, as full Jacobians).

All is carried in the frame of the root body, where composites are sums. When joint j moves by its unit motion s, the
bodies that it carries are displaced by s. Seen from them, their velocity changes by ψ, the same for all, and their
acceleration by ξ + ψ × V; when the velocity of joint j changes, the velocities change by s and the accelerations by
ζ + s × V. The force on a body then changes by I ξ + 2 B ψ or I ζ + 2 B s with the B of `Flow`: a particle with velocity
u gains the force 2 ω × u.

Kim's Table 5 differentiates RNEA along one scalar p: with p the coordinate of joint j, h = T⁻¹ ∂T is its S, and ∂V, ∂A,
∂F of the table are the changes above, all p at once. tests/functions/kim.py has Tables 5-7 line by line; the tests
compare both.

Derivatives of a joint's own motion by its coordinates, for joints whose S depends on q.

Derivatives of the map from independent to all velocities of a cluster, q̇ = G ẏ, q̈ = G ÿ + g, Gᵀ τ: K G = 0 and K q̈ +
κ = 0 (κ: the curvature of the loops at the velocities q̇) are differentiated, so every change of the dependent part is
found with K_d again: K_d δG_d = -δK G and K_d δq̈_d = -(δK q̈ + δκ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import add
from typing import Any, NamedTuple

from ..constraints.trace import cut
from ..expr import Graph, evaluate, jvp, prepare
from ..expr.standalone_steps import standalone
from ..joints.base import Joint
from ..joints.rates import rate_of, subspace_rate_of
from ..spatial.flow import Flow, flow_of
from ..spatial.fluid_inertia import AnyInertia, cross_force, is_immersed
from ..spatial.linear import Mat, Scalar, Vec, dot, zeros
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.embedding import LoopEmbedding
from ..tree.links import Kinematics
from ..tree.states import EmbeddedState
from . import armature
from .fluid_wrenches import gravity_in_roots
from .sweep import Sweeps


class Bend(NamedTuple):
    """For every velocity k of a joint, in the child's axes: derivatives along its unit motion.

    D: of the columns of S;  sigma: of S v;  alpha: of S a + S° v;  and gamma: of S° v by v_k.
    """

    D: tuple[tuple[Twist, ...], ...]
    sigma: tuple[Twist, ...]
    alpha: tuple[Twist, ...]
    gamma: tuple[Twist, ...]


@cache
def has_constant_subspace(joint: Joint) -> bool:
    """Whether S does not depend on q."""
    q = Graph().inputs("q", joint.nq)
    return all(x.__class__ is float for s in joint.subspace(q).twists() for x in s.six())


@cache
def _trace_bend(joint: Joint) -> Any:
    """q, v, a -> all entries of a `Bend`, one after the other."""
    graph, n = Graph(), joint.nv
    q, v, a = (graph.inputs(name, size) for name, size in (("q", joint.nq), ("v", n), ("a", n)))
    c = list(joint.bias(q, v).six())
    roots: list[Any] = []
    for k in range(n):
        unit = tuple(1.0 if i == k else 0.0 for i in range(n))
        D, slope = subspace_rate_of(joint, unit).at(q, ()), rate_of([joint], q, c, v, unit).at(q, (), v)
        bent = [[dot(D[i::6], x) for i in range(6)] for x in (v, a)]
        roots += [*D, *bent[0], *(x + y for x, y in zip(bent[1], slope, strict=True))]
    for x in v:
        roots += jvp(c, {x: 1.0})
    return prepare(roots, (*q, *v, *a))


def bend(joint: Joint, q: Vec, v: Vec, a: Vec) -> Bend:
    """The derivatives of a joint's motion at a state."""
    n = joint.nv
    flat = _trace_bend(joint)((*q, *v, *a))
    twists = [Twist.of(flat[6 * i : 6 * i + 6]) for i in range(len(flat) // 6)]
    rows = [twists[k * (n + 2) : (k + 1) * (n + 2)] for k in range(n)]
    return Bend(
        tuple(tuple(row[:n]) for row in rows),
        tuple(row[n] for row in rows),
        tuple(row[n + 1] for row in rows),
        tuple(twists[n * (n + 2) :]),
    )


_AT_ONCE = 8  # carrying joints in one step
_SMALL = 64  # velocities up to which zeros of what is coupled are left out, at the price of more code


class Load(NamedTuple):
    """The load of a body, or of all that a joint carries, on the forces: inertia, 2 B, and the force F it takes."""

    I: AnyInertia
    flow: Flow
    F: Wrench

    def __add__(self, other: Load) -> Load:  # type: ignore[override]
        return Load(self.I + other.I, self.flow + other.flow, self.F + other.F)

    def force(self, velocity: Twist, acceleration: Twist) -> Wrench:
        """I A + 2 B V."""
        return self.I.momentum(acceleration) + self.flow.force(velocity)


class VariedLink(NamedTuple):
    """A body in its root's frame: pose, velocity, acceleration; for each unit motion s of its joint: ψ, ξ, ζ."""

    pose: Transform
    V: Twist
    A: Twist
    S: tuple[Twist, ...]
    psi: tuple[Twist, ...]
    xi: tuple[Twist, ...]
    zeta: tuple[Twist, ...]
    own: Load


def _weighted_twist(columns: Sequence[Twist], x: Sequence[Scalar]) -> Twist:
    total = Twist.zero()
    for column, k in zip(columns, x, strict=True):
        total = total + Twist(column.angular * k, column.linear * k)
    return total


def _twice(t: Twist) -> Twist:
    return Twist(t.angular * 2.0, t.linear * 2.0)


def _load(I: AnyInertia, V: Twist, A: Twist, gravity: Vec | None) -> Load:
    """A body: F = I A + B V, where the ground is accelerated against gravity; a fluid's forces do not depend on it."""
    flow = flow_of(I, _twice(V))
    F = I.momentum(A) + flow.force(Twist(V.angular * 0.5, V.linear * 0.5))
    if gravity is not None and is_immersed(I):
        F = F + I.weightless(gravity)
    return Load(I, flow, F)


def _vary(
    k: Kinematics, pose: Transform, V_up: Twist, A_up: Twist, v: Vec, a: Vec, F_ext: Wrench, bent: Bend | None,
    down: Vec | None,
) -> VariedLink:  # fmt: skip
    """One body, from the velocity and acceleration of its parent."""
    carry = pose.motion_to_parent
    S = tuple(carry(s) for s in k.S.twists())
    V_J = _weighted_twist(S, v)
    V = V_up + V_J
    turned = tuple(V_up.ad(s) for s in S)
    A = A_up + _weighted_twist(S, a) + _weighted_twist(turned, v) + carry(k.c_J)
    zeta = tuple(_twice(t) if len(S) == 1 else _twice(t) + V_J.ad(s) for t, s in zip(turned, S, strict=True))
    psi, alphas = turned, tuple(Twist.zero() for _ in S)
    if bent is not None:
        sigma = tuple(map(carry, bent.sigma))
        psi = tuple(t + x for t, x in zip(turned, sigma, strict=True))
        alphas = tuple(carry(x) + V.ad(y) for x, y in zip(bent.alpha, sigma, strict=True))
        zeta = tuple(z + carry(x) for z, x in zip(zeta, bent.gamma, strict=True))
    xi = tuple(A_up.ad(s) + V_up.ad(p) + m for s, p, m in zip(S, psi, alphas, strict=True))
    load = _load(k.I.to_parent(pose), V, A, down)
    own = load._replace(F=load.F - pose.force_to_parent(F_ext))
    return VariedLink(pose, V, A, S, psi, xi, zeta, own)


def vary_root(
    k: Kinematics, gravity: Vec, v: Vec, a: Vec, F_ext: Wrench, bent: Bend | None, down: Vec | None
) -> VariedLink:
    """A root, in its own frame; the ground is accelerated against gravity."""
    upward = Twist(zeros(3), k.X.unrotate(-gravity))
    return _vary(k, IDENTITY, Twist.zero(), upward, v, a, F_ext, bent, down)


def vary_outward(
    k: Kinematics, parent: VariedLink, v: Vec, a: Vec, F_ext: Wrench, bent: Bend | None, down: Vec | None
) -> VariedLink:
    """A body on another one."""
    pose = parent.pose.then(k.X)
    return _vary(k, Transform((pose.R,), pose.p), parent.V, parent.A, v, a, F_ext, bent, down)


class UnitMotionForces(NamedTuple):
    """For each unit motion s of a joint, of all that it carries: h = I s, β = Bᵀ s, and the forces' changes.

    In a fluid, `lift` · ω is the change of τ by all that gravity does not act on, when the carrier turns by ω. by_q is
    the change when the joint moves, seen from below; by_q_above adds that the whole force is displaced; by_v is the
    change when the joint's velocity does.
    """

    h: tuple[Wrench, ...]
    beta: tuple[Wrench, ...]
    lift: tuple[Vec, ...] | None
    by_q_above: tuple[Wrench, ...]
    by_v: tuple[Wrench, ...]


class DerivativeBlocks(NamedTuple):
    """Blocks of ∂τ/∂q, ∂τ/∂v and M."""

    q: Mat  # (nv of one link, nv of the other), as the next two
    v: Mat
    a: Mat


def _lift(I: AnyInertia, S: Sequence[Twist], down: Vec | None) -> tuple[Vec, ...] | None:
    """Gravity g turns by g × ω in bodies that turn by ω: s · W (0, g × ω) = ω · (l × g), l the linear part of W s."""
    if down is None or not is_immersed(I):
        return None
    return tuple(I.weightless_momentum(s).cross(down) for s in S)


def _block(rows: Sequence[Any], entry: Any, columns: Sequence[Any]) -> Mat:
    return Mat(Vec([entry(r, c) for c in columns]) for r in rows)


def compose_inward(
    k: Kinematics, children: tuple[Load, ...], own: VariedLink, a: Vec, bent: Bend | None, down: Vec | None
) -> tuple[tuple[UnitMotionForces, DerivativeBlocks, Vec], Load]:
    """All that a joint carries; the joint's own blocks and its force."""
    total = sum(children, own.own)
    h = tuple(total.I.momentum(s) for s in own.S)
    beta = tuple(map(total.flow.transpose_times, own.S))
    by_q = tuple(total.force(p, x) for p, x in zip(own.psi, own.xi, strict=True))
    if down is not None and is_immersed(total.I):
        by_q = tuple(f + total.I.weightless(down.cross(s.angular)) for f, s in zip(by_q, own.S, strict=True))
    by_v = tuple(total.force(s, z) for s, z in zip(own.S, own.zeta, strict=True))
    above = tuple(f + cross_force(s, total.F) for f, s in zip(by_q, own.S, strict=True))
    q = _block(own.S, lambda s, f: f.power(s), by_q)
    if bent is not None:
        carried = [[own.pose.motion_to_parent(d) for d in column] for column in bent.D]
        q = q + Mat(Vec([total.F.power(column[i]) for column in carried]) for i in range(len(own.S)))
    M = Mat(
        Vec([h[j].power(s) + (k.armature[i] if i == j else 0.0) for j in range(len(own.S))])
        for i, s in enumerate(own.S)
    )
    tau = Vec([total.F.power(s) + j * x for s, j, x in zip(own.S, k.armature, a, strict=True)])
    return (
        UnitMotionForces(h, beta, _lift(total.I, own.S, down), above, by_v),
        DerivativeBlocks(q, _block(own.S, lambda s, f: f.power(s), by_v), M),
        tau,
    ), total


class Carrier(NamedTuple):
    """The quantities of a joint that the joints it carries need."""

    S: tuple[Twist, ...]
    psi: tuple[Twist, ...]
    xi: tuple[Twist, ...]
    zeta: tuple[Twist, ...]


def couple(
    carriers: tuple[Carrier, ...], own: UnitMotionForces
) -> tuple[tuple[DerivativeBlocks, DerivativeBlocks], ...]:
    """For each carrying joint j of joint i: the blocks of τ_i by j, and of τ_j by i."""
    blocks = []
    for c in carriers:
        lower = DerivativeBlocks(
            Mat(
                Vec([b.power(p) + h.power(x) for p, x in zip(c.psi, c.xi, strict=True)])
                for b, h in zip(own.beta, own.h, strict=True)
            ),
            Mat(
                Vec([b.power(s) + h.power(z) for s, z in zip(c.S, c.zeta, strict=True)])
                for b, h in zip(own.beta, own.h, strict=True)
            ),
            _block(own.h, lambda h, s: h.power(s), c.S),
        )
        if own.lift is not None:
            turned = Mat(Vec([dot(lift, s.angular) for s in c.S]) for lift in own.lift)
            lower = lower._replace(q=lower.q + turned)
        upper = DerivativeBlocks(
            _block(c.S, lambda s, f: f.power(s), own.by_q_above), _block(c.S, lambda s, f: f.power(s), own.by_v),
            lower.a.T,
        )  # fmt: skip
        blocks.append((lower, upper))
    return tuple(blocks)


@standalone
def _couple_apart(
    carriers: tuple[Carrier, ...], own: UnitMotionForces
) -> tuple[tuple[DerivativeBlocks, DerivativeBlocks], ...]:
    """`couple`, written once for all that are alike."""
    return couple(carriers, own)


class Variation(NamedTuple):
    """∂τ/∂q, ∂τ/∂v and M = ∂τ/∂a as rows of scalars, and τ by link."""

    q: list[list[Any]]
    v: list[list[Any]]
    a: list[list[Any]]
    tau: list[Vec]  # (nv of the link,) each
    bodies: list[VariedLink]


def inverse_dynamics_variation(
    s: Sweeps,
    q: Sequence[Vec],
    v: Sequence[Vec],
    a: Sequence[Vec],
    F_ext: Sequence[Wrench],
    gravity: Sequence[float],
) -> Variation:
    """All first derivatives of the joint forces of every link."""
    tree, call = s.tree, s.recorder.call
    bent = [
        None if has_constant_subspace(c.joint) else call(bend, c.joint, q[i], v[i], a[i])
        for i, c in enumerate(tree.links)
    ]
    down = Vec(map(float, gravity))
    in_roots = gravity_in_roots(s, down)
    bodies: list[VariedLink] = s.outward(vary_outward, down, v, a, F_ext, bent, in_roots, root=vary_root)
    composed = s.inward(compose_inward, bodies, a, bent, in_roots)
    n = tree.nv
    q_rows, v_rows, a_rows = ([[0.0] * n for _ in range(n)] for _ in range(3))
    variation = Variation(q_rows, v_rows, a_rows, [tau for _, _, tau in composed], bodies)
    gyroscopic = {x.links[0]: x.metric for x in armature.gyroscopic_diagonals(s)}
    coupled = _couple_apart if n > _SMALL else couple
    for i, (rows, diagonal, tau) in enumerate(composed):
        if i in gyroscopic:
            diagonal, variation.tau[i] = call(_with_armature, diagonal, tau, gyroscopic[i], v[i])
        _write(s, variation, i, i, diagonal)
        above = tree.ancestors(i)
        for some in (above[k : k + _AT_ONCE] for k in range(0, len(above), _AT_ONCE)):
            carriers = tuple(Carrier(b.S, b.psi, b.xi, b.zeta) for b in (bodies[j] for j in some))
            for j, (lower, upper) in zip(some, call(coupled, carriers, rows), strict=True):
                _write(s, variation, i, j, lower)
                _write(s, variation, j, i, upper)
    _add_couplings(s, variation, v, a)
    return variation


def _with_armature(blocks: DerivativeBlocks, tau: Vec, metric: armature.Metric, v: Vec) -> tuple[DerivativeBlocks, Vec]:
    """A joint's own blocks and force, with those that turn the momentum of its armature."""
    more = armature.force_by_velocity(metric, v)
    return blocks._replace(v=blocks.v + more), tau + armature.force(metric, v)


def _add_couplings(s: Sweeps, found: Variation, v: Sequence[Vec], a: Sequence[Vec]) -> None:
    """Add the effects of armature that couples joints."""
    if not s.tree.couplings:
        return
    armature.add_couplings(s, found.a)
    coupled = armature.gyroscopic_couplings(s)
    for more in (armature.coupled_momenta(s, a), armature.forces_of(s, coupled, v)):
        for i, own in more.items():
            found.tau[i] = s.recorder.call(add, found.tau[i], own)
    for links, metric in coupled:
        armature.add_block(s, found.v, links, _with_force_rates, metric, armature.stack(links, v))


def _with_force_rates(block: Mat, metric: armature.Metric, v: Vec) -> Mat:
    return block + armature.force_by_velocity(metric, v)


def _write(s: Sweeps, found: Variation, i: int, j: int, blocks: DerivativeBlocks) -> None:
    at_i, at_j = s.tree.first_v[i], s.tree.first_v[j]
    for target, block in zip((found.q, found.v, found.a), blocks, strict=True):
        for r, row in enumerate(block):
            target[at_i + r][at_j : at_j + len(row)] = row


class ClusterVariation(NamedTuple):
    """By link, as blocks (velocities of the link x independent velocities): derivatives at constant ẏ and ÿ.

    velocity: of G ẏ along y;  acceleration: of G ÿ + g along y;  bias: of g by ẏ;  force: of Gᵀ τ along y.
    """

    velocity: tuple[Mat, ...]
    acceleration: tuple[Mat, ...]
    bias: tuple[Mat, ...]
    force: Mat


class _Curved:
    """Derivatives of K and κ along a motion u of all joints, as functions of numbers or symbols."""

    def __init__(self, tie: LoopEmbedding) -> None:
        t = tie.traced
        graph = Graph()
        n, m = len(t.v), len(tie.rows)
        q, v = graph.inputs("q", len(t.q)), graph.inputs("v", n)
        u, w, weight = graph.inputs("u", n), graph.inputs("w", n), graph.inputs("weight", m)
        known: dict[Any, Any] = dict(zip((*t.q, *t.v), (*q, *v), strict=True))
        K = [evaluate(t.K[i], known) for i in tie.rows]
        kappa = evaluate([t.curvature[i] for i in tie.rows], known)
        nq, nv = [j.nq for j in tie.joints], [j.nv for j in tie.joints]
        moved = zip(tie.joints, cut(q, nq), cut(u, nv), strict=True)
        rates = [x for joint, own, step in moved for x in joint.rate(own, step)]
        along: dict[Any, Any] = dict(zip(q, rates, strict=True))
        columns = [dot(weight, [row[j] for row in K]) for j in range(n)]
        self.K_along: Callable[..., list[Any]] = prepare(jvp([dot(row, w) for row in K], along), (*q, *u, *w))
        self.weighted_along: Callable[..., list[Any]] = prepare(jvp(columns, along), (*q, *u, *weight))
        self.kappa_along: Callable[..., list[Any]] = prepare(jvp(kappa, along), (*q, *v, *u))
        by_v: dict[Any, Any] = dict(zip(v, u, strict=True))
        self.kappa_by_v: Callable[..., list[Any]] = prepare(jvp(kappa, by_v), (*q, *v, *u))


@lru_cache(maxsize=64)
def _curvature(tie: LoopEmbedding) -> _Curved:
    return _Curved(tie)


def _negative_sum(*parts: Sequence[Scalar]) -> list[Scalar]:
    return [-sum(x[1:], x[0]) for x in zip(*parts, strict=True)]


def vary_cluster(tie: LoopEmbedding, e: EmbeddedState, a: Vec, tau: tuple[Vec, ...]) -> ClusterVariation:
    """The derivatives at a state, for independent accelerations a and forces tau of all joints."""
    curved, n, nv = _curvature(tie), len(tie.traced.v), tie.nv
    q, v, G = ([x for part in parts for x in part] for parts in (e.q, e.v, e.G))
    bias = [x for part in e.g for x in part]
    acceleration = [dot(row, a) + b for row, b in zip(G, bias, strict=True)]
    steps = [[row[k] for row in G] for k in range(nv)]
    turn = [curved.K_along((*q, *u, *v)) for u in steps]
    dv = tie.follow(q, [_negative_sum(x) for x in turn])
    dg = tie.follow(q, [_negative_sum(curved.kappa_by_v((*q, *v, *u))) for u in steps])
    pulls = [
        _negative_sum(
            curved.K_along((*q, *u, *acceleration)), curved.kappa_along((*q, *v, *u)), curved.kappa_by_v((*q, *v, *x))
        )
        for u, x in zip(steps, dv, strict=True)
    ]
    da = tie.follow(q, pulls)
    held = tie.hold(q, [x for part in tau for x in part])
    force = []
    for u in steps:
        change = curved.weighted_along((*q, *u, *held))
        force.append([-dot(change, column) for column in steps])
    sizes = [j.nv for j in tie.joints]

    def blocks(columns: list[list[Scalar]]) -> tuple[Mat, ...]:
        rows = [Vec([column[i] for column in columns]) for i in range(n)]
        return tuple(Mat(part) for part in cut(rows, sizes))

    return ClusterVariation(blocks(dv), blocks(da), blocks(dg), Mat.from_columns(force))
