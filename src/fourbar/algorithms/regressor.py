"""Regressors: what each parameter of each body contributes to forces, momenta and energies (Zhang).

A body's wrench is linear in its ten parameters: F = Σ φ_c F_c. With every F_c carried to the frame of the root body,
its part in the force of joint i, which carries the body, is S_iᵀ F_c: ten dot products for each pair of a body and a
joint that carries it, O(n · depth) in all, and nothing at all for a root joint whose S selects components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..constraints.trace import cut
from ..expr import select
from ..joints.base import Joint
from ..spatial.fluid_inertia import FluidInertia
from ..spatial.linear import Mat, Scalar, Sym, Vec, dot, zeros
from ..spatial.motion import Motion
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, Location
from ..tree.links import Kinematics
from ..tree.states import project_forces
from . import armature
from .coriolis import subspace_rate, turn
from .fluid_wrenches import gravity_outward
from .kinematics import place_outward
from .sweep import Sweeps, outward, velocity_outward

_AT_ONCE = 8  # carrying joints in one step: a long chain then has fewer steps to record
_UNITS = tuple(Mat.identity(3))
_SYMMETRIC = tuple(Sym(*row) for row in Mat.identity(6))

Columns = tuple[Wrench, ...]


class Immersed(NamedTuple):
    """The location of a body in a fluid, and the inertia of that fluid in the body's frame."""

    link: int
    pose: Transform
    fluid: FluidInertia


Blocks = dict[int, Mat]  # for each link that carries a body: nv of its joint x 10


def force_columns(motion: Motion) -> Columns:
    """F_c of the ten parameters: m a + Γ h;  h × a + J α + ω × J ω."""
    none = zeros(3)
    mass = Wrench(none, motion.acc)
    first = [Wrench(e.cross(motion.acc), motion.G @ e) for e in _UNITS]
    second = [Wrench(E @ motion.al + motion.w.cross(E @ motion.w), none) for E in _SYMMETRIC]
    return (mass, *first, *second)


def momentum_columns(V: Twist) -> Columns:
    """The momentum I V of the ten parameters: m v + ω × h;  h × v + J ω."""
    none = zeros(3)
    first = [Wrench(e.cross(V.linear), V.angular.cross(e)) for e in _UNITS]
    return (Wrench(none, V.linear), *first, *(Wrench(E @ V.angular, none) for E in _SYMMETRIC))


def _move_outward(k: Kinematics, parent: Motion, v: Vec, a: Vec) -> Motion:
    """V = X V_λ + S v;  A = X A_λ + S a + S° v + ad_V S v."""
    return parent.through(k.X, k.S.twist(v), k.S.twist(a) + k.c_J)


class PlacedLink(NamedTuple):
    """A link in the frame of its root: pose and motion subspace."""

    pose: Transform
    S: tuple[Twist, ...]


def _place_root(k: Kinematics, _ground: None) -> PlacedLink:
    return PlacedLink(IDENTITY, k.S.twists())


def _place_outward(k: Kinematics, parent: PlacedLink) -> PlacedLink:
    pose = place_outward(k, parent.pose)
    return PlacedLink(pose, tuple(pose.motion_to_parent(s) for s in k.S.twists()))


def _force_columns_in_root(root: Transform, own: Transform, motion: Motion) -> Columns:
    """F_c of a body placed by `own` on its link, seen from the root."""
    still = Twist.zero()
    return _carry(root.then(own), force_columns(motion.through(own, still, still)))


def _momentum_columns_in_root(root: Transform, own: Transform, V: Twist) -> Columns:
    return _carry(root.then(own), momentum_columns(own.motion_to_child(V)))


def _carry(pose: Transform, columns: Columns) -> Columns:
    whole = Transform((pose.R,), pose.p)
    return tuple(whole.force_to_parent(F) for F in columns)


def _rows(carriers: tuple[tuple[Twist, ...], ...], columns: Columns) -> tuple[Mat, ...]:
    """S_iᵀ F_c for some of the joints i that carry a body."""
    return tuple(Mat(Vec([F.power(s) for F in columns]) for s in S) for S in carriers)


