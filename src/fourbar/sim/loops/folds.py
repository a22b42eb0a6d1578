"""Folds of loops that move: where they are, and the branches through them (`tree/fold_branch.py`).

A step whose loops come near a fold gives no state (`FoldedLoops`). The fold is then looked for along the closed
configurations ahead and behind, the branch through it is fitted, and the step is made again. What is known of a fold
does not depend on the state that led to it, so that a motion has the same bits in any company. Where there is no
branch, as with lengths that nearly have a fold, the step is made in parts (`Folds.parts`) that resolve how the loops
turn there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ...functions.closed_paths import Slopes, loop_slopes
from ...joints import Revolute
from ...linalg import least_squares
from ...once import cached_property, make_once
from ...system.system import System
from ...tolerances import CLOSED, FOLD_BRANCHES, FOLD_STEP
from ...tree.elimination import TOGGLE, smallest_pivot
from ...tree.embedding import LoopEmbedding
from ...tree.fold_branch import (
    ACTIVE,
    CENTRE,
    DEGREE,
    INVERSE,
    LEAST,
    STRIDE,
    branch_size,
    may_fold,
    watched_pivot,
)

RUNGE_KUTTA, FIRST_ORDER = 0.01, 0.01  # strides: how far steps may move, relative to the smallest pivot of K_d
_NEAR = 0.02  # the smallest pivot of K_d, in its units, below which a branch is needed, or else short steps
_LOST = FOLD_STEP  # and below which a motion is marked where no branch was found
_SEARCHED = 0.2  # the smallest pivot of K_d below which branches are looked for
_FINER = 0.5  # strides of loops with one degree of freedom, relative to others, for folds that lengths nearly have
_SWAPPED = 2.0  # the factor by which the smallest pivot leaps where elimination swaps rows, at most
_FASTEST = 8.0  # how fast pivots change with coordinates, in their units, at most
_LEAPT = 3e-5, 1e-2  # what a leap and its halves may differ by: kinetic energy, and the relative length of the way
_PARTS = (8, 16, 32, 64)  # how many parts a step is made in; parts may have parts again
# Lengths along the independent coordinate, in its unit (rad):
_RADII = (0.03, 0.015, 0.0075)  # of branches: the first that fits is taken
_STEP, _STEPS, _BEYOND = 0.04, 16, 4  # of the search: its steps, how many, and how many beyond a fold
_SIGHT = 0.15  # how far from its centre a branch that is known is recognised
_SIGHT_FOLLOWED = 0.4  # and one that is followed, if no other fold is on this side of it
_AGAIN = 0.3  # how far from where none was found a branch is looked for again
_GRID, _FINE = 2.0**-10, 2.0**-24  # to which centres, and the start of a fit, are rounded
_NODES, _HOLE = 28, 0.3  # points of a fit, of which those within this fraction of the radius are left out
_BENT = 0.25  # the correction, relative to the step, above which the search has left its branch
_WINDOW = -0.8371  # where a turn of angles begins: no place where linkages are drawn


Ends = tuple[np.ndarray, np.ndarray]  # q and v at the end of a step


class FoldBranch(NamedTuple):
    """A branch through a fold: its centre and radius along the independent coordinate, the coefficients (m, DEGREE + 1)
    of the dependent ones, and the square of the pivot of K_d that counts as none away from it.
    """

    centre: float
    radius: float
    coefficients: np.ndarray
    least: float

    @property
    def key(self) -> bytes:
        """Its numbers, to tell it from others."""
        return np.append(self.coefficients, (self.centre, self.radius)).tobytes()

    def dependent(self, x: Any) -> np.ndarray:
        """The dependent coordinates (m) at x."""
        s = (x - self.centre) / self.radius
        return self.coefficients @ s ** np.arange(DEGREE + 1)

    def slope(self, x: Any) -> np.ndarray:
        """The derivatives (m) of the dependent coordinates by x."""
        s, powers = (x - self.centre) / self.radius, np.arange(1, DEGREE + 1)
        return self.coefficients[:, 1:] @ (powers * s ** (powers - 1)) / self.radius


def slopes_of(robot: System, number: int) -> Slopes:
    """K of the loops of a cluster, by its number, which the robot keeps."""
    kept = vars(robot).setdefault("_loop_slopes", {})
    return make_once(kept, number, lambda: loop_slopes(robot.mechanism, number))


class LoopFolds:
    """The folds of the loops of a cluster; its coordinates are those of all of its joints."""

    def __init__(self, tie: LoopEmbedding, slopes: Slopes) -> None:
        self.tie, self.rows, self.d = tie, list(tie.rows), list(tie.dependent)
        self.slopes = slopes
        squares = tie.units.rows[self.rows] ** 2, tie.units.columns[self.d] ** -2.0
        self._squares = squares
        self.folds = may_fold(tie)
        self.known: list[FoldBranch] = []
        self._alone: dict[tuple[bytes, float], bool] = {}
        self.size = branch_size(tie)
        if self.folds:
            ((self.i, self.scale),) = tie.independent
            self.unit, self.units = tie.units.steps[self.i], tie.units.steps[self.d]
            self.periods = np.array([self._period(j) for j in range(len(tie.joints))])

    def _period(self, j: int) -> float:
        """A turn of a joint after which the loops are as before; infinite where there is none, as with gears."""
        if not isinstance(self.tie.joints[j], Revolute):
            return np.inf
        assert self.tie.closed is not None
        turned = self.tie.closed.copy()
        turned[j] += 2.0 * np.pi
        change = (self.tie.residual(turned) - self.tie.residual(self.tie.closed)) / self.tie.units.gaps
        return 2.0 * np.pi if np.abs(change).max() < CLOSED else np.inf

    def first(self, stride: float) -> np.ndarray:
        """The numbers of a `FoldedLoops` where no fold is near, for steps that move at most by `stride` times the
        smallest pivot of K_d.
        """
        found = np.zeros(self.size)
        found[[LEAST, STRIDE]] = (_NEAR if self.folds else _LOST) ** 2, self.inverse_square(stride)
        return found

    def inverse_square(self, stride: float) -> float:
        """1 / stride², of a stride that is shorter where there may be folds."""
        return (stride * (_FINER if self.folds else 1.0)) ** -2.0

    @cached_property
    def _watched_pivot(self) -> float:
        """The square of the pivot below which steps are compared with it."""
        return watched_pivot(self.tie)

    def _slopes(self, q: np.ndarray) -> np.ndarray:
        return self.slopes(q)[self.rows]

    def pivot(self, q: np.ndarray) -> float:
        """The square of the smallest pivot of K_d at q, in its units; zero where K is not finite."""
        return self._pivot_of(self._slopes(q))

    def _pivot_of(self, K: np.ndarray) -> float:
        return smallest_pivot(K[:, self.d], *self._squares) if np.isfinite(K[:, self.d]).all() else 0.0

    def meet(self, numbers: np.ndarray, q: np.ndarray, w: float) -> np.ndarray | None:
        """Other numbers of `FoldedLoops` with which a step from q that gave no state may give one: they follow a branch
        through a fold, or leave it to short steps where there is none. w: the velocity, if there is one.
        """
        if not self.folds or not self.pivot(q) < _SEARCHED**2 or self._is_searched(numbers, q):
            return None
        branch, changed = self._near(numbers, q, w), numbers.copy()
        if branch is None:
            changed[[LEAST, CENTRE, INVERSE, ACTIVE]] = _LOST**2, q[self.i], 0.0, 0.0
            return changed
        changed[LEAST], changed[CENTRE:] = branch.least, self._numbers_of(branch, q)
        return None if np.array_equal(changed, numbers) else changed

    def _numbers_of(self, branch: FoldBranch, q: np.ndarray) -> np.ndarray:
        """The numbers of `FoldedLoops`, from CENTRE on, with which a branch is followed near q."""
        (x, turned), coefficients = self._turn(q, branch), branch.coefficients.copy()
        coefficients[:, 0] += turned
        return np.concatenate([[branch.centre + x, 1.0 / branch.radius, 1.0], coefficients.ravel()])

    def _is_searched(self, numbers: np.ndarray, q: np.ndarray) -> bool:
        """Whether no branch was found near q before."""
        away = abs(q[self.i] - numbers[CENTRE]) / self.unit
        return numbers[ACTIVE] == 0.0 and numbers[LEAST] < _NEAR**2 and away < _AGAIN

    def parts(self, numbers: np.ndarray, q: np.ndarray, way: np.ndarray) -> int:
        """In how many parts a step from q that gave no state should be made, with displacements `way` (nv) of the
        independent coordinates: one where the loops are so singular that shorter steps are no better, and none if the
        loops are not the reason. Negative for loops with more degrees of freedom, of whose folds no branch is known: a
        whole step may leap over one (`Folds.leap`).
        """
        if not numbers[STRIDE]:
            return 0
        K, steps = self._slopes(q), self.tie.units.steps
        pivot = self._pivot_of(K) ** 0.5
        if pivot < _LOST:
            return 1
        independent, moved = [j for j, _ in self.tie.independent], self.expand_velocity(q, way, K)
        length, change = (float(np.linalg.norm((moved / steps)[own])) for own in (independent, slice(None)))
        needed = min(length * numbers[STRIDE] ** 0.5, self._watched_pivot**0.5)
        least = numbers[LEAST] ** 0.5
        if not pivot / _SWAPPED - _FASTEST * change < max(needed, least):
            return 0
        if needed < 0.5 * pivot < least:
            return 1
        count = next((x for x in _PARTS if needed <= x * pivot), _PARTS[-1])
        return count if self.folds or pivot >= _NEAR else -count

    def _turns(self, q: np.ndarray) -> np.ndarray:
        """Whole turns of each joint at q, as angles."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(self.periods), np.floor((q - _WINDOW) / self.periods) * self.periods, 0.0)

    def _turn(self, q: np.ndarray, branch: FoldBranch) -> tuple[float, np.ndarray]:
        """The whole turns, as angles, from a branch to q: of the independent and of the dependent joints."""

        def whole(difference: np.ndarray, period: np.ndarray) -> np.ndarray:
            turning = np.isfinite(period)
            period = np.where(turning, period, 1.0)
            return np.where(turning, np.round(difference / period) * period, 0.0)

        x = whole(q[self.i] - branch.centre, self.periods[self.i])
        return float(x), whole(q[self.d] - branch.dependent(q[self.i] - x), self.periods[self.d])

    def _near(self, numbers: np.ndarray, q: np.ndarray, w: float) -> FoldBranch | None:
        """The branch through the fold near q, which is known or found now."""
        branch = self._recognise(q, numbers)
        if branch is not None:
            return branch
        q = q - self._turns(q)
        for way in (1.0, -1.0) if w >= 0.0 else (-1.0, 1.0):
            path = self._explore(q, way)
            if path is not None:
                return self._branch_of_path(path)
        return None

    def _recognise(self, q: np.ndarray, numbers: np.ndarray | None = None) -> FoldBranch | None:
        """The nearest known branch through q, or else the one that `numbers` follow from further away."""
        near: list[tuple[float, FoldBranch]] = []
        for branch in self.known:
            whole, turned = self._turn(q, branch)
            ahead = (q[self.i] - whole - branch.centre) / self.unit
            away = abs(ahead)
            is_followed = numbers is not None and away < _SIGHT_FOLLOWED and self._follows(numbers, branch, q)
            if away < _SIGHT or (is_followed and self._is_alone(branch, np.sign(ahead))):
                off = np.abs((q[self.d] - turned - branch.dependent(q[self.i] - whole)) / self.units).max()
                if off < 0.02 * away + 1e-9:
                    near.append((away, branch))
        return min(near, key=lambda x: x[0])[1] if near else None

    def _follows(self, numbers: np.ndarray, branch: FoldBranch, q: np.ndarray) -> bool:
        return np.array_equal(numbers[CENTRE:], self._numbers_of(branch, q))

    def _is_alone(self, branch: FoldBranch, way: float) -> bool:
        """Whether there is no other fold further along a branch; found once, from where it is recognised."""

        def look() -> bool:
            start = self._close(self._at(branch, branch.centre + way * _SIGHT * self.unit))
            return start is not None and self._explore(start, way) is None

        return make_once(self._alone, (branch.key, way), look)

    def expand_velocity(self, q: np.ndarray, v: np.ndarray, K: np.ndarray | None = None) -> np.ndarray:
        """The velocities of all joints at q with independent velocities v (nv): near a fold along the branch, if it is
        known; NaN where nothing determines them. K: that at q, if it is known.
        """
        velocities = np.zeros(len(self.tie.units.steps))
        velocities[[j for j, _ in self.tie.independent]] = v * [scale for _, scale in self.tie.independent]
        branch = self._recognise(q) if self.folds else None
        x = q[self.i] - self._turn(q, branch)[0] if branch is not None else 0.0
        if branch is not None and abs(x - branch.centre) < branch.radius:
            velocities[self.d] = branch.slope(x) * velocities[self.i]
            return velocities
        K = self._slopes(q) if K is None else K
        velocities[self.d] = least_squares(K[:, self.d], -K @ velocities) if self._pivot_of(K) > TOGGLE else np.nan
        return velocities

    # Following closed configurations.

    def _close(self, q: np.ndarray) -> np.ndarray | None:
        """q with dependent coordinates that close the loops, as well as rounding allows; None where they do not."""
        tie, d = self.tie, self.d
        best, least = None, np.inf
        for _ in range(12):
            phi, K = tie.residual(q), tie.slopes(q)
            gap = np.abs(phi[self.rows] / tie.units.gaps[self.rows]).max()
            if not gap < least:
                break
            best, least = q, gap
            A = tie.units.of(K)[self.rows][:, d]
            step = least_squares(A, -phi[self.rows] / tie.units.rows[self.rows])
            q = q.copy()
            q[d] += step * tie.units.columns[d]
        return best if least < CLOSED else None

    def _next(self, path: list[np.ndarray], x: float) -> np.ndarray | None:
        """The closed configuration at x on the branch on which a path is, whose last point is the nearest."""
        last = path[-1]
        some = path[-5:] if len(path) > 1 else path
        q = last.copy()
        q[self.i] = x
        if len(some) == 1:
            K = self._slopes(last)
            q[self.d] -= least_squares(K[:, self.d], K[:, self.i]) * (x - last[self.i])
        else:
            at = [p[self.i] for p in some]
            weights = [np.prod([(x - b) / (a - b) for b in at if b != a]) for a in at]
            q[self.d] = sum(weight * p[self.d] for weight, p in zip(weights, some, strict=True))
        closed = self._close(q)
        if closed is None:
            return None
        bend = np.abs((closed - q)[self.d] / self.units).max()
        return closed if bend <= _BENT * abs(x - last[self.i]) / self.unit else None

    def _determinant(self, q: np.ndarray) -> float:
        return float(np.linalg.det(self.tie.units.of(self.tie.slopes(q))[self.rows][:, self.d]))

    def _explore(self, q: np.ndarray, way: float) -> list[np.ndarray] | None:
        """Closed configurations from q past a fold, where the determinant of K_d changes its sign; None without one."""
        step = way * _STEP * self.unit
        path, sizes, beyond = [q], [self._determinant(q)], 0
        if self.pivot(q) < FOLD_BRANCHES**2:
            return None
        for _ in range(_STEPS):
            coordinate = path[-1][self.i] + step
            if len(path) > 1 and not beyond:
                slope = (sizes[-1] - sizes[-2]) / (path[-1][self.i] - path[-2][self.i])
                ahead = -sizes[-1] / slope if slope else np.inf
                if 0.0 < ahead / step < 1.5:  # not to end next to the fold
                    coordinate = (
                        path[-1][self.i] + 2.0 * ahead if ahead / step > 0.5 else path[-1][self.i] + ahead + step
                    )
            point = self._next(path, coordinate)
            if point is None:
                return path if beyond else None
            path.append(point)
            sizes.append(self._determinant(point))
            beyond += bool(beyond) or sizes[-1] * sizes[-2] < 0.0
            if beyond > _BEYOND:
                return path
        return None

    def _branch_of_path(self, path: list[np.ndarray]) -> FoldBranch | None:
        """The branch of a path, which passes a fold; None where no smooth one is closed at the fold."""
        coordinates = np.array([p[self.i] for p in path])
        sizes = np.array([self._determinant(p) for p in path])
        k = int(np.flatnonzero(sizes[1:] * sizes[:-1] < 0.0)[0])
        near = slice(max(0, k - 2), k + 4)
        root = coordinates[k] - sizes[k] * (coordinates[k + 1] - coordinates[k]) / (sizes[k + 1] - sizes[k])
        for _ in range(8):
            fit = np.polynomial.Polynomial.fit(coordinates[near], sizes[near], len(coordinates[near]) - 1)
            root = root - fit(root) / fit.deriv()(root)
        centre = np.round(root / (_GRID * self.unit)) * (_GRID * self.unit)
        for radius in _RADII:
            branch = self._fit(path, centre, radius * self.unit)
            if branch is not None:
                if all(branch.key != other.key for other in self.known):
                    self.known.append(branch)
                return branch
        return None

    def _fit(self, path: list[np.ndarray], centre: float, radius: float) -> FoldBranch | None:
        """The branch of a path, of points that do not depend on the path."""
        x = centre - 2.0 * radius
        order = sorted(path, key=lambda p: -abs(p[self.i] - x))
        start = self._next(order, x)
        if start is None:
            return None
        start[self.d] = np.round(start[self.d] / (_FINE * self.units)) * (_FINE * self.units)
        start -= self._turns(start) * (np.arange(len(start)) != self.i)
        start = self._close(start)
        if start is None:
            return None
        u = np.sort(np.cos((2.0 * np.arange(_NODES) + 1.0) * (0.5 * np.pi / _NODES)))
        u = u[np.abs(u) > 0.5 * _HOLE]
        points = [start]
        for at in centre + 2.0 * radius * u:
            found = self._next(points, at)
            if found is None:
                return None
            points.append(found)
        values = np.array([p[self.d] for p in points[1:]])
        fit = chebyshev.chebfit(u, values, DEGREE, w=np.abs(u))
        off = np.abs((chebyshev.chebval(u, fit).T - values) / self.units).max()
        powers = np.array(
            [np.resize(np.append(chebyshev.cheb2poly(c), np.zeros(DEGREE + 1)), DEGREE + 1) for c in fit.T]
        )
        branch = FoldBranch(centre, radius, powers * 0.5 ** np.arange(DEGREE + 1), 0.0)
        if off > CLOSED or not self._is_closed(branch):
            return None
        least = 0.25 * min(self.pivot(self._at(branch, centre + way * radius)) for way in (-1.0, 1.0))
        return branch._replace(least=min(least, _NEAR**2))

    def _at(self, branch: FoldBranch, x: float) -> np.ndarray:
        q = np.empty(len(self.periods))
        q[self.i], q[self.d] = x, branch.dependent(x)
        return q

    def _is_closed(self, branch: FoldBranch) -> bool:
        """Whether the loops are closed along a branch, at the fold too."""
        for x in branch.centre + branch.radius * np.linspace(-1.0, 1.0, 15):
            phi = self.tie.residual(self._at(branch, x))[self.rows]
            if not np.abs(phi / self.tie.units.gaps[self.rows]).max() < CLOSED:
                return False
        return True


