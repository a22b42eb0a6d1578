"""A step with many rows: sweeps link by link and Newton steps over the joints, without the matrix of all rows.

Rows of contacts are written over the six unit wrenches of their links. What the impulses do is kept as the motion z of
the joints (`joint_space`), so that a contact is solved from the velocity w of its own link, and only where the next
link begins z is brought up to date. The work grows with the number of contacts and with what carries their links, not
with the square of either, and all contacts of a kind share their code.

The impulses are found as those of few rows are, by block Gauss-Seidel and Newton steps, where these do not take too
long to compile or to make; else by sweeps alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..tree.cluster_tree import GROUND
from . import gauss_seidel, reduced_newton
from .contact_step import UNITS, Stepper
from .delassus import Delassus, ForceBasis, RowsOnBasis, together
from .gauss_seidel import ContactProblem, RowBlock, Scaled, Solution
from .impulse_solver import Effort, found, left_over
from .interior import is_tight
from .interior_solver import InteriorBlock, solve_inside, without_open
from .joint_space import MOST_PRODUCTS, JointSpace
from .newton import Yielding
from .reduced_newton import Parts

Mats = tuple[Mat, ...]
_MOST_ROWS = 300  # up to which there are Newton steps: what passes of these copy and choose among takes long to compile


class Local(NamedTuple):
    """A block by itself: its own part of G, g, what its rows give way to their own impulses, bounds, scale."""

    G: Mat
    g: Vec
    soft: Vec
    bounds: Vec
    scale: Scaled


class MatrixFreeProblem(NamedTuple):
    """The rows over their bases by block, these over the joints, Ω among the bases of each block (None: they do not
    feel each other), and the blocks."""

    parts: Parts
    joints: JointSpace
    omega: tuple[tuple[Mats, ...], ...]
    locals: tuple[Local, ...]


def own_matrix(rows: tuple[Any, ...], omega: tuple[Mats, ...], soft: Vec) -> Mat:
    """G of a block with itself: Σ C Ω Cᵀ over its bases (Ω is None between those that do not feel each other), with R
    on the diagonal."""
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


def spread(rows: Mat, x: Vec) -> Vec:
    """Impulses along rows as a wrench."""
    return rows.transpose_times(x)


def _velocity(rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """c of a block, from the velocities of its bases."""
    c = Vec([g + s * y for g, s, y in zip(own.g, own.soft, x, strict=True)])
    for C, velocity in zip(rows, w, strict=True):
        c = c + C @ velocity
    return c


def _alone(own: Local, x: Vec, c: Vec) -> ContactProblem:
    """A block whose others stay, as a problem."""
    return ContactProblem(own.G, Vec([a - dot(row, x) for a, row in zip(c, own.G, strict=True)]), (own.bounds,))


def _solution(block: RowBlock, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """The impulses of one block that solve it exactly while the others stay."""
    return gauss_seidel.block_solution(_alone(own, x, _velocity(rows, own, x, w)), own.scale, (block,), 0, x)


@standalone
def solution(block: RowBlock, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """The impulses of one block that solve it exactly while the others stay."""
    return _solution(block, rows, own, x, w)


@standalone
def damp(old: Vec, new: Vec, weight: Scalar) -> Vec:
    """Impulses of a block after a round of Jacobi."""
    return gauss_seidel.damp(old, new, weight)


@standalone
def relaxed(
    block: RowBlock, rows: Mats, omega: tuple[Mats, ...], own: Local, x: Vec, w: tuple[Vec, ...], F: tuple[Vec, ...]
) -> tuple[Vec, tuple[Vec, ...], tuple[Vec, ...]]:
    """One block solved exactly while the others stay: its impulses, and w and F of its bases then."""
    new = _solution(block, rows, own, x, w)
    more = [C.transpose_times(new - x) for C in rows]
    faster = []
    for velocity, row_of in zip(w, omega, strict=True):
        for middle, f in zip(row_of, more, strict=True):
            velocity = velocity if middle is None else velocity + middle @ f
        faster.append(velocity)
    return new, tuple(faster), tuple(a + b for a, b in zip(F, more, strict=True))


@standalone
def missed(block: RowBlock, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Scalar:
    """The largest velocity by which a block misses a condition."""
    return gauss_seidel.residual(own.scale, (block,), (own.bounds,), x, _velocity(rows, own, x, w))


@standalone
def speeds(block: RowBlock, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """The velocities of a block's rows."""
    return _velocity(rows, own, x, w)


