"""Actuators: what they pull at their controls, and what that is on the velocities of a robot."""

from __future__ import annotations

from typing import Any

from ...algorithms.actuators import add_drive, gain_matrix
from ...algorithms.energy import add
from ...spatial.linear import Mat, Vec, is_zero
from .. import actuator_recording as actuation
from ..actuator_recording import pulls
from ..arguments import Q, U, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


@method(Q, U, results="tau")
def actuator_force(c: Context) -> Outputs:
    """Joint forces made by the actuators.

    Parameters
    ----------
    u : array_like, shape (..., n_actuators)
        Forces of the actuators (N m, N), in the order of `names.actuators`.

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
        forces[i] = c.recorder.call(add_drive, gear, u[a], forces[i])
    return vector(c, "tau", c.project(forces))


@method(Q, results="B")
def actuator_matrix(c: Context) -> Outputs:
    """Matrix that takes the velocity to the velocities of the actuators.

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
    rows: list[list[Any]] = [[0.0] * c.tree.nv for _ in c.actuators]
    for a, i, gear in pulls(c):
        for k, x in enumerate(gear, c.tree.first_v[i]):
            rows[a][k] = x if is_zero(rows[a][k]) else c.recorder.call(add, rows[a][k], x)
    return [("B", (len(rows), c.nv), flat(c.columns(rows)))]


@method(Q, results="length")
def actuator_length(c: Context) -> Outputs:
    """Lengths of the actuators.

    Returns
    -------
    length : ndarray, shape (..., nu)
        Σ gear · coordinates of the joints that an actuator moves (rad, m).

    Raises
    ------
    ArgumentError
        If the robot has no actuators.

    See Also
    --------
    actuator_matrix : Velocities of the actuators.
    control_response : Forces of the actuators, which may depend on their lengths.

    Notes
    -----
    The coordinates of a spherical joint are its rotation vector, those of others on a group q ⊖ neutral. On a free
    joint an actuator has the length zero, as in MuJoCo.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
    >>> robot.actuator_length([0.25])
    array([0.5])
    """
    found = actuation.lengths(c)
    return [("length", (len(found),), found)]


@method(Q, V, U, results="force")
def control_response(c: Context) -> Outputs:
    """Forces of the actuators at their controls.

    Returns
    -------
    force : ndarray, shape (..., nu)
        Forces of the actuators before their gears (N m, N), within their control and force ranges.

    Raises
    ------
    ArgumentError
        If the robot has no actuators, or one of a kind that has a state of its own.

    See Also
    --------
    control_force : Joint forces made of these.
    Builder.actuator : What a force depends on.

    Notes
    -----
    force = (g₀ + g₁ length + g₂ velocity) u + b₀ + b₁ length + b₂ velocity: gain · u of a motor,
    kp (u - length) - kd velocity of a position servo, kv (u - velocity) of a velocity servo. Of an actuator with
    `dynamics` u is its activation.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
    >>> robot.control_response([0.25], [0.0], [1.0])
    array([2.5])
    """
    found = actuation.forces(c)
    return [("force", (len(found),), found)]


@method(Q, V, U, results="tau")
def control_force(c: Context) -> Outputs:
    """Joint forces made by the actuators at their controls.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        Forces on the independent velocities (N m, N).

    Raises
    ------
    ArgumentError
        If the robot has no actuators, or one of a kind that has a state of its own.

    See Also
    --------
    control_response : Forces of the actuators.
    control_gains : How these forces change with q and v.
    passive_forces : Springs and damping, which act besides.

    Notes
    -----
    τ = Gᵀ Bᵀ f with f the `control_response`. On each joint the sum is held between its `min_force` and `max_force`,
    also on one that loops determine.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
    >>> robot.control_force([0.25], [0.0], [1.0])
    array([5.])
    """
    return vector(c, "tau", c.project(actuation.joint_forces(c)))


@method(Q, V, U, results="stiffness damping")
def control_gains(c: Context) -> Outputs:
    """Stiffness and damping that the actuators add to the joints.

    Returns
    -------
    stiffness : ndarray, shape (..., nv, nv)
        K = -∂τ/∂q of the `control_force` τ (N m/rad, N/m).
    damping : ndarray, shape (..., nv, nv)
        D = -∂τ/∂v (N m s/rad, N s/m).

    Raises
    ------
    ArgumentError
        If the robot has no actuators, or one of a kind that has a state of its own.

    See Also
    --------
    control_force : The forces.

    Notes
    -----
    K = Bᵀ diag(k) B and D = Bᵀ diag(d) B with the slopes k, d of the actuators' laws (kp and kd of a servo), zero for
    what is at an end of its range; how B itself changes is left out, so both are symmetric. A step that is implicit in
    the servos solves (M + dt D + dt² K) Δv = dt (τ - h - dt K v).

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("geared")
    >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
    >>> K, D = robot.control_gains([0.25], [0.0], [1.0])
    >>> K, D
    (array([[20.]]), array([[2.]]))
    """
    rows, steep = actuation.gain_rows(c)
    own = Mat(Vec(row) for row in rows)
    parts = [
        c.recorder.call(gain_matrix, own, Vec([x[k] for x in steep])) if rows else Mat.zeros(c.nv, c.nv) for k in (0, 1)
    ]
    return [(name, (c.nv, c.nv), flat(part)) for name, part in zip(("stiffness", "damping"), parts, strict=True)]
