"""The solver: iterations of FDDP with bounds of controls and an augmented Lagrangian, for a batch of problems.

Each problem has its own damping, penalties, multipliers and length of steps, and ends by itself, so that it goes the
same way alone and in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from .backward_pass import Policy, run_back
from .lagrangian import AugmentedLagrangian

if TYPE_CHECKING:
    from .transcription import Transcription

LENGTHS = 0.5 ** np.arange(8)
WORKING = ""


class DescentSettings:
    """Decisions of the solver. All but counts are dimensionless."""

    ARMIJO = 1e-4  # of the decrease that a step promises, the part that it must keep
    DAMP = 1e-4  # μ, relative to the diagonal of Q_uu, at the first failure
    GROW = 10.0  # of μ after a failure
    UNDAMPED = 1e-8  # below which μ is zero
    STUCK = 1e5  # of μ, above which no step helps
    FLOOR = (
        1e-6  # of the first cost, below which costs count as this: those that vanish need not become relatively exact
    )
    ROUNDING = 1e-14  # of the cost, below which a promise is rounding
    LOOSE = 1e-2  # relative decrease at which the first multipliers are found
    TIGHTEN = 0.1  # of that decrease, from multipliers to multipliers


class Feedback(NamedTuple):
    """States q (P, T, nq), v (P, T, nv) and gains K (P, T, nu, 2 nv) of a motion to follow."""

    q: np.ndarray
    v: np.ndarray
    K: np.ndarray


@dataclass
class Plans:
    """A batch of P problems under way, arrays with a row for each."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    needed: dict[str, np.ndarray]
    total: np.ndarray  # the cost with penalties
    gap: np.ndarray  # (P, T, 2 nv)
    damping: np.ndarray
    goal: np.ndarray  # relative decrease at which a problem, with its multipliers, counts as solved
    first: np.ndarray  # the cost at the start
    gains: np.ndarray
    costate: np.ndarray
    cost: np.ndarray  # without penalties
    violation: np.ndarray
    iterations: np.ndarray
    reason: np.ndarray
    converged: np.ndarray
    stale: np.ndarray  # whether penalties have changed since the cost was computed
    history: list[dict[str, np.ndarray]] = field(default_factory=list)

    def replace(self, rows: np.ndarray, **values: Any) -> None:
        """Write the rows of some problems."""
        known = {x.name for x in fields(self)}
        for name, value in values.items():
            assert name in known
            getattr(self, name)[rows] = value


