"""Passes of the solver over rows that the motion of the joints couples (`articulated_system`).

Rows of contacts are written over the six unit wrenches of their links. Each block yields to what the others do by
itself; blocks with the same bases are looked at together, and left out where none of them has anything to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr import maximum, select
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, dot
from . import gauss_seidel, newton
from .articulated_passes import add
from .articulated_system import ArticulatedSystem, LinkBase, StiffSystem
from .delassus import RowsOnBasis
from .gauss_seidel import ContactProblem, RowBlock, Scaled, Solution
from .interior import is_tight
from .interior_solver import InteriorBlock, solve_inside, without_open
from .least_norm import GroupState, Steps, Yields, pressing
from .newton import PROXIMAL, Yielding

Mats = tuple[Mat, ...]
Vecs = tuple[Vec, ...]
Blocks = tuple[RowBlock, ...]
Parts = tuple[tuple[RowsOnBasis, ...], ...]  # the rows of each block over its bases
_NOTHING = 1e-25  # m/s: what a condition that holds exactly is missed by


class Local(NamedTuple):
    """A block by itself: its own part of G, g, what its rows give way to their own impulses, bounds, scale."""

    G: Mat
    g: Vec
    soft: Vec
    bounds: Vec
    scale: Scaled


class JointProblem(NamedTuple):
    """The rows over their bases by block, the blocks that are looked at together, the equations of the joints, and the
    blocks by themselves."""

    parts: Parts
    groups: tuple[BlockGroup, ...]
    system: ArticulatedSystem
    locals: tuple[Local, ...]


def _velocity(rows: Mats, own: Local, x: Vec, w: tuple[Vec, ...]) -> Vec:
    """c of a block, from the velocities of its bases."""
    c = Vec([g + s * y for g, s, y in zip(own.g, own.soft, x, strict=True)])
    for C, velocity in zip(rows, w, strict=True):
        c = c + C @ velocity
    return c


def _alone(own: Local, x: Vec, c: Vec) -> ContactProblem:
    """A block whose others stay, as a problem."""
    return ContactProblem(own.G, Vec([a - dot(row, x) for a, row in zip(c, own.G, strict=True)]), (own.bounds,))


@standalone
def solve_blocks(
    blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs
) -> tuple[Vecs, Scalar]:
    """The impulses of each block that solve it exactly while all others stay, and how many blocks have any, before or
    then."""
    found, count = [], 0.0
    for block, C, local, impulse in zip(blocks, rows, own, x, strict=True):
        alone = _alone(local, impulse, _velocity(C, local, impulse, w))
        found.append(gauss_seidel.block_solution(alone, local.scale, (block,), 0, impulse))
        either = maximum(gauss_seidel.size_of(impulse[:1]), gauss_seidel.size_of(found[-1][:1]))
        count = count + select(either > 0.0, 1.0, 0.0)
    return tuple(found), count


@standalone
def damp(old: Vecs, new: Vecs, count: Scalar) -> Vecs:
    """Impulses after a round of Jacobi; `count`: number of blocks with impulses."""
    return tuple(gauss_seidel.damp(a, b, gauss_seidel.relaxation(count)) for a, b in zip(old, new, strict=True))


@standalone
def measure(
    blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs, active: Scalar
) -> tuple[Scalar, Scalar]:
    """The largest velocity by which some blocks miss a condition, and 1 if they are `active` or have something to do:
    impulses, or a velocity that is not allowed without any."""
    sizes = []
    for block, C, local, impulse in zip(blocks, rows, own, x, strict=True):
        c = _velocity(C, local, impulse, w)
        sizes.append(gauss_seidel.residual(local.scale, (block,), (local.bounds,), impulse, c))
        acts = gauss_seidel.size_of(impulse) + sizes[-1] > _NOTHING
        active = select(acts, 1.0, active if block.joint else select(c[0] < 0.0, 1.0, active))
    return gauss_seidel.largest(*sizes), active


@standalone
def speeds(block: RowBlock, rows: Mats, own: Local, x: Vec, w: Vecs) -> Vec:
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
def reach(blocks: Blocks, own: tuple[Local, ...], x: Vecs, residual: Scalar) -> Scalar:
    """The largest velocity that an impulse of some blocks gives its own row, or that is left."""
    each = zip(blocks, own, x, strict=True)
    return gauss_seidel.largest(*(gauss_seidel.reach(a.scale, (block,), y, residual) for block, a, y in each))


def less(x: tuple[Vec, ...], steps: tuple[Vec, ...], length: Scalar) -> tuple[Vec, ...]:
    """Impulses less a part of some steps."""
    return tuple(a - b * length for a, b in zip(x, steps, strict=True))


def largest_of_each(*values: Vec) -> Vec:
    """Entry by entry the largest of some vectors."""
    return Vec([gauss_seidel.largest(*entries) for entries in zip(*values, strict=True)])


class Pressed(NamedTuple):
    """How some blocks yield, and S and f of their bases."""

    yields: tuple[Yielding, ...]
    S: tuple[Mats, ...]
    f: Vecs

    @staticmethod
    def none(blocks: Blocks, sizes: Sequence[int]) -> Pressed:
        """Blocks that do not act."""
        yields = tuple(Yielding(Mat.zeros(b.size, b.size), Vec([0.0] * b.size)) for b in blocks)
        S = tuple(tuple(Mat.zeros(a, b) for b in sizes) for a in sizes)
        return Pressed(yields, S, tuple(Vec([0.0] * n) for n in sizes))


def _gather(yields: Sequence[Yielding], rows: Sequence[Mats]) -> Pressed:
    S: Any = None
    f: Any = None
    for found, own in zip(yields, rows, strict=True):
        weighted = [Mat(found.K) @ C for C in own]
        more = [[C.T @ w for w in weighted] for C in own]
        force = [C.transpose_times(found.own) for C in own]
        S = more if S is None else [[a + b for a, b in zip(*both, strict=True)] for both in zip(S, more, strict=True)]
        f = force if f is None else [a + b for a, b in zip(f, force, strict=True)]
    return Pressed(tuple(yields), tuple(map(tuple, S)), tuple(f))


@standalone
def gather(yields: tuple[Yielding, ...], rows: tuple[Mats, ...]) -> Pressed:
    """How some blocks yield, with S and f of their bases."""
    return _gather(yields, rows)


def _press(
    blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs, active: Scalar,
    tau: Scalar, stiff: Scalar,
) -> Pressed:  # fmt: skip
    yields = []
    for block, C, local, impulse in zip(blocks, rows, own, x, strict=True):
        c = _velocity(C, local, impulse, w)
        own_scale = (local.scale.own[0], local.scale.inverse[0])
        found = newton.yielding(block, *own_scale, local.soft, local.bounds, impulse, c, tau, stiff)
        yields.append(Yielding(Mat(row * active for row in found.K), found.own * active))
    return _gather(yields, rows)


@standalone
def press(blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs, active: Scalar) -> Pressed:
    """The part of some blocks in Newton's equations, where they are active (1, else 0)."""
    return _press(blocks, rows, own, x, w, active, 0.0, PROXIMAL)


