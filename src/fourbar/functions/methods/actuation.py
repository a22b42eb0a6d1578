"""Actuators: what their forces are on the velocities of a robot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algorithms.energy import add
from ...algorithms.transmission import driven, in_child_axes
from ...errors import ArgumentError
from ...spatial.linear import Vec, is_zero
from ..arguments import Q, U
from ..context import Context
from ..registry import Outputs, flat, method, vector


def _gears(c: Context) -> Iterator[tuple[int, int, Vec]]:
    """The number of an actuator, a link that it moves, and the gear on the velocities of the link's joint."""
    if not c.model.mechanism.actuators:
        raise ArgumentError(
            f"robot {c.model.mechanism.name!r} has no actuators; declare them with Builder.actuator(...), or put "
            "forces on the velocities themselves"
        )
    moving = c.model.cluster_tree.moving
    link, q = {joint.name: i for i, joint in enumerate(moving)}, c.coordinates()
    for a, actuator in enumerate(c.model.mechanism.actuators):
        for drive in actuator.drives:
            i, gear = link[drive.joint], Vec(drive.gear)
            in_parent = drive.axes == "parent"
            yield a, i, c.recorder.call(in_child_axes, moving[i].joint, q[i], gear) if in_parent else gear


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
    for a, i, gear in _gears(c):
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
    for a, i, gear in _gears(c):
        for k, x in enumerate(gear, c.tree.first_v[i]):
            rows[a][k] = x if is_zero(rows[a][k]) else c.recorder.call(add, rows[a][k], x)
    return [("B", (len(rows), c.nv), flat(c.columns(rows)))]
