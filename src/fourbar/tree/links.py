"""Links as step functions use them: bodies rigidly connected, each link with one joint (X, S, bias, I).

Armature is a number for each velocity, and blocks that couple several. Inertias of bodies include those of the fluids
around them; their numbers may be symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..mechanism.armature_blocks import ArmatureBlock, places
from ..mechanism.fluid import Fluid
from ..mechanism.mechanism import Body, PlacedJoint
from ..spatial.fluid_inertia import AnyInertia, DisplacedFluid, Hydrodynamics
from ..spatial.inertia import Articulated, Inertia
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.subspace import Subspace
from ..spatial.transform import Transform
from ..spatial.vectors import Twist

if TYPE_CHECKING:
    from ..joints.base import Joint


def inertia_of(body: Body) -> AnyInertia:
    """The inertia of a body in its own frame, with that of the fluid around it."""
    return immerse(Inertia.about_com(body.mass, body.com, body.inertia), body.fluid)


def immerse(rigid: Inertia, fluid: Fluid | None) -> AnyInertia:
    """The inertia of a body in a fluid."""
    return rigid if fluid is None else hydrodynamics(fluid).around(rigid)


def hydrodynamics(fluid: Fluid) -> Hydrodynamics:
    """A fluid as algorithms use it."""
    mass = fluid.density * fluid.volume
    return Hydrodynamics(
        Articulated.of_rows(fluid.added_mass),
        DisplacedFluid(mass, Vec([mass * x for x in fluid.center_of_buoyancy])),
        Mat.of(fluid.linear_drag),
        Mat.of(fluid.quadratic_drag),
        Vec(fluid.current),
    )


Coupled = tuple[tuple[int, Mat], ...]


class LinkArmature(NamedTuple):
    """The diagonal of a link's armature, and its blocks A_ij off the diagonal, with links j up to its own, i."""

    diagonal: Vec  # (nv of the link,)
    coupled: Coupled = ()


def link_armatures(
    joints: Sequence[PlacedJoint], blocks: Sequence[ArmatureBlock], links: Mapping[str, int]
) -> list[LinkArmature]:
    """The armature of each joint's link; `links` has the numbers of links by joint. Entries may be symbols."""
    if not blocks:
        return [LinkArmature(Vec(c.armature)) for c in joints]
    diagonal = {c.name: list(c.armature) for c in joints}
    types = {c.name: c.joint for c in joints}
    entries_by_joint: dict[str, dict[int, list[list[Scalar]]]] = {c.name: {} for c in joints}
    for block in blocks:
        at = places(block, types)
        for a, rows in at.items():
            for x, i in enumerate(rows):
                diagonal[a][x] = diagonal[a][x] + block.matrix[i][i]
            for b, columns in at.items():
                if links[b] <= links[a]:
                    entries = [[0.0 if i == j else block.matrix[i][j] for j in columns] for i in rows]
                    _add(entries_by_joint[a].setdefault(links[b], [[0.0] * len(columns) for _ in rows]), entries)
    return [
        LinkArmature(
            Vec(diagonal[c.name]),
            tuple(
                (other, Mat.of(rows))
                for other, rows in sorted(entries_by_joint[c.name].items())
                if other != links[c.name] or len(rows) > 1  # zeros too: as parameters they may vary
            ),
        )
        for c in joints
    ]


def _add(total: list[list[Scalar]], rows: Sequence[Sequence[Scalar]]) -> None:
    for own, row in zip(total, rows, strict=True):
        own[:] = [x + y for x, y in zip(own, row, strict=True)]


class CoupledLinks(NamedTuple):
    """Links whose velocities armature couples: the entries A of their blocks off the diagonal, which itself is zero
    here, over the velocities of all of these links.
    """

    links: tuple[int, ...]
    A: Mat  # (velocities, velocities) of all these links


def couplings(coupled: Sequence[Coupled], sizes: Sequence[int]) -> tuple[CoupledLinks, ...]:
    """The sets of links that blocks connect; `sizes` are the numbers of velocities of all links."""
    groups: list[set[int]] = []
    for i, own in enumerate(coupled):
        tied = {i, *(j for j, _ in own)} if own else set()
        if tied:
            groups = [g for g in groups if g.isdisjoint(tied)] + [tied.union(*(g for g in groups if g & tied))]
    coupled_links = []
    for links in sorted(tuple(sorted(group)) for group in groups):
        first = dict(zip(links, (sum(sizes[i] for i in links[:n]) for n in range(len(links))), strict=True))
        nv = sum(sizes[i] for i in links)
        A: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
        for i in links:
            for j, block in coupled[i]:
                for a, row in enumerate(block, first[i]):
                    for b, x in enumerate(row, first[j]):
                        A[a][b] = A[b][a] = x
        coupled_links.append(CoupledLinks(links, Mat.of(A)))
    return tuple(coupled_links)


class Link(NamedTuple):
    """A node of the spanning tree: a joint, its placement on the parent, and the inertia it carries. Constant data.

    `armature` is a diagonal; `coupled` are blocks off the diagonal, with links up to this one (see `armatures`).
    """

    joint: Joint
    placement: Transform
    I: AnyInertia
    armature: Vec  # (nv,)
    coupled: Coupled = ()

    def at(self, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> Kinematics:
        """The link at configuration q; without v its bias S° v is left out."""
        c = Twist.zero() if v is None else self.joint.bias(q, v)
        X = self.placement.then(self.joint.placement(q))
        return Kinematics(X, self.joint.subspace(q), c, self.I, self.armature)


class Kinematics(NamedTuple):
    """A link at a configuration: X carries motions from the parent, S spans the joint's motions, c_J = S° v."""

    X: Transform
    S: Subspace
    c_J: Twist
    I: AnyInertia
    armature: Vec  # (nv,)
