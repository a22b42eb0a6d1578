"""The residual of loops as expressions, with its derivatives: along velocities, twice along time, and along
displacements of the bodies that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from ..expr import Expr, Graph, evaluate, jvp, vjp
from ..expr.autodiff import reachable
from ..expr.fold import add, mul
from ..joints.base import Joint
from ..spatial.linear import Scalar, Vec, is_zero
from ..spatial.vectors import Twist

Residual = Callable[[Sequence[Vec], Mapping[str, Twist]], Sequence[Scalar]]
_MANY = 3  # columns for each row from which on a Jacobian is cheaper backward


def cut(x: Sequence[Any], sizes: Sequence[int]) -> tuple[Vec, ...]:
    """A sequence in pieces of the given sizes."""
    ends = list(accumulate(sizes))
    return tuple(Vec(x[end - size : end]) for end, size in zip(ends, sizes, strict=True))


@dataclass(frozen=True)
class LoopTrace:
    """φ, K and φ̈ at constant velocity as expressions of the coordinates (and velocities) of all joints of a group."""

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    phi: tuple[Scalar, ...]
    K: tuple[tuple[Scalar, ...], ...]
    curvature: tuple[Scalar, ...]
    bodies: tuple[str, ...]  # that the residual looks at
    pull: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each body and each of its six displacements: ∂φ
    entries: tuple[tuple[int, ...], ...]  # for each row of K the columns of its entries that are not zero
    p: tuple[Expr, ...] = ()  # changes of numbers of the mechanism on which all of this depends too

    def only(self, rows: Sequence[int]) -> LoopTrace:
        """The same with some of the rows."""
        phi, K, curvature, entries = (
            tuple(x[i] for i in rows) for x in (self.phi, self.K, self.curvature, self.entries)
        )
        pull = tuple(tuple(tuple(column[i] for i in rows) for column in columns) for columns in self.pull)
        return replace(self, phi=phi, K=K, curvature=curvature, entries=entries, pull=pull)

    @property
    def looks_at_bodies(self) -> list[bool]:
        """Which rows displacements of bodies may change."""
        columns = [column for columns in self.pull for column in columns]
        return [any(not is_zero(column[i]) for column in columns) for i in range(len(self.phi))]

    @property
    def roots(self) -> list[Scalar]:
        """All of it but the zeros of K, which `entries` tell."""
        pulls = [x for columns in self.pull for column in columns for x in column]
        rows = [row[j] for row, own in zip(self.K, self.entries, strict=True) for j in own]
        return [*self.phi, *rows, *self.curvature, *pulls]


def _supports(roots: Sequence[Scalar], inputs: Sequence[Expr]) -> list[int]:
    """For each root the inputs that it depends on, as the bits of a number."""
    found: dict[int, int] = {x.id: 1 << n for n, x in enumerate(inputs)}
    for node in reachable(roots):
        if node.id not in found:
            found[node.id] = 0
            for a in node.args:
                if a.__class__ is Expr:
                    found[node.id] |= found[a.id]
    return [found[r.id] if r.__class__ is Expr else 0 for r in roots]


def _bits(number: int) -> list[int]:
    """The places of the bits of a number."""
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found


def _sparse_columns(phi: Sequence[Scalar], along: Sequence[Expr]) -> list[dict[int, Scalar]]:
    """∂φ along each input, by row, without zeros: forward or, where rows are few beside their columns, backward."""
    columns = [_bits(support) for support in _supports(phi, along)]
    touched = len({j for own in columns for j in own})
    if touched > _MANY * max(1, len(phi)):
        backward: list[dict[int, Scalar]] = [{} for _ in along]
        for i, own in enumerate(columns):
            for j, rate in zip(own, vjp([phi[i]], [1.0], [along[j] for j in own]), strict=True):
                if not is_zero(rate):
                    backward[j][i] = rate
        return backward
    rows: list[list[int]] = [[] for _ in along]
    for i, own in enumerate(columns):
        for j in own:
            rows[j].append(i)
    found = []
    for x, own in zip(along, rows, strict=True):
        rates = jvp([phi[i] for i in own], {x: 1.0})
        found.append({i: rate for i, rate in zip(own, rates, strict=True) if not is_zero(rate)})
    return found


def trace(joints: Sequence[Joint], residual: Residual, bodies: Sequence[str], p: Sequence[Expr] = ()) -> LoopTrace:
    """Differentiate a residual along the joints' motions q ⊕ δ, and along displacements of the bodies it looks at.

    The residual may hold symbols p of its own.
    """
    nq, nv = [j.nq for j in joints], [j.nv for j in joints]
    final = Graph()
    q_out, v_out = final.inputs("q", sum(nq)), final.inputs("v", sum(nv))
    p_out = final.inputs("p", len(p))
    work = p[0].graph if p else Graph()
    q, v, delta = work.inputs("q", sum(nq)), work.inputs("v", sum(nv)), work.inputs("delta", sum(nv))
    (t,) = work.inputs("t", 1)
    nudges = work.inputs("nudge", 6 * len(bodies))
    shifts: list[Any] = [add(a, mul(t, b)) for a, b in zip(delta, v, strict=True)]
    moved = [j.integrate(x, d) for j, x, d in zip(joints, cut(q, nq), cut(shifts, nv), strict=True)]
    displaced = {body: Twist.of(nudges[6 * b : 6 * b + 6]) for b, body in enumerate(bodies)}
    phi = list(residual(moved, displaced))
    columns = _sparse_columns(phi, delta) + _sparse_columns(phi, nudges)
    curvature = jvp(jvp(phi, {t: 1.0}), {t: 1.0})
    known: dict[Expr, Any] = dict(zip((*q, *v, *p), (*q_out, *v_out, *p_out), strict=True))
    known.update(dict.fromkeys((*delta, *nudges, t), 0.0))
    flat = iter(evaluate([*phi, *(x for column in columns for x in column.values()), *curvature], known))
    m, n = len(phi), len(delta)
    phi_out = tuple(next(flat) for _ in range(m))
    K: list[list[Scalar]] = [[0.0] * n for _ in range(m)]
    pull: list[list[Scalar]] = [[0.0] * m for _ in nudges]
    entries: list[list[int]] = [[] for _ in range(m)]
    for j, column in enumerate(columns):
        for i in column:
            x = next(flat)
            if j >= n:
                pull[j - n][i] = x
            elif not is_zero(x):
                K[i][j] = x
                entries[i].append(j)
    pulls = tuple(tuple(tuple(x) for x in pull[6 * b : 6 * b + 6]) for b in range(len(bodies)))
    rows, places = tuple(map(tuple, K)), tuple(map(tuple, entries))
    return LoopTrace(q_out, v_out, phi_out, rows, tuple(flat), tuple(bodies), pulls, places, p_out)
