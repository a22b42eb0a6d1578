"""Rates of anything that depends on the configuration, as joints move with their velocities.

What is written as expressions of q is run on q ⊕ δ and differentiated along δ = v at δ = 0. Correct for every joint,
whatever its velocities mean, and for quaternions of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr import Expr, Graph, evaluate, jvp, vjp
from ..spatial.linear import Scalar, Vec
from ..spatial.subspace import Selection
from ..spatial.vectors import Twist

if TYPE_CHECKING:
    from .base import Joint


class Rate(NamedTuple):
    """d/dt of some entries, as expressions of the coordinates q and velocities v of some joints."""

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    entries: tuple[Scalar, ...]
    still: tuple[Expr, ...] = ()

    def at(self, q: Sequence[Scalar], v: Sequence[Scalar], still: Sequence[Scalar] = ()) -> list[Scalar]:
        """The rates at a state."""
        return evaluate(self.entries, dict(zip((*self.q, *self.v, *self.still), (*q, *v, *still), strict=True)))


def rate_of(
    joints: Sequence[Joint],
    q: Sequence[Expr],
    entries: Sequence[Scalar],
    still: Sequence[Expr] = (),
    along: Sequence[float] | None = None,
) -> Rate:
    """d/dt of entries, which are expressions of the coordinates q of all the joints, as these move with v.

    They may depend on other inputs that are `still`. The velocities may be known: `along` these, and v is not given.
    """
    work, final = Graph(), Graph()
    moved: list[Scalar] = []
    q_in, delta, q_out = [], [], []
    for n, joint in enumerate(joints):
        q_in += (own_q := work.inputs(f"q{n}", joint.nq))
        delta += (own_delta := work.inputs(f"delta{n}", joint.nv))
        q_out += final.inputs(f"q{n}", joint.nq)
        moved += joint.integrate(own_q, own_delta)
    size = len(delta) if along is None else 0
    v_in, v_out, still_in, still_out = (
        graph.inputs(name, n) for name, n in (("v", size), ("still", len(still))) for graph in (work, final)
    )
    displaced = evaluate(entries, dict(zip((*q, *still), (*moved, *still_in), strict=True)))
    slopes = jvp(displaced, dict(zip(delta, v_in if along is None else along, strict=True)))
    known: dict[Expr, Any] = dict(zip((*q_in, *v_in, *still_in), (*q_out, *v_out, *still_out), strict=True))
    known.update(dict.fromkeys(delta, 0.0))
    return Rate(tuple(q_out), tuple(v_out), tuple(evaluate(slopes, known)), still_out)


@lru_cache(maxsize=256)
def subspace_rate_of(joint: Joint, along: tuple[float, ...] | None = None) -> Rate:
    """S° of a joint, column by column, six entries each; or the derivative of S along a known motion."""
    q = Graph().inputs("q", joint.nq)
    return rate_of([joint], q, [x for t in joint.subspace(q).twists() for x in t.six()], along=along)


def derived_subspace_rate(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Twist, ...]:
    """The columns of S°, by differentiating those of S."""
    if isinstance(joint.subspace(q), Selection):
        return (Twist.zero(),) * joint.nv
    entries = subspace_rate_of(joint).at(q, v)
    return tuple(Twist.of(Vec(entries[6 * k : 6 * k + 6])) for k in range(joint.nv))


def derived_coadjoint(joint: Joint, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
    """p · [v, e_i] for each velocity i of a joint, by differentiating its `chart_rate`.

    Near q the coordinates θ of q ⊕ θ have θ̇ = A(θ) v, and [v, e_i] = (∂_v A) e_i - (∂_i A) v at θ = 0.
    """
    graph = Graph()
    theta, w, momenta, rates = (graph.inputs(name, joint.nv) for name in ("theta", "w", "p", "v"))
    power = Vec(joint.chart_rate(theta, w)).dot(momenta)
    along = jvp(vjp([power], [1.0], w), dict(zip(theta, rates, strict=True)))
    across = vjp([power], [1.0], theta)
    known: dict[Expr, Any] = dict(zip((*momenta, *rates, *w), (*p, *v, *v), strict=True))
    known.update(dict.fromkeys(theta, 0.0))
    values = evaluate([*along, *across], known)
    return Vec([a - b for a, b in zip(values[: joint.nv], values[joint.nv :], strict=True)])