def _placed_links(s: Sweeps) -> list[PlacedLink]:
    """Every link in the frame of its root."""
    return s.outward(_place_outward, None, root=_place_root)


def _by_carrier(
    s: Sweeps, homes: Sequence[Any], columns_of: Callable[[Any], Any], rows: Any, carriers: Sequence[Any]
) -> list[Blocks]:
    """For each body the rows of all joints that carry it: rows(carriers of some joints, columns of the body)."""
    by_body: list[Blocks] = []
    for home in homes:
        by_joint: Blocks = {}
        if home.link != GROUND:
            columns = columns_of(home)
            path = [home.link, *s.tree.ancestors(home.link)]
            for some in (path[k : k + _AT_ONCE] for k in range(0, len(path), _AT_ONCE)):
                by_joint.update(
                    zip(some, s.recorder.call(rows, tuple(carriers[i] for i in some), columns), strict=True)
                )
        by_body.append(by_joint)
    return by_body


def _blocks(
    s: Sweeps, homes: Sequence[Location | Immersed], step: Callable[..., Columns], motions: Sequence[Any]
) -> list[Blocks]:
    """Rows S_iᵀ F_c, with the columns F_c that a step makes of a link's motion and of the rest of a home."""
    placed = _placed_links(s)

    def columns(home: Location | Immersed) -> Columns:
        link, own, *rest = home
        return s.recorder.call(step, placed[link].pose, own, motions[link], *rest)

    return _by_carrier(s, homes, columns, _rows, [x.S for x in placed])


def force_blocks(
    s: Sweeps, homes: Sequence[Location], v: Sequence[Vec], a: Sequence[Vec], gravity: Sequence[float]
) -> list[Blocks]:
    """Contributions of the ten parameters of each body to the force of each joint that carries it."""
    motions = s.outward(_move_outward, s.fold(Motion.of_ground, Vec(gravity)), v, a)
    return _blocks(s, homes, _force_columns_in_root, motions)


def fluid_force_blocks(
    s: Sweeps, fluids: Sequence[Immersed], v: Sequence[Vec], a: Sequence[Vec], gravity: Sequence[float]
) -> list[Blocks]:
    """Contributions of the fluid around each body to the force of each joint that carries it: one column."""
    motions = s.outward(_move_outward, s.fold(Motion.of_ground, Vec(gravity)), v, a)
    V, down = s.outward(velocity_outward, Twist.zero(), v), s.outward(gravity_outward, Vec(gravity))
    return _blocks(s, fluids, _fluid_force_in_root, list(zip(motions, V, down, strict=True)))


def _fluid_force_in_root(root: Transform, own: Transform, motion: Any, fluid: FluidInertia) -> Columns:
    moved, V, gravity = motion
    still = Twist.zero()
    F = fluid.force(moved.through(own, still, still))
    return _carry(root.then(own), (F + fluid.correction(own.motion_to_child(V), own.unrotate(gravity)),))


def momentum_blocks(s: Sweeps, homes: Sequence[Location], v: Sequence[Vec]) -> list[Blocks]:
    """Contributions of the ten parameters of each body to the momentum M v of each joint that carries it."""
    return _blocks(s, homes, _momentum_columns_in_root, s.outward(velocity_outward, Twist.zero(), v))


def fluid_momentum_blocks(s: Sweeps, fluids: Sequence[Immersed], v: Sequence[Vec]) -> list[Blocks]:
    """Contributions of the fluid around each body to the momentum M v of each joint that carries it: one column."""
    return _blocks(s, fluids, _fluid_momentum_in_root, s.outward(velocity_outward, Twist.zero(), v))


def _fluid_momentum_in_root(root: Transform, own: Transform, V: Twist, fluid: FluidInertia) -> Columns:
    return _carry(root.then(own), (fluid.momentum(own.motion_to_child(V)),))