class Folds:
    """The folds of a robot in some independent velocities. Numbers of samples (n, size) are those of `FoldedLoops`, by
    cluster. `ties`: the loops with other parameters, by the names of a cluster's loops.
    """

    def __init__(self, now: System, ties: Mapping[tuple[str, ...], LoopEmbedding] | None = None) -> None:
        self.loops: list[tuple[LoopFolds, slice, int, slice]] = []  # with the places of q, of v, of the numbers
        self._columns: list[list[int]] = []  # of each among the velocities of all joints
        tree = now.model.cluster_tree
        nq = nv = at = 0
        for number, cluster in enumerate(tree.clusters):
            tie: Any = cluster.embedding
            if tie.is_solved:
                varied = None if ties is None else ties.get(cluster.loops)
                loop = LoopFolds(tie, slopes_of(now, number)) if varied is None else LoopFolds(varied, varied.slopes)
                self.loops.append((loop, slice(nq, nq + tie.nq), nv, slice(at, at + loop.size)))
                at += loop.size
                first = tree.spanning_tree.first_v
                self._columns.append([first[i] + k for i in cluster.links for k in range(tree.moving[i].joint.nv)])
            nq, nv = nq + tie.nq, nv + tie.nv
        self.none = np.concatenate([np.zeros(0), *(_anywhere(x[0].first(1.0)) for x in self.loops)])

    def first(self, stride: float) -> np.ndarray:
        """The numbers where no fold is near; see `LoopFolds.first`."""
        return np.concatenate([np.zeros(0), *(x[0].first(stride) for x in self.loops)])

    @staticmethod
    def of(now: System) -> Folds:
        """Those of a robot, which it keeps."""
        kept = vars(now)
        if "_folds" not in kept:
            kept["_folds"] = Folds(now)
        return kept["_folds"]

    def expand_velocity(self, q: np.ndarray, v: np.ndarray, every: np.ndarray) -> None:
        """Fill in the velocities of the joints of loops among those of all joints, `every` (n, joints), at q (n, nq)
        with independent velocities v (n, nv); see `LoopFolds.expand_velocity`.
        """
        for (loop, own, first, _), columns in zip(self.loops, self._columns, strict=True):
            for k in range(len(every)):
                every[k, columns] = loop.expand_velocity(q[k, own], v[k, first : first + loop.tie.nv])

    def meet(self, numbers: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        """Other numbers with which a step from q (nq) that gave no state may give one; see `LoopFolds.meet`."""
        for loop, own, v, place in self._by_pivot(q):
            found = loop.meet(numbers[place], q[own], float(w[v]))
            if found is not None:
                changed = numbers.copy()
                changed[place] = found
                return changed
        return None

    def _by_pivot(self, q: np.ndarray) -> list[tuple[LoopFolds, slice, int, slice]]:
        """The loops that may have folds, the most singular one first."""
        loops = [x for x in self.loops if x[0].folds]
        return sorted(loops, key=lambda x: x[0].pivot(q[x[1]])) if len(loops) > 1 else loops

    def parts(self, numbers: np.ndarray, q: np.ndarray, way: np.ndarray) -> tuple[int, np.ndarray]:
        """In how many parts a step from q (nq) should be made that gave no state, with displacements `way` (nv), and
        with which numbers: one part where no step is short enough, none if loops are not the reason, and a negative
        number if a whole step may `leap` first.
        """
        counts = [loop.parts(numbers[place], q[own], way[v : v + loop.tie.nv]) for loop, own, v, place in self.loops]
        changed = numbers.copy()
        for (*_, place), count in zip(self.loops, counts, strict=True):
            if count == 1:
                changed[place] = _anywhere(numbers[place])
        return (1 if 1 in counts else max(counts, key=abs, default=0)), changed

    def leap(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers (..., size) with which a step leaps over a fold, wherever it comes down but next to it."""
        found = numbers.copy()
        for *_, place in self.loops:
            found[..., place.start + STRIDE], found[..., place.start + LEAST] = 0.0, _LOST**2
        return found

    def after_parts(self, numbers: np.ndarray, stride: float) -> np.ndarray:
        """The numbers after a step in parts."""
        changed = numbers.copy()
        for loop, *_, place in self.loops:
            first = place.start
            changed[first + STRIDE] = loop.inverse_square(stride)
            changed[first + LEAST] = max(_LOST**2, changed[first + LEAST])
        return changed


def leapt_well(now: System, q: np.ndarray, whole: Ends, halves: Ends) -> np.ndarray:
    """Whether (...) steps from q (..., nq) have leapt over a fold along a smooth branch, so that a whole step comes to
    the same as its halves: energy and configuration.
    """
    energy: Any = now.kinetic_energy
    one, other = (np.asarray(energy.state[0].evaluate(*x)) for x in (whole, halves))
    with np.errstate(invalid="ignore"):
        way, off = (np.abs(x).max(axis=-1) for x in (halves[0] - q, halves[0] - whole[0]))
        return (np.abs(one - other) <= _LEAPT[0] * np.maximum(one, other)) & (off <= _LEAPT[1] * way)


def _anywhere(numbers: np.ndarray) -> np.ndarray:
    """The numbers of `FoldedLoops` with which loops are solved as near to a singular position as they can be."""
    found = numbers.copy()
    found[LEAST], found[STRIDE] = TOGGLE, 0.0
    return found
