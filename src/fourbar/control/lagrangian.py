"""Constraints of knots by an augmented Lagrangian: multipliers, penalties, and what is violated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .knot_cost import KnotCost
    from .transcription import Transcription


class PenaltySettings:
    """Decisions about penalties."""

    FIRST = 10.0  # the first penalty, relative to one that halves a violation
    KNOWN = 1e-6  # of a share, and of what it lacks to one, above which it says how strong a penalty is
    JUMP = 1e6  # of a penalty that does nothing yet, or all
    TRIALS = 12  # of first penalties
    GROW = 10.0  # of a penalty whose constraint is hardly less violated than before
    FELL = 0.25  # of the violation before: more than this is hardly less
    MOST = 1e9  # growth of a penalty at which a constraint counts as one that cannot hold


class _KnotRows:
    """Multipliers y, penalties ρ and the last violations of the constraints of one kind of knot, (P, knots, rows)."""

    def __init__(self, cost: KnotCost, P: int, knots: int) -> None:
        self.cost, self.low, self.high = cost, cost.low, cost.high
        self.places = cost.places()
        self.y = np.zeros((P, knots, cost.rows))
        self.rho = np.zeros((P, knots, cost.rows))
        self.active = np.ones((knots, cost.rows))
        self.values: slice = slice(1, 1 + cost.rows)

    def excess(self, c: np.ndarray) -> np.ndarray:
        """By how much values (..., knots, rows) are out of bounds, with a sign."""
        return (c - np.clip(c, self.low, self.high)) * self.active


class AugmentedLagrangian:
    """Both kinds of knots of a batch of P problems. Penalties are by constraint."""

    def __init__(self, problem: Transcription, P: int, feasibility: float) -> None:
        self._feasibility, self._steps = feasibility, problem.steps
        running, last = problem.running, problem.last
        self._kinds = [_KnotRows(running, P, problem.steps), _KnotRows(last, P, 1)]
        for name, own in self._kinds[0].places.items():
            if name in self._kinds[1].places:  # of states alone: the first one is given
                self._kinds[0].active[0, own] = 0.0
        self._names = list(dict.fromkeys([*self._kinds[0].places, *self._kinds[1].places]))
        self._rho = {name: np.zeros(P) for name in self._names}
        self._first = {name: np.zeros(P) for name in self._names}
        self._worst = {name: np.full(P, np.inf) for name in self._names}
        self._trials = np.zeros(P, int)  # that are left

    def first_goal(self, loose: float) -> np.ndarray:
        """The relative decrease at which multipliers are found first."""
        P = len(self._kinds[0].y)
        return np.full(P, loose if self._names else 0.0)

    def warm_start(self, multipliers: dict[str, np.ndarray], penalties: dict[str, np.ndarray]) -> None:
        """Begin with multipliers (P, knots, rows) and penalties (P) of another solution."""
        for name in self._names:
            self._rho[name][:] = penalties[name]
            self._first[name][:] = penalties[name]
            at = 0
            for kind in self._kinds:
                if name in kind.places:
                    knots = kind.y.shape[1]
                    kind.y[..., kind.places[name]] = multipliers[name][:, at : at + knots]
                    at += knots
        self._spread()

    def _spread(self) -> None:
        for kind in self._kinds:
            for name, own in kind.places.items():
                kind.rho[..., own] = self._rho[name][:, None, None]
            kind.rho *= kind.active

    def inputs(self, ids: np.ndarray, last: bool) -> dict[str, np.ndarray]:
        """The inputs of costs: y / ρ and √ρ."""
        kind = self._kinds[last]
        if not kind.cost.rows:
            return {}
        rho, y = kind.rho[ids], kind.y[ids]
        shift = np.divide(y, rho, out=np.zeros_like(y), where=rho > 0.0)
        found = {"shift": shift, "root": np.sqrt(rho)}
        return {name: x[:, 0] if last else x for name, x in found.items()}

    def _parts(self, report: np.ndarray, last: np.ndarray) -> list[tuple[_KnotRows, np.ndarray]]:
        whole = (report, last[:, None])
        return [(kind, x[..., kind.values]) for kind, x in zip(self._kinds, whole, strict=True)]

    def violation(self, ids: np.ndarray, report: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The largest violation (P)."""
        worst = np.zeros(len(ids))
        for kind, c in self._parts(report, last):
            worst = np.maximum(worst, np.abs(kind.excess(c)).max(axis=(1, 2), initial=0.0))
        return worst

    def penalty(self, ids: np.ndarray, report: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The part of the costs that is of constraints (P)."""
        total = np.zeros(len(ids))
        for kind, c in self._parts(report, last):
            rho, y = kind.rho[ids], kind.y[ids]
            z = c + np.divide(y, rho, out=np.zeros_like(y), where=rho > 0.0)
            total += 0.5 * (rho * (z - np.clip(z, kind.low, kind.high)) ** 2).sum(axis=(1, 2))
        return total

    def update(
        self, ids: np.ndarray, report: np.ndarray, last: np.ndarray, cost: np.ndarray, tight: np.ndarray
    ) -> tuple[np.ndarray, list[str]]:
        """New multipliers and penalties of problems that are solved with the old ones: which of them are done with all,
        and why others cannot be solved."""
        s = PenaltySettings
        done, why = tight.copy(), [""] * len(ids)
        parts = self._parts(report, last)
        for kind, c in parts:
            rho, y = kind.rho[ids], kind.y[ids]
            z = c + np.divide(y, rho, out=np.zeros_like(y), where=rho > 0.0)
            kind.y[ids] = rho * (z - np.clip(z, kind.low, kind.high))
        for name in self._names:
            own = [(kind.excess(c)[..., kind.places[name]]) for kind, c in parts if name in kind.places]
            worst = np.maximum.reduce([np.abs(x).max(axis=(1, 2), initial=0.0) for x in own])
            square = sum(((x**2).sum(axis=(1, 2)) for x in own), np.zeros(len(ids)))
            bad = worst > self._feasibility
            done &= ~bad
            rho, before = self._rho[name][ids], self._worst[name][ids]
            new = bad & (rho == 0.0)
            first = np.where(cost > 0.0, cost, 1.0) / np.maximum(square, np.finfo(float).tiny)  # to be calibrated
            rho = np.where(new, first, rho)
            self._trials[ids[new]] = s.TRIALS
            self._first[name][ids] = np.where(new, rho, self._first[name][ids])
            slow = bad & ~new & (worst > s.FELL * before)
            rho = np.where(slow, rho * s.GROW, rho)
            self._rho[name][ids], self._worst[name][ids] = rho, worst
            lost = bad & (rho > s.MOST * self._first[name][ids])
            for row in np.flatnonzero(lost):
                why[row] = why[row] or self._refusal(name, parts, int(row), float(worst[row]))
        self._spread()
        return done, why

    def calibrate(self, ids: np.ndarray, expected: np.ndarray, penalty: np.ndarray) -> np.ndarray:
        """Adjust first penalties by the decrease of the cost that they promise; which problems (P) had such.

        Of a quadratic cost, of which a violation takes 1 / (2 s) per square, a penalty ρ promises the share ρ s / (1 +
        ρ s) of what it makes the violation cost: the first penalty is a multiple of 1 / s, whatever the units.
        """
        s = PenaltySettings
        fresh = self._trials[ids] > 0
        if not fresh.any():
            return fresh
        share = np.divide(expected, penalty, out=np.full(len(ids), 0.5), where=penalty > 0.0)
        known = (share > s.KNOWN) & (share < 1.0 - s.KNOWN)
        exact = s.FIRST * (1.0 - np.where(known, share, 0.5)) / np.where(known, share, 0.5)
        factor = np.where(known, exact, np.where(share < 0.5, s.JUMP, 1.0 / s.JUMP))
        for name in self._names:
            rho = self._rho[name][ids]
            tried = fresh & (rho > 0.0) & (rho == self._first[name][ids])
            self._rho[name][ids] = np.where(tried, rho * factor, rho)
            self._first[name][ids] = np.where(tried, rho * factor, self._first[name][ids])
        self._trials[ids] = np.where(fresh & ~known, self._trials[ids] - 1, 0)
        self._spread()
        return fresh

    def _refusal(self, name: str, parts: Any, row: int, worst: float) -> str:
        """Which constraint cannot hold, where."""
        sizes = []
        for kind, c in parts:
            own = kind.excess(c)[row][:, kind.places[name]] if name in kind.places else np.zeros((len(c[row]), 1))
            sizes.append(np.abs(own).max(axis=1))
        knot = int(np.concatenate(sizes).argmax())
        return f"constraint {name!r} cannot hold: it is violated by {worst:.3g} at knot {knot}, whatever it costs"

    def multipliers(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Multipliers (P, knots, rows) and penalties (P) by constraint."""
        by_name = {}
        for name in self._names:
            own = [kind.y[..., kind.places[name]] for kind in self._kinds if name in kind.places]
            by_name[name] = np.concatenate(own, axis=1)
        return by_name, {name: x.copy() for name, x in self._rho.items()}