def _push_columns_in_root(root: Transform, own: Transform, V: Twist, gravity: Vec) -> tuple[Columns, Columns]:
    """The momentum of a body and its weight, parameter by parameter, seen from the root."""
    falling = Motion(zeros(3), zeros(3), own.unrotate(gravity), Mat.zeros(3, 3))
    return _momentum_columns_in_root(root, own, V), _carry(root.then(own), force_columns(falling))


def _fluid_push_in_root(
    root: Transform, own: Transform, V: Twist, gravity: Vec, fluid: FluidInertia
) -> tuple[Columns, Columns]:
    """The momentum of the fluid around a body, and the buoyancy."""
    lift = fluid.displaced.weight(own.unrotate(-gravity))
    return _fluid_momentum_in_root(root, own, V, fluid), _carry(root.then(own), (lift,))


def _push_rows(
    carriers: tuple[tuple[tuple[Twist, ...], tuple[Twist, ...]], ...], columns: tuple[Columns, Columns]
) -> tuple[Mat, ...]:
    """Ṡ_iᵀ (I V)_c + S_iᵀ (weight)_c for some of the joints i that carry a body."""
    momenta, weights = columns
    return tuple(
        Mat(
            Vec([h.power(d) + F.power(s) for h, F in zip(momenta, weights, strict=True)])
            for s, d in zip(S, dS, strict=True)
        )
        for S, dS in carriers
    )


def push_blocks(
    s: Sweeps, homes: Sequence[Location | Immersed], q: Sequence[Vec], v: Sequence[Vec], gravity: Sequence[float]
) -> list[Blocks]:
    """Contributions of the ten parameters of each body, or of the fluid around it, to Cᵀ v - g of each joint that
    carries it.

    The momentum of joint i is S_iᵀ I V, and in fixed axes d/dt (I V) is the force on the body and its weight: so
    d/dt (S_iᵀ I V) = τ_i + Ṡ_iᵀ I V + S_iᵀ (weight), whose last terms are Cᵀ v - g. No acceleration enters.
    """
    placed = _placed_links(s)

    def turned_outward(i: int, above: tuple[Twist, Any]) -> tuple[Twist, tuple[Twist, ...]]:
        rates = s.recorder.call(subspace_rate, s.tree.links[i].joint, q[i], v[i])
        return s.recorder.call(turn, placed[i].pose, placed[i].S, above[0], v[i], rates)

    turned = outward(s.tree.parents, (Twist.zero(), ()), turned_outward)
    V = s.outward(velocity_outward, Twist.zero(), v)
    down = s.outward(gravity_outward, Vec(gravity))

    def columns(home: Location | Immersed) -> tuple[Columns, Columns]:
        link, own, *fluid = home
        step = _fluid_push_in_root if fluid else _push_columns_in_root
        return s.recorder.call(step, placed[link].pose, own, V[link], down[link], *fluid)

    return _by_carrier(s, homes, columns, _push_rows, [(x.S, t[1]) for x, t in zip(placed, turned, strict=True)])


def _kinetic(own: Transform, V: Twist) -> Vec:
    """½ V · F_c with F_c of the momentum."""
    mine = own.motion_to_child(V)
    return Vec([0.5 * F.power(mine) for F in momentum_columns(mine)])


def kinetic_energy_rows(s: Sweeps, homes: Sequence[Location], v: Sequence[Vec]) -> list[Vec]:
    """Contributions of the ten parameters of each body to the kinetic energy."""
    V = s.outward(velocity_outward, Twist.zero(), v)
    return [zeros(10) if link == GROUND else s.recorder.call(_kinetic, own, V[link]) for link, own in homes]


def _fluid_kinetic(own: Transform, V: Twist, fluid: FluidInertia) -> Scalar:
    mine = own.motion_to_child(V)
    return 0.5 * fluid.momentum(mine).power(mine)


def fluid_kinetic_energies(s: Sweeps, fluids: Sequence[Immersed], v: Sequence[Vec]) -> list[Scalar]:
    """The kinetic energy of the fluid around each body."""
    V = s.outward(velocity_outward, Twist.zero(), v)
    return [0.0 if link == GROUND else s.recorder.call(_fluid_kinetic, own, V[link], x) for link, own, x in fluids]


