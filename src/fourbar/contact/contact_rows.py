"""Rows of contacts and joints at a state: where they are, how fast, their terms in the problem, and their forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from ..tree.cluster_tree import GROUND
from .candidates import APART, Candidate, ContactKind, Manifold, OneOf, Touch, axes_of
from .nearest_points import NearestPoint, NearestPoints
from .recovery import thrown
from .terrain_numbers import Given, TerrainNumbers, with_numbers

_FAR = 1e30  # a limit that is not there, as a velocity


class LocatedContact(NamedTuple):
    """A contact at a state: gap, point, axes (normal first), and its rows on each link that moves."""

    touch: Touch
    axes: tuple[Vec, ...]
    rows: tuple[Mat, ...]


def _row(pose: Transform, point: Vec, direction: Vec, turning: bool, sign: float) -> Vec:
    """A unit force (or moment) along a direction at a point of the world, on a link, in the link's frame."""
    f = pose.unrotate(direction * sign)
    if turning:
        return Vec((*f, 0.0, 0.0, 0.0))
    return Vec((*pose.unrotate(point - pose.p).cross(f), *f))


def touch_nearest(points: NearestPoints, poses: tuple[Transform, Transform], given: Given) -> tuple[Touch, ...]:
    """The contacts of the nearest points of a link, on terrain with numbers that are given."""
    return with_numbers(points, given).touches(*poses)


def touched(geometry: Any, poses: tuple[Transform, Transform], given: Given) -> Touch:
    """A contact on terrain with numbers that are given."""
    return with_numbers(geometry, given).touch(*poses)


def located(candidate: Candidate, poses: tuple[Transform, Transform], found: Touch | None = None) -> LocatedContact:
    """A contact, found already or not, and its rows on its links (first, then second; those on the ground are left
    out)."""
    touch = candidate.geometry.touch(*poses) if found is None else found
    acting = candidate.law.acting(touch, candidate.on_terrain)
    if isinstance(candidate.geometry, NearestPoint):  # which may be empty: a gap of APART is no distance
        there = touch.gap < APART
        acting = acting._replace(
            point=Vec([select(there, a, b) for a, b in zip(acting.point, touch.point, strict=True)])
        )
    touch = acting
    axes = (touch.normal, *(axes_of(touch.normal) if candidate.discs else ()))
    rows = tuple(
        Mat(_row(pose, touch.point, x, turning, sign) for x, turning in candidate.kind.directions(axes))
        for pose, sign, link in zip(poses, (1.0, -1.0), candidate.links, strict=True)
        if link != GROUND
    )
    return LocatedContact(touch, axes, rows)


def touch_pairs(
    recorder: Any, candidates: Sequence[Candidate], poses: Any, terrain: TerrainNumbers | None = None
) -> dict[tuple[Manifold, tuple[int, int]], tuple[Touch, ...]]:
    """The contacts of all pairs of shapes, and of the nearest points of links, by manifold and links."""
    found: dict[tuple[Manifold, tuple[int, int]], tuple[Touch, ...]] = {}
    for x in candidates:
        own = x.geometry
        if isinstance(own, OneOf) and (own.manifold, x.links) not in found:
            both = (poses[x.links[0]], poses[x.links[1]])
            if isinstance(own, NearestPoint):
                found[own.manifold, x.links] = recorder.call(
                    touch_nearest, own.manifold, both, terrain.of(x) if terrain else ()
                )
            else:
                found[own.manifold, x.links] = own.manifold.record(recorder, both)
    return found


def locate_all(
    recorder: Any, candidates: Sequence[Candidate], poses: Any, terrain: TerrainNumbers
) -> list[LocatedContact]:
    """All contacts, from the poses of the links; the contacts of two shapes are found at once."""
    call, of_two = recorder.call, touch_pairs(recorder, candidates, poses, terrain)
    placed = []
    for x in candidates:
        both, own = (poses[x.links[0]], poses[x.links[1]]), x.geometry
        if isinstance(own, OneOf):
            placed.append(call(located, x, both, of_two[own.manifold, x.links][own.k]))
        elif given := terrain.of(x):
            placed.append(call(located, x, both, call(touched, own, both, given)))
        else:
            placed.append(call(located, x, both))
    return placed


def rates(rows: tuple[Mat, ...], twists: tuple[Twist, ...]) -> Vec:
    """J v of the rows, from the twists of the links."""
    total = rows[0] @ twists[0].six()
    for own, V in zip(rows[1:], twists[1:], strict=True):
        total = total + own @ V.six()
    return total


def contact_terms(
    kind: ContactKind, touch: Touch, dt: Scalar, before: Scalar, free: Vec, drift: Vec | None
) -> tuple[Vec, Scalar]:
    """g of a contact's rows without restitution, and the compliance of its normal.

    before: the normal velocity at the start of the step; drift: how much faster the rows are in its middle, if known.
    """
    compliance, bias = kind.law.normal(touch.gap, dt)
    if kind.law.recovers:
        bias = bias - thrown(touch.gap, dt, before)
    g = Vec((free[0] + bias, *free[1:]))
    return g if drift is None else g + drift, compliance


def joint_terms(ends: tuple[Scalar | None, Scalar | None], q: Scalar, friction: Scalar, dt: Scalar) -> Vec:
    """Velocities that the limits of a joint leave, None where there is none, and the impulse of its dry friction.

    Beyond a limit it may rest.
    """
    lower, upper = ends
    least = -_FAR if lower is None else minimum((lower - q) / dt, 0.0)
    most = _FAR if upper is None else maximum((upper - q) / dt, 0.0)
    return Vec((least, most, friction * dt))


def world_force(kind: ContactKind, axes: tuple[Vec, ...], impulse: Vec, dt: Scalar) -> Vec:
    """The force of a contact on the first of its links, in the world."""
    total = axes[0] * impulse[0]
    if kind.sliding:
        for axis, x in zip(axes[1:], impulse[1:3], strict=True):
            total = total + axis * x
    return total * (1.0 / dt)
