"""Recordings in which drives and constraints share the forces: inverse dynamics, hybrid dynamics of least torque.

The rows of a constrained robot as methods: what they are, how far from closed, how they move.

Forward and hybrid dynamics and impacts have forces along the rows as unknowns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...algorithms import aba, rnea
from ...algorithms.constrained.drives import ForceChange, Plan, solve_drives, solve_point, vary_forces
from ...algorithms.constrained.dynamics import ForwardDynamics, Still, missing
from ...algorithms.constrained.multipliers import IndependentRows
from ...algorithms.constrained.rows import dense_rows, evaluate_rows
from ...expr import maximum
from ...functions.arguments import DT_OR_1, F_EXT, FRICTION_VELOCITY, TAU, TAU_PASSIVE, A, Q, V
from ...functions.context import Context
from ...functions.methods.configuration import integrate
from ...functions.methods.passive import NO_FRICTION_VELOCITY, passive_by_link
from ...functions.registry import Outputs, Stages, flat, method, vector
from ...spatial.linear import Mat, Vec
from ...tree.embedding import LoopEmbedding
from .constrained_model import RESTITUTION, ROW_ACCELERATION
from .method_recordings import (
    METHODS,
    STAGES,
    Prescribed,
    RowProblem,
    by_rows,
    constrained_model,
    given_state,
    prescribe_nothing,
    solvable,
    wanted_accelerations,
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
        s, c.clusters, c.cluster_states, m.groups, given_state(c), c.by_cluster("tau"), c.F_ext(), c.gravity
    )  # fmt: skip
    b = forward.missing(wanted_accelerations(c))
    return RowProblem(forward.rowed, b, lambda force: vector(c, "a", forward.accelerations(force)))


class HybridProblem:
    """The motion of a robot some of whose joints move as prescribed, up to the forces along the rows."""

    def __init__(self, c: Context, prescribed: Prescribed) -> None:
        m = constrained_model(c)
        self.c, self.s = c, c.equations(m.touched)
        self._a, _ = aba.hybrid_dynamics(
            self.s, c.clusters, c.cluster_states, c.velocities(), c.by_cluster("a"), c.by_cluster("tau"), c.F_ext(),
            prescribed, c.gravity,
        )  # fmt: skip
        motion = given_state(c), c.links_accelerations(self._a)
        self._still = Still(self.s, c.clusters, c.cluster_states, m.groups, *motion, prescribed)
        self.rowed = self._still.rowed
        self.b = c.recorder.call(missing, tuple(self.rowed.rows), wanted_accelerations(c))

    def accelerations(self, force: Vec) -> list[Vec]:
        """Accelerations of all clusters."""
        pairs = zip(self._a, self._still.answers(force), strict=True)
        return [self.c.recorder.call(_add, x, y) for x, y in pairs]

    def needed_forces(self, a: list[Vec]) -> list[Vec]:
        """The forces that these accelerations take without constraints, by cluster."""
        links_a = self.c.links_accelerations(a)
        return self.c.project(
            rnea.inverse_dynamics(self.s, self.c.velocities(), links_a, self.c.F_ext(), self.c.gravity)
        )

    def dense(self) -> list[list[Any]]:
        """A (m x nv) over the independent velocities."""
        pairs = zip(self.rowed.groups, self.rowed.rows, strict=True)
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
        for held, own, given in zip(prescribed, problem.needed_forces(moved), c.by_cluster("tau"), strict=True):
            columns = Mat(Vec(row[at : at + len(own)]) for row in A)
            forces.append(c.recorder.call(_choose_forces, own, columns, force, held, given) if any(held) else given)
            at += len(own)
        return vector(c, "a_all", moved) + vector(c, "tau_all", forces)

    return RowProblem(problem.rowed, problem.b, finish)


@solvable(Q, V, results="v", optional=[RESTITUTION])
def impulse(c: Context) -> RowProblem:
    """Velocities after the constraints become active at once, and the impulses along their rows.

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
    still = Still(s, c.clusters, c.cluster_states, m.groups, given_state(c), c.still(), prescribe_nothing(c))
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


