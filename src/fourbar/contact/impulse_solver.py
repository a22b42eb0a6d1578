"""The solver for the impulses of a step: a sweep and Newton steps; where these make no progress a way through the
interior (`interior_solver`, of many rows), and Newton steps that are smoothed and repeated."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..expr import maximum, minimum, select
from ..spatial.linear import Scalar, Vec
from . import gauss_seidel, newton
from .gauss_seidel import ContactProblem, RowBlock, Scaled, Solution
from .least_norm import LeastNormRows, least_norm, pressing
from .newton import Yielding

_GAIN = 0.1  # a Newton step that leaves more of the residual than that is the last before they are smoothed
_LEAPS = 4  # such steps at most
_EXACT = 1e-3  # of the tolerance: what a sweep leaves there, as of feet in the air, takes none
_SMOOTH = (0.03, 1.0)  # τ at first, of the largest velocity that an impulse gives its own row; then none
_STIFF = (1.0, 0.1, 10.0, 0.01, 100.0)  # proximal weights of the attempts after these, times residual / row velocity
_SOFTEST, _STIFFEST = 1e-14, 0.1
_SHARPER, _NEAR = 0.1, 3.0  # it shrinks by that where the residual is within so many times τ
_SHARPEST = 1e-3  # of the tolerance
_TRIES = 20  # smoothed steps before there are sweeps, and another τ to begin with
_EARLY = 10  # after which of them there is a way through the interior, if there is one
_LOST = 1e6  # m/s: as good as not a number


class Effort(Protocol):
    """Settings of the solver: the residual (m/s) it aims at, sweeps at a time, most passes."""

    @property
    def aim(self) -> float: ...

    @property
    def sweeps(self) -> int: ...

    @property
    def rounds(self) -> int: ...


class Passes(LeastNormRows, Protocol):
    """Operations on the impulses of a problem."""

    @property
    def is_redundant(self) -> bool:
        """Whether impulses may differ and move the robot alike: several contacts are on one link, or rows are many."""
        ...

    def start(self, x: Any) -> Solution:
        """Impulses to begin with."""
        ...

    def swept(self, at: Solution, again: bool = False) -> Any:
        """Impulses after a sweep, the first or one made `again`: of Jacobi where they may be redundant, else of
        Gauss-Seidel."""
        ...

    def leapt(self, at: Solution, course: Any) -> Any:
        """Impulses after a Newton step, smoothed by a velocity τ with rows made stiffer, (τ, stiff); None: neither."""
        ...

    def reach(self, at: Solution) -> Any:
        """The largest velocity that an impulse gives its own row, or is left."""
        ...

    def kept(self, at: Solution) -> Solution:
        """What of a solution is kept beside the search for a better one."""
        ...

    def resume(self, first: Solution, at: Solution) -> Solution:
        """The first solution, to begin with again after `at`."""
        ...


class InteriorWay(Protocol):
    """A way through the interior of what is allowed, where a number `going` is above zero."""

    def inside(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """The best of given impulses and of those that are found from there on."""
        ...

    def ended(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """Given impulses without those of open contacts."""
        ...


class Iterate(NamedTuple):
    """Where smoothed steps are: now; the best so far; τ, steps since it was set, and its course."""

    now: Solution
    best: Solution
    tau: Any
    tries: Any
    course: Any


def left_over(residual: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero while a problem is not solved."""
    return residual - tolerance


