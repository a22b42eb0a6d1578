"""The equations of a step at accelerations and impulses that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from ...algorithms import rnea
from ...algorithms.constrained.rows import dense_rows, evaluate_rows, project_row, wrenches
from ...algorithms.kinematics import along, place_outward
from ...algorithms.minverse import add_rows
from ...algorithms.sweep import Sweeps, velocity_outward
from ...errors import ArgumentError
from ...functions import projection
from ...functions.context import Context
from ...functions.methods.passive import acts
from ...functions.registry import flat
from ...once import cached_property
from ...spatial.linear import Mat, Scalar, Vec, dot
from ...spatial.transform import IDENTITY
from ...spatial.vectors import Twist, Wrench
from ...tree.cluster_tree import GROUND, Location
from ...tree.clusters import Cluster
from ...tree.links import Link
from .. import integration
from ..bilateral import NO_SLACK, bilateral_rates, bilateral_terms, links_of
from ..candidates import Candidate, OneOf, Spec, Touch
from ..contact_rows import LocatedContact, joint_terms, locate_all, rates
from ..drift import drifts
from ..gauss_seidel import RowBlock
from ..implicit_forces import Implicit
from ..laws import rebound
from ..recovery import asked_of_rows, thrown
from ..terrain_numbers import TerrainNumbers, mixed_friction
from .modes import block_slopes


def is_judged(candidate: Candidate) -> bool:
    """Whether the bias of a contact depends on its velocities without contacts."""
    return candidate.restitution > 0.0


def _refuse_searches(spec: Spec) -> None:
    """Refuse contacts whose place is found by a search, which has no derivative."""
    found = [x.name for x in spec.candidates if isinstance(x.geometry, OneOf) and not x.geometry.manifold.closed]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise ArgumentError(
            f"derivatives of a step: the contact {found[0]!r}{more} is found by a search, which has no derivatives; "
            "use spheres, capsules and boxes, whose contacts are formulas, or finite differences"
        )


class KnownStep:
    """A recording of a step whose accelerations and impulses are known: the state, contacts and rows at its start."""

    implicitly = Implicit
    block_slopes = staticmethod(block_slopes)

    def __init__(self, c: Context, spec: Spec) -> None:
        self.c, self.spec, self.call = c, spec, c.recorder.call
        _refuse_searches(spec)
        (self.dt,) = c.given["dt"]
        self.implicit = self.implicitly(c, self.dt)
        self.bundles: Any = c.model.bundles  # type: ignore[attr-defined]  (of a ContactModel)
        self.touched = sorted({link for x in spec.candidates for link in x.links if link != GROUND})
        self.s = c.equations(sorted({*self.touched, *links_of(self.bundles)}))
        self.v = c.by_cluster("v")
        self.judged = [k for k, x in enumerate(spec.candidates) if is_judged(x)]

    @cached_property
    def blocks(self) -> tuple[RowBlock, ...]:
        """The rows of each contact, joint row and row of a constraint."""
        spec = self.spec
        sizes = [1 + sum(x.discs) for x in spec.candidates]
        first = [0, *accumulate(sizes)]
        blocks = [RowBlock(at, x.discs) for at, x in zip(first, spec.candidates, strict=False)]
        single = len(spec.joints) + sum(x.traced.m for x in self.bundles)
        return (*blocks, *(RowBlock(first[-1] + k, (), joint=True) for k in range(single)))

    def parts(self, x: Sequence[Any]) -> list[Vec]:
        """Entries of all rows, by block."""
        return [Vec(x[b.first : b.first + b.size]) for b in self.blocks]

    # ------------------------------------------------------------------ geometry

    @cached_property
    def poses(self) -> Any:
        """World poses of the links that may touch something."""
        return along(self.s, [Location(link, IDENTITY) for link in self.touched], IDENTITY, place_outward)

    @cached_property
    def placed(self) -> list[LocatedContact]:
        """The contacts at the state."""
        return locate_all(self.c.recorder, self.spec.candidates, self.poses, TerrainNumbers(self.spec, self.c.given))

    @cached_property
    def kept(self) -> list[Any]:
        """The rows of constraints at the state."""
        c = self.c
        return evaluate_rows(self.s, self.bundles, c.coordinates(), c.velocities(), c.still())

    def rows(self) -> list[list[Any]]:
        """J (rows, nv)."""
        tree, rows = self.s.tree, list[list[Any]]()
        for candidate, placed in zip(self.spec.candidates, self.placed, strict=True):
            links = [x for x in candidate.links if x != GROUND]
            own: list[list[Any]] = [[0.0] * tree.nv for _ in placed.rows[0]]
            on = {link: self.call(wrenches, part) for link, part in zip(links, placed.rows, strict=True)}
            for i, columns in self.s.inward_from(project_row, on, add_rows, GROUND).items():
                for target, row in zip(own, columns, strict=True):
                    target[tree.first_v[i] : tree.first_v[i] + len(row)] = row
            rows += own
        for joint in self.spec.joints:
            rows.append([float(j == tree.first_v[joint.link] + joint.entry) for j in range(tree.nv)])
        for bundle, own_rows in zip(self.bundles, self.kept, strict=True):
            rows += dense_rows(self.s, bundle, own_rows)
        return self.c.columns(rows)

    # ------------------------------------------------------------------ balance of forces

    def residual(self, a: Sequence[Vec], impulse: Sequence[Vec] | None, damped: bool = True) -> list[Any]:
        """r (nv): what is missing in the balance of forces; without contacts if impulses are None, without what acts
        implicitly if not `damped`.
        """
        c, on = self.c, self.c.F_ext() if impulse is None else self.contact_wrenches(impulse)
        by_link = c.links_accelerations(a)
        more: list[Any] = self.implicit_forces(by_link) if damped else [None] * len(by_link)
        if impulse is not None:
            self._add_rows_within(more, on, impulse)
        needed = rnea.inverse_dynamics(self.s, c.velocities(), by_link, on, c.gravity)
        return self._less_forces([x if y is None else self.call(_sum, x, y) for x, y in zip(needed, more, strict=True)])

    def free_residual(self, a: Sequence[Vec], impulse: Sequence[Vec]) -> list[Any]:
        """r of the accelerations that contacts judge by: those without contacts."""
        return self.residual(a, None)

    def _less_forces(self, needed: Sequence[Vec]) -> list[Any]:
        """Forces on the joints of all links less those that act, on the independent velocities."""
        both = zip(self.c.project(needed), self.implicit.forces(), strict=True)
        return flat([self.call(_less, *x) for x in both])

    def contact_wrenches(self, impulse: Sequence[Vec]) -> list[Wrench]:
        """The wrenches of contacts on the links, means over the step, and those that are given."""
        on = self.c.F_ext()
        for candidate, placed, own in zip(self.spec.candidates, self.placed, impulse, strict=False):
            links = [x for x in candidate.links if x != GROUND]
            for link, rows in zip(links, placed.rows, strict=True):
                on[link] = self.call(_add_force, on[link], rows, own, self.dt)
        return on

    def unmodelled_forces(self, a: Sequence[Vec]) -> list[Any]:
        """The part of r (nv) that is no inertial force: what acts implicitly less all forces but those of contacts."""
        more, still = self.implicit_forces(self.c.links_accelerations(a)), self.c.still()
        return self._less_forces([y if x is None else x for x, y in zip(more, still, strict=True)])

    def implicit_forces(self, a: Sequence[Vec]) -> list[Any]:
        """(dt D + dt² K) a by link, None where nothing acts implicitly; a: accelerations of all joints."""
        found: list[Any] = [None] * len(a)
        for i, extra in enumerate(self.extra_armature):
            if acts(tuple(extra)):
                found[i] = self.call(_scaled, extra, a[i])
        for servo in self.implicit.coupled:
            rate: Any = 0.0
            for i, gear in servo.gears.items():
                rate = self.call(_add_dot, rate, gear, a[i])
            for i, gear in servo.gears.items():
                pull = self.call(_times, gear, servo.weight, rate)
                found[i] = pull if found[i] is None else self.call(_sum, found[i], pull)
        return found

    @cached_property
    def extra_armature(self) -> list[Vec]:
        """What acts implicitly on each link's joint alone, as an armature."""
        return [self.implicit.armature(i, own) for i, own in enumerate(self.c.still())]

    def _add_rows_within(self, more: list[Any], on: list[Wrench], impulse: Sequence[Vec]) -> None:
        """Take forces along the rows of joints and constraints from the forces in joints, and add wrenches on links."""
        at = len(self.spec.candidates)
        for row in self.spec.joints:
            n = self.s.tree.links[row.link].joint.nv
            push = self.call(_unit_push, row.entry, n, impulse[at], self.dt)
            more[row.link] = push if more[row.link] is None else self.call(_sum, more[row.link], push)
            at += 1
        for bundle, rows in zip(self.bundles, self.kept, strict=True):
            own = Vec([x for part in impulse[at : at + bundle.traced.m] for x in part])
            at += bundle.traced.m
            for link, pull in zip(bundle.links, rows.pull, strict=True):
                on[link] = self.call(_add_force, on[link], pull, own, self.dt)
            for link, turn in zip(bundle.joints, rows.turn, strict=True):
                push = self.call(_negative_push, turn, own, self.dt)
                more[link] = push if more[link] is None else self.call(_sum, more[link], push)

    def mass_matrix(self) -> list[list[Any]]:
        """M̃ (nv, nv)."""
        c, links = self.c, self.s.tree.links
        both = zip(links, self.extra_armature, strict=True)
        stiffer = [x._replace(armature=self.call(_sum, x.armature, own)) if acts(tuple(own)) else x for x, own in both]
        tree = replace(self.s.tree, links=tuple(stiffer))
        q, v = ([x for part in parts for x in part] for parts in (c.coordinates(), c.velocities()))
        M: Any = projection.mass_matrix(c, Sweeps(tree, c.recorder, q, v, self.s.armature))
        for servo in self.implicit.coupled:
            gear = Vec(flat(c.project([servo.gears.get(i, own) for i, own in enumerate(c.still())])))
            M = self.call(_add_outer, Mat(map(Vec, M)), gear, servo.weight)
        return [list(row) for row in M]

    # ------------------------------------------------------------------ velocities of rows

    def turning(self, n: int) -> tuple[Any, Link | None]:
        """How the velocities of a cluster turn within a step (see `integration`)."""
        return self._straight[n], self._tumbling[n]

    @cached_property
    def _straight(self) -> list[Any]:
        return [integration.straight(self.c.tree, x) for x in self.c.clusters]

    @cached_property
    def _tumbling(self) -> list[Link | None]:
        return [self._kept_momentum(x) for x in self.c.clusters]

    def _kept_momentum(self, cluster: Cluster) -> Link | None:
        """The link of a cluster whose angular momentum is kept: one on which nothing acts implicitly."""
        link = integration.tumbling(self.c.tree, cluster)
        return None if link is None or acts(tuple(self.extra_armature[cluster.links[0]])) else link

    def ahead(self, a: Sequence[Vec]) -> list[Vec]:
        """Velocities after the step, in the axes at its start, by cluster."""
        turning = zip(self._straight, self._tumbling, self.v, a, strict=True)
        return [self.call(integration.ahead, *x, self.dt) for x in turning]

    def _by_link(self, v: Sequence[Vec]) -> list[Any]:
        """Velocities of the joints of all links, from independent ones."""
        found: list[Any] = [None] * len(self.s.tree.parents)
        for cluster, e, own in zip(self.c.clusters, self.c.cluster_states, v, strict=True):
            parts = (own,) if e.is_identity else self.call(_expand, e.G, own)
            for link, x in zip(cluster.links, parts, strict=True):
                found[link] = x
        return found

    def _twists(self, by_link: Sequence[Any], links: Sequence[int]) -> Any:
        return along(self.s, [Location(x, IDENTITY) for x in links], Twist.zero(), velocity_outward, by_link)

    def contact_rates(self, v: Sequence[Vec], which: Sequence[int]) -> list[Vec]:
        """J v of some contacts, for independent velocities by cluster."""
        links = sorted({link for k in which for link in self.spec.candidates[k].links if link != GROUND})
        twists = self._twists(self._by_link(v), links)
        own = [tuple(twists[x] for x in self.spec.candidates[k].links if x != GROUND) for k in which]
        return [self.call(rates, self.placed[k].rows, x) for k, x in zip(which, own, strict=True)]

    def row_velocities(self, a: Sequence[Vec], impulse: Sequence[Vec], free: Sequence[Vec]) -> list[Any]:
        """c of all rows. `free`: accelerations without contacts, where some are `judged` by them."""
        ahead, spec = self.ahead(a), self.spec
        velocities = self.contact_rates(ahead, range(len(spec.candidates)))
        without = self.contact_rates(self.ahead(free), self.judged) if self.judged else []
        freely = {k: x[0] for k, x in zip(self.judged, without, strict=True)}
        terrain = TerrainNumbers(spec, self.c.given)
        drift = drifts(self.c, self.s, spec, self._straight, self.placed, self.poses, terrain, self.dt)
        found: list[Any] = []
        for k, (candidate, own) in enumerate(zip(spec.candidates, velocities, strict=True)):
            terms = candidate, self.placed[k].touch, self.dt, spec.bounce_above, self.before[k]
            found += self.call(_contact_velocity, *terms, freely.get(k, 0.0), drift.get(k), own, impulse[k])
        by_link = self._by_link(ahead)
        found += [by_link[row.link][row.entry] for row in spec.joints]
        if self.bundles:
            twists = self._twists(by_link, sorted(set(links_of(self.bundles))))
            for bundle, rows in zip(self.bundles, self.kept, strict=True):
                on = tuple(twists[x] for x in bundle.links)
                within = tuple(by_link[x] for x in bundle.joints)
                found += self.call(bilateral_terms, rows, on, within, self.dt)
        return found

    def compliances(self) -> dict[int, Any]:
        """R of the normals that have one, by row."""
        found = {}
        for block, candidate, placed in zip(self.blocks, self.spec.candidates, self.placed, strict=False):
            soft = self.call(_compliance, candidate, placed.touch, self.dt)
            if soft.__class__ is not float or soft:
                found[block.first] = soft
        return found

    def bounds(self) -> list[Vec]:
        """Friction of contacts; lower end, upper end and dry friction of joints; by block."""
        c = self.c
        found = self.frictions()
        q, moving = c.coordinates(), c.model.cluster_tree.moving
        for row in self.spec.joints:
            dry = moving[row.link].friction[row.entry] if row.friction else 0.0
            found.append(self.call(joint_terms, row.ends, q[row.link][row.entry], dry, self.dt))
        return found + [NO_SLACK] * (len(self.blocks) - len(found))

    def frictions(self) -> list[Vec]:
        """Friction of each contact: sliding, torsion, rolling."""
        terrain = TerrainNumbers(self.spec, self.c.given)
        return [self._friction(terrain, k) for k in range(len(self.spec.candidates))]

    def free_mass_matrix(self) -> list[list[Any]]:
        """The matrix of the accelerations that contacts judge by: the same."""
        return self.mass_matrix()

    def _friction(self, terrain: TerrainNumbers, k: int) -> Vec:
        candidate = self.spec.candidates[k]
        found: list[Any] = list(candidate.bounds)
        if candidate.friction > 0.0:
            if (of_terrain := terrain.friction(candidate)) is not None:
                found[0] = self.call(mixed_friction, *of_terrain)
            elif "friction" in self.c.given:
                found[0] = self.c.given["friction"][k]
        return Vec(found)

    # ------------------------------------------------------------------ end of the step

    def asked(self, a: Sequence[Vec] | None) -> list[Any]:
        """What the first row of each block asks for to take back a penetration, None of constraints; rows are at rest
        after the step if accelerations a are None."""
        after: Sequence[Any] = [Vec((0.0,))] * (len(self.spec.candidates) + len(self.spec.joints))
        if a is not None:
            after = self._rates_of(self.ahead(a))
        gaps = [x.touch.gap for x in self.placed]
        return asked_of_rows(self.call, self.spec, gaps, self.c.coordinates(), after, self.dt, len(self.blocks))

    def _rates_of(self, v: Sequence[Vec]) -> list[Vec]:
        """Velocities of the rows of contacts, limits and dry friction, by block, for velocities by cluster."""
        by_link, contacts = self._by_link(v), range(len(self.spec.candidates))
        return self.contact_rates(v, contacts) + [Vec((by_link[x.link][x.entry],)) for x in self.spec.joints]

    @cached_property
    def before(self) -> list[Any]:
        """The velocities of contacts along their normals at the start of the step."""
        return [x[0] for x in self.contact_rates(self.v, range(len(self.spec.candidates)))]

    def missed_of_asked(self, w: Sequence[Vec], a: Sequence[Vec]) -> list[Any]:
        """J w - r of the first rows of all blocks, for velocities w by cluster."""
        rates, by_link = [x[0] for x in self._rates_of(w)], self._by_link(w)
        if self.bundles:
            twists = self._twists(by_link, sorted(set(links_of(self.bundles))))
            for bundle, rows in zip(self.bundles, self.kept, strict=True):
                on = tuple(twists[x] for x in bundle.links)
                within = tuple(by_link[x] for x in bundle.joints)
                rates += self.call(bilateral_rates, rows, on, within)
        both = zip(rates, self.asked(a), strict=True)
        return [x if r is None else self.call(_minus, x, r) for x, r in both]

    def end(self, a: Sequence[Vec], w: Sequence[Vec] | None = None) -> tuple[list[Vec], list[Vec]]:
        """Coordinates and velocities at the end of the step, by cluster. dt w: the displacement that takes back
        penetrations, if there are any."""
        ahead, q = self.ahead(a), self.c.by_cluster("q")
        if w is not None:
            every = zip(self.c.clusters, q, w, strict=True)
            q = [self.call(integration.displaced, x.embedding, *own, self.dt) for x, *own in every]
        both = []
        for n, cluster in enumerate(self.c.clusters):
            turning = self._straight[n], self._tumbling[n], cluster.embedding
            both.append(self.call(integration.moved, *turning, q[n], ahead[n], self.dt))
        return [x for x, _ in both], [y for _, y in both]


