"""The inverse mass matrix M⁻¹(q) in O(n²), from articulated inertias; M itself is never formed.

Column j is the acceleration of all joints by a unit force in joint j. The force is felt by the joints that carry j
(inward along one path), and the acceleration spreads from the root. By symmetry only joints up to j are visited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model.cluster import Kinematics
from ..spatial.articulated import Articulated
from ..spatial.linear import Vec
from ..spatial.subspace import Hinge
from ..spatial.vectors import Twist, Wrench
from .sweep import Outcome, Sweeps


def free_inward(k: Kinematics, children: tuple[Articulated, ...]) -> Outcome:
    """IA = I + Σ Xᵀ Ia X, and what is left of it when the joint moves freely."""
    hinge, Ia = k.S.free(sum(children, Articulated.of(k.I)), k.armature)
    return Outcome(hinge, Ia.to_parent(k.X))


class Pushed(NamedTuple):
    """The joint's own answer w to each unit force, and the force that its parent feels."""

    w: tuple[Vec, ...]
    pa: tuple[Wrench, ...]


def push_source(k: Kinematics, hinge: Hinge) -> Pushed:
    """Unit forces in this joint itself."""
    unit = [Vec([1.0 if i == j else 0.0 for i in range(k.S.nv)]) for j in range(k.S.nv)]
    return _pushed(k, hinge, (Wrench.zero(),) * k.S.nv, unit)


def push_inward(k: Kinematics, hinge: Hinge, below: Pushed) -> Pushed:
    """The forces that come from further out."""
    return _pushed(k, hinge, below.pa, [Vec([0.0] * k.S.nv)] * len(below.pa))


def _pushed(k: Kinematics, hinge: Hinge, pA: tuple[Wrench, ...], tau: list[Vec]) -> Pushed:
    both = [k.S.push(hinge, p, t) for p, t in zip(pA, tau, strict=True)]
    return Pushed(tuple(w for w, _ in both), tuple(k.X.force_to_parent(p) for _, p in both))


class Spread(NamedTuple):
    """Accelerations of joint and body, one for each unit force."""

    a: tuple[Vec, ...]
    A: tuple[Twist, ...]


def spread_root(k: Kinematics, hinge: Hinge, w: tuple[Vec, ...]) -> Spread:
    return _spread(k, hinge, w, (Twist.zero(),) * len(w))


def spread_outward(k: Kinematics, parent: Spread, hinge: Hinge, w: tuple[Vec, ...]) -> Spread:
    """a = w - Y A' with A' = X A_λ; joints off the path have w = 0."""
    return _spread(k, hinge, w, tuple(k.X.motion_to_child(A) for A in parent.A))


def _spread(k: Kinematics, hinge: Hinge, w: tuple[Vec, ...], A: tuple[Twist, ...]) -> Spread:
    both = [k.S.accelerate(hinge, x, y) for x, y in zip(w, A, strict=True)]
    return Spread(tuple(a for a, _ in both), tuple(A for _, A in both))


def inverse_mass_matrix(s: Sweeps) -> list[list[Any]]:
    """M⁻¹ as rows of scalars."""
    n = s.tree.nv
    hinges = s.inward(free_inward)
    M: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for j in range(len(s.tree.parents)):
        for i, spread in _columns(s, hinges, j).items():
            for b, column in enumerate(spread.a):
                for a, x in enumerate(column):
                    row, at = s.tree.first_v[i] + a, s.tree.first_v[j] + b
                    if row <= at:
                        M[row][at] = M[at][row] = x
    return M


def _columns(s: Sweeps, hinges: list[Hinge], j: int) -> dict[int, Spread]:
    """Accelerations by unit forces in joint j, of the clusters up to j that share its root."""
    path = [j, *s.tree.ancestors(j)]
    pushed = {j: s.step(j, push_source, hinges[j])}
    for above, below in zip(path[1:], path, strict=False):
        pushed[above] = s.step(above, push_inward, hinges[above], pushed[below])
    spread: dict[int, Spread] = {}
    for i in range(j + 1):
        if s.tree.roots[i] != path[-1]:
            continue
        quiet = tuple(Vec([0.0] * s.tree.clusters[i].joint.nv) for _ in pushed[j].w)
        w = pushed[i].w if i in pushed else quiet
        parent = s.tree.parents[i]
        if parent < 0:
            spread[i] = s.step(i, spread_root, hinges[i], w)
        else:
            spread[i] = s.step(i, spread_outward, spread[parent], hinges[i], w)
    return spread
