"""How contacts drift whose points run along their shape, or whose normals turn: rims, ellipsoids, uneven terrain.

With rows that are at rest at the start of each step, a rolling rim would enter by its curvature, and climb as it is
pushed out. With rows at rest in the middle of a step, they are as fast at its end as they were at its start, and forces
do no work: energy errs to second order. So g of such rows has a drift, by how much they are faster in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algorithms.kinematics import along, place_outward
from ..algorithms.sweep import Sweeps, velocity_outward
from ..expr import maximum, minimum, select
from ..functions.context import Context
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist
from ..tree.cluster_tree import Location
from . import integration
from .candidates import Candidate, Spec, Touch
from .contact_rows import LocatedContact, located, touched
from .nearest_points import NearestPoint, NearestPoints
from .terrain_numbers import Given, TerrainNumbers, with_numbers

_TINY = 1e-60


def drifts(
    c: Context, s: Sweeps, spec: Spec, turning: Sequence[Any], placed: Sequence[LocatedContact], poses: Any,
    terrain: TerrainNumbers, dt: Scalar,
) -> dict[int, Vec]:  # fmt: skip
    """The drifts (rows) of some contacts, by number. `turning`: joints whose velocities turn with what they move, by
    cluster; placed, poses: contacts, and links, at the start of the step."""
    which = [k for k, x in enumerate(spec.candidates) if not x.steady]
    if not which:
        return {}
    links = sorted({spec.candidates[k].links[0] for k in which})
    midway = _poses_midway(c, s, turning, links, dt)
    twists: Any = along(s, [Location(x, IDENTITY) for x in links], Twist.zero(), velocity_outward, c.velocities())
    call, found = c.recorder.call, {}
    shared: dict[Any, tuple[Touch, ...]] = {}
    for k in which:
        x = spec.candidates[k]
        (rows,), (first, second), given = placed[k].rows, x.links, terrain.of(x)
        start, later = (poses[first], poses[second]), (midway[first], midway[second])
        if isinstance(x.geometry, NearestPoint):
            key = id(x.geometry.manifold)
            if key not in shared:
                shared[key] = call(touch_later, x.geometry.manifold, start, later, given)
            touch = shared[key][x.geometry.k]
        else:
            touch = call(touched, x.geometry, later, given)
        found[k] = call(drift_of, x, rows, twists[first], poses[first], later, touch)
    return found


def touch_later(
    manifold: NearestPoints, start: tuple[Transform, Transform], later: tuple[Transform, Transform], given: Given
) -> tuple[Touch, ...]:
    """The contacts at later poses of the points that are nearest at the start."""
    return with_numbers(manifold, given).later_touches(start, later)


def _poses_midway(c: Context, s: Sweeps, turning: Sequence[Any], links: list[int], dt: Scalar) -> Any:
    """Poses of links in the middle of the step, as fast as they are."""
    call = c.recorder.call
    half, q = call(_half, dt), []
    for n, (own, v) in enumerate(zip(c.by_cluster("q"), c.by_cluster("v"), strict=True)):
        q += call(integration.moved, turning[n], None, c.clusters[n].embedding, own, v, half)[0]
    entries = [x for part in c.with_values({**c.given, "q": tuple(q)}).coordinates() for x in part]
    midway = Sweeps(s.tree, c.recorder, entries, [0.0] * s.tree.nv, s.armature)
    return along(midway, [Location(link, IDENTITY) for link in links], IDENTITY, place_outward)


def _half(x: Scalar) -> Scalar:
    return 0.5 * x


def drift_of(
    candidate: Candidate, rows: Mat, V: Twist, pose: Transform, later: tuple[Transform, Transform], touch: Touch
) -> Vec:
    """How much faster the rows of a contact are in the middle of a step, at the velocity V of its link at the start.

    later, touch: poses and the contact in the middle of the step. Where surfaces have corners, no more than what makes
    rows as fast at the end of the step as they are at its start.
    """
    moved = located(candidate, (pose._replace(p=later[0].p), later[1]), touch)
    six = V.six()
    before, after = rows @ six, moved.rows[0] @ six
    found: list[Scalar] = []
    for places in ([0], range(1, 3)) if len(before) > 2 else ([0],):
        old = Vec([before[i] for i in places])
        change = Vec([after[i] - before[i] for i in places])
        size = dot(old, old)
        share = dot(change, old) / select(size > _TINY, size, 1.0)
        found += old * minimum(maximum(share, 0.0), 1.0)
    return Vec([*found, *[0.0] * (len(before) - len(found))])
