"""Rates of anything that depends on the configuration, as joints move with their velocities.

What is written as expressions of q is run on q ⊕ t v and differentiated with respect to t. Right for every joint,
whatever its velocities mean, and for quaternions of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..expr import Expr, Graph, evaluate, jvp
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


def rate_of(joints: Sequence[Joint], q: Sequence[Expr], entries: Sequence[Scalar], still: Sequence[Expr] = ()) -> Rate:
    """d/dt of entries, which are expressions of the coordinates q of all the joints, as these move with v.

    They may depend on others that are `still`.
    """
    work, final = Graph(), Graph()
    (t,) = work.inputs("t", 1)
    moved: list[Scalar] = []
    q_in, v_in, q_out, v_out = [], [], [], []
    for n, joint in enumerate(joints):
        q_in += (own_q := work.inputs(f"q{n}", joint.nq))
        v_in += (own_v := work.inputs(f"v{n}", joint.nv))
        q_out += final.inputs(f"q{n}", joint.nq)
        v_out += final.inputs(f"v{n}", joint.nv)
        moved += joint.integrate(own_q, Vec(own_v) * t)
    still_in, still_out = (graph.inputs("still", len(still)) for graph in (work, final))
    slopes = jvp(evaluate(entries, dict(zip((*q, *still), (*moved, *still_in), strict=True))), {t: 1.0})
    known = {**dict(zip((*q_in, *v_in, *still_in), (*q_out, *v_out, *still_out), strict=True)), t: 0.0}
    return Rate(tuple(q_out), tuple(v_out), tuple(evaluate(slopes, known)), still_out)


@lru_cache(maxsize=256)
def _derived(joint: Joint) -> Rate:
    q = Graph().inputs("q", joint.nq)
    return rate_of([joint], q, [x for t in joint.subspace(q).twists() for x in t.six()])


def derived_subspace_rate(joint: Joint, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Twist, ...]:
    """The columns of S°, by differentiating those of S."""
    if isinstance(joint.subspace(q), Selection):
        return (Twist.zero(),) * joint.nv
    entries = _derived(joint).at(q, v)
    return tuple(Twist.of(Vec(entries[6 * k : 6 * k + 6])) for k in range(joint.nv))
