"""Receding horizons: plans of a fixed number of iterations, each from the one before, and feedback between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..hints import Hinted
from .planned_motion import PlannedMotion

if TYPE_CHECKING:
    from .problem import Problem


def shift(plan: PlannedMotion, steps: int) -> PlannedMotion:
    """A plan some steps later: what is over is left out, and the last knot is repeated."""
    T = plan.u.shape[-2]

    def delay(x: np.ndarray, axis: int) -> np.ndarray:
        count = x.shape[axis]
        return np.take(x, np.minimum(np.arange(count) + steps, count - 1), axis=axis)

    y = {name: delay(x, -2) if x.shape[-2] >= T else x for name, x in plan.multipliers.items()}
    return replace(
        plan, t=plan.t + steps * (plan.t[1] - plan.t[0]), q=delay(plan.q, -2), v=delay(plan.v, -2), u=delay(plan.u, -2),
        gains=delay(plan.gains, -3), costate=delay(plan.costate, -2), multipliers=y,
    )  # fmt: skip


class Receding(Hinted):
    """A controller with a receding horizon, made by `Problem.mpc`.

    Every `step` plans from the state that it is given: the plan before, shifted by the time that has passed, under its
    own feedback, is where a fixed number of iterations begins. Leading axes of the states are a batch of plants.

    Parameters
    ----------
    problem : Problem
        The problem.
    iterations : int, default 1
        Iterations of every plan but the first.
    first : int, default 50
        Iterations of the first plan at most.
    threads : int, optional
        Number of threads.

    Attributes
    ----------
    plan : PlannedMotion or None
        The last plan.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> arm = fb.robots.double_pendulum()
    >>> problem = fb.control.Problem(arm, cost=lambda x, u: [*(0.1 * u), *(3.0 * (x.q - 0.5)), *x.v], dt=0.05, steps=20)
    >>> mpc, q, v = problem.mpc(), np.zeros(2), np.zeros(2)
    >>> for _ in range(40):
    ...     run = fb.rollout(arm, q, v, mpc.step(q, v), steps=5, dt=0.01)
    ...     q, v = run.q[-1], run.v[-1]
    >>> bool(abs(q - 0.5).max() < 0.3)
    True
    """

    _scope = "control.Receding"

    def __init__(self, problem: Problem, iterations: int = 1, first: int = 50, threads: int | None = None) -> None:
        for name, x in (("iterations", iterations), ("first", first)):
            if not isinstance(x, int) or x < 1:
                raise ArgumentError(f"mpc: {name}={x!r}: expected a whole number, at least 1")
        self.problem, self.iterations, self.first, self._threads = problem, iterations, first, threads
        self.plan: PlannedMotion | None = None

    def reset(self) -> None:
        """Forget the plan: the next step begins anew."""
        self.plan = None

    def step(
        self, q: Any, v: Any = None, *, t: float | None = None, u: Any = None, numbers: Mapping[str, Any] | None = None,
        references: Mapping[str, Any] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Plan from a state.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv), optional
            Velocities (rad/s, m/s); zero if None.
        t : float, optional
            The time (s), a whole number of steps after that of the plan before; one step later if None.
        u : array_like, optional
            Controls to begin with, for the first plan.
        numbers : dict, optional
            Values of the problem's numbers.
        references : dict, optional
            Values of the problem's references from this time on, (..., steps + 1, *shape).

        Returns
        -------
        ndarray, shape (..., nu)
            The controls for the next step.
        """
        options: dict[str, Any] = {"numbers": numbers, "references": references, "threads": self._threads}
        if self.plan is None:
            self.plan = self.problem.solve(q, v, u=u, t=t or 0.0, iterations=self.first, **options)
        else:
            before, dt = self.plan, self.problem.dt
            passed = 1 if t is None else round((t - before.t[0]) / dt)
            if passed < 0:
                raise ArgumentError(
                    f"mpc.step: t={t!r} is before that of the last plan, {before.t[0]:g} s; see reset()"
                )
            now = float(before.t[0] + dt) if t is None else t
            self.plan = self.problem.solve(
                q, v, warm=shift(before, passed), t=now, iterations=self.iterations, **options
            )
        return np.asarray(self.plan.u[..., 0, :])

    def feedback(self, q: Any, v: Any, knot: int = 0) -> np.ndarray:
        """Controls between plans: u + K (x ⊖ x̄), within bounds, of a knot of the last plan.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv)
            Velocities (rad/s, m/s).
        knot : int, default 0
            Number of the knot.

        Returns
        -------
        ndarray, shape (..., nu)
            The controls.
        """
        plan = self.plan
        if plan is None:
            raise ArgumentError("mpc.feedback: there is no plan yet; call step first")
        return plan.feedback(q, v, knot, self.problem.transcription.bounds)
