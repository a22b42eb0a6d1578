"""Articulated bodies of a cluster of links tied by loops (C-ABA, Chignoli §VI), in the frame of its carrier.

With 𝖲_j the motion of every link for a unit of the independent velocity j, and all links' inertias and biases IA, pA:
D = 𝖲ᵀ IA 𝖲, W = Σ Xᵀ IA 𝖲, and the carrier feels Ia = Σ Xᵀ IA X - W D⁻¹ Wᵀ, pa = Σ Xᵀ (pA + IA c) + W D⁻¹ u.
Sums over links are formed by small sweeps inside the cluster, so nothing of size 6 n x 6 n ever exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..spatial.articulated import Articulated
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.solve import Factored, factor
from ..spatial.vectors import Twist, Wrench
from ..tree.links import Kinematics
from .sweep import Outcome


class Felt(NamedTuple):
    """How a link or cluster and all that hangs on it answers to a push by its carrier: F = Ia A + pa."""

    Ia: Articulated
    pa: Wrench


class FreedGroup(NamedTuple):
    """a = D⁻¹ (u - Wᵀ A) for the acceleration A of the carrier."""

    W: tuple[Wrench, ...]
    D: Factored
    u: Vec


def spread(
    ks: Sequence[Kinematics], inner: Sequence[int], own: Sequence[Twist], carrier: Twist | None = None
) -> list[Twist]:
    """V_b = X_b V_parent + own_b."""
    found: list[Twist] = []
    for k, parent, extra in zip(ks, inner, own, strict=True):
        above = found[parent] if parent >= 0 else carrier
        found.append(extra if above is None else k.X.motion_to_child(above) + extra)
    return found


def gather(ks: Sequence[Kinematics], inner: Sequence[int], own: Sequence[Wrench]) -> tuple[list[Wrench], Wrench]:
    """F_b = own_b + Σ Xᵀ F of the links it carries; and what the carrier feels."""
    total, carrier = list(own), Wrench.zero()
    for b in reversed(range(len(ks))):
        sent = ks[b].X.force_to_parent(total[b])
        if inner[b] >= 0:
            total[inner[b]] = total[inner[b]] + sent
        else:
            carrier = carrier + sent
    return total, carrier


def composite(ks: Sequence[Kinematics], inner: Sequence[int], IA: Sequence[Articulated]) -> Articulated:
    """Σ Xᵀ IA X in the carrier's frame."""
    total, carrier = list(IA), None
    for b in reversed(range(len(ks))):
        sent = total[b].to_parent(ks[b].X)
        if inner[b] >= 0:
            total[inner[b]] = total[inner[b]] + sent
        else:
            carrier = sent if carrier is None else carrier + sent
    assert carrier is not None
    return carrier


def projected(ks: Sequence[Kinematics], G: Sequence[Mat], F: Sequence[Wrench], extra: Sequence[Vec]) -> Vec:
    """Gᵀ (Sᵀ F + extra)."""
    parts = [block.transpose_times(k.S.project(f) + x) for k, block, f, x in zip(ks, G, F, extra, strict=True)]
    return sum(parts[1:], parts[0])


def project_forces(G: tuple[Mat, ...], forces: tuple[Vec, ...]) -> Vec:
    """Gᵀ τ."""
    parts = [block.transpose_times(force) for block, force in zip(G, forces, strict=True)]
    return sum(parts[1:], parts[0])


def accelerations(G: tuple[Mat, ...], g: tuple[Vec, ...], a: Vec) -> tuple[Vec, ...]:
    """G ÿ + g, by link."""
    return tuple(block @ a + bias for block, bias in zip(G, g, strict=True))


def weighted(W: Sequence[Wrench], w: Sequence[Scalar]) -> Wrench:
    """Σ W_j w_j; nothing for a cluster that cannot move."""
    return Wrench.of(Mat(x.six() for x in W).transpose_times(w)) if W else Wrench.zero()


def spun_up(k: Kinematics, rate: Sequence[Scalar]) -> Vec:
    """What the armature takes."""
    return Vec([j * x for j, x in zip(k.armature, rate, strict=True)])


