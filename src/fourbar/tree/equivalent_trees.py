"""Trees with the same equations of motion and fewer parameters: other frames of hinges, and masses on other links.

The frame of a hinged body may be rotated about the axis of its hinge, and moved along it, by constants: the angle of
the hinge does not change. Chosen well, a general rotation between two hinges becomes a rotation in a plane, or a mere
permutation of axes, and the position of a hinge loses some of its coordinates (the idea of Denavit and Hartenberg). A
file whose frames are rotated by odd angles then costs hardly more than one whose frames are all parallel.

Mass on the axis of a hinge moves with the parent as much as with the child, so that it may be assigned to either: no
motion and no joint force depends on the choice. Assigned to the parent, four parameters of each hinged body become zero
and with them a fifth of the work of inverse dynamics (the base-parameter grouping of the identification literature,
used for speed). What is left of a body is no longer physical by itself: energy, momentum and reactions use the
original tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import hypot
from typing import Any

from ..joints.one_axis import Revolute
from ..spatial.fluid_inertia import dry, with_dry
from ..spatial.inertia import Inertia, rotational
from ..spatial.linear import Scalar, Sym, Vec
from ..spatial.rotation import RotationZ
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


def regroup(tree: SpanningTree) -> SpanningTree:
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
    """Whether the rest of a hinged body is symmetric about its axis; never if it is made of symbols."""
    S = I.Sigma
    if not all(isinstance(x, float | int) for x in (I.m, *I.h, *S)):
        return False
    return (
        I.m == 0.0 and tuple(I.h) == (0.0, 0.0, 0.0) and S.xy == S.xz == S.yz == S.zz == 0.0
        and abs(S.xx - S.yy) <= 1e-15 * abs(S.xx)
    )  # fmt: skip


def hold_rotor_frames(tree: SpanningTree) -> SpanningTree:
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


_TINY = 1e-12  # too short to be a direction
_DUST = 1e-15  # rounding error of a zero or one
_FAR = 3.0  # how much further away the origin of a frame may be than before
# Approximate cost of a number that is neither 0 nor ±1: in a rotation, in a position, in an inertia.
_ROTATION, _POSITION, _INERTIA = 20, 12, 3
_NO_TURN = (1.0, 0.0)

Rows = list[list[float]]


def choose_frames(tree: SpanningTree) -> SpanningTree:
    """A tree with the same equations of motion whose hinged bodies have the cheapest frames."""
    links = list(tree.links)
    children: list[list[int]] = [[] for _ in links]
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            children[parent].append(i)
    for i, link in enumerate(links):
        if type(link.joint) is not Revolute or not _is_constant(link):
            continue
        hinged = [k for k in children[i] if _is_constant(links[k])]
        if len(hinged) < len(children[i]):
            continue
        best = _best(link, [links[k] for k in hinged])
        if best is not None:
            links[i] = _in_frame(link, best)
            for k in hinged:
                links[k] = links[k]._replace(placement=_clean(best.inverse().then(links[k].placement)))
    return replace(tree, links=tuple(links))


def _is_constant(link: Link) -> bool:
    """Whether no number of a link's placement is a symbol."""
    return _are_constant((*(x for row in link.placement.R for x in row), *link.placement.p))


def _are_constant(numbers: Iterable[Any]) -> bool:
    return all(x.__class__ is float for x in numbers)


def _best(link: Link, children: list[Link]) -> Transform | None:
    """The pose of the best frame of a body in its present frame; None if there is none better."""
    turn = _best_turn(_rows(link.placement), [_rows(c.placement) for c in children])
    turned = Transform(() if turn == _NO_TURN else (RotationZ(*turn),))
    placement = _clean(link.placement.then(turned))
    places = [turned.unrotate(c.placement.p) for c in children]
    I = _cleaned_inertia(dry(link.I).to_parent(turned.inverse()))
    shift = _best_shift(placement, places, I)
    return None if turn == _NO_TURN and shift == 0.0 else Transform(turned.factors, Vec((0.0, 0.0, shift)))


def _in_frame(link: Link, frame: Transform) -> Link:
    """A link in another frame of its body."""
    moved = link.I.to_parent(frame.inverse())
    I = with_dry(moved, _cleaned_inertia(dry(moved)))
    return link._replace(placement=_clean(link.placement.then(frame)), I=I)


# --- turning about the axis -------------------------------------------------------------------------------------------


