"""One step in time with contacts, at velocity level: v⁺ = v + dt M̃⁻¹(forces) + M̃⁻¹ Jᵀ λ;  q⁺ = q ⊕ dt v⁺.

M̃ = M + dt D + dt² K has damping and stiffness of joints and servos in it (`implicit_forces`). λ solves the problem
of `gauss_seidel` on the rows at q. All candidates are computed in every step, those that are open carry nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..algorithms.constrained.rows import evaluate_rows
from ..algorithms.kinematics import along, place_outward
from ..algorithms.sweep import Sweeps, velocity_outward
from ..functions.context import Context
from ..functions.registry import flat
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import IDENTITY
from ..spatial.vectors import Twist
from ..tree.cluster_tree import GROUND, Location
from ..tree.clusters import Cluster
from ..tree.links import Link
from . import gauss_seidel, implicit_forces, integration
from .bilateral import NO_SLACK, BilateralRows, bilateral_terms, links_of
from .candidates import JointRow, Spec
from .contact_rows import (
    LocatedContact,
    contact_terms,
    joint_terms,
    locate_all,
    rates,
    world_force,
)
from .delassus import Delassus, ForceBasis, FreeMotion, RowsOnBasis
from .drift import drifts
from .gauss_seidel import ContactProblem, RowBlock, Solution
from .impacts import Impact, energy_gain, rebounding, solve_impacts, work
from .impulse_solver import DenseRows, solve
from .recovery import RecoveryRows, asked_of_rows, recovery_impulses, worth_recovering
from .terrain_numbers import TerrainNumbers, mixed_friction

UNITS = Mat.identity(6)


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _difference(a: Vec, b: Vec) -> Vec:
    return a - b


def _expanded(G: tuple[Mat, ...], v: Vec) -> tuple[Vec, ...]:
    return tuple(block @ v for block in G)


def _over_time(parts: tuple[Vec, ...], dt: Scalar) -> tuple[Vec, ...]:
    return tuple(x * (1.0 / dt) for x in parts)


def with_compliance(G: tuple[Vec, ...], where: tuple[int, ...], compliance: Vec) -> Mat:
    """G with R on its diagonal."""
    rows = [list(row) for row in G]
    for i, x in zip(where, compliance, strict=True):
        rows[i][i] = rows[i][i] + x
    return Mat(Vec(row) for row in rows)


class Stepper:
    """Records a step of a model with contacts."""

    conditions = staticmethod(gauss_seidel.conditions)
    implicitly = implicit_forces.Implicit

    def __init__(self, c: Context, spec: Spec) -> None:
        self.c, self.spec, self.call = c, spec, c.recorder.call
        (self.dt,) = c.given["dt"]
        self.implicit = self.implicitly(c, self.dt)
        self.bundles: Any = c.model.bundles  # type: ignore[attr-defined]  (of a ContactModel)
        self.coupling: Any = None
        self.softened: Any = ()
        self.impacts: list[Impact] = []
        self.free_rates: list[Any] = []  # velocities of all rows without impulses and what laws add
        self.s = self._sweeps()
        self.v = c.by_cluster("v")
        self.turning = [integration.straight(c.tree, cluster) for cluster in c.clusters]
        self.tumbling = [self._tumbling(cluster) for cluster in c.clusters]
        self.free = FreeMotion(
            self.s, c.clusters, c.cluster_states, c.velocities(), self.implicit.forces(), c.F_ext(), c.gravity
        )  # fmt: skip
        self.terrain = TerrainNumbers(spec, c.given)
        self.placed = self._placed()
        rows = evaluate_rows(self.s, self.bundles, c.coordinates(), c.velocities(), c.still())
        self.kept = [BilateralRows(*both) for both in zip(self.bundles, rows, strict=True)]
        self.blocks = self._blocks()

    def _tumbling(self, cluster: Cluster) -> Link | None:
        """The link of a cluster whose angular momentum is kept: one on which nothing acts implicitly."""
        link = integration.tumbling(self.c.tree, cluster)
        if link is None or tuple(self.s.tree.links[cluster.links[0]].armature) != tuple(link.armature):
            return None
        return link

    def _ahead(self, n: int, a: Vec) -> Vec:
        """The velocity of a cluster after the step, in the axes at its start."""
        return self.call(integration.ahead, self.turning[n], self.tumbling[n], self.v[n], a, self.dt)

    def _at_end(self, n: int, q: Vec, v: Vec) -> tuple[Vec, Vec]:
        """Coordinates and velocity of a cluster at the end of the step."""
        embedding = self.c.clusters[n].embedding
        return self.call(integration.moved, self.turning[n], self.tumbling[n], embedding, q, v, self.dt)

    def _touched(self) -> list[int]:
        """The links that may touch something."""
        return sorted({link for x in self.spec.candidates for link in x.links if link != GROUND})

    def _sweeps(self) -> Sweeps:
        """Sweeps over the cheapest tree, with what acts implicitly in its armature."""
        c = self.c
        s = c.equations(sorted({*self._touched(), *links_of(self.bundles)}))
        own = [self.implicit.armature(i, link.armature) for i, link in enumerate(s.tree.links)]
        links = [link._replace(armature=x) for link, x in zip(s.tree.links, own, strict=True)]
        tree = replace(s.tree, links=tuple(links))
        q = [x for part in c.coordinates() for x in part]
        v = [x for part in c.velocities() for x in part]
        return Sweeps(tree, c.recorder, q, v, s.armature)

    def _placed(self) -> list[LocatedContact]:
        poses = along(self.s, [Location(link, IDENTITY) for link in self._touched()], IDENTITY, place_outward)
        self.poses = poses
        return locate_all(self.c.recorder, self.spec.candidates, poses, self.terrain)

    def _blocks(self) -> tuple[RowBlock, ...]:
        found, at = [], 0
        for candidate in self.spec.candidates:
            found.append(RowBlock(at, candidate.discs))
            at += found[-1].size
        single = len(self.spec.joints) + sum(x.size for x in self.kept)
        found += [RowBlock(at + k, (), joint=True) for k in range(single)]
        return tuple(found)

    def delassus(self) -> Delassus:
        """The bases of all rows: those of a contact itself where a link has few, else unit wrenches on the link."""
        bases: list[Any] = []
        units: dict[int, int] = {}
        blocks: list[list[RowsOnBasis]] = []
        count: dict[int, int] = {}
        paired = {link for x in self.spec.candidates if GROUND not in x.links for link in x.links}
        for candidate, block in zip(self.spec.candidates, self.blocks, strict=False):
            for link in candidate.links:
                count[link] = count.get(link, 0) + block.size
        for candidate, placed in zip(self.spec.candidates, self.placed, strict=True):
            parts = []
            for link, rows in zip((x for x in candidate.links if x != GROUND), placed.rows, strict=True):
                if count[link] <= len(UNITS) and link not in paired:
                    parts.append(RowsOnBasis(len(bases), None))
                    bases.append(ForceBasis(link, rows))
                    continue
                if link not in units:
                    units[link] = len(bases)
                    bases.append(ForceBasis(link, UNITS))
                parts.append(RowsOnBasis(units[link], rows))
            blocks.append(parts)
        for row in self.spec.joints:
            nv = self.c.tree.links[row.link].joint.nv
            blocks.append([RowsOnBasis(len(bases), None)])
            bases.append(ForceBasis(row.link, Mat((Vec([float(i == row.entry) for i in range(nv)]),)), joint=True))
        for kept in self.kept:
            blocks += kept.parts(len(bases))
            bases.append(kept)
        for servo in self.implicit.coupled:
            blocks.append([RowsOnBasis(len(bases) + k, None) for k in range(len(servo.gears))])
            bases += [ForceBasis(link, Mat((gear,)), joint=True) for link, gear in servo.gears.items()]
        return Delassus(self.free, bases, blocks)

    def _links(self, v: dict[int, Vec]) -> list[Any]:
        """Velocities of all joints of some clusters, by link."""
        found: list[Any] = [None] * len(self.s.tree.parents)
        for n, own in v.items():
            e, cluster = self.c.cluster_states[n], self.c.clusters[n]
            parts = (own,) if e.is_identity else self.call(_expanded, e.G, own)
            for link, x in zip(cluster.links, parts, strict=True):
                found[link] = x
        return found

    def _accelerated(self, a: dict[int, Vec]) -> list[Any]:
        """Accelerations of all joints of some clusters, by link."""
        found: list[Any] = [None] * len(self.s.tree.parents)
        for n, own in a.items():
            parts = self.c.cluster_states[n].accelerations(self.call, own)
            for link, x in zip(self.c.clusters[n].links, parts, strict=True):
                found[link] = x
        return found

    def needed(self) -> list[int]:
        """The clusters that carry what the rows look at, what carries first."""
        links = [link for x in self.spec.candidates for link in x.links if link != GROUND]
        links += [row.link for row in self.spec.joints]
        links += [link for kept in self.kept for link in kept.carried]
        links += [link for servo in self.implicit.coupled for link in servo.gears]
        return sorted({n for link in links for n in self.free.path(link)})

    def _rates(self, v: dict[int, Vec], contacts: list[int]) -> dict[int, Vec]:
        """J v of some contacts, for velocities by cluster."""
        homes = {link for k in contacts for link in self.spec.candidates[k].links if link != GROUND}
        twists = self._twists(self._links(v), sorted(homes))
        found = {}
        for k in contacts:
            own = tuple(twists[x] for x in self.spec.candidates[k].links if x != GROUND)
            found[k] = self.call(rates, self.placed[k].rows, own)
        return found

    def _twists(self, by_link: list[Any], links: list[int]) -> Any:
        """Twists of some links, for velocities of joints."""
        return along(self.s, [Location(x, IDENTITY) for x in links], Twist.zero(), velocity_outward, by_link)

    def _kept_terms(self, by_link: list[Any]) -> list[Any]:
        """g of the rows of constraints, for velocities of joints."""
        twists = self._twists(by_link, sorted(set(links_of(self.bundles))))
        found: list[Any] = []
        for kept in self.kept:
            on = tuple(twists[x] for x in kept.bundle.links)
            within = tuple(by_link[x] for x in kept.bundle.joints)
            found += self.call(bilateral_terms, kept.rows, on, within, self.dt)
        return found

    def problem(self, delassus: Delassus) -> Any:
        """G, g and the bounds of all rows."""
        needed, spec = self.needed(), self.spec
        a = self.free_accelerations(delassus, needed)
        ahead = {n: self._ahead(n, a[n]) for n in needed}
        moved = self._moved(delassus, a)
        free = self._rates(ahead, list(range(len(spec.candidates))))
        before = self._rates({n: self.v[n] for n in needed}, list(range(len(spec.candidates))))
        drift = drifts(self.c, self.s, spec, self.turning, self.placed, self.poses, self.terrain, self.dt)
        g: list[Any] = []
        compliance: dict[int, Any] = {}
        bounds: list[Vec] = []
        self.impacts, self.free_rates = [], []
        for k, candidate in enumerate(spec.candidates):
            if moved is not None:
                block = self.blocks[k]
                free[k] = self.call(_sum, free[k], Vec(moved[block.first : block.first + block.size]))
            terms = self.placed[k].touch, self.dt, before[k][0], free[k], drift.get(k)
            own, soft = self.call(contact_terms, candidate.kind, *terms)
            if candidate.restitution > 0.0:
                impact = Impact(len(g), self.placed[k].touch.gap, before[k][0], free[k][0], candidate.restitution)
                self.impacts.append(impact)
            self.free_rates += free[k]
            if soft.__class__ is not float or soft:
                compliance[len(g)] = soft
            g += own
            bounds.append(self._friction(k))
        by_link, q = self._links(ahead), self.c.coordinates()
        for row in spec.joints:
            rate = by_link[row.link][row.entry]
            g.append(rate if moved is None else self.call(_sum, rate, moved[len(g)]))
            bounds.append(self.call(joint_terms, row.ends, q[row.link][row.entry], self._dry(row), self.dt))
        for rate in self._kept_terms(by_link) if self.kept else ():
            g.append(rate if moved is None else self.call(_sum, rate, moved[len(g)]))
            bounds.append(NO_SLACK)
        self.free_rates += g[len(self.free_rates) :]
        return self.assembled(delassus, Vec(g), compliance, tuple(bounds))

    def free_accelerations(self, delassus: Any, needed: list[int]) -> dict[int, Vec]:
        """The accelerations of some clusters without contacts."""
        return self.free.accelerations(needed, {})

    def _bouncing(self, problem: Any, share: Scalar) -> Any:
        """A problem with a share of all restitution."""
        g = list(self.right_side(problem))
        for impact in self.impacts:
            g[impact.row] = self.call(rebounding, impact, g[impact.row], self.dt, self.spec.bounce_above, share)
        return self.with_right_side(problem, Vec(g))

    def right_side(self, problem: Any) -> Vec:
        """g of all rows."""
        return problem.g

    def with_right_side(self, problem: Any, g: Vec) -> Any:
        """A problem with another g."""
        return problem._replace(g=g)

    def velocities(self, problem: Any, solution: Solution) -> Vec:
        """c of all rows."""
        return solution.velocity

    def solution(self, problem: Any) -> tuple[Any, Solution]:
        """Impulses, from those of the last step, and the problem that they solve: with all restitution, or with as
        much of it as creates no energy."""
        start = Vec(self.c.given["impulse"])
        if not self.impacts:
            return problem, self.solve(problem, start)

        def solve(share: Scalar, start: Vec) -> Solution:
            return self.solve(self._bouncing(problem, share), start)

        def measure(share: Scalar, found: Solution) -> Vec:
            bouncing = self._bouncing(problem, share)
            c = self.velocities(bouncing, found)
            return self.call(work, found.impulse, Vec(self.free_rates), self.right_side(bouncing), c)

        found, share = solve_impacts(self.c.recorder, solve, measure, start)
        return self._bouncing(problem, share), found

    def _moved(self, delassus: Delassus, a: dict[int, Vec]) -> Any:
        """By how much servos that move several velocities change the rows' velocities; None if there are none.

        a are accelerations without these.
        """
        servos = self.implicit.coupled
        if not servos:
            return None
        G = tuple(Vec(row) for row in delassus.matrix([*(x.size for x in self.blocks), *[1] * len(servos)]))
        rates = self.implicit.rates(self._accelerated(a))
        self.coupling = self.call(implicit_forces.coupling, G, Vec([x.weight for x in servos]), rates)
        if not self.blocks:
            return None
        self.softened = self.call(implicit_forces.softened, G, self.coupling)
        return self.call(implicit_forces.shift, self.coupling, self.dt)

    def matrix(self, delassus: Delassus) -> tuple[Vec, ...]:
        """G of all rows."""
        if self.coupling is not None:
            return self.softened
        return tuple(Vec(row) for row in delassus.matrix([block.size for block in self.blocks]))

    def assembled(
        self, delassus: Delassus, g: Vec, compliance: dict[int, Any], bounds: tuple[Vec, ...]
    ) -> Any:  # what `solve` takes
        """The problem of all rows; compliance is added on the diagonal, by row."""
        G: Any = self.matrix(delassus)
        if compliance:
            G = self.call(with_compliance, G, tuple(compliance), Vec(compliance.values()))
        return ContactProblem(Mat(G), g, bounds)

    def _dry(self, row: JointRow) -> Scalar:
        """The dry friction of a joint, which may be given for each sample."""
        return self.c.model.cluster_tree.moving[row.link].friction[row.entry] if row.friction else 0.0

    def _friction(self, k: int) -> Vec:
        """The bounds of a contact's friction; the sliding one may be given for each sample."""
        candidate = self.spec.candidates[k]
        found: list[Any] = list(candidate.bounds)
        if not candidate.friction > 0.0:
            return Vec(found)
        if (on_terrain := self.terrain.friction(candidate)) is not None:
            found[0] = self.call(mixed_friction, *on_terrain)
        elif "friction" in self.c.given:
            found[0] = self.c.given["friction"][k]
        return Vec(found)

    def solve(self, problem: ContactProblem, start: Vec) -> Solution:
        """Impulses that obey the problem, from some to begin with."""
        return solve(self.c.recorder, problem, self.blocks, start, self.spec, self.is_redundant)

    @property
    def is_redundant(self) -> bool:
        """Whether some link has several contacts, so that forces within it change no velocity."""
        homes = [link for x in self.spec.candidates for link in x.links if link != GROUND]
        return len(set(homes)) < len(homes)

    def accelerated(self, delassus: Delassus, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        """The accelerations of all clusters under forces along the rows."""
        if self.coupling is not None:
            pulled = self.call(implicit_forces.yielding, self.coupling, Vec(flat(forces)))
            forces = (*forces, *(Vec((x,)) for x in pulled))
        return self.free.accelerations(list(range(len(self.c.clusters))), delassus.forces(forces))

    def by_law(self, problem: Any, solution: Solution) -> Vec:
        """By how much each law is missed."""
        known = (solution.velocity,) if solution.velocity else ()
        return self.call(self.conditions, problem, self.blocks, solution.impulse, *known)

    def results(self) -> dict[str, list[Any]]:
        """q and v after the step, impulses, residual, gaps and forces, each as its flat entries."""
        c, dt = self.c, self.dt
        delassus = self.delassus()
        problem, solution = self.solution(self.problem(delassus))
        impulse = list(solution.impulse)
        parts = tuple(Vec(impulse[b.first : b.first + b.size]) for b in self.blocks)
        every = list(range(len(c.clusters)))
        a = self.accelerated(delassus, self.call(_over_time, parts, dt))
        ahead = [self._ahead(n, a[n]) for n in every]
        after = self._rates_after(dict(enumerate(ahead)))
        start = self._recovered_coordinates(delassus, problem, after)
        both = [self._at_end(n, q, v) for n, (q, v) in enumerate(zip(start, ahead, strict=True))]
        placed = zip(self.spec.candidates, self.placed, parts, strict=False)
        wrench = [self.call(world_force, own.kind, x.axes, part, dt) for own, x, part in placed]
        return {
            "q": flat([x for x, _ in both]),
            "v": flat([y for _, y in both]),
            "impulse": impulse,
            "residual": [solution.residual],
            "residuals": list(self.by_law(problem, solution)),
            "energy_gain": [self._energy_gain(parts, after)],
            "gap": [x.touch.gap for x in self.placed],
            "force": flat(wrench),
            "a": flat([a[n] for n in every]),
            "kept": self._kept_forces(parts),
        }

    def passes(self, problem: Any) -> RecoveryRows:
        """The rows of a problem, and what couples them."""
        scale = self.call(gauss_seidel.scaled, problem, self.blocks)
        return DenseRows(self.c.recorder, problem, self.blocks, scale, self.is_redundant)

    def pushed(self, delassus: Any, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        """How much forces along the rows accelerate all clusters."""
        still = tuple(Vec([0.0] * len(x)) for x in forces)
        with_forces, without = (self.accelerated(delassus, x) for x in (forces, still))
        return {n: self.call(_difference, a, without[n]) for n, a in with_forces.items()}

    def _recovered_coordinates(self, delassus: Any, problem: Any, after: Sequence[Vec]) -> list[Vec]:
        """The coordinates from which the step moves, by cluster: those at its start, less a part of penetrations.
        `after`: velocities of the rows of contacts, limits and dry friction after the step."""
        c, gaps = self.c, [x.touch.gap for x in self.placed]
        asked = asked_of_rows(self.call, self.spec, gaps, c.coordinates(), after, self.dt, len(self.blocks))
        start = tuple(c.by_cluster("q"))
        some = tuple(x for x in asked if x is not None and x.__class__ is not float)
        if not some:
            return list(start)

        def recover(q: tuple[Vec, ...]) -> tuple[tuple[Vec, ...], Any]:
            y = tuple(recovery_impulses(c.recorder, self.passes(problem), asked))
            w = self.pushed(delassus, y)
            every = zip(c.clusters, q, (w[n] for n in range(len(q))), strict=True)
            return tuple(self.call(integration.displaced, x.embedding, *own, self.dt) for x, *own in every), 0.0

        going = self.call(worth_recovering, some, self.spec.tolerance)
        return list(c.recorder.repeat(recover, start, 1, going))

    def _rates_after(self, v: dict[int, Vec]) -> list[Vec]:
        """Velocities of the rows of contacts, limits and dry friction, by block, for velocities by cluster."""
        contacts = list(range(len(self.spec.candidates)))
        rates, by_link = self._rates(v, contacts), self._links(v)
        found = [rates[k] for k in contacts]
        return found + [Vec((by_link[row.link][row.entry],)) for row in self.spec.joints]

    def _energy_gain(self, parts: tuple[Vec, ...], after: list[Vec]) -> Scalar:
        """The energy (J) that contacts, limits and dry friction add in the step; `after`: velocities of their rows."""
        if not after:
            return 0.0
        acting = Vec(flat(parts[: len(after)]))
        return self.call(energy_gain, acting, Vec(self.free_rates[: len(acting)]), Vec(flat(after)))

    def _kept_forces(self, parts: tuple[Vec, ...]) -> list[Any]:
        """Forces along the rows of constraints, means over the step, from the impulses of all blocks."""
        count = sum(x.size for x in self.kept)
        return flat(self.call(_over_time, parts[len(parts) - count :], self.dt)) if count else []