def _choose_forces(tau: Vec, A: Mat, force: Vec, held: tuple[bool, ...], given: Vec) -> Vec:
    """τ - Aᵀ λ where the acceleration is prescribed, else the given force."""
    left = tau - A.transpose_times(force)
    return Vec([x if prescribed else own for x, prescribed, own in zip(left, held, given, strict=True)])


def _rows(c: Context, a: str = "") -> Any:
    """The rows at the given state, on the true tree."""
    s = c.sweeps()
    return s, evaluate_rows(s, constrained_model(c).groups, c.coordinates(), c.velocities(), c.accelerations(a))


@method(Q, results="A", into=METHODS)
def jacobian(c: Context) -> Outputs:
    """Rows of the constraints.

    Returns
    -------
    A : ndarray, shape (..., m, nv)
        The rows: A v is zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.jacobian([0.1, 0.2]).round(4)
    array([[0.1681, 0.1182]])
    """
    s, rows = _rows(c)
    full = [row for b, own in zip(constrained_model(c).groups, rows, strict=True) for row in dense_rows(s, b, own)]
    return [("A", (len(full), c.nv), flat(c.columns(full)))]


@method(Q, results="phi", into=METHODS)
def residual(c: Context) -> Outputs:
    """Residuals of loops and functions, zero where they are closed.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration.

    Returns
    -------
    phi : ndarray, shape (..., m)
        Residual φ (m, rad); zero for rows that hold velocities only.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.residual([0.1, 0.2])
    array([0.])
    """
    found = flat([own.phi for own in _rows(c)[1]])
    return [("phi", (len(found),), found)]


@method(Q, V, DT_OR_1, results="q", into=METHODS)
def trial_step(c: Context) -> Outputs:
    """The robot's own `integrate` (..., nq), without a warning for NaN: a trial step that fails."""
    return integrate(c)


@method(Q, V, results="rate", into=METHODS)
def rate(c: Context) -> Outputs:
    """Rates of the rows.

    Returns
    -------
    rate : ndarray, shape (..., m)
        A v (rad/s, m/s), zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.rate([0.1, 0.2], [1.0, 0.0]).round(4)
    array([0.1681])
    """
    found = flat([own.rate for own in _rows(c)[1]])
    return [("rate", (len(found),), found)]


@method(Q, V, A, results="acceleration", into=METHODS)
def acceleration(c: Context) -> Outputs:
    """Accelerations of the rows.

    Returns
    -------
    acceleration : ndarray, shape (..., m)
        A a + Ȧ v (rad/s², m/s²).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([0.8796])
    """
    found = flat([own.acceleration for own in _rows(c, "a")[1]])
    return [("acceleration", (len(found),), found)]