def _best_turn(R: Rows, children: list[Rows]) -> tuple[float, float]:
    """Cosine and sine of the angle by which the frame of a hinge at R, which carries hinges at others, is turned."""
    if not _rotation_cost(R) and not any(map(_rotation_cost, children)):
        return _NO_TURN
    best, least = _NO_TURN, sum(map(_least_cost, children), _rotation_cost(R))
    for turn in (*_turns(R), *_turns_before(children)):
        cost = _rotation_cost(_after(R, turn))
        cost += sum(_least_cost(_before(C, turn)) for C in children) if cost < least else 0
        if cost < least:
            best, least = turn, cost
    return best


def _turns(R: Rows) -> Iterator[tuple[float, float]]:
    """The turns after R that make one of its entries zero."""
    yield from (t for x, y, _ in R for t in _direction(y, -x))


def _turns_before(children: list[Rows]) -> Iterator[tuple[float, float]]:
    """The turns whose inverse before one of several rotations makes one of its entries zero."""
    for x, y, _ in children:
        yield from (t for a, b in zip(x, y, strict=True) for t in _direction(b, -a))


def _direction(c: float, s: float) -> Iterator[tuple[float, float]]:
    length = hypot(c, s)
    if length > _TINY:
        yield c / length, s / length


def _after(R: Rows, turn: tuple[float, float]) -> Rows:
    """R Rz."""
    c, s = turn
    return [[_snap(x * c + y * s), _snap(y * c - x * s), z] for x, y, z in R]


def _before(R: Rows, turn: tuple[float, float]) -> Rows:
    """Rzᵀ R."""
    c, s = turn
    top = [_snap(c * a + s * b) for a, b in zip(R[0], R[1], strict=True)]
    low = [_snap(c * b - s * a) for a, b in zip(R[0], R[1], strict=True)]
    return [top, low, R[2]]


def _least_cost(R: Rows) -> int:
    """The cost of a rotation in the best frame of its child."""
    cost = _rotation_cost(R)
    return min([cost, *(_rotation_cost(_after(R, turn)) for turn in _turns(R))]) if cost else 0


def _rotation_cost(R: Rows) -> int:
    """Products and sums of R times a vector."""
    products = sum(x not in (0.0, 1.0, -1.0) for row in R for x in row)
    sums = sum(x != 0.0 for row in R for x in row) - 3
    return _ROTATION * (products + sums)


# --- moving along the axis --------------------------------------------------------------------------------------------


def _best_shift(placement: Transform, places: list[Vec], I: Inertia) -> float:
    """The distance by which the origin of a frame, which carries others at places, is moved along its axis."""
    axis = [row[2] for row in _rows(placement)]
    size = max(map(abs, (*placement.p, *(x for p in places for x in p))), default=0.0)

    def cost(shift: float) -> int:
        shifted = _drop_rounding([p + shift * a for p, a in zip(placement.p, axis, strict=True)], size)
        theirs = [_drop_rounding([p[0], p[1], p[2] - shift], size) for p in places]
        moved = _cleaned_inertia(I.to_parent(Transform((), Vec((0.0, 0.0, -shift)))))
        numbers = _INERTIA * _count((*moved.h, *moved.Sigma))
        return _POSITION * sum(map(_count, (shifted, *theirs))) + numbers

    wanted = [-p / a for p, a in zip(placement.p, axis, strict=True) if abs(a) > _TINY] + [p[2] for p in places]
    candidates = [x for x in wanted if 0.0 < abs(x) <= _FAR * size]
    if not candidates:
        return 0.0
    least, best = min((cost(x), k) for k, x in enumerate(candidates))
    return candidates[best] if least < cost(0.0) else 0.0


def _count(numbers: Iterable[Any]) -> int:
    return sum(x != 0.0 for x in numbers)


# --- numbers that rounding has left -----------------------------------------------------------------------------------


def _rows(T: Transform) -> Rows:
    return [list(row) for row in T.R]


def _snap(x: float) -> float:
    """An entry of a rotation without rounding errors."""
    if abs(x) <= _DUST:
        return 0.0
    return (1.0 if x > 0.0 else -1.0) if abs(abs(x) - 1.0) <= _DUST else x


def _drop_rounding(numbers: list[float], size: float) -> list[float]:
    return [0.0 if abs(x) <= _DUST * size else x for x in numbers]


def _clean(T: Transform) -> Transform:
    R = [[_snap(x) for x in row] for row in T.R]
    return Transform.of(R, Vec(_drop_rounding(list(T.p), max(map(abs, T.p)))))


def _cleaned_inertia(I: Inertia) -> Inertia:
    """The inertia without what rounding has left; one of symbols as it is."""
    h, S = list(I.h), list(I.Sigma)
    if not _are_constant((*h, *S)):
        return I
    h, S = _drop_rounding(h, max(map(abs, h))), _drop_rounding(S, max(map(abs, S)))
    return Inertia(I.m, Vec(h), rotational(Sym(*S)), Sym(*S))