@standalone
def missed_at(block: RowBlock, own: Local, x: Vec, c: Vec) -> Scalar:
    """The largest velocity by which a block misses a condition, from its velocities."""
    return gauss_seidel.residual(own.scale, (block,), (own.bounds,), x, c)


@standalone
def faster(rows: Mats, y: tuple[Vec, ...]) -> Vec:
    """How much faster rows become, where their bases do by y."""
    v = rows[0] @ y[0]
    for C, more in zip(rows[1:], y[1:], strict=True):
        v = v + C @ more
    return v


@standalone
def reached(block: RowBlock, own: Local, x: Vec, residual: Scalar) -> Scalar:
    """The largest velocity that an impulse of a block gives its own row, or that is left."""
    return gauss_seidel.reach(own.scale, (block,), x, residual)


def less(x: tuple[Vec, ...], steps: tuple[Vec, ...], length: Scalar) -> tuple[Vec, ...]:
    """Impulses less a part of some steps."""
    return tuple(a - b * length for a, b in zip(x, steps, strict=True))


@standalone
def missed_by_law(block: RowBlock, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """By how much a block misses each law."""
    return gauss_seidel.conditions(_alone(own, x, _velocity(rows, own, x, w)), (block,), x)


def largest_of_each(*values: Vec) -> Vec:
    """Entry by entry the largest of some vectors."""
    return Vec([gauss_seidel.largest(*entries) for entries in zip(*values, strict=True)])


class MatrixFreeStepper(Stepper):
    """Records a step whose rows are solved link by link."""

    def delassus(self) -> Delassus:
        """Rows over the unit wrenches of their links; those of joints over unit forces."""
        bases: dict[Any, ForceBasis] = {}
        for x in self.spec.candidates:
            bases |= {link: ForceBasis(link, UNITS) for link in x.links if link != GROUND}
        place = {link: k for k, link in enumerate(bases)}
        blocks = []
        for candidate, placed in zip(self.spec.candidates, self.placed, strict=True):
            links = [link for link in candidate.links if link != GROUND]
            blocks.append([RowsOnBasis(place[link], rows) for link, rows in zip(links, placed.rows, strict=True)])
        own: list[Any] = list(bases.values())
        for row in self.spec.joints:
            nv = self.c.tree.links[row.link].joint.nv
            blocks.append([RowsOnBasis(len(own), Mat((Vec((1.0,)),)))])
            own.append(ForceBasis(row.link, Mat((Vec([float(i == row.entry) for i in range(nv)]),)), joint=True))
        for kept in self.kept:
            blocks += kept.parts(len(own))
            own.append(kept)
        return Delassus(self.free, own, blocks)

    def assembled(
        self, delassus: Delassus, g: Vec, compliance: dict[int, Any], bounds: tuple[Vec, ...]
    ) -> MatrixFreeProblem:
        """Every block by itself, and the joints through which they feel each other."""
        by_block = [range(block.first, block.first + block.size) for block in self.blocks]
        soft = [Vec([compliance.get(i, 0.0) for i in rows]) for rows in by_block]
        among, matrices = [], []
        for parts, own in zip(delassus.blocks, soft, strict=True):
            among.append(tuple(tuple(delassus.between(a.base, b.base) for b in parts) for a in parts))
            matrices.append(self.call(own_matrix, tuple(x.over for x in parts), among[-1], own))
        size = self.call(gauss_seidel.largest, *(self.call(gauss_seidel.mobility, G) for G in matrices))
        made = []
        for k, (block, G) in enumerate(zip(self.blocks, matrices, strict=True)):
            scale = self.call(scaled, G, _placed(block), size)
            made.append(Local(G, Vec([g[i] for i in by_block[k]]), soft[k], bounds[k], scale))
        joints = JointSpace(self.c.recorder, [base.size for base in delassus.bases], delassus.responses)
        return MatrixFreeProblem(tuple(map(tuple, delassus.blocks)), joints, tuple(among), tuple(made))

    def right_side(self, problem: MatrixFreeProblem) -> Vec:
        """g of all rows."""
        return _joined(tuple(own.g for own in problem.locals))

    def with_right_side(self, problem: MatrixFreeProblem, g: Vec) -> MatrixFreeProblem:
        """A problem with another g."""
        rows = [Vec(g[b.first : b.first + b.size]) for b in self.blocks]
        return problem._replace(locals=tuple(x._replace(g=y) for x, y in zip(problem.locals, rows, strict=True)))

    def velocities(self, problem: MatrixFreeProblem, solution: Solution) -> Vec:
        """c of all rows."""
        x = tuple(Vec(solution.impulse[b.first : b.first + b.size]) for b in self.blocks)
        return _joined(tuple(Many(self.c.recorder, problem, tuple(map(_placed, self.blocks))).speeds(x)))

    def solve(self, problem: MatrixFreeProblem, start: Vec) -> Solution:  # type: ignore[override]
        """Impulses that obey the problem, from some to begin with."""
        first = tuple(Vec(start[b.first : b.first + b.size]) for b in self.blocks)
        passes = Many(self.c.recorder, problem, tuple(map(_placed, self.blocks)), self.is_redundant)
        touching = {tuple(x.base for x in parts) for parts in problem.parts}
        if sum(b.size for b in self.blocks) <= _MOST_ROWS and problem.joints.products(touching) <= MOST_PRODUCTS:
            solution = found(self.c.recorder, passes, first, self.spec, exact=1.0, inside=passes)
        else:
            solution = passes.swept_only(first, self.spec)
        return Solution(_joined(solution.impulse), solution.residual)

    def by_law(self, problem: MatrixFreeProblem, solution: Solution) -> Vec:
        """By how much each law is missed, block by block."""
        impulse = solution.impulse
        x = tuple(Vec(impulse[b.first : b.first + b.size]) for b in self.blocks)
        passes = Many(self.c.recorder, problem, tuple(map(_placed, self.blocks)))
        return self.call(largest_of_each, *passes.each(x, missed_by_law))


class Many(NamedTuple):
    """Rows link by link; impulses are one vector for each block, all of which begin with row 0."""

    recorder: Any
    problem: MatrixFreeProblem
    blocks: tuple[RowBlock, ...]
    is_redundant: bool = False

    def swept(self, x: Any) -> Any:
        """After a sweep."""
        return self._jacobi(x) if self.is_redundant else self._gauss_seidel(x)

    def _jacobi(self, x: Any) -> Any:
        """After a round of block Jacobi."""
        call, new = self.recorder.call, self.each(x, solution)
        weight = call(gauss_seidel.relaxation, tuple(x), tuple(new))
        return tuple(call(damp, *both, weight) for both in zip(x, new, strict=True))

    def _gauss_seidel(self, x: Any) -> Any:
        """After a sweep of block Gauss-Seidel."""
        problem, joints = self.problem, self.problem.joints
        found, z = list(x), self._turned(x)
        for bases, members in self._groups().items():
            w = tuple(joints.velocity(base, z) for base in bases)
            more = tuple(Vec([0.0] * len(velocity)) for velocity in w)
            for k in members:
                found[k], w, more = self.recorder.call(
                    relaxed, self.blocks[k], self._rows(k), problem.omega[k], problem.locals[k], found[k], w, more
                )
            for base, wrench in zip(bases, more, strict=True):
                z = joints.pushed(z, base, wrench)
        return tuple(found)

    def measured(self, x: Any) -> Solution:
        """With their residual; velocities are found again where they are needed: a pass copies all that is kept."""
        return Solution(x, self.recorder.call(gauss_seidel.largest, *self.each(x, missed)))

    def leapt(self, at: Solution, course: Any) -> Any:
        """After a Newton step."""
        yields = []
        for (block, scale, bounds, x, c), own in zip(self.blocks_at(at), self.problem.locals, strict=True):
            yields.append(reduced_newton.yielded(self.recorder.call, block, scale, own.soft, bounds, x, c, course))
        return self.changed(at.impulse, self.steps(yields), -1.0)

    def blocks_at(self, at: Solution) -> list[tuple[RowBlock, Vec, Vec, Vec, Vec]]:
        """Of every block: itself, D, bounds, impulses and velocities."""
        velocities = self.each(at.impulse, speeds)
        both = zip(self.blocks, self.problem.locals, at.impulse, velocities, strict=True)
        return [(block, own.scale.own[0], own.bounds, x, c) for block, own, x, c in both]

    def steps(self, yields: list[Yielding]) -> list[Vec]:
        """The steps δ = own - K v of all blocks, where v is what these steps change the velocities by."""
        parts, sizes = self.problem.parts, self.problem.joints.sizes
        y = self.problem.joints.solved(*reduced_newton.gather(self.recorder, parts, sizes, yields))
        return reduced_newton.follow(self.recorder, parts, sizes, yields, y)

    def changed(self, x: Any, steps: list[Vec], length: Any) -> Any:
        """Impulses less a part of some steps."""
        return self.recorder.call(less, x, tuple(steps), length)

    def interior_blocks(self) -> list[InteriorBlock]:
        """Every block by itself."""
        both = zip(self.blocks, self.problem.locals, strict=True)
        return [InteriorBlock(x, is_tight(x, y.bounds), y.scale.own[0], y.soft, y.bounds) for x, y in both]

    def speeds(self, x: Any) -> list[Vec]:
        """The velocities of all blocks."""
        return self.each(x, speeds)

    def measured_at(self, x: Any, c: Any) -> Solution:
        """With their residual, from their velocities."""
        call, rows = self.recorder.call, zip(self.blocks, self.problem.locals, x, c, strict=True)
        return Solution(x, call(gauss_seidel.largest, *(call(missed_at, *own) for own in rows)))

    def answered(self, yields: Sequence[Yielding]) -> list[Vec]:
        """How much faster all blocks become by steps."""
        parts, joints = self.problem.parts, self.problem.joints
        y = joints.solved(*reduced_newton.gather(self.recorder, parts, joints.sizes, yields))
        return [self.recorder.call(faster, self._rows(k), tuple(y[x.base] for x in own)) for k, own in enumerate(parts)]

    def inside(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """The best of given impulses and, where `going` is above zero, of those found through the interior."""
        return solve_inside(self.recorder, self, best, tolerance, going)

    def ended(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """Given impulses without those of open contacts, where `going` is above zero."""
        return without_open(self.recorder, self, best, tolerance, going)

    def reach(self, at: Solution) -> Any:
        """The largest velocity that an impulse gives its own row, or that is left."""
        call, locals_of = self.recorder.call, self.problem.locals
        each = zip(self.blocks, locals_of, at.impulse, strict=True)
        return call(gauss_seidel.largest, *(call(reached, block, own, x, at.residual) for block, own, x in each))

    def swept_only(self, start: Any, effort: Effort) -> Solution:
        """Sweeps until no condition is missed by more than the tolerance."""

        def once_more(state: tuple[Any, Solution]) -> tuple[Any, Any]:
            before, best = state
            x = self.recorder.repeat(lambda y: (self._gauss_seidel(y), None), before, effort.sweeps)
            best = self.recorder.call(gauss_seidel.better, best, self.measured(x))
            return (x, best), self.recorder.call(left_over, best.residual, effort.aim)

        x = self._gauss_seidel(start)
        first = self.measured(x)
        going = self.recorder.call(left_over, first.residual, effort.aim)
        return self.recorder.repeat(once_more, (x, first), effort.rounds, going)[1]

    def each(self, x: Any, measure: Any) -> list[Any]:
        """`measure` of every block."""
        joints, z = self.problem.joints, self._turned(x)
        found: list[Any] = [None] * len(self.blocks)
        for bases, members in self._groups().items():
            w = tuple(joints.velocity(base, z) for base in bases)
            for k in members:
                own = self.problem.locals[k]
                found[k] = self.recorder.call(measure, self.blocks[k], self._rows(k), own, x[k], w)
        return found

    def _turned(self, x: Any) -> Any:
        """The motion of the joints under all impulses."""
        on: dict[int, list[Vec]] = {}
        for parts, own in zip(self.problem.parts, x, strict=True):
            for part in parts:
                on.setdefault(part.base, []).append(self.recorder.call(spread, part.over, own))
        z = self.problem.joints.still()
        for base, parts in on.items():
            wrench = parts[0] if len(parts) == 1 else self.recorder.call(together, *parts)
            z = self.problem.joints.pushed(z, base, wrench)
        return z

    def _rows(self, k: int) -> Mats:
        return tuple(part.over for part in self.problem.parts[k])

    def _groups(self) -> dict[tuple[int, ...], list[int]]:
        """Blocks by the bases that they are written over."""
        found: dict[tuple[int, ...], list[int]] = {}
        for k, parts in enumerate(self.problem.parts):
            found.setdefault(tuple(x.base for x in parts), []).append(k)
        return found


def _placed(block: RowBlock) -> RowBlock:
    """A block as the only one."""
    return block._replace(first=0)


def _joined(x: tuple[Vec, ...]) -> Vec:
    return Vec([y for own in x for y in own])