def _falls(new: Scalar, old: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero while a problem is not solved and Newton steps make progress."""
    return select(new < _GAIN * old, new - tolerance, -1.0)


def _first_tau(reach: Scalar, course: Scalar) -> Scalar:
    return _of_course(course, (*_SMOOTH, *(0.0 for _ in _STIFF))) * reach


def _of_course(course: Scalar, values: tuple[float, ...]) -> Scalar:
    """The value of a course by its number."""
    found: Scalar = values[-1]
    for k, x in reversed(list(enumerate(values[:-1]))):
        found = select(course < k + 0.5, x, found)
    return found


def _stiffness(reach: Scalar, residual: Scalar, course: Scalar) -> Scalar:
    """Stiffness added to the rows."""
    by = _of_course(course, (*(0.0 for _ in _SMOOTH), *_STIFF)) * residual / reach
    return select(course < len(_SMOOTH) - 0.5, newton.PROXIMAL, minimum(maximum(by, _SOFTEST), _STIFFEST))


def _sharper(tau: Scalar, residual: Scalar, tolerance: Scalar) -> Scalar:
    return select(residual < _NEAR * tau, maximum(_SHARPER * tau, _SHARPEST * tolerance), tau)


class SolverAttempts(NamedTuple):
    """Tries, the number of the course, and whether (1 or 0) the last one led nowhere."""

    tries: Scalar
    course: Scalar
    stuck: Scalar


def _turn(tries: Scalar, course: Scalar, new: Scalar, best: Scalar, tolerance: Scalar) -> SolverAttempts:
    """One more try; after too many of them, or where it is lost (also not a number), the next course."""
    enough = select(tries + 1.5 > _TRIES, 1.0, select(new < _LOST, 0.0, 1.0))
    stuck = select(best > tolerance, enough, 0.0)
    following = select(course > len(_SMOOTH) + len(_STIFF) - 1.5, 0.0, course + 1.0)
    return SolverAttempts(select(stuck > 0.5, 0.0, tries + 1.0), select(stuck > 0.5, following, course), stuck)


def _enters(tries: Scalar, course: Scalar, stuck: Scalar, residual: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero where a problem is not solved after the first steps of the first course, or these led nowhere."""
    early = select(tries < _EARLY - 1.5, stuck, select(tries < _EARLY - 0.5, 1.0, 0.0))
    return select(course < 0.5, select(early > 0.5, left_over(residual, tolerance), -1.0), -1.0)


class Patience:
    """How far a problem is pursued. A sample that is not solved by then is solved anew with more patience, together
    with others that are as hard: what it takes does not depend on its company, and the others do not wait for it."""

    NEWTON, SMOOTHED, ALL = 0.0, 1.0, 2.0  # plain Newton steps only; the first smoothed steps too; everything


def _begins(going: Scalar, patience: Scalar) -> Scalar:
    """Above zero where there are smoothed steps."""
    return select(patience < 0.5 * Patience.SMOOTHED, -1.0, going)


def _goes_on(going: Scalar, patience: Scalar, tries: Scalar, course: Scalar) -> Scalar:
    """Above zero where there is another smoothed step: with little patience not after the early ones of the first
    attempt."""
    late = select(course > 0.5, 1.0, select(tries > _EARLY - 1.5, 1.0, 0.0))
    return select(late > 0.5, select(patience < 0.5 * (Patience.SMOOTHED + Patience.ALL), -1.0, going), going)


def gives_up(residual: Scalar, tolerance: Scalar, patience: Scalar) -> Scalar:
    """Above zero where a sample is not solved and there is more patience to be had."""
    return select(patience < 0.5 * (Patience.SMOOTHED + Patience.ALL), residual - tolerance, -1.0)


def solve_with(
    recorder: Any,
    passes: Passes,
    start: Any,
    effort: Effort,
    inside: InteriorWay | None = None,
    patience: Any = None,
) -> Solution:
    """A sweep from given impulses, Newton steps as long as these bring it nearer; then smoothed ones from the sweep.

    There are none where the sweep leaves a small part of the tolerance. `inside`, if it is given, is tried once where
    the first smoothed steps do not end. `patience` of a sample, if it is given, may end the search early: see
    `Patience`.
    """
    call, tolerance = recorder.call, effort.aim
    given = passes.start(start)
    first = passes.measured(passes.swept(given), given)

    def leap(at: Solution) -> tuple[Solution, Any]:
        new = passes.measured(passes.leapt(at, None), at)
        best = passes.resume(call(gauss_seidel.better, at, new), new)
        return best, call(_falls, new.residual, at.residual, tolerance)

    last = recorder.repeat(leap, first, _LEAPS, call(left_over, first.residual, _EXACT * tolerance))
    best, first = passes.kept(last), passes.resume(first, last)

    def smoothed(at: Iterate) -> tuple[Iterate, Any]:
        stiff = call(_stiffness, passes.reach(at.best), at.best.residual, at.course)
        new = passes.measured(passes.leapt(at.now, (at.tau, stiff)), at.now)
        best = call(gauss_seidel.better, at.best, passes.kept(new))
        tries, course, stuck = call(_turn, at.tries, at.course, new.residual, best.residual, tolerance)
        if inside is not None:
            best = inside.inside(best, tolerance, call(_enters, at.tries, at.course, stuck, best.residual, tolerance))
        tau = call(_sharper, at.tau, new.residual, tolerance)
        now, tau = _begin_anew(recorder, passes, effort.sweeps, first, (new, tau), course, stuck)
        best = call(gauss_seidel.better, best, passes.kept(now))
        going = call(left_over, best.residual, tolerance)
        if patience is not None:
            going = call(_goes_on, going, patience, tries, course)
        return Iterate(now, best, tau, tries, course), going

    tau = call(_first_tau, passes.reach(first), 0.0)
    going = call(left_over, best.residual, tolerance)
    if patience is not None:
        going = call(_begins, going, patience)
    best = recorder.repeat(smoothed, Iterate(first, best, tau, 0.0, 0.0), effort.rounds, going).best
    best = best if inside is None else inside.ended(best, tolerance, going)
    return least_norm(recorder, passes, best, tolerance) if passes.is_redundant else best


def _begin_anew(
    recorder: Any, passes: Passes, sweeps: int, first: Solution, at: tuple[Solution, Any], course: Any, stuck: Any
) -> tuple[Solution, Any]:
    """Another start of the samples that are `stuck`, after so many sweeps for every attempt, and a new τ; the others
    stay `at` theirs. Nothing is done where no sample is stuck."""

    def sweep(state: tuple[Solution, Any]) -> tuple[Any, Any]:
        at, left = state
        left = recorder.call(_one_less, left)
        return (passes.measured(passes.swept(at, True), at), left), left

    def again(_: tuple[Solution, Any]) -> tuple[Any, Any]:
        count = recorder.call(_sweeps_of, float(sweeps), course)
        now, _ = recorder.repeat(
            sweep, (passes.resume(first, at[0]), count), sweeps * (len(_SMOOTH) + len(_STIFF)), count
        )
        return (now, recorder.call(_first_tau, passes.reach(now), course)), 0.0

    return recorder.repeat(again, at, 1, stuck)


def _one_less(x: Scalar) -> Scalar:
    return x - 1.0


def _sweeps_of(sweeps: Scalar, course: Scalar) -> Scalar:
    return sweeps * (course + 1.0)


class Few(NamedTuple):
    """All rows together."""

    recorder: Any
    problem: ContactProblem
    blocks: tuple[RowBlock, ...]
    scale: Scaled
    is_redundant: bool

    def start(self, x: Vec) -> Solution:
        return Solution(x, 0.0)

    def kept(self, at: Solution) -> Solution:
        return at

    def resume(self, first: Solution, at: Solution) -> Solution:
        return first

    def redundancy(self, at: Solution) -> Any:
        contacts = [x for block, _, _, x, _ in self.blocks_at(at) if not block.joint]
        return self.recorder.call(_several, self.recorder.call(pressing, *contacts))

    def swept(self, at: Solution, again: bool = False) -> Vec:
        sweep = gauss_seidel.jacobi if self.is_redundant else gauss_seidel.sweep
        return self.recorder.call(sweep, self.problem, self.scale, self.blocks, at.impulse)

    def measured(self, x: Vec, at: Solution | None = None) -> Solution:
        return self.recorder.call(gauss_seidel.measured, self.problem, self.scale, self.blocks, x)

    def reach(self, at: Solution) -> Any:
        return self.recorder.call(gauss_seidel.reach, self.scale, self.blocks, at.impulse, at.residual)

    def leapt(self, at: Solution, course: Any) -> Vec:
        by = (0.0, newton.PROXIMAL) if course is None else course
        return self.recorder.call(newton.step, self.problem, self.scale, self.blocks, at.impulse, at.velocity, *by)

    def blocks_at(self, at: Solution) -> list[tuple[RowBlock, Vec, Vec, Vec, Vec]]:
        """Of every block: itself as the only one, D, bounds, impulses and velocities."""
        rows = [slice(block.first, block.first + block.size) for block in self.blocks]
        impulses, velocities = ([Vec(x[own]) for own in rows] for x in (at.impulse, at.velocity))
        alone = [block._replace(first=0) for block in self.blocks]
        return list(zip(alone, self.scale.own, self.problem.bounds, impulses, velocities, strict=True))

    def steps(self, yields: list[Yielding]) -> list[Vec]:
        """The steps δ = own - K v of all blocks, where v is what these steps change the velocities by."""
        delta = self.recorder.call(newton.coupled_step, self.problem.G, tuple(yields))
        return [Vec(delta[block.first : block.first + block.size]) for block in self.blocks]

    def changed(self, x: Vec, steps: list[Vec], length: Any) -> Vec:
        """Impulses less a part of some steps."""
        return self.recorder.call(_less, x, Vec([d for own in steps for d in own]), length)


def _several(count: Scalar) -> Scalar:
    return count - 1.5


def _less(x: Vec, step: Vec, length: Scalar) -> Vec:
    return x - step * length


def solve(
    recorder: Any,
    problem: ContactProblem,
    blocks: tuple[RowBlock, ...],
    start: Vec,
    effort: Effort,
    redundant: bool = False,
) -> Solution:
    """Impulses from given ones; those of least norm, if they may be `redundant`."""
    if not blocks:
        return Solution(Vec(()), 0.0, Vec(()))
    scale = recorder.call(gauss_seidel.scaled, problem, blocks)
    return solve_with(recorder, Few(recorder, problem, blocks, scale, redundant), start, effort)
