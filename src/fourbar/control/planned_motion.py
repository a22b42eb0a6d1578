"""Solutions of optimal control problems, and the state of a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..linalg import apply
from ..sim.motions.run import Run


@dataclass(frozen=True)
class PlannedMotion:
    """The motion that a problem asks for, with its feedback law.

    q (..., T + 1, nq), v (..., T + 1, nv), u (..., T, nu): states and controls of the knots at times t (T + 1). gains
    (..., T, nu, 2 nv): K of u + K (x ⊖ x̄), on tangents [q ⊖ q̄; v - v̄]. cost (...): without constraints. violation
    (...): by how much constraints are missed at most, in their units. multipliers: by the name of each constraint
    (..., knots, rows), at the knots where it holds. costate (..., T, 2 nv): the slope of the cost to go behind each
    knot.

    converged (...), reason (...): whether and why the solver stopped. iterations (...). gap (...): the largest part of
    a gap between knots that is left.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    gains: np.ndarray
    cost: np.ndarray
    violation: np.ndarray
    multipliers: dict[str, np.ndarray]
    costate: np.ndarray
    converged: np.ndarray
    reason: np.ndarray
    iterations: np.ndarray
    gap: np.ndarray
    penalties: dict[str, np.ndarray]
    history: tuple[dict[str, np.ndarray], ...] = field(repr=False, default=())
    robot: Any = field(repr=False, default=None)
    scene: Any = field(repr=False, default=None)

    def table(self, problem: tuple[int, ...] | int = ()) -> str:
        """Iterations of a problem of the batch as text.

        Parameters
        ----------
        problem : int or tuple of int, default ()
            Which problem, where there are several.

        Returns
        -------
        str
            A line for each iteration: cost with penalties, expected decrease, length of the step, damping, violation of
            constraints and gaps between knots.
        """
        names = ("cost", "expected", "length", "damping", "violation", "gap")
        lines = ["iteration " + " ".join(f"{name:>12}" for name in names)]
        place = (problem,) if isinstance(problem, int) else problem
        index = np.ravel_multi_index(place, self.cost.shape) if place else 0
        for k, row in enumerate(self.history):
            if np.isfinite(row["cost"][index]):
                lines.append(f"{k:9d} " + " ".join(f"{row[name][index]:12.5g}" for name in names))
        return "\n".join([*lines, str(self.reason.ravel()[index])])

    def feedback(self, q: Any, v: Any, knot: int = 0, bounds: tuple[Any, Any] = (-np.inf, np.inf)) -> np.ndarray:
        """Controls u + K (x ⊖ x̄) of a knot.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv)
            Velocities (rad/s, m/s).
        knot : int, default 0
            Number of the knot.
        bounds : tuple of array_like, optional
            The least and the largest controls.

        Returns
        -------
        ndarray, shape (..., nu)
            The controls.
        """
        away = np.concatenate(
            [self.robot.difference(self.q[..., knot, :], q), np.asarray(v, float) - self.v[..., knot, :]], axis=-1
        )
        return np.clip(self.u[..., knot, :] + apply(self.gains[..., knot, :, :], away), *bounds)

    def run(self, problem: tuple[int, ...] | int | None = None) -> Run:
        """The motion as a run, to view, plot and save.

        Parameters
        ----------
        problem : int or tuple of int, optional
            Which problem, where there are several; all if None, as samples.

        Returns
        -------
        Run
            The states of the knots.
        """
        own: Any = ... if problem is None else problem
        q, v, u = (np.moveaxis(x[own], -2, 0) for x in (self.q, self.v, self.u))
        held = np.concatenate([np.full((1, *u.shape[1:]), np.nan), u])
        steps = np.full(q.shape[1:-1], len(self.t) - 1)
        ended = np.zeros(q.shape[1:-1], bool)
        given = {} if self.scene is None else {"scene": self.scene}
        return Run(self.t, q, v, self.robot, steps=steps, diverged=ended, u=held, last=(q[-1], v[-1]), **given)
