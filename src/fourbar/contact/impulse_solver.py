"""The solver for the impulses of a step: a sweep, then semismooth Newton steps on the projections of Alart and Curnier;
where these stall, steps smoothed after Chen, Harker, Kanzow and Smale, an interior-point phase, and proximal attempts.

Every phase earns its place: each solves problems that the others do not. A sample that is solved stays as it is, so
that it does not depend on others of its batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..expr import maximum, minimum, select
from ..spatial.linear import Scalar, Vec
from . import gauss_seidel, newton
from .gauss_seidel import ContactProblem, RowBlock, Scaled, Solution
from .least_norm import GroupState, LeastNormRows, Steps, Yields, least_norm, pressing
from .newton import Yielding


class SolverSettings(NamedTuple):
    """Numbers of the solver; all are dimensionless but the last. They were tuned together, on boxes, feet with four
    points, chains of links and robots that lie on the floor; single steps may differ if one is changed, results not."""

    least_gain: float = 0.9  # a Newton step that leaves more of the residual than that is the last plain one
    newton_steps: int = 6  # plain Newton steps at most
    exact: float = 1e-3  # of the tolerance: what a sweep leaves, as of feet in the air, takes no Newton step below that
    smoothing: tuple[float, ...] = (0.01, 1.0)  # τ at first in each attempt, of the largest row velocity of an impulse
    proximal: tuple[float, ...] = (1.0, 0.1, 10.0, 0.01, 100.0)  # weights of later attempts, times residual / velocity
    least_proximal: float = 1e-14  # these weights are no less than that
    most_proximal: float = 0.1  # and no more
    sharpen: float = 0.1  # τ shrinks by that
    sharpen_below: float = 3.0  # where the residual is below this multiple of τ
    settled: float = 1e-2  # or where the residual changes by less than that part of it
    sharpest: float = 1e-3  # of the tolerance: the least τ
    attempt_steps: int = 20  # smoothed steps of an attempt
    interior_after: int = 17  # smoothed steps of the first attempt after which there is an interior-point phase
    diverged: float = 1e6  # m/s: a residual above that ends an attempt


SETTINGS = SolverSettings()


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

    def sweep(self, at: Solution, again: bool = False) -> Any:
        """Impulses after a sweep, the first or one made `again`: of Jacobi where they may be redundant, else of
        Gauss-Seidel."""
        ...

    def newton_step(self, at: Solution, attempt: Any) -> Any:
        """Impulses after a Newton step, smoothed by a velocity τ with rows made stiffer, (τ, stiff); None: neither."""
        ...

    def reach(self, at: Solution) -> Any:
        """The largest velocity that an impulse gives its own row, or is left."""
        ...

    def summary(self, at: Solution) -> Solution:
        """What of a solution is kept beside the search for a better one."""
        ...

    def resume(self, first: Solution, at: Solution) -> Solution:
        """The first solution, to begin with again after `at`."""
        ...


class InteriorPhase(Protocol):
    """An interior-point phase, where a number `going` is above zero."""

    def interior_point(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """The best of given impulses and of those that are found from there on."""
        ...

    def without_open_impulses(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """Given impulses without those of open contacts."""
        ...


class Iterate(NamedTuple):
    """Where smoothed steps are: now; the best so far; τ, steps since it was set, and the number of the attempt."""

    now: Solution
    best: Solution
    tau: Any
    steps: Any
    attempt: Any


def left_over(residual: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero while a problem is not solved."""
    return residual - tolerance


