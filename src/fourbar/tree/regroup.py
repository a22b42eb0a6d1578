"""Equal equations of motion with fewer parameters.

Mass on the axis of a hinge moves with the parent as much as with the child, so that it may be assigned to either: no
motion and no joint force depends on the choice. Assigned to the parent, four parameters of each hinged body become zero
and with them a fifth of the work of inverse dynamics (the base-parameter grouping of the identification literature,
used for speed). What is left of a body is no longer physical by itself: energy, momentum and reactions use the
original tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..joints.one_axis import Revolute
from ..spatial.fluid_inertia import dry, with_dry
from ..spatial.inertia import Inertia, rotational
from ..spatial.linear import Scalar, Vec
from ..spatial.symmetric import Sym
from ..spatial.transform import IDENTITY, Transform
from .links import Link
from .spanning_tree import SpanningTree


def _inertia(m: float, h: Vec, Sigma: Sym) -> Inertia:
    return Inertia(m, h, rotational(Sigma), Sigma)


def _movable(link: Link) -> Inertia | None:
    """The part of a link's inertia that the joint does not move."""
    m, h, _, Sigma = dry(link.I)
    if link.joint.pivot == "line":
        return _inertia(m, Vec((0.0, 0.0, h[2])), Sym(0.0, 0.0, 0.0, 0.0, 0.0, Sigma.zz))
    if link.joint.pivot == "point":
        return _inertia(m, Vec((0.0, 0.0, 0.0)), Sym.diagonal(0.0))
    return None


def _without(I: Inertia, part: Inertia) -> Inertia:
    return _inertia(I.m - part.m, I.h - part.h, I.Sigma - part.Sigma)


def regrouped(tree: SpanningTree) -> SpanningTree:
    """A tree with the same equations of motion; what reaches the ground is dropped."""
    links = list(tree.links)
    for i in reversed(range(len(links))):
        part = _movable(links[i])
        if part is None:
            continue
        links[i] = links[i]._replace(I=with_dry(links[i].I, _without(dry(links[i].I), part)))
        parent = tree.parents[i]
        if parent >= 0:
            carried = part.to_parent(links[i].placement)
            links[parent] = links[parent]._replace(I=links[parent].I + carried)
    return replace(tree, links=tuple(links))


class Spinning(Revolute):
    """A hinge whose child is rotationally symmetric: its frame need not rotate with it.

    At every instant the frame that is aligned with the parent is as good a body frame as any other.
    """

    def placement(self, q: Sequence[Scalar]) -> Transform:
        return IDENTITY


def _is_symmetric(I: Inertia) -> bool:
    """Whether what is left of a hinged body is symmetric about its axis; not if it is made of symbols."""
    S = I.Sigma
    if not all(isinstance(x, float | int) for x in (I.m, *I.h, *S)):
        return False
    return (
        I.m == 0.0 and tuple(I.h) == (0.0, 0.0, 0.0) and S.xy == S.xz == S.yz == S.zz == 0.0
        and abs(S.xx - S.yy) <= 1e-15 * abs(S.xx)
    )  # fmt: skip


def unturned(tree: SpanningTree) -> SpanningTree:
    """A regrouped tree in which the frames of symmetric rotors at the ends of chains do not rotate.

    Neither sin nor cos of their angles is needed. Not for forces that are given in the rotating frame of such a rotor.
    """
    carrying = set(tree.parents)
    links = list(tree.links)
    for i, link in enumerate(links):
        if i in carrying or type(link.joint) is not Revolute or not isinstance(link.I, Inertia):
            continue
        if _is_symmetric(link.I):
            S = link.I.Sigma
            even = _inertia(0.0, link.I.h, Sym(S.xx, 0.0, 0.0, S.xx, 0.0, 0.0))
            links[i] = link._replace(joint=Spinning(), I=even)
    return replace(tree, links=tuple(links))
