"""A step with many rows: sweeps link by link, without the matrix of all rows.

Rows of contacts are written over the six unit wrenches of their links. What the impulses do is kept as the wrench F on
every link and the velocity w = Ω F that it gives the link, so that a contact is solved from its own link's w, and only
where the next link begins its w is found from the F of all. The work grows with the number of contacts and the square
of the number of links, not with the square of the contacts, and all contacts of a kind share their code.

The impulses are those of the same block Gauss-Seidel as with few rows; there are no Newton steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algorithms.constrained.rows import gram
from ..expr import maximum
from ..expr.standalone import apart
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..tree.cluster_tree import GROUND
from . import solver
from .delassus import Base, Delassus, Part, together
from .solve import left_over
from .solver import Block, Problem, Scaled, Solution
from .step import UNITS, Stepper

Mats = tuple[Mat, ...]


class Local(NamedTuple):
    """A block by itself: its own part of G, g, what its rows give way to their own impulses, bounds, scale."""

    G: Mat
    g: Vec
    soft: Vec
    bounds: Vec
    scale: Scaled


class ManyProblem(NamedTuple):
    """The rows over their bases by block, Ω of the bases (None: they do not feel each other), and the blocks."""

    parts: tuple[tuple[Part, ...], ...]
    omega: tuple[tuple[Any, ...], ...]
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


def scaled(G: Mat, block: Block, size: Scalar) -> Scaled:
    """How a block moves by itself."""
    return solver.scaled(Problem(G, Vec([0.0] * len(G)), ()), (block,), size)


def felt(omega: Mats, F: tuple[Vec, ...]) -> Vec:
    """The velocity of a base under wrenches on all that it feels."""
    total = omega[0] @ F[0]
    for middle, wrench in zip(omega[1:], F[1:], strict=True):
        total = total + middle @ wrench
    return total


def spread(rows: Mat, x: Vec) -> Vec:
    """Impulses along rows as a wrench."""
    return rows.transpose_times(x)


def _velocity(rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """c of a block, from the velocities of its bases."""
    c = Vec([g + s * y for g, s, y in zip(own.g, own.soft, x, strict=True)])
    for C, velocity in zip(rows, w, strict=True):
        c = c + C @ velocity
    return c


def _alone(own: Local, x: Vec, c: Vec) -> Problem:
    """A block whose others stay, as a problem."""
    return Problem(own.G, Vec([a - dot(row, x) for a, row in zip(c, own.G, strict=True)]), (own.bounds,))


@apart
def relaxed(
    block: Block, rows: Mats, omega: tuple[Mats, ...], own: Local, x: Vec, w: tuple[Vec, ...], F: tuple[Vec, ...]
) -> tuple[Vec, tuple[Vec, ...], tuple[Vec, ...]]:
    """One block solved exactly while the others stay: its impulses, and w and F of its bases then."""
    new = solver.sweep(_alone(own, x, _velocity(rows, own, x, w)), own.scale, (block,), x)
    more = [C.transpose_times(new - x) for C in rows]
    faster = []
    for velocity, row_of in zip(w, omega, strict=True):
        for middle, f in zip(row_of, more, strict=True):
            velocity = velocity if middle is None else velocity + middle @ f
        faster.append(velocity)
    return new, tuple(faster), tuple(a + b for a, b in zip(F, more, strict=True))


@apart
def missed(block: Block, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Scalar:
    """The largest velocity by which a block misses a condition."""
    return solver.residual(own.scale, (block,), (own.bounds,), x, _velocity(rows, own, x, w))


@apart
def missed_by_law(block: Block, rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """By how much a block misses each law."""
    return solver.conditions(_alone(own, x, _velocity(rows, own, x, w)), (block,), x)


def largest_of_each(*values: Vec) -> Vec:
    """Entry by entry the largest of some vectors."""
    return Vec([largest(*entries) for entries in zip(*values, strict=True)])


def largest(*values: Scalar) -> Scalar:
    """The largest of some numbers."""
    worst = values[0]
    for x in values[1:]:
        worst = maximum(worst, x)
    return worst


class ManyRows(Stepper):
    """Records a step whose rows are solved link by link."""

    def delassus(self) -> Delassus:
        """Rows over the unit wrenches of their links; those of joints over unit forces."""
        bases: dict[Any, Base] = {}
        for x in self.spec.candidates:
            bases |= {link: Base(link, UNITS) for link in x.links if link != GROUND}
        place = {link: k for k, link in enumerate(bases)}
        blocks = []
        for candidate, placed in zip(self.spec.candidates, self.placed, strict=True):
            links = [link for link in candidate.links if link != GROUND]
            blocks.append([Part(place[link], rows) for link, rows in zip(links, placed.rows, strict=True)])
        own: list[Any] = list(bases.values())
        for row in self.spec.joints:
            nv = self.c.tree.links[row.link].joint.nv
            blocks.append([Part(len(own), Mat((Vec((1.0,)),)))])
            own.append(Base(row.link, Mat((Vec([float(i == row.entry) for i in range(nv)]),)), joint=True))
        for kept in self.kept:
            blocks += kept.parts(len(own))
            own.append(kept)
        return Delassus(self.free, own, blocks)

    def assembled(self, delassus: Delassus, g: Vec, compliance: dict[int, Any], bounds: tuple[Vec, ...]) -> ManyProblem:
        """Ω of all bases, and every block by itself."""
        count = len(delassus.bases)
        omega: list[list[Any]] = [[None] * count for _ in range(count)]
        for a in range(count):
            for b in range(a + 1):
                own, other = delassus.responses[a], delassus.responses[b]
                shared = [n for n in own if n in other]
                if shared:
                    found = self.call(gram, tuple(own[n] for n in shared), tuple(other[n] for n in shared))
                    omega[a][b], omega[b][a] = found, Mat(found).T if a != b else found
        by_block = [range(block.first, block.first + block.size) for block in self.blocks]
        soft = [Vec([compliance.get(i, 0.0) for i in rows]) for rows in by_block]
        matrices = []
        for parts, own in zip(delassus.blocks, soft, strict=True):
            middle = tuple(tuple(omega[a.base][b.base] for b in parts) for a in parts)
            matrices.append(self.call(own_matrix, tuple(x.over for x in parts), middle, own))
        size = self.call(largest, *(self.call(solver.mobility, G) for G in matrices))
        made = []
        for k, (block, G) in enumerate(zip(self.blocks, matrices, strict=True)):
            scale = self.call(scaled, G, _placed(block), size)
            made.append(Local(G, Vec([g[i] for i in by_block[k]]), soft[k], bounds[k], scale))
        return ManyProblem(tuple(map(tuple, delassus.blocks)), tuple(map(tuple, omega)), tuple(made))

    def solve(self, problem: ManyProblem) -> Solution:  # type: ignore[override]
        """Sweeps from the impulses of the last step until no condition is missed by more than the tolerance."""
        given = self.c.given["impulse"]
        start = tuple(Vec(given[b.first : b.first + b.size]) for b in self.blocks)
        x = self._round(problem, start)

        def once_more(state: tuple[tuple[Vec, ...], Solution]) -> tuple[Any, Any]:
            x, best = state
            for _ in range(self.spec.sweeps):
                x = self._round(problem, x)
            now = Solution(_joined(x), self._missed(problem, x))
            best = self.call(solver.better, best, now)
            return (x, best), self.call(left_over, best.residual, self.spec.tolerance)

        begin = Solution(_joined(x), self._missed(problem, x))
        return self.c.recorder.repeat(once_more, (x, begin), self.spec.rounds)[1]

    def by_law(self, problem: ManyProblem, solution: Solution) -> Vec:
        """By how much each law is missed, block by block."""
        impulse = solution.impulse
        x = tuple(Vec(impulse[b.first : b.first + b.size]) for b in self.blocks)
        return self.call(largest_of_each, *self._each(problem, x, missed_by_law))

    def _wrenches(self, problem: ManyProblem, x: tuple[Vec, ...]) -> list[Vec]:
        """F of all bases."""
        on: list[list[Vec]] = [[] for _ in problem.omega]
        for parts, own in zip(problem.parts, x, strict=True):
            for part in parts:
                on[part.base].append(self.call(spread, part.over, own))
        return [own[0] if len(own) == 1 else self.call(together, *own) for own in on]

    def _felt(self, problem: ManyProblem, base: int, F: list[Vec]) -> Vec:
        near = [k for k, middle in enumerate(problem.omega[base]) if middle is not None]
        return self.call(felt, tuple(problem.omega[base][k] for k in near), tuple(F[k] for k in near))

    def _groups(self, problem: ManyProblem) -> dict[tuple[int, ...], list[int]]:
        """Blocks by the bases that they are written over."""
        found: dict[tuple[int, ...], list[int]] = {}
        for k, parts in enumerate(problem.parts):
            found.setdefault(tuple(x.base for x in parts), []).append(k)
        return found

    def _round(self, problem: ManyProblem, x: tuple[Vec, ...]) -> tuple[Vec, ...]:
        """One round of block Gauss-Seidel."""
        found, F = list(x), self._wrenches(problem, x)
        for bases, members in self._groups(problem).items():
            w = tuple(self._felt(problem, base, F) for base in bases)
            own_F = tuple(F[base] for base in bases)
            omega = tuple(tuple(problem.omega[a][b] for b in bases) for a in bases)
            for k in members:
                rows = tuple(part.over for part in problem.parts[k])
                found[k], w, own_F = self.call(
                    relaxed, _placed(self.blocks[k]), rows, omega, problem.locals[k], found[k], w, own_F
                )
            for base, wrench in zip(bases, own_F, strict=True):
                F[base] = wrench
        return tuple(found)

    def _missed(self, problem: ManyProblem, x: tuple[Vec, ...]) -> Any:
        return self.call(largest, *self._each(problem, x, missed))

    def _each(self, problem: ManyProblem, x: tuple[Vec, ...], measure: Any) -> list[Any]:
        """What is measured of every block."""
        F = self._wrenches(problem, x)
        found = []
        for bases, members in self._groups(problem).items():
            w = tuple(self._felt(problem, base, F) for base in bases)
            for k in members:
                rows = tuple(part.over for part in problem.parts[k])
                found.append(self.call(measure, _placed(self.blocks[k]), rows, problem.locals[k], x[k], w))
        return found


def _placed(block: Block) -> Block:
    """A block as the only one."""
    return block._replace(first=0)


def _joined(x: tuple[Vec, ...]) -> Vec:
    return Vec([y for own in x for y in own])
