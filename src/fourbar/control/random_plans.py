"""Sampling: plans by random controls, all of which are simulated at once (MPPI, predictive sampling).

Samples are the plan before with noise, a spline through a few random knots; each moves the plant in
machine code and has a cost. MPPI takes the mean of the samples, weighted by exp(-(cost - least) / (temperature ·
spread)) with the standard deviation of the costs as spread, so that the scale of costs does not matter; predictive
sampling takes the best sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError
from ..hints import Hinted
from ..sim.motions.read_arguments import read_period
from .forward_pass import ForwardPass

if TYPE_CHECKING:
    from .problem import Problem

METHODS_OF_SAMPLING = ("mppi", "predictive")


class Sampling(Hinted):
    """A controller that plans by random samples, made by `Problem.sampling`.

    Needs no derivatives: contacts may come and go, and costs may have corners. Constraints of states do not count; make
    them costs. Leading axes of the states are a batch of plants. Random numbers depend on the seed alone, and a plan
    has the same bits on any number of threads.

    Parameters
    ----------
    problem : Problem
        The problem; its horizon is that of the samples.
    samples : int, default 128
        Number of motions that are simulated for each plan.
    noise : float or array_like, shape (nu,), default 0.1
        Standard deviation of the knots, in the units of the controls.
    knots : int, default 5
        Number of knots of the spline.
    period : float, optional
        Time (s) for which controls are held, a multiple of the problem's dt, and between two plans; dt if None.
    method : {"mppi", "predictive"}, default "mppi"
        Weighted mean, or the best.
    temperature : float, default 0.1
        Of MPPI: costs that differ by this many standard deviations have weights that differ by a factor e.
    iterations : int, default 1
        Rounds of samples for each plan.
    cooling : float, default 0.6
        Factor of the noise from one round to the next.
    order : {0, 1, 3}, default 1
        Of the spline: constant, linear or cubic.
    seed : int, default 0
        Seed of the random numbers.
    threads : int, optional
        Number of threads; as many as there are CPUs if None.

    Attributes
    ----------
    u : ndarray or None
        Controls (..., rows, nu) of the last plan, one row for each period.
    costs : ndarray or None
        Costs (..., samples) of its samples.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> arm = fb.robots.double_pendulum()
    >>> problem = fb.control.Problem(arm, cost=lambda x, u: [*(5.0 * (x.q - 0.5)), *(0.1 * x.v)], dt=0.02, steps=25)
    >>> planner, q, v = problem.sampling(samples=64, noise=[1.0, 0.2]), np.zeros(2), np.zeros(2)
    >>> for _ in range(50):
    ...     run = fb.rollout(arm, q, v, planner.step(q, v), steps=1, dt=0.02)
    ...     q, v = run.q[-1], run.v[-1]
    >>> bool(abs(q - 0.5).max() < 0.3)
    True
    """

    _scope = "control.Sampling"

    def __init__(
        self,
        problem: Problem,
        *,
        samples: int = 128,
        noise: Any = 0.1,
        knots: int = 5,
        period: float | None = None,
        method: str = "mppi",
        temperature: float = 0.1,
        iterations: int = 1,
        cooling: float = 0.6,
        order: int = 1,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        for name, x in (("samples", samples), ("knots", knots), ("iterations", iterations)):
            if to_count(x) is None:
                raise ArgumentError(f"Sampling: {name}={x!r}: expected a whole number, at least 1")
        if method not in METHODS_OF_SAMPLING:
            raise ArgumentError(f"Sampling: method={method!r}: expected {' or '.join(map(repr, METHODS_OF_SAMPLING))}")
        if order not in (0, 1, 3):
            raise ArgumentError(f"Sampling: order={order!r}: expected 0, 1 or 3")
        if not temperature > 0.0 or not cooling > 0.0:
            raise ArgumentError(f"Sampling: temperature={temperature!r} and cooling={cooling!r} must be positive")
        parts = problem.transcription
        hold = read_period(period, problem.dt)
        if problem.steps % hold:
            raise ArgumentError(
                f"Sampling: period={period!r}: the {problem.steps} steps are no whole number of periods"
            )
        self.problem, self.samples, self.period = problem, samples, hold * problem.dt
        self.noise = _read_noise(noise, problem.drives.names)
        self.method, self.temperature, self.iterations, self.cooling = method, float(temperature), iterations, cooling
        self._hold, self._rows, self._threads, self._seed = hold, problem.steps // hold, threads, seed
        self._basis = spline_basis(knots, np.linspace(0.0, 1.0, self._rows), order)
        self._forward = ForwardPass(parts.plant, parts.running, parts.row_names, hold=hold)
        self.reset()

    def reset(self) -> None:
        """Forget the plan and the random numbers."""
        self.u: np.ndarray | None = None
        self.costs: np.ndarray | None = None
        self._mean: np.ndarray | None = None
        self._generators: list[np.random.Generator] = []
        self._t = -self.period

    def step(
        self, q: Any, v: Any = None, *, t: float | None = None, around: Any = 0.0,
        numbers: Mapping[str, Any] | None = None, references: Mapping[str, Any] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Plan from a state, a period after the plan before.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv), optional
            Velocities (rad/s, m/s); zero if None.
        t : float, optional
            The time (s); a period after that of the plan before if None.
        around : array_like, shape (..., rows, nu) or (nu,), default 0
            Controls of each period, to which the spline is added.
        numbers : dict, optional
            Values of the problem's numbers.
        references : dict, optional
            Values of the problem's references from this time on, (..., steps + 1, *shape).

        Returns
        -------
        ndarray, shape (..., nu)
            The controls for the next period.
        """
        problem, rows, m = self.problem, self._rows, self.problem.drives.count
        now = self._t + self.period if t is None else float(t)
        fit = np.broadcast_to(np.zeros(()), (problem.steps, m))
        batch, start = problem.read_start(q, v, fit, numbers=numbers, references=references, t=now)
        (q, v), _, _, values, by_row = start
        P = len(q)
        around = np.broadcast_to(np.asarray(around, float), (*batch, rows, m)).reshape(P, rows, m)
        if self._mean is None or len(self._mean) != P:
            self._mean = np.zeros((P, rows, m))
            self._generators = [np.random.default_rng(s) for s in np.random.SeedSequence(self._seed).spawn(P)]
        else:
            self._mean = np.concatenate([self._mean[:, 1:], self._mean[:, -1:]], axis=1)
        self._t, scale = now, self.noise
        for _ in range(self.iterations):
            self._round(q, v, around, values, by_row, scale)
            scale = scale * self.cooling
        planned = np.clip(around + self._mean, *problem.transcription.bounds).reshape((*batch, rows, m))
        self.u = planned
        assert self.costs is not None
        self.costs = self.costs.reshape((*batch, self.samples))
        return np.asarray(planned[..., 0, :])

    def _round(
        self, q: np.ndarray, v: np.ndarray, around: np.ndarray, values: dict[str, Any], by_row: dict[str, Any],
        scale: np.ndarray,
    ) -> None:  # fmt: skip
        """One round of samples, and the mean after it. The first sample is without noise."""
        assert self._mean is not None
        (P, _, m), K, N = self._mean.shape, self._basis.shape[1], self.samples
        knots = np.stack([g.standard_normal((N, K, m)) for g in self._generators]) * scale
        knots[:, 0] = 0.0
        drawn = _apply(self._basis, knots)
        u = around[:, None] + self._mean[:, None] + drawn
        u = np.clip(u, *self.problem.transcription.bounds)
        self.costs = costs = self._evaluate(q, v, u, values, by_row)
        least = costs.min(axis=1, keepdims=True)
        if not np.isfinite(least).all():
            plant = int(np.flatnonzero(~np.isfinite(least[:, 0]))[0])
            raise ArgumentError(
                f"sampling: no sample of plant {plant} has a finite cost: all motions diverge, or a cost is not a "
                "number where they go"
            )
        if self.method == "predictive":
            best = costs.argmin(axis=1)
            self._mean = self._mean + drawn[np.arange(P), best]
            return
        valid = np.isfinite(costs)
        above = np.where(valid, costs - least, 0.0)
        spread = np.sqrt((above**2).sum(axis=1) / valid.sum(axis=1) - (above.sum(axis=1) / valid.sum(axis=1)) ** 2)
        width = np.maximum(self.temperature * spread, np.finfo(float).tiny)[:, None]
        weight = np.where(valid, np.exp(-above / width), 0.0)
        weight = weight / weight.sum(axis=1, keepdims=True)
        self._mean = self._mean + (weight[:, :, None, None] * drawn).sum(axis=1)

    def _evaluate(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, values: dict[str, Any], by_row: dict[str, Any]
    ) -> np.ndarray:
        """The costs (P, samples) of controls (P, samples, rows, nu)."""
        parts, rows = self.problem.transcription, self._rows
        controls: dict[str, Any] = {"u": u}
        inputs = {name: x[:, : parts.steps : self._hold] for name, x in by_row.items()}
        sized = parts.running.inputs
        inputs |= {name: np.zeros((1, rows, *sized[name])) for name in ("shift", "root") if name in sized}
        controls |= {name: x[:, None] for name, x in inputs.items() if name in self._forward.controls}
        numbers = {name: x[:, None] for name, x in values.items() if name in self._forward.numbers}
        numbers |= {"dt": np.array(parts.dt), "weight": np.array(self.period)}
        shape = u.shape[:2]
        start = [np.broadcast_to(x[:, None], (*shape, x.shape[-1])) for x in (q, v)]
        ends, costs = self._forward.sample(start[0], start[1], controls, numbers, rows, self._threads)
        last = {name: x[:, None] for name, x in values.items()} | {name: x[:, None, -1] for name, x in by_row.items()}
        sized = parts.last.inputs
        last |= {name: np.zeros(sized[name]) for name in ("shift", "root") if name in sized}
        with np.errstate(invalid="ignore"):
            total = costs + parts.last_value(ends["q"], ends["v"], None, last, self._threads)[..., 0]
        return np.where(np.isfinite(total), total, np.inf)