class Descent:
    """The solution of a batch of problems that start at states (P, nq), (P, nv)."""

    def __init__(
        self, problem: Transcription, numbers: dict[str, np.ndarray], rows: dict[str, np.ndarray], threads: int | None,
        feasibility: float,
    ) -> None:  # fmt: skip
        self._problem, self._numbers, self._rows, self._threads = problem, numbers, rows, threads
        self.lagrangian = AugmentedLagrangian(problem, len(next(iter(rows.values()))), feasibility)
        self._steps = problem.steps

    # ------------------------------------------------------------------ motions

    def _inputs(self, ids: np.ndarray, last: bool) -> dict[str, np.ndarray]:
        """Inputs of the costs of knots (P, T, *shape), or of the last ones (P, *shape), besides states and controls."""
        knots = -1 if last else slice(0, -1)
        found = {name: x[ids][:, knots] for name, x in self._rows.items()}
        for name, x in self._numbers.items():
            found[name] = x[ids] if last else x[ids][:, None]
        return found | self.lagrangian.inputs(ids, last)

    def _end_cost(self, ids: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The cost (P, L) of last knots (P, L, nq)."""
        inputs = {name: x[:, None] for name, x in self._inputs(ids, True).items()}
        return self._problem.last_value(q, v, None, inputs, self._threads)[..., 0]

    def move(
        self, ids: np.ndarray, over: Sequence[Any], x0: tuple[Any, Any], u: np.ndarray, k: Any, K: Any,
        lengths: np.ndarray, gap: np.ndarray | None,
    ) -> Any:  # fmt: skip
        """Motions (P, L, T + 1, ...) with feedback around states `over` (P, T, ...), and their costs."""
        problem, L = self._problem, len(lengths)
        steps, batch = self._steps, (len(ids), L)
        low, high = problem.bounds
        rows = {"over_q": over[0], "over_v": over[1], "u": u, "k": k, "K": K}
        rows |= {name: np.broadcast_to(x, u.shape) for name, x in (("low", low), ("high", high))}
        rows |= {} if gap is None else {"gap": gap}
        rows = {name: x[:, None] for name, x in rows.items()}
        inputs = self._inputs(ids, False)
        forward = problem.forward(gap is not None)
        rows |= {name: x[:, None] for name, x in inputs.items() if name in forward.controls}
        numbers = {name: x for name, x in inputs.items() if name in forward.numbers}
        numbers |= {"dt": np.array(problem.dt), "weight": np.array(problem.dt)}
        numbers["length"] = np.broadcast_to(lengths, batch)
        start = [np.broadcast_to(x[:, None], (*batch, x.shape[-1])) for x in x0]
        motion = forward.run(start[0], start[1], rows, numbers, steps, self._threads)
        with np.errstate(invalid="ignore"):
            cost = motion.cost + self._end_cost(ids, motion.q[..., -1, :], motion.v[..., -1, :])
        return motion, np.where(motion.finite & np.isfinite(cost), cost, np.inf)

    def start(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, guess: tuple[Any, Any] | None, around: Feedback | None = None
    ) -> Plans:
        """The first iterate: a motion under the controls, with feedback `around` another where that is better; or a
        guess of states with gaps."""
        problem, P, T = self._problem, len(q), self._steps
        n, low, high = 2 * problem.robot.nv, *problem.bounds
        u = np.clip(u, low, high)
        if guess is None:
            states, u, needed, total = self._first_motion(q, v, u, around)
            gap = np.zeros((P, T, n))
        else:
            states = np.array(guess[0]), np.array(guess[1])
            states[0][:, 0], states[1][:, 0] = q, v
            gap, needed = problem.gaps(states[0], states[1], u, self._threads)
            total = np.full(P, np.nan)
        reason = np.full(P, WORKING, object)
        unknown, goal = np.full(P, np.nan), self.lagrangian.first_goal(DescentSettings.LOOSE)
        return Plans(
            states[0], states[1], u, needed, total, gap, np.zeros(P), goal, unknown, np.zeros((P, T, u.shape[-1], n)),
            np.zeros((P, T, n)), unknown.copy(), unknown.copy(), np.zeros(P, int), reason, np.zeros(P, bool),
            np.full(P, guess is not None),
        )  # fmt: skip

    def _first_motion(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, around: Feedback | None) -> Any:
        """States, controls, what derivatives need, and costs of the motion to begin with."""
        (P, T, m), robot = u.shape, self._problem.robot
        ids, zeros, lengths = np.arange(P), np.zeros(u.shape), np.zeros(2)  # two, for the machine code of batches
        still = [np.broadcast_to(x[:, None], (P, T, x.shape[-1])) for x in (q, v)]
        motion, costs = self.move(ids, still, (q, v), u, zeros, np.zeros((P, T, m, 2 * robot.nv)), lengths, None)
        results = [motion.q[:, 0], motion.v[:, 0], motion.u[:, 0], costs[:, 0]]
        needed = {name: x[:, 0] for name, x in motion.needed.items()}
        if around is not None:
            fed, fed_costs = self.move(ids, (around.q, around.v), (q, v), u, zeros, around.K, lengths, None)
            better = fed_costs[:, 0] < costs[:, 0]
            for k, x in enumerate((fed.q, fed.v, fed.u, fed_costs)):
                results[k] = np.where(better.reshape(-1, *[1] * (x.ndim - 2)), x[:, 0], results[k])
            for name, x in fed.needed.items():
                needed[name] = np.where(better.reshape(-1, *[1] * (x.ndim - 2)), x[:, 0], needed[name])
        if not np.isfinite(results[3]).all():
            self._refuse_start(motion, costs)
        return (results[0], results[1]), results[2], needed, results[3]

    def _refuse_start(self, motion: Any, costs: np.ndarray) -> None:
        """Say what is not a number in the first motion."""
        problem, row = self._problem, int(np.flatnonzero(~np.isfinite(costs[:, 0]))[0])
        ids = np.array([row])
        finite = np.isfinite(motion.q[row, 0]).all(axis=-1) & np.isfinite(motion.v[row, 0]).all(axis=-1)
        states = [x[ids, 0] for x in (motion.q, motion.v)]
        known = np.flatnonzero(~finite)
        if known.size == 0 or known[0] > 0:
            stop = int(known[0]) if known.size else self._steps + 1
            if stop < self._steps:
                states = [np.where(np.arange(x.shape[1])[:, None] < stop, x, x[:, :1]) for x in states]
            u = np.nan_to_num(motion.u[ids, 0])
            report = problem.running_value(
                states[0][:, :-1], states[1][:, :-1], u, self._inputs(ids, False), self._threads
            )
            problem.check_terms(report[:, :stop], None)
            if stop > self._steps:
                last = problem.last_value(
                    states[0][:, -1], states[1][:, -1], None, self._inputs(ids, True), self._threads
                )
                problem.check_terms(None, last)
        raise ArgumentError(
            f"solve: the motion under the first controls ends after {int(np.argmin(finite))} of {self._steps} steps, "
            "since a state is not finite: give other controls u=, or states q_guess= and v_guess=, from which it may "
            "start with gaps"
        )

    # ------------------------------------------------------------------ iterations

    def solve(self, it: Plans, iterations: int, tolerance: float, on_progress: Any) -> Plans:
        """Plans until all problems have ended."""
        for _ in range(iterations):
            active = np.flatnonzero(it.reason == WORKING)
            if not active.size:
                break
            note = {name: np.full(len(it.total), np.nan) for name in ("cost", "expected", "length", "damping",
                                                                      "violation", "gap")}  # fmt: skip
            open_gaps = (it.gap[active] != 0.0).any(axis=(1, 2))
            for ids in (active[open_gaps], active[~open_gaps]):  # other machine code, so that gaps change no bits
                if ids.size:
                    self._iterate(it, ids, tolerance, note)
            it.history.append(note)
            if on_progress is not None:
                on_progress(note)
        left = it.reason == WORKING
        if left.any():
            it.reason[left] = f"stopped after {iterations} iterations"
        return it

    def _iterate(self, it: Plans, ids: np.ndarray, tolerance: float, note: dict[str, np.ndarray]) -> None:
        """One iteration of some problems, either with gaps or without."""
        s = DescentSettings
        knots, V, g, reports = self._differentiate(it, ids)
        has_gaps = bool((it.gap[ids] != 0.0).any())
        back, alive = self._go_back(it, ids, knots, V, g, has_gaps)
        ids, back = ids[alive], _some(back, alive)
        reports = [x[alive] for x in reports]
        if not ids.size:
            return
        it.replace(ids, gains=back.K[:, ::-1], costate=back.costate[:, ::-1], iterations=it.iterations[ids] + 1)
        gap = it.gap[ids]
        left = 2.0 * (np.abs(back.costate[:, ::-1]) * np.abs(gap)).sum(axis=(1, 2))  # exact penalty of gaps
        scale = np.maximum(np.abs(it.total[ids]), s.FLOOR * np.abs(it.first[ids]))
        expected = np.maximum(-(back.first + 0.5 * back.second), 0.0) + 0.5 * left
        row = {"cost": it.total, "damping": it.damping, "violation": it.violation}
        for name, x in row.items():
            note[name][ids] = x[ids]
        note["expected"][ids], note["gap"][ids] = expected, np.abs(gap).max(axis=(1, 2), initial=0.0)
        fresh = self.lagrangian.calibrate(ids, expected, it.total[ids] - it.cost[ids])
        it.stale[ids[fresh]] = True
        if fresh.any():
            ids, back, expected, left, scale, gap = (
                ids[~fresh], _some(back, ~fresh), expected[~fresh], left[~fresh], scale[~fresh], gap[~fresh],
            )  # fmt: skip
            reports = [x[~fresh] for x in reports]
        undamped = it.damping[ids] <= 0.1
        solved = (expected <= np.maximum(it.goal[ids], tolerance) * scale) & undamped & ~gap.any(axis=(1, 2))
        self._end(it, ids[solved], [x[solved] for x in reports], tolerance)
        if (~solved).any():
            self._step(it, ids[~solved], _some(back, ~solved), expected[~solved], left[~solved], note,
                       [x[~solved] for x in reports], tolerance)  # fmt: skip

    def _differentiate(self, it: Plans, ids: np.ndarray) -> tuple[dict[str, Any], Any, Any, list[np.ndarray]]:
        """Derivatives at all knots, the last first; V and s at the end; reports of the costs in order of time."""
        problem = self._problem
        back: Any = np.s_[:, ::-1]
        q, v, u = it.q[ids][:, :-1][back], it.v[ids][:, :-1][back], it.u[ids][back]
        needed = {name: x[ids][back] for name, x in it.needed.items()}
        AB = problem.plant.slopes(q, v, u, needed, problem.dt, self._threads)
        inputs = self._inputs(ids, False)
        inputs = {
            n: x[back] if x.shape[1:2] == (self._steps,) and n in problem.row_names else x for n, x in inputs.items()
        }
        H, g, report = problem.running_slopes(q, v, u, inputs, self._threads)
        end = it.q[ids][:, -1], it.v[ids][:, -1]
        V, s, last = problem.last_slopes(*end, None, self._inputs(ids, True), self._threads)
        report = report[back]
        problem.check_terms(report, last)
        if not np.isfinite(AB).all():
            knot = int(self._steps - 1 - np.argwhere(~np.isfinite(AB))[0][1])
            raise ArgumentError(
                f"solve: derivatives of the step at knot {knot} are not finite: a loop is at a toggle position, or the "
                "mass matrix is singular there"
            )
        knots = {"AB": AB, "H": H, "g": g}
        low, high = problem.bounds
        if problem.is_boxed:
            knots |= {"low": low - u, "high": high - u}
        totals = report[..., 0].sum(axis=1) + last[..., 0]
        stale = it.stale[ids] | np.isnan(it.total[ids])
        it.total[ids] = np.where(stale, totals, it.total[ids])
        it.first[ids] = np.where(np.isnan(it.first[ids]), it.total[ids], it.first[ids])
        it.stale[ids] = False
        it.violation[ids] = self.lagrangian.violation(ids, report, last)
        it.cost[ids] = totals - self.lagrangian.penalty(ids, report, last)
        return knots, V, s, [report, last]

    def _go_back(
        self, it: Plans, ids: np.ndarray, knots: dict[str, Any], V: Any, s: Any, has_gaps: bool
    ) -> tuple[Policy, np.ndarray]:
        """The backward pass, with as much damping as it takes; and which problems have one."""
        if has_gaps:
            knots = {**knots, "gap": it.gap[ids][:, ::-1]}
        whole: Policy | None = None
        todo = np.arange(len(ids))
        while todo.size:
            some = _pair(todo, len(it.total))
            own = {name: x[some] for name, x in knots.items()}
            back = _some(run_back(V[some], s[some], own, it.damping[ids[some]], self._threads), np.arange(len(todo)))
            if whole is None:
                whole = Policy(*(np.array(x) for x in back))
            else:
                for target, x in zip(whole, back, strict=True):
                    target[todo] = x
            todo = todo[~back.valid]
            it.damping[ids[todo]] = np.maximum(it.damping[ids[todo]] * DescentSettings.GROW, DescentSettings.DAMP)
            lost = it.damping[ids[todo]] > DescentSettings.STUCK
            it.reason[ids[todo[lost]]] = self._why_indefinite(knots, todo[lost])
            todo = todo[~lost]
        assert whole is not None
        return whole, whole.valid

    def _why_indefinite(self, knots: dict[str, Any], rows: np.ndarray) -> str:
        """Why Q_uu has no inverse."""
        n = 2 * self._problem.robot.nv
        for row in rows:
            H, AB = knots["H"][row], knots["AB"][row]
            for j, name in enumerate(self._problem.plant.drives.names):
                if not (H[:, n + j].any() or AB[..., n + j].any()):
                    return f"control {name!r} has neither a cost nor an effect: give the controls a cost"
        return "the cost to go is not convex in the controls, whatever the damping: look at plain numbers in the cost"

    def _step(
        self, it: Plans, ids: np.ndarray, back: Policy, expected: np.ndarray, left: np.ndarray,
        note: dict[str, np.ndarray], reports: list[np.ndarray], tolerance: float,
    ) -> None:  # fmt: skip
        """The best of some steps, if one is good enough."""
        s = DescentSettings
        gap = it.gap[ids]
        has_gaps = bool(gap.any())
        x0 = it.q[ids][:, 0], it.v[ids][:, 0]
        k, K = back.k[:, ::-1], back.K[:, ::-1]
        over = it.q[ids][:, :-1], it.v[ids][:, :-1]
        motion, costs = self.move(ids, over, x0, it.u[ids], k, K, LENGTHS, gap if has_gaps else None)
        merit = costs + (1.0 - LENGTHS) * left[:, None]
        promise = np.minimum(back.first, 0.0) - 0.5 * left
        good = merit <= (it.total[ids] + left)[:, None] + s.ARMIJO * LENGTHS * promise[:, None]
        good &= np.isfinite(costs) & (promise < 0.0)[:, None]
        best = np.where(good, merit, np.inf).argmin(axis=1)
        fell = good.any(axis=1)
        pick = np.flatnonzero(fell), best[fell]
        rows = ids[fell]
        it.replace(rows, q=motion.q[pick], v=motion.v[pick], u=motion.u[pick], total=costs[pick],
                   gap=gap[fell] * (1.0 - LENGTHS[best[fell]])[:, None, None])  # fmt: skip
        for name, x in motion.needed.items():
            it.needed[name][rows] = x[pick]
        note["length"][ids] = np.where(fell, LENGTHS[best], 0.0)
        damping = it.damping[ids]
        quick = LENGTHS[best] > 0.2
        lower = np.where(damping < s.UNDAMPED * s.GROW, 0.0, damping / s.GROW)
        it.damping[ids] = np.where(fell, np.where(quick, lower, damping), np.maximum(damping * s.GROW, s.DAMP))
        scale = np.maximum(np.abs(it.total[ids]), s.FLOOR * np.abs(it.first[ids]))
        stuck = ~fell & ((it.damping[ids] > s.STUCK) | (expected <= s.ROUNDING * scale))
        if stuck.any():
            self._end(it, ids[stuck], [x[stuck] for x in reports], tolerance, stuck=True)

    def _end(
        self, it: Plans, ids: np.ndarray, reports: list[np.ndarray], tolerance: float, stuck: bool = False
    ) -> None:
        """Problems that are solved with their multipliers: end them, or go on with better ones."""
        if not ids.size:
            return
        tight = it.goal[ids] <= tolerance
        ended, why = self.lagrangian.update(ids, reports[0], reports[1], np.abs(it.total[ids]), tight | stuck)
        expected = it.reason[ids]
        for row, (i, text) in enumerate(zip(ids, why, strict=True)):
            if text:
                expected[row] = text
            elif ended[row]:
                it.converged[i] = not stuck
                expected[row] = "no step lowers the cost" if stuck else "converged"
        it.reason[ids] = expected
        it.goal[ids] = np.maximum(it.goal[ids] * DescentSettings.TIGHTEN, tolerance)
        it.damping[ids] = 0.0
        it.stale[ids] = True


def _pair(rows: np.ndarray, batch: int) -> np.ndarray:
    """Rows, at least two where the batch has several: one alone would need machine code of its own."""
    return np.repeat(rows, 2) if len(rows) == 1 and batch > 1 else rows


def _some(back: Policy, rows: np.ndarray) -> Policy:
    return Policy(*(x[rows] for x in back))
