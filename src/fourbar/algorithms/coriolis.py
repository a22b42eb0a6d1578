"""The Coriolis matrix C(q, v) in O(n·depth), with Ṁ = C + Cᵀ, and Christoffel symbols Γ(q), C_ij = Σ_k Γ_ijk v_k.

Of the many C with these properties it is that of the Levi-Civita connection of the metric M, in the frame of the
velocities v: where v = q̇ its entries are those of the Christoffel symbols (Zhang), C_ij = Σ_k Γ_ijk v_k.

A particle at r has the Jacobian J = [-[r], 1] to the twist of its body (in fixed axes), and its C is Jᵀ m J̇; summed
over the body this is the matrix B of `spatial.flow`. With Ṡ the rate of a joint's motions in fixed axes, and Ic, Bc
summed over all that the outer one of joints i and j carries, C_ij = S_iᵀ (Ic Ṡ_j + Bc S_j). All is written in the frame
of the root body at this instant, as in `crba`.

Christoffel symbols: C is linear in v, so Γ_ijk is C_ij at the velocity e_k. Then only what joint k carries moves, all
of it with the twist s_k, and with I the composite inertia of the outermost of the three joints, for k that carries j
(or is j)

    Γ_ijk = ½ [(s_i × s_k) · I s_j + (s_i × s_j) · I s_k + s_i · I (s_k × s_j)] + s_i · I S°_j(e_k)

where the last term is there for two velocities of one joint only. Of different joints Γ_ijk = Γ_ikj. Zero unless the
three joints are on one chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..joints.base import Joint
from ..spatial.flow import Flow, flow_of
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Scalar, Vec
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


Brackets = tuple[tuple[Twist, ...], ...]
Block = tuple[tuple[tuple[Scalar, ...], ...], ...]
Cube = list[list[list[Any]]]


def composite_inward(k: Kinematics, children: tuple[AnyInertia, ...], own: LinkInRoot) -> Outcome:
    """Ic = I + Σ Ic of the children."""
    Ic = sum(children, own.I)
    return Outcome(Ic, Ic)


def momenta(chain: tuple[tuple[Twist, ...], ...], I: AnyInertia) -> tuple[tuple[Wrench, ...], ...]:
    """I s for all motions of the joints of a chain."""
    return tuple(tuple(I.momentum(s) for s in S) for S in chain)


def brackets(S_a: tuple[Twist, ...], S_b: tuple[Twist, ...]) -> Brackets:
    """s_a × s_b for all motions of two joints."""
    return tuple(tuple(a.ad(b) for b in S_b) for a in S_a)


def symbols(
    h: tuple[tuple[Wrench, ...], tuple[Wrench, ...], tuple[Wrench, ...]], x: tuple[Brackets, Brackets, Brackets]
) -> Block:
    """Γ_ijk between the motions of three joints, of which k carries j or is j; without S°.

    h: I s_i, I s_j and I s_k;  x: s_i × s_k, s_i × s_j and s_k × s_j.
    """
    h_i, h_j, h_k = h
    x_ik, x_ij, x_kj = x

    def one(i: int, j: int, k: int) -> Scalar:
        return 0.5 * (h_j[j].power(x_ik[i][k]) + h_k[k].power(x_ij[i][j]) + h_i[i].power(x_kj[k][j]))

    return tuple(tuple(tuple(one(i, j, k) for k in range(len(h_k))) for j in range(len(h_j))) for i in range(len(h_i)))


def carried_rates(pose: Transform, rates: tuple[tuple[Twist, ...], ...]) -> tuple[tuple[Twist, ...], ...]:
    """S°(e_k) of every k, in the frame of the root."""
    return tuple(tuple(pose.motion_to_parent(r) for r in column) for column in rates)


def with_rates(block: Block, h_i: tuple[Wrench, ...], rates: tuple[tuple[Twist, ...], ...]) -> Block:
    """A block with j and k of one joint, completed by s_i · I S°_j(e_k)."""
    return tuple(
        tuple(tuple(x + h.power(rates[c][b]) for c, x in enumerate(row)) for b, row in enumerate(plane))
        for h, plane in zip(h_i, block, strict=True)
    )


def _rates(s: Sweeps, q: Sequence[Vec], carried: Sequence[LinkInRoot]) -> list[Any]:
    """S°(e_k) of every joint for each of its unit velocities."""
    joint_rates = []
    for i, link in enumerate(s.tree.links):
        n = link.joint.nv
        units = [Vec([1.0 if a == b else 0.0 for b in range(n)]) for a in range(n)]
        rates = tuple(s.recorder.call(subspace_rate, link.joint, q[i], unit) for unit in units)
        joint_rates.append(s.recorder.call(carried_rates, carried[i].pose, rates))
    return joint_rates


def _triples(chain: list[int]) -> Iterator[tuple[int, int, int]]:
    """(i, j, k) of a chain, outermost joint first, in which that joint occurs and k carries j or is j."""
    outermost = chain[0]
    for at, j in enumerate(chain):
        for k in chain[at:]:
            yield from ((i, j, k) for i in (chain if j == outermost else chain[:1]))


def _brackets(s: Sweeps, carried: Sequence[LinkInRoot]) -> dict[tuple[int, int], Brackets]:
    """s_a × s_b of all pairs of joints of which one carries the other."""
    pairs: dict[tuple[int, int], Brackets] = {}
    for a, own in enumerate(carried):
        for b in (a, *s.tree.ancestors(a)):
            pairs[a, b] = s.recorder.call(brackets, own.S, carried[b].S)
            pairs[b, a] = s.recorder.call(brackets, carried[b].S, own.S)
    return pairs


def christoffel(s: Sweeps, q: Sequence[Vec]) -> Cube:
    """Γ as nested lists [i][j][k] of scalars; q by link."""
    carried = crba.carry_all(s)
    rates, pair_brackets, n = _rates(s, q, carried), _brackets(s, carried), s.tree.nv
    cube: Cube = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for outermost, I in enumerate(s.inward(composite_inward, carried)):
        chain = [outermost, *s.tree.ancestors(outermost)]
        found = s.recorder.call(momenta, tuple(carried[i].S for i in chain), I)
        h = dict(zip(chain, found, strict=True))
        for i, j, k in _triples(chain):
            block = s.recorder.call(
                symbols, (h[i], h[j], h[k]), (pair_brackets[i, k], pair_brackets[i, j], pair_brackets[k, j])
            )
            if j == k:
                block = s.recorder.call(with_rates, block, h[i], rates[j])
            _write_symbols(s.tree.first_v, cube, (i, j, k), block)
    for links, metric in armature.gyroscopic(s):
        _add_armature(s, cube, links, metric)
    return cube


def _symbols_with_armature(block: Block, metric: armature.Metric) -> Block:
    """A block of some joints, with C of their armature at each unit velocity."""
    planes = [armature.coriolis(metric, Vec(e)) for e in Mat.identity(metric.nv)]
    each = range(metric.nv)
    return tuple(tuple(tuple(block[a][b][c] + planes[c][a][b] for c in each) for b in each) for a in each)


def _add_armature(s: Sweeps, cube: Cube, links: tuple[int, ...], metric: armature.Metric) -> None:
    """Add the symbols of the armature of some joints."""
    places = armature.places_of(s, links)
    own = tuple(tuple(tuple(cube[i][j][k] for k in places) for j in places) for i in places)
    for i, plane in zip(places, s.recorder.call(_symbols_with_armature, own, metric), strict=True):
        for j, row in zip(places, plane, strict=True):
            for k, x in zip(places, row, strict=True):
                cube[i][j][k] = x


def _write_symbols(first: Sequence[int], cube: Cube, joints: tuple[int, int, int], block: Block) -> None:
    """Write the block of three joints, and its mirror image where j and k are different joints."""
    i, j, k = joints
    for a, plane in enumerate(block, first[i]):
        for b, row in enumerate(plane, first[j]):
            for c, x in enumerate(row, first[k]):
                cube[a][b][c] = x
                if j != k:
                    cube[a][c][b] = x
