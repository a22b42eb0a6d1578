"""Joints of a loop that are partly independent: some velocities of a ball or a free joint, but not all.

Such a joint moves from q₀ to q₀ ⊕ x, and the independent entries of x are those of the step; the others follow from
closing the loops. With C the matrix of `chart_rate` at x, a further motion by velocities δ changes x by C δ, so that

    C_ii δ_i + C_id δ_d = e,    the lag of the independent entries,    and    δ_i = C_ii⁻¹ e - C_ii⁻¹ C_id δ_d.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..spatial.linear import Mat, Scalar, Vec
from .elimination import solve


class Bent(NamedTuple):
    """The relation of a joint's independent velocities to its dependent ones: δ_i = back + follow δ_d."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    back: list[Scalar]
    follow: list[list[Scalar]]


class SharedJoint(NamedTuple):
    """A joint, where its coordinates and velocities begin, and which of its velocities are independent or not."""

    joint: Joint
    q: int
    v: int
    independent: tuple[int, ...]
    dependent: tuple[int, ...]

    def at(self, q0: Sequence[Scalar], q: Sequence[Scalar], step: Sequence[Scalar]) -> Bent:
        """At q, on the way from q₀ by a step; all three of all joints."""
        own = slice(self.q, self.q + self.joint.nq)
        x = self.joint.difference(Vec(q0[own]), Vec(q[own]))
        columns = [self.joint.chart_rate(x, e) for e in Mat.identity(self.joint.nv)]
        lag = [step[self.v + i] - x[i] for i in self.independent]
        C_ii = [[columns[j][i] for j in self.independent] for i in self.independent]
        right = [[e, *(-columns[j][i] for j in self.dependent)] for e, i in zip(lag, self.independent, strict=True)]
        solved = solve(C_ii, right, [1.0] * len(C_ii), [1.0] * len(C_ii))
        return Bent(
            tuple(self.v + i for i in self.independent),
            tuple(self.v + i for i in self.dependent),
            [row[0] for row in solved],
            [row[1:] for row in solved],
        )


def find_shared(joints: Sequence[Joint], dependent: Sequence[int]) -> Iterator[SharedJoint]:
    """The joints of which some velocities are dependent and some are not; those with additive coordinates need
    no care.
    """
    q = v = 0
    for joint in joints:
        follows = tuple(j for j in range(joint.nv) if v + j in dependent)
        leads = tuple(j for j in range(joint.nv) if v + j not in dependent)
        if follows and leads and not isinstance(joint, FlatJoint):
            yield SharedJoint(joint, q, v, leads, follows)
        q, v = q + joint.nq, v + joint.nv