def _add_force(on: Wrench, rows: Mat, impulse: Vec, dt: Scalar) -> Wrench:
    """A wrench with that of impulses along rows, as a mean force over the step."""
    return on + Wrench.of(rows.transpose_times(impulse) * (1.0 / dt))


def _unit_push(entry: int, n: int, impulse: Vec, dt: Scalar) -> Vec:
    """Minus a force along one velocity of a joint."""
    return Vec([-(impulse[0] / dt) if i == entry else 0.0 for i in range(n)])


def _negative_push(turn: Mat, impulse: Vec, dt: Scalar) -> Vec:
    return turn.transpose_times(impulse) * (-1.0 / dt)


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b


def _minus(a: Scalar, b: Scalar) -> Scalar:
    return a - b


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def _scaled(weights: Vec, a: Vec) -> Vec:
    return Vec([w * x for w, x in zip(weights, a, strict=True)])


def _add_dot(total: Scalar, a: Vec, b: Vec) -> Scalar:
    return total + dot(a, b)


def _times(gear: Vec, weight: Scalar, rate: Scalar) -> Vec:
    return gear * (weight * rate)


def _add_outer(M: Mat, gear: Vec, weight: Scalar) -> Mat:
    pairs = zip(M, gear, strict=True)
    return Mat(Vec([x + weight * a * b for x, b in zip(row, gear, strict=True)]) for row, a in pairs)


