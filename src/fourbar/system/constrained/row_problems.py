"""Problems whose unknowns are forces along the rows: forward and hybrid dynamics, and what an impact does."""

from __future__ import annotations

from typing import Any

from ...algorithms import hybrid, rnea
from ...algorithms.constrained.dynamics import ForwardDynamics, Still, missing
from ...algorithms.constrained.rows import dense_rows
from ...functions.arguments import F_EXT, TAU, A, Q, V
from ...functions.context import Context
from ...functions.registry import Outputs, vector
from ...spatial.linear import Mat, Vec
from .constrained_model import RESTITUTION, ROW_ACCELERATION
from .method_recordings import (
    Prescribed,
    RowProblem,
    by_rows,
    constrained_model,
    given_state,
    nothing_prescribed,
    solvable,
    wanted,
)


@solvable(Q, V, TAU, results="a", optional=[F_EXT, ROW_ACCELERATION])
def forward_dynamics(c: Context) -> RowProblem:
    """Accelerations and constraint forces caused by joint forces.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    M a + C v + g = τ + Aᵀ λ and A a + Ȧ v = 0 (Kim eq. 67-69), in O(n) and m³. Where rows are redundant, λ is the least
    of all that do the same.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> a, force = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    >>> a.round(3), force.round(3)
    (array([-1.961,  2.789]), array([2.922]))
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    forward = ForwardDynamics(
        s, c.clusters, c.cluster_states, m.bundles, given_state(c), c.by_cluster("tau"), c.F_ext(), c.gravity
    )  # fmt: skip
    b = forward.missing(wanted(c))
    return RowProblem(forward.rowed, b, lambda force: vector(c, "a", forward.accelerations(force)))


class HybridProblem:
    """The motion of a robot some of whose joints move as prescribed, up to the forces along the rows."""

    def __init__(self, c: Context, prescribed: Prescribed) -> None:
        m = constrained_model(c)
        self.c, self.s = c, c.equations(m.touched)
        self._a, _ = hybrid.hybrid_dynamics(
            self.s, c.clusters, c.cluster_states, c.velocities(), c.by_cluster("a"), c.by_cluster("tau"), c.F_ext(),
            prescribed, c.gravity,
        )  # fmt: skip
        motion = given_state(c), c.links_accelerations(self._a)
        self._still = Still(self.s, c.clusters, c.cluster_states, m.bundles, *motion, prescribed)
        self.rowed = self._still.rowed
        self.b = c.recorder.call(missing, tuple(self.rowed.rows), wanted(c))

    def accelerations(self, force: Vec) -> list[Vec]:
        """Accelerations of all clusters."""
        pairs = zip(self._a, self._still.answers(force), strict=True)
        return [self.c.recorder.call(_add, x, y) for x, y in pairs]

    def needed(self, a: list[Vec]) -> list[Vec]:
        """The forces that these accelerations take without constraints, by cluster."""
        links_a = self.c.links_accelerations(a)
        return self.c.project(
            rnea.inverse_dynamics(self.s, self.c.velocities(), links_a, self.c.F_ext(), self.c.gravity)
        )

    def dense(self) -> list[list[Any]]:
        """A (m x nv) over the independent velocities."""
        pairs = zip(self.rowed.bundles, self.rowed.rows, strict=True)
        return self.c.columns([row for b, rows in pairs for row in dense_rows(self.s, b, rows)])


@solvable(Q, V, A, TAU, results="a tau", optional=[F_EXT, ROW_ACCELERATION])
def hybrid_dynamics(c: Context, prescribed: Prescribed) -> RowProblem:
    """All accelerations and forces, where some accelerations and the other forces are given.

    Parameters
    ----------
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²); read for the joints in `prescribed`.
    tau : array_like, shape (..., nv)
        Joint forces (N m, N); read for all other joints.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations of all joints (rad/s², m/s²).
    tau : ndarray, shape (..., nv)
        Forces of all joints (N m, N).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    Kim eq. 70-80. The derivatives take the options by name.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> a, tau, force = held.hybrid_dynamics([0.1, 0.2], [1.0, 0.0], [0.5, 0.0], [0.0, 0.0], prescribed=["shoulder"])
    >>> a.round(3)
    array([ 0.5  , -8.153])
    """
    problem = HybridProblem(c, prescribed)

    def finish(force: Vec) -> Outputs:
        moved = problem.accelerations(force)
        A, at, forces = problem.dense(), 0, []
        for held, own, given in zip(prescribed, problem.needed(moved), c.by_cluster("tau"), strict=True):
            columns = Mat(Vec(row[at : at + len(own)]) for row in A)
            forces.append(c.recorder.call(_less, own, columns, force, held, given) if any(held) else given)
            at += len(own)
        return vector(c, "a_all", moved) + vector(c, "tau_all", forces)

    return RowProblem(problem.rowed, problem.b, finish)


@solvable(Q, V, results="v", optional=[RESTITUTION])
def impulse(c: Context) -> RowProblem:
    """Velocities after the constraints close at once, and the impulses along their rows.

    Returns
    -------
    v : ndarray, shape (..., nv)
        Velocities afterwards (rad/s, m/s).
    force : ndarray, shape (..., m)
        Impulses along the rows (N m s, N s).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    This is also the projection of v on the constraints that changes the kinetic energy of the difference least.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> v, impulses = held.impulse([0.1, 0.2], [1.0, 0.0])
    >>> v.round(3)
    array([ 1.382, -1.966])
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    still = Still(s, c.clusters, c.cluster_states, m.bundles, given_state(c), c.still(), nothing_prescribed(c))
    b = c.recorder.call(_impact, tuple(still.rowed.rows), by_rows(c, "restitution"))

    def finish(force: Vec) -> Outputs:
        jumps = zip(c.by_cluster("v"), still.answers(force), strict=True)
        return vector(c, "v_after", [c.recorder.call(_add, v, dv) for v, dv in jumps])

    return RowProblem(still.rowed, b, finish)


def _impact(rows: tuple[Any, ...], restitution: tuple[Vec, ...] | None) -> Vec:
    """(1 + e) A v."""
    if restitution is None:
        return Vec([x for own in rows for x in own.rate])
    return Vec(
        [x * (1.0 + e) for own, es in zip(rows, restitution, strict=True) for x, e in zip(own.rate, es, strict=True)]
    )


def _add(a: Vec, b: Vec) -> Vec:
    return a + b


def _less(tau: Vec, A: Mat, force: Vec, held: tuple[bool, ...], given: Vec) -> Vec:
    """τ - Aᵀ λ where the acceleration is prescribed, else the given force."""
    left = tau - A.transpose_times(force)
    return Vec([x if prescribed else own for x, prescribed, own in zip(left, held, given, strict=True)])