def spline_basis(knots: int, at: np.ndarray, order: int) -> np.ndarray:
    """The weights (times, knots) of the knots of a spline over 0 to 1, at some times; beyond the last one it is
    constant."""
    n = knots
    if n == 1:
        return np.ones((len(at), 1))
    place = np.clip(at, 0.0, 1.0) * (n - 1)
    low = np.minimum(place.astype(int), n - 2)
    s, rows = place - low, np.arange(len(at))
    basis = np.zeros((len(at), n))
    if order == 0:
        basis[rows, np.minimum(place.astype(int), n - 1)] = 1.0
        return basis
    if order == 1:
        basis[rows, low], basis[rows, low + 1] = 1.0 - s, s
        return basis
    a, b = s * s * (3.0 - 2.0 * s), s * (1.0 - s)  # cubic Hermite, with slopes by central differences
    np.add.at(basis, (rows, low), 1.0 - a)
    np.add.at(basis, (rows, low + 1), a)
    for end, weight in ((low, b * (1.0 - s)), (low + 1, -b * s)):
        before, after = np.maximum(end - 1, 0), np.minimum(end + 1, n - 1)
        slope = weight / (after - before)
        np.add.at(basis, (rows, after), slope)
        np.add.at(basis, (rows, before), -slope)
    return basis


def _apply(basis: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """A spline through knots (..., K, m) at the times of a basis (rows, K)."""
    return (basis[:, :, None] * knots[..., None, :, :]).sum(axis=-2)


def _read_noise(noise: Any, names: tuple[str, ...]) -> np.ndarray:
    try:
        array = np.broadcast_to(np.asarray(noise, float), (len(names),))
    except (TypeError, ValueError):
        array = np.full(len(names), np.nan)
    if not (array >= 0.0).all() or not np.isfinite(array).all():
        raise ArgumentError(
            f"Sampling: noise={noise!r}: expected a deviation, or one for each of the {len(names)} controls "
            f"{', '.join(names)}"
        )
    return array
