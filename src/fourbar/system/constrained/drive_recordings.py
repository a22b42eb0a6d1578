"""Recordings in which drives and constraints share the forces: inverse dynamics, hybrid dynamics of least torque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...algorithms.constrained.drive_derivatives import ForceChange, solve_point, vary_forces
from ...algorithms.constrained.drives import Plan, driven
from ...algorithms.constrained.multipliers import IndependentRows
from ...expr import maximum
from ...functions.arguments import F_EXT, FRICTION_VELOCITY, TAU, TAU_PASSIVE, A, Q, V
from ...functions.context import Context
from ...functions.methods.passive import NO_FRICTION_VELOCITY
from ...functions.registry import Outputs, Stages, flat, method, vector
from ...spatial.linear import Mat, Vec
from .constrained_model import ROW_ACCELERATION
from .method_recordings import METHODS, STAGES, Prescribed, constrained_model
from .row_methods import spanning
from .row_problems import HybridProblem


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
    found, force, health = c.recorder.call(driven, Vec(tau), Mat(map(Vec, rows)), plan)
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
    """Changes of the forces of drives and rows from those of what they depend on."""
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
    tau_given, needed = flat(c.by_cluster("tau")), flat(problem.needed(moved))
    left = c.recorder.call(_remaining_forces, Vec(needed), Vec(tau_given), plan.active)
    drive_forces, force, other = c.recorder.call(driven, left, Mat(map(Vec, problem.dense())), plan)
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
