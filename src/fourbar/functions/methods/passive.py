"""Springs and dampers in the joints, which the rigid-body dynamics does not contain: their forces, and the motion."""

from __future__ import annotations

from typing import Any

from ...algorithms import passive
from ...algorithms.energy import add
from ...spatial.linear import Vec
from ..arguments import F_EXT, TAU, A, Q, V
from ..context import Context
from ..registry import Outputs, method, vector
from .dynamics import accelerations, inverse_parts


def acts(numbers: tuple[Any, ...]) -> bool:
    """Whether some of the numbers are not zero, as far as that is known while recording."""
    return any(not isinstance(x, float | int) or x for x in numbers)


def _springs(c: Context, of: Any) -> dict[int, Any]:
    """Something of each spring, by link."""
    q, call = c.coordinates(), c.recorder.call
    return {
        i: call(of, joint.joint, q[i], Vec(joint.rest), Vec(joint.stiffness))
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if acts(joint.stiffness)
    }


def passive_parts(c: Context) -> list[Vec]:
    """Forces of springs and dampers on the independent velocities, by cluster."""
    v, forces = c.velocities(), c.still()
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if acts(joint.damping):
            forces[i] = c.recorder.call(passive.damping_force, v[i], Vec(joint.damping))
    for i, force in _springs(c, passive.spring_force).items():
        forces[i] = c.recorder.call(add, forces[i], force) if acts(c.model.cluster_tree.moving[i].damping) else force
    return c.project(forces)


@method(Q, V, results="tau")
def passive_forces(c: Context) -> Outputs:
    """Forces of springs and viscous damping in the joints.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        -stiffness (q - rest) - damping v (N m, N), summed over all joints, also those that are not independent.

    See Also
    --------
    passive_dynamics : Accelerations with these forces.
    spring_energy : Energy in the springs.
    damping_power : Power taken by damping.

    Notes
    -----
    Springs of spherical and free joints act on the rotation vector from `rest`, those of free joints on the
    displacement too. Coulomb friction (`friction`) is not included.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.passive_forces([0.1, 0.2], [1.0, 0.5])
    array([ 0.  , -1.05])
    """
    return vector(c, "tau", passive_parts(c))


@method(Q, V, TAU, results="a", optional=[F_EXT], inverts_mass=True)
def passive_dynamics(c: Context) -> Outputs:
    """Accelerations caused by joint forces together with springs and damping.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²): `forward_dynamics` of τ + `passive_forces`.

    See Also
    --------
    forward_dynamics : The rigid bodies alone.
    inverse_passive_dynamics : The inverse.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
    array([ 21.927, -96.53 ])
    """
    tau = [c.recorder.call(add, *both) for both in zip(c.by_cluster("tau"), passive_parts(c), strict=True)]
    return vector(c, "a", accelerations(c, c.velocities(), tau, c.gravity))


@method(Q, V, A, results="tau", optional=[F_EXT])
def inverse_passive_dynamics(c: Context) -> Outputs:
    """Joint forces that, together with springs and damping, cause given accelerations.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        What drives must supply (N m, N): `inverse_dynamics` less `passive_forces`.

    See Also
    --------
    inverse_dynamics : The rigid bodies alone.
    passive_dynamics : The inverse, which `simulate` follows.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.inverse_passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
    array([1.1  , 1.464])
    """
    forces = [c.recorder.call(_negated, part) for part in passive_parts(c)]
    return vector(c, "tau", [c.recorder.call(add, *both) for both in zip(inverse_parts(c), forces, strict=True)])


def _negated(x: Vec) -> Vec:
    return -x


@method(Q, results="energy")
def spring_energy(c: Context) -> Outputs:
    """Energy in the springs of the joints.

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
    energy : float or ndarray, shape (...)
        ½ Σ stiffness (q - rest)² (J).

    See Also
    --------
    passive_forces : The forces of the springs.
    potential_energy : The energy in gravity.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0}})
    >>> float(sprung.spring_energy([0.1, 0.2]).round(4))
    0.1
    """
    total: Any = 0.0
    for energy in _springs(c, passive.spring_energy).values():
        total = c.recorder.call(add, total, energy)
    return [("energy", (), [total])]


@method(Q, V, results="power")
def damping_power(c: Context) -> Outputs:
    """Power taken by viscous damping in the joints.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    power : float or ndarray, shape (...)
        Σ damping v² over all joints (W), never negative.

    See Also
    --------
    passive_forces : The forces of the dampers.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> damped = robot.with_parameters(joints={"elbow": {"damping": 0.1}})
    >>> float(damped.damping_power([0.1, 0.2], [1.0, 0.5]))
    0.025
    """
    return [("power", (), [power_lost(c)])]


def power_lost(c: Context) -> Any:
    """The power that damping takes."""
    v = c.velocities()
    total: Any = 0.0
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if acts(joint.damping):
            total = c.recorder.call(add, total, c.recorder.call(passive.damping_power, v[i], Vec(joint.damping)))
    return total