def _fluid_potential(pose: Transform, own: Transform, gravity: Vec, fluid: FluidInertia) -> Scalar:
    """g · (m p + R h) of the displaced fluid."""
    return dot(gravity, fluid.displaced.to_parent(pose.then(own)).h)


def fluid_potential_energies(s: Sweeps, fluids: Sequence[Immersed], gravity: Sequence[float]) -> list[Scalar]:
    """The potential energy of the buoyancy of each body."""
    pose, g = s.outward(place_outward, IDENTITY), Vec(gravity)
    return [
        0.0 if link == GROUND else s.recorder.call(_fluid_potential, pose[link], own, g, x) for link, own, x in fluids
    ]


def _potential(pose: Transform, own: Transform, gravity: Vec) -> Vec:
    """-g · (m p + R h)."""
    placed = pose.then(own)
    return Vec((-dot(gravity, placed.p), *(-placed.unrotate(gravity)), *zeros(6)))


def potential_energy_rows(s: Sweeps, homes: Sequence[Location], gravity: Sequence[float]) -> list[Vec]:
    """Contributions of the ten parameters of each body to the potential energy."""
    pose = s.outward(place_outward, IDENTITY)
    g = Vec(gravity)
    return [zeros(10) if link == GROUND else s.recorder.call(_potential, pose[link], own, g) for link, own in homes]


def project_rows(G: tuple[Mat, ...], blocks: tuple[Mat, ...]) -> Mat:
    """Σ Gᵀ Y of links of a cluster that are tied by loops."""
    parts: list[Mat] = [g.T @ block for g, block in zip(G, blocks, strict=True)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def spread_rows(G: Mat, values: Vec) -> Mat:
    """Gᵀ diag(values) (n, nv): joint forces that are proportional to one parameter each."""
    return Mat(Vec([g * x for g, x in zip(column, values, strict=True)]) for column in G.T)


def add_gyroscopic_columns(block: Mat, joint: Joint, v: Vec, G: Mat, factor: float) -> Mat:
    """Columns of armatures of one joint, with ±Gᵀ of the forces that turn a unit of each."""
    return block + G.T @ (armature.regressor_columns(joint, v) * factor)


def _units_of(n: int) -> list[Mat]:
    """The symmetric matrices (n, n) of a unit in each entry of the upper triangle."""
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    return [
        Mat(Vec([1.0 if (a, b) in ((i, j), (j, i)) else 0.0 for b in range(n)]) for a in range(n)) for i, j in pairs
    ]


def block_columns(
    joints: tuple[Joint, ...],
    values: tuple[Vec, ...],
    v: tuple[Vec, ...],
    acting: tuple[Mat, ...] | None,
    G: tuple[Mat, ...],
    factor: float,
) -> Mat:
    """Columns of the entries of an armature block, over the independent velocities.

    Products of a unit of each with the values, along `acting` maps (None: zero), and ±Gᵀ of the forces that turn it.
    """
    every, speeds = ([x for part in parts for x in part] for parts in (values, v))
    sizes, columns = [joint.nv for joint in joints], []
    for A in _units_of(len(every)):
        total = zeros(len(G[0][0]))
        if acting is not None:
            total = project_forces(acting, cut(A @ every, sizes))
        if factor:
            turning = armature.force(armature.Metric(joints, A), Vec(speeds)) * factor
            total = total + project_forces(G, cut(turning, sizes))
        columns.append(total)
    return Mat.from_columns(columns)


def block_energies(v: tuple[Vec, ...]) -> Vec:
    """½ vᵀ A v of a unit in each entry of the upper triangle of a block."""
    speeds = [x for part in v for x in part]
    return Vec([dot(A @ speeds, speeds) * 0.5 for A in _units_of(len(speeds))])


def signs(v: Vec) -> Vec:
    """-1, 0 or 1 of each velocity."""
    return Vec([_sign(x) for x in v])


def _sign(x: Scalar) -> Scalar:
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0))
