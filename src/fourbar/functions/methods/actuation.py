"""Actuators: what they pull at their controls, and what that is on the velocities of a robot."""

from __future__ import annotations

from typing import Any

from ...algorithms.actuators import gain_matrix
from ...algorithms.energy import add
from ...algorithms.transmission import driven
from ...spatial.linear import Mat, Vec, is_zero
from .. import actuation
from ..actuation import pulls
from ..arguments import Q, U, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


@method(Q, U, results="tau")
def actuator_force(c: Context) -> Outputs:
    """Joint forces made by the actuators.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    u : array_like, shape (..., n_actuators)
        Forces of the actuators (N m, N), in the order of `names.actuators`.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        τ = Bᵀ u (N m, N) on the independent velocities, with the `actuator_matrix` B.

    Raises
    ------
    ArgumentError
        If the robot has no actuators.

    See Also
    --------
    actuator_matrix : The matrix B.
    System.actuated : Dynamics in the forces of actuated joints.

    Notes
    -----
    In a loop an actuator may be on any joint.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
    >>> robot.actuator_force([0.0], [2.0])
    array([18.])
    """
    forces, u = c.still(), c.given["u"]
    for a, i, gear in pulls(c):
        forces[i] = c.recorder.call(driven, gear, u[a], forces[i])
    return vector(c, "tau", c.project(forces))


@method(Q, results="B")
def actuator_matrix(c: Context) -> Outputs:
    """Matrix that takes the velocity to the velocities of the actuators.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    B : ndarray, shape (..., n_actuators, nv)
        The actuators move with B v, and their forces u make the joint forces τ = Bᵀ u.

    Raises
    ------
    ArgumentError
        If the robot has no actuators.

    See Also
    --------
    actuator_force : The product Bᵀ u.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
    >>> robot.actuator_matrix([0.0])
    array([[9.]])
    """
    rows: list[list[Any]] = [[0.0] * c.tree.nv for _ in c.model.mechanism.actuators]
    for a, i, gear in pulls(c):
        for k, x in enumerate(gear, c.tree.first_v[i]):
            rows[a][k] = x if is_zero(rows[a][k]) else c.recorder.call(add, rows[a][k], x)
    return [("B", (len(rows), c.nv), flat(c.columns(rows)))]


@method(Q, results="length")
def actuator_length(c: Context) -> Outputs:
    """Lengths (..., nu) of the actuators: Σ gear · coordinates of their joints, in rad or m times the gear.

    Of a ball the coordinates are its rotation vector, of others on a group q ⊖ neutral; a free joint has no length (0).
    """
    found = actuation.lengths(c)
    return [("length", (len(found),), found)]


@method(Q, V, U, results="force")
def control_response(c: Context) -> Outputs:
    """Forces (..., nu) of the actuators at controls u (..., nu): their laws, within control and force ranges.

    In N, or N m for what turns, before the gear. A motor gives gain · u; a position servo kp (u - length) - kd velocity
    (u in rad or m, times gear); a velocity servo kv (u - velocity). Kinds with a state of their own are refused.
    """
    found = actuation.forces(c)
    return [("force", (len(found),), found)]


@method(Q, V, U, results="tau")
def control_force(c: Context) -> Outputs:
    """Forces τ (..., nv) on the independent velocities of actuators at controls u (..., nu): what drives the robot.

    τ = Gᵀ Bᵀ f with f the `control_response`, in N or N m; on each joint held between its min_force and max_force, also
    on one that loops determine. Add `passive_forces` for springs and dampers of joints.
    """
    return vector(c, "tau", c.project(actuation.joint_forces(c)))


@method(Q, V, U, results="stiffness damping")
def control_gains(c: Context) -> Outputs:
    """K and D (..., nv, nv): how much less `control_force` is for each unit that q and v move, -∂τ/∂q and -∂τ/∂v.

    K = Bᵀ diag(k) B, D = Bᵀ diag(d) B with the slopes k, d of the actuators' laws (kp and kd of a servo), zero for what
    is at an end of its range; how B itself changes is left out. Both are symmetric. A step that is implicit in the
    servos solves (M + dt D + dt² K) Δv = dt (τ - h - dt K v).
    """
    rows, steep = actuation.gain_rows(c)
    own = Mat(Vec(row) for row in rows)
    parts = [
        c.recorder.call(gain_matrix, own, Vec([x[k] for x in steep])) if rows else Mat.zeros(c.nv, c.nv) for k in (0, 1)
    ]
    return [(name, (c.nv, c.nv), flat(part)) for name, part in zip(("stiffness", "damping"), parts, strict=True)]