def _expand(G: tuple[Mat, ...], v: Vec) -> tuple[Vec, ...]:
    return tuple(block @ v for block in G)


def _compliance(candidate: Candidate, touch: Touch, dt: Scalar) -> Scalar:
    return candidate.law.normal(touch.gap, dt)[0]


def _contact_velocity(
    candidate: Candidate, touch: Touch, dt: Scalar, least: float, before: Scalar, free: Scalar,
    drift: Vec | None, velocity: Vec, impulse: Vec,
) -> Vec:  # fmt: skip
    """c of a contact; before, free: its normal velocities before the step, and without contacts."""
    bias, soft = bias_of(candidate, touch, dt)
    if candidate.law.recovers:
        bias = bias - thrown(touch.gap, dt, before)
    if drift is not None:
        bias, velocity = bias + drift[0], Vec((velocity[0], *(velocity + drift)[1:]))
    if candidate.restitution > 0.0:  # which replaces all that is added to the velocity along the normal
        bias = rebound(bias, touch.gap, dt, before, free, candidate.restitution, least)
    return with_bias(velocity, bias, soft, impulse)


def bias_of(candidate: Candidate, touch: Touch, dt: Scalar) -> tuple[Scalar, Scalar]:
    """The bias of a contact along its normal (m/s), and R, as its law says."""
    soft, bias = candidate.law.normal(touch.gap, dt)
    return bias, soft


def with_bias(velocity: Vec, bias: Scalar, soft: Scalar, impulse: Vec) -> Vec:
    """c of a contact from its velocities."""
    return Vec((velocity[0] + bias + soft * impulse[0], *velocity[1:]))
