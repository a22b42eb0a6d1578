"""A step whose impulses are found by Newton steps over the joints (`articulated_system`), however many rows there are.

Rows of contacts are written over the six unit wrenches of their links. Each block yields to what the others do by
itself, and all of them are coupled by the motion of the joints: the work of a pass is that of an elimination of the
joints and a part that grows with the number of contacts. All contacts of a kind share their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..algorithms.constrained.rows import dense_rows
from ..functions.registry import flat
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..tree.cluster_tree import GROUND
from . import gauss_seidel
from .articulated_system import ArticulatedSystem, JointsBase, LinkBase, RowBase
from .candidates import ContactKind, Touch
from .contact_step import Stepper
from .delassus import RowsOnBasis
from .gauss_seidel import ContactProblem, RowBlock, Scaled, Solution
from .impulse_solver import solve_with
from .joint_rows import (
    JointProblem,
    JointRows,
    Local,
    Mats,
    Parts,
    faster,
    forces_on_bases,
    groups_of,
)
from .link_motions import LinkMotions


def world_rows(kind: ContactKind, touch: Touch, axes: tuple[Vec, ...], origins: tuple[Vec, ...]) -> Mats:
    """The rows of a contact on each of its links that moves, (rows, 6): wrenches in axes of the world about a point."""
    signs = [sign for sign, moves in zip((1.0, -1.0), kind.moving, strict=True) if moves]
    found = []
    for sign, origin in zip(signs, origins, strict=True):
        arm, rows = touch.point - origin, []
        for direction, turning in kind.directions(axes):
            f = direction * sign
            rows.append(Vec((*f, 0.0, 0.0, 0.0) if turning else (*arm.cross(f), *f)))
        found.append(Mat(rows))
    return tuple(found)


def own_matrix(rows: Mats, omega: tuple[Mats, ...], soft: Vec) -> Mat:
    """G of a block with itself: Σ C Ω Cᵀ over its bases (Ω is None between uncoupled ones), with R on the diagonal."""
    total: Any = None
    for a, row_of in zip(rows, omega, strict=True):
        for b, middle in zip(rows, row_of, strict=True):
            if middle is not None:
                term = a @ middle @ b.T
                total = term if total is None else total + term
    stiff = enumerate(zip(total, soft, strict=True))
    return Mat(Vec([x + (s if i == j else 0.0) for j, x in enumerate(row)]) for i, (row, s) in stiff)


def scaled(G: Mat, block: RowBlock, size: Scalar) -> Scaled:
    """`Scaled` of one block, from its diagonal block G."""
    return gauss_seidel.scaled(ContactProblem(G, Vec([0.0] * len(G)), ()), (block,), size)


_AT_ONCE = 4  # rows of joints on one base: what is computed for several at once waits less


class JointStepper(Stepper):
    """Records a step whose rows are coupled by the motion of the joints."""

    def delassus(self) -> Any:
        """The rows of all blocks over their bases, and the equations of the joints."""
        c = self.c
        first_v = [0, *accumulate(cluster.embedding.nv for cluster in c.clusters)]
        self.motions = LinkMotions(self.s, c.clusters, c.cluster_states, self.poses)
        bases: list[LinkBase | JointsBase | RowBase] = []
        known: dict[tuple[int, tuple[int, ...]], int] = {}

        def base(key: tuple[int, tuple[int, ...]], made: LinkBase) -> int:
            if key not in known:
                known[key] = len(bases)
                bases.append(made)
            return known[key]

        blocks = []
        self.rows = []
        for candidate, placed in zip(self.spec.candidates, self.placed, strict=True):
            moving = tuple(link for link in candidate.links if link != GROUND)
            origins = tuple(self.motions.origin[link] for link in moving)
            self.rows.append(self.call(world_rows, candidate.kind, placed.touch, placed.axes, origins))
            numbers = [base((link, moving), LinkBase(link)) for link in moving]
            blocks.append([RowsOnBasis(*x) for x in zip(numbers, self.rows[-1], strict=True)])
        rows = [self._joint_row(row) for row in self.spec.joints]
        for some in (rows[k : k + _AT_ONCE] for k in range(0, len(rows), _AT_ONCE)):
            blocks += [[RowsOnBasis(len(bases), Mat((unit,)))] for unit in Mat.identity(len(some))]
            bases.append(JointsBase(tuple(some)))
        for own in (self._kept_rows(x) for x in self.kept):
            blocks += [[RowsOnBasis(len(bases), Mat((unit,)))] for unit in Mat.identity(len(own))]
            bases.append(RowBase(own))
        self.parts: Parts = tuple(map(tuple, blocks))
        self.groups = groups_of(self.blocks, self.parts)
        servos = [(self._gear(servo), servo.weight) for servo in self.implicit.coupled]
        return ArticulatedSystem(self.motions, first_v, bases, servos)

    def _joint_row(self, row: Any) -> tuple[int, Vec]:
        """The cluster of a joint, and a velocity of the joint over the independent ones of the cluster."""
        n = self.motions.home[row.link]
        G = self.c.cluster_states[n].G[self.c.clusters[n].links.index(row.link)]
        return n, Vec(G[row.entry])

    def _kept_rows(self, kept: Any) -> list[list[Any]]:
        """The rows of a constraint over all independent velocities."""
        return self.c.columns(dense_rows(self.s, kept.bundle, kept.rows))

    def _gear(self, servo: Any) -> Vec:
        """The gears of a servo over the independent velocities."""
        still = self.c.still()
        return Vec(flat(self.c.project([servo.gears.get(i, own) for i, own in enumerate(still)])))

    def free_accelerations(self, delassus: Any, needed: list[int]) -> dict[int, Vec]:
        """The accelerations of all clusters without contacts, servos that move several velocities included."""
        a = self.free.accelerations(list(range(len(self.c.clusters))), {})
        if self.implicit.coupled:
            a = self._with_servos(delassus, a)
        self.a = a
        return a

    def _with_servos(self, system: ArticulatedSystem, a: dict[int, Vec]) -> dict[int, Vec]:
        """Accelerations a under these servos: a - M̃⁻¹ Σ b w (b · a), where M̃ has them."""
        total = Vec(flat([a[n] for n in sorted(a)]))
        force = Vec([0.0] * len(total))
        for servo in self.implicit.coupled:
            gear = self._gear(servo)
            force = self.call(_push_gear, force, gear, servo.weight, total)
        more = system.solve(force)
        return self._add_accelerations(a, more, 1.0)

    def _add_accelerations(self, a: dict[int, Vec], more: Sequence[Any], weight: Any) -> dict[int, Vec]:
        """Accelerations by cluster with more of them, by velocity; None for none."""
        found, at = {}, 0
        for n in sorted(a):
            own = more[at : at + len(a[n])]
            at += len(a[n])
            changes = [0.0 if x is None else x for x in own]
            found[n] = self.call(_sum_of, a[n], Vec(changes)) if any(x is not None for x in own) else a[n]
        return found

    def _moved(self, delassus: Any, a: dict[int, Vec]) -> Any:
        """None: the mass matrix has all servos."""
        return None

    def _rates(self, v: dict[int, Vec], contacts: list[int]) -> dict[int, Vec]:
        """J v of some contacts, for velocities by cluster."""
        if not contacts:
            return {}
        twists = self.motions.twists([v[n] for n in sorted(v)])
        found = {}
        for k in contacts:
            links = [x for x in self.spec.candidates[k].links if x != GROUND]
            found[k] = self.call(faster, self.rows[k], tuple(twists[x] for x in links))
        return found

    def needed(self) -> list[int]:
        """All clusters."""
        return list(range(len(self.c.clusters)))

    def assembled(self, delassus: Any, g: Vec, compliance: dict[int, Any], bounds: tuple[Vec, ...]) -> JointProblem:
        """Every block by itself, and the joints that couple them."""
        by_block = [range(block.first, block.first + block.size) for block in self.blocks]
        soft = [Vec([compliance.get(i, 0.0) for i in rows]) for rows in by_block]
        matrices = []
        for parts, own in zip(self.parts, soft, strict=True):
            omega = tuple(tuple(delassus.between(a.base, b.base) for b in parts) for a in parts)
            matrices.append(self.call(own_matrix, tuple(x.over for x in parts), omega, own))
        size = self.call(gauss_seidel.largest, *(self.call(gauss_seidel.mobility, G) for G in matrices))
        made = []
        for k, (block, G) in enumerate(zip(self.blocks, matrices, strict=True)):
            scale = self.call(scaled, G, block._replace(first=0), size)
            made.append(Local(G, Vec([g[i] for i in by_block[k]]), soft[k], bounds[k], scale))
        return JointProblem(self.parts, self.groups, delassus, tuple(made))

    def right_side(self, problem: JointProblem) -> Vec:
        """g of all rows."""
        return _joined(tuple(own.g for own in problem.locals))

    def with_right_side(self, problem: JointProblem, g: Vec) -> JointProblem:
        """A problem with another g."""
        rows = [Vec(g[b.first : b.first + b.size]) for b in self.blocks]
        return problem._replace(locals=tuple(x._replace(g=y) for x, y in zip(problem.locals, rows, strict=True)))

    def velocities(self, problem: JointProblem, solution: Solution) -> Vec:
        """c of all rows."""
        passes = self.passes(problem)
        grouped = passes.regroup(self._by_block(solution.impulse))
        listed = passes.velocities_of([y for own in grouped for y in own])
        return _joined(passes.ungroup(passes.by_group(listed)))

    def _by_block(self, x: Sequence[Any]) -> tuple[Vec, ...]:
        return tuple(Vec(x[b.first : b.first + b.size]) for b in self.blocks)

    def solve(self, problem: JointProblem, start: Vec) -> Solution:  # type: ignore[override]
        """Impulses that obey the problem, from some to begin with."""
        passes = self.passes(problem)
        patience = self.c.given["patience"][0] if "patience" in self.c.given else None
        solution = solve_with(self.c.recorder, passes, self._by_block(start), self.spec, passes, patience)
        return Solution(_joined(passes.ungroup(solution.impulse)), solution.residual)

    def by_law(self, problem: JointProblem, solution: Solution) -> Vec:
        """By how much each law is missed."""
        return self.passes(problem).by_law(self._by_block(solution.impulse))

    def accelerated(self, delassus: Any, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        """The accelerations of all clusters under forces along the rows."""
        if not self.parts:
            return self.a
        on = forces_on_bases(self.call, self.groups, self.parts, forces, len(delassus.sizes))
        return self._add_accelerations(self.a, delassus.accelerations(on), 1.0)

    def passes(self, problem: JointProblem) -> JointRows:
        """The rows of a problem, and what couples them."""
        return JointRows(self.c.recorder, problem, self.is_redundant)

    def pushed(self, delassus: Any, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        """How much forces along the rows accelerate all clusters."""
        on = forces_on_bases(self.call, self.groups, self.parts, forces, len(delassus.sizes))
        still = {n: Vec([0.0] * len(a)) for n, a in self.a.items()}
        return self._add_accelerations(still, delassus.accelerations(on), 1.0)


def _push_gear(force: Vec, gear: Vec, weight: Scalar, a: Vec) -> Vec:
    """A force less that of a servo."""
    return force - gear * (weight * dot(gear, a))


def _sum_of(a: Vec, b: Vec) -> Vec:
    return a + b


def _joined(x: Sequence[Vec]) -> Vec:
    return Vec([y for own in x for y in own])