def _motion(
    ks: tuple[Kinematics, ...], inner: tuple[int, ...], G: tuple[Mat, ...], j: int
) -> tuple[list[Vec], list[Twist]]:
    """Rates of all joints, and twists of all links relative to the carrier, for a unit of independent velocity j."""
    rates = [Vec([row[j] for row in block]) for block in G]
    return rates, spread(ks, inner, [k.S.twist(r) for k, r in zip(ks, rates, strict=True)])


def motions(ks: tuple[Kinematics, ...], inner: tuple[int, ...], G: tuple[Mat, ...]) -> list[Mat]:
    """The stacked motion subspace 𝖲, one 6 x nv block a link."""
    columns = [_motion(ks, inner, G, j)[1] for j in range(len(G[0][0]))]
    return [Mat.from_columns([column[b].six() for column in columns]) for b in range(len(ks))]


def release(
    ks: tuple[Kinematics, ...], inner: tuple[int, ...], G: tuple[Mat, ...], IA: Sequence[Articulated]
) -> tuple[tuple[Wrench, ...], Factored, Articulated]:
    """W, D and the inertia that is left to the carrier when the cluster moves freely."""
    n = len(G[0][0])
    W: list[Wrench] = []
    D: list[Vec] = []
    for j in range(n):
        rates, S_j = _motion(ks, inner, G, j)
        F, carrier = gather(ks, inner, [I @ t for I, t in zip(IA, S_j, strict=True)])
        W.append(carrier)
        D.append(projected(ks, G, F, [spun_up(k, r) for k, r in zip(ks, rates, strict=True)]))
    factored = factor(Mat(D))
    rows = [w.six() for w in W]
    Y = factored.solve_columns(Mat(rows))
    left = [list(row) for row in composite(ks, inner, IA).rows()]
    for i in range(6):
        for k in range(i, 6):
            left[i][k] = left[i][k] - dot([row[i] for row in rows], [y[k] for y in Y])
    return tuple(W), factored, Articulated.of_rows(left)


def gathered(
    ks: Sequence[Kinematics], p: Sequence[Wrench], children: Sequence[Sequence[Felt]]
) -> tuple[list[Articulated], list[Wrench]]:
    """IA and pA of every link: its own, and what hangs on it outside the cluster."""
    IA = [sum((m.Ia for m in sent), Articulated.of(k.I)) for k, sent in zip(ks, children, strict=True)]
    return IA, [sum((m.pa for m in sent), own) for own, sent in zip(p, children, strict=True)]


def free_inward(
    ks: tuple[Kinematics, ...],
    inner: tuple[int, ...],
    G: tuple[Mat, ...],
    g: tuple[Vec, ...],
    c: tuple[Twist, ...],
    p: tuple[Wrench, ...],
    children: tuple[tuple[Felt, ...], ...],
    tau: Vec,
) -> Outcome:
    """Free the cluster; c of a link is what it gains by velocity alone, to which the loops add S g."""
    IA, pA = gathered(ks, p, children)
    W, D, Ia = release(ks, inner, G, IA)
    gained = spread(ks, inner, [x + k.S.twist(b) for x, k, b in zip(c, ks, g, strict=True)])
    F, P = gather(ks, inner, [f + I @ t for f, I, t in zip(pA, IA, gained, strict=True)])
    u = Vec(tau) - projected(ks, G, F, [spun_up(k, b) for k, b in zip(ks, g, strict=True)])
    w = D.solve(u)
    pa = P + weighted(W, w)
    return Outcome(FreedGroup(W, D, u), Felt(Ia, pa))


def accelerate_outward(
    ks: tuple[Kinematics, ...],
    inner: tuple[int, ...],
    G: tuple[Mat, ...],
    g: tuple[Vec, ...],
    c: tuple[Twist, ...],
    A: Twist,
    freed: FreedGroup,
) -> tuple[Vec, tuple[Twist, ...]]:
    """Independent accelerations a, and the acceleration of every link."""
    a = freed.D.solve([u - w.power(A) for u, w in zip(freed.u, freed.W, strict=True)])
    rates = [block @ a + bias for block, bias in zip(G, g, strict=True)]
    own = [x + k.S.twist(r) for x, k, r in zip(c, ks, rates, strict=True)]
    return a, tuple(spread(ks, inner, own, A))