@standalone
def press_smoothly(
    blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs, active: Scalar,
    tau: Scalar, stiff: Scalar,
) -> Pressed:  # fmt: skip
    """`press`, smoothed by a velocity tau, with rows made stiffer."""
    return _press(blocks, rows, own, x, w, active, tau, stiff)


def _follow(found: Yielding, rows: Mats, y: tuple[Vec, ...]) -> Vec:
    v = rows[0] @ y[0]
    for C, more in zip(rows[1:], y[1:], strict=True):
        v = v + C @ more
    return found.own - Mat(found.K) @ v


@standalone
def follow(yields: tuple[Yielding, ...], steps: Vecs, rows: tuple[Mats, ...], y: Vecs) -> Vecs:
    """The steps δ = own - K v of some blocks, for given own, where their bases move faster by y."""
    return tuple(_follow(x._replace(own=own), C, y) for x, own, C in zip(yields, steps, rows, strict=True))


@standalone
def speeds_of(rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs) -> Vecs:
    """The velocities of the rows of some blocks."""
    return tuple(_velocity(*each, w) for each in zip(rows, own, x, strict=True))


@standalone
def advance(x: Vecs, yields: tuple[Yielding, ...], rows: tuple[Mats, ...], y: Vecs) -> Vecs:
    """The impulses of some blocks after their step."""
    return tuple(a + _follow(found, own, y) for a, found, own in zip(x, yields, rows, strict=True))