@method(Q, results="Omega", into=METHODS, inverts_mass=True)
def osim_inverse(c: Context) -> Outputs:
    """Inverse inertia along the rows.

    Returns
    -------
    Omega : ndarray, shape (..., m, m)
        Ω = A M⁻¹ Aᵀ, without forming M.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.osim_inverse([0.1, 0.2]).round(4)
    array([[0.5285]])
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    still = Still(s, c.clusters, c.cluster_states, m.groups, given_state(c), c.still(), prescribe_nothing(c))
    rows = still.rowed.omega()
    return [("Omega", (len(rows), len(rows)), flat(rows))]


def spanning(c: Context, passive: bool = False) -> tuple[list[Any], list[list[Any]]]:
    """Forces (n) of all n velocities of the spanning tree without any constraint, and rows (k, n) of all that
    constrains them: the conditions', then the embedded loops'. Forces that are given, and those of springs, dampers and
    friction where these are wanted, are taken off.
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    tau = rnea.inverse_dynamics(s, c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity)
    for i, force in passive_by_link(c).items() if passive else ():
        tau[i] = c.recorder.call(_less, tau[i], force)
    if TAU_PASSIVE.name in c.given:
        given = c.given[TAU_PASSIVE.name]
        tau = [
            c.recorder.call(_less, x, Vec(given[at : at + len(x)])) for x, at in zip(tau, c.tree.first_v, strict=False)
        ]
    rows = evaluate_rows(s, m.groups, c.coordinates(), c.velocities(), c.still())
    full = [row for b, own in zip(m.groups, rows, strict=True) for row in dense_rows(s, b, own)]
    return flat(tau), full + _loop_rows(c)


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def _loop_rows(c: Context) -> list[list[Any]]:
    """K of all embedded loops over the velocities of all links."""
    q, rows = c.coordinates(), []
    for cluster in c.clusters:
        if cluster.is_free:
            continue
        K = c.recorder.call(tied_rows, cluster.embedding, tuple(q[i] for i in cluster.links))
        places = [c.tree.first_v[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]
        for own in K:
            row: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                row[place] = x
            rows.append(row)
    return rows


def tied_rows(tie: LoopEmbedding, q: tuple[Vec, ...]) -> Mat:
    """The independent rows of K of a tied cluster."""
    return Mat(Vec(row) for row in tie.loop_rows([x for part in q for x in part]))


@method(Q, V, A, results="tau rows", optional=[F_EXT, TAU_PASSIVE, FRICTION_VELOCITY], into=METHODS)
def spanning_forces(c: Context, passive: bool = False) -> Outputs:
    """The results of `spanning`: forces (..., n) and rows (..., k, n)."""
    tau, rows = spanning(c, passive)
    return [("tau_all", (len(tau),), tau), ("rows", (len(rows), len(tau)), flat(rows))]


@method(Q, V, A, results="tau force health", optional=[F_EXT, TAU_PASSIVE], into=METHODS)
def inverse_dynamics(c: Context, plan: Plan) -> Outputs:
    """Forces of drives and constraints that cause accelerations.

    Parameters
    ----------
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²), which the constraints must allow.

    Returns
    -------
    tau : ndarray, shape (..., n_actuated)
        Forces of the drives (N m, N).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    ArgumentError
        If the constraints do not allow the accelerations.
    SingularError
        If the drives cannot cause them (NaN and a warning in a batch).

    See Also
    --------
    inverse_passive_dynamics : With the springs, dampers and friction of the joints.

    Notes
    -----
    Kim eq. 56-66. Where the drives are more than enough, `least` of `System.constrained` says what is least: their
    forces, or those of the constraints and of embedded loops. Springs and damping of the joints are left out, as in
    `forward_dynamics`.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"), actuated=["shoulder", "elbow"])
    >>> a, _ = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    >>> tau, force = held.inverse_dynamics([0.1, 0.2], [0.0, 0.0], a)
    >>> tau.shape, force.shape
    ((2,), (1,))
    """
    return _drive_forces(c, plan, passive=False)


def _drive_forces(c: Context, plan: Plan, passive: bool) -> Outputs:
    tau, rows = spanning(c, passive)
    found, force, health = c.recorder.call(solve_drives, Vec(tau), Mat(map(Vec, rows)), plan)
    m = constrained_model(c).m
    return [("tau", (len(found),), list(found)), ("force", (m,), list(force[:m])), ("health", (3,), list(health))]


@method(
    Q, V, A, results="tau force health", optional=[F_EXT, TAU_PASSIVE, FRICTION_VELOCITY], nan=NO_FRICTION_VELOCITY,
    into=METHODS,
)  # fmt: skip
def inverse_passive_dynamics(c: Context, plan: Plan) -> Outputs:
    """Forces of drives and constraints that, together with springs, damping and dry friction, cause accelerations.

    Parameters
    ----------
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²), which the constraints must allow.
    tau_passive : array_like, shape (..., n), optional
        Given forces (N m, N) that act in the joints besides those of drives, springs, dampers and friction, one for
        each velocity of each joint, in the order of `expand_velocity` (n = nv without embedded loops).

    Returns
    -------
    tau : ndarray, shape (..., n_actuated)
        Forces that the drives must supply (N m, N).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    ArgumentError
        If the constraints do not allow the accelerations.
    SingularError
        If the drives cannot cause them, or `friction_velocity` is not positive (NaN and a warning in a batch).

    See Also
    --------
    inverse_dynamics : The rigid bodies alone.

    Notes
    -----
    Kim eq. 56-66 with forces τ_p of the passive joints. The forces of springs, dampers and friction in actuated joints
    relieve or load their drives.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum().with_parameters(joints={"elbow": {"damping": 2.0}})
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"), actuated=["shoulder"])
    >>> q, v, _ = [0.1, 0.2], *held.impulse([0.1, 0.2], [1.0, 0.0])
    >>> a, _ = held.forward_dynamics(q, v, robot.passive_forces(q, v))
    >>> abs(held.inverse_passive_dynamics(q, v, a)[0]).round(9)
    array([0.])
    """
    return _drive_forces(c, plan, passive=True)


_AT_ONCE = 4  # directions in one step


def _needs(c: Context, plan: Plan, passive: bool = False) -> Outputs:
    """The inputs of the forces of drives and rows: the forces (n) of all velocities, rows (m, n), those of loops."""
    tau, rows = spanning(c, passive)
    m, n = constrained_model(c).m, len(tau)
    named = ("rows", rows[:m]), ("loops", rows[m:])
    return [("needed", (n,), tau), *((name, (len(own), n), flat(own)) for name, own in named)]


Entries = Mapping[str, Sequence[Any]]


def _change(entries: Entries) -> ForceChange:
    n, rows = len(entries["needed"]), [*entries["rows"], *entries["loops"]]
    return ForceChange(Vec(entries["needed"]), Mat(Vec(rows[at : at + n]) for at in range(0, len(rows), n)))


def _force_rates(c: Context, data: Entries, rates: Sequence[Entries], plan: Plan) -> list[dict[str, Sequence[Any]]]:
    """Rates of the forces of drives and rows, from the rates of their inputs."""
    (tau, A), m = _change(data), len(data["rows"]) // len(data["needed"])
    point = c.recorder.call(solve_point, tau, A, plan)
    force_rates: list[dict[str, Sequence[Any]]] = []
    for first in range(0, len(rates), _AT_ONCE):
        changes = tuple(map(_change, rates[first : first + _AT_ONCE]))
        for own, force in c.recorder.call(vary_forces, point, A, plan, changes):
            force_rates.append({"tau": own, "force": force[:m]})
    return force_rates


def _is_direct(_: Any, plan: Plan) -> bool:
    return plan.is_direct


STAGES["inverse_dynamics"] = Stages(_needs, _force_rates, _is_direct)
STAGES["inverse_passive_dynamics"] = Stages(partial(_needs, passive=True), _force_rates, _is_direct)


@method(Q, V, A, TAU, results="a tau force health", optional=[F_EXT, ROW_ACCELERATION], into=METHODS, inverts_mass=True)
def hybrid_torque(c: Context, chosen: IndependentRows, prescribed: Prescribed, plan: Plan) -> Outputs:
    """All accelerations and joint forces (a, τ) and the forces λ along the rows, when some joints have their
    acceleration prescribed, by the least forces of these, and the others their force given."""
    problem = HybridProblem(c, prescribed)
    force, health = problem.rowed.multipliers(problem.b, chosen)
    moved = problem.accelerations(force)
    tau_given, needed = flat(c.by_cluster("tau")), flat(problem.needed_forces(moved))
    left = c.recorder.call(_remaining_forces, Vec(needed), Vec(tau_given), plan.active)
    drive_forces, force, other = c.recorder.call(solve_drives, left, Mat(map(Vec, problem.dense())), plan)
    tau = dict(zip(plan.active, drive_forces, strict=True))
    every = [tau.get(j, x) for j, x in enumerate(tau_given)]
    worst: Any = c.recorder.call(_worst, health, other)
    return [
        *vector(c, "a_all", moved), ("tau_all", (c.nv,), every), ("force", (len(force),), list(force)),
        ("health", (3,), list(worst)),
    ]  # fmt: skip


def _remaining_forces(needed: Vec, given: Vec, active: tuple[int, ...]) -> Vec:
    """The forces that remain for drives and constraints."""
    return Vec([x if j in active else x - y for j, (x, y) in enumerate(zip(needed, given, strict=True))])


def _worst(a: Vec, b: Vec) -> Vec:
    return Vec([maximum(x, y) for x, y in zip(a, b, strict=True)])
