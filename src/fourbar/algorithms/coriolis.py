"""The Coriolis matrix C(q, v) in O(n·depth): C v is the force of velocity alone, and Ṁ = C + Cᵀ, so Ṁ - 2 C is skew.

Of the many C with these properties it is that of the Levi-Civita connection of the metric M, in the frame of the
velocities v: where v = q̇ its entries are those of the Christoffel symbols (Zhang), C_ij = Σ_k Γ_ijk v_k.

A particle at r has the Jacobian J = [-[r], 1] to the twist of its body (in fixed axes), and its C is Jᵀ m J̇; summed
over the body this is the matrix B of `spatial.flow`. With Ṡ the rate of a joint's motions in fixed axes, and Ic, Bc
summed over all that the outer one of joints i and j carries, C_ij = S_iᵀ (Ic Ṡ_j + Bc S_j). All is written in the frame
of the root body at this instant, as in `crba`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..joints.base import Joint
from ..spatial.flow import Flow, flow_of
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.links import Kinematics
from . import armature, crba
from .crba import LinkInRoot
from .sweep import Outcome, Sweeps, outward


class MovingLink(NamedTuple):
    """A body in motion: its twist V, the rates Ṡ of its joint's motions, its flow B."""

    V: Twist
    dS: tuple[Twist, ...]
    flow: Flow


def subspace_rate(joint: Joint, q: Vec, v: Vec) -> tuple[Twist, ...]:
    """S° of a joint."""
    return joint.subspace_rate(q, v)


def turn(
    pose: Transform, S: tuple[Twist, ...], V_parent: Twist, v: Vec, rates: tuple[Twist, ...]
) -> tuple[Twist, tuple[Twist, ...]]:
    """V = V_λ + S v;  Ṡ = ad_V S + S°.  A single motion does not turn itself: ad_V S = ad_(V_λ) S."""
    V = V_parent
    for s, x in zip(S, v, strict=True):
        V = V + Twist(s.angular * x, s.linear * x)
    carrier = V_parent if len(S) == 1 else V
    return V, tuple(carrier.ad(s) + pose.motion_to_parent(r) for s, r in zip(S, rates, strict=True))


def moving(own: LinkInRoot, V_parent: Twist, v: Vec, rates: tuple[Twist, ...]) -> MovingLink:
    """A link in motion, and its flow B."""
    V, dS = turn(own.pose, own.S, V_parent, v, rates)
    return MovingLink(V, dS, flow_of(own.I, V))


class Composed(NamedTuple):
    """A joint with all it carries, for each of its unit motions: Ic S, Ic Ṡ + Bc S and Bcᵀ S."""

    momenta: tuple[Wrench, ...]
    forces: tuple[Wrench, ...]
    swept: tuple[Wrench, ...]


def compose_inward(
    k: Kinematics, children: tuple[tuple[AnyInertia, Flow], ...], own: LinkInRoot, own_moving: MovingLink
) -> Outcome:
    """Ic = Σ I and Bc = Σ B over the joint's own body and all that it carries."""
    Ic = sum((I for I, _ in children), own.I)
    flow = sum((f for _, f in children), own_moving.flow)
    momenta = tuple(Ic.momentum(s) for s in own.S)
    forces = tuple(Ic.momentum(d) + flow.force(s) for s, d in zip(own.S, own_moving.dS, strict=True))
    return Outcome(Composed(momenta, forces, tuple(flow.transpose_times(s) for s in own.S)), (Ic, flow))


def own_block(own: LinkInRoot, composed: Composed) -> Mat:
    """C_jj = S_jᵀ (Ic Ṡ_j + Bc S_j)."""
    return Mat(Vec([F.power(s) for F in composed.forces]) for s in own.S)


def couple(
    carriers: tuple[tuple[tuple[Twist, ...], tuple[Twist, ...]], ...], composed: Composed
) -> tuple[tuple[Mat, Mat], ...]:
    """The blocks C_ij and C_ji between a joint j and some of the joints i that carry it, from (S_i, Ṡ_i)."""
    blocks = []
    for S, dS in carriers:
        above = Mat(Vec([F.power(s) for F in composed.forces]) for s in S)
        below = Mat(
            Vec([h.power(d) + b.power(s) for s, d in zip(S, dS, strict=True)])
            for h, b in zip(composed.momenta, composed.swept, strict=True)
        )
        blocks.append((above, below))
    return tuple(blocks)


class Parts(NamedTuple):
    """All joints of a tree at a state, in the frames of their roots."""

    s: Sweeps
    v: Sequence[Vec]
    carried: list[LinkInRoot]
    moving: list[MovingLink]
    composed: list[Composed]


def parts(s: Sweeps, q: Sequence[Vec], v: Sequence[Vec]) -> Parts:
    """The parts of which C and M are made; q and v by link."""
    carried = crba.carry_all(s)

    def move_outward(i: int, above: MovingLink) -> MovingLink:
        rates = s.recorder.call(subspace_rate, s.tree.links[i].joint, q[i], v[i])
        return s.recorder.call(moving, carried[i], above.V, v[i], rates)

    resting = MovingLink(Twist.zero(), (), Flow.of(Inertia.zero(), Twist.zero()))
    motions = outward(s.tree.parents, resting, move_outward)
    return Parts(s, v, carried, motions, s.inward(compose_inward, carried, motions))


def coriolis_matrix(p: Parts) -> list[list[Any]]:
    """C as rows of scalars; zero where neither joint carries the other."""
    s = p.s
    C: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(s.tree.nv)]
    for j, composed in enumerate(p.composed):
        _write(s, C, j, j, s.recorder.call(own_block, p.carried[j], composed))
        for some in crba.carriers_of(s, j):
            blocks = s.recorder.call(couple, tuple((p.carried[i].S, p.moving[i].dS) for i in some), composed)
            for i, (above, below) in zip(some, blocks, strict=True):
                _write(s, C, i, j, above)
                _write(s, C, j, i, below)
    for links, metric in armature.gyroscopic(s):
        armature.add_block(s, C, links, _with_armature, metric, armature.stack(links, p.v))
    return C


def _with_armature(C: Mat, metric: armature.Metric, v: Vec) -> Mat:
    return C + armature.coriolis(metric, v)


def mass_matrix(p: Parts) -> list[list[Any]]:
    """M as rows of scalars, from the same parts."""
    blocks = [p.s.step(j, crba.diagonal, p.carried[j].S, composed.momenta) for j, composed in enumerate(p.composed)]
    found = [(composed.momenta, block) for composed, block in zip(p.composed, blocks, strict=True)]
    return crba.assemble(p.s, p.carried, found)


def _write(s: Sweeps, C: list[list[Any]], i: int, j: int, block: Mat) -> None:
    for a, row in enumerate(block):
        for b, x in enumerate(row):
            C[s.tree.first_v[i] + a][s.tree.first_v[j] + b] = x