def _falls(new: Scalar, old: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero while a problem is not solved and Newton steps make progress."""
    return select(new < SETTINGS.least_gain * old, new - tolerance, -1.0)


def _first_tau(reach: Scalar, attempt: Scalar) -> Scalar:
    return _of_attempt(attempt, (*SETTINGS.smoothing, *(0.0 for _ in SETTINGS.proximal))) * reach


def _of_attempt(attempt: Scalar, values: tuple[float, ...]) -> Scalar:
    """The value of an attempt by its number."""
    value: Scalar = values[-1]
    for k, x in reversed(list(enumerate(values[:-1]))):
        value = select(attempt < k + 0.5, x, value)
    return value


def _stiffness(reach: Scalar, residual: Scalar, attempt: Scalar) -> Scalar:
    """Stiffness added to the rows."""
    by = _of_attempt(attempt, (*(0.0 for _ in SETTINGS.smoothing), *SETTINGS.proximal)) * residual / reach
    return select(
        attempt < len(SETTINGS.smoothing) - 0.5,
        newton.PROXIMAL,
        minimum(maximum(by, SETTINGS.least_proximal), SETTINGS.most_proximal),
    )


def _sharper(tau: Scalar, residual: Scalar, before: Scalar, tolerance: Scalar) -> Scalar:
    """The next τ, smaller where steps have nearly solved the smoothed problem: the residual is small, or stays."""
    stays = maximum(residual - before, before - residual) < SETTINGS.settled * residual
    less = maximum(SETTINGS.sharpen * tau, SETTINGS.sharpest * tolerance)
    return select(residual < SETTINGS.sharpen_below * tau, less, select(stays, less, tau))


class AttemptState(NamedTuple):
    """Smoothed steps in this attempt, the number of the attempt, and whether (1 or 0) the last one failed."""

    steps: Scalar
    attempt: Scalar
    failed: Scalar


def _turn(steps: Scalar, attempt: Scalar, new: Scalar, best: Scalar, tolerance: Scalar) -> AttemptState:
    """One more step; after too many of them, or where it diverges (also to what is no number), the next attempt."""
    enough = select(steps + 1.5 > SETTINGS.attempt_steps, 1.0, select(new < SETTINGS.diverged, 0.0, 1.0))
    failed = select(best > tolerance, enough, 0.0)
    following = select(attempt > len(SETTINGS.smoothing) + len(SETTINGS.proximal) - 1.5, 0.0, attempt + 1.0)
    return AttemptState(select(failed > 0.5, 0.0, steps + 1.0), select(failed > 0.5, following, attempt), failed)


def _enters(steps: Scalar, attempt: Scalar, failed: Scalar, residual: Scalar, tolerance: Scalar) -> Scalar:
    """Above zero where a problem is not solved after the first steps of the first attempt, or this failed."""
    early = select(
        steps < SETTINGS.interior_after - 1.5, failed, select(steps < SETTINGS.interior_after - 0.5, 1.0, 0.0)
    )
    return select(attempt < 0.5, select(early > 0.5, left_over(residual, tolerance), -1.0), -1.0)


class Patience:
    """How far a problem is pursued. A sample that is not solved by then is solved anew with more patience, together
    with others that are as hard: what it takes does not depend on its company, and the others do not wait for it."""

    NEWTON, SMOOTHED, ALL = 0.0, 1.0, 2.0  # plain Newton steps only; the first smoothed steps too; everything


def _begins(going: Scalar, patience: Scalar) -> Scalar:
    """Above zero where there are smoothed steps."""
    return select(patience < 0.5 * Patience.SMOOTHED, -1.0, going)


def _goes_on(going: Scalar, patience: Scalar, steps: Scalar, attempt: Scalar) -> Scalar:
    """Above zero where there is another smoothed step: with little patience not after the early ones of the first
    attempt."""
    late = select(attempt > 0.5, 1.0, select(steps > SETTINGS.interior_after - 1.5, 1.0, 0.0))
    return select(late > 0.5, select(patience < 0.5 * (Patience.SMOOTHED + Patience.ALL), -1.0, going), going)


def gives_up(residual: Scalar, tolerance: Scalar, patience: Scalar) -> Scalar:
    """Above zero where a sample is not solved and there is more patience to be had."""
    return select(patience < 0.5 * (Patience.SMOOTHED + Patience.ALL), residual - tolerance, -1.0)


def solve_with(
    recorder: Any,
    passes: Passes,
    start: Any,
    effort: Effort,
    inside: InteriorPhase | None = None,
    patience: Any = None,
) -> Solution:
    """A sweep from given impulses, Newton steps as long as these bring it nearer; then smoothed ones from the sweep.

    There are none where the sweep leaves a small part of the tolerance. `inside`, if it is given, is tried once where
    the first smoothed steps do not end. `patience` of a sample, if it is given, may end the search early: see
    `Patience`.
    """
    call, tolerance = recorder.call, effort.aim
    given = passes.start(start)
    first = passes.evaluate(passes.sweep(given), given)

    def leap(at: Solution) -> tuple[Solution, Any]:
        new = passes.evaluate(passes.newton_step(at, None), at)
        best = passes.resume(call(gauss_seidel.better, at, new), new)
        return best, call(_falls, new.residual, at.residual, tolerance)

    last = recorder.repeat(
        leap, first, SETTINGS.newton_steps, call(left_over, first.residual, SETTINGS.exact * tolerance)
    )
    best, first = passes.summary(last), passes.resume(first, last)

    def smoothed(at: Iterate) -> tuple[Iterate, Any]:
        stiff = call(_stiffness, passes.reach(at.best), at.best.residual, at.attempt)
        new = passes.evaluate(passes.newton_step(at.now, (at.tau, stiff)), at.now)
        best = call(gauss_seidel.better, at.best, passes.summary(new))
        steps, attempt, failed = call(_turn, at.steps, at.attempt, new.residual, best.residual, tolerance)
        if inside is not None:
            best = inside.interior_point(
                best, tolerance, call(_enters, at.steps, at.attempt, failed, best.residual, tolerance)
            )
        tau = call(_sharper, at.tau, new.residual, at.now.residual, tolerance)
        now, tau = _begin_anew(recorder, passes, effort.sweeps, first, (new, tau), attempt, failed)
        best = call(gauss_seidel.better, best, passes.summary(now))
        going = call(left_over, best.residual, tolerance)
        if patience is not None:
            going = call(_goes_on, going, patience, steps, attempt)
        return Iterate(now, best, tau, steps, attempt), going

    tau = call(_first_tau, passes.reach(first), 0.0)
    going = call(left_over, best.residual, tolerance)
    if patience is not None:
        going = call(_begins, going, patience)
    best = recorder.repeat(smoothed, Iterate(first, best, tau, 0.0, 0.0), effort.rounds, going).best
    best = best if inside is None else inside.without_open_impulses(best, tolerance, going)
    return least_norm(recorder, passes, best, tolerance) if passes.is_redundant else best


def _begin_anew(
    recorder: Any, passes: Passes, sweeps: int, first: Solution, at: tuple[Solution, Any], attempt: Any, failed: Any
) -> tuple[Solution, Any]:
    """Another start of the samples whose attempt `failed`, `sweeps` sweeps per attempt on, and a new τ; the others
    stay `at` theirs. Nothing is done where no attempt failed."""

    def sweep(state: tuple[Solution, Any]) -> tuple[Any, Any]:
        at, left = state
        left = recorder.call(_one_less, left)
        return (passes.evaluate(passes.sweep(at, True), at), left), left

    def again(_: tuple[Solution, Any]) -> tuple[Any, Any]:
        count = recorder.call(_sweeps_of, float(sweeps), attempt)
        now, _ = recorder.repeat(
            sweep,
            (passes.resume(first, at[0]), count),
            sweeps * (len(SETTINGS.smoothing) + len(SETTINGS.proximal)),
            count,
        )
        return (now, recorder.call(_first_tau, passes.reach(now), attempt)), 0.0

    return recorder.repeat(again, at, 1, failed)


def _one_less(x: Scalar) -> Scalar:
    return x - 1.0


def _sweeps_of(sweeps: Scalar, attempt: Scalar) -> Scalar:
    return sweeps * (attempt + 1.0)


class DenseRows(NamedTuple):
    """Rows whose matrix G is eliminated as it is."""

    recorder: Any
    problem: ContactProblem
    blocks: tuple[RowBlock, ...]
    scale: Scaled
    is_redundant: bool

    def start(self, x: Vec) -> Solution:
        return Solution(x, 0.0)

    def summary(self, at: Solution) -> Solution:
        return at

    def resume(self, first: Solution, at: Solution) -> Solution:
        return first

    def redundancy(self, at: Solution) -> Any:
        contacts = [x for (block,), _, _, (x,), _ in self.groups_at(at) if not block.joint]
        return self.recorder.call(_several, self.recorder.call(pressing, *contacts))

    def sweep(self, at: Solution, again: bool = False) -> Vec:
        method = gauss_seidel.jacobi if self.is_redundant else gauss_seidel.sweep
        return self.recorder.call(method, self.problem, self.scale, self.blocks, at.impulse)

    def evaluate(self, x: Vec, at: Solution | None = None) -> Solution:
        return self.recorder.call(gauss_seidel.measured, self.problem, self.scale, self.blocks, x)

    def reach(self, at: Solution) -> Any:
        return self.recorder.call(gauss_seidel.reach, self.scale, self.blocks, at.impulse, at.residual)

    def newton_step(self, at: Solution, attempt: Any) -> Vec:
        by = (0.0, newton.PROXIMAL) if attempt is None else attempt
        return self.recorder.call(newton.step, self.problem, self.scale, self.blocks, at.impulse, at.velocity, *by)

    def groups_at(self, at: Solution) -> list[GroupState]:
        """Every block as a group of its own."""
        rows = [slice(block.first, block.first + block.size) for block in self.blocks]
        impulses, velocities = ([(Vec(x[own]),) for own in rows] for x in (at.impulse, at.velocity))
        alone = [(block._replace(first=0),) for block in self.blocks]
        own, bounds = ([(x,) for x in some] for some in (self.scale.own, self.problem.bounds))
        return [GroupState(*x) for x in zip(alone, own, bounds, impulses, velocities, strict=True)]

    def regroup(self, x: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Every block as a group of its own."""
        return [(own,) for own in x]

    def ungroup(self, x: Sequence[Any]) -> list[Any]:
        """What belongs to all blocks by group in their own order."""
        return [own for (own,) in x]

    def own_of_groups(self) -> list[tuple[tuple[RowBlock, ...], tuple[Vec, ...]]]:
        """The blocks of every group, each as the only one, and their D."""
        return [((block._replace(first=0),), (own,)) for block, own in zip(self.blocks, self.scale.own, strict=True)]

    def couple(self, yields: Yields) -> tuple[Steps, CoupledDenseRows]:
        """The steps of all blocks, and the equations with their K."""
        coupled = CoupledDenseRows(self, [own for (own,) in yields])
        return coupled.solve([(own.own,) for (own,) in yields]), coupled

    def subtract(self, x: Vec, steps: Steps, length: Any) -> Vec:
        """Impulses less a part of some steps."""
        return self.recorder.call(_less, x, Vec([d for (own,) in steps for d in own]), length)


class CoupledDenseRows(NamedTuple):
    """Rows and how their blocks yield."""

    rows: DenseRows
    yields: Sequence[Yielding]

    def solve(self, own: Steps) -> Steps:
        """The steps δ = own - K v of all blocks, where v is what these steps change the velocities by."""
        yields = tuple(x._replace(own=step) for x, (step,) in zip(self.yields, own, strict=True))
        delta = self.rows.recorder.call(newton.coupled_step, self.rows.problem.G, yields)
        return [(Vec(delta[block.first : block.first + block.size]),) for block in self.rows.blocks]


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
    return solve_with(recorder, DenseRows(recorder, problem, blocks, scale, redundant), start, effort)