@standalone
def wrenches(x: Vecs, rows: tuple[Mats, ...], before: Vecs) -> Vecs:
    """Impulses of some blocks as impulses on their bases, with others if there are any."""
    total: Any = list(before) or None
    for impulse, own in zip(x, rows, strict=True):
        more = [C.transpose_times(impulse) for C in own]
        total = more if total is None else [a + b for a, b in zip(total, more, strict=True)]
    return tuple(total)


@standalone
def missed_by_law(blocks: Blocks, rows: tuple[Mats, ...], own: tuple[Local, ...], x: Vecs, w: Vecs) -> Vec:
    """By how much some blocks miss each law."""
    found = []
    for block, C, local, impulse in zip(blocks, rows, own, x, strict=True):
        alone = _alone(local, impulse, _velocity(C, local, impulse, w))
        found.append(gauss_seidel.conditions(alone, (block,), impulse))
    return largest_of_each(*found)


class BlockGroup(NamedTuple):
    """Blocks with the same bases, whose work is done at once: their numbers, themselves as the only ones, the bases."""

    members: tuple[int, ...]
    blocks: Blocks
    bases: tuple[int, ...]


def groups_of(blocks: Sequence[RowBlock], parts: Parts) -> tuple[BlockGroup, ...]:
    """Blocks by their bases, at most four at once: code is written for groups of one, two and four."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for k, own in enumerate(parts):
        alike.setdefault(tuple(part.base for part in own), []).append(k)
    found = []
    for bases, members in alike.items():
        while members:
            size = next(n for n in (2, 1) if n <= len(members))
            some, members = tuple(members[:size]), members[size:]
            found.append(BlockGroup(some, tuple(blocks[k]._replace(first=0) for k in some), bases))
    return tuple(found)


def _forces_by_group(
    call: Any, groups: Sequence[BlockGroup], rows: Sequence[tuple[Mats, ...]], x: Sequence[Vecs], count: int
) -> list[Any]:
    """Impulses by group as forces on as many bases."""
    F: list[Any] = [None] * count
    for own, C, impulse in zip(groups, rows, x, strict=True):
        before = tuple(F[base] for base in own.bases)
        found = call(wrenches, impulse, C, before if before[0] is not None else ())
        for base, force in zip(own.bases, found, strict=True):
            F[base] = force
    return F


def forces_on_bases(
    call: Any, groups: Sequence[BlockGroup], parts: Parts, forces: Sequence[Vec], count: int
) -> list[Any]:
    """Forces along rows, by block, as forces on as many bases; None where there are none."""
    rows = [tuple(tuple(p.over for p in parts[k]) for k in own.members) for own in groups]
    return _forces_by_group(call, groups, rows, [tuple(forces[k] for k in own.members) for own in groups], count)


class JointRows:
    """The rows of a problem. Impulses are one vector for each block of each group; what belongs to a solution besides
    are the velocities of the bases, and of each group whether (1 or 0) it has ever had something to do."""

    def __init__(self, recorder: Any, problem: JointProblem, is_redundant: bool) -> None:
        self.recorder, self.problem, self.is_redundant = recorder, problem, is_redundant
        self._call, self._system, self.groups = recorder.call, problem.system, problem.groups
        self._rows = [tuple(tuple(p.over for p in problem.parts[k]) for k in own.members) for own in self.groups]
        self._own = [tuple(problem.locals[k] for k in own.members) for own in self.groups]
        self._flat = [k for own in self.groups for k in own.members]
        none = [tuple(Vec([0.0] * b.size) for b in own.blocks) for own in self.groups]
        sizes = [[problem.system.sizes[base] for base in own.bases] for own in self.groups]
        held = [Pressed.none(own.blocks, some) for own, some in zip(self.groups, sizes, strict=True)]
        sweep = ([(x, 0.0) for x in none], none)
        first, later, self._held, self._advanced = recorder.variables(_as_tuples((sweep, sweep, held, none)))
        self._sweeps = {False: first, True: later}  # the first one's impulses are begun with again later
        moving = [x.link if isinstance(x, LinkBase) else ~k for k, x in enumerate(problem.system.bases)]
        self._first = [moving.index(x) for x in moving]  # several bases may be on one link
        self._place = {base: k for k, base in enumerate(sorted(set(self._first)))}

    def regroup(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to all blocks, in their own order, by group."""
        return tuple(tuple(x[k] for k in own.members) for own in self.groups)

    def ungroup(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to all blocks by group in their own order."""
        by_number = dict(zip(self._flat, (y for own in x for y in own), strict=True))
        return tuple(by_number[k] for k in range(len(by_number)))

    def _each(self) -> Any:
        return zip(self.groups, self._rows, self._own, strict=True)

    def start(self, x: Any) -> Solution:
        """Impulses by block as a solution to begin with."""
        return self._measure(self.regroup(x), [0.0] * len(self.groups))

    def sweep(self, at: Solution, again: bool = False) -> Any:
        """Impulses after a round of block Jacobi."""
        (w, active), (solved, damped) = at.velocity, self._sweeps[again]
        new, counts = [], []
        given = zip(self._each(), at.impulse, active, solved, strict=True)
        for (own, rows, local), x, acts, none in given:
            args = (own.blocks, rows, local, x, self._of(own.bases, w))
            found, count = self.recorder.update(none, acts, solve_blocks, *args)
            new.append(found)
            counts.append(count)
        count = self._call(_total, *counts)
        both = zip(damped, at.impulse, new, active, strict=True)
        return tuple(self.recorder.update(none, acts, damp, a, b, count) for none, a, b, acts in both)

    def forces(self, x: Any) -> list[Any]:
        """Impulses by group as forces on the bases."""
        return _forces_by_group(self._call, self.groups, self._rows, x, len(self._system.sizes))

    def motion(self, x: Any) -> Vecs:
        """The velocities of the bases that impulses by group cause, once for those on the same link."""
        w = self._system.responses(self.forces(x))
        return tuple(w[base] for base in self._place)

    def _add(self, F: list[Any], bases: Sequence[int], more: Sequence[Vec]) -> None:
        for base, own in zip(bases, more, strict=True):
            F[base] = own if F[base] is None else self._call(add, F[base], own)

    def _of(self, bases: Sequence[int], w: Sequence[Vec]) -> Vecs:
        """The velocities of some bases."""
        return tuple(w[self._place[self._first[base]]] for base in bases)

    def evaluate(self, x: Any, at: Solution | None = None) -> Solution:
        """Impulses with their residual, and what else belongs to them; groups that were active stay so."""
        return self._measure(x, [0.0] * len(self.groups) if at is None else at.velocity[1])

    def redundancy(self, at: Solution) -> Any:
        """Above zero where several contacts of the same links press, or contacts have more rows than there are
        velocities."""
        by_bases: dict[tuple[int, ...], list[Vec]] = {}
        for own, x in zip(self.groups, at.impulse, strict=True):
            if not own.blocks[0].joint:
                by_bases.setdefault(own.bases, []).extend(x)
        counts = [self._call(pressing, *x) for x in by_bases.values()]
        return self._call(_redundancy, float(self._system.nv), *counts) if counts else -1.0

    def resume(self, first: Solution, at: Solution) -> Solution:
        """A solution to begin with again; groups that have been active since stay so."""
        w, _ = first.velocity
        return first._replace(velocity=(w, at.velocity[1]))

    def summary(self, at: Solution) -> Solution:
        """Impulses and residual: velocities would have to be copied in every pass."""
        return at._replace(velocity=())

    def _measure(self, x: Any, active: Sequence[Any]) -> Solution:
        w, missed, after = self.motion(x), [], []
        for (own, rows, local), impulse, acts in zip(self._each(), x, active, strict=True):
            found, acts = self._call(measure, own.blocks, rows, local, impulse, self._of(own.bases, w), acts)
            missed.append(found)
            after.append(acts)
        return Solution(x, self._call(gauss_seidel.largest, *missed), (w, tuple(after)))

    def newton_step(self, at: Solution, attempt: Any) -> Any:
        """Impulses after a Newton step."""
        step, more = (press, ()) if attempt is None else (press_smoothly, attempt)
        w, active = at.velocity
        pressed = []
        given = zip(self._each(), at.impulse, active, self._held, strict=True)
        for (own, rows, local), x, acts, none in given:
            args = (own.blocks, rows, local, x, self._of(own.bases, w), acts, *more)
            pressed.append(self.recorder.update(none, acts, step, *args))
        y = self._answer(pressed)
        after = []
        every = zip(self._each(), at.impulse, pressed, active, self._advanced, strict=True)
        for (own, rows, _), x, found, acts, none in every:
            args = (x, found.yields, rows, tuple(y[base] for base in own.bases))
            after.append(self.recorder.update(none, acts, advance, *args))
        return tuple(after)

    def _answer(self, pressed: Sequence[Pressed]) -> list[Vec]:
        """How much faster the bases become by the steps of all groups."""
        return self._system.step(*self._total(pressed))

    def _total(self, pressed: Sequence[Pressed]) -> tuple[dict[tuple[int, int], list[Any]], list[Any]]:
        """S, by two bases, and f of all groups."""
        S: dict[tuple[int, int], list[Any]] = {}
        f: list[Any] = [None] * len(self._system.sizes)
        for own, found in zip(self.groups, pressed, strict=True):
            self._add(f, own.bases, found.f)
            for a, row in zip(own.bases, found.S, strict=True):
                for b, x in zip(own.bases, row, strict=True):
                    S.setdefault((a, b), []).append(x)
        return S, f

    def reach(self, at: Solution) -> Any:
        """The largest velocity that an impulse gives its own row, or that is left."""
        parts = zip(self._each(), at.impulse, strict=True)
        found = [self._call(reach, own.blocks, local, x, at.residual) for (own, _, local), x in parts]
        return self._call(gauss_seidel.largest, *found)

    def by_law(self, x: Any) -> Vec:
        """By how much impulses by block miss each law."""
        grouped = self.regroup(x)
        w, found = self.motion(grouped), []
        for (own, rows, local), impulse in zip(self._each(), grouped, strict=True):
            found.append(self._call(missed_by_law, own.blocks, rows, local, impulse, self._of(own.bases, w)))
        return self._call(largest_of_each, *found)

    # Block by block, in the order of the groups: for what is done once a step, or seldom.

    def _blocks(self, x: Sequence[Vec]) -> list[tuple[RowBlock, Mats, Local, Vec, tuple[int, ...]]]:
        found, at = [], 0
        for own, rows, local in self._each():
            for block, C, alone in zip(own.blocks, rows, local, strict=True):
                found.append((block, C, alone, x[at], own.bases))
                at += 1
        return found

    def velocities_of(self, x: Sequence[Vec]) -> list[Vec]:
        """The velocities of all blocks."""
        w = self.motion(self.by_group(x))
        return [
            self._call(speeds, block, rows, own, impulse, self._of(bases, w))
            for block, rows, own, impulse, bases in self._blocks(x)
        ]

    def by_group(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to all blocks, in the order of the groups, by group."""
        items = iter(x)
        return tuple(tuple(next(items) for _ in own.members) for own in self.groups)

    def _gather_blocks(self, yields: Sequence[Yielding]) -> list[Pressed]:
        by_group = zip(self.by_group(yields), self._rows, strict=True)
        return [self._call(gather, own, rows) for own, rows in by_group]

    def groups_at(self, at: Solution) -> list[GroupState]:
        """Every group at impulses."""
        w, found = self.motion(at.impulse), []
        for (own, rows, local), x in zip(self._each(), at.impulse, strict=True):
            c = self._call(speeds_of, rows, local, x, self._of(own.bases, w))
            found.append(
                GroupState(own.blocks, tuple(y.scale.own[0] for y in local), tuple(y.bounds for y in local), x, c)
            )
        return found

    def own_of_groups(self) -> list[tuple[Blocks, Vecs]]:
        """The blocks of every group, each as the only one, and their D."""
        return [(own.blocks, tuple(x.scale.own[0] for x in local)) for own, _, local in self._each()]

    def couple(self, yields: Yields) -> tuple[Steps, CoupledJointRows]:
        """The steps of all blocks, and the equations with their K."""
        pressed = [self._call(gather, own, rows) for own, rows in zip(yields, self._rows, strict=True)]
        y, stiff = self._system.solve_newton(*self._total(pressed))
        coupled = CoupledJointRows(self, yields, stiff)
        return coupled.follow([tuple(x.own for x in own) for own in yields], y), coupled

    def follow(self, yields: Yields, own: Steps, y: Sequence[Vec]) -> Steps:
        """The steps of all blocks, where bases move faster by y."""
        every = zip(self.groups, yields, own, self._rows, strict=True)
        return [self._call(follow, *x, tuple(y[b] for b in group.bases)) for group, *x in every]

    def subtract(self, x: Any, steps: Steps, length: Any) -> Any:
        """Impulses by group less a part of some steps."""
        return tuple(self._call(less, *both, length) for both in zip(x, steps, strict=True))

    def interior_blocks(self) -> list[InteriorBlock]:
        """Every block by itself."""
        every = self._blocks([Vec()] * len(self._flat))
        return [InteriorBlock(x, is_tight(x, y.bounds), y.scale.own[0], y.soft, y.bounds) for x, _, y, _, _ in every]

    def evaluate_at(self, x: Sequence[Vec], c: Sequence[Vec]) -> Solution:
        """Impulses with their residual, from their velocities."""
        every = zip(self._blocks(x), c, strict=True)
        found = [self._call(missed_at, block, own, impulse, v) for (block, _, own, impulse, _), v in every]
        return Solution(tuple(x), self._call(gauss_seidel.largest, *found))

    def responses(self, yields: Sequence[Yielding]) -> list[Vec]:
        """How much faster all blocks become by steps."""
        y = self._answer(self._gather_blocks(yields))
        every = self._blocks(yields)  # type: ignore[arg-type]
        return [self._call(faster, rows, tuple(y[base] for base in bases)) for _, rows, _, _, bases in every]

    def interior_point(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """The best of given impulses and, where `going` is above zero, of those found through the interior."""
        return self._regroup(solve_inside(self.recorder, self, self._flatten(best), tolerance, going))

    def without_open_impulses(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """Given impulses without those of open contacts, where `going` is above zero."""
        return self._regroup(without_open(self.recorder, self, self._flatten(best), tolerance, going))

    def _flatten(self, at: Solution) -> Solution:
        return Solution(tuple(y for own in at.impulse for y in own), at.residual)

    def _regroup(self, at: Solution) -> Solution:
        return Solution(self.by_group(at.impulse), at.residual)


class CoupledJointRows(NamedTuple):
    """Rows, how their blocks yield, and the equations of the joints with that."""

    rows: JointRows
    yields: Yields
    stiff: StiffSystem

    def solve(self, own: Steps) -> Steps:
        """The steps δ = own - K v of all blocks, where v is what these steps change the velocities by."""
        return self.follow(own, self.stiff.step(self.rows.forces(own)))

    def follow(self, own: Steps, y: Sequence[Vec]) -> Steps:
        """The same where bases move faster by y."""
        return self.rows.follow(self.yields, own, y)


def _as_tuples(nested: Any) -> Any:
    """Lists, which are not among what is recorded, as tuples."""
    if isinstance(nested, list) or nested.__class__ is tuple:
        return tuple(map(_as_tuples, nested))
    return nested


def _redundancy(nv: Scalar, *counts: Scalar) -> Scalar:
    """Above zero where one of the numbers of contacts that press is above 1, or they have more rows than velocities."""
    return maximum(gauss_seidel.largest(*counts) - 1.5, 3.0 * _total(*counts) - nv - 0.5)


def _total(*values: Scalar) -> Scalar:
    total = values[0]
    for x in values[1:]:
        total = total + x
    return total
